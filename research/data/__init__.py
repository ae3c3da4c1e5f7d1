"""The tables that ship with the program, and the one way to read them.

Knows nothing of what they are for. A line that begins with # says something about its table.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def text(name: str) -> str:
    """A file of this folder as it is."""
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")


def lines(name: str) -> list[str]:
    """The lines of a table, without those that are empty or about it."""
    return [line for line in text(name).splitlines() if line and line[0] != "#"]


def rows(name: str) -> list[list[str]]:
    """The rows of a table of which the columns are divided by tabs."""
    return [line.split("\t") for line in lines(name)]


def named(name: str) -> dict[str, Any]:
    """The named texts, lists and tables of a TOML file."""
    return tomllib.loads(text(name))
