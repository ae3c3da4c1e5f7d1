"""Sightline's engine: from a question to an answer whose citations open the passages.

Importing it needs no key and no network, makes no file and prints nothing. It knows nothing of the
pages that draw it. Each public name is loaded when it is first asked for, so that who needs a record
or a server of a tool does not wait for the graph.
"""

import os
import threading
from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.23.0"  # as CHANGELOG.md has it

# Before langgraph is imported: checkpoints may then hold only types that are named as safe.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

if TYPE_CHECKING:
    from research import runs
    from research.account.deletion import StillRunning, Wiped
    from research.account.export import Export
    from research.account.inventory import Holding
    from research.account.preferences import Choice, KeyState
    from research.account.usage import DayUsage
    from research.audit import Flaw, Lint, lint_markdown
    from research.audit.evaluation import Evaluation, UnreadableReport, evaluate_report
    from research.audit.sarif import evaluations_sarif
    from research.database.files import KINDS as TABLE_KINDS
    from research.database.files import TYPES as COLUMN_TYPES
    from research.database.files import Correction, FileColumn, FileTable, Unreadable
    from research.database.semantics import Label, Metric, SemanticModel
    from research.database.uploads import Upload
    from research.evidence.citations import CitedAnswer, CitedSource, NumberedSpan, cited
    from research.evidence.drafts import drafted
    from research.evidence.markup import tree as answer_tree
    from research.i18n import has_message, message
    from research.language.text import language as text_language
    from research.library.documents import LIMITS as FILE_LIMITS
    from research.library.documents import PICTURES as PICTURE_SUFFIXES
    from research.library.documents import SUFFIXES
    from research.library.index import Hit, Library
    from research.library.intake import Intake
    from research.library.listing import Entry, Excerpt, Wanted
    from research.library.ocr import INSTALL as OCR_INSTALL
    from research.library.prepare import Added
    from research.library.scans import Scan
    from research.library.unread import ranges as page_ranges
    from research.mcp.server import serve_http as serve_mcp_http
    from research.mcp.server import serve_stdio as serve_mcp_stdio
    from research.models.prices import Price
    from research.models.prices import as_of as prices_as_of
    from research.news.command import UnreadableItems
    from research.news.command import grouped as stories_json
    from research.places.coordinates import Point, from_gcj02, to_gcj02
    from research.readable import english as english_region
    from research.readable import heading as column_heading
    from research.readable import readable as readable_rows
    from research.records import (
        MAX_QUESTION,
        Answer,
        Cell,
        Centre,
        Change,
        Check,
        Clarification,
        Column,
        ColumnType,
        Conflict,
        Conversation,
        Coverage,
        Disagreement,
        Distances,
        Estimate,
        Event,
        Evidence,
        Failure,
        Figure,
        Finding,
        GivenFigure,
        Grid,
        Options,
        Outlet,
        Paper,
        Part,
        Passage,
        Picture,
        Place,
        Plan,
        Readiness,
        Reading,
        Reflection,
        Remark,
        Report,
        Route,
        Row,
        Rows,
        Run,
        Sighting,
        Span,
        Step,
        Story,
        Task,
        Usage,
        Value,
        Watch,
        Way,
    )
    from research.report.about import about as report_origin
    from research.report.archive import report_zip
    from research.report.cells import csv as table_csv
    from research.report.cells import filled as filled_table
    from research.report.cells import tabled as report_tabled
    from research.report.data import report_json
    from research.report.docx import report_docx
    from research.report.failures import explain_failure, group_failures, parse_failure
    from research.report.formats import FORMATS as REPORT_FORMATS
    from research.report.formats import TABLES as TABLE_FORMATS
    from research.report.formats import report_as
    from research.report.formats import suffix as report_suffix
    from research.report.geo import csv as places_csv
    from research.report.geo import geojson, kml, lined, located
    from research.report.grids import answer_tables
    from research.report.grids import tables_csv as answer_tables_csv
    from research.report.grids import tables_excel as answer_tables_excel
    from research.report.html import report_html
    from research.report.lead import lead as answer_lead
    from research.report.markdown import file_name, report_markdown
    from research.report.pdf import report_pdf
    from research.report.references import bibtex, csl_json, ris, sources_csv
    from research.report.rowfiles import KINDS as ROW_FILES
    from research.report.rows import csv as rows_csv
    from research.report.rows import excel as rows_excel
    from research.report.rows import parquet as rows_parquet
    from research.report.rows import table as rows_table
    from research.report.sketch import mapped as mapped_places
    from research.report.sketch import sketch_svg
    from research.report.words import Citations
    from research.runs.comparison import (
        CellChange,
        ComparedRun,
        ComparedSource,
        Comparison,
        FigureChange,
        SentenceMove,
        compare,
    )
    from research.runs.database import (
        DatabaseAnswer,
        DatabaseColumn,
        DatabaseDescription,
        DatabaseEntry,
        DatabasePage,
        DatabaseSchema,
        DatabaseTable,
        Exported,
        ask_database,
        database_description,
        database_page,
        database_schema,
        databases,
        describe_database,
        export_rows,
        load_files,
        query_database,
        recognise_file,
        remove_upload,
        undescribe_database,
        uploads,
    )
    from research.runs.pace import PaceError
    from research.runs.related import related_questions
    from research.runs.reports import load_report, news_report
    from research.runs.roles import ModelRole
    from research.runs.states import StateError
    from research.runs.watching import Unwatchable
    from research.settings import SettingError, Settings
    from research.stages.plan import edited_plan, served_as_a_whole
    from research.stages.question import QuestionError
    from research.storage import StoreError
    from research.store.history import HistoryEntry, HistoryHit, HistoryPage, HistoryTurn
    from research.tables.columns import aligned as column_aligned
    from research.tables.columns import charted as column_charted
    from research.tables.columns import ordered as column_ordered
    from research.tables.columns import sureness as column_sureness
    from research.tables.columns import unit_of as column_unit
    from research.tables.guess import guessed as guessed_column
    from research.tables.rows import of_csv as csv_rows
    from research.tables.rows import of_lines as line_rows
    from research.tables.rows import of_report as report_rows
    from research.tables.shown import heading as cell_heading
    from research.tables.shown import in_column as cell_in_column
    from research.tables.shown import quotes as cell_quotes
    from research.tables.shown import shown as cell_text
    from research.tables.spec import SpecError as TableSpecError
    from research.tables.spec import load as table_spec
    from research.tables.values import label as unit_label
    from research.urls import url_identity
    from research.verification.conflicts import conflicts
    from research.verification.support import ACCURACY as SUPPORT_ACCURACY
    from research.verification.support import Sentence, Support, support
    from research.verification.support import drawn as answer_stretches
    from research.wire.connections import bound_connections

__all__ = [
    "COLUMN_TYPES",
    "FILE_LIMITS",
    "MAX_QUESTION",
    "OCR_INSTALL",
    "PICTURE_SUFFIXES",
    "REPORT_FORMATS",
    "ROW_FILES",
    "SUFFIXES",
    "SUPPORT_ACCURACY",
    "TABLE_FORMATS",
    "TABLE_KINDS",
    "Added",
    "Answer",
    "Cell",
    "CellChange",
    "Centre",
    "Change",
    "Check",
    "Choice",
    "Citations",
    "CitedAnswer",
    "CitedSource",
    "Clarification",
    "Column",
    "ColumnType",
    "ComparedRun",
    "ComparedSource",
    "Comparison",
    "Conflict",
    "Conversation",
    "Correction",
    "Coverage",
    "DatabaseAnswer",
    "DatabaseColumn",
    "DatabaseDescription",
    "DatabaseEntry",
    "DatabasePage",
    "DatabaseSchema",
    "DatabaseTable",
    "DayUsage",
    "Disagreement",
    "Distances",
    "Entry",
    "Estimate",
    "Evaluation",
    "Event",
    "Evidence",
    "Excerpt",
    "Export",
    "Exported",
    "Failure",
    "Figure",
    "FigureChange",
    "FileColumn",
    "FileTable",
    "Finding",
    "Flaw",
    "GivenFigure",
    "Grid",
    "HistoryEntry",
    "HistoryHit",
    "HistoryPage",
    "HistoryTurn",
    "Hit",
    "Holding",
    "Intake",
    "KeyState",
    "Label",
    "Library",
    "Lint",
    "Metric",
    "ModelRole",
    "NumberedSpan",
    "Options",
    "Outlet",
    "PaceError",
    "Paper",
    "Part",
    "Passage",
    "Picture",
    "Place",
    "Plan",
    "Point",
    "Price",
    "QuestionError",
    "Readiness",
    "Reading",
    "Reflection",
    "Remark",
    "Report",
    "Route",
    "Row",
    "Rows",
    "Run",
    "Scan",
    "SemanticModel",
    "Sentence",
    "SentenceMove",
    "SettingError",
    "Settings",
    "Sighting",
    "Span",
    "StateError",
    "Step",
    "StillRunning",
    "StoreError",
    "Story",
    "Support",
    "TableSpecError",
    "Task",
    "Unreadable",
    "UnreadableItems",
    "UnreadableReport",
    "Unwatchable",
    "Upload",
    "Usage",
    "Value",
    "Wanted",
    "Watch",
    "Way",
    "Wiped",
    "answer_lead",
    "answer_stretches",
    "answer_tables",
    "answer_tables_csv",
    "answer_tables_excel",
    "answer_tree",
    "ask_database",
    "bibtex",
    "bound_connections",
    "cell_heading",
    "cell_in_column",
    "cell_quotes",
    "cell_text",
    "cited",
    "column_aligned",
    "column_charted",
    "column_heading",
    "column_ordered",
    "column_sureness",
    "column_unit",
    "compare",
    "conflicts",
    "csl_json",
    "csv_rows",
    "database_description",
    "database_page",
    "database_schema",
    "databases",
    "describe_database",
    "drafted",
    "edited_plan",
    "english_region",
    "evaluate_report",
    "evaluations_sarif",
    "explain_failure",
    "export_rows",
    "file_name",
    "filled_table",
    "from_gcj02",
    "geojson",
    "group_failures",
    "guessed_column",
    "has_message",
    "kml",
    "line_rows",
    "lined",
    "lint_markdown",
    "load_files",
    "load_report",
    "located",
    "mapped_places",
    "message",
    "news_report",
    "page_ranges",
    "parse_failure",
    "places_csv",
    "prices_as_of",
    "query_database",
    "readable_rows",
    "recognise_file",
    "related_questions",
    "remove_upload",
    "report_as",
    "report_docx",
    "report_html",
    "report_json",
    "report_markdown",
    "report_origin",
    "report_pdf",
    "report_rows",
    "report_suffix",
    "report_tabled",
    "report_zip",
    "ris",
    "rows_csv",
    "rows_excel",
    "rows_parquet",
    "rows_table",
    "runs",
    "serve_mcp_http",
    "serve_mcp_stdio",
    "served_as_a_whole",
    "sketch_svg",
    "sources_csv",
    "stories_json",
    "support",
    "table_csv",
    "table_spec",
    "text_language",
    "to_gcj02",
    "undescribe_database",
    "unit_label",
    "uploads",
    "url_identity",
]

# Where a public name lives, unless it is a record; and what it is called there, if that differs.
_HOMES = {
    "TABLE_FORMATS": "report.formats",
    "column_aligned": "tables.columns",
    "column_charted": "tables.columns",
    "column_ordered": "tables.columns",
    "column_sureness": "tables.columns",
    "column_unit": "tables.columns",
    "filled_table": "report.cells",
    "report_tabled": "report.cells",
    "table_csv": "report.cells",
    "unit_label": "tables.values",
    "ComparedRun": "runs.comparison",
    "ComparedSource": "runs.comparison",
    "Comparison": "runs.comparison",
    "FigureChange": "runs.comparison",
    "HistoryEntry": "store.history",
    "HistoryHit": "store.history",
    "HistoryPage": "store.history",
    "HistoryTurn": "store.history",
    "SentenceMove": "runs.comparison",
    "column_heading": "readable",
    "compare": "runs.comparison",
    "FILE_LIMITS": "library.documents",
    "COLUMN_TYPES": "database.files",
    "ROW_FILES": "report.rowfiles",
    "TABLE_KINDS": "database.files",
    "REPORT_FORMATS": "report.formats",
    "OCR_INSTALL": "library.ocr",
    "PICTURE_SUFFIXES": "library.documents",
    "SUFFIXES": "library.documents",
    "SUPPORT_ACCURACY": "verification.support",
    "Added": "library.prepare",
    "Scan": "library.scans",
    "page_ranges": "library.unread",
    "Choice": "account.preferences",
    "Citations": "report.words",
    "CitedAnswer": "evidence.citations",
    "CitedSource": "evidence.citations",
    "Entry": "library.listing",
    "Excerpt": "library.listing",
    "Intake": "library.intake",
    "Wanted": "library.listing",
    "Evaluation": "audit.evaluation",
    "Flaw": "audit",
    "Hit": "library.index",
    "KeyState": "account.preferences",
    "Library": "library.index",
    "Lint": "audit",
    "NumberedSpan": "evidence.citations",
    "Point": "places.coordinates",
    "PaceError": "runs.pace",
    "QuestionError": "stages.question",
    "SettingError": "settings",
    "Sentence": "verification.support",
    "Settings": "settings",
    "StateError": "runs.states",
    "StoreError": "storage",
    "Support": "verification.support",
    "UnreadableItems": "news.command",
    "UnreadableReport": "audit.evaluation",
    "Unwatchable": "runs.watching",
    "DatabaseAnswer": "runs.database",
    "DatabaseColumn": "runs.database",
    "DatabaseEntry": "runs.database",
    "DatabasePage": "runs.database",
    "Exported": "runs.database",
    "DatabaseSchema": "runs.database",
    "DatabaseTable": "runs.database",
    "DayUsage": "account.usage",
    "Export": "account.export",
    "Holding": "account.inventory",
    "ModelRole": "runs.roles",
    "Price": "models.prices",
    "StillRunning": "account.deletion",
    "Wiped": "account.deletion",
    "database_schema": "runs.database",
    "database_page": "runs.database",
    "undescribe_database": "runs.database",
    "describe_database": "runs.database",
    "database_description": "runs.database",
    "SemanticModel": "database.semantics",
    "Metric": "database.semantics",
    "Label": "database.semantics",
    "DatabaseDescription": "runs.database",
    "answer_lead": "report.lead",
    "parse_failure": "report.failures",
    "group_failures": "report.failures",
    "explain_failure": "report.failures",
    "answer_stretches": "verification.support",
    "answer_tables": "report.grids",
    "answer_tables_csv": "report.grids",
    "answer_tables_excel": "report.grids",
    "answer_tree": "evidence.markup",
    "ask_database": "runs.database",
    "databases": "runs.database",
    "export_rows": "runs.database",
    "english_region": "readable",
    "query_database": "runs.database",
    "load_files": "runs.database",
    "recognise_file": "runs.database",
    "remove_upload": "runs.database",
    "uploads": "runs.database",
    "Correction": "database.files",
    "FileColumn": "database.files",
    "FileTable": "database.files",
    "Unreadable": "database.files",
    "Upload": "database.uploads",
    "bibtex": "report.references",
    "bound_connections": "wire.connections",
    "cited": "evidence.citations",
    "csl_json": "report.references",
    "conflicts": "verification.conflicts",
    "drafted": "evidence.drafts",
    "edited_plan": "stages.plan",
    "evaluate_report": "audit.evaluation",
    "evaluations_sarif": "audit.sarif",
    "file_name": "report.markdown",
    "geojson": "report.geo",
    "has_message": "i18n",
    "kml": "report.geo",
    "lined": "report.geo",
    "lint_markdown": "audit",
    "load_report": "runs.reports",
    "located": "report.geo",
    "news_report": "runs.reports",
    "places_csv": "report.geo",
    "prices_as_of": "models.prices",
    "mapped_places": "report.sketch",
    "message": "i18n",
    "related_questions": "runs.related",
    "readable_rows": "readable",
    "report_docx": "report.docx",
    "report_json": "report.data",
    "report_markdown": "report.markdown",
    "report_pdf": "report.pdf",
    "report_as": "report.formats",
    "report_html": "report.html",
    "report_origin": "report.about",
    "report_suffix": "report.formats",
    "report_zip": "report.archive",
    "ris": "report.references",
    "rows_csv": "report.rows",
    "rows_excel": "report.rows",
    "rows_parquet": "report.rows",
    "rows_table": "report.rows",
    "serve_mcp_http": "mcp.server",
    "serve_mcp_stdio": "mcp.server",
    "served_as_a_whole": "stages.plan",
    "sketch_svg": "report.sketch",
    "sources_csv": "report.references",
    "stories_json": "news.command",
    "support": "verification.support",
    "text_language": "language.text",
    "from_gcj02": "places.coordinates",
    "to_gcj02": "places.coordinates",
    "url_identity": "urls",
    "cell_in_column": "tables.shown",
    "cell_quotes": "tables.shown",
    "cell_text": "tables.shown",
    "cell_heading": "tables.shown",
    "guessed_column": "tables.guess",
    "csv_rows": "tables.rows",
    "line_rows": "tables.rows",
    "report_rows": "tables.rows",
    "TableSpecError": "tables.spec",
    "table_spec": "tables.spec",
    "CellChange": "runs.comparison",
}
_OWN_NAMES = {
    "TABLE_FORMATS": "TABLES",
    "column_aligned": "aligned",
    "column_charted": "charted",
    "column_ordered": "ordered",
    "column_sureness": "sureness",
    "column_unit": "unit_of",
    "filled_table": "filled",
    "report_tabled": "tabled",
    "table_csv": "csv",
    "unit_label": "label",
    "cell_in_column": "in_column",
    "cell_quotes": "quotes",
    "cell_text": "shown",
    "cell_heading": "heading",
    "guessed_column": "guessed",
    "csv_rows": "of_csv",
    "line_rows": "of_lines",
    "report_rows": "of_report",
    "TableSpecError": "SpecError",
    "table_spec": "load",
    "FILE_LIMITS": "LIMITS",
    "OCR_INSTALL": "INSTALL",
    "PICTURE_SUFFIXES": "PICTURES",
    "page_ranges": "ranges",
    "COLUMN_TYPES": "TYPES",
    "ROW_FILES": "KINDS",
    "TABLE_KINDS": "KINDS",
    "REPORT_FORMATS": "FORMATS",
    "SUPPORT_ACCURACY": "ACCURACY",
    "answer_tables_csv": "tables_csv",
    "answer_tables_excel": "tables_excel",
    "answer_lead": "lead",
    "answer_stretches": "drawn",
    "answer_tree": "tree",
    "column_heading": "heading",
    "english_region": "english",
    "mapped_places": "mapped",
    "places_csv": "csv",
    "prices_as_of": "as_of",
    "readable_rows": "readable",
    "report_origin": "about",
    "report_suffix": "suffix",
    "rows_csv": "csv",
    "rows_excel": "excel",
    "rows_parquet": "parquet",
    "rows_table": "table",
    "serve_mcp_http": "serve_http",
    "serve_mcp_stdio": "serve_stdio",
    "stories_json": "grouped",
    "text_language": "language",
}

# Libraries that import themselves in a circle break when two threads import them at once.
_loading = threading.RLock()

if not TYPE_CHECKING:  # or any name would pass for one of ours

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with _loading:
            if name == "runs":
                return import_module("research.runs")
            home = import_module(f"research.{_HOMES.get(name, 'records')}")
            found = globals()[name] = getattr(home, _OWN_NAMES.get(name, name))
            return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
