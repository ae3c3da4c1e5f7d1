"""Library source: the analyst's own documents, or the sample documents shipped with the package."""

from __future__ import annotations

from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(dependencies: Dependencies) -> Retriever:
    from research.sources.library.retriever import LibraryRetriever

    return LibraryRetriever(
        dependencies.library, dependencies.settings.passages_per_search, notebooks=dependencies.list_notebooks
    )


SOURCE = Source(
    name="library",
    kind="library",
    prompt_phrase="the analyst's own documents",
    build=_build_retriever,
    icon="library_books",
    # Sample documents are selected by default only when no remote source is.
    is_default=lambda status: status.state == "live" or status.no_remote_default,
    is_local=True,
)
