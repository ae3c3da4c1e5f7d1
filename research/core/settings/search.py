"""Settings of the searches: who searches the web, news and papers, with which keys and limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, NamedTuple
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_settings import BaseSettings

from research import data
from research.core.bilingual import Text
from research.core.domains import merge_domain_lists
from research.core.providers import search_services
from research.core.settings.declaration import (
    NO_KEY,
    SECTION_CONFIG,
    Address,
    FormField,
    Key,
    ValueKind,
    Variable,
    mask_credentials,
    split_addresses,
)
from research.core.settings.models import ROLES, Role

WEB_PROVIDERS = ("gemini", "tavily", *search_services(), "searxng", "wikipedia", "deep-research")
THINKING_LEVELS = ("low", "medium", "high")  # those that every current Gemini model supports


class Outlet(NamedTuple):
    """A news outlet whose feed can be selected."""

    name: str
    language: str
    title: str
    url: str


OUTLETS = {row[0]: Outlet(*row) for row in data.rows("outlet_feeds.tsv")}


def _parse_web_search(value: str) -> str:
    """Normalise a comma-separated list of search providers, or "auto" or "off"."""
    value = value.lower()
    names = [name.strip() for name in value.split(",") if name.strip()]
    if names not in (["auto"], ["off"]) and (not names or not set(names) <= set(WEB_PROVIDERS)):
        unknown = next((name for name in names if name not in WEB_PROVIDERS), value)
        raise ValueError(
            f"is {value!r}: there is no {unknown!r}. Name one or several of {', '.join(WEB_PROVIDERS)}, or auto, or off."
        )
    return ",".join(names)


def _parse_outlets(value: str) -> str:
    """Normalise a list of outlets, separated by commas or white space, to one with commas."""
    names = [name for name in re.split(r"[\s,]+", value.lower()) if name]
    if unknown := next((name for name in names if name not in OUTLETS), ""):
        raise ValueError(f"has {unknown!r}; there are {', '.join(OUTLETS)}. Correct it or remove it.")
    return ",".join(dict.fromkeys(names))


def _check_domains(value: str) -> str:
    """Check a domain list and return it unchanged."""
    try:
        merge_domain_lists([value])
    except ValueError as error:
        raise ValueError(f"has {error}. Correct it or remove it.") from None
    return value


def _parse_thinking_levels(value: str) -> str:
    """Normalise thinking levels: one for all roles, or a comma-separated list of role=level."""
    levels = []
    for part in filter(None, (part.strip() for part in value.split(","))):
        role, sign, level = (text.strip().lower() for text in part.rpartition("="))
        if level not in THINKING_LEVELS or (sign and role not in ROLES):
            raise ValueError(
                f"is {value!r}; it must be {', '.join(THINKING_LEVELS)}, or levels of roles ({', '.join(ROLES)}) such "
                "as plan=low, write=high. Correct it or remove it to leave that to the models."
            )
        levels.append(f"{role}={level}" if role else level)
    return ", ".join(levels)


def _check_wikipedia_url(value: str) -> str:
    """Check that a URL has the place for the language, and return it unchanged."""
    if "{language}" not in value:
        raise ValueError(
            f"is {value!r}; it must have {{language}} where zh or en belongs, as in "
            "https://{language}.wikipedia.org. Correct it or remove it."
        )
    return value


def _parse_feeds(value: str) -> str:
    """Normalise a list of URLs of feeds, or the path of a list of feeds, separated by white space."""
    parts = split_addresses(value)
    for part in parts:
        try:
            address = urlsplit(part)
            is_usable = address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
        except ValueError:  # half of an IPv6 address, or no port
            is_usable = False
        if "://" in part and not is_usable:
            raise ValueError(
                f"has {mask_credentials(part)!r}; it must be addresses such as https://example.org/feed.xml, with "
                "spaces between them, or the path of an OPML file. Correct it or remove it."
            )
    return " ".join(parts)


def _check_contact(value: str) -> str:
    """Check an e-mail address and return it unchanged; "" stays."""
    if value and not re.fullmatch(r"[^\s@<>]+@[^\s@<>]+", value):
        raise ValueError(
            f"is {value!r}; it must be an address of mail such as me@example.org. Correct it or remove it."
        )
    return value


class SearchSettings(BaseSettings):
    """Searches of the web, news and papers."""

    model_config = SECTION_CONFIG
    section_title: ClassVar = "Search"
    section_note: ClassVar = ""

    web_search: Annotated[
        str,
        AfterValidator(_parse_web_search),
        ValueKind("providers"),
        Variable(
            "WEB_SEARCH",
            "Who searches the web: one, or several in order of preference. `deep-research` is only asked "
            "where it is named. `auto` is whichever of the first three is configured.",
            values_text="`gemini`, `tavily`, `searxng`, `wikipedia`, `deep-research`, `auto`, `off`",
            form=FormField("search", Text("Who searches the web", "由谁搜索网络")),
        ),
    ] = "auto"
    open_sources: Annotated[
        bool,
        Variable(
            "SIGHTLINE_OPEN_SOURCES",
            "`on`: services that need no key may be searched: Wikipedia (also in `auto`), Wikidata, GDELT, "
            "and OpenAlex, Crossref, arXiv and PubMed for scholarly papers, and OpenStreetMap for "
            "[places](places.md#which-map-answers). They are sent the words of queries.",
            form=FormField(
                "open",
                Text("Search open sources that need no key", "搜索无需密钥的开放来源"),
                help=Text(
                    "Your queries, and nothing else of yours, go to Wikipedia (wikipedia.org), Wikidata "
                    "(wikidata.org), GDELT (gdeltproject.org), for places OpenStreetMap (nominatim.openstreetmap.org "
                    "and overpass-api.de, which also learns the centre of each search) and, for scholarly papers, "
                    "OpenAlex (openalex.org), Crossref (crossref.org), arXiv (arxiv.org) and PubMed (nih.gov); the "
                    "server adds its email address if SIGHTLINE_CONTACT is set. Off unless you turn it on.",
                    "查询词会发往维基百科（wikipedia.org）、维基数据（wikidata.org）、GDELT（gdeltproject.org）、"
                    "用于查找地点的 OpenStreetMap（nominatim.openstreetmap.org 和 overpass-api.de，"
                    "后者还会收到搜索的中心点），以及用于查找学术论文的 OpenAlex（openalex.org）、Crossref（crossref.org）、"
                    "arXiv（arxiv.org）和 PubMed（nih.gov），不发送您的其他内容；服务器设置了 SIGHTLINE_CONTACT 时会附上该邮箱。"
                    "除非您打开，否则一律不用。",
                ),
            ),
        ),
    ] = False
    outlets: Annotated[
        str,
        AfterValidator(_parse_outlets),
        ValueKind("outlets"),
        Variable(
            "SIGHTLINE_OUTLETS",
            "Outlets whose feeds are read for news, of a dozen to pick from: `bbc`, `guardian`, `dw`, "
            "`aljazeera`, `npr`, `un`, and in Chinese `bbc-zh`, `chinanews`, `dw-zh`, `rfi-zh`, `un-zh`, "
            "`36kr`. None is on by default; an outlet may move its feed at any time.",
            values_text="names",
            form=FormField(
                "open",
                Text("News outlets whose feeds are read", "要读取订阅源的新闻媒体"),
                help=Text(
                    "Feeds are fetched whole: an outlet can tell that its feed is read, but sees none of your "
                    "questions.",
                    "直接读取订阅源：媒体只会看到有人来读，看不到您的问题。",
                ),
            ),
        ),
    ] = ""
    domains: Annotated[
        str,
        AfterValidator(_check_domains),
        ValueKind("domains"),
        Variable(
            "SIGHTLINE_DOMAINS",
            "Sites to `prefer`, `avoid` or `warn` of, such as `prefer gov.cn; avoid content-farm.example`. A "
            "file `domains.txt` in the data folder, one entry a line with comments after `#`, holds for "
            "everyone. What is to be avoided is left out before anything of it is read; the rest is marked in "
            "the table of sources and in reports. Where Gemini has already written from a site to avoid, it "
            "stays and is marked.",
            values_text="list",
            form=FormField(
                "search",
                Text("Sites to prefer, avoid or be warned about", "优先、回避或需谨慎的网站"),
                help=Text(
                    "One per line: prefer, avoid or warn, then a domain. Results from a site to avoid are left out "
                    "before they are read; the others are marked in the table of sources.",
                    "每行一条：prefer（优先）、avoid（回避）或 warn（谨慎），后接域名。要回避的网站的结果在读取之前就略去，其余在来源表中标出。",
                ),
            ),
        ),
    ] = ""
    gemini_thinking: Annotated[
        str,
        AfterValidator(_parse_thinking_levels),
        Variable(
            "GEMINI_THINKING",
            "How much Gemini models think: one level for all roles, or levels of roles (`plan`, `reflect`, "
            "`write`, `search`) such as `plan=low, write=high`. Unset leaves it to the model, and so does a "
            "model that refuses levels, which is said once.",
            values_text="`low`, `medium`, `high`",
        ),
    ] = ""
    gemini_url_context: Annotated[
        bool,
        Variable("GEMINI_URL_CONTEXT", "`on`: Gemini's search opens the pages whose addresses you name in a question."),
    ] = True
    deep_research: Annotated[
        str,
        Variable(
            "GEMINI_DEEP_RESEARCH",
            "The agent that `deep-research` in `WEB_SEARCH` asks. Each search is a task of its own, which "
            "takes minutes and costs dollars.",
            values_text="agent",
        ),
    ] = "deep-research-preview-04-2026"
    deep_research_timeout: Annotated[
        float,
        Field(ge=1, le=7_200),
        Variable(
            "GEMINI_DEEP_RESEARCH_TIMEOUT",
            "Time limit for one task of the agent. A run that is resumed waits for the same task.",
            unit="s",
        ),
    ] = 1_800.0
    tavily_key: Annotated[
        Key,
        Variable(
            "TAVILY_API_KEY",
            "The Tavily key.",
            form=FormField(
                "keys",
                Text("Tavily", "Tavily 密钥"),
                help=Text(
                    "Web and news search (TAVILY_API_KEY). Sign up at app.tavily.com; the key is on the home page.",
                    "网络和新闻搜索（TAVILY_API_KEY）。在 app.tavily.com 注册后，首页即有密钥。",
                ),
            ),
        ),
    ] = NO_KEY
    tavily_url: Annotated[
        Address, Variable("TAVILY_BASE_URL", "Another address for its API.", default_text="Tavily's")
    ] = ""
    searxng_url: Annotated[
        Address, Variable("SEARXNG_URL", "Your SearXNG instance; it must allow JSON (`search.formats`).")
    ] = ""
    wikipedia_url: Annotated[
        Address,
        AfterValidator(_check_wikipedia_url),
        Variable("WIKIPEDIA_URL", "Where Wikipedia is queried, in Chinese and English."),
    ] = "https://{language}.wikipedia.org"
    news_feeds: Annotated[
        str,
        AfterValidator(_parse_feeds),
        Field(repr=False),
        ValueKind("addresses"),
        Variable(
            "NEWS_FEEDS",
            "News feeds (RSS, Atom, RDF, JSON Feed): addresses separated by spaces or commas, addresses of "
            "OPML lists, or the path of an OPML file. They may be on your own network; whatever they redirect "
            "to must be public.",
            values_text="addresses, or a path",
        ),
    ] = ""
    news_gdelt: Annotated[
        bool,
        Variable("NEWS_GDELT", "`on`: also ask the GDELT project for news; titles only, one request every 5 seconds."),
    ] = False
    gdelt_url: Annotated[
        Address, Variable("GDELT_BASE_URL", "Another address for its API.", default_text="GDELT's")
    ] = ""
    contact: Annotated[
        str,
        AfterValidator(_check_contact),
        Field(repr=False),
        Variable(
            "SIGHTLINE_CONTACT",
            "Your address, told to OpenAlex, Crossref and PubMed with each query, as they ask of whoever uses "
            "them much. Unset, none is sent.",
            values_text="address of mail",
        ),
    ] = ""
    wikidata_url: Annotated[
        Address, Variable("WIKIDATA_URL", "Another address for it, such as a mirror's.", default_text="Wikidata's")
    ] = ""
    openalex_key: Annotated[
        Key, Variable("OPENALEX_API_KEY", "A free key of OpenAlex, with which it answers more searches a day.")
    ] = NO_KEY
    openalex_url: Annotated[
        Address, Variable("OPENALEX_URL", "Another address for its API, such as a mirror's.", default_text="OpenAlex's")
    ] = ""
    crossref_url: Annotated[
        Address, Variable("CROSSREF_URL", "Another address for its API.", default_text="Crossref's")
    ] = ""
    arxiv_url: Annotated[Address, Variable("ARXIV_URL", "Another address for its API.", default_text="arXiv's")] = ""
    pubmed_url: Annotated[
        Address, Variable("PUBMED_URL", "Another address for its E-utilities.", default_text="NCBI's")
    ] = ""
    nominatim_url: Annotated[
        Address,
        Variable(
            "NOMINATIM_URL",
            "Where names of places are looked up with the open sources on; your own Nominatim, for instance.",
            default_text="OpenStreetMap's",
        ),
    ] = ""
    overpass_url: Annotated[
        Address,
        Variable(
            "OVERPASS_URL",
            "Where places around a point are searched with the open sources on.",
            default_text="overpass-api.de's",
        ),
    ] = ""
    results_per_search: Annotated[
        int,
        Field(ge=1, le=20),
        Variable("SIGHTLINE_RESULTS_PER_SEARCH", "Results taken from a search that returns a list."),
    ] = 8
    pages_per_search: Annotated[
        int, Field(ge=0, le=10), Variable("SIGHTLINE_PAGES_PER_SEARCH", "How many of those pages are fetched and read.")
    ] = 0
    report_result_chars: Annotated[
        int,
        Field(ge=0, le=1_000_000),
        Variable(
            "SEARCH_CONTENT_MAX_LENGTH",
            "Characters of each search result shown to the models of a report, cut at the end of a sentence "
            "or word; 0 shows all that is kept (4,000 of an article). What is stored and cited stays whole.",
        ),
    ] = 1_500
    passages_per_search: Annotated[
        int, Field(ge=1, le=50), Variable("SIGHTLINE_PASSAGES_PER_SEARCH", "Passages returned by a library search.")
    ] = 8
    original_megabytes: Annotated[
        int,
        Field(ge=0, le=50),
        Variable(
            "SIGHTLINE_ORIGINAL_MB",
            "Size up to which the library keeps an added PDF or picture, so that a cited page can be shown as it "
            "looks; 0 keeps none.",
            unit="MB",
        ),
    ] = 50
    search_timeout: Annotated[
        float, Field(ge=0.05, le=600), Variable("SIGHTLINE_SEARCH_TIMEOUT", "Time limit for one search.", unit="s")
    ] = 60.0
    search_delay: Annotated[
        float,
        Field(ge=0, le=60),
        Variable("SIGHTLINE_SEARCH_DELAY", "Pause before each search, to go easy on a shared server.", unit="s"),
    ] = 0.0
    cache_hours: Annotated[
        float,
        Field(ge=0, le=720),
        Variable(
            "SIGHTLINE_CACHE_HOURS",
            "Hours during which the same query to the same web search is answered from your own earlier runs, "
            "marked with its time; 0 is never. Results grounded by Google's search are never kept for this, "
            "because its terms forbid it.",
        ),
    ] = 1.0

    @property
    def web_providers(self) -> tuple[str, ...]:
        """Providers of web search in order of preference. `auto` excludes agents, and Wikipedia
        unless the open sources are on."""
        names = [name.strip() for name in self.web_search.split(",") if name.strip()]
        if names == ["off"]:
            return ()
        if names == ["auto"]:
            left_out = {"deep-research"} if self.open_sources else {"deep-research", "wikipedia"}
            return tuple(name for name in WEB_PROVIDERS if name not in left_out)
        return tuple(dict.fromkeys(names))

    @property
    def known_outlets(self) -> Mapping[str, Outlet]:
        """The selectable outlets by name."""
        return OUTLETS

    @property
    def feed_addresses(self) -> tuple[str, ...]:
        """Sources of news: URLs of feeds or feed lists, or the path of a list."""
        picked = [OUTLETS[name].url for name in self.outlets.split(",") if name]
        return tuple(dict.fromkeys([*split_addresses(self.news_feeds), *picked]))

    def thinking_level(self, role: Role) -> str:
        """Return the thinking level of a Gemini model in a role; "" leaves it to the model."""
        parts = (part.rpartition("=") for part in self.gemini_thinking.split(", "))
        levels = {name: level for name, _, level in parts}
        return levels.get(role, levels.get("", ""))
