"""Names that every model's API takes, in place of those that a server has given.

OpenAI, Anthropic and Gemini take letters, digits, `_` and `-` of ASCII, 64 at most, of which the first is
a letter or `_`.
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
_MAX_ALIAS_CHARS = 40  # characters of a readable alias
_HASH_DIGITS = 8  # hexadecimal digits that tell one alias from another


@dataclass(frozen=True)
class ArgumentNames:
    """The names of a tool's arguments: `own` gives the server's name for each alias, `inner` the names
    within an argument that is an object or a list of objects."""

    originals: Mapping[str, str] = field(default_factory=dict)
    nested: Mapping[str, ArgumentNames] = field(default_factory=dict)

    def restore(self, value: Any) -> Any:
        """Return the arguments of a call with the server's own names."""
        if isinstance(value, list):
            return [self.restore(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {
            self.originals.get(name, name): self.nested[name].restore(item) if name in self.nested else item
            for name, item in value.items()
        }


def make_aliases(names: Collection[str], prefix: str) -> dict[str, str]:
    """Return a safe name for each name: itself if it is one, else one that is readable where possible.

    An alias depends on its name and on the names beside it, not on their order. `what` begins an alias
    that would have no letter at its beginning: tool, argument.
    """
    readable = {name: _make_readable(name, prefix) for name in names if not _SAFE_NAME.fullmatch(name)}
    counts = Counter([*readable.values(), *(name for name in names if name not in readable)])
    found: dict[str, str] = {}
    for name in names:
        alias = readable.get(name, name)
        unique = name not in readable or (counts[alias] == 1 and len(alias) < _MAX_ALIAS_CHARS and alias != prefix)  # fmt: skip
        found[name] = alias if unique else f"{alias}_{fingerprint(name, digits=_HASH_DIGITS)}"
    return found


def _make_readable(name: str, prefix: str) -> str:
    """The name in letters of ASCII: search.papers is search_papers, 查询 cha_xun."""
    read = (f"_{sound}_" if (sound := load_syllables().get(c)) else c for c in to_simplified(name))
    folded = unicodedata.normalize("NFKD", "".join(read))
    bare = "".join(char for char in folded if not unicodedata.combining(char))
    words = re.sub("[^A-Za-z0-9]+", "_", bare).strip("_")[:_MAX_ALIAS_CHARS].strip("_")
    if not words:
        return prefix
    return words if words[0].isalpha() else f"{prefix}_{words}"[:_MAX_ALIAS_CHARS]
