"""A question to the database, or a statement."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import research
from research.cli.exits import ANSWERED, FAILED, NOTHING, UNUSABLE, Quit
from research.cli.screen import as_json, complain, put
from research.cli.usage import json_option

if TYPE_CHECKING:
    from research import DatabaseAnswer

ABOUT = "Queries the database."


def arguments(parser: argparse.ArgumentParser) -> None:
    json_option(parser)
    parser.add_argument("question", nargs="*", metavar="QUESTION")
    parser.add_argument("--sql", metavar="SELECT", help="a statement instead of a question")


def act(args: argparse.Namespace) -> int:
    """Asks the database, or runs a statement; what is refused ends with 2."""
    question = " ".join(args.question).strip()
    if bool(question) == bool(args.sql):
        raise Quit(UNUSABLE, "db takes a question, or --sql with a statement.")
    found = research.query_database(args.sql) if args.sql else research.ask_database(question)
    if args.json:
        put(as_json(found.model_dump_json()))
    elif found.status in ("answered", "partial", "empty"):
        put(_rows_of(found))
    if found.status in ("answered", "partial"):
        return ANSWERED
    if found.status == "empty":
        return complain(NOTHING, found.answer) if args.sql is None else ANSWERED
    return complain(FAILED if found.status == "failed" else UNUSABLE, found.answer)


def _rows_of(found: DatabaseAnswer) -> str:
    """An answer of the database as text: what it says, its rows, its statement."""
    lines = [found.answer, ""] if found.question != found.sql and found.answer else []
    lines.append("\t".join(found.columns))
    lines += ["\t".join(_cell(value) for value in row.values()) for row in found.rows]
    return "\n".join([*lines, "", found.sql]) + "\n"


def _cell(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())
