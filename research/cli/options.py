"""Help of the program, and options that several commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import research

DESCRIPTION = """\
Answers a question: the Markdown report goes to standard output, live progress to
standard error. With a model and a web search it researches the web; with no key
and no network it quotes your documents."""

EPILOG = """\
commands:
  serve                      serve the pages for the browser: --host, --port, --allow-host
  mcp                        serve research to MCP clients (Claude Desktop, Cursor, ...) on standard
                             input and output; by HTTP with --http, --host, --port
  ask QUESTION               same as QUESTION alone, for a question that is a command word
  news TOPIC                 report on a topic in the news: an outline, then its sections; --save
                             also saves it as a file. With --changed the topic is watched: the
                             first run reports on it; later runs read only what is new, update
                             the report, and print it only if something has changed
  load FILE                  resume a report from its saved state
  plan QUESTION              show what would be searched, without searching
  library add PATH ...       add files and whole folders; --notebook NAME puts them into a notebook
  library list               list documents with their ids
  library remove ID ...      remove documents
  library sample on|off      turn the sample documents on or off
  runs                       list the runs
  show RUN                   print the report of a run, or what there is of it so far
  follow RUN                 watch a run that is under way, here or on the pages, until it is over;
                             Ctrl-C ends the watching, not the run
  resume RUN                 resume a run that was stopped, interrupted or failed, or whose plan
                             is waiting for approval; --write stops searching and writes the
                             answer; --more adds a round to a finished run
  check                      send a small request to every model and every web search; with
                             --models, compare names and prices of models with Gemini's list, or
                             with one in a file
  db QUESTION                query the database of scenic areas, or one of your own: --list lists
                             them, --database NAME picks one, --file FILE asks files;
                             --sql "SELECT …" runs a statement of your own, read-only
  evaluate FILE ...          check the citations of any Markdown report, or of a JSON report
                             made by Sightline; --json or --sarif for programs
  stories FILE.json          group items of news into stories: a JSON list of objects with title,
                             outlet, published, text, url
  COMMAND --help             show the options of a command

examples:
  {prog} "When was the Summer Palace built?"
  {prog} "故宫门票多少钱？" -o report.md
  {prog} "西湖一日游" -o trip.zip
  {prog} "西湖和颐和园的门票" --json --loops 1
  {prog} ask library
  {prog} news "央行降准" --sections 4 --reflections 1 --save=reports
  {prog} news --changed "央行降准" > news.md && mail -s 央行降准 me@example.org < news.md
  {prog} library add ~/Documents/notes

exit codes:
  0    answered
  1    the run or all of its searches failed, or a file could not be read or written
  2    wrong usage, an unusable question or an unusable setting
  3    finished, but nothing was found in the sources, or nothing was searched
  4    news --changed: nothing has changed, and nothing is printed
       evaluate: 0 no defects, 1 defects found, 2 if a file cannot be read
  130  stopped with Ctrl-C, or the plan is waiting for approval; the message says how to resume
"""


def program_name() -> str:
    """Return the program name as it was called, for messages and examples that can be copied."""
    return "sightline" if Path(sys.argv[0]).stem == "sightline" else "python -m research"


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of the program without a command, which prints the help."""
    name = program_name()
    parser = argparse.ArgumentParser(
        prog=name,
        usage=f"{name} QUESTION [-o FILE] [--json] [--queries N] [--loops N] [--sources NAMES]\n"
        f"       {' ' * len(name)} [--model MODEL] [--max-searches N] [--max-tokens N]\n"
        f"       {' ' * len(name)} [--max-cost DOLLARS] [--max-seconds S] [--data-dir DIR]\n"
        f"       {name} COMMAND ...",
        description=DESCRIPTION,
        epilog=EPILOG.replace("{prog}", name),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"Sightline {research.__version__}")
    add_shared_options(parser)
    return parser


def add_shared_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command."""
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="the data folder (default: SIGHTLINE_DATA_DIR)")
    parser.add_argument("--log", action="store_true", help="show the log on standard error")


def add_question_options(parser: argparse.ArgumentParser) -> None:
    """Add a question and the options that limit its run."""
    parser.add_argument("question", nargs="+", metavar="QUESTION", help="what you want to know")
    parser.add_argument("--queries", type=parse_count, metavar="N", help="queries per round, 1 to 10")
    parser.add_argument("--loops", type=parse_round_count, metavar="N", help="maximum search rounds, 0 to 10")
    parser.add_argument(
        "--sources",
        "--source",
        metavar="NAMES",
        help="sources to search, e.g. web,library (default: all available)",
    )
    parser.add_argument(
        "--notebook",
        metavar="NAME",
        help="quote only the documents of one notebook in the library",
    )
    parser.add_argument("--model", metavar="MODEL", help="the model that reflects and writes, as provider:name")
    add_limit_options(parser)
    parser.add_argument("--approve", action="store_true", help="wait for the plan to be approved")
    parser.add_argument("--clarify", action="store_true", help="let the model ask once when the question is ambiguous")


def add_limit_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the limits of a run."""
    for name, unit, text in (
        ("searches", "N", "maximum searches"),
        ("tokens", "N", "maximum tokens"),
        ("cost", "DOLLARS", "maximum estimated cost in US dollars"),
        ("seconds", "S", "maximum seconds of work"),
    ):
        parser.add_argument(f"--max-{name}", type=parse_amount, metavar=unit, help=f"{text}; 0: no limit")


def add_output_options(parser: argparse.ArgumentParser, is_table: bool = False) -> None:
    """Add the options for the output file and the form of the citations."""
    parser.add_argument(
        "-o",
        "--output",
        "--out",
        type=Path,
        metavar="FILE",
        help=f"write to FILE; its suffix sets the format: {' '.join(output_suffixes(is_table))}",
    )
    parser.add_argument(
        "--citations",
        choices=("numbers", "links", "footnotes"),
        help="how Markdown cites: [1]; links to the list of sources (the default of a file); or "
        "footnotes, which Obsidian also follows",
    )
    parser.add_argument(
        "--pages",
        type=parse_page_count,
        metavar="N",
        help="show up to N pages of cited PDF files in an HTML report, with the cited words marked "
        "(default: SIGHTLINE_EXPORT_PAGES)",
    )


def output_suffixes(is_table: bool = False) -> tuple[str, ...]:
    """Return the file suffixes of the formats of a report, or of a table."""
    return tuple(f".{item.suffix}" for item in research.file_formats(for_table=is_table))


def add_save_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--save`; its value is "" if it names no folder, None if it is absent."""
    parser.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="DIR",
        help="save the report as a file in DIR (default: OUTPUT_DIR; if that is off, the current "
        "folder); give it after the topic, or as --save=DIR",
    )


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    """Add the run of the command, given by its id or the beginning of that."""
    parser.add_argument("run", metavar="RUN", help="the id of the run, or its first characters")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add the option `--json`."""
    parser.add_argument("--json", action="store_true", help="JSON instead of text")


def make_integer_parser(minimum: int, maximum: int, noun: str = "whole number") -> Callable[[str], int]:
    """Return a function that parses whole numbers within bounds; `noun` names them in its error message."""

    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not minimum <= int(text) <= maximum:
            raise argparse.ArgumentTypeError(f"{text!r} is not a {noun} from {minimum} to {maximum}")
        return int(text)

    return parse


parse_count = make_integer_parser(1, 10)
parse_page_count = make_integer_parser(0, 100)
parse_section_count = make_integer_parser(1, 12)
parse_port = make_integer_parser(1, 65535, "port")


def parse_round_count(text: str) -> int:
    """Parse a number of rounds, 0 to 10."""
    return 0 if text == "0" else parse_count(text)


def parse_amount(text: str) -> float:
    """Parse a limit of a run: a number of 0 or more."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e12:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return value
