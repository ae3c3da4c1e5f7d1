"""Questions about places abroad, from the question to the files, without a key and without a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import research
from research.application import Application
from research.citations.numbering import number_report_answer
from research.core import settings
from research.core.coordinates import Point, distance_metres
from research.core.records import Report
from tests.fakes import until
from tests.servers.osm import FakeOpenStreetMap, node


@pytest.fixture
def server() -> Iterator[FakeOpenStreetMap]:
    with FakeOpenStreetMap() as fake:
        yield fake


def researched(folder: Path, server: FakeOpenStreetMap, question: str, **env: str) -> Report:
    urls = {"NOMINATIM_URL": server.base_url, "OVERPASS_URL": server.base_url, "WEB_SEARCH": "off"}
    desk = Application(settings.load_settings(urls | env, data_dir=folder / "data"))
    try:
        options = desk.default_options().model_copy(update={"sources": ("places",)})
        run = desk.runs.start(question, options=options)
        until(lambda: not (found := desk.runs.get_run(run.id)) or not found.is_active, 60)
        report = desk.runs.report(run.id)
        assert report is not None
        return report
    finally:
        desk.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("question", "name", "point"),
    [
        ("京都有哪些寺庙？", "清水寺", Point(135.785, 34.9947)),
        ("What museums are there in Paris?", "Louvre Museum (Musée du Louvre)", Point(2.3376, 48.8606)),
        ("西安有哪些博物馆？", "陕西历史博物馆", Point(108.9555, 34.2247)),
    ],
)  # fmt: skip
def test_a_question_is_answered_with_places_where_they_are(
    tmp_path: Path, server: FakeOpenStreetMap, question: str, name: str, point: Point
) -> None:
    report = researched(tmp_path, server, question, SIGHTLINE_OPEN_SOURCES="on")
    numbered = number_report_answer(report)
    assert numbered is not None
    places = {s.evidence.place.name: s.evidence for s in numbered.sources if s.evidence.place}
    assert name in places
    place = places[name].place
    assert place
    assert distance_metres(Point(place.lng, place.lat), point) < 1
    assert places[name].url.startswith("https://www.openstreetmap.org/")
    assert places[name].publisher == "© OpenStreetMap contributors, ODbL"
    markdown = research.report_markdown(report, number_report_answer(report))
    assert "[© OpenStreetMap contributors, ODbL](https://www.openstreetmap.org/copyright)" in markdown
    assert (
        "© OpenStreetMap contributors" in research.export_report(report, number_report_answer(report), "html").decode()
    )
    features = json.loads(research.places_geojson([place]))["features"]
    assert features[0]["geometry"]["coordinates"] == pytest.approx([point.lng, point.lat])
    assert "© OpenStreetMap contributors" in features[0]["properties"]["attribution"]


def test_nobody_is_asked_unless_the_open_sources_are_on(tmp_path: Path, server: FakeOpenStreetMap) -> None:
    report = researched(tmp_path, server, "京都有哪些寺庙？")
    assert server.log == []
    assert report.answer
    told = " ".join(span.text for span in report.answer.spans)
    assert "“京都”不在离线示例中" in told
    assert "开放来源" in told


@pytest.mark.slow
def test_names_that_are_markup_stay_text_in_every_file(tmp_path: Path, server: FakeOpenStreetMap) -> None:
    name = "<script>alert(1)</script>"
    server.elements = [
        node(1, 35.0115, 135.768, amenity="place_of_worship", religion="buddhist", name=name, wikidata="Q1")
    ]  # fmt: skip
    report = researched(tmp_path, server, "京都有哪些寺庙？", SIGHTLINE_OPEN_SOURCES="on")
    assert any(item.title == name for finding in report.findings for item in finding.evidence)
    assert "<script>alert" not in research.export_report(report, number_report_answer(report), "html").decode()
    assert name not in research.report_markdown(report, number_report_answer(report))
