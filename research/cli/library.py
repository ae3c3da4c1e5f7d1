"""Command `library`: manage the documents of the library."""

from __future__ import annotations

import argparse
import unicodedata
from pathlib import Path

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, EXIT_NOTHING_FOUND, EXIT_USAGE, CommandError
from research.cli.options import add_shared_options, program_name
from research.cli.terminal import clean_line, print_output, shorten

DESCRIPTION = "Your documents."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    subcommands = parser.add_subparsers(dest="subcommand", required=True)

    def add_subcommand(name: str, text: str) -> argparse.ArgumentParser:
        # Without SUPPRESS, defaults would overwrite options given before the subcommand.
        subparser = subcommands.add_parser(
            name, description=text, allow_abbrev=False, argument_default=argparse.SUPPRESS
        )
        add_shared_options(subparser)
        return subparser

    add_parser = add_subcommand("add", "Adds files and whole folders.")
    add_parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=" ".join(research.SUFFIXES))
    add_parser.add_argument(
        "--notebook",
        metavar="NAME",
        default="",
        help="put them into a notebook, which is created if it is new",
    )
    add_subcommand("list", "Lists the documents.")
    remove_parser = add_subcommand("remove", "Removes documents.")
    remove_parser.add_argument("ids", nargs="+", type=int, metavar="ID", help="as `library list` shows it")
    sample_parser = add_subcommand("sample", "Turns the sample documents on or off.")
    sample_parser.add_argument("state", choices=("on", "off"))


def execute(args: argparse.Namespace) -> int:
    functions = {"add": _add_documents, "list": _list_documents, "remove": _remove_documents, "sample": _set_sample}
    return functions[args.subcommand](args)


def _add_documents(args: argparse.Namespace) -> int:
    outcome_count = failed_count = scanned_count = 0
    names: list[str] = []
    for outcome in research.get_application().library.add_paths(path.expanduser() for path in args.paths):
        outcome_count += 1
        failed_count += not outcome.is_ok
        names += [outcome.name] if outcome.is_ok else []
        details = [f"{outcome.passage_count} passages"] if outcome.passage_count else []
        if outcome.pages:
            scanned_count += 1
            details.append(f"pages {research.page_ranges(outcome.pages)} hold pictures without text")
        elif outcome.detail:
            details.append(outcome.detail)
        if outcome.is_ok and outcome.content:
            details.append(f"content of a {outcome.content} file, read as such")
        if outcome.is_cut:
            details.append("ends before its own end; text may be missing")
        if outcome.uncalculated:
            details.append(f"{outcome.uncalculated} formulas without a stored result are missing")
        if outcome.skipped_attachments:
            details.append(f"attachments of other types not read: {', '.join(outcome.skipped_attachments)}")
        detail = "; ".join(details)
        print_output(
            f"{outcome.outcome:<13}  {clean_line(outcome.name)}{'  ' + clean_line(detail) if detail else ''}\n"
        )
    if not outcome_count:
        raise CommandError(
            EXIT_NOTHING_FOUND, f"There are no files to add; accepted types: {' '.join(research.SUFFIXES)}."
        )
    if scanned_count:
        _read_scans()
    if args.notebook and not research.get_application().store.add_to_notebook("local", args.notebook, names):
        raise CommandError(EXIT_USAGE, f"--notebook {args.notebook!r}: not a valid name.")
    return EXIT_FAILED if failed_count else EXIT_ANSWERED


def _read_scans() -> None:
    """Read the waiting scanned pages and print the progress; the remaining ones are read later."""
    library = research.get_application().library
    last = ""
    while not library.scan_reader.wait(0.2):
        document_id, page = library.scan_reader.document_id, library.scan_reader.page
        current = next((scan for scan in library.list_scans() if scan.document_id == document_id), None)
        if current and page and (position := f"{current.name} {page}") != last:
            last = position
            print_output(f"page {page:>4} of {current.page_count:>4}  {clean_line(current.name)}\n")
    if library.scan_reader.error:
        raise library.scan_reader.error
    for scan in library.list_scans():
        if scan.failed_pages:
            pages = research.page_ranges(page for page, _ in scan.failed_pages)
            print_output(f"not read       {clean_line(scan.name)}  pages {pages}\n")
    if not library.scan_reader.is_available:
        print_output(f"To read them with OCR, install this and add the files again:\n  {research.OCR_INSTALL}\n")


def _list_documents(_: argparse.Namespace) -> int:
    for entry in research.get_application().library.list_all():
        title = _pad(shorten(entry.title, 40), 40)
        kind = "sample" if entry.is_sample else "own   "
        print_output(f"{entry.id:>6}  {kind}  {entry.passage_count:>5} passages  {title}  {clean_line(entry.name)}\n")
    return EXIT_ANSWERED


def _pad(text: str, columns: int) -> str:
    """Pad a text to a width in terminal columns; Han characters take two."""
    width = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return text + " " * (columns - width)


def _remove_documents(args: argparse.Namespace) -> int:
    library = research.get_application().library
    entries = {entry.id: entry for entry in library.list_all()}
    for number in args.ids:
        if number not in entries:
            raise CommandError(EXIT_USAGE, f"No document has the id {number}; nothing was removed.")
        if entries[number].is_sample:
            raise CommandError(
                EXIT_USAGE,
                f"{number} is a sample document; nothing was removed. "
                f"`{program_name()} library sample off` turns the sample off.",
            )
    library.remove(args.ids)
    for number in dict.fromkeys(args.ids):
        print_output(f"removed  {clean_line(entries[number].name)}\n")
    return EXIT_ANSWERED


def _set_sample(args: argparse.Namespace) -> int:
    library = research.get_application().library
    library.set_sample_enabled(args.state == "on")
    counts = library.count_documents()
    count = counts.own_count + counts.sample_count
    print_output(f"The sample is {args.state}; the library has {count} documents.\n")
    return EXIT_ANSWERED
