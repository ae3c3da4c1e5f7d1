"""Servers of tools that speak MCP: how they are named, reached, asked and ended. Knows no source."""
