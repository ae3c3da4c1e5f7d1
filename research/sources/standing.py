"""What the lists of domains make of what was found: left out, first, or with a warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from research.domains import Verdict, verdict
from research.records import Evidence

_ORDER = {"preferred": 0, "": 1, "warned": 1}


def weighed(
    found: Sequence[Evidence], known: Mapping[str, Verdict]
) -> tuple[tuple[Evidence, ...], int]:
    """The evidence that may be read, preferred domains first and otherwise in its order; and how many
    pieces are left out. An address that only leads to its page tells nothing of its domain: there the
    publisher does, where it is one."""
    if not known:
        return tuple(found), 0
    kept = []
    for item in found:
        said = verdict(f"https://{item.publisher}" if item.expires else item.url, known)
        if said == "avoid":
            continue
        if said:
            standing = "preferred" if said == "prefer" else "warned"
            item = item.model_copy(update={"standing": standing})
        kept.append(item)
    kept.sort(key=lambda item: _ORDER[item.standing])
    return tuple(kept), len(found) - len(kept)
