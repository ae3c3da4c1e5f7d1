"""Detection of web addresses in a report, and of addresses that cannot be opened.

Only the address itself is checked. Nothing is fetched, so a missing page is not noticed.
"""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

from research.core.urls import TRACKING_NAMES, TRACKING_PREFIXES, canonical_url, trim_punctuation, url_identity

AddressProblem = Literal["placeholder", "bad-address", "tracking"]

# Schemes that no reader can follow to a source: local files, scripts, and FTP, which browsers have
# dropped.
_UNSUPPORTED_SCHEMES = r"ftp|file(?=:/)|javascript|vbscript|data|blob|about|chrome"
_MISSPELLED_SCHEME = r"(?!https?:)(?:h+|(?=t))[tx]{1,3}p{1,2}s{0,2}"
ADDRESS = re.compile(
    rf"(?:https?|{_UNSUPPORTED_SCHEMES}|htt?ps?|hxxps?|htps?):(?://\[[\da-f:.]{{2,45}}\])?"
    r"[^\s<>\"“”‘’`|（）【】［］「」『』《》，。；！？、\[\]]{2,2000}"
    r"|(?<![\w@/.-])www\.[^\s<>\"“”‘’`|（）【】［］「」『』《》，。；：！？、\[\]]{3,2000}",
    re.IGNORECASE,
)
# An id from this program's prompts that a model used as an address.
PROMPT_ID = re.compile(r"(?:https?://vertexaisearch\.cloud\.google\.com/)?id/\d{1,3}-\d{1,3}")

_UNOPENABLE = re.compile(rf"(?:{_UNSUPPORTED_SCHEMES}):|{_MISSPELLED_SCHEME}[:/;]", re.IGNORECASE)
_PLACEHOLDER_WORD = (
    r"(?:(?:your|the|some|actual|insert|add|to|goes|here|missing|needed|url|link|source|address|href|website|site|domain"
    r"|placeholder|todo|tbd|none|null|undefined|n/a)\d{0,3}|\d{1,3}|xx+|\.{3,}|…+"
    r"|(?:此处|插入|填写|链接|网址|来源|原文|待补充?)+\d{0,3})"
)
# Words in place of an address: (link), (INSERT_URL_HERE), https://[source url]/, https://…
_PLACEHOLDER_ADDRESS = re.compile(
    rf"(?!\d)[\[<{{]?{_PLACEHOLDER_WORD}(?:[-_ ]+{_PLACEHOLDER_WORD})*[\]>}}]?", re.IGNORECASE
)
_PLACEHOLDER_HOST = re.compile(
    rf"(?:www\.)?(?=[^.]*(?:insert|your|here|goes|placeholder|todo|tbd)){_PLACEHOLDER_WORD}(?:-{_PLACEHOLDER_WORD})+\.(?:com?|net|org|cn)",
    re.IGNORECASE,
)
# Hosts that cannot exist: names reserved by RFC 2606 and RFC 6761, and similar placeholders.
_RESERVED_HOST = re.compile(
    r"(?:.+\.)?(?:example(?:\.(?:com?|net|org|ac|gov|edu))?\.[a-z]{2,6}|example|test|invalid|localhost)"
    r"|(?:www\.)?(?:(?:your|some)-?(?:site|domain|url|website|link|company)|xxx+)\.(?:com|net|org|cn)(?:\.[a-z]{2})?"
)
# Unfilled templates: {{slug}}, {article_id}, ${host}, <id>; {8A1F-…} is an id.
_TEMPLATE = re.compile(
    r"(?:\{|%7B){2}|(?:\{|%7B|<)(?![\da-f-]{8,}(?:\}|%7D))[a-z][a-z_ -]{0,40}\d{0,2}(?:\}|%7D|>)",
    re.IGNORECASE,
)
_WEB_ADDRESS = re.compile(r"(?:https?:(?://)?|(?=www\.))([^/?#]*)", re.IGNORECASE)
_SITE_RELATIVE_PREFIXES = ("#", "/", "./", "../", "^")
# An address that was cut short ends in dots, or has only dots between two slashes. Dots within a
# name are valid: 2019ApJ...887...53F.
_TRUNCATED = re.compile(r"(?:/|^)(?:\.{3,}|…+)(?:/|$)|(?:\.{3,}|…)$")
_REDIRECTOR = re.compile(
    r"https?://(?:www\.)?(?:google\.[a-z.]{2,6}/url\?|vertexaisearch\.cloud\.google\.com/grounding-api-redirect|l\.facebook\.com/l\.php|lm\.facebook\.com/l\.php"
    r"|t\.co/|lnkd\.in/|bit\.ly/|tinyurl\.com/|goo\.gl/|ow\.ly/|t\.cn/|url\.cn/|dwz\.cn/|link\.zhihu\.com|duckduckgo\.com/l/|bing\.com/ck/|r\.search\.yahoo\.com|baidu\.com/link|out\.reddit\.com"
    r"|news\.google\.com/(?:rss/)?articles|r\.jina\.ai/|href\.li|youtube\.com/redirect|link\.springer\.com/redirect|sogou\.com/link|so\.com/link|mp\.weixin\.qq\.com/mp/redirect)",
    re.IGNORECASE,
)


def trim_address(address: str) -> str:
    """Remove the punctuation of the sentence from the end of an address; the dots of /... stay."""
    bare = trim_punctuation(address, ".,;:!?'*_~|")
    is_truncated = bare.endswith("/") and address.startswith(("..", "…"), len(bare))
    return address if bare.endswith("//") or is_truncated else bare


def address_key(url: str) -> str:
    """Return a key that is equal for addresses of one source; "" if the address is unusable."""
    return url_identity(_with_scheme(url))


def find_address_problem(url: str) -> AddressProblem | None:
    """Return the problem of an address: a placeholder, unusable, or a detour for tracking; else None.

    Relative addresses (/a, #b, page.html) and schemes that need a local program (doi:, zotero:) are
    accepted.
    """
    if not url:
        return "bad-address"
    if url.startswith(_SITE_RELATIVE_PREFIXES):
        return None
    web = _WEB_ADDRESS.match(url)
    if PROMPT_ID.fullmatch(url) or _PLACEHOLDER_ADDRESS.fullmatch(web[1] if web else url):
        return "placeholder"
    if web and _TEMPLATE.search(url):
        return "placeholder"
    if _UNOPENABLE.match(url):
        return "bad-address"
    return _find_web_problem(_with_scheme(url)) if web else None


def _with_scheme(url: str) -> str:
    return f"https://{url}" if url.lower().startswith("www.") else url


def _find_web_problem(url: str) -> AddressProblem | None:
    canonical = canonical_url(url)
    host = urlsplit(canonical).hostname or "" if canonical else ""
    path, _, query = url.partition("#")[0].partition("?")
    if not canonical or ("." not in host and ":" not in host):
        return "bad-address"
    if re.search(r"\s", path) or _TRUNCATED.search(path.partition("://")[2]) or _TRUNCATED.search(query):
        return "bad-address"
    if _RESERVED_HOST.fullmatch(host) or _PLACEHOLDER_HOST.fullmatch(host):
        return "placeholder"
    return "tracking" if _REDIRECTOR.match(url) or _has_tracking(url) else None


def _has_tracking(url: str) -> bool:
    names = (pair.partition("=")[0].lower() for pair in url.partition("?")[2].split("#")[0].split("&"))
    return any(name in TRACKING_NAMES or name.startswith(TRACKING_PREFIXES) for name in names)
