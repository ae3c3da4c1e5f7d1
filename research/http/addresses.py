"""Checks that pages are read from public addresses only.

Links in search results are written by strangers, and this program can reach more than the public
internet: its own machine, the neighbouring ones, the key service of a cloud. So every IP address,
written in a URL or returned by the resolver, is checked here, and only checked addresses are
connected to. Knows host names and IP addresses (the registries of IANA), nothing of HTTP or pages.
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
MAX_URL_CHARS = 2_000

# Names that are valid on a single network only, with all their subdomains.
_LOCAL_NAMES = (
    "localhost", "localdomain", "local", "internal", "intranet", "private", "lan", "home", "corp",
    "arpa", "onion",
)  # fmt: skip
_HOST_NAME_PATTERN = re.compile(r"(?=.{4,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})+")
# A browser treats a host as a number by its last label.
_NUMERIC_LABEL_PATTERN = re.compile(r"(?:\d+|0x[0-9a-f]*)\Z", re.ASCII)
# Hosts whose owner permits people, but no program, to follow a link, each with the text of the refusal.
_HUMAN_ONLY_HOSTS = {
    "vertexaisearch.cloud.google.com": "Google's search links are for people to open: "
    "its terms forbid that a program follows them"
}

# Some of these addresses lie in ranges that count as public.
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
    """Return why an address is not public, such as "a loopback address"; "" if it is.

    An IPv6 address that wraps an IPv4 address is judged by the IPv4 address.
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
    """Yield the IPv4 addresses wrapped by an IPv6 one (RFC 3056, 4291, 4380, 5214, 6052, 7915)."""
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
    """Return the addresses of a host by the system's resolver.

    Raises:
        ServiceError: The name is unknown, or no resolver answers.
    """
    loop = asyncio.get_running_loop()
    try:
        results = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        is_temporary = isinstance(error, OSError) and error.errno == socket.EAI_AGAIN
        text = f"{host} cannot be found"
        raise ServiceError("unreachable", text, hint="dns", is_retryable=is_temporary) from error
    numbers = (item[4][0] for item in results if item[0] in (socket.AF_INET, socket.AF_INET6))
    return [ip_address(str(number)) for number in dict.fromkeys(numbers)]


# Addresses of pages


class AddressValidator:
    """Decides which addresses pages may be read from; a refusal is a `ServiceError`.

    `allowed` are exact endpoints that pass although they are not public. Only tests, whose servers
    run on this machine, set any.
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
        """Return the URL to request: host in lower-case ASCII, no fragment. Sends no request.

        The check uses the HTTP client's own parser, so that the checked host is the one it connects
        to.

        Raises:
            ServiceError: No page may be read from there.
        """
        parsed = _parse_url(url)
        host = (parsed.raw_host or "").lower().removesuffix(".")
        port = parsed.port or 0
        number = _parse_ip(host)
        if number is None:
            _check_host_name(host)
        if port not in self._ports:
            raise _refusal_error(f"port {port} is none that pages are read from")
        if number is not None:
            self._check_address(number, port, str(number))
        return parsed.with_host(str(number or host)).with_fragment(None)

    async def resolve(self, host: str, port: int) -> list[IPAddress]:
        """Return the addresses of a host. A single non-public address refuses them all.

        Raises:
            ServiceError: The name is unknown, or one of its addresses may not be read from.
        """
        addresses = await self._resolver(host, port)
        if not addresses:
            raise ServiceError("unreachable", f"{host} has no address")
        for address in addresses:
            self._check_address(address, port, f"{host} leads to {address}, which")
        return addresses

    def open_socket(self, address_info: tuple[Any, Any, int, str, tuple[Any, ...]]) -> socket.socket:
        """Return a socket for a connection, unless its address is not allowed.

        Every connection passes here, by name or by IP address. An address that fails here has
        passed an earlier check, so the failure is a bug of ours and is an OSError like those of the
        system.

        Raises:
            OSError: Nothing may be read from that address.
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
    """Parse a URL; refuse one that different parsers read differently."""
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
        stated_port, parsed = parts.port, URL(url)
    except ValueError as error:
        raise _refusal_error("this is no address of a page") from error
    if not parts.hostname or parsed.raw_user is not None or stated_port not in (None, parsed.port):
        raise _refusal_error("this is no address of a page")
    return parsed


def _parse_ip(host: str) -> IPAddress | None:
    """Return the IP address that a host is written as; None for a host name.

    Of the many spellings of an IPv4 address (decimal, octal, hexadecimal, shortened) only the usual
    one is accepted: a page's address has another only to hide its target.
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
    """Describe how the system would read an unusual IPv4 spelling, and why that is not public."""
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
