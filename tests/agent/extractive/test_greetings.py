"""Greetings: recognised by the list in `research/data/greetings.txt`, and answered without a search."""

from __future__ import annotations

import pytest

from research import data
from research.agent.extractive.greetings import is_greeting
from research.agent.extractive.reasoner import ExtractiveReasoner
from research.agent.reasoner import ReasonerInput
from research.core.events import ignore_event
from research.core.i18n import message
from research.core.records import Draft, Language, Question, RunOptions, Span
from research.sources.library.index import Library
from tests.tables import each_row


@each_row("text", [*data.lines("greetings.txt"), "你好！", "Hello, there!", "  THANKS… "])
def test_a_greeting_is_recognised_in_any_case_and_punctuation(text: str) -> None:
    assert is_greeting(text)


@each_row(
    "text", ["", "你好北京", "hello world program", "thanks to whom?", "good morning America ratings", "再见的读音"]
)
def test_a_question_with_a_greeting_in_it_is_no_greeting(text: str) -> None:
    assert not is_greeting(text)


@pytest.mark.parametrize(("text", "language"), [("你好！", "zh"), ("Hello!", "en")])
async def test_a_greeting_is_answered_at_once_with_an_invitation(
    library: Library, text: str, language: Language
) -> None:
    question = Question(text=text, language=language)
    answer = await ExtractiveReasoner(library).plan(ReasonerInput(question, RunOptions(), ignore_event))
    assert isinstance(answer, Draft)
    assert answer.spans == (Span(kind="notice", text=message("digest.greeting", language)),)
    assert answer.spans[0].text != message("digest.nothing", language)
