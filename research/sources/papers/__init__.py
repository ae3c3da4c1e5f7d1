"""Scholarly works: OpenAlex, Crossref, arXiv and PubMed, asked together where somebody has turned the
open sources on."""

from __future__ import annotations

from research.sources.base import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.http.client import Client
    from research.sources.papers import arxiv, crossref, openalex, pubmed
    from research.sources.papers.retriever import Papers

    settings = supplies.settings

    def client(base_url: str) -> Client:
        return Client(base_url, timeout=settings.search_timeout / 2, contact=settings.contact)

    return Papers(
        [
            openalex.OpenAlex(
                client(settings.openalex_url or openalex.BASE_URL),
                settings.openalex_key.get_secret_value(),
            ),
            crossref.Crossref(client(settings.crossref_url or crossref.BASE_URL)),
            arxiv.ArXiv(client(settings.arxiv_url or arxiv.BASE_URL)),
            pubmed.PubMed(client(settings.pubmed_url or pubmed.BASE_URL)),
        ],
        enabled=settings.opened,
        results=settings.results_per_search,
        deadline=settings.search_timeout,
        domains=settings.verdicts,
        clock=supplies.clock,
    )


SOURCE = Source(
    name="papers",
    kind="paper",
    prompt="abstracts of scholarly papers, mostly in English",
    build=_build,
    icon="article",
    usual=lambda standing: standing.state == "live",
    cached=True,
    probe="penicillin",
    adds=("", "export SIGHTLINE_OPEN_SOURCES=on"),
)
