"""Database source: the shipped scenic areas or an analyst's own database."""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _create_retriever(supplies: Dependencies) -> Retriever:
    from research.sources.database.retriever import DatabaseRetriever

    desk = supplies.get_database("", "")
    return DatabaseRetriever(desk, title=desk.title, clock=supplies.clock, choose_database=supplies.get_database)


SOURCE = Source(
    name="database",
    kind="database",
    prompt_phrase="a database, of China's 5A scenic areas (where they are, when they were rated, tickets, "
    "opening hours, distances) or of the analyst's own; one whole question in plain words that names "
    "what is counted, listed, compared or near; empty unless such rows help",
    build=_create_retriever,
    icon="database",
    # The rules select this source only for questions that its tables can answer; a model would
    # select it for more.
    is_default=lambda standing: standing.state != "missing" and not standing.has_model,
    query_type="question",
    result_type="rows",
    setup_commands=("", "export DATABASE_URL=sqlite:////folder/own.db"),
)
