"""Sightline's engine: from a question to an answer whose citations open the passages.

Importing it needs no key and no network, makes no file and prints nothing. It knows nothing of the
pages that draw it. Each public name is loaded when it is first asked for, so that who needs a record
or a server of a tool does not wait for the graph.
"""

import os
import threading
from importlib import import_module
from typing import TYPE_CHECKING

from research.core.version import VERSION

__version__ = VERSION

# Before langgraph is imported: checkpoints may then hold only types that are named as safe.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

if TYPE_CHECKING:
    from research import application
    from research.accounts.deletion import StillRunning, Wiped
    from research.accounts.export import Export
    from research.accounts.inventory import Holding
    from research.accounts.preferences import Choice, KeyState
    from research.accounts.usage import DayUsage
    from research.agent.nodes.plan import edited_plan, served_as_a_whole
    from research.agent.nodes.question import QuestionError
    from research.citations.conflicts import conflicts
    from research.citations.drafts import drafted
    from research.citations.markup import tree as answer_tree
    from research.citations.numbering import CitedAnswer, CitedSource, NumberedSpan, cited
    from research.citations.support import ACCURACY as SUPPORT_ACCURACY
    from research.citations.support import Sentence, Support, support
    from research.citations.support import drawn as answer_stretches
    from research.core.coordinates import Point, from_gcj02, to_gcj02
    from research.core.i18n import has_message, message
    from research.core.readable import english as english_region
    from research.core.readable import heading as column_heading
    from research.core.readable import readable as readable_rows
    from research.core.records import (
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
    from research.core.settings import SettingError, Settings
    from research.core.text.words import language as text_language
    from research.core.urls import url_identity
    from research.export.about import about as report_origin
    from research.export.archive import report_zip
    from research.export.cells import csv as table_csv
    from research.export.cells import filled as filled_table
    from research.export.cells import tabled as report_tabled
    from research.export.data import report_json
    from research.export.docx import report_docx
    from research.export.failures import explain_failure, group_failures, parse_failure
    from research.export.formats import FORMATS as REPORT_FORMATS
    from research.export.formats import TABLES as TABLE_FORMATS
    from research.export.formats import report_as
    from research.export.formats import suffix as report_suffix
    from research.export.geo import csv as places_csv
    from research.export.geo import geojson, kml, lined, located
    from research.export.grids import answer_tables
    from research.export.grids import tables_csv as answer_tables_csv
    from research.export.grids import tables_excel as answer_tables_excel
    from research.export.html import report_html
    from research.export.lead import lead as answer_lead
    from research.export.markdown import file_name, report_markdown
    from research.export.pdf import report_pdf
    from research.export.references import bibtex, csl_json, ris, sources_csv
    from research.export.rowfiles import KINDS as ROW_FILES
    from research.export.rows import csv as rows_csv
    from research.export.rows import excel as rows_excel
    from research.export.rows import parquet as rows_parquet
    from research.export.rows import table as rows_table
    from research.export.sketch import mapped as mapped_places
    from research.export.sketch import sketch_svg
    from research.export.words import Citations
    from research.http.connections import bound_connections
    from research.linter import Flaw, Lint, lint_markdown
    from research.linter.evaluation import Evaluation, UnreadableReport, evaluate_report
    from research.linter.sarif import evaluations_sarif
    from research.mcp_server.server import serve_http as serve_mcp_http
    from research.mcp_server.server import serve_stdio as serve_mcp_stdio
    from research.models.prices import Price
    from research.models.prices import as_of as prices_as_of
    from research.readers.documents import LIMITS as FILE_LIMITS
    from research.readers.documents import PICTURES as PICTURE_SUFFIXES
    from research.readers.documents import SUFFIXES
    from research.readers.table_files import KINDS as TABLE_KINDS
    from research.readers.table_files import TYPES as COLUMN_TYPES
    from research.readers.table_files import Correction, FileColumn, FileTable, Unreadable
    from research.runtime.comparison import (
        CellChange,
        ComparedRun,
        ComparedSource,
        Comparison,
        FigureChange,
        SentenceMove,
        compare,
    )
    from research.runtime.database import (
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
    from research.runtime.pace import PaceError
    from research.runtime.related import related_questions
    from research.runtime.reports import load_report, news_report
    from research.runtime.roles import ModelRole
    from research.runtime.states import StateError
    from research.sources.database.semantics import Label, Metric, SemanticModel
    from research.sources.database.uploads import Upload
    from research.sources.library.index import Hit, Library
    from research.sources.library.intake import Intake
    from research.sources.library.listing import Entry, Excerpt, Wanted
    from research.sources.library.ocr import INSTALL as OCR_INSTALL
    from research.sources.library.prepare import Added
    from research.sources.library.scans import Scan
    from research.sources.library.unread import ranges as page_ranges
    from research.sources.news.command import UnreadableItems
    from research.sources.news.command import grouped as stories_json
    from research.storage.files import StoreError
    from research.storage.history import HistoryEntry, HistoryHit, HistoryPage, HistoryTurn
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
    from research.watch.topics import Unwatchable

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
    "application",
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
    "StillRunning": "accounts.deletion",
    "Wiped": "accounts.deletion",
    "Export": "accounts.export",
    "Holding": "accounts.inventory",
    "Choice": "accounts.preferences",
    "KeyState": "accounts.preferences",
    "DayUsage": "accounts.usage",
    "Flaw": "linter",
    "Lint": "linter",
    "lint_markdown": "linter",
    "Evaluation": "linter.evaluation",
    "UnreadableReport": "linter.evaluation",
    "evaluate_report": "linter.evaluation",
    "evaluations_sarif": "linter.sarif",
    "TABLE_KINDS": "readers.table_files",
    "COLUMN_TYPES": "readers.table_files",
    "Correction": "readers.table_files",
    "FileColumn": "readers.table_files",
    "FileTable": "readers.table_files",
    "Unreadable": "readers.table_files",
    "Label": "sources.database.semantics",
    "Metric": "sources.database.semantics",
    "SemanticModel": "sources.database.semantics",
    "Upload": "sources.database.uploads",
    "CitedAnswer": "citations.numbering",
    "CitedSource": "citations.numbering",
    "NumberedSpan": "citations.numbering",
    "cited": "citations.numbering",
    "drafted": "citations.drafts",
    "answer_tree": "citations.markup",
    "has_message": "core.i18n",
    "message": "core.i18n",
    "text_language": "core.text.words",
    "FILE_LIMITS": "readers.documents",
    "PICTURE_SUFFIXES": "readers.documents",
    "SUFFIXES": "readers.documents",
    "Hit": "sources.library.index",
    "Library": "sources.library.index",
    "Intake": "sources.library.intake",
    "Entry": "sources.library.listing",
    "Excerpt": "sources.library.listing",
    "Wanted": "sources.library.listing",
    "OCR_INSTALL": "sources.library.ocr",
    "Added": "sources.library.prepare",
    "Scan": "sources.library.scans",
    "page_ranges": "sources.library.unread",
    "serve_mcp_http": "mcp_server.server",
    "serve_mcp_stdio": "mcp_server.server",
    "Price": "models.prices",
    "prices_as_of": "models.prices",
    "UnreadableItems": "sources.news.command",
    "stories_json": "sources.news.command",
    "Point": "core.coordinates",
    "from_gcj02": "core.coordinates",
    "to_gcj02": "core.coordinates",
    "english_region": "core.readable",
    "column_heading": "core.readable",
    "readable_rows": "core.readable",
    "report_origin": "export.about",
    "report_zip": "export.archive",
    "table_csv": "export.cells",
    "filled_table": "export.cells",
    "report_tabled": "export.cells",
    "report_json": "export.data",
    "report_docx": "export.docx",
    "explain_failure": "export.failures",
    "group_failures": "export.failures",
    "parse_failure": "export.failures",
    "REPORT_FORMATS": "export.formats",
    "TABLE_FORMATS": "export.formats",
    "report_as": "export.formats",
    "report_suffix": "export.formats",
    "places_csv": "export.geo",
    "geojson": "export.geo",
    "kml": "export.geo",
    "lined": "export.geo",
    "located": "export.geo",
    "answer_tables": "export.grids",
    "answer_tables_csv": "export.grids",
    "answer_tables_excel": "export.grids",
    "report_html": "export.html",
    "answer_lead": "export.lead",
    "file_name": "export.markdown",
    "report_markdown": "export.markdown",
    "report_pdf": "export.pdf",
    "bibtex": "export.references",
    "csl_json": "export.references",
    "ris": "export.references",
    "sources_csv": "export.references",
    "ROW_FILES": "export.rowfiles",
    "rows_csv": "export.rows",
    "rows_excel": "export.rows",
    "rows_parquet": "export.rows",
    "rows_table": "export.rows",
    "mapped_places": "export.sketch",
    "sketch_svg": "export.sketch",
    "Citations": "export.words",
    "CellChange": "runtime.comparison",
    "ComparedRun": "runtime.comparison",
    "ComparedSource": "runtime.comparison",
    "Comparison": "runtime.comparison",
    "FigureChange": "runtime.comparison",
    "SentenceMove": "runtime.comparison",
    "compare": "runtime.comparison",
    "DatabaseAnswer": "runtime.database",
    "DatabaseColumn": "runtime.database",
    "DatabaseDescription": "runtime.database",
    "DatabaseEntry": "runtime.database",
    "DatabasePage": "runtime.database",
    "DatabaseSchema": "runtime.database",
    "DatabaseTable": "runtime.database",
    "Exported": "runtime.database",
    "ask_database": "runtime.database",
    "database_description": "runtime.database",
    "database_page": "runtime.database",
    "database_schema": "runtime.database",
    "databases": "runtime.database",
    "describe_database": "runtime.database",
    "export_rows": "runtime.database",
    "load_files": "runtime.database",
    "query_database": "runtime.database",
    "recognise_file": "runtime.database",
    "remove_upload": "runtime.database",
    "undescribe_database": "runtime.database",
    "uploads": "runtime.database",
    "PaceError": "runtime.pace",
    "related_questions": "runtime.related",
    "load_report": "runtime.reports",
    "news_report": "runtime.reports",
    "ModelRole": "runtime.roles",
    "StateError": "runtime.states",
    "Unwatchable": "watch.topics",
    "SettingError": "core.settings",
    "Settings": "core.settings",
    "edited_plan": "agent.nodes.plan",
    "served_as_a_whole": "agent.nodes.plan",
    "QuestionError": "agent.nodes.question",
    "StoreError": "storage.files",
    "HistoryEntry": "storage.history",
    "HistoryHit": "storage.history",
    "HistoryPage": "storage.history",
    "HistoryTurn": "storage.history",
    "column_aligned": "tables.columns",
    "column_charted": "tables.columns",
    "column_ordered": "tables.columns",
    "column_sureness": "tables.columns",
    "column_unit": "tables.columns",
    "guessed_column": "tables.guess",
    "csv_rows": "tables.rows",
    "line_rows": "tables.rows",
    "report_rows": "tables.rows",
    "cell_heading": "tables.shown",
    "cell_in_column": "tables.shown",
    "cell_quotes": "tables.shown",
    "cell_text": "tables.shown",
    "TableSpecError": "tables.spec",
    "table_spec": "tables.spec",
    "unit_label": "tables.values",
    "url_identity": "core.urls",
    "conflicts": "citations.conflicts",
    "SUPPORT_ACCURACY": "citations.support",
    "Sentence": "citations.support",
    "Support": "citations.support",
    "support": "citations.support",
    "answer_stretches": "citations.support",
    "bound_connections": "http.connections",
}
_OWN_NAMES = {
    "TABLE_KINDS": "KINDS",
    "COLUMN_TYPES": "TYPES",
    "answer_tree": "tree",
    "text_language": "language",
    "FILE_LIMITS": "LIMITS",
    "PICTURE_SUFFIXES": "PICTURES",
    "OCR_INSTALL": "INSTALL",
    "page_ranges": "ranges",
    "serve_mcp_http": "serve_http",
    "serve_mcp_stdio": "serve_stdio",
    "prices_as_of": "as_of",
    "stories_json": "grouped",
    "english_region": "english",
    "column_heading": "heading",
    "readable_rows": "readable",
    "report_origin": "about",
    "table_csv": "csv",
    "filled_table": "filled",
    "report_tabled": "tabled",
    "REPORT_FORMATS": "FORMATS",
    "TABLE_FORMATS": "TABLES",
    "report_suffix": "suffix",
    "places_csv": "csv",
    "answer_tables_csv": "tables_csv",
    "answer_tables_excel": "tables_excel",
    "answer_lead": "lead",
    "ROW_FILES": "KINDS",
    "rows_csv": "csv",
    "rows_excel": "excel",
    "rows_parquet": "parquet",
    "rows_table": "table",
    "mapped_places": "mapped",
    "column_aligned": "aligned",
    "column_charted": "charted",
    "column_ordered": "ordered",
    "column_sureness": "sureness",
    "column_unit": "unit_of",
    "guessed_column": "guessed",
    "csv_rows": "of_csv",
    "line_rows": "of_lines",
    "report_rows": "of_report",
    "cell_heading": "heading",
    "cell_in_column": "in_column",
    "cell_quotes": "quotes",
    "cell_text": "shown",
    "TableSpecError": "SpecError",
    "table_spec": "load",
    "unit_label": "label",
    "SUPPORT_ACCURACY": "ACCURACY",
    "answer_stretches": "drawn",
}

# Libraries that import themselves in a circle break when two threads import them at once.
_loading = threading.RLock()

if not TYPE_CHECKING:  # or any name would pass for one of ours

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with _loading:
            if name == "application":
                return import_module("research.application")
            home = import_module(f"research.{_HOMES.get(name, 'core.records')}")
            found = globals()[name] = getattr(home, _OWN_NAMES.get(name, name))
            return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
