"""A sketch map shows each place, to scale, and holds nothing that a browser would run or fetch."""

from __future__ import annotations

import re
from io import BytesIO

import pytest
from docx import Document
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from PIL import Image
from pypdf import PdfReader

from research.citations.numbering import number_report_answer
from research.core.records import Answer, Evidence, Finding, Passage, Place, Report, Span, Task
from research.export.docx import report_docx
from research.export.pdf import report_pdf
from research.export.sketch_map import HEIGHT, WIDTH, describe_map, places_on_map, sketch_png, sketch_svg
from tests.export.test_markdown import NOW, cite, run

TAGS = {"svg", "title", "rect", "g", "line", "circle", "polygon", "text"}
ATTRIBUTES = {
    "viewBox", "role", "width", "height", "fill", "font-family", "x", "y", "x1", "y1", "x2", "y2",
    "cx", "cy", "r", "points", "stroke", "stroke-width", "paint-order", "font-size", "text-anchor",
}  # fmt: skip
SUZHOU = [("拙政园", 120.6295, 31.3243), ("留园", 120.5936, 31.3165), ("虎丘", 120.5797, 31.3352)]


def place(name: str, lng: float, lat: float) -> Place:
    return Place(id=name, name=name, lng=lng, lat=lat, provider="amap")


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in etree.fromstring(svg).iter("{*}text")]


def pins(svg: str) -> list[tuple[float, float]]:
    """The middles of the numbered pins, the last place first."""
    found = etree.fromstring(svg).iter("{*}circle")
    return [(float(node.get("cx")), float(node.get("cy"))) for node in found if node.get("r") == "11"]


def test_each_place_has_its_number_and_its_name() -> None:
    said = texts(sketch_svg([place(*each) for each in SUZHOU], "zh"))
    assert {"1", "2", "3", "拙政园", "留园", "虎丘", "北"} <= set(said)
    assert any(re.fullmatch(r"[0-9.]+ (公里|米)", text) for text in said)
    assert any(re.fullmatch(r"120\.[0-9]+°E", text) for text in said)
    assert any(re.fullmatch(r"31\.[0-9]+°N", text) for text in said)


def test_places_may_have_the_numbers_of_their_citations_or_none() -> None:
    said = texts(sketch_svg([place(*each) for each in SUZHOU], "en", numbers=[7, 0, 12]))
    assert {"7", "12", "N", "留园"} <= set(said)
    assert "1" not in said


def test_distances_are_to_scale_in_both_directions() -> None:
    east, north = place("east", 10.1, 60.0), place("north", 10.0, 60.05)  # cos 60° is a half
    points = pins(sketch_svg([place("here", 10.0, 60.0), east, north], "en"))
    (nx, ny), (ex, ey), (x, y) = points
    assert ex - x == pytest.approx(y - ny, rel=0.01)
    assert ey == y
    assert nx == x


def test_the_scale_bar_is_as_long_as_it_says() -> None:
    svg = sketch_svg([place("a", 0.0, 0.0), place("b", 0.1, 0.0)], "en")
    (bx, _), (ax, _) = pins(svg)
    bar = next(n for n in etree.fromstring(svg).iter("{*}line") if n.get("stroke-width") == "2")
    told = next(text for text in texts(svg) if text.endswith(" km"))
    metres = float(told.removesuffix(" km")) * 1000
    long = float(bar.get("x2")) - float(bar.get("x1"))
    assert metres / long == pytest.approx(11_132 / (bx - ax), rel=0.01)


def test_no_name_covers_a_pin_or_another_name() -> None:
    crowd = [place(f"A place {at}", 120 + at % 5 * 0.004, 31 + at // 5 * 0.002) for at in range(25)]
    svg = sketch_svg(crowd, "en")
    boxes = []
    for node in etree.fromstring(svg).iter("{*}text"):
        if (node.text or "").startswith("A place"):
            wide = len(node.text) * 7.0
            x, y = float(node.get("x")), float(node.get("y"))
            left = {"start": x, "middle": x - wide / 2, "end": x - wide}[node.get("text-anchor")]
            boxes.append((left, y - 11, left + wide, y + 2))
    assert boxes
    for at, (l1, t1, r1, f1) in enumerate(boxes):
        assert not [1 for l2, t2, r2, f2 in boxes[at + 1 :] if l1 < r2 and l2 < r1 and t1 < f2 and t2 < f1]
        assert not [1 for x, y in pins(svg) if l1 < x < r1 and t1 < y < f1]


def test_pins_at_one_point_move_apart() -> None:
    points = pins(sketch_svg([place(str(at), 120.0, 31.0) for at in range(6)], "en"))
    near = [
        1
        for at, (x, y) in enumerate(points)
        for other, up in points[at + 1 :]
        if (x - other) ** 2 + (y - up) ** 2 < 20**2
    ]
    assert near == []


FAR = st.floats(allow_nan=True, allow_infinity=True)
DEGREES = st.one_of(FAR, st.floats(-180, 180), st.sampled_from([0.0, 90.0, -90.0, 180.0, -180.0]))


@settings(max_examples=80)
@given(st.lists(st.tuples(st.text(st.characters(), max_size=40), DEGREES, DEGREES), max_size=8))
def test_any_places_make_a_picture_that_runs_and_fetches_nothing(
    given_: list[tuple[str, float, float]],
) -> None:
    places = [place(*each) for each in given_]
    svg = sketch_svg(places, "zh")
    on_globe = [p for p in places if -180 <= p.lng <= 180 and -90 <= p.lat <= 90]
    assert bool(svg) == bool(on_globe)
    if svg:
        for node in etree.fromstring(svg.encode("utf-8")).iter():
            assert etree.QName(node).localname in TAGS
            assert set(node.attrib) <= ATTRIBUTES
            for key in ("cx", "cy", "x", "y"):
                assert abs(float(node.get(key, 0))) < 2_000
        assert "http" not in svg.replace("http://www.w3.org/2000/svg", "").replace(
            describe_map(places, "zh"), ""
        ) or any("http" in p.name for p in places)


def test_the_png_is_the_same_picture() -> None:
    places = [place(*each) for each in SUZHOU]
    png = sketch_png(places, "zh")
    with Image.open(BytesIO(png)) as image:
        assert image.size == (2 * WIDTH, 2 * HEIGHT)
        shown = image.convert("RGB")
        for x, y in pins(sketch_svg(places, "zh")):
            red, green, _ = shown.getpixel((int(2 * x) - 16, int(2 * y)))  # beside the number
            assert red > 150 > green
    assert png == sketch_png(places, "zh")


def test_without_a_place_on_the_globe_there_is_no_picture() -> None:
    nowhere = [place("nowhere", float("nan"), 200.0)]
    assert sketch_svg([], "zh") == sketch_svg(nowhere, "en") == ""
    assert sketch_png([], "zh") == sketch_png(nowhere, "en") == b""


def evidence(name: str, lng: float) -> Evidence:
    words = Passage(id=f"{name}.p", text=name)
    where = place(name, lng, 31.0)
    return Evidence(id=name, kind="place", title=name, url="", retrieved=NOW, passages=(words,), place=where)


def test_a_report_maps_its_places_with_the_numbers_of_their_citations() -> None:
    found = (evidence("first", 120.0), evidence("lost", 999.0), evidence("last", 120.1))
    task = Task(id="1.1", source="places", query="gardens")
    answer = Answer(
        title="T",
        language="en",
        author="",
        created=NOW,
        spans=(Span(kind="text", text="Go there.", references=(cite("last", "last.p"),)),),
    )
    told = Report(
        run=run("Where?"),
        findings=(Finding(task=task, evidence=found, started=NOW),),
        answer=answer,
        evidence=found,
    )
    assert [(number, each.name) for number, each in places_on_map(told, number_report_answer(told))] == [
        (1, "last"),
        (0, "first"),
    ]
    assert [number for number, _ in places_on_map(told, None)] == [0, 0]
    pages = PdfReader(BytesIO(report_pdf(told, number_report_answer(told)))).pages
    assert sum("2 km" in page.extract_text() for page in pages) == 1
    assert Document(BytesIO(report_docx(told, number_report_answer(told)))).inline_shapes


def test_the_words_for_the_picture_name_the_first_and_count_the_rest() -> None:
    many = [place(f"P{at}", 1.0, 2.0) for at in range(30)]
    assert describe_map(many, "en").endswith("P11, and others, 30 in all")
    assert describe_map(many[:2], "en") == "Sketch map of the places: P0, P1"
