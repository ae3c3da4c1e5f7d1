"""Web source: searches with the configured providers, such as Gemini, Tavily, SearXNG and
Wikipedia.
"""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(dependencies: Dependencies) -> Retriever:
    from research.sources.web.provider_factory import build_providers
    from research.sources.web.retriever import WebRetriever

    settings, models = dependencies.settings, dependencies.model_tasks
    return WebRetriever(
        build_providers(dependencies),
        timeout_seconds=settings.search_timeout,
        summarise=models.summarise if models else None,
        page_reader=dependencies.page_reader,
        pages_per_search=settings.pages_per_search,
        domain_statuses=settings.domain_statuses,
        clock=dependencies.clock,
    )


SOURCE = Source(
    name="web",
    kind="web",
    prompt_phrase="the web",
    build=_build_retriever,
    icon="language",
    is_default=lambda status: status.state == "live",
    is_cacheable=True,
    is_paid=True,
    setup_commands=("export GEMINI_API_KEY=YOUR_KEY", "export WEB_SEARCH=wikipedia"),
)
