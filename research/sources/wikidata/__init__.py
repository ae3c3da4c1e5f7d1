"""Facts with references from Wikidata, if the open sources are on."""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(dependencies: Dependencies) -> Retriever:
    from research.http.client import ServiceClient
    from research.sources.wikidata.retriever import BASE_URL, WikidataRetriever

    settings = dependencies.settings

    def make_client(url: str) -> ServiceClient:
        return ServiceClient(url, timeout_seconds=settings.search_timeout / 3, contact=settings.contact)

    wikis = {code: make_client(settings.wikipedia_url.replace("{language}", code)) for code in ("zh", "en")}
    return WikidataRetriever(
        make_client(settings.wikidata_url or BASE_URL),
        wikis,
        is_enabled=settings.open_sources,
        timeout_seconds=settings.search_timeout,
        clock=dependencies.clock,
    )


SOURCE = Source(
    name="wikidata",
    kind="web",
    prompt_phrase="plain facts of one thing (its population, height, dates, people, coordinates), each "
    "with its reference; name the thing and the fact, in a few words",
    build=_build_retriever,
    icon="fact_check",
    is_default=lambda status: status.state == "live",
    is_cacheable=True,
    test_query="Mount Everest",
    setup_commands=("", "export SIGHTLINE_OPEN_SOURCES=on"),
)
