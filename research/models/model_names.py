"""Compares the names, routes and prices of models that ship with a provider's own list of models."""

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
    """A model that Sightline names: for what, and whether the provider's list has it."""

    name: str
    uses: tuple[str, ...]
    listed: bool


class ModelComparison(Record):
    """The models named here and whether they are listed, and the listed ones that have no price.

    `dates` are the days on which each table was looked up; `failure` tells why there was no list.
    """

    dates: Mapping[str, date] = Field(default_factory=dict)
    names: tuple[NameCheck, ...] = ()
    unpriced: tuple[str, ...] = ()
    failure: Failure | None = None


def compare_names(listed_names: Collection[str], used_names: Iterable[tuple[str, str]], day: date) -> ModelComparison:
    """Compare a list of Gemini's models with the names that Sightline has of them on a day.

    Args:
        listed: Names of models, with or without "models/" before them.
        used: Pairs of a name that has to work and what it is used for. Added to them are aliases, models
            that answer for others, and models with a price that still answer themselves.
        day: Routes that begin later are not followed yet.
    """
    offered = {name.removeprefix("models/") for name in listed_names}
    uses: dict[str, list[str]] = {}
    for name, use in used_names:
        uses.setdefault(name, []).append(use)
    for alias, name in model_aliases().items():
        uses.setdefault(name, []).append(f"alias {alias}")
    for old, route in model_redirects().items():
        uses.setdefault(route.model, []).append(f"answers for {old}")
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
            NameCheck(name=name, uses=tuple(for_what), listed=name in offered)
            for name, for_what in sorted(uses.items())
        ),
        unpriced=tuple(
            sorted(
                name
                for name in offered - set(priced_names()) - set(model_aliases()) - set(model_redirects())
                if name.startswith("gemini-")
            )
        ),
    )


def parse_listing(text: str) -> list[str]:
    """Read names of models from the JSON of a provider's list, or from lines with a name each.

    Known shapes: {"models": [{"name": "models/x"}]} of Gemini, {"data": [{"id": "x"}]} of OpenAI, and a
    list of such entries or of names.

    Raises:
        ValueError: There is no name in it.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = [line.split("#")[0].strip() for line in text.splitlines()]
    if isinstance(found, dict):
        found = found.get("models") or found.get("data")
    entries: list[Any] = found if isinstance(found, list) else []
    names = [e.get("name") or e.get("id") if isinstance(e, dict) else e for e in entries]
    listed = [name for name in names if isinstance(name, str) and _MODEL_NAME.fullmatch(name)]
    if not listed:
        raise ValueError("it has no names of models")
    return listed
