"""From whatever a model writes about whatever was found: one list of sources, in every form of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml.html import document_fromstring
from markdown_it import MarkdownIt
from markdown_it.token import Token

from research.citations.answer_tree import build_answer_tree
from research.citations.markdown_parser import Node
from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import CitedAnswer, check_numbering, number_citations
from research.citations.registry import cites_by_address, collect_evidence, evidence_id
from research.core.records import (
    Answer,
    Evidence,
    EvidenceKind,
    Finding,
    Passage,
    PassageReference,
    Place,
    Report,
    Run,
    RunOptions,
    Span,
    Task,
)
from research.core.urls import canonical_url, url_identity
from research.export.html import report_html
from research.export.markdown import answer_markdown, report_markdown
from research.export.report_json import report_json
from tests.tables import each_row

NOW = datetime(2025, 3, 1, 8, 5, tzinfo=UTC)
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")

# --- What was found

PAGE = "https://www.example.org/news/the-tower-opens-{n}-times-again"
WRITTEN = [
    PAGE,
    PAGE.replace("https", "http"),
    PAGE.replace("www.", "m."),
    PAGE.replace("www.", "amp."),
    PAGE + "/amp/",
    PAGE + "?utm_source=x&mkt_tok=1#part",
    "https://www.google.com/url?q=" + quote(PAGE, safe="").replace("%7Bn%7D", "{n}") + "&sa=U",
    "https://cdn.ampproject.org/c/s/" + PAGE.removeprefix("https://"),
]
REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/A{n}"
ADDRESSES = [*WRITTEN, REDIRECT, "javascript:alert({n})", ""]
TEXTS = ["The tower opened in 1925.", "开放于 1925 年。", "rows: 3"]
TITLES = ["Tower", "", "![x](https://evil.example/)", "\u202eTower", "| a | *b* <b>"]
KINDS: list[EvidenceKind] = ["web", "news", "place", "library", "database"]


@st.composite
def pieces(draw: st.DrawFn) -> Evidence:
    """A page in one of its spellings, a place, a document or the rows of a database."""
    n, kind = draw(st.integers(1, 4)), draw(st.sampled_from(KINDS))
    url = draw(st.sampled_from(ADDRESSES)) if kind in ("web", "news", "place") else ""
    url = url.replace("{n}", str(n))
    locator = "" if kind in ("web", "news") else f"{kind}-{n}"
    passages = draw(st.lists(st.sampled_from(range(len(TEXTS))), min_size=1, max_size=3))
    place = Place(id=f"{n}", name="Tower", lng=116.4, lat=39.9, provider="amap")
    return Evidence(
        id=draw(st.sampled_from([evidence_id(kind, url, locator or url), f"{kind}-{n}-{url}"])),
        kind=kind,
        title=draw(st.sampled_from(TITLES)),
        url=url,
        locator=locator,
        retrieved=NOW,
        url_expires=url.startswith(REDIRECT[:30]),
        passages=tuple(
            Passage(id=f"{n}-{at}", text=TEXTS[at], end=len(TEXTS[at]), heading=f"row {at + 1}") for at in passages
        ),
        place=place if kind == "place" else None,
    )


FOUND = st.lists(st.lists(pieces(), max_size=3), min_size=1, max_size=4)

# --- What a model writes about it. {h} is a handle that it was given, {u} an address that was found.

SAID = [
    "[@{h}]", "[@{h}]", "[@{h}]。", " [@{h}, @{h}]", "(@{h})", "（@{h}）", "@{h}", "[[@{h}]]", "[@{h}]({u})",
    "**[@{h}]**", "[^@{h}]", "`[@{h}]`", "![[@{h}]](x)", "【@{h}】", "[@{h}]: {u}", "\n- a [@{h}]", "[*@{h}*]",
    "\n| a | b |\n|---|---|\n| c | d [@{h}] |\n", "\n| e | f | g [@{h}] |", "\n| h [@{h}] |", " |[@{h}]\n",
    "\n```\ncode [@{h}]\n```\n", "\n```x [@{h}]\ny\n```\n", "[a]({u} '[@{h}]')", "[a [@{h}] b]({u})", "{u}", "<{u}>",
    "[a]({u})", "[1]({u})", "![a]({u})",
    "[@x]", "[1]", "[^1]", "【3†source】", "[@beefbeef]", "[2, 3]", "id/0-1", "[*1*]", "[**1]**", "[", "]", "](", "[@",
    "(@", "【", "&#91;1&#93;", "&lbrack;1&rbrack;", "\\[1\\]", "[\u200b1]", "[1\u200f]", "\u202e", "\u2066", "&#x202e;",
    "https://evil.example/x", "[x](https://evil.example/)", "[1]: https://evil.example/", "<b>", "<!--", "<br>",
    "The tower opened", " in 1925", "故宫", "。", ". ", ": ", "(", "!", "\n", "\n\n", "\n# h", "\n> q", "\n1. i",
    "\n   ", "\n- ", "`", "```", "\n```\n", "**", "*", "_", "~~", "|", "\n|", "\n---\n", "$", "\\", "\u200f", "\0",
    "$x^2$", "\\(a_1", "\\)", "\\[", "\\]", "$$", "\n$$\n", "x_1 = ",
]  # fmt: skip
MODEL = st.lists(st.sampled_from(SAID) | st.text(max_size=2), max_size=12)


@st.composite
def reports(draw: st.DrawFn) -> tuple[Report, CitedAnswer]:
    """Findings, and an answer that a model wrote with the handles and the addresses of these."""
    findings = tuple(
        Finding(task=Task(id=str(at), source="web", query="q"), evidence=tuple(items), started=NOW)
        for at, items in enumerate(draw(FOUND))
    )
    return answered(findings, draw(MODEL), draw(st.lists(st.integers(0, 99), max_size=30)))


def answered(findings: tuple[Finding, ...], said: list[str], picks: list[int]) -> tuple[Report, CitedAnswer]:
    registry = collect_evidence(findings)
    known = [(item, passage) for item in registry for passage in item.passages]
    handles = {
        f"{at:04x}": PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
        for at, (item, passage) in enumerate(known, 0xA0B0)
    }
    urls = [item.url for finding in findings for item in finding.evidence if item.url] or ["x"]
    turn = iter([*picks, *[0] * 99])
    words = "".join(
        re.sub(r"\{(.)\}", lambda found: _named(found[1], [*handles], urls, next(turn)), piece) for piece in said
    )
    spans = [*parse_model_markdown(words, handles, cites_by_address(registry))]
    for pick in picks[:2]:  # quotes, as a digest has them
        item, passage = known[pick % len(known)] if known else (None, None)
        if item and passage:
            cites = (PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text)),)
            spans.insert(pick % 2 * len(spans), Span(kind="quote", text=passage.text, references=cites))
    run = Run(id="r" * 8, conversation="c", owner="o", question="When?", options=RunOptions(), status="done", created=NOW)  # fmt: skip
    answer = Answer(title="", language="en", author="Scripted", spans=tuple(spans), created=NOW)
    return Report(run=run, findings=findings, answer=answer), number_citations(answer, registry)


def _named(kind: str, handles: list[str], urls: list[str], pick: int) -> str:
    names = handles if kind == "h" else urls
    return names[pick % len(names)] if names else "0000"


# --- How it is read again


def uses(cited: CitedAnswer) -> list[int]:
    return [n for item in cited.spans for n in item.numbers]


def inner(markdown: str) -> Iterator[Token]:
    for token in READER.parse(markdown):
        yield from token.children or [token]


def marks(markdown: str) -> list[int]:
    """The citations that a reader sees, one after another; those within code are none."""
    words = "".join(
        token.content if token.type == "text" else "\n" * (token.type in ("softbreak", "fence"))
        for token in inner(markdown)
    )
    return [int(n) for n in re.findall(r"\[\s*(\d+)\s*\]", BIDI.sub("?", words))]


def parted(markdown: str) -> dict[str, str]:
    parts = re.split(r"^## (.*)$", markdown, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def cites_of(nodes: Iterable[Node]) -> Iterator[int]:
    for node in nodes:
        if isinstance(node, dict):
            yield from [node["span"]] if node["t"] == "cite" else cites_of(node.get("c", ()))


def drawn(cited: CitedAnswer) -> list[int]:
    """The citations in the order in which the page draws them."""
    out: list[int] = []
    run: list[Any] = []
    for item in [*cited.spans, None]:
        if item and item.span.kind == "text":
            run.append(item)
            continue
        out += [n for at in cites_of(build_answer_tree(run)) for n in run[at].numbers]
        run = []
        out += item.numbers if item else ()
    return out


@pytest.mark.slow
@given(reports())
@settings(max_examples=400, deadline=None)
def test_every_form_of_an_answer_has_one_list_of_sources(made: tuple[Report, CitedAnswer]) -> None:
    sound(*made)


FOUND_ONCE = (
    Finding(
        task=Task(id="1", source="web", query="q"),
        evidence=tuple(
            Evidence(
                id=f"e{n}",
                kind="web",
                title="Tower",
                url=PAGE.replace("{n}", str(n)),
                retrieved=NOW,
                passages=(Passage(id=f"p{n}", text=TEXTS[0], end=len(TEXTS[0])),),
            )
            for n in (1, 2, 3)
        ),
        started=NOW,
    ),
)


@each_row(
    "said",
    [
        ["```", "[a [@{h}] b]({u})", "\n| e | f | g [@{h}] |"],
        ["| a | b |\n|---|---|\n| c | d | e [@{h}] |\n| f [@{h}] |"],
        ["[@", "\\", "[a]({u} '[@{h}]')", "(@{h})"],
        ["\n# h", "`", "[*1*]", " |[@{h}]\n", "`"],
        ["\\[**1**] [@{h}]"],
    ],
)
def test_what_markdown_does_not_show_of_an_answer_keeps_its_citations_in_order(
    said: list[str],
) -> None:
    for picks in ([], [1, 2, 0, 1, 2, 0], [2, 1, 1, 0, 2]):
        sound(*answered(FOUND_ONCE, said, picks))


def sound(report: Report, cited: CitedAnswer) -> None:
    """The numbers are 1 to n in the order of reading, each is one source, and all forms agree."""
    assert check_numbering(cited) == []
    used, listed = uses(cited), [source.number for source in cited.sources]
    assert list(dict.fromkeys(used)) == listed == list(range(1, len(listed) + 1))
    owners = [url_identity(s.evidence.url) or s.evidence.id for s in cited.sources]
    assert len(set(owners)) == len(owners)
    found = {url_identity(i.url) for finding in report.findings for i in finding.evidence}
    assert {url_identity(s.evidence.url) for s in cited.sources} <= found | {""}

    assert drawn(cited) == used
    assert marks(answer_markdown(cited)) == used
    markdown = report_markdown(report, cited)
    parts = parted(markdown)
    quoted = sum(len(item.numbers) for item in cited.spans if item.span.kind == "quote")
    assert quoted or marks(parts["Answer"]) == used
    numbered = [int(n) for n in re.findall(r"^(\d+)\. ", parts["Sources"], flags=re.M)]
    assert numbered == listed
    links = {str(t.attrs["href"]) for t in inner(markdown) if t.type == "link_open"}
    known = {canonical_url(i.url) for finding in report.findings for i in finding.evidence}
    assert {url_identity(link) for link in links} <= {url_identity(url) for url in known if url}
    assert not BIDI.search(markdown)
    assert not {"image", "html_inline", "html_block"} & {token.type for token in inner(markdown)}

    page = document_fromstring(report_html(report, cited))
    (answer,) = (h for h in page.iter("h2") if h.text_content() == "Answer")
    (sources,) = (h for h in page.iter("h2") if h.text_content() == "Sources")
    order = {node: at for at, node in enumerate(page.iter())}
    ways = [a for sup in page.iter("sup") for a in sup if order[answer] < order[a] < order[sources]]
    assert [a.get("href") for a in ways] == [f"#source-{n}" for n in used]
    places = [li.get("id") for li in page.iter("li") if (li.get("id") or "").startswith("source-")]
    assert places == [f"source-{n}" for n in listed]
    out = {a.get("href") for a in page.iter("a")} - {None}
    away = {url_identity(href) for href in out if not href.startswith("#")}
    assert away <= {url_identity(url) for url in known if url}

    data = json.loads(report_json(report, cited))
    told = [dict.fromkeys(c["number"] for c in item["citations"]) for item in data["blocks"]]
    assert [n for numbers in told for n in numbers] == used
    assert data["answer"] == answer_markdown(cited)
    assert [source["number"] for source in data["sources"]] == listed
    assert [source["id"] for source in data["sources"]] == [s.evidence.id for s in cited.sources]
