"""How long a prompt may be: the context of a model from one dated table, from the settings, and from
what a server has said when it refused one. All in tokens as `counting` estimates them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from datetime import date
from functools import cache
from typing import Any

from research import data
from research.core.settings import Settings
from research.models.roles import Spec

ANSWER = 8_192  # tokens that are kept for the answer, but no more than a quarter of the context
CEILING = (
    200_000  # of a prompt, unless the setting says more: beyond it some models cost twice as much
)
UNKNOWN = (
    8_192  # the context of a server that has refused a prompt without saying how long one may be
)
SHORTEST = 2_048  # a context; a smaller number in a refusal means something else
MARGIN = 0.9  # of what a server says it takes: it wraps messages in tokens of its own
_NAMED = re.compile(r"(?:^|[-_.])(\d{1,4})k(?![a-z\d])|[-_](4096|8192|16384|32768|65536|131072)\b")


@cache
def _file() -> dict[str, Any]:
    file: dict[str, Any] = json.loads(data.text("contexts.json"))
    return file


def as_of() -> date:
    """Return the day on which the lengths were looked up."""
    return date.fromisoformat(_file()["as_of"])


def _table() -> dict[str, int]:
    tokens: dict[str, int] = _file()["tokens"]
    return tokens


def context(spec: Spec, settings: Settings) -> int:
    """The tokens of a model's context, for prompt and answer together: what is set for it, else what
    Ollama is asked for, what the model's own name says (`moonshot-v1-8k`), and what the table has for
    the longest beginning of its name, which Ollama is never asked to go beyond. Unknown models have
    that of their provider."""
    return _set(spec, settings) or _known(spec, settings)


def room(spec: Spec, settings: Settings) -> int:
    """The tokens that a prompt to a model may have."""
    chosen = _set(spec, settings)
    return _less_answer(chosen or min(_known(spec, settings), CEILING))


def smaller(limit: int, asked: int, sent: int) -> int:
    """The tokens that a prompt may have after one of `sent` tokens by our count was refused.

    `limit` is what the server says it takes and `asked` what it has counted; 0 is not said. What it
    counts higher than we do is allowed for, and where it did not say what it had counted, that it did.
    """
    if not SHORTEST <= limit <= 2 * sent:  # not said, or not of this prompt
        return min(_less_answer(UNKNOWN), sent // 2)
    counted = asked if limit < asked <= 4 * sent else 0
    higher = max(1.0, (counted or 1.25 * limit) / sent)
    return min(int(_less_answer(limit) * MARGIN / higher), sent * 4 // 5)


def _less_answer(tokens: int) -> int:
    return tokens - min(ANSWER, tokens // 4)


def _set(spec: Spec, settings: Settings) -> int:
    """What `SIGHTLINE_CONTEXT_LENGTH` says of a model; 0 if nothing. Of Ollama a number alone says
    nothing: it has a setting of its own."""
    known = settings.providers
    chosen = {_key(name, known): tokens for name, tokens in settings.contexts.items() if name}
    if found := _longest(_names(spec), chosen):
        return found
    return 0 if spec.wire == "ollama" else settings.contexts.get("", 0)


def _key(name: str, known: Collection[str]) -> str:
    """A name of the setting as one of the table: a provider alone, or a model; a Gemini name where no
    provider is named."""
    if name in known:
        return f"{name}:"
    return name if name.partition(":")[0] in known else f"gemini:{name}"


def _known(spec: Spec, settings: Settings) -> int:
    if spec.wire == "ollama":
        found = _longest(_names(spec), _table())
        return min(settings.ollama_context, found or settings.ollama_context)
    if named := _NAMED.search(spec.name.lower()):
        return int(named[1]) * 1000 if named[1] else int(named[2])
    names = _names(spec)
    if spec.wire == "openai":  # the same models have the same names at many a provider
        names |= _names(Spec("openai", spec.name))
    return _longest(names, _table()) or spec.server.context


def _names(spec: Spec) -> set[str]:
    """The names of a model in the table, with and without its maker's before it (`Qwen/Qwen3-8B`)."""
    name = spec.name.lower()
    return {f"{spec.provider}:{name}", f"{spec.provider}:{name.rpartition('/')[2]}"}


def _longest(names: Collection[str], table: Mapping[str, int]) -> int:
    """The entry with the longest beginning of any name; 0 if there is none."""
    fits = [key for key in table if any(name.startswith(key) for name in names)]
    return table[max(fits, key=lambda key: len(key.partition(":")[2]))] if fits else 0
