"""Rules of the user's domain lists, applied to evidence: exclude, prefer or warn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from research.core.domains import DomainStatus, domain_status
from research.core.records import Evidence


def apply_domain_rules(
    evidence: Sequence[Evidence], statuses: Mapping[str, DomainStatus], *, keep_avoided: bool = False
) -> tuple[tuple[Evidence, ...], int]:
    """Exclude evidence from avoided domains and put preferred domains first.

    Return the remaining evidence, otherwise in its order, and the number of excluded pieces. With
    `keep_avoided`, for evidence that a text is already based on, nothing is excluded but avoided
    domains are marked "warned". The address of an item with `url_expires` is only a redirect, so the
    publisher is used as its domain.
    """
    ranked = []
    for item in evidence:
        rule = domain_status(f"https://{item.publisher}" if item.url_expires else item.url, statuses)
        if rule == "avoid" and not keep_avoided:
            continue
        standing = "preferred" if rule == "prefer" else "warned" if rule else ""
        ranked.append(item.model_copy(update={"domain_status": standing}) if standing else item)
    ranked.sort(key=lambda item: item.domain_status != "preferred")
    return tuple(ranked), len(evidence) - len(ranked)
