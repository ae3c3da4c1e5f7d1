"""Aliases for tool and argument names that a model's API does not accept.

OpenAI, Anthropic and Gemini accept up to 64 ASCII letters, digits, `_` and `-`, starting with a
letter or `_`.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from research.core.records import fingerprint
from research.core.text.hanzi import to_simplified
from research.core.text.pinyin import load_syllables

_SAFE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_MAX_ALIAS_CHARS = 40  # of the readable part
_HASH_DIGITS = 8  # hexadecimal digits that make an alias unique


@dataclass(frozen=True)
class ArgumentNames:
    """Mapping from the aliases of a tool's arguments to the server's names.

    `originals` has the server's name for each alias, `nested` the names within an argument that is
    an object or a list of objects.
    """

    originals: Mapping[str, str] = field(default_factory=dict)
    nested: Mapping[str, ArgumentNames] = field(default_factory=dict)

    def restore(self, value: Any) -> Any:
        """Return the arguments of a call with the server's names."""
        if isinstance(value, list):
            return [self.restore(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            self.originals.get(name, name): self.nested[name].restore(item) if name in self.nested else item
            for name, item in value.items()
        }


def make_aliases(names: Collection[str], prefix: str) -> dict[str, str]:
    """Return a valid alias for each name: the name itself if it is valid, else a readable form if
    possible.

    The result does not depend on the order of the names. `prefix` ("tool" or "argument") starts an
    alias that would not begin with a letter.
    """
    readable = {name: _make_readable(name, prefix) for name in names if not _SAFE_NAME.fullmatch(name)}
    counts = Counter([*readable.values(), *(name for name in names if name not in readable)])
    aliases: dict[str, str] = {}
    for name in names:
        alias = readable.get(name, name)
        is_unique = name not in readable or (counts[alias] == 1 and len(alias) < _MAX_ALIAS_CHARS and alias != prefix)
        aliases[name] = alias if is_unique else f"{alias}_{fingerprint(name, digits=_HASH_DIGITS)}"
    return aliases


def _make_readable(name: str, prefix: str) -> str:
    """Return a name in ASCII letters: search.papers becomes search_papers, 查询 becomes cha_xun."""
    characters = (f"_{sound}_" if (sound := load_syllables().get(c)) else c for c in to_simplified(name))
    folded = unicodedata.normalize("NFKD", "".join(characters))
    ascii_text = "".join(char for char in folded if not unicodedata.combining(char))
    words = re.sub("[^A-Za-z0-9]+", "_", ascii_text).strip("_")[:_MAX_ALIAS_CHARS].strip("_")
    if not words:
        return prefix
    return words if words[0].isalpha() else f"{prefix}_{words}"[:_MAX_ALIAS_CHARS]
