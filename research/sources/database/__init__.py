"""A database: the scenic areas that ship, or the analyst's own."""

from __future__ import annotations

from research.sources.base import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.sources.database.retriever import DatabaseRetriever

    desk = supplies.databases("", "")
    return DatabaseRetriever(
        desk, title=desk.title, clock=supplies.clock, choose=supplies.databases
    )


SOURCE = Source(
    name="database",
    kind="database",
    prompt="a database, of China's 5A scenic areas (where they are, when they were rated, tickets, "
    "opening hours, distances) or of the analyst's own; one whole question in plain words that names "
    "what is counted, listed, compared or near; empty unless such rows help",
    build=_build,
    icon="database",
    # Rules ask it only what its tables can tell; a model would ask it more than that.
    usual=lambda standing: standing.state != "missing" and not standing.models,
    asked="question",
    told="rows",
    adds=("", "export DATABASE_URL=sqlite:////folder/own.db"),
)
