"""Domain lists: sites to prefer, to show with a warning, or to leave out.

A list has one entry per line, or several separated by semicolons; `#` begins a comment:

    prefer gov.cn
    avoid content-farm.example   # left out before anything of it is read
    warn tabloid.example

A domain includes its subdomains. The longest match counts; of two lists the later one wins.
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
    """Parse a domain list into a status for each domain.

    Raises:
        ValueError: An entry is invalid; the message quotes it.
    """
    statuses: dict[str, DomainStatus] = {}
    for line in text.splitlines():
        for entry in line.partition("#")[0].split(";"):
            words = entry.lower().split()
            if not words:
                continue
            if len(words) != 2 or words[0] not in get_args(DomainStatus) or not _DOMAIN_PATTERN.fullmatch(words[1]):
                raise ValueError(f"{entry.strip()!r}: write prefer, warn or avoid, then a domain")
            statuses[_to_idna(words[1])] = cast(DomainStatus, words[0])
    return statuses


def domain_status(url: str, statuses: Mapping[str, DomainStatus]) -> DomainStatus | None:
    """Return the status of a URL's host; None if no entry matches."""
    try:
        host = _to_idna((urlsplit(url).hostname or "").lower())
    except ValueError:
        return None
    parts = host.split(".")
    return next((statuses[d] for n in range(len(parts)) if (d := ".".join(parts[n:])) in statuses), None)


def merge_domain_lists(texts: Iterable[str]) -> dict[str, DomainStatus]:
    """Merge several domain lists; for the same domain the later one wins."""
    statuses: dict[str, DomainStatus] = {}
    for text in texts:
        statuses |= parse_domain_list(text)
    return statuses


def _to_idna(domain: str) -> str:
    try:
        return domain.encode("idna").decode()
    except UnicodeError:
        return domain
