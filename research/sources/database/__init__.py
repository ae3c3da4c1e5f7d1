"""Database source: the shipped scenic areas or an analyst's own database."""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(dependencies: Dependencies) -> Retriever:
    from research.sources.database.retriever import DatabaseRetriever

    database = dependencies.get_database("", "")
    return DatabaseRetriever(database, clock=dependencies.clock, choose_database=dependencies.get_database)


SOURCE = Source(
    name="database",
    kind="database",
    prompt_phrase="a database, of China's 5A scenic areas (where they are, when they were rated, tickets, "
    "opening hours, distances) or of the analyst's own; one whole question in plain words that names "
    "what is counted, listed, compared or near; empty unless such rows help",
    build=_build_retriever,
    icon="database",
    # The rules select this source only for questions that its tables can answer; a model would
    # select it for more.
    is_default=lambda status: status.state != "missing" and not status.has_model,
    query_type="question",
    result_type="rows",
    setup_commands=("", "export DATABASE_URL=sqlite:////folder/own.db"),
)
