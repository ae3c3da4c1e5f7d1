"""The documents of the library."""

from __future__ import annotations

import argparse
import unicodedata
from pathlib import Path

import research
from research.cli.exits import ANSWERED, FAILED, NOTHING, UNUSABLE, Quit
from research.cli.screen import cut, plain, put
from research.cli.usage import prog, shared

ABOUT = "Your documents."


def arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="kind", required=True)

    def kind(name: str, text: str) -> argparse.ArgumentParser:
        made = kinds.add_parser(  # what is not given here must not undo what came before
            name, description=text, allow_abbrev=False, argument_default=argparse.SUPPRESS
        )
        shared(made)
        return made

    adding = kind("add", "Adds files and whole folders.")
    adding.add_argument(
        "paths", nargs="+", type=Path, metavar="PATH", help=" ".join(research.SUFFIXES)
    )
    adding.add_argument(
        "--notebook",
        metavar="NAME",
        default="",
        help="put them into a notebook, which is created if it is new",
    )
    kind("list", "Lists the documents.")
    removing = kind("remove", "Removes documents.")
    removing.add_argument(
        "ids", nargs="+", type=int, metavar="ID", help="as `library list` shows it"
    )
    switching = kind("sample", "Turns the sample documents on or off.")
    switching.add_argument("state", choices=("on", "off"))


def act(args: argparse.Namespace) -> int:
    acts = {"add": _add, "list": _documents, "remove": _remove, "sample": _sample}
    return acts[args.kind](args)


def _add(args: argparse.Namespace) -> int:
    outcomes = 0
    failed = pictures = 0
    there: list[str] = []
    for outcome in research.application.desk().library.add_paths(
        path.expanduser() for path in args.paths
    ):
        outcomes += 1
        failed += not outcome.ok
        there += [outcome.name] if outcome.ok else []
        told = [f"{outcome.passages} passages"] if outcome.passages else []
        if outcome.pages:
            pictures += 1
            told.append(f"pages {research.page_ranges(outcome.pages)} hold pictures without text")
        elif outcome.detail:
            told.append(outcome.detail)
        detail = "; ".join(told)
        put(
            f"{outcome.outcome:<13}  {plain(outcome.name)}{'  ' + plain(detail) if detail else ''}\n"
        )
    if not outcomes:
        raise Quit(
            NOTHING, f"There are no files to add; accepted types: {' '.join(research.SUFFIXES)}."
        )
    if pictures:
        _scans()
    if args.notebook and not research.application.put_in(args.notebook, there):
        raise Quit(UNUSABLE, f"--notebook {args.notebook!r}: not a valid name.")
    return FAILED if failed else ANSWERED


def _scans() -> None:
    """Reads the scanned pages that wait, and tells how far it is; what is left is read later."""
    library = research.application.desk().library
    last = ""
    while not library.reading.wait(0.2):
        at, page = library.reading.document, library.reading.page
        here = next((scan for scan in library.scans() if scan.document == at), None)
        if here and page and (now := f"{here.name} {page}") != last:
            last = now
            put(f"page {page:>4} of {here.total:>4}  {plain(here.name)}\n")
    if library.reading.trouble:
        raise library.reading.trouble
    for scan in library.scans():
        if scan.failed:
            pages = research.page_ranges(page for page, _ in scan.failed)
            put(f"not read       {plain(scan.name)}  pages {pages}\n")
    if not library.reading.able:
        put(
            f"To read them with OCR, install this and add the files again:\n  {research.OCR_INSTALL}\n"
        )


def _documents(_: argparse.Namespace) -> int:
    for entry in research.application.desk().library.entries():
        title = _wide(cut(entry.title, 40), 40)
        kind = "sample" if entry.sample else "own   "
        put(f"{entry.id:>6}  {kind}  {entry.passages:>5} passages  {title}  {plain(entry.name)}\n")
    return ANSWERED


def _wide(text: str, columns: int) -> str:
    """Text filled up to a width at which Han characters count double."""
    taken = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return text + " " * (columns - taken)


def _remove(args: argparse.Namespace) -> int:
    library = research.application.desk().library
    entries = {entry.id: entry for entry in library.entries()}
    for number in args.ids:
        if number not in entries:
            raise Quit(UNUSABLE, f"No document has the id {number}; nothing was removed.")
        if entries[number].sample:
            raise Quit(
                UNUSABLE,
                f"{number} is a sample document; nothing was removed. "
                f"`{prog()} library sample off` turns the sample off.",
            )
    library.remove(args.ids)
    for number in dict.fromkeys(args.ids):
        put(f"removed  {plain(entries[number].name)}\n")
    return ANSWERED


def _sample(args: argparse.Namespace) -> int:
    library = research.application.desk().library
    library.use_sample(args.state == "on")
    found = library.counts()
    count = found.own + found.sample
    put(f"The sample is {args.state}; the library has {count} documents.\n")
    return ANSWERED
