"""How web addresses are shown and compared. Fetches nothing and follows no redirect."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv6Address
from urllib.parse import SplitResult, quote, unquote_plus, urlsplit

# Parameters that say where a click came from, never what the page shows.
TRACKING_PREFIXES = ("utm_",)
TRACKING_NAMES = frozenset(
    {
        "_ga", "_gl", "dclid", "gbraid", "gclid", "gclsrc", "srsltid", "wbraid",  # Google
        "fbclid", "igshid",  # Meta
        "msclkid",  # Microsoft
        "mc_cid", "mc_eid",  # Mailchimp
        "twclid", "ttclid", "yclid",  # X, TikTok, Yandex
        "isappinstalled", "spm", "spm_id_from", "vd_source",  # WeChat, Alibaba, Bilibili
    }
)  # fmt: skip
# These names also carry meaning elsewhere, so only the pair is dropped.
TRACKING_PAIRS = frozenset(
    {("from", "groupmessage"), ("from", "singlemessage"), ("from", "timeline")}
)

_PORTS = {"http": 80, "https": 443}
_UNSAFE = re.compile(r'[<>"{}|\\^`]')  # RFC 3986 has no place for them in an address
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")


@lru_cache(20_000)
def canonical_url(url: str) -> str:
    """The address as it is shown and linked; "" if it is not a plain http or https address.

    Scheme and host are lower-case; the default port, the fragment (save `#!`, which names a page)
    and tracking parameters are gone; a bare host gets its slash, and several slashes at the end of
    the path are one. Credentials, white space and control characters make an address unusable.
    Characters that have no place in an address, and invisible ones, are percent-encoded.
    """
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zs", "Zl", "Zp") for char in url):
        return ""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # a port or an IPv6 address that is none, or a host that hides a "/"
        return ""
    host = _host(parts)
    if parts.scheme not in _PORTS or not host:
        return ""
    netloc = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    path = re.sub(r"/+$", "/", parts.path) or "/"
    query = "&".join(_kept(parts.query))
    fragment = parts.fragment if parts.fragment.startswith("!") else ""
    rest = path + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
    return f"{parts.scheme}://{netloc}{_safe(rest)}"


def _host(parts: SplitResult) -> str:
    """The host in lower case, IPv6 in brackets; "" with credentials or anything that is no host."""
    if "@" in parts.netloc:
        return ""
    host = (parts.hostname or "").lower()
    if ":" in host:
        return f"[{IPv6Address(host).compressed}]" if _is_ipv6(host) else ""
    host = host.removesuffix(".")
    if "[" in parts.netloc or not all(host.split(".")):
        return ""
    fit = all(char in "-._" or unicodedata.category(char)[0] in "LMN" for char in host)
    return host if fit else ""


def _is_ipv6(host: str) -> bool:
    try:
        return IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _kept(query: str) -> Iterator[str]:
    """The parameters of a query, as they stand, without those that only track."""
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        name = unquote_plus(name).lower()
        tracks = name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES)
        if pair and not tracks and (name, unquote_plus(value).lower()) not in TRACKING_PAIRS:
            yield pair


def _safe(rest: str) -> str:
    """Percent-encodes what RFC 3986 forbids and what cannot be seen (joiners, direction marks)."""
    rest = _UNSAFE.sub(lambda match: quote(match[0]), rest)
    return "".join(quote(char) if unicodedata.category(char) == "Cf" else char for char in rest)


@lru_cache(20_000)
def url_identity(url: str) -> str:
    """The key under which two addresses are one source; "" if the address is unusable.

    It is the canonical address without scheme, `www.` and closing slash, the parameters sorted, and
    percent-encoding unified (RFC 3986, 6.2.2): /wiki/故宫 and /wiki/%E6%95%85… are one page.
    """
    address = canonical_url(url)
    if not address:
        return ""
    parts = urlsplit(address)
    query = "&".join(sorted(_encoded(pair) for pair in parts.query.split("&")))
    fragment = _encoded(parts.fragment)
    path = _encoded(parts.path).rstrip("/")
    tail = (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
    return without_www(parts.netloc) + path + tail


def without_www(host: str) -> str:
    """A host without `www.`, unless that leaves no more than a top-level domain, as of www.com."""
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def _encoded(text: str) -> str:
    """Percent-encoding in its one normal form."""
    text = re.sub(r"[^\x00-\x7f]+", lambda match: quote(match[0]), text)
    return _ESCAPED.sub(_normal_escape, text)


def _normal_escape(match: re.Match[str]) -> str:
    char = chr(int(match[0][1:], 16))
    return char if _UNRESERVED.fullmatch(char) else match[0].upper()
