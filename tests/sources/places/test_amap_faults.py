"""What becomes of a whole run when its map fails, by every way to Amap: an answer still comes, says
why there are no places, has no key in it, and leaves no process behind.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from research import report_json, report_markdown
from research.application import Application
from research.citations.numbering import number_report_answer
from research.core import settings
from research.core.coordinates import Point, distance_metres, from_gcj02
from research.core.errors import ServiceError
from research.core.records import Finding, Report, RunOptions
from tests.fakes import until
from tests.servers.amap import PLACES, FakeAmap
from tests.servers.npm import KEY, environment, lacking
from tests.servers.processes import MARK, marked
from tests.servers.processes import lacking as unseen

QUESTION = "王府井附近适合遛娃的好去处"
WANTED = RunOptions(sources=("places", "library"), loops=1, queries=1)
TRUTH = {row[0]: from_gcj02(Point(*map(float, row[5].split(",")))) for row in PLACES}
NODE = [pytest.mark.node] + [pytest.mark.skip(reason=lacking())] * bool(lacking())
NPM = pytest.param("npm", marks=NODE)
PROCESSES = ["stdio", NPM]
SERVERS = {"stdio": "-m research.sources.places.server", "npm": ".bin/mcp-amap"}
needs_proc = pytest.mark.skipif(bool(unseen()), reason=unseen())


class Bench:
    """A desk without a model, on one of the ways to a copy of Amap."""

    def __init__(self, folder: Path, route: str, fake: FakeAmap, env: Mapping[str, str]) -> None:
        self.folder, self.route, self.fake = folder, route, fake
        self.mark = uuid4().hex
        given = {
            "AMAP_MCP": route,
            "AMAP_MAPS_API_KEY": KEY,
            "AMAP_TIMEOUT": "0.8" if route == "memory" else "2.5",
            "AMAP_CACHE_HOURS": "0",
            "AMAP_DAILY_SEARCHES": "0",
            MARK: self.mark,
        }
        if route == "npm":
            given["NODE_OPTIONS"] = environment(fake, folder)["NODE_OPTIONS"]
        else:
            given["AMAP_BASE_URL"] = fake.base_url
        self.desk = Application(settings.load_settings(given | env, data_dir=folder / "data"))

    def start(self, question: str = QUESTION) -> str:
        return self.desk.runs.start(question, options=WANTED).id

    def over(self, run: str) -> Report:
        until(lambda: not self.desk.runs.get_run(run).is_active, 40)  # type: ignore[union-attr]
        report = self.desk.runs.report(run)
        assert report is not None and report.answer is not None
        return report

    def asked(self, question: str = QUESTION) -> Report:
        """A run to its end, which has to be a good one and to hold no key."""
        report = self.over(self.start(question))
        assert report.run.status == "done", report.run.error
        keyless(self, report)
        return report

    def servers(self) -> list[int]:
        """The processes of the server itself, without what starts it and ties it to us."""
        return marked(self.mark, SERVERS[self.route], but="supervisor.py")

    def close(self) -> None:
        self.desk.close()
        try:
            until(lambda: not marked(self.mark))
        finally:
            for pid in marked(self.mark):
                os.kill(pid, signal.SIGKILL)


def keyless(bench: Bench, report: Report) -> None:
    """Fails if the key is in anything that a run has left."""
    answer = number_report_answer(report)
    assert answer is not None
    events = bench.desk.runs.events(report.run.id)
    told = [report_json(report, answer), report_markdown(report, answer), report.model_dump_json()]
    left = [text.encode() for text in (*told, *(event.model_dump_json() for event in events))]
    left += [path.read_bytes() for path in (bench.folder / "data").rglob("*") if path.is_file()]
    assert any(QUESTION.encode() in data or report.run.question.encode() in data for data in left)
    for trace in (KEY, quote(KEY, safe=""), KEY[:14]):
        assert not [data for data in left if trace.encode() in data]


def places_of(report: Report) -> Finding:
    return next(finding for finding in report.findings if finding.task.source == "places")


@contextmanager
def opened(folder: Path, route: str, **env: str) -> Iterator[Bench]:
    with FakeAmap() as fake:
        bench = Bench(folder, route, fake, env)
        try:
            yield bench
        finally:
            bench.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Bench]]:
    """One desk for each way, with one server, for all the faults that leave the server alone."""
    made: dict[str, tuple[Any, Bench]] = {}

    def bench(route: str) -> Bench:
        if route not in made:
            context = opened(tmp_path_factory.mktemp(route), route)
            made[route] = context, context.__enter__()
        found = made[route][1]
        found.fake.fail("any", "ok")
        found.fake.log.clear()
        return found

    yield bench
    for context, _ in made.values():
        context.__exit__(None, None, None)


@pytest.fixture(autouse=True)
def no_key_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    caplog.set_level(logging.DEBUG)
    yield
    assert KEY not in caplog.text


# Amap, or the way to it, fails


@dataclass(frozen=True)
class Row:
    """A fault of Amap's, and what the answer says by each way: reason, hint and some words."""

    fault: str
    memory: tuple[str, str, str]
    npm: tuple[str, str, str]


def _alike(fault: str, reason: str, hint: str, words: str) -> Row:
    return Row(fault, (reason, hint, words), (reason, hint, words))


ROWS = (
    _alike("key", "refused", "key", "INVALID_USER_KEY"),
    _alike("platform", "refused", "key", "USERKEY_PLAT_NOMATCH"),
    _alike("quota", "quota", "", "USER_DAILY_QUERY_OVER_LIMIT"),
    _alike("qps", "quota", "", "CUQPS_HAS_EXCEEDED_THE_LIMIT"),
    _alike("hang", "timeout", "", "no answer within"),
    Row("html502", ("unavailable", "", "HTTP 502"), ("malformed", "endpoint", "JSON")),
    _alike("html200", "malformed", "endpoint", "JSON"),
    _alike("badjson", "malformed", "endpoint", "JSON"),
    _alike("drop", "unreachable", "", "no connection"),
)


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", NPM])
@pytest.mark.parametrize("path", ["geocode/geo", "place/around"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.fault)
def test_an_answer_comes_and_says_why_there_are_no_places(
    row: Row, path: str, route: str, shared: Callable[[str], Bench]
) -> None:
    bench = shared(route)
    bench.fake.fail(path, row.fault)
    started = time.monotonic()
    report = bench.asked()
    assert time.monotonic() - started < 30
    reason, hint, words = row.npm if route == "npm" else row.memory
    assert report.answer is not None
    (failure,) = report.answer.failures
    assert (failure.source, failure.reason, failure.hint) == ("places", reason, hint)
    assert words in failure.message and "<" not in failure.message
    assert "://" not in failure.message
    assert not report.answer.cited_span_count and not places_of(report).places
    assert bench.fake.paths()[-1].endswith(path)


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", NPM])
def test_the_next_question_is_answered_as_if_nothing_had_been(route: str, shared: Callable[[str], Bench]) -> None:
    bench = shared(route)
    bench.fake.fail("any", "badjson")
    bench.asked()
    bench.fake.fail("any", "ok")
    report = bench.asked()
    assert report.answer is not None
    assert (report.answer.failures, len(places_of(report).places)) == ((), 6)


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", NPM])
@pytest.mark.parametrize(
    ("path", "question", "reason", "words"),
    [
        ("geocode/geo", QUESTION, "unclear", "地图没有找到“王府井”"),
        ("place/around", QUESTION, "empty", "未找到"),
        ("", "浙江附近有什么公园", "unclear", "“浙江”范围太大（省）"),
        ("", "鼓楼附近有什么公园", "unclear", "北京市东城区鼓楼、江苏省南京市鼓楼区"),
    ],
    ids=["unknown", "nothing", "province", "ambiguous"],
)
def test_what_is_not_found_or_not_clear_is_said_in_the_answer(
    path: str, question: str, reason: str, words: str, route: str, shared: Callable[[str], Bench]
) -> None:
    bench = shared(route)
    if path:
        bench.fake.fail(path, "empty")
    report = bench.asked(question)
    assert report.answer is not None
    assert places_of(report).reason == reason
    assert any(words in span.text for span in report.answer.spans if span.kind == "missing")
    assert [failure.reason for failure in report.answer.failures] == ([reason] if reason == "unclear" else [])


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", NPM])
def test_an_id_that_nobody_knows_is_told_as_such(route: str, shared: Callable[[str], Bench]) -> None:
    bench = shared(route)
    with pytest.raises(ServiceError, match=r"^empty: Amap: no \w+") as caught:
        bench.desk.runs.run_on_loop(
            bench.desk.services.map_service.call_tool("maps_search_detail", {"id": "B0NOPE0000"})
        )
    assert "undefined" not in caught.value.message


@pytest.mark.slow
@pytest.mark.parametrize("route", [NPM])
def test_places_whose_details_are_not_there_are_counted_and_left_out(
    route: str, shared: Callable[[str], Bench]
) -> None:
    bench = shared(route)
    bench.fake.fail("place/detail", "empty")
    found = places_of(bench.asked())
    assert (found.places, found.reason) == ((), "empty")
    assert "6 处未查到位置" in found.message


# What a way needs


@pytest.mark.slow
@pytest.mark.parametrize("route", ["memory", "stdio"])
def test_without_a_key_the_sample_answers_and_says_so(route: str, tmp_path: Path) -> None:
    with opened(tmp_path, route, AMAP_MAPS_API_KEY="") as bench:
        report = bench.asked()
        assert bench.fake.log == []
    found = places_of(report)
    assert found.provider == "offline" and found.places
    assert all(place.sample for place in found.places)
    assert report.answer is not None
    assert any("AMAP_MAPS_API_KEY" in span.text for span in report.answer.spans)


def test_amaps_own_server_without_a_key_is_not_started(tmp_path: Path) -> None:
    with opened(tmp_path, "npm", AMAP_MAPS_API_KEY="") as bench:
        report = bench.asked()
        assert not marked(bench.mark)
    (failure,) = report.answer.failures  # type: ignore[union-attr]
    assert (failure.reason, failure.hint) == ("no key", "key")
    assert "AMAP_MAPS_API_KEY" in failure.message


def test_without_npx_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path, "npm") as bench:
        monkeypatch.setenv("PATH", str(tmp_path))
        report = bench.asked()
    (failure,) = report.answer.failures  # type: ignore[union-attr]
    assert failure.reason == "unreachable"
    assert "Node.js" in failure.message


def test_a_registry_that_cannot_be_reached_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As npx ends where it can download nothing: with words for a person and a code."""
    npx = tmp_path / "npx"
    npx.write_text("#!/bin/sh\necho npm error network key=$AMAP_MAPS_API_KEY >&2\nexit 1\n")
    npx.chmod(0o755)
    with opened(tmp_path, "npm") as bench:
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.defpath}")
        report = bench.asked()
    (failure,) = report.answer.failures  # type: ignore[union-attr]
    assert failure.reason == "unavailable"
    assert "did not start" in failure.message


# Processes


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("route", PROCESSES)
def test_one_process_serves_any_number_of_questions(route: str, tmp_path: Path) -> None:
    seen: set[int] = set()
    with opened(tmp_path, route) as bench:
        for _ in range(3):
            assert len(places_of(bench.asked()).places) == 6
            seen |= set(bench.servers())
    assert len(seen) == 1


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("route", PROCESSES)
@pytest.mark.parametrize("during", [False, True], ids=["between", "during"])
def test_a_server_that_is_killed_is_not_missed(during: bool, route: str, tmp_path: Path) -> None:
    with opened(tmp_path, route) as bench:
        bench.asked()
        asked = len(bench.fake.log)
        before = bench.servers()
        if during:
            bench.fake.fail("place/around", "hang")
        run = bench.start() if during else ""
        until(lambda: not during or len(bench.fake.log) == asked + 2)
        bench.fake.fail("any", "ok")
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        report = bench.over(run or bench.start())
        assert (report.run.status, report.answer.failures) == ("done", ())  # type: ignore[union-attr]
        assert len(places_of(report).places) == 6
        after = bench.servers()
        assert len(after) == 1 and after != before
        keyless(bench, report)


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("route", PROCESSES)
def test_closing_in_the_middle_of_a_call_leaves_no_process(route: str, tmp_path: Path) -> None:
    with opened(tmp_path, route, AMAP_TIMEOUT="60") as bench:
        bench.fake.fail("any", "hang")
        bench.start()
        until(lambda: bench.fake.log)
        assert bench.servers()
        started = time.monotonic()
        bench.desk.close()
        assert time.monotonic() - started < 30
        assert not bench.servers()


# The same places by every way


def located(bench: Bench) -> dict[str, Point]:
    return {place.id: Point(place.lng, place.lat) for place in places_of(bench.asked()).places}


@pytest.mark.slow
@pytest.mark.parametrize("route", PROCESSES)
def test_every_way_finds_the_same_places_where_they_are(route: str, shared: Callable[[str], Bench]) -> None:
    ours, theirs = located(shared("memory")), located(shared(route))
    assert len(ours) == 6
    assert ours.keys() == theirs.keys()
    for found in (ours, theirs):
        assert max(distance_metres(point, TRUTH[place]) for place, point in found.items()) < 5


@pytest.mark.slow
def test_the_sample_has_what_it_shares_with_the_world_where_it_is(
    tmp_path: Path, shared: Callable[[str], Bench]
) -> None:
    with opened(tmp_path, "memory", AMAP_MAPS_API_KEY="") as bench:
        sample = {place.name: place for place in places_of(bench.asked()).places}
    live = {place.name: place for place in places_of(shared("memory").asked()).places}
    both = sample.keys() & live.keys()
    assert len(both) >= 3
    for name in both:
        a, b = sample[name], live[name]
        assert distance_metres(Point(a.lng, a.lat), Point(b.lng, b.lat)) < 150
