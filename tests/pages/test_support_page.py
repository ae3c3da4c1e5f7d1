"""What stands behind the sentences of an answer, as the pages tell it: marks, counts, sources, files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest import MonkeyPatch

from pages.run import answer, conflicts, downloads, sources, support_texts
from pages.shared.escaping import escape_markdown
from research import (
    EXPORT_FORMATS,
    SUPPORT_ACCURACY,
    AnswerSupport,
    CheckedSentence,
    CitedAnswer,
    CitedFigure,
    FigureDisagreement,
    Report,
    Span,
    check_support,
    get_application,
    number_report_answer,
)
from research.core.records import AnswerReview, SentenceRepair, SupportGap
from tests.catalogue import WORDS
from tests.pages.checked_run import QUOTED, SOURCES, evidence, found, put
from tests.pages.checked_run import answer as answer_of
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](https://evil.example/y) $a$"


@pytest.fixture(params=["zh", "en"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run_id(folder: Path, language: Any) -> str:
    return put(get_application().runs.store, language)


def report_of(run_id: str) -> tuple[Report, CitedAnswer]:
    report = get_application().runs.report(run_id)
    assert report is not None
    numbered = number_report_answer(report)
    assert numbered is not None
    return report, numbered


def differing(numbered: CitedAnswer) -> AnswerSupport:
    """The support of the answer, in which the second sentence has another figure than its source."""
    known = check_support(numbered)
    lack = SupportGap(kind="figure", text="80", found="60")
    return AnswerSupport(
        sentences=tuple(
            s.model_copy(update={"status": "differs", "gaps": (lack,)}) if s.at == 1 else s for s in known.sentences
        )
    )


def marked(blocks: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {at: mark for block in blocks for at, mark in block.get("marks", {}).items()}


# Marks


def test_every_doubtful_sentence_has_one_mark_that_says_why(run_id: str) -> None:
    _, numbered = report_of(run_id)
    known = check_support(numbered)
    marks = marked(answer.build_blocks(numbered, {}, known))
    assert sorted(marks) == [sentence.at for sentence in known.doubtful_sentences]
    assert {mark["status"] for mark in marks.values()} >= {"unclear", "none"}
    for sentence in known.doubtful_sentences:
        assert marks[sentence.at]["label"].startswith(WORDS[f"standing.{sentence.status}"][1])


def test_a_figure_that_differs_is_told_with_both_figures(run_id: str) -> None:
    _, numbered = report_of(run_id)
    mark = marked(answer.build_blocks(numbered, {}, differing(numbered)))[1]
    assert mark["label"] == "Differs from its source: figure differs: 80 here, 60 in the source"
    assert mark["near"] == {"n": 1, "at": check_support(numbered).sentences[1].spans[0]}


def test_a_source_that_does_not_exist_is_told(run_id: str) -> None:
    _, numbered = report_of(run_id)
    labels = [mark["label"] for mark in marked(answer.build_blocks(numbered, {}, check_support(numbered))).values()]  # fmt: skip
    assert sum(WORDS["support.unsourced"][1] in label for label in labels) == 1


def test_a_draft_has_no_marks_and_no_counts(run_id: str, monkeypatch: MonkeyPatch) -> None:
    report, numbered = report_of(run_id)
    drawn: list[dict[str, Any]] = []
    monkeypatch.setattr(answer, "_answer_component", lambda data, **_: drawn.append(data))
    answer.draw_draft(report, numbered)
    answer.draw(report, numbered)
    assert [bool(marked(data["blocks"])) for data in drawn] == [False, True]
    assert [data["summary"] is None for data in drawn] == [True, False]
    assert drawn[0]["draft"] and not drawn[1]["draft"]


def test_a_quote_that_its_source_does_not_contain_is_marked() -> None:
    item = evidence(SOURCES["en"][0])
    numbered = CitedAnswer.model_validate(
        {
            "answer": {"title": "t", "language": "en", "author": "a", "made": item.retrieved},
            "spans": [{"span": Span(kind="quote", text="Never said."), "unsourced": True}],
        }
    )
    (block,) = answer.build_blocks(numbered, {}, check_support(numbered))
    assert block["mark"]["status"] == "none"


# Passages


def test_a_citation_opens_its_passage_at_the_sentence_that_comes_nearest(run_id: str, language: str) -> None:
    _, numbered = report_of(run_id)
    blocks = answer.build_blocks(numbered, {}, check_support(numbered))
    shown = [c for b in blocks for s in b.get("spans", {}).values() for c in s["cites"]]
    prices = [cite for cite in shown if "40" in cite["quote"]]
    assert len(prices) == 1
    text = SOURCES[language][0][4]
    assert prices[0]["before"] + prices[0]["quote"] + prices[0]["after"] == text
    assert len(prices[0]["quote"]) < len(text) / 2
    assert prices[0]["url"].startswith("https://www.dpm.org.cn/visit.html#:~:text=")
    assert "8 Oct 2026" in prices[0]["facts"]


def test_the_highlight_of_an_answer_without_support_is_what_was_cited(run_id: str) -> None:
    _, numbered = report_of(run_id)
    blocks = answer.build_blocks(numbered)
    shown = [c for b in blocks for s in b.get("spans", {}).values() for c in s["cites"]]
    assert {cite["quote"] for cite in shown} == {""}


# Counts


@pytest.mark.slow
def test_a_sentence_that_its_source_takes_back_is_shown_beside_what_the_source_says(run_id: str, visit: Visit) -> None:
    visit(run=run_id, lang="en")
    _, numbered = report_of(run_id)
    text = "Smoking is legal."
    lack = SupportGap(kind="words", text=text, found="smoking is legally restricted")
    sentence = CheckedSentence(at=0, text=text, status="unclear", gaps=(lack,))
    (why,) = support_texts.gap_texts(sentence, numbered)
    assert "smoking is legally restricted" in why


@pytest.mark.slow
def test_what_a_model_holds_against_a_sentence_is_told(run_id: str, visit: Visit) -> None:
    visit(run=run_id, lang="en")
    _, numbered = report_of(run_id)
    sentence = CheckedSentence(at=0, text="It has 70 gates.", status="unclear", ruled=True, reason="no gates")
    assert support_texts.gap_texts(sentence, numbered) == ["the model’s reason: no gates"]


@pytest.mark.slow
def test_the_line_counts_every_sentence(run_id: str, visit: Visit) -> None:
    visitor = visit(run=run_id)
    assert visitor.answer is not None
    summary = visitor.answer["summary"]
    _, numbered = report_of(run_id)
    counts = check_support(numbered).counts
    ok = counts.quoted + counts.supported
    assert summary["line"].startswith(f"{ok} of {counts.total} sentences supported")
    assert f"{counts.none} without a source" in summary["line"]
    assert len(summary["doubtful"]) == counts.unclear + counts.unsupported + counts.none + counts.differs
    accuracy = {key: round(100 * of.balanced) for key, of in SUPPORT_ACCURACY.items()}
    assert f"{accuracy['en']}% in English" in summary["notes"][0]
    assert f"{accuracy['zh']}% in Chinese" in summary["notes"][0]


@pytest.mark.slow
def test_the_line_is_in_the_language_of_the_page(run_id: str, visit: Visit) -> None:
    visitor = visit(run=run_id, lang="zh")
    assert visitor.answer is not None
    line = visitor.answer["summary"]["line"]
    assert re.fullmatch(r"\d+ 句中 \d+ 句有依据(，\d+ 句[^，]+)+", line)
    assert visitor.answer["page"] == "zh-CN"


def test_an_answer_of_quotes_is_told_as_one() -> None:
    told = [CheckedSentence(at=n, text="A quote.", status="quoted") for n in range(3)]
    assert support_texts.counts_text(AnswerSupport(sentences=tuple(told))) == WORDS["support.quoted"][1].format(n=3)


@pytest.mark.slow
def test_an_answer_of_rows_has_no_line(visit: Visit) -> None:
    visitor = visit("database")
    visitor.at.text_area(key="database_question").set_value("各省5A景区数量")
    visitor.press("database_go").wait()
    assert visitor.answer is not None
    assert visitor.answer["blocks"]
    assert visitor.answer["summary"] is None


@pytest.mark.slow
def test_support_is_worked_out_once_for_a_run(run_id: str, visit: Visit, monkeypatch: MonkeyPatch) -> None:
    calls: list[CitedAnswer] = []

    def counted(numbered: CitedAnswer) -> AnswerSupport:
        calls.append(numbered)
        return check_support(numbered)

    monkeypatch.setattr(support_texts, "check_support", counted)
    visitor = visit(run=run_id)
    visitor.look().look()
    assert len(calls) == 1


# Sources


@pytest.mark.slow
def test_sources_that_are_only_found_are_shown_when_asked_for(run_id: str, visit: Visit) -> None:
    visitor = visit(run=run_id)
    table = visitor.table("times")
    assert list(table["number"]) == [1, 2, 3, 4, 5]
    assert table["doubtful"].sum() >= 2
    which = next(g for g in visitor.at.button_group if g.key and g.key.startswith("sources_which_"))
    which.set_value("all")
    visitor.look()
    assert len(visitor.table("times")) == 12
    assert visitor.table("times")["number"].isna().sum() == 7


def test_sources_are_filtered_by_kind_domain_and_date(run_id: str) -> None:
    report, numbered = report_of(run_id)
    every = sources.list_sources(report, numbered)
    web = {one.kind for one in every if one.evidence.kind == "web"}
    by_kind = [one for one in every if sources.SourceFilter(kinds=tuple(web)).matches(one)]
    assert {one.evidence.kind for one in by_kind} == {"web"}
    by_domain = [one for one in every if sources.SourceFilter(domains=("www.dpm.org.cn",)).matches(one)]
    assert [one.number for one in by_domain] == [1]
    first, last = sorted(one.evidence.published for one in every if one.evidence.published)[-2:]
    by_day = [one for one in every if sources.SourceFilter(date_range=(first, last)).matches(one)]
    assert {one.evidence.published for one in by_day} == {first, last}
    assert [one for one in every if sources.SourceFilter(date_range=(first,)).matches(one)] == every


def test_few_sources_need_no_filters(folder: Path, visit: Visit) -> None:
    known = found("en", uncited=0)[:5]
    visitor = visit(run=put(get_application().runs.store, "en", known=known))
    assert len(visitor.table("times")) == 5
    assert [box.key for box in visitor.at.multiselect] == []


def test_the_text_of_sources_stays_text(folder: Path, visit: Visit) -> None:
    first, *others = found("en")
    wild = first.model_copy(update={"title": HOSTILE, "publisher": HOSTILE})
    visitor = visit(run=put(get_application().runs.store, "en", known=(wild, *others)))
    assert visitor.errors == []
    assert visitor.answer is not None
    assert HOSTILE in list(visitor.table("times")["name"])


def test_a_source_knows_the_sentences_that_use_it(run_id: str) -> None:
    _, numbered = report_of(run_id)
    known = check_support(numbered)
    told = support_texts.source_uses(known, numbered)
    assert {n: len(used) for n, used in told.items()} == {
        str(s.number): len(known.sentences_citing(s.number)) for s in numbered.sources
    }
    for n, used in told.items():
        assert all(int(n) in numbered.spans[one["at"]].numbers for one in used)


@pytest.mark.slow
def test_the_link_of_a_source_leads_to_the_passage_that_is_used(run_id: str, visit: Visit) -> None:
    links = list(visit(run=run_id).table("times")["link"])
    assert sum(":~:text=" in str(link) for link in links) == 4
    assert not isinstance(links[3], str)  # a document of the library


# Conflicts


@pytest.mark.slow
def test_sources_that_disagree_stand_in_a_table(
    run_id: str, language: Any, visit: Visit, monkeypatch: MonkeyPatch
) -> None:
    first, gone = (
        CitedFigure(text=text, clause=HOSTILE, evidence=item, number=n, copies=2)
        for text, item, n in (("80", found(language)[0].id, 1), ("60", "gone", None))
    )
    price = FigureDisagreement(subject="price of a ticket", unit="yuan", figures=(first, gone))
    monkeypatch.setattr(conflicts, "find_disagreements", lambda report, numbered: (price,))
    visitor = visit(run=run_id)
    table = visitor.table("figure")
    assert list(table["figure"]) == ["80", "60"]
    assert WORDS["conflicts.title"][1] in visitor.words
    assert table["source"][0] == f"[1] {SOURCES[language][0][1]} · copies: 2"


def test_without_disagreements_there_is_no_table(run_id: str, monkeypatch: MonkeyPatch) -> None:
    report, numbered = report_of(run_id)
    monkeypatch.setattr(conflicts, "find_disagreements", lambda *_: ())
    monkeypatch.setattr(conflicts, "draw_table", pytest.fail)
    conflicts.draw(report, numbered)


# What a check has changed


def test_sentences_that_a_check_has_changed_stand_as_they_were(folder: Path, visit: Visit) -> None:
    known = found("en")
    review = AnswerReview(
        author="openai:gpt-fake",
        repairs=(
            SentenceRepair(before=HOSTILE),
            SentenceRepair(before="It has 70 gates.", after="It has 4 gates."),
        ),
    )
    written = answer_of("en", known).model_copy(update={"review": review})
    visitor = visit(run=put(get_application().runs.store, "en", written, known))
    assert visitor.errors == []
    assert any(WORDS["review.title"][1].format(n=2) == box.label for box in visitor.at.expander)
    lines = [item.value for item in visitor.at.markdown]
    assert f"- **{WORDS['review.dropped'][1]}** {escape_markdown(HOSTILE)}" in lines
    rewritten = f"{escape_markdown('It has 70 gates.')}  \n→ {escape_markdown('It has 4 gates.')}"
    assert f"- **{WORDS['review.rewritten'][1]}** {rewritten}" in lines


@pytest.mark.slow
def test_an_answer_that_nobody_changed_says_nothing_of_it(run_id: str, visit: Visit) -> None:
    labels = [box.label for box in visit(run=run_id).at.expander]
    assert not any("check" in label for label in labels)


# Files


@pytest.mark.slow
def test_every_format_that_is_offered_can_be_made_and_has_a_name_of_its_own(run_id: str) -> None:
    report, numbered = report_of(run_id)
    offered = list(downloads.list_formats(report, numbered))
    assert {"md", "json", "places_geojson", "places_kml", "places_csv", "rows_csv_1", "rows_excel_1"} <= {one.kind for one in offered}  # fmt: skip
    assert len({one.kind for one in offered}) == len({one.suffix for one in offered}) == len(offered)
    for one in offered:
        assert downloads.create_builder(report, one)()


def test_every_format_of_the_engine_is_offered(run_id: str) -> None:
    report, numbered = report_of(run_id)
    endings = {one.suffix.lstrip(".") for one in downloads.list_formats(report, numbered)}
    kinds = ("report", "sources", "everything")
    assert {item.suffix for item in EXPORT_FORMATS if item.content in kinds} <= endings


@pytest.mark.slow
def test_a_writer_that_fails_is_told_in_words(run_id: str, visit: Visit, monkeypatch: MonkeyPatch) -> None:
    def broken(*_: object) -> str:
        raise KeyError("secret detail")

    monkeypatch.setattr("research.export.markdown.markdown_file", broken)
    visitor = visit(run=run_id)
    (told,) = visitor.errors
    assert "Markdown" in told
    assert "secret" not in told


def test_a_chosen_passage_is_named_by_its_quote(run_id: str, language: str) -> None:
    _, numbered = report_of(run_id)
    quote = next(b for b in answer.build_blocks(numbered, {}, check_support(numbered)) if b["kind"] == "quote")
    assert quote["text"] == QUOTED[language] == quote["cites"][0]["quote"]
    assert "mark" not in quote
