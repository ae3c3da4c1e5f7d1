"""Topics that are watched: what a report knows is not written, judged or told of again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

import pytest

from research.agent.nodes.news_coverage import cover_news
from research.citations.numbering import number_report_answer
from research.citations.registry import evidence_id
from research.core.events import ignore_event
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    NewsCoverage,
    Passage,
    Question,
    RunOptions,
    StoryChange,
    Task,
)
from research.core.records import fingerprint as mark
from research.runtime.run_manager import RunManager
from research.watch.topics import UnwatchableTopicError, WatchedTopics
from tests.fakes import RETRIEVED, ScriptedReasoner, ScriptedSource, at_work
from tests.runtime.conftest import Bench, over, report

TOPIC = "The bridge in the news"
REPORT = RunOptions(sections=5, reflections=1, sources=("news",))
DAY = date(2026, 1, 2)
News = Mapping[str, Sequence[tuple[str, str, str]]]  # for a query: outlet, headline, text
BRIDGE = ("Daily", "Bridge over the Lan river collapses", "The collapse left 12 people dead.")
TRAMS = ("Post", "City orders forty new trams", "The trams will cost 90 million yuan.")
MUSEUM = ("Globe", "Museum of glass opens its doors", "The museum has 300 vases.")
STRIKE = ("Times", "Ferry crews begin a strike over wages", "Crews want 8% more pay.")


class Wire(ScriptedSource):
    """News that may change between two looks; each headline of an outlet has its address."""

    def __init__(self, news: News) -> None:
        super().__init__("news", kind="news")
        self.news = dict(news)
        self.published: dict[str, date] = {}

    def _evidence(self, task: Task, passages: Sequence[str]) -> tuple[Evidence, ...]:
        return tuple(self._piece(*row) for row in self.news.get(task.query, ()))

    def _piece(self, outlet: str, headline: str, text: str) -> Evidence:
        url = f"https://{outlet.lower()}.example/{mark(headline)}"
        return Evidence(
            id=evidence_id("news", url, url), kind="news", title=headline, publisher=outlet, url=url,
            retrieved=RETRIEVED, published=self.published.get(headline, DAY),
            passages=(Passage(id=mark(url, text), text=text, end=len(text)),),
        )  # fmt: skip


def written(runs: RunManager, run_id: str) -> Answer:
    assert over(runs, run_id) == "done"
    answer = report(runs, run_id).answer
    assert answer is not None
    return answer


def coverage(answer: Answer) -> NewsCoverage:
    assert answer.coverage is not None
    return answer.coverage


def changed(answer: Answer) -> list[tuple[str, str]]:
    return [(change.kind, change.headline) for change in coverage(answer).changes]


@pytest.fixture
def wire() -> Wire:
    return Wire({"a": [BRIDGE], "b": [TRAMS]})


def test_the_coverage_of_a_report_tells_its_stories(shared: Bench, wire: Wire) -> None:
    wire.news["b"] = [TRAMS, ("Mail", "City orders 40 new trams", "Forty trams are ordered.")]
    reasoner = ScriptedReasoner(["a", "b"], sufficient=True)
    runs = shared.open(reasoner, wire)
    told = coverage(written(runs, runs.start(TOPIC, options=REPORT).id))
    told_by = {tuple(sorted(story.outlets)) for story in told.stories}
    assert told_by == {("Daily",), ("Mail", "Post")}
    assert {outlet.name for outlet in told.outlets} == {"Daily", "Mail", "Post"}
    assert told.days == ((DAY, 3),)
    assert all(story.tone == "neutral" and not story.tone_from_words for story in told.stories)
    assert told.changes == () and told.compared_run == ""


@pytest.mark.slow
def test_what_has_not_changed_costs_its_searches_and_nothing_else(shared: Bench, wire: Wire) -> None:
    reasoner = ScriptedReasoner(["a", "b"], sufficient=True)
    runs = shared.open(reasoner, wire)
    first = runs.start(TOPIC, options=REPORT)
    before = written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    asked = (len(reasoner.written), len(reasoner.reflected), len(reasoner.rated), reasoner.prefaced)
    again = WatchedTopics(runs).start_update(watch.id)
    after = written(runs, again.id)
    assert sorted(wire.queries) == ["a", "a", "b", "b"]
    assert asked == (
        len(reasoner.written), len(reasoner.reflected), len(reasoner.rated), reasoner.prefaced
    )  # fmt: skip
    assert len(reasoner.planned) == 1
    assert [span.text for span in after.spans] == [span.text for span in before.spans]
    assert changed(after) == []
    assert coverage(after).compared_run == first.id
    assert not any(story.tone_from_words for story in coverage(after).stories)
    assert WatchedTopics(runs).all()[0].changed is False


@pytest.mark.slow
def test_only_what_is_new_is_read_and_only_where_it_belongs(shared: Bench, wire: Wire) -> None:
    reasoner = ScriptedReasoner(["a", "b"], sufficient=True)
    runs = shared.open(reasoner, wire)
    first = runs.start(TOPIC, options=REPORT)
    written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    wire.news["b"] = [MUSEUM, TRAMS]
    reasoner.written.clear()
    reasoner.rated.clear()
    after = written(runs, WatchedTopics(runs).start_update(watch.id).id)
    assert changed(after) == [("new", MUSEUM[1])]
    (_, findings), = reasoner.written  # fmt: skip
    titles = [item.title for found in findings for item in found.evidence]
    assert titles == [TRAMS[1], MUSEUM[1]]  # what the text cites, and what is new
    assert reasoner.rated == [(MUSEUM[1],)]
    assert WatchedTopics(runs).all()[0].changed is True


def test_every_citation_of_a_kept_section_still_opens(shared: Bench, wire: Wire) -> None:
    runs = shared.open(ScriptedReasoner(["a", "b"], sufficient=True), wire)
    first = runs.start(TOPIC, options=REPORT)
    written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    wire.news.update(a=[], b=[MUSEUM])
    again = WatchedTopics(runs).start_update(watch.id)
    written(runs, again.id)
    numbered = number_report_answer(report(runs, again.id))
    assert numbered is not None
    assert {source.evidence.title for source in numbered.sources} == {
        BRIDGE[1], TRAMS[1], MUSEUM[1]
    }  # fmt: skip


def test_a_figure_that_is_another_now_is_told(shared: Bench, wire: Wire) -> None:
    runs = shared.open(ScriptedReasoner(["a", "b"], sufficient=True), wire)
    first = runs.start(TOPIC, options=REPORT)
    written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    wire.news["a"] = [(BRIDGE[0], BRIDGE[1], "The collapse left 15 people dead.")]
    wire.published[BRIDGE[1]] = DAY + timedelta(days=1)
    after = written(runs, WatchedTopics(runs).start_update(watch.id).id)
    (change,) = [c for c in coverage(after).changes if c.kind == "figure"]
    assert change.before and "12" in change.before.text
    assert change.after and "15" in change.after.text


def test_a_story_is_gone_only_if_it_was_looked_for(shared: Bench, wire: Wire) -> None:
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: ["more"])
    wire.news["s1 more"] = [STRIKE]
    runs = shared.open(reasoner, wire)
    first = runs.start(TOPIC, options=REPORT)
    written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    wire.news["b"] = [MUSEUM]
    after = written(runs, WatchedTopics(runs).start_update(watch.id).id)
    assert changed(after) == [("new", MUSEUM[1]), ("gone", TRAMS[1])]


@pytest.mark.slow
def test_a_search_that_fails_takes_nothing_away(shared: Bench, wire: Wire) -> None:
    class Down(Wire):
        down = False

        async def search(self, task: Task, say: object) -> Finding:  # type: ignore[override]
            if self.down and task.query == "b":
                self.calls.append(task)
                return Finding(task=task, reason="unavailable", message="503", started=RETRIEVED)
            return await super().search(task, say)  # type: ignore[arg-type]

    source = Down(wire.news)
    runs = shared.open(ScriptedReasoner(["a", "b"], sufficient=True), source)
    first = runs.start(TOPIC, options=REPORT)
    before = written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    source.down = True
    after = written(runs, WatchedTopics(runs).start_update(watch.id).id)
    assert changed(after) == []
    assert [failure.reason for failure in after.failures] == ["unavailable"]
    texts = [span.text for span in before.spans]
    assert [span.text for span in after.spans if span.kind != "notice"] == texts


@pytest.mark.slow
def test_what_an_older_report_knew_is_not_new_again(shared: Bench, wire: Wire) -> None:
    runs = shared.open(ScriptedReasoner(["a", "b"], sufficient=True), wire)
    first = runs.start(TOPIC, options=REPORT)
    written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    wire.news["b"] = [MUSEUM]
    written(runs, WatchedTopics(runs).start_update(watch.id).id)
    wire.news["b"] = [TRAMS, MUSEUM]
    third = written(runs, WatchedTopics(runs).start_update(watch.id).id)
    assert "new" not in [kind for kind, _ in changed(third)]
    assert len(WatchedTopics(runs).all()) == 1


def test_a_watch_of_an_update_is_that_of_its_topic(shared: Bench, wire: Wire) -> None:
    runs = shared.open(ScriptedReasoner(["a", "b"], sufficient=True), wire)
    first = runs.start(TOPIC, options=REPORT)
    written(runs, first.id)
    watch = WatchedTopics(runs).add(first.id)
    again = WatchedTopics(runs).start_update(watch.id)
    written(runs, again.id)
    assert WatchedTopics(runs).add(again.id).id == first.id
    assert WatchedTopics(runs).find("the BRIDGE, in the news") is not None
    WatchedTopics(runs).remove(watch.id)
    assert WatchedTopics(runs).all() == []
    with pytest.raises(UnwatchableTopicError):
        WatchedTopics(runs).start_update(watch.id)


def test_an_answer_that_is_no_report_cannot_be_watched(bench: Bench) -> None:
    runs = bench.open()
    run = runs.start("What is known of the tower?", options=RunOptions(loops=1, sources=("web",)))
    assert over(runs, run.id) == "done"
    with pytest.raises(UnwatchableTopicError):
        WatchedTopics(runs).add(run.id)


def test_the_report_of_somebody_else_is_not_brought_up_to_date(bench: Bench, wire: Wire) -> None:
    reasoner = ScriptedReasoner(["a", "b"], sufficient=True)
    runs = bench.open(reasoner, wire)
    first = runs.start(TOPIC, options=REPORT, owner="ann")
    assert over(runs, first.id, owner="ann") == "done"
    stolen = REPORT.model_copy(update={"updated_run": first.id})
    theirs = runs.start(TOPIC, options=stolen, owner="bob")
    assert over(runs, theirs.id, owner="bob") == "done"
    found = runs.report(theirs.id, owner="bob")
    assert found and found.answer
    assert coverage(found.answer).compared_run == ""


def test_a_stretch_of_days_that_reached_the_day_of_the_report_reaches_today(bench: Bench, wire: Wire) -> None:
    from research.agent.nodes.report_update import BY_DATE_TOOL, repeat_outline

    runs = bench.open(ScriptedReasoner(["a", "b"], sufficient=True), wire)
    run = runs.start(TOPIC, options=REPORT)
    written(runs, run.id)
    found = report(runs, run.id)
    assert found.plan
    today = datetime.now(UTC).date()
    ends = [today, today - timedelta(days=30)]
    dated = [
        task.model_copy(update={"tool": BY_DATE_TOOL, "start": date(2026, 1, 1), "end": end})
        for task, end in zip(found.plan.tasks, ends, strict=True)
    ]
    plan = found.plan.model_copy(update={"tasks": tuple(dated)})
    later = today + timedelta(days=9)
    new = repeat_outline(found.model_copy(update={"plan": plan}), later)
    assert new and [task.end for task in new.tasks] == [later, ends[1]]


def test_changes_survive_the_store(bench: Bench) -> None:
    change = StoryChange(kind="new", story="s", headline="A", evidence=("e",))
    told = NewsCoverage(as_of=DAY, changes=(change,), compared_run="r")
    assert NewsCoverage.model_validate_json(told.model_dump_json()) == told


async def test_tones_belong_to_the_headlines_that_they_were_given_for(wire: Wire) -> None:
    class Kept:
        def __init__(self) -> None:
            self.steps: dict[str, str] = {}

        def load_result(self, step: str) -> str | None:
            return self.steps.get(step)

        async def save_result(self, step: str, text: str) -> None:
            self.steps[step] = text

    reasoner, notes = ScriptedReasoner(), Kept()
    question = Question(text=TOPIC, language="en")
    for query in ("a", "b", "a"):
        finding = await wire.search(Task(id="1", source="news", query=query), ignore_event)
        await cover_news(question, [finding], at_work(reasoner, REPORT, step_results=notes), ignore_event)
    assert reasoner.rated == [(BRIDGE[1],), (TRAMS[1],)]  # as many, but others; then as before
