"""The archive has everything in it, is the same each time, and survives a format that fails."""

from __future__ import annotations

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from lxml import etree
from openpyxl import load_workbook

from research import EXPORT_FORMATS, export_report, find_format
from research.citations.numbering import CitedAnswer
from research.core.records import Finding, Place, QueryResult, Report, Task
from research.export.geo import KML_NAMESPACE
from research.export.provenance import provenance_lines
from research.export.zip_archive import report_zip
from tests.export.test_markdown import HOSTILE, NOW, named, numbered, report
from tests.export.test_support_export import made, text
from tests.tables import each_row

TABLE = "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nDone."
ROWS = QueryResult(sql="SELECT 1", names=("n",), rows=((1,), (None,)), types=("integer",))


def whole() -> tuple[Report, CitedAnswer]:
    """A report with places, a table and rows of a database."""
    written = named("Palace")
    asked = Finding(task=Task(id="9", source="database", query="n"), started=NOW, rows=ROWS)
    table = made(text(TABLE)).answer
    assert written.answer and table
    spans = (*written.answer.spans, *table.spans)
    answer = written.answer.model_copy(update={"spans": spans})
    written = written.model_copy(update={"findings": (*written.findings, asked), "answer": answer})
    return written, numbered(written)


def opened(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_everything_is_in_it_and_each_file_is_what_its_name_says() -> None:
    written, cited = whole()
    files = opened(report_zip(written, cited))
    (folder,) = {name.split("/")[0] for name in files}
    assert folder == "sightline-20250301-0805-3f2a9b1c"
    names = {name.removeprefix(f"{folder}/") for name in files}
    assert names >= {
        "README.txt", "report.md", "report.html", "report.json", "sources.csl.json", "sources.bib",
        "sources.ris", "sources.csv", "places.geojson", "places.kml", "places.csv",
        "tables/table-1.csv", "tables.xlsx", "rows/rows-1.csv", "rows/rows-1.xlsx",
        "rows/rows-1.parquet",
    }  # fmt: skip
    at = {name.removeprefix(f"{folder}/"): data for name, data in files.items()}
    for one in EXPORT_FORMATS:
        name = f"{one.content}.{one.suffix.removeprefix('sources.')}"
        if one.is_archived and one.content in ("report", "sources") and not name.endswith(("docx", "pdf")):
            assert at[name] == one.write(written, cited) == export_report(written, cited, one.suffix)
    told = json.loads(at["places.geojson"])["sightline"]
    assert told == [*provenance_lines(written, cited)]
    described = etree.fromstring(at["places.kml"]).findtext(f".//{{{KML_NAMESPACE}}}Document/{{{KML_NAMESPACE}}}description")  # fmt: skip
    assert described is not None and "Run: 3f2a-9b1c-77" in described
    for name in ("tables.xlsx", "rows/rows-1.xlsx"):
        notes = load_workbook(BytesIO(at[name]))["About"]
        assert [row[0].value for row in notes.iter_rows()] == told
    readme = at["README.txt"].decode()
    assert all(f"- {name}\n" in readme for name in names - {"README.txt"})


def test_the_same_report_gives_the_same_bytes() -> None:
    written, cited = whole()
    first = report_zip(written, cited)
    assert report_zip(written, cited) == first
    with ZipFile(BytesIO(first)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2025, 3, 1, 8, 5, 0)}
    sheet = next(data for name, data in opened(first).items() if name.endswith("tables.xlsx"))
    assert b"2025-03-01T08:05:00Z" in opened(sheet)["docProps/core.xml"]


def broken(*_: object) -> bytes:
    raise ZeroDivisionError("/home/secret")


def test_a_format_that_fails_is_named_and_the_others_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("research.export.html.report_html", broken)
    written, cited = whole()
    files = opened(report_zip(written, cited))
    names = {name.split("/", 1)[1] for name in files}
    assert "report.html" not in names and {"report.md", "report.json"} <= names
    readme = next(data.decode() for name, data in files.items() if name.endswith("README.txt"))
    assert "- report.html: could not be written (ZeroDivisionError)\n" in readme
    assert "secret" not in readme


@pytest.mark.slow
@each_row("words", HOSTILE[:12])
def test_no_name_comes_from_outside_and_the_readme_tells_of_failures(words: str) -> None:
    written = report(words)
    files = opened(report_zip(written, numbered(written)))
    assert all(name.isascii() and ".." not in name and name.count("/") <= 2 for name in files)
    readme = next(data.decode() for name, data in files.items() if name.endswith("README.txt"))
    assert "Failed steps\n- " in readme and "How this was made\n- Author: " in readme
    assert "- Models and services: m:a, " in readme
    assert "expire after about 30 days: 3\n" in readme


def test_a_place_that_is_nowhere_is_told() -> None:
    written, _ = whole()
    lost = [
        item.model_copy(update={"place": Place(id="x", name="x", lng=999, lat=0, provider="amap")})
        for item in written.findings[0].evidence[:1]
    ]
    finding = written.findings[0].model_copy(update={"evidence": tuple(lost)})
    written = written.model_copy(update={"findings": (finding,)})
    files = opened(report_zip(written, numbered(written)))
    assert not any("places." in name for name in files)
    readme = next(data.decode() for name, data in files.items() if name.endswith("README.txt"))
    assert "left out of the map files: 1" in readme


def test_a_run_without_an_answer_has_an_archive_too() -> None:
    written = report("x").model_copy(update={"answer": None})
    names = {name.split("/", 1)[1] for name in opened(report_zip(written, None))}
    assert {"README.txt", "report.md", "report.html", "report.json"} <= names
    assert not any(name.startswith("sources") for name in names)


@each_row(
    ("name", "ending"),
    [("a.md", "md"), ("A.HTML", "html"), ("a.csl.json", "csl.json"), ("a.json", "json"), ("a", ""), ("a.exe", "")],
)  # fmt: skip
def test_the_name_of_a_file_tells_its_format(name: str, ending: str) -> None:
    found = find_format(name)
    assert (found.suffix if found else "") == ending
