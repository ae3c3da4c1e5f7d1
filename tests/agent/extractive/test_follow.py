"""What a follow-up points at by its place in a list or by a pronoun: found, or asked back."""

from __future__ import annotations

from research.agent.extractive.follow_up import find_unresolved, make_standalone
from research.agent.extractive.reasoner import ExtractiveReasoner
from research.agent.reasoner import ReasonerInput
from research.core.events import ignore_event
from research.core.records import Draft, Memory, Plan, Question, RunOptions, Turn
from research.sources.library.index import Library
from tests.tables import each_row


def asked(text: str, *earlier: str) -> Question:
    language = "zh" if any("\u4e00" <= char <= "\u9fff" for char in text) else "en"
    turns = tuple(Turn(question=question, answer="1. 雷峰塔 2. 断桥") for question in earlier)
    return Question(text=text, language=language, memory=Memory(turns=turns))


@each_row(
    ("text", "earlier", "meant"),
    [
        ("第二家周末几点关门？", "西湖和颐和园的门票", "颐和园周末几点关门？"),
        ("第一个的门票呢？", "西湖和颐和园的开放时间", "西湖的门票呢？"),
        ("后者怎么去？", "西湖和颐和园的门票", "颐和园怎么去？"),
        ("前者免费吗？", "西湖和颐和园的门票", "西湖免费吗？"),
        ("第二個幾點關門？", "西湖和頤和園的門票", "頤和園幾點關門？"),
        ("最后一个在哪里？", "西湖和颐和园的门票", "颐和园在哪里？"),
        ("When does the second one open?", "Kenya and the Summer Palace", "When does Summer Palace open?"),
        ("其中哪个更便宜？", "西湖和颐和园的门票", "西湖和颐和园哪个更便宜？"),
        ("Which of them is larger?", "Kenya and the Summer Palace", "Which of Kenya and Summer Palace is larger?"),
        ("What does the latter export?", "The Summer Palace and Kenya", "What does Kenya export?"),
    ],
)  # fmt: skip
def test_a_place_in_a_list_is_a_name_of_the_earlier_question(
    library: Library, text: str, earlier: str, meant: str
) -> None:
    assert make_standalone(asked(text, earlier), library) == meant


@each_row(
    ("text", "earlier", "pointer"),
    [
        ("第二家周末几点关门？", "颐和园的门票", "第二家"),
        ("第3个门票多少钱", "西湖和颐和园的门票", "第3个"),
        ("后者呢？", "颐和园的门票", "后者"),
        ("後者呢？", "頤和園的門票", "後者"),
        ("另一家几点开门？", "颐和园的门票", "另一家"),
        ("最后那家呢", "颐和园的门票", "最后那家"),
        ("上一个怎么样", "颐和园的门票", "上一个"),
        ("前两家哪个便宜", "西湖和颐和园的门票", "前两家"),
        ("它几点关门？", "附近有什么好吃的", "它"),
        ("那里怎么去？", "附近有什么好吃的", "那里"),
        ("其中哪些是室内的？", "颐和园附近有什么", "其中"),
        ("Which of them are indoors?", "What is near the Summer Palace?", "them"),
        ("How many of those are free?", "What is near the Summer Palace?", "those"),
        ("How much is the second one?", "Tickets of the Summer Palace", "the second one"),
        ("And when does the latter close?", "Tickets of the Summer Palace", "the latter"),
        ("When does it close?", "somewhere nice to eat", "it"),
    ],
)
async def test_what_nothing_before_resolves_is_asked_back(
    library: Library, text: str, earlier: str, pointer: str
) -> None:
    question = asked(text, earlier)
    made = await ExtractiveReasoner(library).plan(
        ReasonerInput(question, RunOptions(sources=("library",)), ignore_event)
    )
    assert isinstance(made, Draft)
    (span,) = made.spans
    assert (span.kind, span.references) == ("missing", ())
    assert pointer in span.text


@each_row(
    ("text", "earlier"),
    [
        ("它几点关门？", "颐和园的门票"),
        ("第一个皇帝是谁？", "颐和园的门票"),
        ("第一座桥在哪里？", "颐和园的门票"),
        ("第二次鸦片战争时它怎么样了？", "颐和园的门票"),
        ("颐和园第二家门店在哪里？", "西湖的门票"),
        ("How much is it?", "Tickets of the Summer Palace"),
        ("Who was the first emperor there?", "When was the Summer Palace built?"),
        ("What is the second largest export of Kenya?", "Tickets of the Summer Palace"),
        ("How long does the last train take to the Summer Palace?", "Kenya"),
    ],
)
async def test_what_is_clear_is_not_asked_back(library: Library, text: str, earlier: str) -> None:
    made = await ExtractiveReasoner(library).plan(
        ReasonerInput(asked(text, earlier), RunOptions(sources=("library",)), ignore_event)
    )
    assert isinstance(made, Plan)


def test_a_first_question_points_at_nothing_before_it(library: Library) -> None:
    assert find_unresolved(asked("第二家几点关门？"), library) == ""
