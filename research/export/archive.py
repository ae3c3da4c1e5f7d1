"""Everything of a report in one ZIP archive, with a README that says what is there and what is not.

The same report gives the same bytes: times are that of the answer. No name in it comes from outside.
A format that cannot be written is named, and the others are there. Writes no file.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from research.citations.numbering import CitedAnswer
from research.core.i18n import Say
from research.core.readable import readable_rows
from research.core.records import Place, Report, Rows, Way
from research.export.about import report_origin
from research.export.cells import places as row_places
from research.export.cells import report_tabled
from research.export.formats import REFERENCES, REPORT_FORMATS, REPORTS, TABLE_FORMATS
from research.export.geo import geojson, kml, lined, located
from research.export.geo import places_csv as places_csv
from research.export.grids import answer_tables, answer_tables_csv, answer_tables_excel
from research.export.markdown import file_name, gathered, language_of, utc
from research.export.references import sources_csv
from research.export.rows import rows_csv as rows_csv
from research.export.rows import rows_excel, rows_parquet
from research.export.words import speaker

Part = tuple[str, Callable[[], bytes]]  # the name of a file, and what writes it

_log = logging.getLogger(__name__)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # a ZIP archive knows no earlier time
_WHEN = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(?=<)")


def report_zip(report: Report, cited: CitedAnswer | None) -> bytes:
    """The report in every format, its sources, places, tables and rows, and a README.txt."""
    made = utc(report.answer.made if report.answer else report.run.created)
    written: dict[str, bytes] = {}
    lost: dict[str, str] = {}
    for name, write in _parts(report, cited):
        try:
            written[name] = _settled(write(), made)
        except Exception as error:  # noqa: BLE001 - the README names it; the other files are there
            _log.warning("%s could not be written", name, exc_info=True)
            lost[name] = type(error).__name__
    readme = _readme(report, cited, [*written], lost)
    folder = file_name(report, "zip").removesuffix(".zip")
    return _zipped(
        {f"{folder}/{name}": data for name, data in {"README.txt": readme, **written}.items()}, made
    )


def _parts(report: Report, cited: CitedAnswer | None) -> Iterator[Part]:
    for ending in REPORTS:
        yield f"report.{ending}", partial(REPORT_FORMATS[ending], report, cited)
    if cited:
        for ending in REFERENCES:
            yield f"sources.{ending}", partial(REPORT_FORMATS[ending], report, cited)
        yield "sources.csv", lambda: sources_csv(cited.sources).encode()
    if report_tabled(report):
        for ending, write in TABLE_FORMATS.items():
            yield f"table.{ending.removeprefix('table.')}", partial(write, report, cited)
    yield from _places(report, cited)
    yield from _tables(report, cited)
    yield from _rows(report, cited)


def places_of(report: Report) -> list[Place]:
    """The places of a report, each once, with those that the rows of a table are."""
    found = [*row_places(report), *(item.place for item in gathered(report) if item.place)]
    return [*{(place.provider, place.id, place.name): place for place in found}.values()]


def ways_of(report: Report) -> list[Way]:
    """The ways of a report."""
    return [item.way for item in gathered(report) if item.way]


def _places(report: Report, cited: CitedAnswer | None) -> Iterator[Part]:
    places = [place for place in places_of(report) if located(place)]
    ways = [way for way in ways_of(report) if lined(way)]
    if places:
        title = report.run.question
        yield "places.geojson", lambda: geojson(places, report_origin(report, cited), ways).encode()
        yield "places.kml", lambda: kml(places, title, report_origin(report, cited), ways).encode()
        yield "places.csv", lambda: places_csv(places).encode("utf-8", "replace")


def _tables(report: Report, cited: CitedAnswer | None) -> Iterator[Part]:
    tables = answer_tables(cited) if cited else []
    for at, table in enumerate(tables, 1):
        yield f"tables/table-{at}.csv", partial(answer_tables_csv, [table])
    if tables:
        yield "tables.xlsx", lambda: answer_tables_excel(tables, report_origin(report, cited))


def _rows(report: Report, cited: CitedAnswer | None) -> Iterator[Part]:
    tongue = language_of(report, cited)
    writers: dict[str, Callable[[Rows], bytes]] = {
        "csv": rows_csv,
        "xlsx": lambda rows: rows_excel(readable_rows(rows, tongue), report_origin(report, cited)),
        "parquet": rows_parquet,
    }
    found = [finding.rows for finding in report.findings if finding.rows]
    for at, rows in enumerate(found, 1):
        for ending, write in writers.items():
            yield f"rows/rows-{at}.{ending}", partial(write, rows)


# README.txt


def _readme(
    report: Report, cited: CitedAnswer | None, names: list[str], lost: dict[str, str]
) -> bytes:
    say = speaker(language_of(report, cited))
    lines = [
        " ".join(report.run.question.split()) or say("untitled"),
        "",
        *report_origin(report, cited),
        "",
        say("archive.files"),
        *(f"- {name}" for name in names),
        *(f"- {say('archive.lost', name=name, why=why)}" for name, why in lost.items()),
        "",
        say("archive.rights"),
        *_notes(report, cited, say),
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _notes(report: Report, cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    """What has to be known of single sources and places."""
    passing = [str(s.number) for s in cited.sources if s.evidence.expires] if cited else []
    if passing:
        yield say("archive.links", numbers=say("comma").join(passing))
    nowhere = sum(not located(place) for place in places_of(report))
    if nowhere:
        yield say("archive.nowhere", count=nowhere)


# Archives


def _zipped(files: dict[str, bytes], made: datetime) -> bytes:
    out = BytesIO()
    time = max(_EPOCH, made.timetuple()[:6])
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = ZipInfo(name, time)
            entry.compress_type = ZIP_DEFLATED
            entry.create_system = 3  # the same on every system
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return out.getvalue()


def _settled(data: bytes, made: datetime) -> bytes:
    """A document that is an archive itself, with the time of the report instead of the present."""
    if not data.startswith(b"PK\x03\x04"):
        return data
    stamp = f"{made:%Y-%m-%dT%H:%M:%SZ}".encode()
    with ZipFile(BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    core = "docProps/core.xml"
    if core in files:
        files[core] = _WHEN.sub(rb"\g<1>" + stamp, files[core])
    return _zipped(files, made)
