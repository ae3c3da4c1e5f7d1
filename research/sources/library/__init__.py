"""The analyst's own documents, or the samples that ship."""

from __future__ import annotations

from research.sources.base import Retriever, Source, Supplies


def _build(supplies: Supplies) -> Retriever:
    from research.sources.library.retriever import LibraryRetriever

    return LibraryRetriever(
        supplies.library, supplies.settings.passages_per_search, notebooks=supplies.notebooks
    )


SOURCE = Source(
    name="library",
    kind="library",
    prompt="the analyst's own documents",
    build=_build,
    icon="library_books",
    # The samples are left out where there is anything better.
    usual=lambda standing: standing.state == "live" or standing.alone,
    local=True,
)
