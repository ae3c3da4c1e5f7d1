"""Who searches the web, as the settings name them."""

from __future__ import annotations

from collections.abc import Sequence

from research.core.providers import searches
from research.sources.base import Supplies
from research.sources.web.deep import DeepResearch
from research.sources.web.gemini import GeminiSearch
from research.sources.web.listed import Listed
from research.sources.web.provider import Provider
from research.sources.web.searxng import SearXNG
from research.sources.web.tavily import Tavily
from research.sources.web.wikipedia import Wikipedia


def providers(supplies: Supplies) -> Sequence[Provider]:
    """Those that are wanted, the first choice first, whether or not they can be used."""
    return [provider(name, supplies) for name in supplies.settings.web_providers]


def provider(name: str, supplies: Supplies) -> Provider:
    """The one of a name."""
    settings, clock = supplies.settings, supplies.clock
    if name == "gemini":
        return GeminiSearch(supplies.clients, clock)
    if name == "deep-research":
        return DeepResearch(supplies.clients, clock)
    results, seconds = settings.results_per_search, settings.search_timeout
    if name == "tavily":
        return Tavily(
            settings.tavily_key.get_secret_value(),
            base_url=settings.tavily_url,
            results=results,
            timeout=seconds,
            clock=clock,
        )
    if service := searches().get(name):
        key, url = settings.given(service.key), settings.given(service.address)
        return Listed(service, key, url=url, results=results, timeout=seconds, clock=clock)
    if name == "searxng":
        return SearXNG(settings.searxng_url, results=results, timeout=seconds, clock=clock)
    return Wikipedia(
        base_url=settings.wikipedia_url,
        results=min(results, 4),
        timeout=seconds,
        contact=settings.contact,
        clock=clock,
    )
