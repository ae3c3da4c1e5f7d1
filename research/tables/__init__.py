"""Cited tables: the value that a sentence gives for a column, and the comparison of values."""
