"""Whether rules see that a question wants places on a map: a labelled set, half of it traps.

`place` counts a wish if the place is exactly the labelled one, `keyword` if the labelled keyword is
among those of the map search.

Where Node is there (see `tests.servers.npm`), also how long Amap's own npm server takes, over a copy
of Amap on this machine: its start, and then the nine calls of a question with four details a keyword.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from research.core import settings
from research.sources.places.amap_sessions import AmapSession, session_factory
from research.sources.places.questions import PlaceQuery, parse_place_query
from tests.benchmarks.figures import Figure
from tests.servers.amap import PLACES, FakeAmap
from tests.servers.npm import environment, lacking

TARGET = 0.95
LANGUAGES = {"zh": "Chinese", "en": "English"}
NINE = 1.0  # seconds for nine calls
HERE = "116.410894,39.911514"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, and the place and one keyword of its wish if it wants a map, and what it asks of it."""

    id: str
    language: str
    question: str
    wanted: bool
    place: str = ""
    keyword: str = ""
    act: str = "near"


def questions() -> list[Labelled]:
    path = Path(__file__).with_name("places.json")
    return [Labelled(**row) for row in json.loads(path.read_text(encoding="utf-8"))]


def figures() -> Iterator[Figure]:
    asked = questions()
    for language, title in LANGUAGES.items():
        read = [(q, parse_place_query(q.question)) for q in asked if q.language == language]
        right = [(q, wish) for q, wish in read if q.wanted and wish]
        missed = [q.id for q, wish in read if q.wanted and not wish]
        false = [q.id for q, wish in read if wish and not q.wanted]
        yield _figure(f"precision, {title}", len(right), false)
        yield _figure(f"recall, {title}", len(right), missed)
        yield _share(f"place, {title}", right, [q.id for q, w in right if w.place != q.place])
        yield _share(
            f"keyword, {title}",
            right,
            [q.id for q, w in right if q.keyword not in ("", *w.keywords)],
        )

    if not lacking():
        with tempfile.TemporaryDirectory() as folder, FakeAmap() as fake:
            yield from asyncio.run(_npm(fake, Path(folder)))


async def _npm(fake: FakeAmap, folder: Path) -> list[Figure]:
    env = environment(fake, folder) | {"AMAP_MCP": "npm", "AMAP_TIMEOUT": "30"}
    session = AmapSession(session_factory(settings.load_settings(env, data_dir=folder)), 30)
    begun = time.monotonic()
    try:
        await session.start()
        started = time.monotonic()
        await session.call("maps_geo", {"address": "王府井"})
        around = ({"location": HERE, "keywords": word} for word in ("公园", "馆", "书店", "亲子"))
        await asyncio.gather(*(session.call("maps_around_search", one) for one in around))
        ids = ({"id": row[0]} for row in PLACES[:4])
        await asyncio.gather(*(session.call("maps_search_detail", one) for one in ids))
        ended = time.monotonic()
    finally:
        await session.close()
    return [
        Figure("npm server, start", started - begun, "s"),
        Figure("npm server, nine calls", ended - started, "s", target=NINE),
    ]


def _share(name: str, right: list[tuple[Labelled, PlaceQuery]], wrong: list[str]) -> Figure:
    return _figure(name, len(right) - len(wrong), wrong)


def _figure(name: str, good: int, wrong: list[str]) -> Figure:
    measured = good / max(1, good + len(wrong))
    return Figure(name, measured, target=TARGET, more=True, note=" ".join(wrong))
