"""Scholarly works from OpenAlex, Crossref, arXiv and PubMed, searched together if the open sources
are on."""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(dependencies: Dependencies) -> Retriever:
    from research.http.client import ServiceClient
    from research.sources.papers import arxiv, crossref, openalex, pubmed
    from research.sources.papers.retriever import PaperRetriever

    settings = dependencies.settings

    def make_client(base_url: str) -> ServiceClient:
        return ServiceClient(base_url, timeout_seconds=settings.search_timeout / 2, contact=settings.contact)

    return PaperRetriever(
        [
            openalex.OpenAlex(
                make_client(settings.openalex_url or openalex.BASE_URL),
                settings.openalex_key.get_secret_value(),
            ),
            crossref.Crossref(make_client(settings.crossref_url or crossref.BASE_URL)),
            arxiv.ArXiv(make_client(settings.arxiv_url or arxiv.BASE_URL)),
            pubmed.PubMed(make_client(settings.pubmed_url or pubmed.BASE_URL)),
        ],
        is_enabled=settings.open_sources,
        max_results=settings.results_per_search,
        timeout_seconds=settings.search_timeout,
        domain_statuses=settings.domain_statuses,
        clock=dependencies.clock,
    )


SOURCE = Source(
    name="papers",
    kind="paper",
    prompt_phrase="abstracts of scholarly papers, mostly in English",
    build=_build_retriever,
    icon="article",
    is_default=lambda status: status.state == "live",
    is_cacheable=True,
    test_query="penicillin",
    setup_commands=("", "export SIGHTLINE_OPEN_SOURCES=on"),
)
