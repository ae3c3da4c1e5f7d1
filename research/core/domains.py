"""Whose pages are wanted first, with a warning, or not at all: lists of domains.

A list has one entry a line, or several with semicolons between them; `#` begins a comment:

    prefer gov.cn
    avoid content-farm.example   # left out before anything of it is read
    warn tabloid.example

A domain stands for itself and all below it; the longest that fits counts, and of two lists the later.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

DomainStatus = Literal["prefer", "warn", "avoid"]
FILE_NAME = "domains.txt"
_DOMAIN_PATTERN = re.compile(r"(?:[\w-]{1,63}\.)+[\w-]{2,63}")


def parse_domain_list(text: str) -> dict[str, DomainStatus]:
    """The verdicts of a list, by domain.

    Raises:
        ValueError: an entry is none; it says which.
    """
    found: dict[str, DomainStatus] = {}
    for line in text.splitlines():
        for entry in line.partition("#")[0].split(";"):
            words = entry.lower().split()
            if not words:
                continue
            if len(words) != 2 or words[0] not in get_args(DomainStatus) or not _DOMAIN_PATTERN.fullmatch(words[1]):
                raise ValueError(f"{entry.strip()!r}: write prefer, warn or avoid, then a domain")
            found[_to_idna(words[1])] = cast(DomainStatus, words[0])
    return found


def url_status(url: str, statuses: Mapping[str, DomainStatus]) -> DomainStatus | None:
    """What is said of the host of an address; None if nothing is."""
    try:
        host = _to_idna((urlsplit(url).hostname or "").lower())
    except ValueError:
        return None
    parts = host.split(".")
    return next((statuses[d] for n in range(len(parts)) if (d := ".".join(parts[n:])) in statuses), None)


def merge_domain_lists(texts: Iterable[str]) -> dict[str, DomainStatus]:
    """The verdicts of several lists; of two on one domain the later counts."""
    found: dict[str, DomainStatus] = {}
    for text in texts:
        found |= parse_domain_list(text)
    return found


def _to_idna(domain: str) -> str:
    try:
        return domain.encode("idna").decode()
    except UnicodeError:
        return domain
