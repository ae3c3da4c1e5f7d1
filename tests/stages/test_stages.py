import pytest

from research.records import MAX_QUESTION, Options, Part, Plan, Task
from research.stages.plan import edited_plan, within
from research.stages.question import QuestionError, understand


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("\u200b\u202e", "empty"),
        ("😀😀", "no words"),
        ("?！$`*<>", "no words"),
        ("字" * (MAX_QUESTION + 1), "too long"),
    ],
)
def test_a_question_that_cannot_be_researched_says_why(text, problem):
    with pytest.raises(QuestionError) as caught:
        understand(text)
    assert caught.value.problem == problem


def test_a_question_keeps_its_marks_but_no_control_characters():
    asked = understand("  ![x](http://a)\x00 <b>`$5`\u202e 故宫  ")
    assert asked.text == "![x](http://a) <b>`$5` 故宫"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("故宫的门票多少钱", "zh"),
        ("What does a ticket cost?", "en"),
        ("故宫 Palace Museum 的门票多少钱", "zh"),
        ("Where is 故宫 in Beijing and how do I get there", "en"),
    ],
)
def test_the_language_is_that_of_most_words(text, language):
    assert understand(text).language == language


def some_tasks(count, source="library"):
    return [Task(id=f"1.{n}", source=source, query=f"query {n}") for n in range(count)]


def test_tasks_are_cut_to_the_limit_of_each_source():
    tasks = [*some_tasks(5), *some_tasks(5, "web"), *some_tasks(2, "news")]
    kept = within(tasks, Options(queries=2, sources=("library", "web")), known=())
    assert [(t.source, t.query) for t in kept] == [
        ("library", "query 0"),
        ("library", "query 1"),
        ("web", "query 0"),
        ("web", "query 1"),
    ]


def test_tasks_that_ran_already_are_dropped_whatever_their_spelling():
    first = Task(id="1.1", source="library", query="故宫  门票？")
    again = Task(id="2.1", source="library", query="故宫 门票")
    assert within([again], Options(), known=[first.key]) == ()


PLAN = Plan(
    parts=(Part(id="p1", subject="故宫", text="门票"), Part(id="p2", subject="故宫", text="交通")),
    tasks=(
        Task(id="1.1", source="library", query="故宫 门票", part="p1", subject=("故宫", "紫禁城")),
        Task(id="1.2", source="library", query="故宫 交通", part="p2", subject=("故宫", "紫禁城")),
    ),
)
ROWS = [("故宫", "门票", "故宫 门票", "library"), ("故宫", "交通", "故宫 交通", "library")]


def test_a_plan_that_was_not_changed_stays_the_original():
    assert edited_plan(ROWS, PLAN) is PLAN


def test_an_unchanged_row_of_an_edited_plan_keeps_its_key():
    edited = edited_plan([ROWS[0], ("故宫", "交通", "故宫 地铁", "library")], PLAN)
    assert edited.edited
    assert edited.tasks[0].key == PLAN.tasks[0].key
    assert edited.tasks[1].key != PLAN.tasks[1].key
    assert edited.tasks[1].subject == ("故宫", "紫禁城")


def test_rows_without_a_query_are_left_out_and_a_new_subject_has_to_be_mentioned():
    edited = edited_plan(
        [*ROWS, ("长城", "高度", "", "library"), ("天坛", "", "天坛 门票", "library")], PLAN
    )
    assert [task.query for task in edited.tasks] == ["故宫 门票", "故宫 交通", "天坛 门票"]
    assert edited.tasks[-1].subject == ("天坛",)
    assert edited.parts[-1].text == "天坛 门票"
