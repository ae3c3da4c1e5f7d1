"""The servers of `mcp.json`: each is a source, and its tools are how it is searched."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from research.core.i18n import message
from research.core.tool_servers import ToolServer
from research.sources.base import Dependencies, Retriever, Source


def _build_retriever(server: ToolServer, dependencies: Dependencies) -> Retriever:
    from research.sources.mcp_tools.retriever import MCPRetriever

    settings, models = dependencies.settings, dependencies.model_tasks
    return MCPRetriever(
        server,
        dependencies.get_tool_session[server.source_name],
        timeout_seconds=settings.search_timeout,
        max_passages=settings.passages_per_search,
        explorer=models.explore if models else None,
        clock=dependencies.clock,
    )


def build_sources(servers: Iterable[ToolServer]) -> tuple[Source, ...]:
    """Servers as sources. What their file says of them is held to be as foreign as what a package
    says of its source."""
    return tuple(
        Source(
            name=one.source_name,
            kind="web",
            prompt_phrase=one.about or f"the tools of the MCP server {one.label}",
            build=partial(_build_retriever, one),
            label={"zh": one.label, "en": one.label},
            description={
                "zh": message("mcp.about", "zh", name=one.label),
                "en": message("mcp.about", "en", name=one.label),
            },
            icon="handyman",
            is_default=lambda standing: standing.state == "live",
            is_external=True,
        )
        for one in servers
    )
