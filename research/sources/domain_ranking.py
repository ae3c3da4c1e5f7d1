"""What the lists of domains make of what was found: left out, first, or with a warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from research.core.domains import DomainStatus, url_status
from research.core.records import Evidence


def apply_domain_rules(
    evidence: Sequence[Evidence], verdicts: Mapping[str, DomainStatus], *, keep_avoided: bool = False
) -> tuple[tuple[Evidence, ...], int]:
    """The evidence that may be read, preferred domains first and otherwise in its order; and how many
    pieces are left out. What a text is `used` for already is never left out, but warned of.

    An address that only leads to its page tells nothing of its domain: there the publisher does, where
    it is one.
    """
    kept = []
    for item in evidence:
        said = url_status(f"https://{item.publisher}" if item.expires else item.url, verdicts)
        if said == "avoid" and not keep_avoided:
            continue
        standing = "preferred" if said == "prefer" else "warned" if said else ""
        kept.append(item.model_copy(update={"standing": standing}) if standing else item)
    kept.sort(key=lambda item: item.standing != "preferred")
    return tuple(kept), len(evidence) - len(kept)
