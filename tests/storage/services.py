"""The services that the program used when it filled the archive, as servers on this machine.

The same servers answer when a test goes on with what the archive holds, so that their logs show
which searches were paid for again.
"""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from typing import Any, Self

from research import Column, Grid, Row
from tests.servers.amap import FakeAmap
from tests.servers.brain import Ask, Brain
from tests.servers.news import FakeTavilyNews
from tests.servers.openai import FakeOpenAI

KEY = "sk-remembered-0123456789"  # a secret that is stored, and shown nowhere
MODEL = "openai:gpt-fake"
FOUNDED = "The tower was founded in 1925"
TOWER_TEXTS = (
    f"{FOUNDED}. It has been open to the public since, and is 71.7 metres high.",
    f"{FOUNDED}. A ticket costs 40 yuan and the doors open at 9:00.",
)


def tower_table(title: str, *names: str) -> Grid:
    """Some towers by two columns; nothing is ever found for the second column."""
    rows = tuple(Row(id=f"r{n}", name=name) for n, name in enumerate(names, 1))
    columns = (
        Column(id="c1", name="founded", type="date"),
        Column(id="c2", name="price of the lift", type="number"),
    )
    return Grid(title=title, rows=rows, columns=columns)


class TableBrain(Brain):
    """A model that fills each cell for which there is material with the year of the foundation."""

    def reply(self, ask: Ask, fault: str = "") -> str:
        if self.stage(ask) != "cells":
            return super().reply(ask, fault)
        groups = re.split(r"^### ", ask.user, flags=re.M)[1:]
        handles = [re.findall(r"\[@([0-9a-f]{4,8})\]", group) for group in groups]
        cells = [
            {"column": number, "value": "1925", "quote": FOUNDED, "source": found[0]}
            for number, found in enumerate(handles, 1)
            if found
        ]
        return json.dumps({"cells": cells, "which": []})


class Services:
    """A model, a search service for the web and the news, and a map."""

    def __init__(self) -> None:
        self.model = FakeOpenAI()
        self.model.brain = TableBrain()
        self.search = FakeTavilyNews(results=search_results)
        self.map = FakeAmap()
        self._servers = ExitStack()

    def __enter__(self) -> Self:
        for server in (self.model, self.search, self.map):
            self._servers.enter_context(server)
        return self

    def __exit__(self, *_: object) -> None:
        self._servers.close()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that point the program at these servers."""
        roles = ("QUERY_GENERATOR", "REFLECTION", "ANSWER", "WEB_SEARCH", "CHECK")
        return {
            **{f"{role}_MODEL": MODEL for role in roles},
            "OPENAI_BASE_URL": self.model.base_url,
            "TAVILY_API_KEY": "tvly-archive-0123456789",
            "TAVILY_BASE_URL": self.search.base_url,
            "WEB_SEARCH": "tavily",
            "AMAP_MAPS_API_KEY": "amap-archive-0123456789",
            "AMAP_BASE_URL": self.map.base_url,
            "SIGHTLINE_CHECK": "model",
            "SIGHTLINE_MODEL_ATTEMPTS": "1",
            "SIGHTLINE_WORKERS": "0",
            "SIGHTLINE_STARTS_PER_MINUTE": "0",
        }

    @property
    def queries(self) -> list[str]:
        """The queries that the search service has received, in order."""
        return [str(body["query"]) for body in self.search.bodies]

    def hang(self, *words: str) -> None:
        """Leave the searches whose query contains one of these words without an answer."""
        self.search.odd = {word: {"fault": "hangs"} for word in words}


def search_results(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Build two results for a query; their text depends on nothing but the query."""
    query = str(body["query"])
    if "price" in query:  # the cell that stays empty
        return []
    subject = "-".join(query.lower().split())[:60]
    return [
        {
            "title": f"Paper {n} on {query[:60]}",
            "url": f"https://paper{n}.example/{subject}",
            "content": f"Paper {n} reports on {query[:60]}. {text}",
            "score": round(0.99 - n / 100, 2),
            "raw_content": None,
            "published_date": f"Wed, {17 + n} Nov 2026 08:00:00 GMT",
        }
        for n, text in enumerate(TOWER_TEXTS, 1)
    ]
