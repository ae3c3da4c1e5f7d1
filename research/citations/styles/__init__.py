"""Parsers for citation marks in any style and for lists of sources in Markdown reports."""
