"""A question to a database, or a statement; to files too, which are loaded first."""

from __future__ import annotations

import argparse
import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import research
from research.cli.exits import ANSWERED, FAILED, NOTHING, UNUSABLE, Quit
from research.cli.screen import as_json, complain, plain, put, terminal_language
from research.cli.usage import json_option

if TYPE_CHECKING:
    from research import DatabaseAnswer, Upload

ABOUT = "Queries a database, or files."


def arguments(parser: argparse.ArgumentParser) -> None:
    json_option(parser)
    parser.add_argument("question", nargs="*", metavar="QUESTION")
    parser.add_argument("--sql", metavar="SELECT", help="a statement instead of a question")
    parser.add_argument(
        "--database", default="", metavar="NAME", help="the database to query, as --list names it",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list the available databases")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help="write all rows, up to a million, into a .csv, .xlsx or .parquet file",
    )  # fmt: skip
    parser.add_argument(
        "--file", type=Path, action="append", default=[], metavar="FILE",
        help="a CSV, TSV, Excel, Parquet or JSON Lines file to query instead; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--header", type=int, metavar="ROW",
        help="the header row of those files, 0 for none (default: detected)",
    )  # fmt: skip
    parser.add_argument(
        "--column", action="append", default=[], metavar="HEADING=TYPE",
        help="the type of a column: text, integer, number, date, datetime or boolean",
    )  # fmt: skip


def act(args: argparse.Namespace) -> int:
    """Asks the database, or runs a statement; what is refused ends with 2. Files without a question are
    loaded, and told."""
    question = " ".join(args.question).strip()
    if args.list:
        return _listed(json=args.json)
    if args.database and args.file:
        raise Quit(UNUSABLE, "--database and --file cannot be combined.")
    if (bool(question) == bool(args.sql)) and (question or not args.file):
        raise Quit(UNUSABLE, "db takes a question, or --sql with a statement.")
    database = args.database
    if database and database not in {one.name for one in research.databases() if not one.wrong}:
        raise Quit(UNUSABLE, f"There is no database {plain(database)}; --list lists them.")
    if args.file:
        database = _loaded(args, told=not (question or args.sql)).database
    if not (question or args.sql):
        return ANSWERED
    if args.output and args.output.suffix.lower() not in research.ROW_FILES:
        raise Quit(UNUSABLE, f"-o takes a file that ends in {', '.join(research.ROW_FILES)}.")
    _note_unreadable(database)
    if args.output and args.sql:
        return _exported(args.sql, args.output, database)
    found = (
        research.query_database(args.sql, database=database)
        if args.sql
        else research.ask_database(question, database=database)
    )
    if args.output and found.status in ("answered", "partial"):
        _aside(plain(found.answer) + "\n")
        return _exported(found, args.output, database)
    if args.json:
        put(as_json(found.model_dump_json()))
    elif found.status in ("answered", "partial", "empty"):
        put(_rows_of(found))
    if found.status in ("answered", "partial"):
        return ANSWERED
    if found.status == "empty":
        return complain(NOTHING, found.answer) if args.sql is None else ANSWERED
    return complain(FAILED if found.status == "failed" else UNUSABLE, found.answer)


def _note_unreadable(database: str) -> None:
    """Name the tables that are left out because the database cannot read them, with the reasons."""
    tongue = terminal_language()
    found = research.database_schema(database).unreadable
    named = [research.message("mark.aside", tongue, text=name, more=reason) for name, reason in found.items()]  # fmt: skip
    if named:
        names = research.message("mark.list", tongue).join(named)
        _aside(plain(research.message("database.unreadable", tongue, names=names)) + "\n")


def _exported(statement: str | DatabaseAnswer, path: Path, database: str) -> int:
    """Writes all rows into a file, and says how many there are."""
    try:
        made = research.export_rows(statement, path.expanduser(), _count, database=database)
    except OSError as error:
        raise Quit(FAILED, f"{plain(str(path))} cannot be written: {error.strerror}.") from None
    if made.failure:
        return complain(UNUSABLE, made.failure)
    if sys.stderr.isatty():
        _aside("\r")
    more = "; there are more" if made.more else ""
    _aside(f"{made.rows} rows in {plain(str(path))}{more}\n")
    return ANSWERED


def _count(rows: int) -> None:
    """How many rows there are so far, on a screen that a person looks at."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{rows:,}")
        sys.stderr.flush()


def _listed(*, json: bool) -> int:
    """The databases: name, what it is, and what is wrong with those that cannot be asked."""
    found, tongue = research.databases(), terminal_language()
    if json:
        made = [one.model_dump(mode="json") for one in found]
        put(as_json(dumps(made, ensure_ascii=False, indent=2)) + "\n")
        return ANSWERED
    for one in found:
        about = one.title or one.description.get(tongue, "")
        if one.kind == "shipped":
            about = research.message("database.shipped", tongue)
        usual = research.message("database.usual", tongue) if one.default else ""
        put("\t".join(map(plain, filter(None, [one.name, about, usual, one.wrong]))) + "\n")
    return ANSWERED


def _loaded(args: argparse.Namespace, *, told: bool) -> Upload:
    """The files that were named, loaded."""
    corrected = {}
    for pair in args.column:
        heading, _, kind = pair.rpartition("=")
        if kind not in research.COLUMN_TYPES or not heading:
            raise Quit(UNUSABLE, f"--column takes HEADING=TYPE; types are {', '.join(research.COLUMN_TYPES)}.")  # fmt: skip
        corrected[heading] = ("", kind)
    correction = research.Correction(header=args.header, columns=corrected)
    tongue = terminal_language()
    sources = []
    try:
        for given in args.file:
            path = given.expanduser()
            if not path.is_file():
                raise Quit(UNUSABLE, f"There is no file {plain(str(given))}.")
            first = research.recognise_file(path)
            sheets = {table.sheet: correction for table in first}
            sources.append((path, research.recognise_file(path, "", sheets)))
        upload = research.load_files(sources, _bar)
    except research.Unreadable as error:
        raise Quit(UNUSABLE, error.told(tongue)) from None
    for table in upload.tables:
        columns = ", ".join(f"{c.name} {research.message(f'type.{c.type}', tongue)}" for c in table.columns)  # fmt: skip
        line = research.message("loaded.table", tongue, table=table.name, rows=table.rows or 0, file=table.file, columns=columns)  # fmt: skip
        (put if told else _aside)(plain(line) + "\n")
        if table.kept:
            _aside(plain(research.message("loaded.kept", tongue, columns=", ".join(table.kept))) + "\n")  # fmt: skip
    return upload


def _aside(text: str) -> None:
    sys.stderr.write(text)


def _bar(part: float) -> None:
    """How much is loaded, on a screen that a person looks at."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{part:4.0%}" + ("\n" if part == 1 else ""))
        sys.stderr.flush()


def _rows_of(found: DatabaseAnswer) -> str:
    """An answer of the database as text: what it says, its rows, its statement."""
    lines = [found.answer, ""] if found.question != found.sql and found.answer else []
    lines.append("\t".join(found.columns))
    lines += ["\t".join(_cell(value) for value in row.values()) for row in found.rows]
    return "\n".join([*lines, "", found.sql]) + "\n"


def _cell(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())
