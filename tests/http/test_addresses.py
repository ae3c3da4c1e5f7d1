"""Where pages may be read from: what is refused, why, and what is let through."""

import socket
from ipaddress import ip_address

import pytest

from research.core.errors import ServiceError
from research.http.addresses import AddressValidator, non_public_reason, resolve_host
from tests.tables import each_row

# An address, and a piece of the reason for which it is refused.
HOSTILE = [
    # this machine, in all its spellings
    ("http://127.0.0.1/", "127.0.0.1 is a loopback address"),
    ("http://127.255.255.254/", "loopback"),
    ("http://127.0.0.1./", "loopback"),
    ("http://localhost/", "localhost is no name of the public web"),
    ("http://LocalHost./", "localhost is no name of the public web"),
    ("http://a.b.localhost/", "no name of the public web"),
    ("http://2130706433/", "2130706433 is no usual way to write 127.0.0.1, a loopback address"),
    ("http://0x7f000001/", "127.0.0.1"),
    ("http://0X7F.1/", "127.0.0.1"),
    ("http://0177.0.0.1/", "127.0.0.1"),
    ("http://017700000001/", "127.0.0.1"),
    ("http://127.1/", "127.0.0.1"),
    ("http://127.0.1/", "127.0.0.1"),
    ("http://0/", "0.0.0.0, an unspecified address"),
    ("http://0.0.0.0/", "unspecified"),
    ("http://0x/", "no usual way"),
    ("http://256.1.1.1/", "no usual way"),
    ("http://1.2.3.4.5/", "no usual way"),
    ("http://①②⑦.⓪.⓪.①/", "loopback"),
    ("http://127。0。0。1/", "loopback"),
    ("http://ⓛocalhost/", "no name of the public web"),
    ("http://[::1]/", "::1 is a loopback address"),
    ("http://[0:0:0:0:0:0:0:1]/", "loopback"),
    ("http://[::]/", "unspecified"),
    # IPv4 in the clothes of IPv6
    ("http://[::ffff:127.0.0.1]/", "leads to 127.0.0.1, a loopback address"),
    ("http://[::ffff:a9fe:a9fe]/", "leads to 169.254.169.254"),
    ("http://[::127.0.0.1]/", "leads to 127.0.0.1"),
    ("http://[::ffff:0:127.0.0.1]/", "leads to 127.0.0.1"),
    ("http://[2002:7f00:1::]/", "leads to 127.0.0.1"),
    ("http://[2002:a9fe:a9fe::1]/", "leads to 169.254.169.254"),
    ("http://[64:ff9b::127.0.0.1]/", "leads to 127.0.0.1"),
    ("http://[64:ff9b::a00:1]/", "leads to 10.0.0.1, a private address"),
    ("http://[64:ff9b:1::a00:1]/", "leads to 10.0.0.1"),
    ("http://[64:ff9b:1::808:808]/", "local translator"),
    ("http://[2001:0:a00:1:0:0:f7f7:f7f7]/", "leads to 10.0.0.1"),
    ("http://[2001:0:808:808:0:0:80ff:fffe]/", "leads to 127.0.0.1"),
    ("http://[2001:0:808:808:0:0:f7f7:f7f7]/", "Teredo"),
    ("http://[2600:1:2:3:0:5efe:192.168.0.1]/", "leads to 192.168.0.1"),
    # the neighbours
    ("http://10.0.0.1/", "a private address"),
    ("http://172.31.255.255/", "a private address"),
    ("http://192.168.1.1/", "a private address"),
    ("http://100.64.0.1/", "inside a provider's network"),
    ("http://[fd12:3456::1]/", "a private address"),
    ("http://[fe80::1]/", "a link-local address"),
    ("http://[fec0::1]/", "a private address"),
    ("http://[fe80::1%25eth0]/", "zone"),
    ("http://[fe80::1%eth0]/", "zone"),
    ("http://router/", "has no dot"),
    ("http://printer.local/", "no name of the public web"),
    ("http://wiki.corp/", "no name of the public web"),
    ("http://1.0.0.127.in-addr.arpa/", "no name of the public web"),
    # clouds
    ("http://169.254.169.254/latest/meta-data/", "a cloud gives out its secrets"),
    ("http://[fd00:ec2::254]/latest/meta-data/", "a cloud gives out its secrets"),
    ("http://100.100.100.200/latest/meta-data/", "a cloud gives out its secrets"),
    ("http://168.63.129.16/machine", "a cloud gives out its secrets"),
    ("http://192.0.0.192/opc/v2/", "a cloud gives out its secrets"),
    ("http://metadata.google.internal/computeMetadata/v1/", "no name of the public web"),
    ("http://metadata/computeMetadata/v1/", "has no dot"),
    # numbers that belong to nobody
    ("http://224.0.0.1/", "multicast"),
    ("http://[ff02::1]/", "multicast"),
    ("http://240.0.0.1/", "reserved"),
    ("http://255.255.255.255/", "broadcast"),
    ("http://192.0.0.9/", "reserved"),
    ("http://198.18.0.1/", "measurements"),
    ("http://192.0.2.1/", "examples"),
    ("http://[2001:db8::1]/", "examples"),
    ("http://[3fff::1]/", "examples"),
    ("http://[4000::1]/", "not a public address"),
    ("http://[5f00::1]/", "not a public address"),
    # other schemes, and none
    ("file:///etc/passwd", "only http and https are read, not 'file'"),
    ("ftp://site.example/a", "not 'ftp'"),
    ("gopher://127.0.0.1:70/_x", "not 'gopher'"),
    ("data:text/html,<p>x</p>", "not 'data'"),
    ("javascript:alert(1)", "not 'javascript'"),
    ("ws://site.example/", "not 'ws'"),
    ("//site.example/a", "only http and https"),
    ("site.example/a", "only http and https"),
    ("", "only http and https"),
    # addresses that say two things
    ("http://user:secret@site.example/", "a user name or a password"),
    ("http://site.example@127.0.0.1/", "a user name or a password"),
    ("http://127.0.0.1@site.example/", "a user name or a password"),
    ("http://@127.0.0.1/", "a user name or a password"),
    ("http://127.0.0.1#@site.example/", "loopback"),
    ("http://127.0.0.1?@site.example/", "loopback"),
    ("http://site.example\\@127.0.0.1/", "a user name or a password"),
    ("http://127.0.0.1\\.site.example/", "backslash"),
    ("http:\\\\127.0.0.1\\", "no address of a page"),
    ("http://127.0.0.1%2f.site.example/", "percent sign"),
    ("http://127.0.0.1%00.site.example/", "percent sign"),
    ("http://site.exam\tple/", "U+0009"),
    ("http://site.example/\r\nHost: 127.0.0.1", "U+000D"),
    ("http://site.example /", "U+0020"),
    (" http://127.0.0.1/", "U+0020"),
    ("http://site.example/\ud800", "U+D800"),
    ("http://127.0.0.1\u2028.site.example/", "U+2028"),
    ("http:///127.0.0.1/", "no address of a page"),
    ("http:127.0.0.1", "no address of a page"),
    ("http://", "no address of a page"),
    ("http://[::1", "no address of a page"),
    ("http://[v1.fe80::1]/", "is no address"),
    ("http://site..example/", "no name of a host"),
    ("http://.site.example/", "no name of a host"),
    ("http://xn--/", "has no dot"),
    ("http://" + "a" * 64 + ".example/", "no name of a host"),
    ("http://site.example/" + "a" * 2_000, "more than 2000 characters"),
    # ports
    ("http://site.example:22/", "port 22 is none that pages are read from"),
    ("https://site.example:6379/", "port 6379"),
    ("http://site.example:0/", "port 0"),
    ("http://site.example:+80/", "no address of a page"),
    ("http://site.example:８０/", "no address of a page"),
    ("http://site.example:99999/", "no address of a page"),
    ("http://site.example:80:80/", "no address of a page"),
    # links that are for people
    ("https://vertexaisearch.cloud.google.com/grounding-api-redirect/AUZIYQ", "Google"),
    ("https://VertexAISearch.Cloud.Google.com./grounding-api-redirect/AUZIYQ", "Google"),
    ("https://vertexaisearch.cloud.google.com:443/%67rounding-api-redirect/A", "Google"),
]


def named(*numbers):
    """A name server that knows one answer to everything."""

    async def resolve(host, port):
        return [ip_address(number) for number in numbers]

    return resolve


@each_row(("url", "why"), HOSTILE)
def test_an_address_that_leads_inside_is_refused_and_the_reason_is_said(url, why):
    with pytest.raises(ServiceError) as caught:
        AddressValidator().check_url(url)
    assert caught.value.reason == "refused"
    assert why in caught.value.message


@each_row(
    ("url", "asked"),
    [
        ("http://SITE.example", "http://site.example"),
        ("HTTPS://Site.Example:443/A?b=C&d=%26#part", "https://site.example/A?b=C&d=%26"),
        ("http://site.example./a", "http://site.example/a"),
        ("http://site.example:8080/a", "http://site.example:8080/a"),
        ("https://例子.中国/路径", "https://xn--fsqu00a.xn--fiqs8s/%E8%B7%AF%E5%BE%84"),
        ("https://xn--fsqu00a.xn--fiqs8s/", "https://xn--fsqu00a.xn--fiqs8s/"),
        ("https://faß.example/", "https://xn--fa-hia.example/"),
        ("http://a_b.site.example/", "http://a_b.site.example/"),
        ("http://site.example/a/../b?u=http://127.0.0.1/", "http://site.example/b?u=http://127.0.0.1/"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
        ("http://[2606:4700::1111]/", "http://[2606:4700::1111]/"),
        ("http://[64:ff9b::808:808]/", "http://[64:ff9b::808:808]/"),
        ("http://[::ffff:8.8.8.8]/", "http://[::ffff:808:808]/"),
        ("http://[2002:808:808::1]/", "http://[2002:808:808::1]/"),
        ("https://cloud.google.com/vertex-ai", "https://cloud.google.com/vertex-ai"),
    ],
)  # fmt: skip
def test_a_public_address_is_asked_for_in_plain_ascii_without_its_fragment(url, asked):
    assert str(AddressValidator().check_url(url)) == asked


def test_what_python_calls_global_is_not_what_is_let_through():
    for number in ("2002:7f00:1::", "64:ff9b::7f00:1", "224.0.0.1", "168.63.129.16", "ff0e::1"):
        assert non_public_reason(ip_address(number)), number


async def test_a_public_name_gives_all_its_addresses():
    guard = AddressValidator(named("8.8.8.8", "2606:4700::1111"))
    found = await guard.resolve("site.example", 443)
    assert [str(address) for address in found] == ["8.8.8.8", "2606:4700::1111"]


@pytest.mark.parametrize("numbers", [["10.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "2606:4700::1111"]])
async def test_one_address_inside_is_enough_to_refuse_a_name(numbers):
    with pytest.raises(ServiceError) as caught:
        await AddressValidator(named(*numbers)).resolve("site.example", 80)
    assert caught.value.reason == "refused"
    assert caught.value.message == "site.example leads to 10.0.0.1, which is a private address"


async def test_a_name_that_leads_to_one_interface_is_refused():
    with pytest.raises(ServiceError, match="network interface"):
        await AddressValidator(named("fe80::1%2")).resolve("site.example", 80)


async def test_a_name_without_an_address_is_out_of_reach():
    with pytest.raises(ServiceError) as caught:
        await AddressValidator(named()).resolve("site.example", 80)
    assert caught.value.reason == "unreachable"


async def test_a_name_that_nobody_knows_is_out_of_reach():
    with pytest.raises(ServiceError) as caught:
        await resolve_host("a" * 70 + ".invalid", 80)  # too long a label to be asked for
    assert caught.value.reason == "unreachable"


async def test_the_system_is_asked_for_names_and_gives_numbers():
    assert ip_address("127.0.0.1") in await resolve_host("127.0.0.1", 80)


def test_an_endpoint_that_is_allowed_is_that_one_and_no_other():
    guard = AddressValidator(allowed=frozenset({("127.0.0.1", 5555)}))
    assert str(guard.check_url("http://127.0.0.1:5555/a")) == "http://127.0.0.1:5555/a"
    for url in ("http://127.0.0.1/", "http://127.0.0.2:5555/", "http://localhost:5555/"):
        with pytest.raises(ServiceError):
            guard.check_url(url)


def test_other_ports_can_be_asked_for():
    assert AddressValidator(ports=frozenset({9000})).check_url("http://site.example:9000/").port == 9000
    with pytest.raises(ServiceError, match="port 80"):
        AddressValidator(ports=frozenset({9000})).check_url("http://site.example/")


def test_no_socket_is_made_for_an_address_inside():
    guard = AddressValidator(allowed=frozenset({("127.0.0.1", 5555)}))
    for number, port in (("10.0.0.1", 80), ("127.0.0.1", 5556), ("169.254.169.254", 80)):
        with pytest.raises(PermissionError, match=number):
            guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (number, port)))
    for number, port in (("127.0.0.1", 5555), ("8.8.8.8", 443)):
        guard.open_socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", (number, port))).close()
