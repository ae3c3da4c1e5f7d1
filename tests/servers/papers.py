"""OpenAlex, Crossref, arXiv and PubMed on this machine, with what they say in their own formats.

One server is all four: each knows its own paths. What a test changes is in `works` and `documents`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.servers.search import Asked, Service

DOI = "10.7717/peerj.4375"
TITLE = "The state of OA: a large-scale analysis of the prevalence and impact of Open Access articles"


def inverted(text: str) -> dict[str, list[int]]:
    """A text as OpenAlex has it: the places of each word."""
    out: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        out.setdefault(word, []).append(place)
    return out


def openalex(**more: Any) -> dict[str, Any]:
    """A work object of OpenAlex."""
    return {
        "id": "https://openalex.org/W2741809807",
        "doi": f"https://doi.org/{DOI}",
        "display_name": TITLE,
        "publication_year": 2018,
        "publication_date": "2018-02-13",
        "language": "en",
        "primary_location": {
            "is_oa": True,
            "landing_page_url": f"https://doi.org/{DOI}",
            "pdf_url": None,
            "source": {"id": "https://openalex.org/S1983995261", "display_name": "PeerJ"},
        },
        "open_access": {"is_oa": True, "oa_status": "gold", "oa_url": f"https://doi.org/{DOI}"},
        "best_oa_location": {
            "is_oa": True,
            "landing_page_url": f"https://doi.org/{DOI}",
            "pdf_url": "https://peerj.com/articles/4375.pdf",
        },
        "authorships": [
            {"author_position": "first", "author": {"display_name": "Heather Piwowar"}},
            {"author_position": "middle", "author": {"display_name": "Jason Priem"}},
        ],
        "cited_by_count": 1_204,
        "is_retracted": False,
        "abstract_inverted_index": inverted("We estimate that at least 28% of the literature is open."),
    } | more


def crossref(**more: Any) -> dict[str, Any]:
    """An item of Crossref."""
    return {
        "DOI": DOI.upper(),
        "type": "journal-article",
        "title": [TITLE],
        "container-title": ["PeerJ"],
        "publisher": "PeerJ",
        "author": [
            {"given": "Heather", "family": "Piwowar", "sequence": "first", "affiliation": []},
            {"given": "Jason", "family": "Priem", "sequence": "additional", "affiliation": []},
        ],
        "issued": {"date-parts": [[2018, 2, 13]]},
        "is-referenced-by-count": 900,
        "URL": f"https://doi.org/{DOI}",
        "language": "en",
        "abstract": "<jats:title>Abstract</jats:title><jats:p>We use three samples of "
        "100,000 articles and find CO<jats:sub>2</jats:sub> &amp; more in <jats:italic>them</jats:italic>."
        "</jats:p>",
    } | more


def update(kind: str, doi: str = "10.7717/peerj.9999") -> dict[str, Any]:
    """A relation as in `updated-by` and `update-to`."""
    return {
        "DOI": doi, "type": kind, "label": kind.title(), "source": "retraction-watch",
        "updated": {"date-parts": [[2020, 5, 5]], "date-time": "2020-05-05T00:00:00Z"},
        "record-id": "22",
    }  # fmt: skip


def entry(
    number: str = "1706.03762v5", title: str = "Attention Is All\n  You Need", more: str = "",
    summary: str = "  The dominant models are\nbased on attention.\n",
) -> str:  # fmt: skip
    """An entry of arXiv's feed."""
    return f"""<entry>
    <id>http://arxiv.org/abs/{number}</id>
    <updated>2023-08-02T00:41:18Z</updated>
    <published>2017-06-12T17:57:34Z</published>
    <title>{title}</title>
    <summary>{summary}</summary>
    <author><name>Ashish Vaswani</name>
      <arxiv:affiliation xmlns:arxiv="http://arxiv.org/schemas/atom">Google</arxiv:affiliation></author>
    <author><name>Noam Shazeer</name></author>
    <arxiv:comment xmlns:arxiv="http://arxiv.org/schemas/atom">15 pages, 5 figures</arxiv:comment>
    {more}
    <link href="http://arxiv.org/abs/{number}" rel="alternate" type="text/html"/>
    <link title="pdf" href="http://arxiv.org/pdf/{number}" rel="related" type="application/pdf"/>
    <category term="cs.CL" scheme="http://arxiv.org/schemas/atom"/>
  </entry>"""


def feed(*entries: str) -> str:
    """arXiv's answer."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title type="html">ArXiv Query: search_query=all:attention</title>
  <id>http://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
  <opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">{len(entries)}</opensearch:totalResults>
  {"".join(entries)}
</feed>"""


def article(
    number: str = "9500320", title: str = "Ileal <i>hyperplasia</i> in children.", more: str = "",
    kind: str = "Journal Article", doi: str = "10.1016/s0140-6736(97)11096-0",
    abstract: str = '<AbstractText Label="BACKGROUND">We investigated 12 children.</AbstractText>'
    '<AbstractText Label="FINDINGS" NlmCategory="RESULTS">All had p &lt; 0.05.</AbstractText>',
) -> str:  # fmt: skip
    """A record of PubMed."""
    return f"""<PubmedArticle>
<MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{number}</PMID>
 <Article PubModel="Print">
  <Journal><ISSN IssnType="Print">0140-6736</ISSN>
   <JournalIssue CitedMedium="Print"><Volume>351</Volume>
    <PubDate><Year>1998</Year><Month>Feb</Month><Day>28</Day></PubDate></JournalIssue>
   <Title>Lancet (London, England)</Title></Journal>
  <ArticleTitle>{title}</ArticleTitle>
  <ELocationID EIdType="doi" ValidYN="Y">{doi}</ELocationID>
  <Abstract>{abstract}</Abstract>
  <AuthorList CompleteYN="Y">
   <Author ValidYN="Y"><LastName>Wakefield</LastName><ForeName>A J</ForeName><Initials>AJ</Initials></Author>
   <Author ValidYN="Y"><CollectiveName>Royal Free Study Group</CollectiveName></Author>
  </AuthorList>
  <Language>eng</Language>
  <PublicationTypeList><PublicationType UI="D016428">{kind}</PublicationType></PublicationTypeList>
 </Article>
 <CommentsCorrectionsList>{more}</CommentsCorrectionsList>
</MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">{number}</ArticleId></ArticleIdList>
 <ReferenceList><Reference><ArticleIdList><ArticleId IdType="doi">10.9999/other</ArticleId></ArticleIdList></Reference></ReferenceList>
</PubmedData></PubmedArticle>"""


def related(kind: str) -> str:
    """What a record says of another."""
    return (
        f'<CommentsCorrections RefType="{kind}"><RefSource>Lancet. 2010</RefSource>'
        '<PMID Version="1">20137807</PMID></CommentsCorrections>'
    )


def records(*articles: str) -> str:
    """PubMed's answer, with the document type that it declares."""
    return (
        '<?xml version="1.0" ?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st '
        'January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">\n'
        f"<PubmedArticleSet>{''.join(articles)}</PubmedArticleSet>"
    )


@dataclass
class FakePapers(Service):
    """All four services. `bodies` are the answers by service; a service in `faulty` has the status or
    the fault that is set (also: object, one of JSON with nothing in it), the others answer as ever."""

    bodies: dict[str, Any] = field(default_factory=dict)
    faulty: tuple[str, ...] = ("openalex", "crossref", "arxiv", "pubmed")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bodies = {
            "openalex": [openalex()],
            "crossref": [crossref()],
            "arxiv": feed(entry()),
            "pubmed": records(article()),
        } | self.bodies

    def address(self, service: str) -> str:
        return f"{self.base_url}/{service}"

    def of(self, service: str) -> list[Asked]:
        """What a service was asked."""
        return [asked for asked in self.log if asked.path.startswith(f"/{service}/")]

    def answer(self, asked: Asked) -> Any:
        service, _, path = asked.path.removeprefix("/").partition("/")
        body = self.bodies[service]
        if service == "openalex" and path == "works":
            return {"meta": {"count": len(body), "page": 1}, "results": body, "group_by": []}
        if service == "crossref" and path == "works":
            message = {"total-results": len(body), "items": body, "items-per-page": 20}
            return {"status": "ok", "message-type": "work-list", "message": message}
        if service == "pubmed" and path == "entrez/eutils/esearch.fcgi":
            ids = [str(n) for n in range(body.count("<PubmedArticle>"))]
            return {
                "header": {"type": "esearch"},
                "esearchresult": {"count": str(len(ids)), "idlist": ids},
            }
        return body

    async def _respond(self, request: web.Request, asked: Asked) -> web.StreamResponse:
        service = asked.path.split("/")[1]
        if service in self.faulty and (self.fault or self.status != 200):
            if self.fault == "object":
                return web.Response(text='{"error": "gone"}', content_type="application/json")
            return await super()._respond(request, asked)
        made = self.answer(asked)
        if isinstance(made, dict):
            return web.Response(text=json.dumps(made), content_type="application/json")
        kind = "application/atom+xml" if service == "arxiv" else "text/xml"
        return web.Response(body=made.encode(), content_type=kind)
