"""Places on a map: Amap for China and OpenStreetMap elsewhere, or sample places if neither is set
up."""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(dependencies: Dependencies) -> Retriever:
    from research.sources.places.retriever import PlacesRetriever

    settings, models = dependencies.settings, dependencies.model_tasks
    return PlacesRetriever(
        dependencies.maps,
        timeout_seconds=settings.search_timeout,
        parse_query=dependencies.parse_place_query,
        explorer=models.explore if models else None,
        max_calls=settings.amap_tool_calls,
        clock=dependencies.clock,
    )


SOURCE = Source(
    name="places",
    kind="place",
    prompt_phrase="a map service for places anywhere in the world, if it covers them: where something is, "
    "what of a kind is near or in a place, opening hours, ratings, the way between two places, the "
    "weather; one sentence that names the place, with its city or country where that is not plain, and "
    "what is looked for, in Chinese for places in China and else in the question's language; empty "
    "unless the question wants such places",
    build=_build_retriever,
    icon="map",
    is_default=lambda status: status.state != "missing",
    query_type="place",
    result_type="places",
    setup_commands=("export AMAP_MAPS_API_KEY=YOUR_KEY", "export SIGHTLINE_OPEN_SOURCES=on"),
    node_name="amap_research",
)
