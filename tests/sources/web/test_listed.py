"""One contract for every search service of the table, each with an answer in its own format."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from research.core import settings
from research.core.errors import ServiceError
from research.core.events import dump_event, ignore_event
from research.core.providers import SearchService, search_services
from research.sources.base import Dependencies
from research.sources.web.json_search import MAX_QUERY_CHARS, JSONSearch
from research.sources.web.provider_factory import build_providers
from tests.servers.search import Asked, Service
from tests.tables import each_row

NOW = datetime(2026, 11, 25, 9, 30, tzinfo=UTC)
KEY = "sentinel-key-0123456789"
ANSWERS: dict[str, Any] = json.loads(Path(__file__).with_name("searches.json").read_text(encoding="utf-8"))
NAMES = list(search_services())


class Fake(Service):
    """A search service that answers what it is given."""

    def answer(self, asked: Asked) -> Any:
        return self.results


@pytest.fixture
def server() -> Iterator[Fake]:
    with Fake() as fake:
        yield fake


@pytest.fixture(params=NAMES)
def service(request: pytest.FixtureRequest) -> SearchService:
    return search_services()[request.param]


@pytest.fixture
async def listed(service: SearchService, server: Fake) -> AsyncIterator[JSONSearch]:
    server.results = ANSWERS[service.name]
    made = JSONSearch(service, KEY, url=f"{server.base_url}/search", max_results=3, timeout_seconds=2, clock=lambda: NOW)  # fmt: skip
    yield made
    await made.close()


def test_every_service_of_the_table_has_an_answer_to_be_tried_with() -> None:
    assert sorted(ANSWERS) == sorted(NAMES)


async def test_a_result_is_evidence_with_its_text_as_the_passage(
    listed: JSONSearch, service: SearchService, server: Fake
) -> None:
    said: list[dict[str, Any]] = []
    (item,) = (await listed.search(" west lake ", lambda event: said.append(dump_event(event)[1]))).evidence
    assert (item.title, item.url, item.published) == (
        "West Lake", "https://www.example.org/lake", date(2026, 3, 2),
    )  # fmt: skip
    assert item.passages[0].text == "The lake is free & open."
    asked = server.last
    assert asked.method == service.method
    sent = asked.query if service.method == "GET" else asked.body
    assert "west lake" in sent.values()
    assert 3 in sent.values() or "3" in sent.values()
    name, before = service.header
    assert asked.headers[name.lower()] == before + KEY
    assert KEY not in json.dumps(sent)
    assert [(one["stage"], one["model"], one["searches"]) for one in said] == [("search", service.name, 1)]  # fmt: skip


async def test_a_long_query_is_shortened_and_said_to_be(listed: JSONSearch, server: Fake) -> None:
    found = await listed.search("lake " * 200, ignore_event)
    assert [len(asked) for asked in found.executed_queries] == [MAX_QUERY_CHARS]
    assert "shortened" in found.message


@pytest.mark.parametrize(
    ("status", "reason"), [(401, "refused"), (403, "refused"), (429, "quota"), (500, "unavailable")]
)
async def test_a_refusal_is_told_by_its_status(listed: JSONSearch, server: Fake, status: int, reason: str) -> None:
    server.status, server.error = status, {"message": f"bad key {KEY}"}
    with pytest.raises(ServiceError) as caught:
        await listed.search("x", ignore_event)
    assert caught.value.reason == reason
    assert KEY not in caught.value.message


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("html", "malformed"), ("broken", "malformed"), ("list", "malformed"), ("empty", "malformed"),
     ("drops", "unreachable")],
)  # fmt: skip
async def test_an_answer_that_is_none_is_told(listed: JSONSearch, server: Fake, fault: str, reason: str) -> None:
    server.fault = fault
    with pytest.raises(ServiceError) as caught:
        await listed.search("x", ignore_event)
    assert caught.value.reason == reason


async def test_no_answer_in_time_is_told(service: SearchService, server: Fake) -> None:
    server.fault = "hangs"
    slow = JSONSearch(service, KEY, url=server.base_url, timeout_seconds=0.2)
    with pytest.raises(ServiceError) as caught:
        await slow.search("x", ignore_event)
    assert caught.value.reason == "timeout"
    await slow.close()


async def test_nothing_found_is_no_failure_and_a_reason_in_a_good_answer_is_one(
    listed: JSONSearch, server: Fake
) -> None:
    server.results = {"code": 200, "msg": "success"}
    assert (await listed.search("x", ignore_event)).evidence == ()
    server.results = {"errCode": 2005, "errMsg": "无效的密钥"}
    with pytest.raises(ServiceError, match="无效的密钥") as caught:
        await listed.search("x", ignore_event)
    assert caught.value.reason == "refused"


@each_row("name", NAMES)
def test_a_service_is_asked_where_its_key_is_set(name: str) -> None:
    one = search_services()[name]
    ready = {}
    for env in ({}, {one.key_setting: KEY}):
        own = settings.load_settings(env, data_dir=Path("unused"))
        found = {p.name: p.readiness() for p in build_providers(Dependencies(settings=own, model_clients=_NoClients(own)))}  # fmt: skip
        ready[bool(env)] = found[name]
    assert (ready[False].state, ready[False].detail) == ("missing", one.key_setting)
    assert ready[True].state == "live"
    assert KEY in own.secrets


class _NoClients:
    def __init__(self, own: settings.Settings) -> None:
        self.settings = own
