"""What is asked of Amap and what is not: checked arguments, kept answers and the day's account.

The service talks through its real MCP session to a copy of Amap on this machine.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from pydantic import SecretStr

from research.core.errors import ServiceError
from research.core.events import RunEvent, UsageRecorded, dump_event
from research.core.settings import Settings
from research.sources.places.amap import AmapBackend
from research.sources.places.server import build_server
from research.sources.places.service import MAX_ATTEMPTS, MapService, ToolResult
from research.sources.places.tools import MapBackend
from research.storage.store import Store
from tests.fakes import until
from tests.servers.amap import FakeAmap

KEY = "sentinel+amap/0123456789"
HERE, THERE = "116.410894,39.911514", "116.397545,39.908699"
PARKS = {"location": HERE, "radius": "2000", "keywords": "公园"}
MUSEUMS = PARKS | {"keywords": "博物馆"}
NOON = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)  # in Beijing
Opened = Callable[..., MapService]


class Clock:
    """A time that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def on(self, **more: float) -> None:
        self.now += timedelta(**more)


@pytest.fixture
def fake() -> Iterator[FakeAmap]:
    with FakeAmap() as server:
        yield server


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def services(tmp_path: Path, fake: FakeAmap, clock: Clock) -> AsyncIterator[Opened]:
    """Opens services on one store, each as a new process would."""
    opened: list[tuple[MapService, Store]] = []

    def service(**settings: Any) -> MapService:
        given: dict[str, Any] = {
            "data_dir": tmp_path,
            "amap_key": SecretStr(KEY),
            "amap_url": fake.base_url,
        }
        store = Store(tmp_path / "runs.db")
        opened.append((MapService(Settings(**given | settings), store, clock), store))
        return opened[-1][0]

    yield service
    for made, store in opened:
        await made.close()
        store.close()


async def refused(service: MapService, tool: str = "maps_around_search", **given: Any) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        await service.call_tool(tool, given or PARKS)
    return caught.value


def names(told: ToolResult) -> set[str]:
    return {place.name for place in told.places}


# Arguments


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("maps_around_search", {"location": "王府井"}, "location is '王府井'"),
        ("maps_around_search", {"location": "39.911514,116.410894"}, "longitude comes first"),
        ("maps_around_search", {"keywords": "公园"}, "location is missing"),
        ("maps_around_search", {"location": HERE, "radius": "far"}, "number of metres"),
        ("maps_text_search", {"keywords": " "}, "keywords must not be empty"),
        ("maps_geo", {"address": "undefined"}, "which is no value"),
        ("maps_geo", {}, "address is missing"),
        ("maps_search_detail", {"id": "../etc"}, "id must be the id of a place"),
        ("maps_teleport", {"to": "王府井"}, "there is no tool 'maps_teleport'"),
    ],
)
async def test_what_cannot_be_asked_is_refused_in_words_before_anything_is_sent(
    services: Opened, fake: FakeAmap, tool: str, arguments: dict[str, str], words: str
) -> None:
    service = services()
    with pytest.raises(ServiceError) as caught:
        await service.call_tool(tool, arguments)
    assert caught.value.reason == "refused"
    assert words in caught.value.message
    assert fake.log == []
    assert service.searches_left() == (100, 100)


async def test_an_answer_is_read_in_the_coordinates_of_the_world(services: Opened) -> None:
    told = await services().call_tool("maps_around_search", PARKS)
    assert names(told) == {"皇城根遗址公园", "中山公园"}
    (park,) = (place for place in told.places if place.id == "B069769852")
    assert (round(park.lng, 3), round(park.lat, 3)) == (116.400, 39.916)  # Amap: 116.406, 39.917
    assert (told.fetched_at, told.is_sample, told.unlocated_count) == (NOON, False, 0)


# Answers that are kept


async def test_an_answer_is_not_asked_for_again_until_it_is_too_old(
    services: Opened, fake: FakeAmap, clock: Clock
) -> None:
    service = services(amap_cache_hours=2)
    first = await service.call_tool("maps_around_search", PARKS)
    clock.on(minutes=119)
    again = await service.call_tool("maps_around_search", dict(reversed(PARKS.items())))
    assert (again.places, again.fetched_at) == (first.places, NOON)
    assert len(fake.log) == 1
    clock.on(minutes=2)
    late = await service.call_tool("maps_around_search", PARKS)
    assert len(fake.log) == 2
    assert late.fetched_at == clock.now


async def test_an_answer_is_kept_by_place_radius_and_keywords(services: Opened, fake: FakeAmap) -> None:
    service = services()
    for changed in ({}, {"keywords": "博物馆"}, {"radius": "3000"}, {"location": THERE}) * 2:
        await service.call_tool("maps_around_search", PARKS | changed)
    assert len(fake.log) == 4


async def test_a_new_process_has_the_answers_of_the_one_before_it(
    services: Opened, fake: FakeAmap, clock: Clock
) -> None:
    first = await services().call_tool("maps_around_search", PARKS)
    clock.on(hours=3)
    later = services()
    again = await later.call_tool("maps_around_search", PARKS)
    assert (again.places, again.fetched_at) == (first.places, NOON)
    assert len(fake.log) == 1
    assert later.searches_left() == (99, 100)


async def test_with_no_hours_every_search_is_asked_for(services: Opened, fake: FakeAmap) -> None:
    service = services(amap_cache_hours=0)
    for _ in range(2):
        await service.call_tool("maps_around_search", PARKS)
    assert len(fake.log) == 2


async def test_what_changes_by_the_minute_is_always_asked_for(services: Opened, fake: FakeAmap) -> None:
    service = services()
    for _ in range(2):
        await service.call_tool("maps_weather", {"city": "北京"})
        await service.call_tool("maps_direction_walking", {"origin": HERE, "destination": THERE})
    assert len(fake.log) == 4


async def test_two_that_ask_the_same_at_once_share_one_call(services: Opened, fake: FakeAmap) -> None:
    service = services()
    fake.waits = 0.2
    told = await asyncio.gather(
        *(service.call_tool("maps_around_search", PARKS) for _ in range(4)),
        service.call_tool("maps_around_search", MUSEUMS),
    )
    assert len(fake.log) == 2
    assert fake.together == 2
    assert len({item.places for item in told[:4]}) == 1
    assert service.searches_left() == (98, 100)


async def test_a_failure_is_not_kept(services: Opened, fake: FakeAmap) -> None:
    service = services()
    fake.fail("around", "html502")
    assert (await refused(service)).reason == "unavailable"
    fake.fail("around", "ok")
    assert names(await service.call_tool("maps_around_search", PARKS))


async def test_another_server_s_answers_are_its_own(services: Opened, fake: FakeAmap) -> None:
    await services().call_tool("maps_around_search", PARKS)
    with FakeAmap() as other:
        await services(amap_url=other.base_url).call_tool("maps_around_search", PARKS)
        assert len(other.log) == 1
    assert len(fake.log) == 1


# The day's account


async def test_only_searches_count(services: Opened, fake: FakeAmap) -> None:
    service = services()
    await service.call_tool("maps_geo", {"address": "王府井"})
    await service.call_tool("maps_regeocode", {"location": HERE})
    await service.call_tool("maps_distance", {"origins": HERE, "destination": THERE})
    await service.call_tool("maps_direction_driving", {"origin": HERE, "destination": THERE})
    await service.call_tool("maps_weather", {"city": "北京"})
    assert service.searches_left() == (100, 100)
    await service.call_tool("maps_around_search", PARKS)
    await service.call_tool("maps_text_search", {"keywords": "博物馆", "city": "北京"})
    await service.call_tool("maps_search_detail", {"id": "B0FFH2K7QD"})
    assert service.searches_left() == (97, 100)
    assert len(fake.log) == 8


async def test_each_search_is_told_as_usage(services: Opened) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    service = services()

    def say(event: RunEvent, /) -> None:
        heard.append(dump_event(event))

    for _ in range(2):  # the second answer costs nothing
        await service.call_tool("maps_geo", {"address": "王府井"}, say)
        await service.call_tool("maps_around_search", PARKS, say)
    assert heard == [dump_event(UsageRecorded(stage="search", model="amap", searches=1, cost=0.0))]


async def test_at_the_limit_nothing_is_sent_and_the_setting_is_named(services: Opened, fake: FakeAmap) -> None:
    service = services(amap_daily_searches=2)
    await service.call_tool("maps_around_search", PARKS)
    await service.call_tool("maps_around_search", MUSEUMS)
    trouble = await refused(service, **PARKS | {"keywords": "书店"})
    assert trouble.reason == "quota"
    assert "AMAP_DAILY_SEARCHES" in trouble.message
    assert (len(fake.log), service.searches_left()) == (2, (0, 2))
    await service.call_tool("maps_around_search", PARKS)  # what is known is still there
    await service.call_tool("maps_geo", {"address": "王府井"})
    assert fake.paths()[2:] == ["v3/geocode/geo"]


async def test_searches_at_once_cannot_pass_the_limit(services: Opened, fake: FakeAmap) -> None:
    service = services(amap_daily_searches=2)
    fake.waits = 0.1
    asked = [PARKS | {"keywords": word} for word in ("公园", "博物馆", "书店", "商场")]
    told = await asyncio.gather(
        *(service.call_tool("maps_around_search", given) for given in asked), return_exceptions=True
    )
    troubles = [item.reason for item in told if isinstance(item, ServiceError)]
    assert troubles == ["quota", "quota"]
    assert (len(fake.log), service.searches_left()) == (2, (0, 2))


async def test_the_day_is_that_of_beijing(services: Opened, clock: Clock) -> None:
    service = services(amap_cache_hours=0)
    clock.now = datetime(2026, 11, 21, 15, 59, tzinfo=UTC)
    await service.call_tool("maps_around_search", PARKS)
    assert service.searches_left() == (99, 100)
    clock.on(minutes=1)
    assert service.searches_left() == (100, 100)
    clock.now = datetime(2026, 11, 20, 16, 0, tzinfo=UTC)
    assert service.searches_left() == (99, 100)


async def test_each_key_has_an_account_of_its_own_and_is_not_in_the_store(services: Opened, tmp_path: Path) -> None:
    other = "another-amap-key-abcdef"
    await services().call_tool("maps_around_search", PARKS)
    await services(amap_key=SecretStr(other)).call_tool("maps_around_search", MUSEUMS)
    third = services(amap_key=SecretStr("a-third-key-0123"))
    assert [s.searches_left() for s in (services(), services(amap_key=SecretStr(other)), third)] == [
        (99, 100), (99, 100), (100, 100),
    ]  # fmt: skip
    with sqlite3.connect(tmp_path / "runs.db") as db:
        dump = "\n".join(db.iterdump())
    db.close()
    assert "公园" in dump
    stored = bytes_of(tmp_path)
    for key in (KEY, other, "sentinel", "a-third-key"):
        assert key not in dump
        assert key.encode() not in stored


async def test_without_a_limit_nothing_is_left_to_be_told(services: Opened) -> None:
    service = services(amap_daily_searches=0)
    await service.call_tool("maps_around_search", PARKS)
    assert service.searches_left() is None


async def test_a_search_that_never_arrived_does_not_count(services: Opened) -> None:
    service = services(amap_url="http://127.0.0.1:9")
    assert (await refused(service)).reason == "unreachable"
    assert service.searches_left() == (100, 100)


async def test_a_search_that_is_cut_off_was_sent_and_counts(services: Opened, fake: FakeAmap) -> None:
    service = services()
    await service.call_tool("maps_geo", {"address": "王府井"})
    fake.fail("around", "hang")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await service.call_tool("maps_around_search", PARKS)
    assert len(fake.log) == 2
    assert service.searches_left() == (99, 100)


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("runs.db*"))


# Without a key


async def test_the_table_costs_nothing_and_is_not_kept(services: Opened, tmp_path: Path, fake: FakeAmap) -> None:
    service = services(amap_key=SecretStr(""))
    told = await service.call_tool("maps_around_search", PARKS)
    assert told.is_sample
    assert names(told)
    assert (service.is_offline, service.searches_left(), service.missing_setting) == (True, None, "")
    with sqlite3.connect(tmp_path / "runs.db") as db:
        kept = [db.execute(f"select count(*) from {t}").fetchone()[0] for t in ("lookup", "account")]  # fmt: skip
    db.close()
    assert (kept, fake.log) == ([0, 0], [])


@pytest.mark.parametrize("server", ["npm", "hosted"])
async def test_a_server_that_needs_a_key_says_which(services: Opened, server: str) -> None:
    service = services(amap_key=SecretStr(""), amap_mcp=server)
    assert (service.is_offline, service.searches_left(), service.missing_setting) == (False, None, "AMAP_MAPS_API_KEY")
    trouble = await refused(service)
    assert (trouble.reason, trouble.hint) == ("no key", "key")


# What Amap says when it does not answer


async def test_a_rate_limit_is_waited_for(services: Opened, fake: FakeAmap) -> None:
    service, heard = services(), []

    def say(event: RunEvent, /) -> None:
        heard.append(dump_event(event))
        fake.fail("around", "ok")

    fake.fail("around", "qps")
    told = await service.call_tool("maps_around_search", PARKS, say)
    assert names(told)
    assert len(fake.log) == 2
    (waiting,) = (data for kind, data in heard if kind == "retry_scheduled")
    assert waiting == {"stage": "search", "seconds": 1.0, "reason": "quota", "service": "amap"}


@pytest.mark.slow
async def test_a_rate_limit_that_stays_ends_the_search(services: Opened, fake: FakeAmap) -> None:
    fake.fail("around", "qps")
    trouble = await refused(services())
    assert (trouble.reason, len(fake.log)) == ("quota", MAX_ATTEMPTS)


@pytest.mark.parametrize(
    ("fault", "reason", "hint"),
    [
        ("key", "refused", "key"),
        ("platform", "refused", "key"),
        ("quota", "quota", ""),
        ("engine", "empty", ""),
        ("html200", "malformed", "endpoint"),
        ("drop", "unreachable", ""),
    ],
)
async def test_what_waiting_cannot_mend_is_told_at_once(
    services: Opened, fake: FakeAmap, fault: str, reason: str, hint: str
) -> None:
    fake.fail("around", fault)
    trouble = await refused(services())
    assert trouble.reason == reason
    assert trouble.hint == hint
    assert len(fake.log) == 1
    assert KEY not in str(trouble)


async def test_the_timeout_is_how_long_a_call_may_take(services: Opened, fake: FakeAmap) -> None:
    fake.waits = 0.6
    assert (await refused(services(amap_timeout=0.2))).reason == "timeout"
    assert names(await services(amap_timeout=5).call_tool("maps_around_search", PARKS))


# A server whose searches tell no locations, as those of Amap's own


class Bare(AmapBackend):
    """Searches with ids and names alone."""

    async def search_around(self, location: str, radius: int = 1000, keywords: str = "") -> dict[str, Any]:
        found = await super().search_around(location, radius, keywords)
        rows = [{"id": row["id"], "name": row["name"]} for row in found["pois"]]
        return {"pois": rows}


@contextmanager
def hosted(backend: MapBackend) -> Iterator[str]:
    """A server of the tools on a port of this machine, with its address."""
    app = build_server(backend).streamable_http_app()
    config = uvicorn.Config(app, port=0, log_level="error", ws="none", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    async def serve() -> None:
        await server.serve()
        await backend.close()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.should_exit = True
        thread.join(60)


@pytest.fixture
def bare(fake: FakeAmap) -> Iterator[str]:
    with hosted(Bare(KEY, base_url=fake.base_url)) as address:
        yield address


ALL = PARKS | {"keywords": ""}


async def test_places_without_a_location_are_looked_up_as_far_as_the_setting_allows(
    bare: str, services: Opened, fake: FakeAmap
) -> None:
    service = services(amap_mcp=bare, amap_detail_calls=3)
    told = await service.call_tool("maps_around_search", ALL)
    assert fake.paths().count("v3/place/detail") == 3
    assert len(told.places) == 3
    assert told.unlocated_count == 11
    assert all(place.distance is not None and place.distance < 2_000 for place in told.places)
    assert service.searches_left() == (96, 100)
    wider = services(amap_mcp=bare, amap_detail_calls=5)
    assert len((await wider.call_tool("maps_around_search", ALL)).places) == 5
    assert fake.paths().count("v3/place/detail") == 5  # three of them are known
    assert fake.paths().count("v3/place/around") == 1


async def test_without_details_nothing_has_a_location(bare: str, services: Opened, fake: FakeAmap) -> None:
    told = await services(amap_mcp=bare, amap_detail_calls=0).call_tool("maps_around_search", ALL)
    assert (told.places, told.unlocated_count) == ((), 14)
    assert fake.paths() == ["v3/place/around"]


async def test_details_that_the_day_has_no_search_for_leave_places_out(
    bare: str, services: Opened, fake: FakeAmap
) -> None:
    told = await services(amap_mcp=bare, amap_daily_searches=3).call_tool("maps_around_search", ALL)
    assert (len(told.places), told.unlocated_count, len(fake.log)) == (2, 12, 3)


async def test_details_that_all_fail_are_told_and_those_that_are_not_there_are_left_out(
    bare: str, services: Opened, fake: FakeAmap
) -> None:
    fake.fail("detail", "quota")
    assert (await refused(services(amap_mcp=bare))).reason == "quota"
    fake.fail("detail", "empty")
    told = await services(amap_mcp=bare).call_tool("maps_around_search", PARKS)
    assert (told.places, told.unlocated_count) == ((), 2)


@pytest.mark.slow
async def test_what_a_known_detail_says_is_as_old_as_the_detail(
    bare: str, services: Opened, fake: FakeAmap, clock: Clock
) -> None:
    service = services(amap_mcp=bare)
    await service.call_tool("maps_search_detail", {"id": "B069769852"})
    clock.on(hours=5)
    told = await service.call_tool("maps_around_search", PARKS)
    assert told.fetched_at == NOON
    assert fake.paths().count("v3/place/detail") == 2
