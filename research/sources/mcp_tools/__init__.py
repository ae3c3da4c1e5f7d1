"""Sources for the MCP servers in `mcp.json`; each server is one source, searched with its tools."""

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
    """Return a source for each server.

    The texts in `mcp.json` are as untrusted as those of third-party packages.
    """
    return tuple(
        Source(
            name=server.source_name,
            kind="web",
            prompt_phrase=server.about or f"the tools of the MCP server {server.label}",
            build=partial(_build_retriever, server),
            label={"zh": server.label, "en": server.label},
            description={
                "zh": message("mcp.about", "zh", name=server.label),
                "en": message("mcp.about", "en", name=server.label),
            },
            icon="handyman",
            is_default=lambda status: status.state == "live",
            is_external=True,
        )
        for server in servers
    )
