"""Normalisation and comparison of URLs. Sends no request and follows no redirect."""

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

# Parameters that record a click's origin or control the layout, never the content.
TRACKING_PREFIXES = ("utm_", "hsa_", "mtm_", "matomo_", "piwik_", "bsft_")
TRACKING_NAMES = frozenset(data.words("addresses")["tracking"].split("|"))
# These names may also affect the content, so only the pair is dropped.
TRACKING_PAIRS = re.compile(data.words("addresses")["tracking pairs"])
_DESTINATION_PARAMETER = "to"  # with it, an origin parameter is content: ?fr=USD&to=CNY

# Pages that only redirect to the URL in one of their parameters.
_GOOGLE_HOST_PATTERN = re.compile(r"(?:[a-z]+\.)?google\.(?:[a-z]{2,3}|com?\.[a-z]{2})")
_WRAPPER_PARAMETERS = {page: tuple(names.split("|")) for page, names in data.rows("wrappers.tsv")}
_MAX_HOPS = 5  # nested wrappers; a URL with more is left unchanged
_AMP_CACHE_PATH_PATTERN = re.compile(r"/(?:c|v|wp/s|wp)/(?P<safe>s/)?(?P<rest>[^/]+\.[^/]+(?:/.*)?)")
_AMP_VIEWER_PATH_PATTERN = re.compile(r"/amp/(?P<safe>s/)?(?P<rest>[^/]+\.[^/]+(?:/.*)?)")

# Hosts of mobile pages. Other prefixes (mobile., touch.) also name sections about phones, so for
# these only known hosts count.
_PHONE_PREFIXES = ("m.", "wap.", "3g.")
_PHONE_HOSTS = frozenset(data.words("addresses")["phone hosts"].split("|"))
_WIKI_HOST_PATTERN = re.compile(
    r"(?:(?P<subdomain>(?!m\.)[a-z-]+)\.)?(?:m\.)?(?P<project>(?:wikipedia|wikimedia|wiktionary|wikivoyage"
    r"|wikinews|wikisource|wikibooks|wikiquote|wikiversity|wikidata)\.org)"
)
# Parameters that change the display of an article, never the article.
_WIKI_DISPLAY_PARAMETERS = ("variant", "uselang", "useskin", "useformat", "mobileaction")
# Subdomains of these are separate sites: m.github.io and m.com.cn are no mobile versions.
_SHARED_HOSTS = frozenset(data.words("addresses")["shared hosts"].split("|"))
_SECOND_LEVEL_DOMAINS = frozenset(data.words("addresses")["second level"].split("|"))
_PROVINCE_DOMAINS = frozenset(data.words("addresses")["provinces"].split("|"))
_FILE_OR_NUMBER_PATTERN = re.compile(r"\.(?:s?html?|php|aspx?|jsp)$|[0-9]{5}")
_WEIXIN_PARAMETERS = ("__biz", "mid", "idx", "sn")  # these identify an article
_ARXIV_PATH_PATTERN = re.compile(
    r"/(?:abs|pdf|html|ps)/(?P<id>[0-9]{4}\.[0-9]{4,5}(?:v[0-9]+)?|[a-z.-]+/[0-9]{7}(?:v[0-9]+)?)(?:\.pdf)?",
    re.IGNORECASE,
)
_NCBI_PATH_PATTERN = re.compile(r"/(?:(?P<pubmed>pubmed)(?=/[0-9])|pmc(?=/articles/))(?P<rest>/.+)")  # moved hosts
# A fragment of a file is a position, never a page: report.pdf#page=3, talk.mp4#t=90.
_FILE_PATH_PATTERN = re.compile(rf"\.(?:{data.words('addresses')['files']})$", re.IGNORECASE)
_PDF_WORD_PATTERN = re.compile(r"(?<![a-z])pdf(?![a-z])", re.IGNORECASE)
_PDF_FRAGMENT_PATTERN = re.compile(r"(?:page|nameddest|zoom|view|viewrect|search|toolbar)=")  # RFC 8118

_DEFAULT_PORTS = {"http": 80, "https": 443}
_UNSAFE_CHARS = re.compile(r'[<>"{}|\\^`]')  # illegal by RFC 3986
_DOT_SEGMENT_PATTERN = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)
_PERCENT_ESCAPE_PATTERN = re.compile(r"%[0-9A-Fa-f]{2}")
# A URL in a text: up to a blank, a bracket or Chinese punctuation, or to Chinese right after an
# ASCII letter or digit, as in https://example.org/a讲了什么.
_URL_IN_TEXT_PATTERN = re.compile(
    r"https?://(?:(?<![A-Za-z0-9])[\u3400-\u9fff]+|[^\s<>\"“”‘’`|\\^{}（）【】［］「」『』《》，。；：！？、\[\]\u3400-\u9fff])+",
    re.IGNORECASE,
)
# Characters that mean the same with and without percent-encoding: those unreserved by RFC 3986, and
# those that no server treats as a delimiter in that part of a URL.
_UNRESERVED = frozenset(ascii_letters + digits + "-._~")
_UNESCAPED_IN_PATH = _UNRESERVED | frozenset("!$&'()*,:=@")
_UNESCAPED_IN_QUERY = _UNRESERVED | frozenset("!$'()*,:@/?[]")


def is_http_url(url: str) -> bool:
    """Return whether a text is an http(s) URL with a host and, if it names one, a valid port."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def find_urls(text: str) -> tuple[str, ...]:
    """Return the http and https URLs in a text, in order, without trailing punctuation."""
    return tuple(dict.fromkeys(filter(None, (_trim_url(match[0]) for match in _URL_IN_TEXT_PATTERN.finditer(text)))))


def replace_urls(text: str, replacement: Callable[[str], str] = lambda url: " ") -> str:
    """Replace each URL in a text, by default with a blank."""

    def replace_match(match: re.Match[str]) -> str:
        url = _trim_url(match[0])
        return replacement(url) + match[0][len(url) :] if url else match[0]

    return _URL_IN_TEXT_PATTERN.sub(replace_match, text)


def _trim_url(url: str) -> str:
    """Remove trailing punctuation from a URL; "" for an unusable URL."""
    url = trim_punctuation(url)
    return url if canonical_url(url) else ""


def trim_punctuation(url: str, marks: str = ".,;:!?'*_~") -> str:
    """Remove the marks of a sentence, and an unbalanced closing bracket, from the end of a URL."""
    while url and (url[-1] in marks or (url[-1] == ")" and url.count(")") > url.count("("))):
        url = url[:-1]
    return url


@lru_cache(20_000)
def canonical_url(url: str) -> str:
    """Return a URL in canonical form for display and links; "" unless it is plain http or https.

    Scheme and host are lower-case. The default port, tracking parameters and a fragment that names
    a place within the page (not a page of its own, as #/news/1 does) are removed. A bare host gets
    a slash, and several slashes at the end of the path become one. Credentials, control characters
    and line breaks make a URL unusable. Blanks within it, other illegal characters and invisible
    ones are percent-encoded; surrounding blanks are dropped.

    For a page that only redirects to the URL in it (google.com/url?q=…, an AMP cache), the result
    is that URL, if it is a plain one. A redirect that hides its target stays as it is, and so does
    an archived copy, which is a document of its own.
    """
    outer = current = _normalise_url(url)
    for _ in range(_MAX_HOPS + 1):
        inner = _normalise_url(_wrapped_url(urlsplit(current))) if current else ""
        if not inner:
            return current
        current = inner
    return outer


def is_wrapper_url(url: str) -> bool:
    """Return whether a URL only redirects to another URL that it contains."""
    return canonical_url(url) != _normalise_url(url)


def _normalise_url(url: str) -> str:
    """Return the canonical form of a URL without unwrapping it; "" if it is unusable."""
    if any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for char in url):
        return ""
    url = url.strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # an invalid port or IPv6 address, or a host with a hidden "/"
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
    """Resolve the segments . and .. of a path (RFC 3986, 5.2.4)."""
    resolved: list[str] = []
    segments = [
        re.sub("(?i)%2e", ".", segment) if _DOT_SEGMENT_PATTERN.fullmatch(segment) else segment
        for segment in path.split("/")
    ]
    for segment in segments:
        if segment == "..":
            resolved = resolved[:-1] or [""]
        elif segment != ".":
            resolved.append(segment)
    return "/".join(resolved) + ("/" if segments[-1] in (".", "..") else "")


def _page_fragment(parts: SplitResult) -> str:
    """Return the fragment of a page drawn by a script, stripped until stable; else ""."""
    fragment = parts.fragment.partition(":~:")[0]
    for _ in range(_MAX_HOPS):
        if (stripped := _strip_fragment(parts.path, fragment)) == fragment:
            return stripped
        fragment = stripped
    return ""


def _strip_fragment(page_path: str, fragment: str) -> str:
    """Return the fragment if it names a page drawn by a script, "" if it names a place within one.

    Routes begin with / or ! (#/news/1, #!/a), have a path (#news/1) or parameters (#id=5). A text
    directive (:~:text=, https://wicg.github.io/scroll-to-text-fragment/), an anchor after a route
    and tracking parameters are removed.
    """
    if _FILE_PATH_PATTERN.search(page_path) or (
        _PDF_WORD_PATTERN.search(page_path) and _PDF_FRAGMENT_PATTERN.match(fragment)
    ):
        return ""
    route, _, anchor = fragment.partition("#")
    path, mark, query = route.partition("?")
    is_rooted = unquote(path[:3]).startswith(("/", "!"))
    if not is_rooted and not mark and "=" in path:
        path, query = "", path
    query = "&".join(_content_parameters(query))
    if not mark and "=" not in query:
        query = ""
    has_path = path.strip("/!") if is_rooted else "/" in unquote(path)
    suffix = f"#{anchor}" if re.search("[/=]", anchor) else ""
    if not (has_path or query or suffix):
        return ""
    return path + (mark if query else "") + query + suffix


def _wrapped_url(parts: SplitResult) -> str:
    """Return the URL that a canonical URL redirects to; "" if there is none or it is hidden."""
    host = strip_www(parts.netloc)
    is_google = bool(_GOOGLE_HOST_PATTERN.fullmatch(host))
    if host == "cdn.ampproject.org" or host.endswith((".cdn.ampproject.org", ".bing-amp.com")):
        return _amp_cache_target(_AMP_CACHE_PATH_PATTERN.fullmatch(parts.path), parts.query)
    if is_google and parts.path.startswith("/amp/"):
        return _amp_cache_target(_AMP_VIEWER_PATH_PATTERN.fullmatch(parts.path), parts.query)
    if host.endswith(".safelinks.protection.outlook.com"):
        return _single_parameter(parts.query, ("url",))
    site = "google" if is_google else host
    path = parts.path.rstrip("/").lower() or "/"
    names = _WRAPPER_PARAMETERS.get(site + path) or _WRAPPER_PARAMETERS.get(site + "/*") or ()
    target = _single_parameter(parts.query, names)
    return _decode_bing_target(target) if host == "bing.com" else target


def _amp_cache_target(match: re.Match[str] | None, query: str) -> str:
    """Return the URL of a page in an AMP cache."""
    if not match:
        return ""
    return f"http{'s' if match['safe'] else ''}://{match['rest']}" + (f"?{query}" if query else "")


def _single_parameter(query: str, names: tuple[str, ...]) -> str:
    """Return the decoded value of parameters with these names; "" unless it is unique."""
    pairs = (pair.partition("=") for pair in query.split("&"))
    values = {value for name, _, value in pairs if value and name in names}
    try:
        return unquote(values.pop(), errors="strict") if len(values) == 1 else ""
    except UnicodeDecodeError:
        return ""


def _decode_bing_target(text: str) -> str:
    """Decode a Bing redirect target: "a1" and the URL in unpadded Base64; "" if malformed."""
    try:
        return urlsafe_b64decode(text[2:] + "=" * (-len(text[2:]) % 4)).decode() if text[:2] == "a1" else ""
    except ValueError:
        return ""


def _normalise_host(parts: SplitResult) -> str:
    """Return the host in lower case, IPv6 in brackets; "" with credentials or if it is invalid."""
    if "@" in parts.netloc:
        return ""
    host = (parts.hostname or "").lower()
    if ":" in host:
        return f"[{IPv6Address(host).compressed}]" if _is_ipv6(host) else ""
    host = host.removesuffix(".")
    if "[" in parts.netloc or not all(host.split(".")):
        return ""
    is_valid = all(char in "-._" or unicodedata.category(char)[0] in "LMN" for char in host)
    return host if is_valid else ""


def _is_ipv6(host: str) -> bool:
    try:
        return IPv6Address(host).scope_id is None
    except ValueError:
        return False


def _content_parameters(query: str) -> Iterator[str]:
    """Yield the query parameters unchanged, without those that only track."""
    pairs = [(pair, *map(unquote_plus, pair.lower().partition("="))) for pair in query.split("&")]
    has_destination = any(name == _DESTINATION_PARAMETER for _, name, _, _ in pairs)
    for pair, name, equals, value in pairs:
        is_tracking = name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES)
        if not has_destination:
            is_tracking = is_tracking or bool(TRACKING_PAIRS.fullmatch(name + equals + value))
        if pair and not is_tracking:
            yield pair


def _encode_unsafe(text: str) -> str:
    """Percent-encode characters that RFC 3986 forbids or that are invisible."""
    return encode_invisible(_UNSAFE_CHARS.sub(lambda match: quote(match[0]), text))


def encode_invisible(url: str) -> str:
    """Percent-encode the blanks, joiners and direction marks in a URL."""
    categories = ("Cf", "Zs")
    return "".join(quote(char) if unicodedata.category(char) in categories else char for char in url)


@lru_cache(20_000)
def url_identity(url: str) -> str:
    """Return a key that is equal for URLs of the same source; "" if the URL is unusable.

    It is the canonical URL without scheme, `www.` and final slash, with sorted parameters and
    without needless percent-encoding: /wiki/故宫 and /wiki/%E6%95%85… are one page. The mobile and
    AMP versions of an article count as the article; a Punycode host is decoded. Sites with several
    URLs for one thing have rules: DOIs, arXiv, the wikis of Wikimedia, WeChat articles and YouTube
    videos.
    """
    canonical = canonical_url(url)
    if not canonical:
        return ""
    parts = urlsplit(canonical)
    path = _normalise_escapes(parts.path, _UNESCAPED_IN_PATH).rstrip("/")
    host = _desktop_host(_decode_punycode(parts.netloc), is_article=_is_article_path(path))
    host, path, pairs = _apply_site_rules(host, path, _sorted_parameters(parts.query))
    query, fragment = "&".join(pairs), _normalise_fragment(parts.fragment)
    tail = (f"?{query}" if query else "") + (f"#{fragment}" if fragment else "")
    return host + _remove_amp(path) + tail


def _sorted_parameters(query: str) -> list[str]:
    """Return the query parameters sorted, in normal form; a blank may be %20 or +."""
    pairs = (_normalise_escapes(pair, _UNESCAPED_IN_QUERY).replace("%20", "+") for pair in query.split("&"))
    return sorted(filter(None, pairs))


def _normalise_fragment(fragment: str) -> str:
    """Return a page fragment in normal form."""
    path, mark, query = fragment.partition("?")
    return _normalise_escapes(path, _UNESCAPED_IN_PATH).rstrip("/") + mark + "&".join(_sorted_parameters(query))


# Sites with several URLs for one thing


def _apply_site_rules(host: str, path: str, parameters: list[str]) -> tuple[str, str, list[str]]:
    """Map the URL forms of a known site to one."""
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
    """Return the path of a DOI in lower case; DOIs ignore the case of ASCII letters (ISO 26324)."""
    name = re.sub("(?i)^/(?:doi:)?", "", unquote(path))
    if not name.startswith("10."):
        return path
    lower = "".join(char.lower() if char.isascii() else char for char in name)
    return "/" + quote(lower, safe="/!$&'()*,:=@+;")


def _wiki_article(language: str, path: str, parameters: list[str]) -> tuple[str, list[str]]:
    """Return the path and parameters of a wiki article, independent of the script it is shown in.

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
    """Remove `www.` and mobile prefixes from a host, and for an article also `amp.`."""
    bare = strip_www(host)
    if wiki := _WIKI_HOST_PATTERN.fullmatch(bare):
        return ".".join(filter(None, (wiki["subdomain"], wiki["project"])))
    front, _, rest = bare.partition(".")
    is_mobile = f"{front}." in _PHONE_PREFIXES or bare in _PHONE_HOSTS
    return rest if (is_mobile or (is_article and front == "amp")) and _is_single_site(rest) else bare


def _is_single_site(host: str) -> bool:
    """Return whether a host is one site's; .com.cn, .bj.cn and github.io are shared by many."""
    *_, second, top = ["", *host.split(".")]
    if not second or host in _SHARED_HOSTS or not re.fullmatch("[^0-9:]+", top):
        return False
    is_shared = second in _SECOND_LEVEL_DOMAINS or (top == "cn" and second in _PROVINCE_DOMAINS)
    return not (len(top) == 2 and is_shared) or host.count(".") > 1


def _is_article_path(path: str) -> bool:
    """Return whether a path ends like an article's: with a file, a long number or four words."""
    last = path.rpartition("/")[2]
    return bool(_FILE_OR_NUMBER_PATTERN.search(last)) or last.count("-") >= 3


def _remove_amp(path: str) -> str:
    """Remove AMP markers from an article path where they are unambiguous."""
    path = re.sub(r"\.amp(?=\.s?html?$)", "", path)
    folder, _, last = path.rpartition("/")
    if last == "amp" and _is_article_path(folder):
        return folder
    return re.sub(r"^/amp(?=/(?:19|20)[0-9]{2}/)", "", path)


def _weixin_article_parameters(parameters: list[str]) -> list[str]:
    """Return the parameters that identify a WeChat article; all of them if those are missing."""
    identifying = [pair for pair in parameters if pair.partition("=")[0] in _WEIXIN_PARAMETERS]
    return identifying if {pair.partition("=")[0] for pair in identifying} >= {"__biz", "mid"} else parameters


def _decode_punycode(host: str) -> str:
    """Decode the Punycode labels of a host."""
    return ".".join(unicodedata.normalize("NFC", _decode_label(label)) for label in host.split("."))


def _decode_label(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        letters = label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label
    round_trips = letters == letters.lower() and letters.encode("punycode").decode() == label[4:]
    is_valid = all(char == "-" or unicodedata.category(char)[0] in "LMN" for char in letters)
    return letters if round_trips and is_valid and not letters.isascii() else label


def strip_www(host: str) -> str:
    """Remove `www.` from a host, unless only a top-level domain would remain, as of www.com."""
    bare = host.removeprefix("www.")
    return bare if "." in bare else host


def _normalise_escapes(text: str, unescaped: frozenset[str]) -> str:
    """Normalise percent-encoding, and decode the characters in `unescaped`."""

    def normal(match: re.Match[str]) -> str:
        char = chr(int(match[0][1:], 16))
        return char if char in unescaped else match[0].upper()

    text = re.sub(r"[^\x00-\x7f]+", lambda match: quote(match[0]), text)
    return _PERCENT_ESCAPE_PATTERN.sub(normal, text)
