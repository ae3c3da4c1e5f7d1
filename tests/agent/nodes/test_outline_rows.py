"""An outline as the analyst edits it: rows of sections, queries and ways of searching."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from research.agent.nodes.plan import build_edited_plan
from research.core.records import Part, Plan, Task

FIRST, LAST = date(2026, 11, 1), date(2026, 11, 3)
PLAN = Plan(
    parts=(
        Part(id="s1", subject="Background", text="How it began"),
        Part(id="s2", subject="Markets", text="How they took it"),
    ),
    tasks=(
        Task(id="1.s1.1", source="news", query="cut", part="s1", tool="deep_search_news"),
        Task(id="1.s1.2", source="web", query="cut history", part="s1"),
        Task(
            id="1.s2.1", source="news", query="markets", part="s2", tool="search_news_by_date",
            start=FIRST, end=LAST,
        ),
    ),
    notes=("kept",),
    outline=True,
)  # fmt: skip
ROWS = [
    ("Background", "How it began", "cut", "news", "deep_search_news", None, None),
    ("Background", "", "cut history", "web", "", None, None),
    ("Markets", "How they took it", "markets", "news", "search_news_by_date", FIRST, LAST),
]


def made(plan):
    return [
        (part.id, part.subject, part.text, [task.query for task in plan.tasks if task.part == part.id])
        for part in plan.parts
    ]  # fmt: skip


def test_an_outline_that_was_not_changed_stays_the_original():
    assert build_edited_plan(ROWS, PLAN) is PLAN
    assert build_edited_plan([row[:4] for row in ROWS], PLAN) is PLAN


def test_an_edited_outline_is_one_and_its_sections_keep_their_ids():
    edited = build_edited_plan([ROWS[2], *ROWS[:2]], PLAN)
    assert (edited.outline, edited.edited) == (True, True)
    assert made(edited) == [
        ("s2", "Markets", "How they took it", ["markets"]),
        ("s1", "Background", "How it began", ["cut", "cut history"]),
    ]
    assert {task.key for task in edited.tasks} == {task.key for task in PLAN.tasks}
    assert [task.id for task in edited.tasks] == ["1.1", "1.2", "1.3"]


def test_another_title_is_another_section_with_an_id_of_its_own():
    renamed = ("Origins", *ROWS[0][1:])
    new = ("Outlook", "What comes next", "outlook", "news", "", None, None)
    edited = build_edited_plan([renamed, ROWS[2], new], PLAN)
    assert made(edited) == [
        ("s3", "Origins", "How it began", ["cut"]),
        ("s2", "Markets", "How they took it", ["markets"]),
        ("s4", "Outlook", "What comes next", ["outlook"]),
    ]


def test_a_section_may_be_deleted_and_another_have_several_queries():
    more = ("Markets", "", "shares", "news", "search_news_last_week", None, None)
    untitled = ("", "", "bonds", "news", "", None, None)
    edited = build_edited_plan([ROWS[2], more, untitled], PLAN)
    assert made(edited) == [("s2", "Markets", "How they took it", ["markets", "shares", "bonds"])]
    assert [task.tool for task in edited.tasks] == [
        "search_news_by_date", "search_news_last_week", "",
    ]  # fmt: skip


def test_rows_tell_the_way_of_searching():
    other = (*ROWS[0][:4], "search_news_by_date", FIRST, LAST)
    basic = (*ROWS[2][:4], "", None, None)
    edited = build_edited_plan([other, ROWS[1], basic], PLAN)
    ways = [(task.query, task.tool, task.start, task.end) for task in edited.tasks]
    assert ways == [
        ("cut", "search_news_by_date", FIRST, LAST),
        ("cut history", "", None, None),
        ("markets", "", None, None),
    ]
    assert edited.tasks[0].key != PLAN.tasks[0].key
    assert edited.tasks[1].key == PLAN.tasks[1].key


def test_a_section_without_a_query_searches_its_title():
    edited = build_edited_plan([ROWS[0], ("Outlook", "What next", " ", "web", "", None, None)], PLAN)
    assert made(edited)[1] == ("s3", "Outlook", "What next", ["Outlook"])
    assert edited.tasks[1].source == "web"


def test_empty_rows_are_left_out_and_the_same_search_is_made_once_in_a_section():
    empty = ("", "", "", "news", "", None, None)
    edited = build_edited_plan([empty, *ROWS, empty, ROWS[2]], PLAN)
    assert edited is PLAN
    assert build_edited_plan([empty], PLAN).tasks == ()


def test_two_sections_may_make_the_same_search():
    twice = ("Markets", "", *ROWS[0][2:])
    edited = build_edited_plan([*ROWS, twice], PLAN)
    assert [queries for *_, queries in made(edited)] == [
        ["cut", "cut history"], ["markets", "cut"],
    ]  # fmt: skip


def test_the_rows_of_a_plan_that_is_no_outline_may_tell_their_way_as_well():
    plan = PLAN.model_copy(update={"outline": False})
    rows = [*ROWS[:2], (*ROWS[2][:5], FIRST, FIRST)]
    edited = build_edited_plan(rows, plan)
    assert not edited.outline
    assert [task.end for task in edited.tasks] == [None, None, FIRST]


text = st.sampled_from(["", " ", "Background", "Markets", "a", "b\nc", "  a "])
days = st.sampled_from([None, FIRST, LAST])
row = st.tuples(text, text, text, st.sampled_from(["news", "web"]), text, days, days)


@given(st.lists(row, max_size=8))
def test_every_section_of_an_edited_outline_has_a_task_and_an_id_of_its_own(rows):
    plan = build_edited_plan(rows, PLAN)
    ids = [part.id for part in plan.parts]
    assert len(set(ids)) == len(ids) == len({part.subject for part in plan.parts})
    assert {task.part for task in plan.tasks} == set(ids)
    assert all(task.query and task.query == task.query.strip() for task in plan.tasks)
    assert all(part.subject and part.text for part in plan.parts)
    assert plan.outline
    again = [
        (p.subject, p.text, t.query, t.source, t.tool, t.start, t.end)
        for p in plan.parts for t in plan.tasks if t.part == p.id
    ]  # fmt: skip
    assert build_edited_plan(again, plan) is plan
