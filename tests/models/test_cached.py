"""What Gemini took from its cache is counted, and costs what that costs."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from research.core.records import Usage
from research.models.prices import with_cost
from research.sources.web.gemini import GeminiSearch
from tests.models.conftest import PROMPT, SCHEMA, Colour, Wire

pytestmark = pytest.mark.asyncio(loop_scope="module")

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
MODEL = "gemini-3.8-flash"


async def _asked(gemini: Wire, way: str) -> Usage:
    gemini.heard.told.clear()
    if way == "search":
        clients = gemini.clients(GEMINI_API_KEY="k", WEB_SEARCH_MODEL=MODEL)
        await GeminiSearch(clients, lambda: NOW).search("tower", gemini.heard)
    elif way == "json":
        await gemini.chat(MODEL).ask_json(PROMPT, SCHEMA, Colour, "plan", gemini.heard)
    else:
        chat = gemini.chat(MODEL)
        await (chat.ask_text if way == "text" else chat.stream_text)(PROMPT, "write", gemini.heard)
    [told] = gemini.heard.of("usage")
    return Usage.model_validate(told)


@pytest.mark.parametrize("way", ["json", "text", "stream", "search"])
async def test_tokens_from_the_cache_are_billed_at_their_own_price(gemini: Wire, way: str) -> None:
    day = date(2026, 11, 21)
    whole = await _asked(gemini, way)
    gemini.server.cached = 5
    used = await _asked(gemini, way)
    assert (whole.cached, used.cached, used.input) == (0, 5, whole.input)
    costs = with_cost(whole, day).cost, with_cost(used, day).cost
    assert costs[0] is not None and costs[1] is not None
    assert costs[0] - costs[1] == pytest.approx(5 * (0.75 - 0.075) / 1_000_000)
