"""Which addresses a page may be read from: public ones only, however they are spelled.

Links in search results are written by strangers, and from where this program runs more can be
reached than from outside: the machine itself, its neighbours, a cloud's keys. So every number and
every answer of the name server is judged here, and only what was judged is connected to. Knows
names and numbers (the registries of IANA), nothing of HTTP and nothing of pages.
"""

from __future__ import annotations

import asyncio
import errno
import re
import socket
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

from yarl import URL

from research.core.errors import ServiceError

IPAddress = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[list[IPAddress]]]

ALLOWED_PORTS = frozenset({80, 443, 8080, 8443})
MAX_URL_CHARS = 2_000  # characters of an address

# Names that have a meaning on one network only, with everything below them.
_LOCAL_NAMES = (
    "localhost", "localdomain", "local", "internal", "intranet", "private", "lan", "home", "corp",
    "arpa", "onion",
)  # fmt: skip
_HOST_NAME_PATTERN = re.compile(r"(?=.{4,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+")
# By its last label a browser tells a number from a name.
_NUMERIC_LABEL_PATTERN = re.compile(r"(?:\d+|0x[0-9a-f]*)\Z", re.ASCII)
# Hosts whose owner allows people to follow a link, and no program.
_HUMAN_ONLY_HOSTS = {
    "vertexaisearch.cloud.google.com": "Google's search links are for people to open: "
    "its terms forbid that a program follows them"
}

# Some of them lie in ranges that count as public.
_METADATA_ADDRESSES = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",  # Amazon, Google, Azure and most others
            "169.254.170.2",  # Amazon's containers
            "100.100.100.200",  # Alibaba
            "168.63.129.16",  # Azure
            "192.0.0.192",  # Oracle
            "fd00:ec2::254",  # Amazon
            "fd20:ce::254",  # Google
            "fd00:42::42",  # Scaleway
        ),
    )
)
_SPECIAL_IPV4 = [
    (IPv4Network(network), kind)
    for network, kind in (
        ("127.0.0.0/8", "a loopback address"),
        ("10.0.0.0/8", "a private address"),
        ("172.16.0.0/12", "a private address"),
        ("192.168.0.0/16", "a private address"),
        ("169.254.0.0/16", "a link-local address"),
        ("100.64.0.0/10", "an address inside a provider's network"),
        ("0.0.0.0/8", "an unspecified address"),
        ("224.0.0.0/4", "a multicast address"),
        ("255.255.255.255/32", "a broadcast address"),
        ("240.0.0.0/4", "a reserved address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "an address for examples"),
        ("198.51.100.0/24", "an address for examples"),
        ("203.0.113.0/24", "an address for examples"),
        ("198.18.0.0/15", "an address for measurements"),
        ("192.88.99.0/24", "the address of a 6to4 relay"),
    )
]
_SPECIAL_IPV6 = [
    (IPv6Network(network), kind)
    for network, kind in (
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a private address"),
        ("fc00::/7", "a private address"),
        ("ff00::/8", "a multicast address"),
        ("64:ff9b:1::/48", "the address of a local translator"),
        ("2001::/32", "the address of a Teredo tunnel"),
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "an address for examples"),
        ("3fff::/20", "an address for examples"),
    )
]
_MAPPED_IPV4 = IPv6Network("::ffff:0:0/96")
_NAT64 = IPv6Network("64:ff9b::/96")
_PUBLIC_IPV6 = IPv6Network("2000::/3")
_NETWORKS_ENDING_IN_IPV4 = (
    _MAPPED_IPV4,
    _NAT64,
    IPv6Network("::ffff:0:0:0/96"),  # translated (SIIT)
    IPv6Network("::/96"),  # compatible
    IPv6Network("64:ff9b:1::/48"),  # NAT64 of one network
)
_6TO4 = IPv6Network("2002::/16")
_TEREDO = IPv6Network("2001::/32")
_ISATAP_PREFIXES = (0x5EFE, 0x0200_5EFE)


# Numbers


def non_public_reason(address: IPAddress) -> str:
    """What speaks against an address, in words: "a loopback address"; "" if it is public.

    An IPv6 address that only wraps an IPv4 address is judged by that.
    """
    if isinstance(address, IPv4Address):
        return _table_reason(address, _SPECIAL_IPV4) or ("" if address.is_global else "not a public address")
    if address.scope_id is not None:
        return "an address of one network interface"
    if int(address) <= 1:
        return "a loopback address" if address == IPv6Address(1) else "an unspecified address"
    for inner in _embedded_ipv4(address):
        if why := non_public_reason(inner):
            return f"an address that leads to {inner}, {why}"
    if address in _MAPPED_IPV4 or address in _NAT64:
        return ""
    return _table_reason(address, _SPECIAL_IPV6) or ("" if address in _PUBLIC_IPV6 else "not a public address")


def _table_reason(address: IPAddress, table: Any) -> str:
    if address in _METADATA_ADDRESSES:
        return "an address at which a cloud gives out its secrets"
    return next((name for network, name in table if address in network), "")


def _embedded_ipv4(address: IPv6Address) -> Iterator[IPv4Address]:
    """The IPv4 addresses that an IPv6 address wraps (RFC 3056, 4291, 4380, 5214, 6052, 7915)."""
    bits = int(address)
    if any(address in network for network in _NETWORKS_ENDING_IN_IPV4):
        yield _ipv4_from_bits(bits)
    if address in _6TO4:
        yield _ipv4_from_bits(bits >> 80)
    if address in _TEREDO:
        yield _ipv4_from_bits(bits >> 64)  # the server
        yield _ipv4_from_bits(~bits)  # the client
    if bits >> 32 & 0xFFFF_FFFF in _ISATAP_PREFIXES:
        yield _ipv4_from_bits(bits)


def _ipv4_from_bits(bits: int) -> IPv4Address:
    return IPv4Address(bits & 0xFFFF_FFFF)


async def resolve_host(host: str, port: int) -> list[IPAddress]:
    """What the system's resolver says.

    Raises:
        Trouble: the name is not known, or nobody could be asked.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        passing = isinstance(error, OSError) and error.errno == socket.EAI_AGAIN
        text = f"{host} cannot be found"
        raise ServiceError("unreachable", text, hint="dns", is_retryable=passing) from error
    numbers = (item[4][0] for item in found if item[0] in (socket.AF_INET, socket.AF_INET6))
    return [ip_address(str(number)) for number in dict.fromkeys(numbers)]


# Addresses of pages


class AddressValidator:
    """Decides where a page may come from. Everything that is refused is a `Trouble` saying why.

    `allowed` are exact endpoints that are let through although they are not public; only tests,
    whose servers are on this machine, have any.
    """

    def __init__(
        self,
        resolver: Resolver = resolve_host,
        *,
        allowed: frozenset[tuple[str, int]] = frozenset(),
        ports: frozenset[int] = ALLOWED_PORTS,
    ) -> None:
        self._resolver = resolver
        self._allowed = allowed
        self._ports = ports | {port for _, port in allowed}

    def check_url(self, url: str) -> URL:
        """The address as it is asked for: host in lower-case ASCII, no fragment. Asks nobody.

        What is judged is what the client will connect to, in its own reading of the address.

        Raises:
            Trouble: a page must not be read from there.
        """
        seen = _parse_url(url)
        host = (seen.raw_host or "").lower().removesuffix(".")
        port = seen.port or 0
        number = _parse_ip(host)
        if number is None:
            _check_host_name(host)
        if port not in self._ports:
            raise _refusal_error(f"port {port} is none that pages are read from")
        if number is not None:
            self._check_address(number, port, str(number))
        return seen.with_host(str(number or host)).with_fragment(None)

    async def resolve(self, host: str, port: int) -> list[IPAddress]:
        """The addresses of a name. One that is not public is enough to refuse them all.

        Raises:
            Trouble: the name is not known, or leads where nothing may be read.
        """
        found = await self._resolver(host, port)
        if not found:
            raise ServiceError("unreachable", f"{host} has no address")
        for address in found:
            self._check_address(address, port, f"{host} leads to {address}, which")
        return found

    def open_socket(self, address_info: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
        """A socket for a connection, if it may be made.

        This is the one place that every connection passes, with a name or without. What fails here
        was let through before, so it is a fault of ours, and is told as the system tells faults.

        Raises:
            OSError: nothing may be read from there.
        """
        family, type_, proto, _, (number, port, *_) = address_info
        address = ip_address(number)
        if (why := non_public_reason(address)) and not self._is_allowed(address, port):
            raise OSError(errno.EACCES, f"{number} is {why}")
        return socket.socket(family, type_, proto)

    def _check_address(self, address: IPAddress, port: int, subject: str) -> None:
        if (why := non_public_reason(address)) and not self._is_allowed(address, port):
            raise _refusal_error(f"{subject} is {why}")

    def _is_allowed(self, address: IPAddress, port: int) -> bool:
        return (str(address), port) in self._allowed


def _parse_url(url: str) -> URL:
    """The address, if two readers agree that it is one and nothing in it could mislead a third."""
    if len(url) > MAX_URL_CHARS:
        raise _refusal_error(f"an address of more than {MAX_URL_CHARS} characters")
    for char in url:
        if unicodedata.category(char) in ("Cc", "Cs", "Zs", "Zl", "Zp"):
            raise _refusal_error(f"an address with the character U+{ord(char):04X} in it")
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise _refusal_error(f"only http and https are read, not {parts.scheme or url!r}")
        if "@" in parts.netloc:
            raise _refusal_error("an address with a user name or a password in it")
        if "\\" in parts.netloc or "%" in parts.netloc:
            raise _refusal_error("a host with a backslash, a percent sign or a zone in it")
        stated, seen = parts.port, URL(url)
    except ValueError as error:
        raise _refusal_error("this is no address of a page") from error
    if not parts.hostname or seen.raw_user is not None or stated not in (None, seen.port):
        raise _refusal_error("this is no address of a page")
    return seen


def _parse_ip(host: str) -> IPAddress | None:
    """The address that a host is, None if it is a name.

    Of the many spellings of an IPv4 address (decimal, octal, hexadecimal, shortened) only the usual
    one is taken: nobody writes a page's address in another, except to hide where it leads.
    """
    if ":" in host:
        try:
            return IPv6Address(host)
        except ValueError as error:
            raise _refusal_error(f"{host} is no address") from error
    if not _NUMERIC_LABEL_PATTERN.match(host.rpartition(".")[2]):
        return None
    try:
        return IPv4Address(host)
    except ValueError as error:
        raise _refusal_error(f"{host} is no usual way to write {_describe_numeric_host(host)}") from error


def _describe_numeric_host(host: str) -> str:
    """What the system would take a number for, and what speaks against that."""
    try:
        address = IPv4Address(socket.inet_aton(host))
    except (OSError, ValueError):
        return "an address"
    why = non_public_reason(address)
    return f"{address}, {why}" if why else f"{address}"


def _check_host_name(host: str) -> None:
    if why := _HUMAN_ONLY_HOSTS.get(host):
        raise _refusal_error(why)
    if any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES):
        raise _refusal_error(f"{host} is no name of the public web")
    if host and "." not in host:
        raise _refusal_error(f"{host} has no dot, so it is no name of the public web")
    if not _HOST_NAME_PATTERN.fullmatch(host):
        raise _refusal_error(f"{host or 'nothing'} is no name of a host")


def _refusal_error(message: str) -> ServiceError:
    return ServiceError("refused", message)
