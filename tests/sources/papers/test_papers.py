"""Scholarly works: what each service says becomes evidence, one work is one source, and what became of
it is told. One contract for all four services."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

import research
from research.application import Application
from research.citations.numbering import number_report_answer
from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Author, Evidence, Finding, Report, Task
from research.core.settings import load_settings
from research.http import client
from research.http.client import ServiceClient
from research.http.rate_limiter import RateLimiter
from research.sources import registry
from research.sources.base import Dependencies, SourceStatus
from research.sources.papers import SOURCE, work
from research.sources.papers.arxiv import RATE_LIMITER as ARXIV_PACE
from research.sources.papers.arxiv import ArXiv
from research.sources.papers.crossref import Crossref
from research.sources.papers.openalex import OpenAlex
from research.sources.papers.provider import PaperProvider
from research.sources.papers.pubmed import RATE_LIMITER as PUBMED_PACE
from research.sources.papers.pubmed import PubMed
from research.sources.papers.retriever import PaperRetriever
from research.sources.papers.work import Work, merge_works
from tests.fakes import until
from tests.servers.papers import (
    DOI,
    TITLE,
    FakePapers,
    article,
    crossref,
    entry,
    feed,
    inverted,
    openalex,
    records,
    related,
    update,
)
from tests.servers.search import nowhere
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
TASK = Task(id="1.1", source="papers", query="How much of the literature is open access?")
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>open \u202eaccess\x00 [1](javascript:x)"
SERVICES: dict[str, Callable[[ServiceClient], PaperProvider]] = {
    "openalex": OpenAlex,
    "crossref": Crossref,
    "arxiv": lambda client: ArXiv(client, RateLimiter(0)),
    "pubmed": lambda client: PubMed(client, RateLimiter(0)),
}


@pytest.fixture
def server() -> Iterator[FakePapers]:
    with FakePapers() as fake:
        yield fake


@pytest.fixture
async def service(server: FakePapers) -> AsyncIterator[Callable[..., PaperProvider]]:
    opened: list[PaperProvider] = []

    def service_(name: str, **more: Any) -> PaperProvider:
        settings = {"base_url": server.address(name), "timeout_seconds": 5.0} | more
        opened.append(SERVICES[name](ServiceClient(**settings)))
        return opened[-1]

    yield service_
    for one in opened:
        await one.close()


@pytest.fixture
def papers(service: Callable[..., PaperProvider]) -> Callable[..., PaperRetriever]:
    def papers_(*names: str, **more: Any) -> PaperRetriever:
        made = {"is_enabled": True, "max_results": 8, "timeout_seconds": 10.0, "clock": lambda: NOW} | more
        return PaperRetriever([service(name) for name in names or SERVICES], **made)

    return papers_


async def found(papers: PaperRetriever, task: Task = TASK) -> tuple[Evidence, ...]:
    finding = await papers.search(task, ignore_event)
    assert not finding.failures, finding.failures
    return finding.evidence


# What each service says


async def test_openalex_gives_a_work_with_its_abstract_put_together(papers: Any) -> None:
    (item,) = await found(papers("openalex"))
    assert (item.kind, item.title, item.publisher) == ("paper", TITLE, "PeerJ")
    assert item.url == f"https://doi.org/{DOI}"
    assert item.further_url == "https://peerj.com/articles/4375.pdf"
    assert (item.published, item.language) == (date(2018, 2, 13), "en")
    (passage,) = item.passages
    assert passage.text == "We estimate that at least 28% of the literature is open."
    assert (passage.origin, passage.start, passage.end) == ("source", 0, len(passage.text))
    assert item.paper and item.paper.doi == DOI and item.paper.year == 2018
    assert [one.display_name for one in item.paper.authors] == ["Heather Piwowar", "Jason Priem"]
    assert (item.paper.citation_count, item.paper.citation_source) == (1_204, "openalex")


async def test_crossref_gives_names_in_parts_and_an_abstract_without_tags(papers: Any) -> None:
    (item,) = await found(papers("crossref"))
    (passage,) = item.passages
    assert passage.text == "We use three samples of 100,000 articles and find CO2 & more in them."
    assert item.url == f"https://doi.org/{DOI}"
    assert item.paper and item.paper.authors[0] == Author(family="Piwowar", given="Heather")
    assert (item.paper.venue, item.paper.citation_count, item.paper.citation_source) == ("PeerJ", 900, "crossref")


async def test_arxiv_gives_a_preprint_under_its_own_doi_whatever_its_version(papers: Any) -> None:
    (item,) = await found(papers("arxiv"))
    assert item.title == "Attention Is All You Need"
    assert item.url == "https://doi.org/10.48550/arxiv.1706.03762"
    assert item.further_url == "https://arxiv.org/pdf/1706.03762"
    assert item.passages[0].text == "The dominant models are based on attention."
    assert item.paper and item.paper.venue == "arXiv"
    assert [one.display_name for one in item.paper.authors] == ["Ashish Vaswani", "Noam Shazeer"]
    assert item.published == date(2017, 6, 12)


async def test_an_old_preprint_that_has_appeared_has_the_journal_and_its_doi(papers: Any, server: FakePapers) -> None:
    own = 'xmlns:arxiv="http://arxiv.org/schemas/atom"'
    more = (
        f"<arxiv:doi {own}>10.1140/epjc/s2003-01326-x</arxiv:doi>"
        f"<arxiv:journal_ref {own}>Eur.Phys.J. C31 (2003) 17-29</arxiv:journal_ref>"
    )
    server.bodies["arxiv"] = feed(entry("hep-ex/0307015v1", more=more))
    (item,) = await found(papers("arxiv"))
    assert item.url == "https://doi.org/10.1140/epjc/s2003-01326-x"
    assert item.further_url == "https://arxiv.org/pdf/hep-ex/0307015"
    assert item.publisher == "Eur.Phys.J. C31 (2003) 17-29"


async def test_pubmed_gives_the_parts_of_an_abstract_and_groups_as_authors(papers: Any, server: FakePapers) -> None:
    (item,) = await found(papers("pubmed"))
    assert item.title == "Ileal hyperplasia in children."
    assert item.passages[0].text == ("BACKGROUND: We investigated 12 children.\nFINDINGS: All had p < 0.05.")
    assert item.paper and item.paper.doi == "10.1016/s0140-6736(97)11096-0"
    assert item.paper.authors == (
        Author(family="Wakefield", given="A J"),
        Author(name="Royal Free Study Group"),
    )
    assert (item.publisher, item.published) == ("Lancet (London, England)", date(1998, 2, 28))
    searched, fetched = server.of("pubmed")
    assert (searched.query["term"], fetched.query["id"]) == ("literature open access", "0")


async def test_without_an_abstract_the_title_can_be_cited_and_without_a_day_the_year_is_known(
    papers: Any, server: FakePapers
) -> None:
    server.bodies["openalex"] = [
        openalex(abstract_inverted_index=None, publication_date="2018-01-01", publication_year=10**8)
    ]
    server.bodies["crossref"] = [
        crossref(DOI="10.1000/b", title=["Other"], abstract=None, issued={"date-parts": [[2001]]})
    ]
    one, other = await found(papers("openalex", "crossref"))
    assert one.passages[0].text == TITLE
    assert one.published is other.published is None
    assert (one.paper.year, other.paper.year) == (2018, 2001)  # type: ignore[union-attr]


async def test_where_all_words_have_to_be_there_no_operator_and_no_idle_word_is_sent(
    papers: Any, server: FakePapers
) -> None:
    asked = 'What is the "deep-learning" of ti:proteins[au] NOT (D* 2 OR 蛋白质结构预测)?'
    await found(papers(), TASK.model_copy(update={"query": asked}))
    terms = ["deep-learning", "ti", "proteins", "au", "D", "2", "蛋白质结构预测"]
    (one,) = server.of("openalex")
    assert one.query["search"].split() == terms
    (one,) = server.of("arxiv")
    assert one.query["search_query"].split(" AND ") == [f"all:{term}" for term in terms]
    assert server.of("pubmed")[0].query["term"].split() == terms
    (one,) = server.of("crossref")
    assert one.query["query"] == asked
    server.log.clear()
    await found(papers("openalex", "arxiv", "pubmed"), TASK.model_copy(update={"query": "of the?"}))
    assert server.log == []  # nothing is left to look for


async def test_they_are_told_who_asks_and_an_address_of_mail_only_if_one_is_set(
    service: Any, server: FakePapers
) -> None:
    for name in SERVICES:
        await service(name).search("open access", 3, ignore_event)
    assert len(server.log) == 5
    for asked in server.log:
        assert asked.headers["user-agent"].startswith(f"Sightline/{research.__version__} ")
        assert not {"mailto", "email"} & set(asked.query)
    server.log.clear()
    for name in ("openalex", "crossref", "pubmed"):
        await service(name, contact="me@example.org").search("open access", 3, ignore_event)
    told = [asked.query.get("mailto") or asked.query.get("email") for asked in server.log]
    assert told == ["me@example.org"] * 4


# One work is one source


async def test_what_several_services_know_of_a_work_is_one_source_with_the_richest_of_each(
    papers: Any, server: FakePapers
) -> None:
    server.bodies["crossref"] = [crossref(), crossref(DOI="10.1000/b", title=["Another"])]
    every = await found(papers("openalex", "crossref"))
    assert [item.title for item in every] == [TITLE, "Another"]
    first = every[0]
    assert first.paper and first.paper.authors[0].family == "Piwowar"  # of Crossref
    assert first.further_url and first.paper.citation_count == 1_204  # of OpenAlex
    assert first.passages[0].text.startswith("We use three samples")  # the longer one


async def test_the_parts_of_an_abstract_in_jats_stay_on_lines_of_their_own(papers: Any, server: FakePapers) -> None:
    abstract = (
        "<jats:title>Abstract</jats:title><jats:sec><jats:title>Background</jats:title><jats:p>One "
        "thing.</jats:p></jats:sec><jats:sec><jats:title>Results</jats:title>\n   <jats:p>x<jats:sup>2"
        "</jats:sup> &lt; 5</jats:p></jats:sec>"
    )
    server.bodies["crossref"] = [crossref(abstract=abstract)]
    (item,) = await found(papers("crossref"))
    assert item.passages[0].text == "Background\nOne thing.\nResults\nx2 < 5"


def test_the_year_and_the_day_are_those_of_the_publisher() -> None:
    preprint = _known(doi="10.1000/a", provider="arxiv", year=2017, published=date(2017, 6, 12))
    article_ = _known(doi="10.1000/a", provider="crossref", venue="Journal")
    (one,) = merge_works([[preprint], [article_]])
    assert (one.year, one.published, one.venue) == (2018, None, "Journal")
    (one,) = merge_works([[preprint], [_known(doi="10.1000/a", provider="crossref", published=date(2018, 2, 3))]])
    assert one.published == date(2018, 2, 3)


def _known(title: str = "On open access", **more: Any) -> Work:
    return Work(**{"title": title, "provider": "openalex", "year": 2018, "page_url": "https://a.test"} | more)


SMITH, LEE = (Author(name="Ann Smith"),), (Author(family="Lee", given="Bo"),)


@each_row(
    ("one", "other", "same"),
    [
        ({"doi": "10.1000/a"}, {"doi": "10.1000/a", "title": "Else", "year": 1999}, True),
        ({}, {"title": "On Open-Access!", "provider": "arxiv"}, True),
        ({}, {"year": 2019}, False),
        ({"year": None}, {"year": None}, False),
        ({"doi": "10.1000/a"}, {}, True),
        ({"doi": "10.1000/a"}, {"doi": "10.1000/b"}, False),
        ({"doi": "10.1000/a", "authors": SMITH}, {"doi": "10.1000/b", "authors": LEE}, False),
        ({"doi": "10.1000/a", "authors": SMITH},
         {"doi": "10.48550/b", "authors": (Author(family="Smith", given="A"),)}, True),
    ],
)  # fmt: skip
def test_two_descriptions_are_of_one_work(one: dict, other: dict, same: bool) -> None:
    assert len(merge_works([[_known(**one)], [_known(**other)]])) == (1 if same else 2)


def test_what_more_services_found_comes_first_and_citations_order_nothing() -> None:
    lone = _known("Cited much", doi="10.1000/much", citation_count=90_000)
    both = _known("Found twice", doi="10.1000/twice", citation_count=1)
    assert [one.title for one in merge_works([[lone, both], [both]])] == ["Found twice", "Cited much"]


# What became of it


async def test_what_openalex_says_is_retracted_is(papers: Any, server: FakePapers) -> None:
    other = openalex(doi=None, id="https://openalex.org/W1", display_name="B", primary_location=None)
    server.bodies["openalex"] = [openalex(is_retracted=True), other]
    assert [item.notice for item in await found(papers("openalex"))] == ["retracted", ""]


@each_row(
    ("kinds", "notice"),
    [
        (["retraction"], "retracted"),
        (["partial_retraction"], "retracted"),
        (["withdrawal"], "retracted"),
        (["correction"], "corrected"),
        (["erratum"], "corrected"),
        (["expression_of_concern"], "concern"),
        (["correction", "retraction", "expression_of_concern"], "retracted"),
        (["new_version"], ""),
        ([], ""),
    ],
)
async def test_a_work_that_crossref_says_was_updated_is_marked(
    papers: Any, server: FakePapers, kinds: list[str], notice: str
) -> None:
    server.bodies["crossref"] = [crossref(**{"updated-by": [update(kind) for kind in kinds]})]
    assert [item.notice for item in await found(papers("crossref"))] == [notice]


async def test_whichever_service_knows_that_a_work_is_retracted_it_is(papers: Any, server: FakePapers) -> None:
    server.bodies["openalex"] = [openalex(is_retracted=True)]
    server.bodies["crossref"] = [crossref(**{"updated-by": [update("correction")]})]
    (item,) = await found(papers("openalex", "crossref"))
    assert item.notice == "retracted"


async def test_a_notice_marks_the_work_that_it_is_about_and_not_itself(papers: Any, server: FakePapers) -> None:
    notice = crossref(
        DOI="10.7717/peerj.9999", title=["Retraction: The state of OA"],
        **{"update-to": [update("retraction", DOI.upper())]},
    )  # fmt: skip
    server.bodies["crossref"] = [notice, crossref()]
    every = {item.title: item.notice for item in await found(papers("openalex", "crossref"))}
    assert every == {"Retraction: The state of OA": "", TITLE: "retracted"}


@each_row(
    ("relation", "kind", "notice"),
    [
        ("RetractionIn", "Journal Article", "retracted"),
        ("ExpressionOfConcernIn", "Journal Article", "concern"),
        ("ErratumIn", "Journal Article", "corrected"),
        ("RetractionOf", "Retraction of Publication", ""),
        ("CommentIn", "Retracted Publication", "retracted"),
        ("CommentIn", "Journal Article", ""),
    ],
)
async def test_a_record_of_pubmed_is_marked_by_its_relations_and_types(
    papers: Any, server: FakePapers, relation: str, kind: str, notice: str
) -> None:
    server.bodies["pubmed"] = records(article(more=related(relation), kind=kind))
    assert [item.notice for item in await found(papers("pubmed"))] == [notice]


@each_row(
    ("title", "shown", "notice"),
    [
        ("RETRACTED: A trial", "A trial", "retracted"),
        ("Retracted Article: A trial", "A trial", "retracted"),
        ("WITHDRAWN: A trial", "A trial", "retracted"),
        ("Retraction: A trial", "Retraction: A trial", ""),
        ("Retracted and corrected works", "Retracted and corrected works", ""),
    ],
)
def test_what_a_publisher_writes_before_a_title_marks_the_work(title: str, shown: str, notice: str) -> None:
    assert work.parse_title(title) == (shown, notice)


# The contract of all services


async def trouble(service: PaperProvider) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await service.search("open access", 5, ignore_event)
    return caught.value


EMPTY: dict[str, Any] = {"openalex": [], "crossref": [], "arxiv": feed(), "pubmed": records()}


@pytest.mark.parametrize("name", SERVICES)
async def test_a_service_finds_works_or_none(service: Any, server: FakePapers, name: str) -> None:
    (one,) = await service(name).search("open access", 5, ignore_event)
    assert one.provider == name and one.title and one.url and one.year
    server.bodies[name] = EMPTY[name]
    assert await service(name).search("open access", 5, ignore_event) == []


@pytest.mark.parametrize("name", SERVICES)
@each_row(
    ("status", "reason"), [(429, "quota"), (500, "unavailable"), (503, "unavailable"), (403, "blocked")]
)  # fmt: skip
async def test_a_status_is_told_by_its_reason(
    service: Any, server: FakePapers, name: str, status: int, reason: str
) -> None:
    server.status, server.headers = status, {"retry-after": "7"}
    found = await trouble(service(name))
    assert found.reason == reason and f"HTTP {status}" in found.message
    assert found.retry_after_seconds == (7 if status in (429, 500, 503) else None)


@pytest.mark.parametrize("name", SERVICES)
@pytest.mark.parametrize("fault", ["html", "broken", "list", "empty", "object"])
async def test_a_body_of_another_kind_is_malformed(service: Any, server: FakePapers, name: str, fault: str) -> None:
    server.fault = fault
    assert (await trouble(service(name))).reason == "malformed"


@pytest.mark.parametrize("name", ["arxiv", "pubmed"])
@each_row(
    "body",
    ["<feed", "<feed xmlns='http://www.w3.org/2005/Atom'><entry></feed>", "<PubmedArticleSet><PubmedArticle>", "<other/>", "\x00"],
)  # fmt: skip
async def test_broken_xml_is_malformed(service: Any, server: FakePapers, name: str, body: str) -> None:
    found = "<!--<PubmedArticle>-->" if name == "pubmed" else ""  # what the search counts
    server.bodies[name] = body + found
    assert (await trouble(service(name))).reason == "malformed"


@pytest.mark.parametrize("name", SERVICES)
async def test_a_body_that_does_not_end_and_a_service_that_is_away_are_told(
    service: Any, server: FakePapers, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MAX_BODY_BYTES", 100)
    found = await trouble(service(name))
    if name != "pubmed":
        assert (found.reason, "more than 100 bytes" in found.message) == ("malformed", True)
    assert (await trouble(service(name, base_url=nowhere()))).reason == "unreachable"
    server.fault = "trickles"
    monkeypatch.undo()
    assert (await trouble(service(name, timeout_seconds=0.2))).reason == "timeout"


@pytest.mark.parametrize("name", SERVICES)
async def test_text_from_outside_is_cleaned_and_no_markup_is_left(service: Any, server: FakePapers, name: str) -> None:
    escaped = HOSTILE.replace("\x00", "").replace("&", "&amp;").replace("<", "&lt;")
    server.bodies |= {
        "openalex": [openalex(display_name=HOSTILE, abstract_inverted_index=inverted(HOSTILE))],
        "crossref": [crossref(title=[HOSTILE], abstract=f"<jats:p>{HOSTILE}</jats:p>")],
        "arxiv": feed(entry(title=escaped, summary=escaped)),
        "pubmed": records(article(title=escaped, abstract=f"<AbstractText>{escaped}</AbstractText>")),
    }
    (one,) = await service(name).search("open access", 5, ignore_event)
    assert "open access" in one.title and "<" not in one.title
    for text in (one.title, one.abstract):
        assert not {"\u202e", "\x00"} & set(text)
    assert one.abstract


@pytest.mark.parametrize("name", ["openalex", "crossref"])
@each_row("value", [None, 7, True, "x", [], [None], {}, {"a": {"b": 1}}, [[[]]], [{"a": None}], -1, 1e9])
async def test_any_field_may_be_anything(service: Any, server: FakePapers, name: str, value: Any) -> None:
    make = {"openalex": openalex, "crossref": crossref}[name]
    server.bodies[name] = [make(**{key: value}) for key in make()] + [value, make()]
    found = await service(name).search("open access", 50, ignore_event)
    assert found[-1].title == TITLE
    assert all(isinstance(one.title, str) and one.url for one in found)


@pytest.mark.parametrize("name", SERVICES)
async def test_of_very_many_works_and_authors_the_first_are_taken(service: Any, server: FakePapers, name: str) -> None:
    one = {"author": {"display_name": "Ann Smith"}, "family": "Smith", "given": "Ann"}
    people = [one] * 300
    atom, own = (
        "<author><name>Ann Smith</name></author>",
        "<Author><LastName>Smith</LastName></Author>",
    )
    server.bodies = {
        "openalex": [openalex(authorships=people)] * 40,
        "crossref": [crossref(author=people)] * 40,
        "arxiv": feed(*[entry(more=atom * 300)] * 40),
        "pubmed": records(*[article().replace("</AuthorList>", own * 300 + "</AuthorList>")] * 40),
    }
    works = await service(name).search("open access", 5, ignore_event)
    assert (len(works), len(works[0].authors)) == (5, work.MAX_AUTHORS)


async def test_the_places_of_an_inverted_index_are_numbers_of_any_size(service: Any, server: FakePapers) -> None:
    index = {"second": [10**12], "first": [-5, "x", None], "third": "no", "": [10**13]}
    server.bodies["openalex"] = [openalex(abstract_inverted_index=index)]
    (one,) = await service("openalex").search("open access", 5, ignore_event)
    assert one.abstract == "first second"


async def test_what_a_document_declares_is_neither_fetched_nor_put_in(service: Any, server: FakePapers) -> None:
    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 9}">' for n in range(1, 9))
    declared = f'<!DOCTYPE feed [<!ENTITY a0 "boom">{bomb}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    body = feed(entry(title="Open access &a8; &f;"))
    server.bodies["arxiv"] = body.replace("?>\n", f"?>\n{declared}", 1)
    try:
        (one,) = await service("arxiv").search("open access", 5, ignore_event)
    except ServiceError as refused:
        assert refused.reason == "malformed"
    else:
        assert "boom" not in one.title and "root:" not in one.title


async def test_an_error_of_arxiv_with_the_status_of_success_is_told(service: Any, server: FakePapers) -> None:
    wrong = entry(title="Error", summary="incorrect id format for x").replace(
        "arxiv.org/abs/1706.03762v5", "arxiv.org/api/errors#incorrect_id_format_for_x", 1
    )
    server.bodies["arxiv"] = feed(wrong)
    found = await trouble(service("arxiv"))
    assert (found.reason, "incorrect id format" in found.message) == ("refused", True)


# The source


async def test_a_service_that_fails_is_named_and_the_others_stand(papers: Any, server: FakePapers) -> None:
    server.faulty, server.status = ("crossref", "pubmed"), 500
    finding = await papers().search(TASK, ignore_event)
    assert {item.title for item in finding.evidence} == {TITLE, "Attention Is All You Need"}
    assert [(one.source, one.reason) for one in finding.failures] == [
        ("crossref", "unavailable"),
        ("pubmed", "unavailable"),
    ]


async def test_if_nobody_answers_the_reason_is_told(papers: Any, server: FakePapers) -> None:
    server.status = 429
    finding = await papers().search(TASK, ignore_event)
    assert (finding.reason, finding.evidence, len(finding.failures)) == ("quota", (), 3)


@pytest.mark.slow
async def test_a_service_that_does_not_end_leaves_what_the_others_found(papers: Any, server: FakePapers) -> None:
    server.faulty, server.fault = ("arxiv",), "trickles"
    finding: Finding = await papers(timeout_seconds=3.0).search(TASK, ignore_event)
    assert [one.source for one in finding.failures] == ["arxiv"]
    assert finding.failures[0].reason == "timeout" and finding.evidence


async def test_nothing_found_is_empty_and_no_more_is_kept_than_was_asked_for(papers: Any, server: FakePapers) -> None:
    assert len(await found(papers(max_results=2))) == 2
    server.bodies = dict(EMPTY)
    finding = await papers().search(TASK, ignore_event)
    assert (finding.reason, finding.failures) == ("empty", ())


async def test_domains_to_avoid_are_left_out_before_the_best_are_taken(papers: Any, server: FakePapers) -> None:
    server.bodies["crossref"] = [crossref()]
    server.bodies["openalex"] = [
        openalex(doi=None, display_name="Elsewhere", primary_location={"landing_page_url": "https://mill.example/1"})
    ]  # fmt: skip
    names = ("openalex", "crossref")
    assert len(await found(papers(*names))) == 2
    finding = await papers(*names, max_results=1, domain_statuses={"mill.example": "avoid"}).search(TASK, ignore_event)
    assert [item.title for item in finding.evidence] == [TITLE]
    assert finding.message == "1 results of domains that are to be avoided"
    warned = await found(papers(*names, domain_statuses={"mill.example": "warn"}))
    assert {item.title: item.domain_status for item in warned} == {"Elsewhere": "warned", TITLE: ""}


async def test_requests_are_spaced_as_the_services_want(service: Any, server: FakePapers) -> None:
    assert (ARXIV_PACE.interval_seconds, PUBMED_PACE.interval_seconds) == (3.0, 0.34)
    now, waits = [0.0], []

    async def pause(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    said: list[tuple[str, bool]] = []
    tell = lambda event: said.append((event.kind, event.is_over))  # noqa: E731
    pace = RateLimiter(3.0, lambda: now[0], pause)
    slow = ArXiv(ServiceClient(server.address("arxiv"), timeout_seconds=5), pace)
    for _ in range(3):
        await slow.search("open access", 3, tell)
    now[0] += 10
    await slow.search("open access", 3, tell)
    await slow.close()
    assert waits == [3.0, 3.0]
    assert said == [("rate_limit_wait", False), ("rate_limit_wait", True)] * 2
    waits.clear()
    quick = PubMed(ServiceClient(server.address("pubmed"), timeout_seconds=5), RateLimiter(0.34, lambda: 0.0, pause))
    await quick.search("open access", 3, ignore_event)
    await quick.close()
    assert waits == [0.34]  # a search and what it found are two requests


def _built(tmp_path: Path, server: FakePapers, **env: str) -> Any:
    urls = {f"{name.upper()}_URL": server.address(name) for name in SERVICES}
    return SOURCE.build(Dependencies(settings=load_settings(urls | env, data_dir=tmp_path), clock=lambda: NOW))


async def test_a_fresh_desk_connects_nowhere_for_it(tmp_path: Path, server: FakePapers) -> None:
    fresh = _built(tmp_path, server)
    ready = fresh.readiness()
    assert (ready.state, ready.detail) == ("missing", "SIGHTLINE_OPEN_SOURCES")
    with pytest.raises(ServiceError) as caught:
        await fresh.search(TASK, ignore_event)
    assert caught.value.reason == "no key"
    await asyncio.sleep(0)
    assert server.log == []
    for models in (False, True):
        for alone in (False, True):
            assert not SOURCE.is_default(SourceStatus(ready.state, has_model=models, no_remote_default=alone))


async def test_where_open_sources_are_on_it_is_usual_and_asks_the_addresses_that_are_set(
    tmp_path: Path, server: FakePapers
) -> None:
    opened = _built(tmp_path, server, SIGHTLINE_OPEN_SOURCES="on", SIGHTLINE_CONTACT="me@a.test")
    assert opened.readiness().state == "live"
    for models in (False, True):
        assert SOURCE.is_default(SourceStatus(opened.readiness().state, has_model=models, no_remote_default=False))
    finding = await opened.search(TASK, ignore_event)
    await opened.close()
    assert len(finding.evidence) == 3 and not finding.failures
    assert {asked.path.split("/")[1] for asked in server.log} == set(SERVICES)
    assert "papers" in registry.sources_by_name()


def researched(tmp_path: Path, server: FakePapers, question: str, **env: str) -> Report:
    """What a run without a model and without a web search makes of a question."""
    urls = {f"{name.upper()}_URL": server.address(name) for name in SERVICES}
    desk = Application(load_settings(urls | {"WEB_SEARCH": "off"} | env, data_dir=tmp_path / "data"))
    try:
        run = desk.runs.start(question)
        until(lambda: not (found := desk.runs.get_run(run.id)) or not found.is_active, 60)
        report = desk.runs.report(run.id)
        assert report is not None
        return report
    finally:
        desk.close()


@pytest.mark.slow
def test_a_run_without_a_model_quotes_an_abstract_and_cites_the_paper_where_that_is_turned_on(
    tmp_path: Path, server: FakePapers
) -> None:
    question = "How much of the literature is open?"
    server.bodies["openalex"] = [openalex(is_retracted=True)]
    server.faulty, server.status = ("crossref",), 500
    fresh = researched(tmp_path, server, question)
    assert "papers" not in fresh.run.options.sources and server.log == []
    report = researched(tmp_path, server, question, SIGHTLINE_OPEN_SOURCES="on")
    assert server.of("openalex") and "papers" in report.run.options.sources
    numbered = number_report_answer(report)
    assert numbered is not None
    (source,) = numbered.sources
    assert (source.evidence.kind, source.evidence.notice) == ("paper", "retracted")
    (quote,) = [one.span.text for one in numbered.spans if one.span.kind == "quote"]
    assert quote == "We estimate that at least 28% of the literature is open."
    assert any(failure.source == "crossref" for one in report.findings for failure in one.failures)


@pytest.mark.slow
async def test_a_key_of_openalex_goes_to_it_alone_and_into_no_message(server: FakePapers, tmp_path: Path) -> None:
    papers = _built(tmp_path, server, SIGHTLINE_OPEN_SOURCES="on", OPENALEX_API_KEY="sentinel-0123")
    await papers.search(TASK, ignore_event)
    sent = {one.path.split("/")[1] for one in server.log if "sentinel-0123" in str(one)}
    assert sent == {"openalex"} and server.of("openalex")[0].query["api_key"] == "sentinel-0123"
    server.status = 500
    finding = await papers.search(TASK, ignore_event)
    await papers.close()
    assert "sentinel" not in finding.model_dump_json()
