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
from research.models.roles import ModelSpec

ANSWER_TOKENS = 8_192  # tokens that are kept for the answer, but no more than a quarter of the context
MAX_PROMPT_TOKENS = 200_000  # of a prompt, unless the setting says more: beyond it some models cost twice as much
UNKNOWN_CONTEXT_TOKENS = 8_192  # the context of a server that has refused a prompt without saying how long one may be
MIN_CONTEXT_TOKENS = 2_048  # a context; a smaller number in a refusal means something else
SAFETY_FACTOR = 0.9  # of what a server says it takes: it wraps messages in tokens of its own
_LENGTH_IN_NAME = re.compile(r"(?:^|[-_.])(\d{1,4})k(?![a-z\d])|[-_](4096|8192|16384|32768|65536|131072)\b")


@cache
def _load_table() -> dict[str, Any]:
    file: dict[str, Any] = json.loads(data.text("contexts.json"))
    return file


def contexts_as_of() -> date:
    """Return the day on which the lengths were looked up."""
    return date.fromisoformat(_load_table()["as_of"])


def _context_table() -> dict[str, int]:
    tokens: dict[str, int] = _load_table()["tokens"]
    return tokens


def context_length(spec: ModelSpec, settings: Settings) -> int:
    """The tokens of a model's context, for prompt and answer together: what is set for it, else what
    Ollama is asked for, what the model's own name says (`moonshot-v1-8k`), and what the table has for
    the longest beginning of its name, which Ollama is never asked to go beyond. Unknown models have
    that of their provider."""
    return _configured_length(spec, settings) or _default_length(spec, settings)


def prompt_token_budget(spec: ModelSpec, settings: Settings) -> int:
    """The tokens that a prompt to a model may have."""
    chosen = _configured_length(spec, settings)
    return _subtract_answer(chosen or min(_default_length(spec, settings), MAX_PROMPT_TOKENS))


def reduce_token_budget(limit: int, counted_tokens: int, sent_tokens: int) -> int:
    """The tokens that a prompt may have after one of `sent` tokens by our count was refused.

    `limit` is what the server says it takes and `asked` what it has counted; 0 is not said. What it
    counts higher than we do is allowed for, and where it did not say what it had counted, that it did.
    """
    if not MIN_CONTEXT_TOKENS <= limit <= 2 * sent_tokens:  # not said, or not of this prompt
        return min(_subtract_answer(UNKNOWN_CONTEXT_TOKENS), sent_tokens // 2)
    counted = counted_tokens if limit < counted_tokens <= 4 * sent_tokens else 0
    higher = max(1.0, (counted or 1.25 * limit) / sent_tokens)
    return min(int(_subtract_answer(limit) * SAFETY_FACTOR / higher), sent_tokens * 4 // 5)


def _subtract_answer(tokens: int) -> int:
    return tokens - min(ANSWER_TOKENS, tokens // 4)


def _configured_length(spec: ModelSpec, settings: Settings) -> int:
    """What `SIGHTLINE_CONTEXT_LENGTH` says of a model; 0 if nothing. Of Ollama a number alone says
    nothing: it has a setting of its own."""
    known = settings.providers
    chosen = {_table_key(name, known): tokens for name, tokens in settings.contexts.items() if name}
    if found := _longest_match(_table_names(spec), chosen):
        return found
    return 0 if spec.protocol == "ollama" else settings.contexts.get("", 0)


def _table_key(name: str, providers: Collection[str]) -> str:
    """A name of the setting as one of the table: a provider alone, or a model; a Gemini name where no
    provider is named."""
    if name in providers:
        return f"{name}:"
    return name if name.partition(":")[0] in providers else f"gemini:{name}"


def _default_length(spec: ModelSpec, settings: Settings) -> int:
    if spec.protocol == "ollama":
        found = _longest_match(_table_names(spec), _context_table())
        return min(settings.ollama_context, found or settings.ollama_context)
    if named := _LENGTH_IN_NAME.search(spec.name.lower()):
        return int(named[1]) * 1000 if named[1] else int(named[2])
    names = _table_names(spec)
    if spec.protocol == "openai":  # the same models have the same names at many a provider
        names |= _table_names(ModelSpec("openai", spec.name))
    return _longest_match(names, _context_table()) or spec.provider_details.context


def _table_names(spec: ModelSpec) -> set[str]:
    """The names of a model in the table, with and without its maker's before it (`Qwen/Qwen3-8B`)."""
    name = spec.name.lower()
    return {f"{spec.provider}:{name}", f"{spec.provider}:{name.rpartition('/')[2]}"}


def _longest_match(names: Collection[str], table: Mapping[str, int]) -> int:
    """The entry with the longest beginning of any name; 0 if there is none."""
    fits = [key for key in table if any(name.startswith(key) for name in names)]
    return table[max(fits, key=lambda key: len(key.partition(":")[2]))] if fits else 0
