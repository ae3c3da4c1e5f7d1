"""Places on a map: Amap for China, OpenStreetMap for the rest of the world, or the few sample places
where neither is set up."""

from __future__ import annotations

from research.sources.base import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.sources.places.retriever import PlacesRetriever

    settings, models = supplies.settings, supplies.models
    return PlacesRetriever(
        supplies.maps,
        deadline=settings.search_timeout,
        wanted=supplies.wanted,
        explore=models.explore if models else None,
        budget=settings.amap_calls,
        clock=supplies.clock,
    )


SOURCE = Source(
    name="places",
    kind="place",
    prompt="a map service for places anywhere in the world, if it covers them: where something is, "
    "what of a kind is near or in a place, opening hours, ratings, the way between two places, the "
    "weather; one sentence that names the place, with its city or country where that is not plain, and "
    "what is looked for, in Chinese for places in China and else in the question's language; empty "
    "unless the question wants such places",
    build=_build,
    icon="map",
    usual=lambda standing: standing.state != "missing",
    asked="place",
    told="places",
    adds=("export AMAP_MAPS_API_KEY=YOUR_KEY", "export SIGHTLINE_OPEN_SOURCES=on"),
    node="amap_research",
)
