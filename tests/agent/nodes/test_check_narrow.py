"""What the rules support by a small margin is put to a model too, which may put it in doubt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio

from research.agent.llm.reasoner import ModelReasoner
from research.agent.nodes.budget import RunBudget
from research.agent.nodes.check import BATCH_SIZE, MAX_CALLS
from research.citations.support import check_support, narrow_margin
from research.core.records import Passage
from research.models.clients import ModelClients
from tests.agent.nodes.test_check import (
    NOW,
    WEB,
    Told,
    answer,
    asked,
    check,
    finding,
    numbered,
    rules,
    settings,
    statuses,
    texts,
)
from tests.servers.gemini import FakeGemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASSAGE = (
    "The tower on the hill was finished in 1925 after a fire had destroyed the old one. Its marble "
    "staircase was given by bankers from Lisbon in 1931. Visitors climb it on Sundays."
)
FOUND = finding(PASSAGE)
QUOTED = "Visitors climb it on Sundays."
WIDE = "The old tower was destroyed by careless builders in a fire."
NARROW = (  # the smallest margin first
    "Bankers from Lisbon paid local masons for the staircase.",
    "Visitors climb the tower on Sundays with a paid guide from Lisbon.",
    "The fire destroyed the old tower and several nearby houses.",
)
DOUBT = "Rich bankers proudly gave the staircase to the city."


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def llm(serving: FakeGemini) -> AsyncIterator[ModelReasoner]:
    clients = ModelClients(settings(serving))
    yield ModelReasoner(clients, lambda: NOW)
    await clients.close()


def doubts(count: int) -> list[str]:
    return [f"Rich bankers proudly gave staircase {chr(65 + n // 26)}{chr(65 + n % 26)}q to the city." for n in range(count)]  # fmt: skip


async def put(gemini: FakeGemini, llm: ModelReasoner, *said: str, **more: Any) -> Any:
    return await check(answer(*(f" {text}" for text in said), found=FOUND), llm, found=FOUND, **more)  # fmt: skip


def told(prompt: str) -> list[str]:
    """The sentences of a prompt, in its order."""
    lines = prompt.splitlines()
    return [lines[at + 1] for at, line in enumerate(lines) if line.startswith("<<<sentence ")]


async def test_the_doubtful_come_first_and_then_the_smallest_margin(gemini: FakeGemini, llm: ModelReasoner) -> None:
    await put(gemini, llm, NARROW[2], QUOTED, NARROW[0], WIDE, DOUBT, NARROW[1])
    (prompt,) = asked(gemini)
    assert told(prompt) == [DOUBT, *NARROW]


async def test_a_margin_is_that_of_a_supported_sentence_and_small() -> None:
    cited = numbered(answer(*(f" {t}" for t in (*NARROW, WIDE, DOUBT, QUOTED)), found=FOUND), FOUND)
    found = [narrow_margin(sentence, cited) for sentence in check_support(cited).sentences]
    assert found[3:] == [None, None, None]
    margins = [margin for margin in found if margin is not None]
    assert margins == sorted(margins) and margins[0] >= 0 and margins[-1] <= 0.15
    assert len(margins) == 3


@pytest.mark.parametrize(
    ("verdict", "quote", "status"),
    [
        ("supported", "given by bankers from Lisbon", ("supported", True)),
        ("supported", "paid by bankers of Porto", ("supported", False)),
        ("partly", "given by bankers from Lisbon", ("unclear", True)),
        ("contradicted", "given by bankers from Lisbon", ("unclear", True)),
        ("contradicted", "nobody has paid", ("supported", False)),
        ("absent", "", ("unclear", True)),
    ],
)
@pytest.mark.parametrize("repair", ["off", "drop"])
async def test_a_model_may_put_a_support_in_doubt_and_no_more(
    gemini: FakeGemini, llm: ModelReasoner, verdict: str, quote: str, status: tuple[str, bool], repair: str
) -> None:
    gemini.brain.judge = rules(verdict, quote, "no masons")
    made = await put(gemini, llm, NARROW[0], repair=repair)
    assert NARROW[0] in texts(made)
    assert statuses(made, FOUND) == [status]
    (sentence,) = check_support(numbered(made, FOUND)).sentences
    assert sentence.reason == ("no masons" if status[0] == "unclear" else "")


@pytest.mark.parametrize("fault", ["503", "prose", "wrongjson", "wrongtypes"])
async def test_a_model_that_fails_or_talks_nonsense_changes_nothing(
    gemini: FakeGemini, llm: ModelReasoner, fault: str
) -> None:
    gemini.fail("rule", fault)
    made = await put(gemini, llm, NARROW[0], NARROW[1])
    assert statuses(made, FOUND) == [("supported", False)] * 2
    assert made.review and made.review.unchecked == 2
    assert "2 sentences could not be checked" in made.spans[0].text
    assert [failure.stage for failure in made.failures] == ["check"]


async def test_what_is_said_of_one_alone_leaves_the_other_as_it_was(gemini: FakeGemini, llm: ModelReasoner) -> None:
    gemini.brain.judge = lambda sentence, _: {"verdict": "absent" if sentence == NARROW[1] else "?"}
    made = await put(gemini, llm, NARROW[0], NARROW[1])
    assert statuses(made, FOUND) == [("supported", False), ("unclear", True)]
    assert "checked 1 sentence " in made.spans[0].text and "1 sentence could" in made.spans[0].text


async def test_a_limit_leaves_out_the_widest_margins(gemini: FakeGemini, llm: ModelReasoner) -> None:
    gemini.brain.judge = rules("absent")
    options = WEB.model_copy(update={"tokens": 3_000})
    said = [*NARROW[::-1], *doubts(BATCH_SIZE - 1)]
    made = await put(gemini, llm, *said, options=options, meter=RunBudget(options))
    (prompt,) = asked(gemini)
    assert told(prompt)[-1] == NARROW[0]
    assert statuses(made, FOUND)[:3] == [("supported", False)] * 2 + [("unclear", True)]
    assert made.review and made.review.unchecked == 2
    assert "limits left no room" in made.spans[0].text


async def test_where_there_are_too_many_the_supported_are_left_to_the_rules(
    gemini: FakeGemini, llm: ModelReasoner
) -> None:
    made = await put(gemini, llm, NARROW[0], *doubts(BATCH_SIZE * MAX_CALLS))
    assert NARROW[0] not in "".join(asked(gemini))
    assert statuses(made, FOUND)[0] == ("supported", False)
    assert made.review and made.review.unchecked == 1


async def test_after_an_outage_no_other_call_begins(gemini: FakeGemini, llm: ModelReasoner) -> None:
    gemini.fail("rule", "503")
    options = WEB.model_copy(update={"tokens": 1_000_000})  # one call after the other
    made = await put(gemini, llm, *doubts(BATCH_SIZE * 3), options=options, meter=RunBudget(options))
    assert gemini.calls("rule") == 1
    assert made.review and made.review.unchecked == BATCH_SIZE * 3
    assert "the call failed" in made.spans[0].text


async def test_the_nearest_passage_is_told_first_and_each_with_what_it_is_about(
    gemini: FakeGemini, llm: ModelReasoner
) -> None:
    given = answer(NARROW[0], found=FOUND)
    far = [Passage(id=f"q{n}", text=f"Nothing of the kind, part {n}.") for n in range(4)]
    source = FOUND.evidence[0].model_copy(update={"passages": (*far, *FOUND.evidence[0].passages)})
    found = FOUND.model_copy(update={"evidence": (source,)})
    cites = [given.spans[0].references[0].model_copy(update={"passage": p.id}) for p in source.passages]
    span = given.spans[0].model_copy(update={"references": tuple(cites)})
    await check(given.model_copy(update={"spans": (span,)}), llm, found=found)
    (prompt,) = asked(gemini)
    first = prompt.index("<<<passage ")
    assert prompt.index("Site 0") < first < prompt.index(PASSAGE) < prompt.index("part 0")


async def test_a_long_passage_is_told_where_it_speaks_of_the_sentence(gemini: FakeGemini, llm: ModelReasoner) -> None:
    long = finding("Trams run in the valley. " * 900 + PASSAGE)
    await check(answer(DOUBT, found=long), llm, found=long)
    (prompt,) = asked(gemini)
    assert "staircase was given by bankers" in prompt
    assert len(prompt) < 8_000


async def test_the_limits_count_what_a_call_has_used(gemini: FakeGemini, llm: ModelReasoner) -> None:
    say = Told()
    await put(gemini, llm, NARROW[0], say=say)
    assert say.of("check_started") == [{"sentences": 1}]
    assert [usage["stage"] for usage in say.of("usage")] == ["check"]
