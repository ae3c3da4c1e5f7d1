"""The web: whoever of Gemini, Tavily, SearXNG and Wikipedia is set up."""

from __future__ import annotations

from research.sources.base import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.sources.web.providers import providers
    from research.sources.web.retriever import WebRetriever

    settings, models = supplies.settings, supplies.models
    return WebRetriever(
        providers(supplies),
        deadline=settings.search_timeout,
        summarise=models.summarise if models else None,
        reader=supplies.reader,
        pages=settings.pages_per_search,
        domains=settings.verdicts,
        clock=supplies.clock,
    )


SOURCE = Source(
    name="web",
    kind="web",
    prompt="the web",
    build=_build,
    icon="language",
    usual=lambda standing: standing.state == "live",
    cached=True,
    paid=True,
    adds=("export GEMINI_API_KEY=YOUR_KEY", "export WEB_SEARCH=wikipedia"),
)
