"""A map of mainland China: Amap, or the few sample places where it is not set up."""

from __future__ import annotations

from research.sources import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.sources.places.retriever import PlacesRetriever

    settings, models = supplies.settings, supplies.models
    return PlacesRetriever(
        supplies.map,
        deadline=settings.search_timeout,
        wanted=supplies.wanted,
        explore=models.explore if models else None,
        budget=settings.amap_calls,
        clock=supplies.clock,
    )


SOURCE = Source(
    name="places",
    kind="place",
    prompt="a map service that knows places in mainland China: where something is, what of a kind "
    "is near or in a place, opening hours, ratings, the way between two places, the weather; one "
    "sentence that names the place and what is looked for, in Chinese; empty unless the question "
    "wants such places",
    build=_build,
    icon="map",
    usual=lambda standing: standing.state != "missing",
    asked="place",
    told="places",
    adds=("export AMAP_MAPS_API_KEY=YOUR_KEY", ""),
    node="amap_research",
)
