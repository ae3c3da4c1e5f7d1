"""Comparison of the shipped model names, redirects and prices with a provider's list of models."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Any

from pydantic import Field

from research.core.records import Failure, Record
from research.models import context_lengths, lifecycle, prices
from research.models.lifecycle import model_aliases, model_redirects, resolve_name, shut_down_models
from research.models.prices import priced_names

_MODEL_NAME = re.compile(r"[\w.:/@-]{1,200}")


class NameCheck(Record):
    """A model name in use, and its uses. `is_listed` is True if the list of the provider has it."""

    name: str
    uses: tuple[str, ...]
    is_listed: bool


class ModelComparison(Record):
    """The model names in use, and the listed ones without a price (`unpriced`).

    `dates` are the days on which each table was looked up; `failure` is the reason why there is no
    list.
    """

    dates: Mapping[str, date] = Field(default_factory=dict)
    names: tuple[NameCheck, ...] = ()
    unpriced: tuple[str, ...] = ()
    failure: Failure | None = None


def compare_names(listed_names: Collection[str], used_names: Iterable[tuple[str, str]], day: date) -> ModelComparison:
    """Compare a list of Gemini's models with the names in use on a day.

    Args:
        listed_names: Names of models, with or without "models/" before them.
        used_names: Pairs of a name that has to work and its use. Aliases, redirect targets, and
            models with a price that still answer themselves are added.
        day: Redirects that begin later are ignored.
    """
    listed = {name.removeprefix("models/") for name in listed_names}
    uses: dict[str, list[str]] = {}
    for name, use in used_names:
        uses.setdefault(name, []).append(use)
    for alias, name in model_aliases().items():
        uses.setdefault(name, []).append(f"alias {alias}")
    for old, redirect in model_redirects().items():
        uses.setdefault(redirect.model, []).append(f"answers for {old}")
    priced = {name for name in priced_names() if resolve_name(name, day) == name and name not in shut_down_models()}
    for name in priced:
        uses.setdefault(name, []).append("price")
    return ModelComparison(
        dates={
            "names": lifecycle.names_as_of(),
            "prices": prices.prices_as_of(),
            "contexts": context_lengths.contexts_as_of(),
        },
        names=tuple(
            NameCheck(name=name, uses=tuple(name_uses), is_listed=name in listed)
            for name, name_uses in sorted(uses.items())
        ),
        unpriced=tuple(
            sorted(
                name
                for name in listed - set(priced_names()) - set(model_aliases()) - set(model_redirects())
                if name.startswith("gemini-")
            )
        ),
    )


def parse_listing(text: str) -> list[str]:
    """Parse model names from the JSON of a provider's list, or from lines with a name each.

    Known formats: {"models": [{"name": "models/x"}]} of Gemini, {"data": [{"id": "x"}]} of OpenAI,
    and a list of such entries or of names.

    Raises:
        ValueError: There is no name in it.
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = [line.split("#")[0].strip() for line in text.splitlines()]
    if isinstance(parsed, dict):
        parsed = parsed.get("models") or parsed.get("data")
    entries: list[Any] = parsed if isinstance(parsed, list) else []
    names = [entry.get("name") or entry.get("id") if isinstance(entry, dict) else entry for entry in entries]
    listed = [name for name in names if isinstance(name, str) and _MODEL_NAME.fullmatch(name)]
    if not listed:
        raise ValueError("it has no names of models")
    return listed
