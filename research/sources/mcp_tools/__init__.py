"""The servers of `mcp.json`: each is a source, and its tools are how it is searched."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from research.core.i18n import message
from research.core.tool_servers import ToolServer
from research.sources.base import Retriever, Source, Supplies


def _build(server: ToolServer, supplies: Supplies) -> Retriever:
    from research.sources.mcp_tools.retriever import ToolsRetriever

    settings, models = supplies.settings, supplies.models
    return ToolsRetriever(
        server,
        supplies.tools[server.source],
        deadline=settings.search_timeout,
        passages=settings.passages_per_search,
        explore=models.explore if models else None,
        clock=supplies.clock,
    )


def described(servers: Iterable[ToolServer]) -> tuple[Source, ...]:
    """Servers as sources. What their file says of them is held to be as foreign as what a package
    says of its source."""
    return tuple(
        Source(
            name=one.source,
            kind="web",
            prompt=one.about or f"the tools of the MCP server {one.label}",
            build=partial(_build, one),
            label={"zh": one.label, "en": one.label},
            about={
                "zh": message("mcp.about", "zh", name=one.label),
                "en": message("mcp.about", "en", name=one.label),
            },
            icon="handyman",
            usual=lambda standing: standing.state == "live",
            foreign=True,
        )
        for one in servers
    )
