"""Maximum lengths of prompts: from a dated table of context lengths, from the settings, and from
the refusals of servers. All in tokens as estimated by `token_counts`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from research import data
from research.core.settings import Settings
from research.models.roles import ModelSpec

ANSWER_TOKENS = 8_192  # reserved for the answer, but no more than a quarter of the context
MAX_PROMPT_TOKENS = 200_000  # unless the setting allows more: longer prompts cost twice as much with some models
UNKNOWN_CONTEXT_TOKENS = 8_192  # assumed for a server that refused a prompt without giving a limit
MIN_CONTEXT_TOKENS = 2_048  # smaller numbers in a refusal are not context lengths
SAFETY_FACTOR = 0.9  # share of a server's limit: it wraps messages in tokens of its own
_LENGTH_IN_NAME = re.compile(r"(?:^|[-_.])(\d{1,4})k(?![a-z\d])|[-_](4096|8192|16384|32768|65536|131072)\b")


def _load_table() -> dict[str, Any]:
    return data.json_object("contexts.json")


def contexts_as_of() -> date:
    """Return the day on which the lengths were looked up."""
    return date.fromisoformat(_load_table()["as_of"])


def _context_table() -> dict[str, int]:
    tokens: dict[str, int] = _load_table()["tokens"]
    return tokens


def context_length(spec: ModelSpec, settings: Settings) -> int:
    """Return the context length of a model in tokens, for prompt and answer together.

    In order: the configured length, the one in the model's name (`moonshot-v1-8k`), the table's
    entry with the longest matching beginning of the name, the provider's default. For Ollama it is
    the configured context, capped by the table.
    """
    return _configured_length(spec, settings) or _default_length(spec, settings)


def prompt_token_budget(spec: ModelSpec, settings: Settings) -> int:
    """Return the maximum number of tokens of a prompt to a model."""
    configured = _configured_length(spec, settings)
    return _subtract_answer(configured or min(_default_length(spec, settings), MAX_PROMPT_TOKENS))


def reduce_token_budget(limit: int, counted_tokens: int, sent_tokens: int) -> int:
    """Return the token budget after a prompt of `sent_tokens` by our estimate was refused.

    `limit` is what the server accepts and `counted_tokens` its count of the prompt; 0 if it gives
    none. The budget allows for a server's count being higher than our estimate, and assumes so
    without a count.
    """
    if not MIN_CONTEXT_TOKENS <= limit <= 2 * sent_tokens:  # missing, or not about this prompt
        return min(_subtract_answer(UNKNOWN_CONTEXT_TOKENS), sent_tokens // 2)
    counted = counted_tokens if limit < counted_tokens <= 4 * sent_tokens else 0
    ratio = max(1.0, (counted or 1.25 * limit) / sent_tokens)
    return min(int(_subtract_answer(limit) * SAFETY_FACTOR / ratio), sent_tokens * 4 // 5)


def _subtract_answer(tokens: int) -> int:
    return tokens - min(ANSWER_TOKENS, tokens // 4)


def _configured_length(spec: ModelSpec, settings: Settings) -> int:
    """Return the length that `SIGHTLINE_CONTEXT_LENGTH` sets for a model; 0 if none. A number
    without a name does not apply to Ollama, which has its own setting."""
    providers = settings.providers
    lengths = {_table_key(name, providers): tokens for name, tokens in settings.context_lengths.items() if name}
    if length := _longest_match(_table_names(spec), lengths):
        return length
    return 0 if spec.protocol == "ollama" else settings.context_lengths.get("", 0)


def _table_key(name: str, providers: Collection[str]) -> str:
    """Convert a name in the setting to a key of the table: a provider, or a model; without a
    provider it is a Gemini model."""
    if name in providers:
        return f"{name}:"
    return name if name.partition(":")[0] in providers else f"gemini:{name}"


def _default_length(spec: ModelSpec, settings: Settings) -> int:
    if spec.protocol == "ollama":
        table_length = _longest_match(_table_names(spec), _context_table())
        return min(settings.ollama_context, table_length or settings.ollama_context)
    if match := _LENGTH_IN_NAME.search(spec.name.lower()):
        return int(match[1]) * 1000 if match[1] else int(match[2])
    names = _table_names(spec)
    if spec.protocol == "openai":  # many providers offer the same models under the same names
        names |= _table_names(ModelSpec("openai", spec.name))
    return _longest_match(names, _context_table()) or spec.provider_details.context_tokens


def _table_names(spec: ModelSpec) -> set[str]:
    """Return a model's keys in the table, with and without its maker (`Qwen/Qwen3-8B`)."""
    name = spec.name.lower()
    return {f"{spec.provider}:{name}", f"{spec.provider}:{name.rpartition('/')[2]}"}


def _longest_match(names: Collection[str], table: Mapping[str, int]) -> int:
    """Return the entry with the longest matching beginning of a name; 0 if there is none."""
    matching = [key for key in table if any(name.startswith(key) for name in names)]
    return table[max(matching, key=lambda key: len(key.partition(":")[2]))] if matching else 0
