"""Parsers that turn untrusted files into text and tables, in child processes with limits."""
