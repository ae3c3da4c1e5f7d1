"""Everything of a report in one ZIP archive, with a README on its content and its gaps.

The same report gives the same bytes, as all times are that of the answer. No file name comes from
outside. The README names a format that cannot be written, and the others are included. Writes no
file.
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
from research.core.display_names import localise_rows
from research.core.i18n import Translator
from research.core.records import Place, QueryResult, Report, Route
from research.export.answer_tables import answer_tables, answer_tables_csv, answer_tables_excel
from research.export.bibliography import sources_csv
from research.export.cited_tables import has_cited_table, row_places
from research.export.database_rows import rows_csv, rows_excel, rows_parquet
from research.export.formats import BIBLIOGRAPHY_FORMATS, DOCUMENT_FORMATS, REPORT_FORMATS, TABLE_FORMATS
from research.export.geo import has_line_on_globe, is_on_globe, places_geojson, places_kml
from research.export.geo import places_csv as places_csv
from research.export.markdown import collect_report_evidence, export_file_name, report_language, to_utc
from research.export.provenance import provenance_lines
from research.export.report_texts import report_translator

ArchivePart = tuple[str, Callable[[], bytes]]  # file name, and the function that writes it

_log = logging.getLogger(__name__)
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # earliest time in a ZIP archive
_DOCUMENT_TIME = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(?=<)")


def report_zip(report: Report, cited: CitedAnswer | None) -> bytes:
    """Return the report in every format, its sources, places, tables and rows, and a README.txt."""
    timestamp = to_utc(report.answer.made if report.answer else report.run.created)
    written: dict[str, bytes] = {}
    errors: dict[str, str] = {}
    for name, write in _archive_parts(report, cited):
        try:
            written[name] = _set_document_time(write(), timestamp)
        except Exception as error:  # noqa: BLE001 - the README names it; the other files are there
            _log.warning("%s could not be written", name, exc_info=True)
            errors[name] = type(error).__name__
    readme = _readme(report, cited, [*written], errors)
    folder = export_file_name(report, "zip").removesuffix(".zip")
    return _write_zip({f"{folder}/{name}": data for name, data in {"README.txt": readme, **written}.items()}, timestamp)


def _archive_parts(report: Report, cited: CitedAnswer | None) -> Iterator[ArchivePart]:
    for ending in DOCUMENT_FORMATS:
        yield f"report.{ending}", partial(REPORT_FORMATS[ending], report, cited)
    if cited:
        for ending in BIBLIOGRAPHY_FORMATS:
            yield f"sources.{ending}", partial(REPORT_FORMATS[ending], report, cited)
        yield "sources.csv", lambda: sources_csv(cited.sources).encode()
    if has_cited_table(report):
        for ending, write in TABLE_FORMATS.items():
            yield f"table.{ending.removeprefix('table.')}", partial(write, report, cited)
    yield from _place_parts(report, cited)
    yield from _table_parts(report, cited)
    yield from _row_parts(report, cited)


def collect_places(report: Report) -> list[Place]:
    """Return the places of a report, each once, including those of table rows."""
    places = [*row_places(report), *(item.place for item in collect_report_evidence(report) if item.place)]
    return [*{(place.provider, place.id, place.name): place for place in places}.values()]


def collect_routes(report: Report) -> list[Route]:
    """Return the routes of a report."""
    return [item.way for item in collect_report_evidence(report) if item.way]


def _place_parts(report: Report, cited: CitedAnswer | None) -> Iterator[ArchivePart]:
    places = [place for place in collect_places(report) if is_on_globe(place)]
    routes = [route for route in collect_routes(report) if has_line_on_globe(route)]
    if places:
        title = report.run.question
        yield "places.geojson", lambda: places_geojson(places, provenance_lines(report, cited), routes).encode()
        yield "places.kml", lambda: places_kml(places, title, provenance_lines(report, cited), routes).encode()
        yield "places.csv", lambda: places_csv(places).encode("utf-8", "replace")


def _table_parts(report: Report, cited: CitedAnswer | None) -> Iterator[ArchivePart]:
    tables = answer_tables(cited) if cited else []
    for at, table in enumerate(tables, 1):
        yield f"tables/table-{at}.csv", partial(answer_tables_csv, [table])
    if tables:
        yield "tables.xlsx", lambda: answer_tables_excel(tables, provenance_lines(report, cited))


def _row_parts(report: Report, cited: CitedAnswer | None) -> Iterator[ArchivePart]:
    language = report_language(report, cited)
    writers: dict[str, Callable[[QueryResult], bytes]] = {
        "csv": rows_csv,
        "xlsx": lambda rows: rows_excel(localise_rows(rows, language), provenance_lines(report, cited)),
        "parquet": rows_parquet,
    }
    results = [finding.rows for finding in report.findings if finding.rows]
    for at, rows in enumerate(results, 1):
        for ending, write in writers.items():
            yield f"rows/rows-{at}.{ending}", partial(write, rows)


# README.txt


def _readme(report: Report, cited: CitedAnswer | None, names: list[str], errors: dict[str, str]) -> bytes:
    translate = report_translator(report_language(report, cited))
    lines = [
        " ".join(report.run.question.split()) or translate("untitled"),
        "",
        *provenance_lines(report, cited),
        "",
        translate("archive.files"),
        *(f"- {name}" for name in names),
        *(f"- {translate('archive.lost', name=name, why=why)}" for name, why in errors.items()),
        "",
        translate("archive.rights"),
        *_readme_notes(report, cited, translate),
    ]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _readme_notes(report: Report, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield notes on expiring links and on places that are not on the globe."""
    expiring = [str(s.number) for s in cited.sources if s.evidence.expires] if cited else []
    if expiring:
        yield translate("archive.links", numbers=translate("comma").join(expiring))
    off_globe = sum(not is_on_globe(place) for place in collect_places(report))
    if off_globe:
        yield translate("archive.nowhere", count=off_globe)


# Archives


def _write_zip(files: dict[str, bytes], timestamp: datetime) -> bytes:
    out = BytesIO()
    time = max(_ZIP_EPOCH, timestamp.timetuple()[:6])
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = ZipInfo(name, time)
            entry.compress_type = ZIP_DEFLATED
            entry.create_system = 3  # the same on every system
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
    return out.getvalue()


def _set_document_time(data: bytes, timestamp: datetime) -> bytes:
    """Set the time in an Office document to that of the report; return other data unchanged."""
    if not data.startswith(b"PK\x03\x04"):
        return data
    stamp = f"{timestamp:%Y-%m-%dT%H:%M:%SZ}".encode()
    with ZipFile(BytesIO(data)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    core = "docProps/core.xml"
    if core in files:
        files[core] = _DOCUMENT_TIME.sub(rb"\g<1>" + stamp, files[core])
    return _write_zip(files, timestamp)
