"""The registry of export formats, in the order in which they are offered.

Download buttons, the option `-o` of the terminal, the archive, the resources of the MCP server and
the table in `docs/exports.md` are derived from it; `docs/contributing.md` says how to add a format.
The module of a writer is imported when its format is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from research.core.bilingual import Text
from research.export.options import DEFAULT_OPTIONS, ExportOptions

if TYPE_CHECKING:
    from research.citations.numbering import CitedAnswer
    from research.core.records import Report

# What a file holds: the whole report, its cited sources, its places and routes, the table that was
# asked for, the tables inside the answer, rows of a database (a file for each result), or all files.
Content = Literal["report", "sources", "places", "table", "answer tables", "rows", "everything"]

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_PARQUET = "application/vnd.apache.parquet"


@dataclass(frozen=True)
class ExportFormat:
    """One format of an exported file.

    Attributes:
        key: the name under which the format is stored as a preference.
        suffix: the end of the file name, without the leading dot.
        writer: "module:function"; the function takes a report, its numbered answer (None without
            one) and `ExportOptions`, and returns text or bytes.
        short_label: the name behind the verb "download"; the label if it is None.
        is_archived: True if the archive of the whole report contains the file.
        icon: the Material symbol on its button; that of its content if empty.
    """

    key: str
    suffix: str
    mime: str
    content: Content
    label: Text
    writer: str
    short_label: Text | None = None
    is_archived: bool = True
    icon: str = ""

    def write(self, report: Report, cited: CitedAnswer | None, options: ExportOptions = DEFAULT_OPTIONS) -> bytes:
        """Return the file of a report. Text is encoded as UTF-8.

        Raises:
            ValueError: the format is that of a table, and the report has none.
        """
        module, _, function = self.writer.partition(":")
        written: str | bytes = getattr(import_module(module), function)(report, cited, options)
        return written.encode("utf-8", "replace") if isinstance(written, str) else written


def _same(name: str) -> Text:
    return Text(name, name)


EXPORT_FORMATS: tuple[ExportFormat, ...] = (
    ExportFormat(
        "md", "md", "text/markdown", "report", Text("Markdown", "Markdown 文件"),
        "research.export.markdown:markdown_file", _same("Markdown"), icon="download",
    ),
    ExportFormat(
        "pdf", "pdf", "application/pdf", "report", Text("PDF", "PDF 文件"),
        "research.export.pdf:report_pdf", _same("PDF"), icon="picture_as_pdf",
    ),
    ExportFormat(
        "docx", "docx", _DOCX, "report", Text("Word", "Word 文档"),
        "research.export.docx:report_docx", _same("Word"),
    ),
    ExportFormat(
        "page", "html", "text/html", "report", Text("Web page (HTML)", "网页（HTML）"),
        "research.export.html:report_html", _same("HTML"), icon="html",
    ),
    ExportFormat(
        "notes", "footnotes.md", "text/markdown", "report",
        Text("Markdown with footnotes (Obsidian)", "Markdown（脚注，适合 Obsidian）"),
        "research.export.markdown:footnotes_file", Text("Markdown with footnotes", "Markdown（脚注）"),
        is_archived=False, icon="superscript",
    ),
    ExportFormat(
        "json", "json", "application/json", "report", Text("Data (JSON)", "数据（JSON）"),
        "research.export.report_json:report_json", _same("JSON"), icon="data_object",
    ),
    ExportFormat(
        "csl", "csl.json", "application/vnd.citationstyles.csl+json", "sources",
        Text("References (CSL-JSON)", "引文（CSL-JSON）"), "research.export.bibliography:csl_json_file",
    ),
    ExportFormat(
        "bib", "bib", "application/x-bibtex", "sources", Text("References (BibTeX)", "引文（BibTeX）"),
        "research.export.bibliography:bibtex_file",
    ),
    ExportFormat(
        "ris", "ris", "application/x-research-info-systems", "sources", Text("References (RIS)", "引文（RIS）"),
        "research.export.bibliography:ris_file",
    ),
    ExportFormat(
        "sources_csv", "sources.csv", "text/csv", "sources", Text("Sources (CSV)", "来源表（CSV）"),
        "research.export.bibliography:sources_csv_file",
    ),
    ExportFormat(
        "places_geojson", "geojson", "application/geo+json", "places", _same("GeoJSON"),
        "research.export.report_places:places_geojson_file",
    ),
    ExportFormat(
        "places_kml", "kml", "application/vnd.google-earth.kml+xml", "places", _same("KML"),
        "research.export.report_places:places_kml_file",
    ),
    ExportFormat(
        "places_csv", "places.csv", "text/csv", "places", Text("Places (CSV)", "地点（CSV）"),
        "research.export.report_places:places_csv_file",
    ),
    ExportFormat(
        "grid_xlsx", "xlsx", _XLSX, "table", Text("Table with evidence (Excel)", "表格（Excel，含依据）"),
        "research.export.cited_table_excel:cited_table_excel", _same("Excel"),
    ),
    ExportFormat(
        "grid_csv", "csv", "text/csv", "table", Text("Table (CSV)", "表格（CSV）"),
        "research.export.cited_tables:cited_table_csv",
    ),
    ExportFormat(
        "grid_parquet", "parquet", _PARQUET, "table", Text("Table (Parquet)", "表格（Parquet）"),
        "research.export.cited_tables:cited_table_parquet",
    ),
    ExportFormat(
        "grid_md", "table.md", "text/markdown", "table", Text("Table (Markdown)", "表格（Markdown）"),
        "research.export.cited_tables:cited_table_markdown",
    ),
    ExportFormat(
        "grid_json", "table.json", "application/json", "table", Text("Table (JSON)", "表格（JSON）"),
        "research.export.cited_table_json:table_json",
    ),
    ExportFormat(
        "answer_csv", "tables.csv", "text/csv", "answer tables",
        Text("Tables of the answer (CSV)", "答案中的表格（CSV）"), "research.export.answer_tables:answer_tables_csv",
    ),
    ExportFormat(
        "answer_excel", "tables.xlsx", _XLSX, "answer tables",
        Text("Tables of the answer (Excel)", "答案中的表格（Excel）"), "research.export.answer_tables:answer_tables_excel",
    ),
    ExportFormat(
        "rows_csv", "rows.csv", "text/csv", "rows", Text("Rows (CSV)", "表格（CSV）"),
        "research.export.database_rows:result_csv",
    ),
    ExportFormat(
        "rows_excel", "rows.xlsx", _XLSX, "rows", Text("Rows (Excel)", "表格（Excel）"),
        "research.export.database_rows:result_excel",
    ),
    ExportFormat(
        "rows_parquet", "rows.parquet", _PARQUET, "rows", Text("Rows (Parquet)", "表格（Parquet）"),
        "research.export.database_rows:result_parquet",
    ),
    ExportFormat(
        "zip", "zip", "application/zip", "everything", Text("Everything (ZIP)", "全部文件（ZIP）"),
        "research.export.zip_archive:report_zip", Text("everything (ZIP)", "ZIP"), is_archived=False,
    ),
)  # fmt: skip


def find_format(file_name: str, *, for_table: bool = False) -> ExportFormat | None:
    """Return the format of a report whose suffix a file name has, None if there is none.

    Formats of a table are found only with `for_table`; those of single results or places never.
    """
    name = file_name.lower()
    matches = (item for item in file_formats(for_table=for_table) if name.endswith(f".{item.suffix}"))
    return max(matches, key=lambda item: len(item.suffix), default=None)


def file_formats(*, for_table: bool = False) -> tuple[ExportFormat, ...]:
    """Return the formats that any report, or with `for_table` any table, can be written in."""
    contents = ("table", "report", "sources", "everything") if for_table else ("report", "sources", "everything")
    return tuple(item for content in contents for item in EXPORT_FORMATS if item.content == content)


def export_report(
    report: Report, cited: CitedAnswer | None, suffix: str, options: ExportOptions = DEFAULT_OPTIONS
) -> bytes:
    """Return a report in the format of a suffix, such as "pdf" or "table.json".

    Raises:
        KeyError: no format has the suffix.
        ValueError: the format is that of a table, and the report has none.
    """
    return {item.suffix: item for item in EXPORT_FORMATS}[suffix].write(report, cited, options)
