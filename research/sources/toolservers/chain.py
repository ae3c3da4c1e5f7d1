"""The calls of one search of a server's tools: minded, counted and kept."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from research.records import Say
from research.sources.toolservers.results import text_of
from research.toolservers.config import ToolServer
from research.toolservers.limits import limited
from research.toolservers.session import Refusal, Session
from research.trouble import Trouble, concealed

if TYPE_CHECKING:
    from research.sources.toolservers.schemas import Offer
    from research.toolservers.lenient import ToolAnswer

SAID = 8_000  # characters that a model is told of an answer
ARGUMENTS = 20_000  # characters of a call's arguments, as JSON
Call = Callable[[str, Mapping[str, Any]], Awaitable[str]]


class Told(NamedTuple):
    """What a tool said to a call."""

    tool: str
    arguments: Mapping[str, Any]
    result: ToolAnswer


@dataclass
class Chain:
    """The calls of a model, or the one without a model."""

    server: ToolServer
    session: Session
    offers: Mapping[str, Offer]  # by the names that the model has for them
    task: str  # its id
    say: Say
    told: list[Told] = field(default_factory=list)
    trouble: Trouble | None = None  # the last that kept a tool from answering
    calls: int = 0

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a model is told of a call: the answer, or what went wrong."""
        if self.calls >= self.server.calls:
            return _error("the budget of calls is used up: end now")
        self.calls += 1
        own = (offer for offer in self.offers.values() if offer.tool.name == tool)
        offer = self.offers.get(tool) or next(own, None)
        if offer is None:
            return _error(f"there is no tool {tool[:80]!r}")
        if len(json.dumps(dict(arguments), default=str)) > ARGUMENTS:
            return _error("the arguments are too long")
        try:
            restored = offer.arguments.restore(dict(arguments))
            return (await self.ask(offer.tool.name, restored))[:SAID]
        except Trouble as trouble:
            return _error(str(trouble))

    async def ask(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """What a tool says.

        Raises:
            Trouble: it did not answer, or its answer is an error; kept in `trouble`.
        """
        given = _kept(arguments)
        shown = {name: str(value)[:80] for name, value in given.items()}
        self.say("tool", task=self.task, tool=tool, arguments=shown)
        try:
            result = await self.session.ask(tool, arguments)
            text = text_of(result)
            if result.isError:
                raise Refusal("refused", f"{self.server.label}, {tool}: {text[:SAID]}")
        except Refusal as refusal:
            self.trouble = limited(refusal.message) or refusal
            raise self.trouble from None
        except Trouble as trouble:
            self.trouble = trouble
            raise
        self.told.append(Told(tool, given, result))
        return text


def _kept(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments as they are kept and shown: without any key."""
    kept: Mapping[str, Any] = json.loads(concealed(json.dumps(dict(arguments), default=str)))
    return kept


def _error(text: str) -> str:
    return json.dumps({"error": text}, ensure_ascii=False)
