"""Command `db`: query a database, or files that are loaded first, with a question or a statement."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, EXIT_NOTHING_FOUND, EXIT_USAGE, CommandError
from research.cli.options import add_json_option
from research.cli.terminal import clean_line, escape_json, print_message, print_output, print_reading, terminal_language

if TYPE_CHECKING:
    from research import Correction, DatabaseAnswer, FileTable, ReadingNote, Upload

DESCRIPTION = "Queries a database, or files."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)
    parser.add_argument("question", nargs="*", metavar="QUESTION")
    parser.add_argument("--sql", metavar="SELECT", help="a statement instead of a question")
    parser.add_argument("--database", default="", metavar="NAME", help="the database to query, as --list names it")
    parser.add_argument("--list", action="store_true", help="list the available databases")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write all rows, up to a million, into a .csv, .xlsx or .parquet file",
    )
    _add_file_arguments(parser)


def _add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """Add files and the options on how they are read, which are recorded for the file that they follow."""
    group = parser.add_argument_group(
        "files", "An option on how files are read is about the file that it follows; before the first, about all."
    )
    group.add_argument(
        "--file",
        type=Path,
        action=_AddFile,
        default=[],
        metavar="FILE",
        help="a CSV, TSV, Excel, Parquet or JSON file, or a document with tables, to query instead; may be repeated",
    )
    group.add_argument(
        "--heading-row",
        "--header",
        dest="header",
        type=int,
        action=_CorrectFile,
        metavar="ROW",
        help="the row of the headings, 0 for none (default: detected)",
    )
    group.add_argument(
        "--encoding",
        choices=research.TEXT_ENCODINGS,
        action=_CorrectFile,
        metavar="NAME",
        help=f"the encoding of a text file, of {', '.join(research.TEXT_ENCODINGS)} (default: detected)",
    )
    group.add_argument(
        "--delimiter",
        choices=(",", ";", "|", "tab"),
        action=_CorrectFile,
        metavar="MARK",
        help="the mark between the values of a text file: , ; | or tab (default: detected)",
    )
    group.add_argument(
        "--column-type",
        "--column",
        dest="columns",
        action=_CorrectFile,
        metavar="NAME=TYPE",
        help=f"the type of a column, of {', '.join(research.COLUMN_CHOICES)}; may be repeated",
    )
    group.add_argument(
        "--keep-totals",
        dest="keep_totals",
        nargs=0,
        action=_CorrectFile,
        help="leave rows of totals in the data (default: they are set aside)",
    )
    parser.set_defaults(correction=research.Correction())


class _AddFile(argparse.Action):
    """Adds a file with the correction that was given for all files before it."""

    def __call__(self, parser: object, namespace: argparse.Namespace, value: Any, option: object = None) -> None:
        namespace.file = [*namespace.file, (value, namespace.correction)]


class _CorrectFile(argparse.Action):
    """Corrects how the last file is read, or all files if none was given yet."""

    def __call__(self, parser: object, namespace: argparse.Namespace, value: Any, option: object = None) -> None:
        *others, (path, correction) = namespace.file or [(None, namespace.correction)]
        update: dict[str, Any] = {self.dest: value}
        if self.dest == "columns":
            heading, _, choice = value.rpartition("=")
            if choice not in research.COLUMN_CHOICES or not heading:
                raise argparse.ArgumentError(self, f"takes NAME=TYPE; types are {', '.join(research.COLUMN_CHOICES)}")
            update = {"columns": correction.columns | {heading: ("", choice)}}
        elif self.dest == "keep_totals":
            update = {"keep_totals": True}
        elif value == "tab":
            update = {"delimiter": "\t"}
        correction = correction.model_copy(update=update)
        if path is None:
            namespace.correction = correction
        else:
            namespace.file = [*others, (path, correction)]


def execute(args: argparse.Namespace) -> int:
    """Query the database and return the exit code, 2 for a refused query.

    Files without a question are loaded and described.
    """
    question = " ".join(args.question).strip()
    if args.list:
        return _list_databases(print_json=args.json)
    if args.database and args.file:
        raise CommandError(EXIT_USAGE, "--database and --file cannot be combined.")
    if (bool(question) == bool(args.sql)) and (question or not args.file):
        raise CommandError(EXIT_USAGE, "db takes a question, or --sql with a statement.")
    database = args.database
    if database and database not in {
        entry.name for entry in research.get_application().databases.all() if not entry.wrong
    }:
        raise CommandError(EXIT_USAGE, f"There is no database {clean_line(database)}; --list lists them.")
    if args.file:
        database = _load_files(args, is_output=not (question or args.sql)).database
    if not (question or args.sql):
        return EXIT_ANSWERED
    if args.output and args.output.suffix.lower() not in research.ROW_FILE_SUFFIXES:
        raise CommandError(EXIT_USAGE, f"-o takes a file that ends in {', '.join(research.ROW_FILE_SUFFIXES)}.")
    _print_unreadable(database)
    if args.output and args.sql:
        return _export_rows(args.sql, args.output, database, has_files=bool(args.file))
    answer = (
        research.get_application().databases.query(args.sql, database=database)
        if args.sql
        else research.get_application().databases.ask(question, database=database)
    )
    if args.output and answer.status in ("answered", "partial"):
        _print_note(clean_line(answer.answer) + "\n")
        return _export_rows(answer, args.output, database, has_files=bool(args.file))
    if answer.question == answer.sql and not args.file:  # else they are in the answer, or printed before it
        _print_reading_notes(answer.reading_notes)
    if args.json:
        print_output(escape_json(answer.model_dump_json()))
    elif answer.status in ("answered", "partial", "empty"):
        print_output(_answer_text(answer))
    if answer.status in ("answered", "partial"):
        return EXIT_ANSWERED
    if answer.status == "empty":
        return print_message(EXIT_NOTHING_FOUND, answer.answer) if args.sql is None else EXIT_ANSWERED
    return print_message(EXIT_FAILED if answer.status == "failed" else EXIT_USAGE, answer.answer)


def _print_reading_notes(notes: Sequence[ReadingNote]) -> None:
    """Print the doubts with which the files of a statement were read."""
    for note in notes:
        _print_note(f"{clean_line(research.describe_reading_note(note, terminal_language()))}\n")


def _print_unreadable(database: str) -> None:
    """Print the tables that the database cannot read, with the reasons."""
    language = terminal_language()
    reasons = research.get_application().databases.schema(database).unreadable
    entries = [research.message("mark.aside", language, text=name, more=reason) for name, reason in reasons.items()]
    if entries:
        names = research.message("mark.list", language).join(entries)
        _print_note(clean_line(research.message("database.unreadable", language, names=names)) + "\n")


def _export_rows(statement: str | DatabaseAnswer, path: Path, database: str, *, has_files: bool) -> int:
    """Write all rows to a file and print their number."""
    try:
        export = research.get_application().databases.export_rows(
            statement, path.expanduser(), _show_row_count, database=database
        )
    except OSError as error:
        raise CommandError(EXIT_FAILED, f"{clean_line(str(path))} cannot be written: {error.strerror}.") from None
    if export.error:
        return print_message(EXIT_USAGE, export.error)
    if sys.stderr.isatty():
        _print_note("\r")
    if not has_files:
        _print_reading_notes(export.reading_notes)
    more = "; there are more" if export.has_more else ""
    _print_note(f"{export.row_count} rows in {clean_line(str(path))}{more}\n")
    return EXIT_ANSWERED


def _show_row_count(rows: int) -> None:
    """Show the number of rows so far, on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{rows:,}")
        sys.stderr.flush()


def _list_databases(*, print_json: bool) -> int:
    """Print the databases: name, description, and the problem of those that cannot be queried."""
    databases, language = research.get_application().databases.all(), terminal_language()
    if print_json:
        records = [database.model_dump(mode="json") for database in databases]
        print_output(escape_json(dumps(records, ensure_ascii=False, indent=2)) + "\n")
        return EXIT_ANSWERED
    for database in databases:
        about = database.title or database.description.get(language, "")
        if database.kind == "shipped":
            about = research.message("database.shipped", language)
        default_note = research.message("database.usual", language) if database.default else ""
        print_output(
            "\t".join(map(clean_line, filter(None, [database.name, about, default_note, database.wrong]))) + "\n"
        )
    return EXIT_ANSWERED


def _load_files(args: argparse.Namespace, *, is_output: bool) -> Upload:
    """Load the files given on the command line and describe their tables.

    The description goes to the standard output if it is all that the command prints (`is_output`),
    else to standard error.
    """
    language = terminal_language()
    sources = []
    try:
        for argument, correction in args.file:
            path = argument.expanduser()
            if not path.is_file():
                raise CommandError(EXIT_USAGE, f"There is no file {clean_line(str(argument))}.")
            sources.append((path, _detect_tables(path, correction)))
        upload = research.get_application().databases.load_files(sources, _show_progress)
    except research.UnreadableTableError as error:
        raise CommandError(EXIT_USAGE, error.message_in(language)) from None
    for table in upload.tables:
        columns = ", ".join(f"{c.name} {research.message(f'type.{c.type}', language)}" for c in table.columns)
        line = research.message(
            "loaded.table", language, table=table.name, rows=table.rows or 0, file=table.file, columns=columns
        )
        (print_output if is_output else _print_note)(clean_line(line) + "\n")
        print_reading(table)
    return upload


def _detect_tables(path: Path, correction: Correction) -> tuple[FileTable, ...]:
    """Detect the tables of a file, with one correction for all of its sheets.

    Raises:
        UnreadableTableError: there are none.
        CommandError: a column that the correction names is in none of them.
    """
    detected = research.detect_tables(path, "", {"": correction})
    detected = research.detect_tables(path, "", {table.sheet: correction for table in detected})
    columns = [column for table in detected for column in table.columns]
    headings = {column.name: column.heading for column in columns} | {c.heading: c.heading for c in columns}
    if unknown := sorted(set(correction.columns) - set(headings)):
        names = ", ".join(clean_line(name) for name in dict.fromkeys(headings.values()))
        raise CommandError(
            EXIT_USAGE, f"{clean_line(path.name)} has no column {clean_line(unknown[0])}; its columns are {names}."
        )
    named = {headings[name]: choice for name, choice in correction.columns.items()}
    if named == correction.columns:
        return detected
    correction = correction.model_copy(update={"columns": named})
    return research.detect_tables(path, "", {table.sheet: correction for table in detected})


def _print_note(text: str) -> None:
    """Print a text that is no answer to standard error."""
    sys.stderr.write(text)


def _show_progress(fraction: float) -> None:
    """Show the loaded fraction (0 to 1), on a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{fraction:4.0%}" + ("\n" if fraction == 1 else ""))
        sys.stderr.flush()


def _answer_text(answer: DatabaseAnswer) -> str:
    """Format an answer of the database: its text, rows and statement."""
    lines = [answer.answer, ""] if answer.question != answer.sql and answer.answer else []
    lines.append("\t".join(answer.columns))
    lines += ["\t".join(_cell_text(value) for value in row.values()) for row in answer.rows]
    return "\n".join([*lines, "", answer.sql]) + "\n"


def _cell_text(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())
