"""Tables by chat models: what is proposed, and which of the values that a model gives are taken."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from research.agent.llm.reasoner import ModelReasoner
from research.agent.reasoner import ReasonerInput
from research.core.events import ignore_event
from research.core.records import Cell, Column, Evidence, Finding, Passage, Question, Row, RunOptions, Task, fingerprint
from research.core.settings import Settings
from research.models.clients import ModelClients
from tests.servers.gemini import FakeGemini

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
ASKED = Question(text="Towers of the world", language="en")
OPTIONS = RunOptions(table=True, sources=("web",))
TOWER = Row(id="r1", name="The tower")
HEIGHT = Column(id="c1", name="height", type="number", unit="m")
OPENED = Column(id="c2", name="opened", type="date")
SAID = "The tower is 324 metres high and was opened on 31 March 1889."


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest_asyncio.fixture(loop_scope="module")
async def llm(gemini: FakeGemini, tmp_path: Path) -> AsyncIterator[ModelReasoner]:
    settings = Settings(data_dir=tmp_path, gemini_key=SecretStr("k"), gemini_url=gemini.base_url, model_timeout=2)
    clients = ModelClients(settings)
    yield ModelReasoner(clients, lambda: NOW)
    await clients.close()


def found(*texts: str) -> Finding:
    items = tuple(
        Evidence(
            id=f"web-{fingerprint(text)}", kind="web", title=text[:20], url=f"https://a.example/{n}",
            retrieved=NOW, passages=(Passage(id=fingerprint(text), text=text, end=len(text)),),
        )
        for n, text in enumerate(texts)
    )  # fmt: skip
    return Finding(
        task=Task(id="1.r1.c1.1", source="web", query="The tower height opened"),
        evidence=items, started=NOW,
    )  # fmt: skip


async def cells(
    llm: ModelReasoner,
    gemini: FakeGemini,
    *said: dict[str, Any],
    texts: tuple[str, ...] = (SAID,),
    **more: Any,
) -> tuple[Cell, ...]:
    """The cells of the two columns, where the model says that; `source` counts the passages."""

    def handles(prompt: str) -> list[str]:
        return re.findall(r"^\[@([0-9a-f]{4,8})\]", prompt, re.M)

    def answer(ask: Any, schema: Any) -> dict[str, Any]:
        names = handles(ask.user)
        rows = [one | {"source": names[one["source"]]} for one in said]
        return {"cells": rows, "which": more.get("which", [])}

    gemini.brain._cells = answer  # type: ignore[method-assign]
    columns = more.get("columns", (HEIGHT, OPENED))
    row = more.get("row", TOWER)
    return await llm.extract_cells(ReasonerInput(ASKED, OPTIONS, ignore_event, findings=[found(*texts)]), row, columns)


async def test_a_value_is_taken_with_the_words_of_its_source(llm: ModelReasoner, gemini: FakeGemini) -> None:
    height, opened = await cells(
        llm, gemini,
        {"column": 1, "value": "324 m", "quote": SAID, "source": 0},
        {"column": 2, "value": "1889-03-31", "quote": SAID, "source": 0},
    )  # fmt: skip
    assert height.value and (height.value.number, height.value.unit) == (324, "m")
    assert (height.value.text, height.readings[0].status) == ("324 metres", "quoted")
    assert height.readings[0].quote == SAID
    assert opened.value and str(opened.value.day) == "1889-03-31"


async def test_a_quote_that_stands_nowhere_fills_nothing(llm: ModelReasoner, gemini: FakeGemini) -> None:
    height, opened = await cells(
        llm, gemini, {"column": 1, "value": "330 m", "quote": "It is 330 m high.", "source": 0}
    )
    assert height.readings == () and height.missing_reason == "not found" and "quoted" in height.message
    assert (opened.missing_reason, opened.message) == ("not found", "")


async def test_a_value_that_its_sentence_does_not_say_is_marked(llm: ModelReasoner, gemini: FakeGemini) -> None:
    height, _ = await cells(llm, gemini, {"column": 1, "value": "424 m", "quote": SAID, "source": 0})
    assert height.value and height.value.number == 424
    assert height.readings[0].status == "unclear"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("The Eiffel Tower requires booking.", "quoted"),
        ("The Rodin Museum near the Eiffel Tower requires booking.", "unclear"),
        ("The Rodin Museum requires booking, and the Eiffel Tower does not.", "unclear"),
        ("Groups that visit the Eiffel Tower should bring a booking.", "unclear"),
        ("As of 2025 the Eiffel Tower has 3 floors.", "unclear"),
    ],
)
async def test_yes_by_a_model_is_marked_where_the_sentence_is_about_something_else(
    llm: ModelReasoner, gemini: FakeGemini, text: str, status: str
) -> None:
    booking = Column(id="c1", name="Booking required", type="yes or no")
    (cell,) = await cells(
        llm, gemini, {"column": 1, "value": "yes", "quote": text, "source": 0},
        texts=(text,), columns=(booking,), row=Row(id="r1", name="Eiffel Tower"),
    )  # fmt: skip
    assert cell.value and cell.value.yes
    assert cell.readings[0].status == status


async def test_a_year_by_a_model_is_marked_where_its_sentence_says_as_of_when_something_was_so(
    llm: ModelReasoner, gemini: FakeGemini
) -> None:
    text = "As of 2025 the tower has 3 floors that are open."
    _, opened = await cells(llm, gemini, {"column": 2, "value": "2025", "quote": text, "source": 0}, texts=(text,))
    assert opened.value and opened.readings[0].status == "unclear"


async def test_sources_that_differ_are_all_kept(llm: ModelReasoner, gemini: FakeGemini) -> None:
    other = "The tower is 300 metres high."
    height, _ = await cells(
        llm, gemini,
        {"column": 1, "value": "324 m", "quote": SAID, "source": 0},
        {"column": 1, "value": "300 m", "quote": other, "source": 1},
        texts=(SAID, other),
    )  # fmt: skip
    assert height.missing_reason == "differs"
    assert [reading.value.number for reading in height.readings] == [324, 300]


async def test_several_things_of_one_name_are_asked_back(llm: ModelReasoner, gemini: FakeGemini) -> None:
    both = await cells(
        llm, gemini, {"column": 1, "value": "324 m", "quote": SAID, "source": 0},
        which=["in Paris", "in Las Vegas"],
    )  # fmt: skip
    assert {(cell.missing_reason, cell.choices) for cell in both} == {("which one", ("in Paris", "in Las Vegas"))}


async def test_a_failing_model_leaves_cells_that_say_so(llm: ModelReasoner, gemini: FakeGemini) -> None:
    gemini.fail("cells", "400key")
    height, opened = await llm.extract_cells(
        ReasonerInput(ASKED, OPTIONS, ignore_event, findings=[found(SAID)]), TOWER, (HEIGHT, OPENED)
    )
    assert (height.missing_reason, opened.missing_reason) == ("failed", "failed")
    assert height.failures and height.failures == opened.failures


async def test_rows_and_columns_are_proposed(llm: ModelReasoner, gemini: FakeGemini) -> None:
    gemini.brain.values["tabulate"] = {
        "title": "Towers",
        "rows": [{"name": " The\n tower ", "about": "Paris"}, {"name": ""}],
        "columns": [
            {"name": "height", "question": "", "type": "number", "unit": "m", "choices": []},
            {"name": "state", "question": "", "type": "choice", "unit": "", "choices": ["open"]},
        ],
    }
    plan = await llm.plan_table(ReasonerInput(ASKED, OPTIONS, ignore_event))
    assert plan.grid and [(row.name, row.qualifier) for row in plan.grid.rows] == [("The tower", "Paris")]
    assert [(c.name, c.type, c.unit) for c in plan.grid.columns] == [
        ("height", "number", "m"), ("state", "text", ""),
    ]  # fmt: skip
