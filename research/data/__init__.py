"""Access to the data tables that ship with the package.

This module knows nothing of their use. A line that begins with # is a comment.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


def text(name: str) -> str:
    """Return the content of a file in this folder."""
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


@cache
def json_object(name: str) -> dict[str, Any]:
    """Return the object in a JSON file of this folder, read once."""
    content: dict[str, Any] = json.loads(text(name))
    return content


def lines(name: str) -> list[str]:
    """Return the lines of a table, without empty lines and comments."""
    return [line for line in text(name).splitlines() if line and line[0] != "#"]


def rows(name: str) -> list[list[str]]:
    """Return the cells of each row of a table with tab-separated columns."""
    return [line.split("\t") for line in lines(name)]


@cache
def words(name: str) -> dict[str, str]:
    """Return the word lists of a file in `words`, by heading.

    Below each heading stand alternatives, which may be patterns, separated by "|" or the end of the
    line. Each returned list separates them by "|".
    """
    lists: dict[str, str] = {}
    for block in "\n".join(lines(f"words/{name}.txt")).split("== ")[1:]:
        heading, _, alternatives = block.partition("\n")
        lists[heading] = alternatives.strip().replace("\n", "|")
    return lists
