"""The tables that ship with the program, and the one way to read them.

Knows nothing of what they are for. A line that begins with # says something about its table.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


def text(name: str) -> str:
    """A file of this folder as it is."""
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def lines(name: str) -> list[str]:
    """The lines of a table, without those that are empty or about it."""
    return [line for line in text(name).splitlines() if line and line[0] != "#"]


def rows(name: str) -> list[list[str]]:
    """The rows of a table of which the columns are divided by tabs."""
    return [line.split("\t") for line in lines(name)]


@cache
def words(name: str) -> dict[str, str]:
    """The word lists of a file of `words`: below each heading the alternatives, which may be patterns and
    are divided by "|" or the end of the line. Each list by its heading, divided by "|"."""
    found: dict[str, str] = {}
    for block in "\n".join(lines(f"words/{name}.txt")).split("== ")[1:]:
        heading, _, alternatives = block.partition("\n")
        found[heading] = alternatives.strip().replace("\n", "|")
    return found
