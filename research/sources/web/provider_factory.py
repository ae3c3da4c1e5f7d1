"""Construction of the web search providers named in the settings."""

from __future__ import annotations

from collections.abc import Sequence

from research.core.providers import search_services
from research.sources.base import Dependencies
from research.sources.web.deep_research import DeepResearch
from research.sources.web.gemini import GeminiSearch
from research.sources.web.json_search import JSONSearch
from research.sources.web.provider import WebProvider
from research.sources.web.searxng import SearXNG
from research.sources.web.tavily import Tavily
from research.sources.web.wikipedia import Wikipedia


def build_providers(dependencies: Dependencies) -> Sequence[WebProvider]:
    """Return the providers selected in the settings, in order of preference, configured or not."""
    return [build_provider(name, dependencies) for name in dependencies.settings.web_providers]


def build_provider(name: str, dependencies: Dependencies) -> WebProvider:
    """Return the web provider with a name of the setting `WEB_SEARCH`; any other name means Wikipedia."""
    settings, clock = dependencies.settings, dependencies.clock
    if name == "gemini":
        return GeminiSearch(dependencies.model_clients, clock)
    if name == "deep-research":
        return DeepResearch(dependencies.model_clients, clock)
    results, seconds = settings.results_per_search, settings.search_timeout
    if name == "tavily":
        return Tavily(
            settings.tavily_key.get_secret_value(),
            base_url=settings.tavily_url,
            max_results=results,
            timeout_seconds=seconds,
            clock=clock,
        )
    if service := search_services().get(name):
        key, url = settings.provider_value(service.key_setting), settings.provider_value(service.url_setting)
        return JSONSearch(service, key, url=url, max_results=results, timeout_seconds=seconds, clock=clock)
    if name == "searxng":
        return SearXNG(settings.searxng_url, max_results=results, timeout_seconds=seconds, clock=clock)
    return Wikipedia(
        base_url=settings.wikipedia_url,
        max_results=min(results, 4),
        timeout_seconds=seconds,
        contact_email=settings.contact,
        clock=clock,
    )
