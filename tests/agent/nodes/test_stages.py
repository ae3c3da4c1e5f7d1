"""The stages, each by itself: records go in, records come out."""

from datetime import UTC, date, datetime

import pytest

from research.agent.nodes.answer import AnswerNotWrittenError, build_answer, compose_answer, search_failures
from research.agent.nodes.plan import build_edited_plan, limit_tasks, make_plan, plan_from_question
from research.agent.nodes.question import QuestionError, clean_question
from research.agent.nodes.reflect import reflect_on_findings
from research.agent.nodes.search import failed_finding, run_search
from research.core.errors import ServiceError
from research.core.events import RetryScheduled, ignore_event
from research.core.records import (
    MAX_QUESTION_CHARS,
    Draft,
    Failure,
    Finding,
    Part,
    Plan,
    Question,
    Reflection,
    RunOptions,
    SearchArea,
    Span,
    Task,
    fingerprint,
)
from research.core.text.tokenizer import has_han
from research.sources.base import LOCAL_QUERY_FACTOR
from tests.fakes import AUTHOR, HANGS, Outcome, ScriptedReasoner, ScriptedSource, at_work
from tests.tables import each_row

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOWER = Question(text="What is known of the tower?", language="en")
TOWER_ZH = Question(text="塔有多高？", language="zh")
WEB = RunOptions(sources=("web",))


@each_row(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("\u200b\u202e", "empty"),
        ("😀😀", "no words"),
        ("?！$`*<>", "no words"),
        ("字" * (MAX_QUESTION_CHARS + 1), "too long"),
    ],
)
def test_a_question_that_cannot_be_researched_says_why(text, problem):
    with pytest.raises(QuestionError) as caught:
        clean_question(text)
    assert caught.value.problem == problem


def test_a_question_keeps_its_marks_but_no_control_characters():
    asked = clean_question("  ![x](http://a)\x00 <b>`$5`\u202e 故宫  ")
    assert asked.text == "![x](http://a) <b>`$5` 故宫"


@each_row(
    ("text", "language"),
    [
        ("故宫的门票多少钱", "zh"),
        ("What does a ticket cost?", "en"),
        ("故宫 Palace Museum 的门票多少钱", "zh"),
        ("Where is 故宫 in Beijing and how do I get there", "en"),
    ],
)
def test_the_language_is_that_of_most_words(text, language):
    assert clean_question(text).language == language


def some_tasks(count, source="library"):
    return [Task(id=f"1.{n}", source=source, query=f"query {n}") for n in range(count)]


def test_tasks_are_cut_to_the_limit_of_each_source():
    tasks = [*some_tasks(9), *some_tasks(5, "web"), *some_tasks(2, "news")]
    kept = limit_tasks(tasks, RunOptions(queries=2, sources=("library", "web")), known_keys=())
    assert [(t.source, t.query) for t in kept] == [
        *(("library", f"query {n}") for n in range(2 * LOCAL_QUERY_FACTOR)),  # which costs nothing
        ("web", "query 0"),
        ("web", "query 1"),
    ]


def test_tasks_that_ran_already_are_dropped_whatever_their_spelling():
    first = Task(id="1.1", source="library", query="故宫  门票？")
    again = Task(id="2.1", source="library", query="故宫 门票")
    assert limit_tasks([again], RunOptions(), known_keys=[first.key]) == ()


PLAN = Plan(
    parts=(Part(id="p1", subject="故宫", text="门票"), Part(id="p2", subject="故宫", text="交通")),
    tasks=(
        Task(id="1.1", source="library", query="故宫 门票", part="p1", subject=("故宫", "紫禁城")),
        Task(id="1.2", source="library", query="故宫 交通", part="p2", subject=("故宫", "紫禁城")),
    ),
)
ROWS = [("故宫", "门票", "故宫 门票", "library"), ("故宫", "交通", "故宫 交通", "library")]


def test_a_plan_that_was_not_changed_stays_the_original():
    assert build_edited_plan(ROWS, PLAN) is PLAN


def test_an_unchanged_row_of_an_edited_plan_keeps_its_key():
    edited = build_edited_plan([ROWS[0], ("故宫", "交通", "故宫 地铁", "library")], PLAN)
    assert edited.edited
    assert edited.tasks[0].key == PLAN.tasks[0].key
    assert edited.tasks[1].key != PLAN.tasks[1].key
    assert edited.tasks[1].subject == ("故宫", "紫禁城")


def test_an_unchanged_row_of_an_edited_plan_keeps_its_way_of_searching():
    way = {"tool": "search_news_by_date", "start": date(2026, 11, 1), "end": date(2026, 11, 3)}
    tasks = (Task(id="1.1", source="news", query="降准", part="p1", **way), *PLAN.tasks[1:])
    original = Plan(parts=PLAN.parts, tasks=tasks)
    rows = [("故宫", "门票", "降准", "news"), ("故宫", "交通", "故宫 地铁", "library")]
    kept, new = build_edited_plan(rows, original).tasks
    assert (kept.tool, kept.start, kept.end) == tuple(way.values())
    assert (new.tool, new.start, new.end) == ("", None, None)


@each_row(
    "way",
    [
        {"tool": "search_news_last_week"},
        {"tool": "search_news_by_date", "start": date(2026, 11, 1), "end": date(2026, 11, 3)},
        {"tool": "search_news_by_date", "start": date(2026, 11, 1), "end": date(2026, 11, 4)},
        {"start": date(2026, 11, 1)},
        {"end": date(2026, 11, 1)},
    ],
)
def test_tasks_that_search_in_different_ways_both_run(way):
    usual = Task(id="1.1", source="news", query="降准")
    other = usual.model_copy(update=way)
    assert other.key != usual.key
    assert limit_tasks([other, other], RunOptions(sources=("news",)), known_keys=[usual.key]) == (other,)
    named = usual.model_copy(update={"subject": ("tool=search_news_last_week", "days=None..None")})
    assert named.key != other.key


def test_a_task_that_names_no_way_keeps_the_key_that_it_had():
    assert Task(id="1.1", source="web", query="雷峰塔 门票", subject=("雷峰塔",)).key == fingerprint(
        "web", "雷峰塔 门票", "雷峰塔"
    )


def test_a_plan_whose_tasks_serve_all_of_it_keeps_its_parts_when_it_is_edited():
    asked = (Part(id="p1", subject="", text="门票"), Part(id="p2", subject="", text="交通"))
    tasks = tuple(Task(id=f"1.{n}", source="web", query=f"故宫 {n}") for n in (1, 2))
    original = Plan(parts=asked, tasks=tasks)
    rows = [("", "", "故宫 1", "web"), ("", "", "故宫 2", "web")]
    assert build_edited_plan(rows, original) is original
    edited = build_edited_plan([*rows[:1], ("", "历史", "故宫 历史", "web")], original)
    assert [(p.id, p.text) for p in edited.parts] == [
        ("p1", "门票"),
        ("p2", "交通"),
        ("p3", "历史"),
    ]
    assert [(task.query, task.part) for task in edited.tasks] == [
        ("故宫 1", ""), ("故宫 历史", "p3"),
    ]  # fmt: skip
    assert edited.tasks[0].key == tasks[0].key


def test_rows_without_a_query_are_left_out_and_a_new_subject_has_to_be_mentioned():
    edited = build_edited_plan([*ROWS, ("长城", "高度", "", "library"), ("天坛", "", "天坛 门票", "library")], PLAN)
    assert [task.query for task in edited.tasks] == ["故宫 门票", "故宫 交通", "天坛 门票"]
    assert edited.tasks[-1].subject == ("天坛",)
    assert edited.parts[-1].text == "天坛 门票"


# Planning


async def test_a_question_that_needs_no_search_comes_back_as_an_answer():
    draft = await make_plan(TOWER, ScriptedReasoner(direct="Hello."), WEB, ignore_event)
    assert draft == Draft(spans=(Span(kind="text", text="Hello."),), author=AUTHOR)


@pytest.mark.parametrize("queries", [1, 4, 10])
async def test_a_plan_is_held_to_the_limit_and_says_what_it_left_out(queries):
    reasoner = ScriptedReasoner([f"q{n}" for n in range(12)])
    options = WEB.model_copy(update={"queries": queries})
    plan = await make_plan(TOWER, reasoner, options, ignore_event)
    assert [task.query for task in plan.tasks] == [f"q{n}" for n in range(queries)]
    assert plan.notes == ("scripted", f"{12 - queries} queries beyond the limits were left out")


async def test_a_plan_that_fits_is_left_as_it_is():
    plan = await make_plan(TOWER, ScriptedReasoner(["a", "b"]), WEB, ignore_event)
    assert ([task.query for task in plan.tasks], plan.notes) == (["a", "b"], ("scripted",))


@pytest.mark.parametrize(
    ("question", "note"),
    [
        (TOWER, "no query was proposed; the question itself is searched"),
        (TOWER_ZH, "没有拟出查询，直接搜索问题本身"),
    ],
)
async def test_a_plan_without_a_query_searches_the_question_itself_in_each_source(question, note):
    options = RunOptions(sources=("web", "library"))
    plan = await make_plan(question, ScriptedReasoner([]), options, ignore_event)
    assert [(task.source, task.query) for task in plan.tasks] == [
        ("web", question.text),
        ("library", question.text),
    ]
    assert note in plan.notes
    assert plan_from_question(question, options).tasks == plan.tasks


@pytest.mark.parametrize(
    ("sources", "asked"),
    [(("web", "places"), ["web"]), (("places", "library"), ["library"]), (("places",), ["places"])],
)
async def test_a_plan_without_a_query_asks_the_map_only_if_nothing_else_was_chosen(sources, asked):
    plan = await make_plan(TOWER, ScriptedReasoner([]), RunOptions(sources=sources), ignore_event)
    assert [(task.source, task.query) for task in plan.tasks] == [(s, TOWER.text) for s in asked]


async def test_the_limit_holds_for_the_map_by_itself():
    options = RunOptions(sources=("web", "places"), queries=2)
    plan = await make_plan(TOWER, ScriptedReasoner(["a", "b", "c"]), options, ignore_event)
    assert [(task.source, task.query) for task in plan.tasks] == [
        ("web", "a"), ("places", "a"), ("web", "b"), ("places", "b"),
    ]  # fmt: skip


async def test_what_failed_while_planning_stays_with_the_plan():
    trouble = Failure(stage="plan", reason="timeout", message="no answer within 60 s")

    class Planless(ScriptedReasoner):
        async def plan(self, *arguments):
            return Plan(failures=(trouble,))

    plan = await make_plan(TOWER, Planless(), WEB, ignore_event)
    assert plan.failures == (trouble,)
    assert [task.query for task in plan.tasks] == [TOWER.text]


# Searching


class Notebook:
    """A ledger that remembers nothing but what it was told."""

    def __init__(self):
        self.begun, self.finished = [], []

    async def find(self, task):
        return None

    async def start_search(self, task):
        self.begun.append(task)
        return len(self.begun)

    async def finish_search(self, search_id, finding):
        self.finished.append((search_id, finding))


SEARCH = Task(id="1.1", source="web", query="tower")


@each_row(
    ("outcome", "reason", "hint", "message"),
    [
        (
            Outcome(raises=ServiceError("quota", "used up until noon", hint="billing", retry_after_seconds=3600)),
            "quota", "billing", "used up until noon",
        ),
        (Outcome(raises=ServiceError("refused", "HTTP 401", hint="key")), "refused", "key", "HTTP 401"),
        (Outcome(raises=KeyError("secret")), "internal", "", "KeyError"),
        (HANGS, "timeout", "", "no answer within 0.05 s"),
    ],
)  # fmt: skip
async def test_a_search_that_goes_wrong_is_a_finding_that_says_why(outcome, reason, hint, message):
    ledger = Notebook()
    source = ScriptedSource(usual=outcome)
    finding = await run_search(SEARCH, source, ledger, ignore_event, deadline_seconds=0.05)
    assert (finding.task, finding.evidence) == (SEARCH, ())
    assert (finding.reason, finding.hint, finding.message) == (reason, hint, message)
    assert ledger.finished == [(1, finding)]
    assert finding.seconds < 5


async def test_the_time_that_a_failed_search_took_is_told():
    finding = await run_search(SEARCH, ScriptedSource(usual=HANGS), Notebook(), ignore_event, deadline_seconds=0.05)
    assert finding.seconds >= 0.05


async def test_what_a_source_says_while_it_searches_is_passed_on():
    heard = []

    class Talking(ScriptedSource):
        async def search(self, task, say):
            say(RetryScheduled(stage="search", seconds=2.0, reason="quota", service="tavily"))
            return await super().search(task, say)

    def say(event):
        heard.append((event.kind, event.service))

    finding = await run_search(SEARCH, Talking(), Notebook(), say, deadline_seconds=5)
    assert (finding.reason, heard) == (None, [("retry_scheduled", "tavily")])


def test_a_finding_of_trouble_has_all_that_the_trouble_says():
    finding = failed_finding(SEARCH, ServiceError("blocked", "not  for\nyou", hint="location"))
    assert (finding.reason, finding.hint, finding.message) == ("blocked", "location", "not for you")


# Reflecting


@pytest.mark.parametrize("queries", [1, 3, 10])
async def test_follow_ups_are_new_and_within_the_limit(queries):
    reasoner = ScriptedReasoner(["a"], lambda round_: ["a", "A!", *(f"n{n}" for n in range(12))])
    plan = await make_plan(TOWER, reasoner, WEB, ignore_event)
    known = [failed_finding(task, ServiceError("timeout")) for task in plan.tasks]
    asked = [f.model_copy(update={"task": Task(id="1.1", source="web", query="a")}) for f in known]
    options = WEB.model_copy(update={"queries": queries})
    reflection = await reflect_on_findings(TOWER, plan, asked, reasoner, options, 1, ignore_event)
    assert [task.query for task in reflection.follow_ups] == [f"n{n}" for n in range(queries)]


async def test_nothing_follows_where_it_is_enough():
    reasoner = ScriptedReasoner(["a"], lambda round_: ["more"], sufficient=True)
    plan = await make_plan(TOWER, reasoner, WEB, ignore_event)
    reflection = await reflect_on_findings(TOWER, plan, [], reasoner, WEB, 1, ignore_event)
    assert (reflection.sufficient, reflection.follow_ups) == (True, ())


# Answering

PLANNING = Failure(stage="plan", reason="timeout", message="1")
JUDGING = Failure(stage="reflect", reason="malformed", message="2")
READING = Failure(stage="search", source="page", query="https://example.org", reason="blocked")
SUMMING = Failure(stage="summarise", source="web", query="tower", reason="cut off")
WRITING = Failure(stage="write", reason="unavailable", message="HTTP 503", hint="model")


class Failing(ScriptedReasoner):
    def __init__(self, **changes):
        super().__init__()
        self._changes = {"failures": (WRITING,), **changes}

    async def write(self, *arguments):
        return (await super().write(*arguments)).model_copy(update=self._changes)


async def made(reasoner):
    found = await run_search(SEARCH, ScriptedSource(), Notebook(), ignore_event, deadline_seconds=5)
    found = found.model_copy(update={"failures": (READING, SUMMING), "suggestions": "<b>x</b>"})
    lost = failed_finding(SEARCH.model_copy(update={"query": "age"}), ServiceError("quota", "q", hint="billing"))
    empty = Finding(task=SEARCH, reason="empty", started=NOW)
    later = failed_finding(SEARCH.model_copy(update={"round": 2, "query": "why"}), ServiceError("timeout"))
    reflections = [Reflection(round=1, sufficient=False, failures=(JUDGING,))]
    plan, findings = Plan(failures=(PLANNING,)), [later, found, lost, empty]
    return await compose_answer(TOWER, plan, findings, at_work(reasoner, WEB), ignore_event, reflections)


@pytest.mark.parametrize(
    ("language", "found", "words"),
    [
        (
            "en",
            True,
            "Nothing was found within 500 m of West Lake; the search was widened to 3 km.",
        ),
        ("en", False, "Nothing was found within 3 km of West Lake."),
        ("zh", True, "“West Lake”周围 500 m 内没有找到，已扩大到 3 km。"),
    ],
)
async def test_an_answer_says_once_that_a_search_had_to_be_widened(language, found, words):
    seen = await run_search(SEARCH, ScriptedSource(), Notebook(), ignore_event, deadline_seconds=5)
    centre = SearchArea(name="West Lake", lng=120.1, lat=30.2, radius=3000, requested_radius=500)
    one = seen.model_copy(update={"search_area": centre, "evidence": seen.evidence if found else ()})
    question = TOWER.model_copy(update={"language": language})
    reasoner = ScriptedReasoner()
    answer = await compose_answer(question, Plan(), [one, one, seen], at_work(reasoner, WEB), ignore_event)
    assert [span.text for span in answer.spans if span.kind == "notice"] == [words]


ENGLISH = "The tower was built in 1975 and is open to visitors on every day of the week but Monday."
CHINESE = "这座塔建于1975年，除星期一外每天对游客开放。"


@each_row(
    ("asked", "language", "text", "said"),
    [
        ("这座塔建于哪一年？", "zh", ENGLISH, True),
        ("How old is the tower?", "en", CHINESE, True),
        ("How old are towers in Chinese cities?", "en", CHINESE, True),
        ("这座塔建于哪一年？", "zh", CHINESE, False),
        ("How old is the tower?", "en", ENGLISH, False),
        ("这座塔建于哪一年？用英文回答。", "zh", ENGLISH, False),
        ("把这座塔的介绍翻译成英语", "zh", ENGLISH, False),
        ("How old is the tower? Answer in Chinese, please.", "en", CHINESE, False),
        ("Write a short text on the tower in simplified Chinese", "en", CHINESE, False),
        ("这座塔叫什么？", "zh", "Sky Tower", False),
        ("怎么列出文件？", "zh", "```\nfor name in list of all the files that are there do print name done\n```\n用循环即可。", False),
        ("塔的两个名字？", "zh", "Sky Tower of Auckland，天空塔；Macau Tower Convention Centre，澳门旅游塔", False),
    ],
)  # fmt: skip
async def test_an_answer_in_another_language_than_was_asked_in_says_so(asked, language, text, said):
    class Writing(ScriptedReasoner):
        async def write(self, *arguments):
            spans = (Span(kind="text", text=text), Span(kind="quote", text=ENGLISH + CHINESE))
            return Draft(spans=spans, author=AUTHOR)

    question = Question(text=asked, language=language)
    answer = await compose_answer(question, Plan(), [], at_work(Writing(), WEB), ignore_event)
    notices = [span.text for span in answer.spans if span.kind == "notice"]
    assert bool(notices) == said
    assert all(has_han(notice) == (language == "zh") for notice in notices)


LOST = Failure(source="web", query="age", reason="quota", hint="billing", message="q")
LATER = Failure(source="web", query="why", reason="timeout")
ALL = (PLANNING, READING, SUMMING, LOST, JUDGING, LATER, WRITING)


async def test_an_answer_lists_what_failed_at_any_stage_in_the_order_of_the_run():
    answer = await made(Failing())
    assert answer.failures == ALL
    assert (answer.title, answer.language, answer.author) == (TOWER.text, "en", AUTHOR)
    assert (answer.quote_count, answer.cited_span_count, answer.placeholder) == (1, 1, False)
    assert (answer.suggestions, answer.created) == (("<b>x</b>",), NOW)


async def test_an_answer_that_cannot_be_written_is_raised_with_what_stands_in_for_it():
    with pytest.raises(AnswerNotWrittenError, match="unavailable: HTTP 503") as caught:
        await made(Failing(placeholder=True))
    answer = caught.value.answer
    assert answer.placeholder
    assert answer.quote_count == 1
    assert answer.failures == ALL


async def test_an_unwritten_answer_without_a_reason_still_says_what_happened():
    with pytest.raises(AnswerNotWrittenError, match="the answer could not be written"):
        await made(Failing(placeholder=True, failures=()))


def test_nothing_found_is_no_failure():
    assert search_failures([Finding(task=SEARCH, reason="empty", started=NOW)]) == ()


def test_an_answer_without_a_search_has_an_author_and_no_sample():
    draft = Draft(spans=(Span(kind="text", text="Hello."),), author="openai:m")
    answer = build_answer(TOWER_ZH, draft, (), NOW)
    assert (answer.language, answer.author, answer.sample) == ("zh", "openai:m", False)
    assert (answer.failures, answer.cited_span_count) == ((), 0)
