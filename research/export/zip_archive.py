"""Everything of a report in one ZIP archive, with a README on its content and its gaps.

The same report gives the same bytes, as all times are that of the answer. No file name comes from
outside. The README names a format that cannot be written, and the others are included. Writes no
file.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Report
from research.export.answer_tables import answer_tables
from research.export.available_files import list_exports
from research.export.formats import ExportFormat
from research.export.geo import is_on_globe
from research.export.options import DEFAULT_OPTIONS, ExportOptions
from research.export.provenance import provenance_lines
from research.export.report_facts import export_file_name, report_language, to_utc
from research.export.report_places import collect_places
from research.export.report_texts import report_translator

_log = logging.getLogger(__name__)
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # earliest time in a ZIP archive
_DOCUMENT_TIME = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(?=<)")


def report_zip(report: Report, cited: CitedAnswer | None, options: ExportOptions = DEFAULT_OPTIONS) -> bytes:
    """Return the report in every archived format, its tables and rows, and a README.txt."""
    timestamp = to_utc(report.answer.created if report.answer else report.run.created)
    written: dict[str, bytes] = {}
    errors: dict[str, str] = {}
    for name, export_format, table_number in _archived_files(report, cited):
        try:
            file_options = replace(options, table_number=table_number, citation_format=None, language=None)
            data = export_format.write(report, cited, file_options)
            written[name] = _set_document_time(data, timestamp)
        except Exception as error:  # noqa: BLE001 - the README names it; the other files are there
            _log.warning("%s could not be written", name, exc_info=True)
            errors[name] = type(error).__name__
    readme = _readme(report, cited, [*written], errors)
    folder = export_file_name(report, "zip").removesuffix(".zip")
    return _write_zip({f"{folder}/{name}": data for name, data in {"README.txt": readme, **written}.items()}, timestamp)


def _archived_files(report: Report, cited: CitedAnswer | None) -> Iterator[tuple[str, ExportFormat, int]]:
    """Yield the name, format and table number of each file. Tables of an answer are a CSV file each."""
    for export_format, table_number in list_exports(report, cited):
        if not export_format.is_archived:
            continue
        is_split = export_format.content == "answer tables" and export_format.mime == "text/csv"
        for number in range(1, len(answer_tables(cited)) + 1) if is_split and cited else (table_number,):
            yield _file_name(export_format, number), export_format, number


def _file_name(export_format: ExportFormat, table_number: int) -> str:
    """Return the name of a file in the archive, such as report.pdf or rows/rows-1.csv."""
    suffix, content = export_format.suffix, export_format.content
    if table_number:
        stem = "rows/rows" if content == "rows" else "tables/table"
        return f"{stem}-{table_number}.{suffix.rpartition('.')[2]}"
    return f"{content}.{suffix}" if suffix.split(".")[0] not in ("sources", "places", "table", "tables") else suffix


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
    expiring = [str(s.number) for s in cited.sources if s.evidence.url_expires] if cited else []
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
