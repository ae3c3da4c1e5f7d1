"""How web addresses are shown and compared. Fetches nothing and follows no redirect."""

from __future__ import annotations

import re
import unicodedata
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from functools import lru_cache
from ipaddress import IPv6Address
from string import ascii_letters, digits
from urllib.parse import SplitResult, quote, unquote, unquote_plus, urlsplit

from research import data

# Parameters that say where a click came from or how a page is drawn, never what it shows.
TRACKING_PREFIXES = ("utm_", "hsa_", "mtm_", "matomo_", "piwik_", "bsft_")
TRACKING_NAMES = frozenset(data.words("addresses")["tracking"].split("|"))
# These names also carry meaning elsewhere, so only the pair is dropped.
TRACKING_PAIRS = re.compile(data.words("addresses")["tracking pairs"])
_DESTINATION_PARAMETER = "to"  # beside it an origin is content: ?fr=USD&to=CNY

# Pages that do nothing but lead to the address in one of their parameters.
_GOOGLE_HOST_PATTERN = re.compile(r"(?:[a-z]+\.)?google\.(?:[a-z]{2,3}|com?\.[a-z]{2})")
_WRAPPER_PARAMETERS = {place: tuple(names.split("|")) for place, names in data.rows("wrappers.tsv")}
_MAX_HOPS = 5  # wrappers within wrappers; an address with more of them is left as it is
_AMP_CACHE_PATH_PATTERN = re.compile(r"/(?:c|v|wp/s|wp)/(?P<safe>s/)?(?P<rest>[^/]+\.[^/]+(?:/.*)?)")
_AMP_VIEWER_PATH_PATTERN = re.compile(r"/amp/(?P<safe>s/)?(?P<rest>[^/]+\.[^/]+(?:/.*)?)")

# Names of hosts that show the pages of a site to phones. Others (mobile., touch.) are also the names
# of sections about phones, so that of these only known ones count.
_PHONE_PREFIXES = ("m.", "wap.", "3g.")
_PHONE_HOSTS = frozenset(data.words("addresses")["phone hosts"].split("|"))
_WIKI_HOST_PATTERN = re.compile(
    r"(?:(?P<subdomain>(?!m\.)[a-z-]+)\.)?(?:m\.)?(?P<project>(?:wikipedia|wikimedia|wiktionary|wikivoyage"
    r"|wikinews|wikisource|wikibooks|wikiquote|wikiversity|wikidata)\.org)"
)
_WIKI_DISPLAY_PARAMETERS = ("variant", "uselang", "useskin", "useformat", "mobileaction")  # never the article
# What stands below these is a site of its own: m.github.io and m.com.cn are no other site's.
_SHARED_HOSTS = frozenset(data.words("addresses")["shared hosts"].split("|"))
_SECOND_LEVEL_DOMAINS = frozenset(data.words("addresses")["second level"].split("|"))
_PROVINCE_DOMAINS = frozenset(data.words("addresses")["provinces"].split("|"))
_FILE_OR_NUMBER_PATTERN = re.compile(r"\.(?:s?html?|php|aspx?|jsp)$|[0-9]{5}")
_WEIXIN_PARAMETERS = ("__biz", "mid", "idx", "sn")  # what names an article there
_ARXIV_PATH_PATTERN = re.compile(
    r"/(?:abs|pdf|html|ps)/(?P<id>[0-9]{4}\.[0-9]{4,5}(?:v[0-9]+)?|[a-z.-]+/[0-9]{7}(?:v[0-9]+)?)(?:\.pdf)?",
    re.IGNORECASE,
)
_NCBI_PATH_PATTERN = re.compile(r"/(?:(?P<pubmed>pubmed)(?=/[0-9])|pmc(?=/articles/))(?P<rest>/.+)")  # moved
# Files have places, never pages of their own: report.pdf#page=3, talk.mp4#t=90.
_FILE_PATH_PATTERN = re.compile(rf"\.(?:{data.words('addresses')['files']})$", re.IGNORECASE)
_PDF_WORD_PATTERN = re.compile(r"(?<![a-z])pdf(?![a-z])", re.IGNORECASE)
_PDF_FRAGMENT_PATTERN = re.compile(r"(?:page|nameddest|zoom|view|viewrect|search|toolbar)=")  # RFC 8118

_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNSAFE_CHARS = re.compile(r'[<>"{}|\\^`]')  # RFC 3986 has no place for them in an address
_DOT_SEGMENT_PATTERN = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
_PERCENT_ESCAPE_PATTERN = re.compile(r"%[0-9A-Fa-f]{2}")
# An address in a text: up to a blank, a bracket or a mark of Chinese, or to Chinese right after a
# letter or digit of ASCII, as in https://example.org/a讲了什么.
_URL_IN_TEXT_PATTERN = re.compile(
    r"https?://(?:(?<![A-Za-z0-9])[\u3400-\u9fff]+|[^\s<>\"“”‘’`|\\^{}（）【】［］「」『』《》，。；：！？、\[\]\u3400-\u9fff])+",
    re.IGNORECASE,
)
# Characters that mean the same with and without percent-encoding: those that RFC 3986 does not
# reserve, and those that no server takes for a delimiter in that part of an address.
_UNRESERVED = frozenset(ascii_letters + digits + "-._~")
_UNESCAPED_IN_PATH = _UNRESERVED | frozenset("!$&'()*,:=@")
_UNESCAPED_IN_QUERY = _UNRESERVED | frozenset("!$'()*,:@/?[]")


def find_urls(text: str) -> tuple[str, ...]:
    """The http and https addresses in a text, in order and as they are written there, without the
    marks after them."""
    return tuple(dict.fromkeys(filter(None, (_trim_url(m[0]) for m in _URL_IN_TEXT_PATTERN.finditer(text)))))


def replace_urls(text: str, replacement: Callable[[str], str] = lambda address: " ") -> str:
    """A text with something else in the place of each address, by default a blank."""

    def replaced(match: re.Match[str]) -> str:
        address = _trim_url(match[0])
        return replacement(address) + match[0][len(address) :] if address else match[0]

    return _URL_IN_TEXT_PATTERN.sub(replaced, text)


def _trim_url(url: str) -> str:
    """An address without the marks that end a sentence or close a bracket around it."""
    while url[-1] in ".,;:!?'*_~" or (url[-1] == ")" and url.count(")") > url.count("(")):
        url = url[:-1]
    return url if canonical_url(url) else ""


@lru_cache(20_000)
def canonical_url(url: str) -> str:
    """The address as it is shown and linked; "" if it is not a plain http or https address.

    Scheme and host are lower-case; the default port, a fragment that names a place within the page
    (not a page of its own, as #/news/1 does) and tracking parameters are gone; a bare host gets its
    slash, and several slashes at the end of the path are one. Credentials, control characters and line ends make an address unusable. Blanks
    within it, other characters that have no place in an address, and invisible ones are
    percent-encoded; blanks around it are no part of it.

    Of a page that only leads to the address in it (google.com/url?q=…, a cache of AMP) that address
    is taken, if it is a plain one itself. A redirect that does not tell its target stays as it is,
    and so does an archived copy, which is a document of its own.
    """
    outer = address = _normalise_url(url)
    for _ in range(_MAX_HOPS + 1):
        inner = _normalise_url(_wrapped_url(urlsplit(address))) if address else ""
        if not inner:
            return address
        address = inner
    return outer


def is_wrapper_url(url: str) -> bool:
    """Whether an address does nothing but lead to another that it tells."""
    return canonical_url(url) != _normalise_url(url)


def _normalise_url(url: str) -> str:
    """The address in its canonical form, whatever it wraps."""
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in url):
        return ""
    url = url.strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # a port or an IPv6 address that is none, or a host that hides a "/"
        return ""
    host = _normalise_host(parts)
    if parts.scheme not in _DEFAULT_PORTS or not host:
        return ""
    netloc = host if port in (None, _DEFAULT_PORTS[parts.scheme]) else f"{host}:{port}"
    path = re.sub(r"/+$", "/", _remove_dot_segments(parts.path)) or "/"
    query = "&".join(_content_parameters(parts.query))
    fragment = "" if _WIKI_HOST_PATTERN.fullmatch(strip_www(netloc)) else _page_fragment(parts)
    rest = path + (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
    return f"{parts.scheme}://{netloc}{_encode_unsafe(rest)}"


def _remove_dot_segments(path: str) -> str:
    """A path without its steps . and .., which no server is sent (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    steps = [re.sub("(?i)%2e", ".", step) if _DOT_SEGMENT_PATTERN.fullmatch(step) else step for step in path.split("/")]
    for step in steps:
        if step == "..":
            kept = kept[:-1] or [""]
        elif step != ".":
            kept.append(step)
    return "/".join(kept) + ("/" if steps[-1] in (".", "..") else "")


def _page_fragment(parts: SplitResult) -> str:
    """Return the fragment if it names a page that a script draws, as it stays however often it is read."""
    fragment = parts.fragment.partition(":~:")[0]
    for _ in range(_MAX_HOPS):
        if (shown := _strip_fragment(parts.path, fragment)) == fragment:
            return shown
        fragment = shown
    return ""


def _strip_fragment(place: str, fragment: str) -> str:
    """Return the fragment if it names a page that a script draws, "" if it names a place in one.

    Routes begin with / or ! (#/news/1, #!/a), have a path (#news/1) or parameters (#id=5). A text
    directive (:~:text=, https://wicg.github.io/scroll-to-text-fragment/), an anchor after a route
    and tracking parameters are no part of them.
    """
    if _FILE_PATH_PATTERN.search(place) or (_PDF_WORD_PATTERN.search(place) and _PDF_FRAGMENT_PATTERN.match(fragment)):
        return ""
    route, _, anchor = fragment.partition("#")
    path, mark, query = route.partition("?")
    rooted = unquote(path[:3]).startswith(("/", "!"))
    if not rooted and not mark and "=" in path:
        path, query = "", path
    query = "&".join(_content_parameters(query))
    if not mark and "=" not in query:
        query = ""
    named = path.strip("/!") if rooted else "/" in unquote(path)
    further = f"#{anchor}" if re.search("[/=]", anchor) else ""
    if not (named or query or further):
        return ""
    return path + (mark if query else "") + query + further


def _wrapped_url(parts: SplitResult) -> str:
    """The address that a canonical address leads to; "" if it is none that does or tells."""
    host = strip_www(parts.netloc)
    google = bool(_GOOGLE_HOST_PATTERN.fullmatch(host))
    if host == "cdn.ampproject.org" or host.endswith((".cdn.ampproject.org", ".bing-amp.com")):
        return _amp_cache_target(_AMP_CACHE_PATH_PATTERN.fullmatch(parts.path), parts.query)
    if google and parts.path.startswith("/amp/"):
        return _amp_cache_target(_AMP_VIEWER_PATH_PATTERN.fullmatch(parts.path), parts.query)
    if host.endswith(".safelinks.protection.outlook.com"):
        return _single_parameter(parts.query, ("url",))
    place = "google" if google else host
    path = parts.path.rstrip("/").lower() or "/"
    names = _WRAPPER_PARAMETERS.get(place + path) or _WRAPPER_PARAMETERS.get(place + "/*") or ()
    target = _single_parameter(parts.query, names)
    return _decode_bing_target(target) if host == "bing.com" else target


def _amp_cache_target(match: re.Match[str] | None, query: str) -> str:
    """The address of a page that a cache of AMP holds."""
    if not match:
        return ""
    return f"http{'s' if match['safe'] else ''}://{match['rest']}" + (f"?{query}" if query else "")


def _single_parameter(query: str, names: tuple[str, ...]) -> str:
    """The one value that the parameters of these names have, decoded; else ""."""
    pairs = (pair.partition("=") for pair in query.split("&"))
    values = {value for name, _, value in pairs if value and name in names}
    try:
        return unquote(values.pop(), errors="strict") if len(values) == 1 else ""
    except UnicodeDecodeError:
        return ""


def _decode_bing_target(text: str) -> str:
    """What Bing writes for an address: "a1" and the address in Base64, without its padding."""
    try:
        return urlsafe_b64decode(text[2:] + "=" * (-len(text[2:]) % 4)).decode() if text[:2] == "a1" else ""
    except ValueError:
        return ""


def _normalise_host(parts: SplitResult) -> str:
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


def _content_parameters(query: str) -> Iterator[str]:
    """The parameters of a query, as they stand, without those that only track."""
    pairs = [(pair, *map(unquote_plus, pair.lower().partition("="))) for pair in query.split("&")]
    travels = any(name == _DESTINATION_PARAMETER for _, name, _, _ in pairs)
    for pair, name, equals, value in pairs:
        tracks = name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES)
        if not travels:
            tracks = tracks or bool(TRACKING_PAIRS.fullmatch(name + equals + value))
        if pair and not tracks:
            yield pair


def _encode_unsafe(text: str) -> str:
    """Percent-encodes what RFC 3986 forbids and what cannot be seen."""
    return encode_invisible(_UNSAFE_CHARS.sub(lambda match: quote(match[0]), text))


def encode_invisible(url: str) -> str:
    """An address with its blanks, joiners and direction marks percent-encoded."""
    unseen = ("Cf", "Zs")
    return "".join(quote(char) if unicodedata.category(char) in unseen else char for char in url)


@lru_cache(20_000)
def url_identity(url: str) -> str:
    """The key under which two addresses are one source; "" if the address is unusable.

    It is the canonical address without scheme, `www.` and closing slash, the parameters sorted, and
    needless percent-encoding undone: /wiki/故宫 and /wiki/%E6%95%85… are one page. The page for phones
    and the AMP page of an article are that article; a host in Punycode is what it means. Sites that
    show one thing under several addresses are known: DOIs, arXiv, the wikis of Wikimedia, articles
    of WeChat and videos of YouTube.
    """
    address = canonical_url(url)
    if not address:
        return ""
    parts = urlsplit(address)
    path = _normalise_escapes(parts.path, _UNESCAPED_IN_PATH).rstrip("/")
    host = _desktop_host(_decode_punycode(parts.netloc), is_article=_is_article_path(path))
    host, path, pairs = _apply_site_rules(host, path, _sorted_parameters(parts.query))
    query, fragment = "&".join(pairs), _normalise_fragment(parts.fragment)
    tail = (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
    return host + _remove_amp(path) + tail


def _sorted_parameters(query: str) -> list[str]:
    """The parameters of a query in order, each in its one spelling; a blank may be %20 or +."""
    pairs = (_normalise_escapes(pair, _UNESCAPED_IN_QUERY).replace("%20", "+") for pair in query.split("&"))
    return sorted(filter(None, pairs))


def _normalise_fragment(fragment: str) -> str:
    """A fragment that names a page in its one spelling."""
    path, mark, query = fragment.partition("?")
    return _normalise_escapes(path, _UNESCAPED_IN_PATH).rstrip("/") + mark + "&".join(_sorted_parameters(query))


# Sites that show one thing under several addresses


def _apply_site_rules(host: str, path: str, parameters: list[str]) -> tuple[str, str, list[str]]:
    """The one form of an address on a site that has several for a page."""
    if host in ("doi.org", "dx.doi.org"):
        return "doi.org", _normalise_doi_path(path), parameters
    if host in ("arxiv.org", "export.arxiv.org") and (paper := _ARXIV_PATH_PATTERN.fullmatch(path)):
        return "arxiv.org", f"/abs/{paper['id']}", parameters  # each version is a text of its own
    if wiki := _WIKI_HOST_PATTERN.fullmatch(host):
        return host, *_wiki_article(wiki["subdomain"] or "", path, parameters)
    if host == "mp.weixin.qq.com" and path == "/s":
        return host, path, _weixin_article_parameters(parameters)
    if host == "mp.weixin.qq.com" and path.startswith("/s/"):
        return host, path, []  # the path alone names the article
    if host == "ncbi.nlm.nih.gov" and (paper := _NCBI_PATH_PATTERN.fullmatch(path)):
        return (f"{'pubmed' if paper['pubmed'] else 'pmc'}.ncbi.nlm.nih.gov", paper["rest"], parameters)
    if host == "youtu.be" and re.fullmatch(r"/[\w-]+", path):
        return "youtube.com", "/watch", [f"v={path[1:]}"]
    if host == "youtube.com" and path == "/watch":
        return host, path, [pair for pair in parameters if pair.startswith("v=")] or parameters
    return host, path, parameters


def _normalise_doi_path(path: str) -> str:
    """The path of a DOI, whose letters are the same in both cases (ISO 26324) if they are ASCII."""
    name = re.sub("(?i)^/(?:doi:)?", "", unquote(path))
    if not name.startswith("10."):
        return path
    lower = "".join(char.lower() if char.isascii() else char for char in name)
    return "/" + quote(lower, safe="/!$&'()*,:=@+;")


def _wiki_article(language: str, path: str, parameters: list[str]) -> tuple[str, list[str]]:
    """The path and parameters of an article of a wiki, whatever script it is shown in.

    /zh-hant/X and /wiki/X?variant=zh-tw show the article X. Source:
    https://www.mediawiki.org/wiki/Writing_systems.
    """
    parameters = [pair for pair in parameters if pair.partition("=")[0] not in _WIKI_DISPLAY_PARAMETERS]
    if path == "/w/index.php" and len(parameters) == 1 and parameters[0].startswith("title="):
        title = parameters[0].removeprefix("title=").replace("+", "_")
        path, parameters = f"/wiki/{title}", []
    if language:
        path = re.sub(rf"^/{re.escape(language)}(?:-[a-z]+)?/(?=.)", "/wiki/", path)
    if path.startswith("/wiki/"):
        for escaped, plain in (("%20", "_"), ("%2B", "+"), ("%3B", ";"), ("%2F", "/")):
            path = path.replace(escaped, plain)
    return path, parameters


def _desktop_host(host: str, *, is_article: bool) -> str:
    """A host without `www.` or what makes it the host for phones, or for AMP if it shows an article."""
    bare = strip_www(host)
    if wiki := _WIKI_HOST_PATTERN.fullmatch(bare):
        return ".".join(filter(None, (wiki["subdomain"], wiki["project"])))
    front, _, rest = bare.partition(".")
    phone = f"{front}." in _PHONE_PREFIXES or bare in _PHONE_HOSTS
    return rest if (phone or (is_article and front == "amp")) and _is_single_site(rest) else bare


def _is_single_site(host: str) -> bool:
    """Whether a host is that of one site; .com.cn, .bj.cn and github.io are those of many."""
    *_, second, top = ["", *host.split(".")]
    if not second or host in _SHARED_HOSTS or not re.fullmatch("[^0-9:]+", top):
        return False
    many = second in _SECOND_LEVEL_DOMAINS or (top == "cn" and second in _PROVINCE_DOMAINS)
    return not (len(top) == 2 and many) or host.count(".") > 1


def _is_article_path(path: str) -> bool:
    """Whether a path ends like that of an article: with a file, a long number or four words."""
    last = path.rpartition("/")[2]
    return bool(_FILE_OR_NUMBER_PATTERN.search(last)) or last.count("-") >= 3


def _remove_amp(path: str) -> str:
    """The path of the article that an AMP page shows, as far as its form is beyond doubt."""
    path = re.sub(r"\.amp(?=\.s?html?$)", "", path)
    folder, _, last = path.rpartition("/")
    if last == "amp" and _is_article_path(folder):
        return folder
    return re.sub(r"^/amp(?=/(?:19|20)[0-9]{2}/)", "", path)


def _weixin_article_parameters(parameters: list[str]) -> list[str]:
    """What names the article in the parameters of a link to it, if they name one."""
    kept = [pair for pair in parameters if pair.partition("=")[0] in _WEIXIN_PARAMETERS]
    return kept if {pair.partition("=")[0] for pair in kept} >= {"__biz", "mid"} else parameters


def _decode_punycode(host: str) -> str:
    """A host with the letters that its Punycode stands for."""
    return ".".join(unicodedata.normalize("NFC", _decode_label(label)) for label in host.split("."))


def _decode_label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        letters = label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
    same = letters == letters.lower() and letters.encode("punycode").decode() == label[4:]
    fit = all(char == "-" or unicodedata.category(char)[0] in "LMN" for char in letters)
    return letters if same and fit and not letters.isascii() else label


def strip_www(host: str) -> str:
    """A host without `www.`, unless that leaves no more than a top-level domain, as of www.com."""
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def _normalise_escapes(text: str, unescaped: frozenset[str]) -> str:
    """Percent-encoding in its one normal form, undone for the characters in `plain`."""

    def normal(match: re.Match[str]) -> str:
        char = chr(int(match[0][1:], 16))
        return char if char in unescaped else match[0].upper()

    text = re.sub(r"[^\x00-\x7f]+", lambda match: quote(match[0]), text)
    return _PERCENT_ESCAPE_PATTERN.sub(normal, text)
