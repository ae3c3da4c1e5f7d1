"""python -m research "question": the same run in a terminal.

The report goes to standard output, what happens meanwhile to standard error. Everything that comes
from outside is stripped of control characters before a terminal sees it.
"""

from __future__ import annotations

import argparse
import json
import locale
import logging
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rich.box import SIMPLE
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from research import (
    REPORT_FORMATS,
    SUFFIXES,
    Citations,
    CitedAnswer,
    DatabaseAnswer,
    Estimate,
    Evaluation,
    Event,
    Options,
    QuestionError,
    Report,
    Run,
    SettingError,
    StateError,
    StoreError,
    Task,
    UnreadableItems,
    UnreadableReport,
    Watch,
    ask_database,
    cited,
    evaluate_report,
    evaluations_sarif,
    query_database,
    report_as,
    report_json,
    report_markdown,
    report_suffix,
    runs,
    stories_json,
    support,
)

ANSWERED, FAILED, UNUSABLE, NOTHING, UNCHANGED, STOPPED = 0, 1, 2, 3, 4, 130
COMMANDS = (
    "ask",
    "news",
    "load",
    "plan",
    "library",
    "runs",
    "resume",
    "check",
    "stories",
    "db",
    "evaluate",
)
PROG = "python -m research"
OUTPUTS = (*(f".{ending}" for ending in REPORT_FORMATS), ".zip")

DESCRIPTION = """\
Answers a question: the Markdown report goes to standard output, live progress to
standard error. With a model and a web search it researches the web; with no key
and no network it quotes your documents."""

EPILOG = """\
commands:
  ask QUESTION               same as QUESTION alone, for a question that is a command word
  news TOPIC                 report on a topic in the news: an outline, then its sections; --save
                             also saves it as a file. With --changed the topic is watched: the
                             first run reports on it; later runs read only what is new, update
                             the report, and print it only if something has changed
  load FILE                  resume a report from its saved state
  plan QUESTION              show what would be searched, without searching
  library add PATH ...       add files and whole folders
  library list               list documents with their ids
  library remove ID ...      remove documents
  library sample on|off      turn the sample documents on or off
  runs                       list the runs
  resume RUN                 resume a run that was stopped, interrupted or failed, or whose plan
                             is waiting for approval; --write stops searching and writes the
                             answer; --more adds a round to a finished run
  check                      send a small request to every model and every web search
  db QUESTION                query the database of scenic areas, or the one in DATABASE_URL;
                             --sql "SELECT …" runs a statement of your own, read-only
  evaluate FILE ...          check the citations of any Markdown report, or of a JSON report
                             made by Sightline; --json or --sarif for programs
  stories FILE.json          group items of news into stories: a JSON list of objects with title,
                             outlet, published, text, url
  COMMAND --help             show the options of a command

examples:
  python -m research "When was the Summer Palace built?"
  python -m research "故宫门票多少钱？" -o report.md
  python -m research "西湖一日游" -o trip.zip
  python -m research "西湖和颐和园的门票" --json --loops 1
  python -m research ask library
  python -m research news "央行降准" --sections 4 --reflections 1 --save=reports
  python -m research news --changed "央行降准" > news.md && mail -s 央行降准 me@example.org < news.md
  python -m research library add ~/Documents/notes

exit codes:
  0    answered
  1    the run or all of its searches failed, or a file could not be read or written
  2    wrong usage, an unusable question or an unusable setting
  3    finished, but nothing was found in the sources, or nothing was searched
  4    news --changed: nothing has changed, and nothing is printed
       evaluate: 0 no defects, 1 defects found, 2 if a file cannot be read
  130  stopped with Ctrl-C, or the plan is waiting for approval; the message says how to resume
"""


class Quit(Exception):
    """Ends the program with a message and an exit code."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    args = _parsed(sys.argv[1:] if argv is None else list(argv))
    log = logging.StreamHandler() if args.log else logging.NullHandler()
    log.setFormatter(_Formatter("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(log)
    code = FAILED
    try:
        if args.act not in (_stories, _evaluate):  # which need no data folder
            runs.desk(args.data_dir)
        code = args.act(args)
    except (QuestionError, SettingError, StateError) as error:
        code = _complain(UNUSABLE, error)
    except StoreError as error:
        code = _complain(FAILED, error)
    except Quit as error:
        code = _complain(error.code, error)
    except KeyboardInterrupt:
        code = _complain(STOPPED, "Stopped.")
    finally:
        _close()
    return code


def _complain(code: int, message: object) -> int:
    _Screen().line(str(message))
    return code


def _close() -> None:
    try:
        runs.close()
    except (StoreError, KeyboardInterrupt, TimeoutError) as error:
        _complain(FAILED, error)


# Usage


def _parsed(argv: list[str]) -> argparse.Namespace:
    """The command and its options; whatever is no command is a question."""
    takes = {"-o", "--output", "--out", "--queries", "--loops", "--sources", "--model"}
    takes |= {"--data-dir", "--lang", "--sections", "--reflections", "--source"}
    takes |= {"--max-searches", "--max-tokens", "--max-cost", "--max-seconds"}
    at, words = 0, argv
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-", "--"):
        at += 2 if argv[at] in takes else 1
    if at < len(argv) and argv[at] in COMMANDS:
        words = [argv[at], *argv[:at], *argv[at + 1 :]]
    elif at < len(argv) or not {"-h", "--help"} & set(argv):
        words = ["ask", *argv]
    return _parser().parse_args(words)


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="the data folder (default: SIGHTLINE_DATA_DIR)"
    )
    shared.add_argument("--log", action="store_true", help="show the log on standard error")
    limits = argparse.ArgumentParser(add_help=False)
    limits.add_argument("question", nargs="+", metavar="QUESTION", help="what you want to know")
    limits.add_argument("--queries", type=_limit, metavar="N", help="queries per round, 1 to 10")
    limits.add_argument("--loops", type=_rounds, metavar="N", help="maximum search rounds, 0 to 10")
    limits.add_argument(
        "--sources",
        "--source",
        metavar="NAMES",
        help="where to look, e.g. web,library (default: all available)",
    )
    limits.add_argument(
        "--model", metavar="MODEL", help="the model that reflects and writes, as provider:name"
    )
    for name, unit, text in (
        ("searches", "N", "maximum searches"),
        ("tokens", "N", "maximum tokens"),
        ("cost", "DOLLARS", "maximum estimated cost in US dollars"),
        ("seconds", "S", "maximum seconds of work"),
    ):
        limits.add_argument(f"--max-{name}", type=_bound, metavar=unit, help=f"{text}; 0: no limit")
    limits.add_argument("--approve", action="store_true", help="wait for the plan to be approved")
    writing = argparse.ArgumentParser(add_help=False)
    writing.add_argument(
        "-o",
        "--output",
        "--out",
        type=Path,
        metavar="FILE",
        help=f"write to FILE; its suffix sets the format: {' '.join(OUTPUTS)}",
    )
    writing.add_argument(
        "--citations",
        choices=("numbers", "links", "footnotes"),
        help="how Markdown cites: [1]; links to the list of sources (as a file does); or footnotes, "
        "which Obsidian follows as well",
    )
    saving = argparse.ArgumentParser(add_help=False)
    saving.add_argument(
        "--save",
        nargs="?",
        const="",
        metavar="DIR",
        help="save the report as a file in DIR (default: OUTPUT_DIR, else the current folder); "
        "give it after the topic, or as --save=DIR",
    )
    as_json = argparse.ArgumentParser(add_help=False)
    as_json.add_argument("--json", action="store_true", help="JSON instead of text")

    whole = [limits, writing, as_json, shared]
    parser = argparse.ArgumentParser(
        prog=PROG,
        usage=f"{PROG} QUESTION [-o FILE] [--json] [--queries N] [--loops N] [--sources NAMES]\n"
        f"       {' ' * len(PROG)} [--model MODEL] [--max-searches N] [--max-tokens N]\n"
        f"       {' ' * len(PROG)} [--max-cost DOLLARS] [--max-seconds S] [--data-dir DIR]\n"
        f"       {PROG} COMMAND ...",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[shared],
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(prog=PROG, dest="command", help=argparse.SUPPRESS)

    def command(
        act: Callable[[argparse.Namespace], int],
        name: str,
        text: str,
        parents: list[argparse.ArgumentParser],
        within: Any = commands,
    ) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = within.add_parser(
            name, parents=parents, description=text, allow_abbrev=False
        )
        made.set_defaults(act=act)
        return made

    command(_ask, "ask", "Answers a question.", whole)
    report = command(_news, "news", "Reports on a topic in the news.", [*whole, saving])
    report.add_argument(
        "--changed",
        action="store_true",
        help="watch the topic; print the report only if it has changed",
    )
    report.add_argument("--sections", type=_sections, metavar="N", help="maximum sections, 1 to 12")
    report.add_argument(
        "--reflections", type=_rounds, metavar="N", help="reflection rounds per section, 0 to 10"
    )
    load = command(
        _load,
        "load",
        "Resumes a report from its saved state; nothing in it is searched or paid for again.",
        [saving, writing, as_json, shared],
    )
    load.add_argument("file", type=Path, metavar="FILE", help="state_….json, from OUTPUT_DIR")
    command(_plan, "plan", "Shows what would be searched.", [limits, as_json, shared])
    command(
        _check,
        "check",
        "Sends a small request to every model and every web search.",
        [as_json, shared],
    )
    command(_runs, "runs", "Lists the runs, newest first.", [shared])
    resume = command(
        _resume,
        "resume",
        "Resumes a run; finished searches are not repeated.",
        [writing, as_json, shared],
    )
    resume.add_argument(
        "--write", action="store_true", help="stop searching and write with what was found"
    )
    resume.add_argument(
        "--more", action="store_true", help="add a round to a finished run, as a new run"
    )
    resume.add_argument("run", metavar="RUN", help="its id, or the first characters of its id")

    asking = command(_db, "db", "Queries the database.", [as_json, shared])
    asking.add_argument("question", nargs="*", metavar="QUESTION")
    asking.add_argument("--sql", metavar="SELECT", help="a statement instead of a question")
    news = command(_stories, "stories", "Groups items of news into stories, as JSON.", [shared])
    news.add_argument("file", type=Path, metavar="FILE", help="a JSON list; - is standard input")

    judged = command(
        _evaluate,
        "evaluate",
        "Checks the citations of reports in Markdown, whoever wrote them; in a JSON report "
        "made by Sightline, each sentence is also compared with the passages it cites.",
        [as_json, shared],
    )
    judged.add_argument(
        "--sarif", action="store_true", help="SARIF 2.1.0, for code hosts and editors"
    )
    judged.add_argument("--lang", choices=("zh", "en"), help="language of the findings")
    judged.add_argument("files", nargs="+", type=Path, metavar="FILE", help="at most 10 MB each")

    library = commands.add_parser("library", description="Your documents.", allow_abbrev=False)
    kinds = library.add_subparsers(dest="kind", required=True)
    add = command(_add, "add", "Adds files and whole folders.", [shared], kinds)
    add.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=" ".join(SUFFIXES))
    command(_documents, "list", "Lists the documents.", [shared], kinds)
    remove = command(_remove, "remove", "Removes documents.", [shared], kinds)
    remove.add_argument("ids", nargs="+", type=int, metavar="ID", help="as `library list` shows it")
    sample = command(_sample, "sample", "Turns the sample documents on or off.", [shared], kinds)
    sample.add_argument("state", choices=("on", "off"))
    return parser


def _limit(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 10:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 10")
    return int(text)


def _sections(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 12:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 12")
    return int(text)


def _rounds(text: str) -> int:
    return 0 if text == "0" else _limit(text)


def _bound(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e12:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return value


def _question(args: argparse.Namespace) -> str:
    """The words as one question, read as UTF-8 where the locale could not."""
    text = " ".join(args.question)
    if re.search("[\udc80-\udcff]", text):
        return os.fsencode(text).decode("utf-8", "replace")
    return text


def _options(args: argparse.Namespace, usual: Options | None = None) -> Options:
    kit = runs.kit()
    usual, sources = usual or kit.usual(), None
    if args.sources is not None:
        sources = tuple(dict.fromkeys(filter(None, args.sources.replace(" ", "").split(","))))
        if not sources or not set(sources) <= set(kit.sources):
            there = ", ".join(kit.sources)
            raise Quit(UNUSABLE, f"--sources {args.sources!r}: the available sources are {there}.")
    if args.model and kit.thinking(usual) is None:
        raise Quit(
            UNUSABLE,
            f"--model {args.model!r}: no model is available. Set GEMINI_API_KEY, or ANSWER_MODEL "
            "and the key or address that it needs.",
        )
    chosen = {
        "queries": args.queries,
        "loops": args.loops,
        "sources": sources,
        "model": args.model,
        "searches": _whole(args.max_searches),
        "tokens": _whole(args.max_tokens),
        "cost": args.max_cost,
        "seconds": args.max_seconds,
        "approve": args.approve or None,
    }
    return usual.model_copy(update={k: v for k, v in chosen.items() if v is not None})


def _whole(value: float | None) -> int | None:
    """A number of things; a part of one is none."""
    return None if value is None else int(value)


# What reaches the terminal

_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Outside text for one line: no escape sequence, no change of direction, no line break."""
    return " ".join(_UNSAFE.sub(" ", text).split())


def _cut(text: str, width: int = 100) -> str:
    text = plain(text)
    return text if len(text) <= width else text[: width - 1] + "…"


class _Quiet(Console):
    """A console that falls silent when nobody listens any more."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _hang_up(sys.stderr)


class _Screen:
    """Standard error: a line for each thing that happens and, on a terminal, a running clock."""

    def __init__(self) -> None:
        self._console = _Quiet(stderr=True, highlight=False, soft_wrap=True)
        self._clock = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._clock.add_task("working")

    def line(self, text: str, style: str = "") -> None:
        self._console.print(Text(plain(text), style))

    def step(self, at: float, text: str, style: str = "") -> None:
        """A line with the seconds since the start; its indent is kept."""
        indent = " " * (len(text) - len(text.lstrip(" ")))
        self._console.print(Text(f"{at:6.1f} s  {indent}") + Text(plain(text), style))

    def __enter__(self) -> _Screen:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clock.stop()


def _hang_up(stream: Any) -> None:
    """After a broken pipe: what is still buffered must not raise again when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _safe(text: str) -> str:
    """Text of several lines without control characters; line breaks and tabs are kept."""
    return "\n".join(_UNSAFE.sub("", line) for line in text.split("\n"))


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _safe(super().format(record))


def _put(text: str) -> None:
    try:
        sys.stdout.write(_safe(text))
        sys.stdout.flush()
    except BrokenPipeError:
        _hang_up(sys.stdout)


def _json(text: str) -> str:
    """JSON that says the same without any character that a terminal could obey."""
    lines = text.split("\n")
    return "\n".join(_UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", line) for line in lines)


# Asking


def _ask(args: argparse.Namespace) -> int:
    _check_output(args.output)
    run = runs.start(_question(args), options=_options(args))
    return _to_the_end(run, 0, args)


def _news(args: argparse.Namespace) -> int:
    _check_output(args.output)
    options = _options(args, runs.kit().reporting())
    given = {"sections": args.sections, "reflections": args.reflections}
    chosen = options.model_copy(update={k: v for k, v in given.items() if v is not None})
    topic = _question(args)
    watch = runs.watched(topic) if args.changed else None
    if watch:
        return _again(watch, args)
    if not args.sources and "news" not in chosen.sources:
        needed = runs.readiness()["news"].detail
        _complain(
            ANSWERED,
            f"News cannot be searched: that needs one of {needed}. "
            "The report uses the library instead.",
        )
    run = runs.report_on(topic, options=chosen, save=_folder(args))
    code = _to_the_end(run, 0, args)
    if args.changed and (done := runs.get(run.id)) and done.status == "done":
        runs.watch(run.id)
    return code


def _again(watch: Watch, args: argparse.Namespace) -> int:
    """Brings the report of a topic up to date, and writes it if anything has changed."""
    run = runs.look_again(watch.id)
    seen = runs.events(run.id)
    _watched(run, seen[-1].seq if seen else 0)
    report = runs.report(run.id)
    coverage = report.answer.coverage if report and report.answer else None
    if report is None or report.run.status != "done" or (coverage and coverage.changes):
        return _over(run.id, args)
    looked = [finding for finding in report.findings if not finding.reused]
    failed = [finding for finding in looked if finding.reason not in (None, "empty")]
    if failed and len(failed) == len(looked):
        return _complain(FAILED, f"Every search failed: {failed[0].message or failed[0].reason}")
    lost = f" {len(failed)} of {len(looked)} searches failed." if failed else ""
    since = f"{watch.updated.astimezone():%Y-%m-%d %H:%M}"
    return _complain(UNCHANGED, f"Nothing has changed since {since}.{lost}")


def _load(args: argparse.Namespace) -> int:
    _check_output(args.output)
    try:
        run = runs.load(args.file, save=_folder(args))
    except OSError as error:
        raise Quit(FAILED, f"{args.file} cannot be read: {error.strerror or error}.") from error
    seen = runs.events(run.id)
    return _to_the_end(runs.resume(run.id) or run, seen[-1].seq, args)


def _folder(args: argparse.Namespace) -> Path | None:
    """Where the report is to be saved, if that was asked for."""
    if args.save is None:
        return None
    return Path(args.save) if args.save else runs.desk().settings.output_dir or Path.cwd()


def _resume(args: argparse.Namespace) -> int:
    _check_output(args.output)
    run = _named(args.run)
    seen = runs.events(run.id)
    if run.status == "waiting":
        run = runs.approve(run.id) or run
    if args.more and run.status == "done":
        run, seen = runs.more(run.id) or run, []
    if run.resumable:
        run = runs.resume(run.id, write=args.write) or run
    return _to_the_end(run, seen[-1].seq if seen else 0, args)


def _named(start: str) -> Run:
    found = [run for run in runs.list(limit=10_000) if start and run.id.startswith(start)]
    if len(found) != 1:
        what = "No run id starts" if not found else f"{len(found)} run ids start"
        raise Quit(UNUSABLE, f"{what} with {start!r}; `{PROG} runs` lists them.")
    return found[0]


def _to_the_end(run: Run, after: int, args: argparse.Namespace) -> int:
    """Follows a run until it is over, then writes its report."""
    _watched(run, after)
    return _over(run.id, args)


def _watched(run: Run, after: int) -> None:
    """Follows a run until it is over; Ctrl-C stops it."""
    try:
        with _Screen() as screen:
            _follow(run, after, screen)
    except KeyboardInterrupt:
        runs.stop(run.id)
        for _ in runs.follow(run.id):
            pass


def _over(run_id: str, args: argparse.Namespace) -> int:
    """Writes the report of a run that is over."""
    report = runs.report(run_id)
    if getattr(args, "save", None) is not None:
        _told_of_file(run_id)
    if report is None:
        raise Quit(FAILED, f"Run {run_id} no longer exists.")
    return _finished(report, args)


def _told_of_file(run_id: str) -> None:
    path, why = runs.saved(run_id)
    if path or why:
        _complain(ANSWERED, f"The report is saved: {path}" if path else f"Not saved: {why}.")


def _follow(run: Run, after: int, screen: _Screen) -> None:
    start: datetime | None = None
    screen.line(f"Run {run.id}")
    for event in runs.follow(run.id, after):
        start = start or event.time
        tell = _TELL.get(event.kind)
        for text, style in tell(event) if tell else ():
            screen.step((event.time - start).total_seconds(), text, style)


def _counted(answer: CitedAnswer) -> str:
    """How many sentences of an answer have what behind them; empty if it claims nothing."""
    counts = support(answer).counts
    told = (("unclear", counts.unclear), ("not supported", counts.unsupported), ("differing from the source", counts.differs), ("without a source", counts.none))  # fmt: skip
    sentences = "sentence" if counts.total == 1 else "sentences"
    facts = [f"{counts.quoted + counts.supported} of {counts.total} {sentences} supported"]
    facts += [f"{n} {what}" for what, n in told if n]
    return f"{', '.join(facts)}." if counts.total else ""


def _finished(report: Report, args: argparse.Namespace) -> int:
    run, answer = report.run, cited(report)
    if run.status == "stopped":
        folder = f" --data-dir {args.data_dir}" if args.data_dir else ""
        message = f"Stopped; what was found is kept. Resume with: {PROG} resume {run.id}{folder}"
        raise Quit(STOPPED, message)
    if run.status == "waiting":
        tasks = [_planned(task) for task in report.plan.tasks] if report.plan else []
        _put("".join(f"{line}\n" for line in tasks))
        raise Quit(
            STOPPED, f"The plan is waiting for approval. Approve it with: {PROG} resume {run.id}"
        )
    if args.output:
        _save(args.output, _format(args), report, answer, args.citations or "links")
    else:
        cites: Citations = args.citations or "numbers"
        _put(
            _json(report_json(report, answer))
            if args.json
            else report_markdown(report, answer, citations=cites)
        )
    if answer and (counted := _counted(answer)):
        _Screen().line(counted)
    if run.status == "failed" or answer is None:
        again = f" Resume with: {PROG} resume {run.id}" if run.resumable else ""
        why = run.error or "it has no answer"
        raise Quit(FAILED, f"The run has {run.status}: {why}.{again}")
    if not answer.sources and answer.answer.failures:
        lost = len(answer.answer.failures)
        return _complain(
            FAILED, f"Nothing is cited, and {lost} look-ups failed; the report says why."
        )
    if not answer.sources and report.findings:
        return _complain(NOTHING, "Nothing was found in the sources.")
    if any(item.span.kind == "missing" for item in answer.spans) and not report.findings:
        return _complain(NOTHING, "Nothing was searched.")
    return ANSWERED


def _check_output(path: Path | None) -> None:
    if path is None:
        return
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise Quit(UNUSABLE, f"{path} cannot be written: it is a folder, or its folder is missing.")
    if not _ending(path):
        raise Quit(
            UNUSABLE, f"{path} does not end in a report format; use one of {', '.join(OUTPUTS)}."
        )


def _ending(path: Path) -> str:
    """The format that a file's name asks for: Markdown without a suffix, "" for one that is unknown."""
    name = path.name.lower()
    if path.suffix.lower() in ("", ".txt", ".markdown"):
        return "md"
    return "zip" if name.endswith(".zip") else report_suffix(name)


def _archive(report: Report, answer: CitedAnswer | None) -> bytes:
    """Loaded when it is asked for: it brings Excel and Parquet, for which nobody else should wait."""
    from research import report_zip

    return report_zip(report, answer)


def _format(args: argparse.Namespace) -> str:
    return "json" if args.json else _ending(args.output)


def _save(
    path: Path, ending: str, report: Report, answer: CitedAnswer | None, citations: Citations
) -> None:
    """Writes a report to a file; if that cannot be, prints it as Markdown."""
    try:
        if ending == "md":
            data = report_markdown(report, answer, citations=citations).encode()
        else:
            data = (
                _archive(report, answer) if ending == "zip" else report_as(report, answer, ending)
            )
        path.write_bytes(_json(data.decode()).encode() if ending == "json" else data)
    except OSError as error:
        _put(report_markdown(report, answer))
        raise Quit(FAILED, f"{path} cannot be written: {error.strerror or error}.") from error
    except Exception as error:  # whatever is wrong with the format, the report is paid for
        logging.getLogger(__name__).exception("the %s file could not be made", ending)
        _put(report_markdown(report, answer))
        raise Quit(FAILED, f"{path} could not be created ({type(error).__name__}).") from error
    _complain(ANSWERED, f"The report is in {path}")


# What happens, in words

Lines = list[tuple[str, str]]


def _told_plan(event: Event) -> Lines:
    plan = event.data["plan"]
    parts = "; ".join(_part(p["subject"], p["text"]) for p in plan["parts"])
    return [(f"plan: {_cut(parts)}", "bold")] + [(note, "dim") for note in plan["notes"]]


def _part(subject: str, text: str) -> str:
    return f"{subject}: {text}" if subject and subject not in text else text


def _told_search(event: Event) -> Lines:
    task = event.data["task"]
    why = f" ({task['why']})" if task["why"] else ""
    return [(f"round {task['round']}: {task['source']} ← {_cut(task['query'])}{why}", "cyan")]


def _told_found(event: Event) -> Lines:
    data = event.data
    query = _cut(data["task"]["query"], 40)
    if data["reason"]:
        message = f", {data['message']}" if data["message"] else ""
        style = "dim" if data["reason"] == "empty" else "yellow"
        return [(f"  {query} → {data['reason']}{message}", style)]
    count = data["passages"]
    titles = "; ".join(dict.fromkeys(data["titles"]))
    if data["provider"]:
        titles = f"{data['provider']}: {titles}"
    kept = ", reused" if data["reused"] else f", {data['seconds']:.2f} s"
    many = "passage" if count == 1 else "passages"
    return [(f"  {query} → {count} {many}{kept}: {_cut(titles)}", "green")]


def _told_reflection(event: Event) -> Lines:
    data = event.data
    if data.get("skipped"):
        return []
    lines = [(f"reflection: {_cut(data['note'])}", "bold")]
    if not data["sufficient"]:
        lines += [(f"  missing: {_cut(gap)}", "") for gap in data["gap"]]
        lines += [(f"  next: {_cut(task['query'])}", "") for task in data["follow_ups"]]
    return lines


def _told_answer(event: Event) -> Lines:
    cited, failed = event.data["cites"], event.data["failures"]
    note = f", {failed} {'step' if failed == 1 else 'steps'} failed" if failed else ""
    return [
        (f"answer: {cited} {'cited statement' if cited == 1 else 'cited statements'}{note}", "bold")
    ]


def _told_waiting(event: Event) -> Lines:
    data = event.data
    return [(f"  {data['what']}: {data['reason']}, retrying in {data['seconds']:g} s", "yellow")]


def _told_section(event: Event) -> Lines:
    data = event.data
    if data["step"] == "done":
        return [(f"section {data['part']}: done, citations: {data['cites']}", "bold")]
    return [(f"section {data['part']}: {data['step']} ({data['round'] + 1})", "dim")]


def _told_queued(event: Event) -> Lines:
    over = event.data["over"]
    return [] if over else [(f"  {event.data['what']}: waiting for its turn", "dim")]


def _told_tool(event: Event) -> Lines:
    data = event.data
    if "arguments" not in data:  # a step of the database
        return [(f"  {data['name']} {_cut(plain(data['sql'] or data['text']))}", "dim")]
    said = " ".join(str(value) for value in data["arguments"].values())
    return [(f"  {data['tool']} {_cut(plain(said))}", "dim")]


def _told_status(event: Event) -> Lines:
    return [(event.data["status"], "dim")]


def _told_saved(event: Event) -> Lines:
    path, why = event.data["report"], event.data["problem"]
    return [(f"not saved: {why}", "yellow")] if why else [(f"saved: {path}", "dim")]


_TELL: dict[str, Callable[[Event], Lines]] = {
    "status": _told_status,
    "plan": _told_plan,
    "search": _told_search,
    "found": _told_found,
    "tool": _told_tool,
    "reflection": _told_reflection,
    "writing": lambda _: [("writing", "dim")],
    "checking": lambda event: [(f"checking {event.data['sentences']} sentences", "dim")],
    "waiting": _told_waiting,
    "section": _told_section,
    "queued": _told_queued,
    "saved": _told_saved,
    "answer": _told_answer,
}


# The other commands


def _plan(args: argparse.Namespace) -> int:
    options = _options(args)
    plan = runs.plan(_question(args), options=options)
    likely = runs.estimate(options, plan=plan)
    if args.json:
        made = plan.model_dump(mode="json") | {"estimate": likely.model_dump(mode="json")}
        _put(_json(json.dumps(made, ensure_ascii=False, indent=2)) + "\n")
        return ANSWERED
    lines = []
    for part in plan.parts:
        lines.append(plain(_part(part.subject, part.text)))
        lines += [_planned(task) for task in plan.tasks if task.part == part.id]
    lines += [_planned(task) for task in plan.tasks if not task.part]
    lines += [plain(note) for note in plan.notes]
    lines.append(_likely(likely))
    _put("\n".join(lines) + "\n")
    return ANSWERED


def _likely(estimate: Estimate) -> str:
    cost = "price unknown" if estimate.cost is None else f"${estimate.cost:.2g}"
    facts = [f"{estimate.searches} searches"]
    facts += [f"{estimate.tokens:,} tokens", cost] if estimate.tokens else []
    return f"estimate: {', '.join([*facts, f'{estimate.seconds:.2g} s'])}"


def _planned(task: Task) -> str:
    names = f"; about {' / '.join(task.subject)}" if task.subject else ""
    return plain(f"- {task.query} [{task.source}]{names}")


def _check(args: argparse.Namespace) -> int:
    checks = runs.check()
    if args.json:
        rows = [check.model_dump(mode="json") for check in checks]
        _put(_json(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n")
    for check in () if args.json else checks:
        failure = check.failure
        said = f"{failure.reason}: {failure.message}" if failure else f"ok, {check.seconds:.2f} s"
        warning = f" ({check.warning})" if check.warning else ""
        _put(f"{plain(check.name):10} {plain(check.model):36} {plain(said + warning)}\n")
    if not checks:
        raise Quit(NOTHING, "No model or web search is configured: answers quote the library.")
    return FAILED if any(check.failure for check in checks) else ANSWERED


def _runs(_: argparse.Namespace) -> int:
    _put("".join(_row(run) for run in runs.list()))
    return ANSWERED


def _row(run: Run) -> str:
    return f"{run.id}  {run.status:<11}  {run.created.astimezone():%Y-%m-%d %H:%M}  {_cut(run.question)}\n"


def _add(args: argparse.Namespace) -> int:
    outcomes = 0
    failed = 0
    for outcome in runs.desk().library.add_paths(path.expanduser() for path in args.paths):
        outcomes += 1
        failed += not outcome.ok
        detail = outcome.detail or (f"{outcome.passages} passages" if outcome.passages else "")
        _put(
            f"{outcome.outcome:<13}  {plain(outcome.name)}{'  ' + plain(detail) if detail else ''}\n"
        )
    if not outcomes:
        raise Quit(NOTHING, f"There are no files to add; accepted types: {' '.join(SUFFIXES)}.")
    return FAILED if failed else ANSWERED


def _documents(_: argparse.Namespace) -> int:
    for entry in runs.desk().library.entries():
        title = _wide(_cut(entry.title, 40), 40)
        kind = "sample" if entry.sample else "own   "
        _put(f"{entry.id:>6}  {kind}  {entry.passages:>5} passages  {title}  {plain(entry.name)}\n")
    return ANSWERED


def _wide(text: str, columns: int) -> str:
    """Text filled up to a width at which Han characters count double."""
    taken = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return text + " " * (columns - taken)


def _remove(args: argparse.Namespace) -> int:
    library = runs.desk().library
    entries = {entry.id: entry for entry in library.entries()}
    for number in args.ids:
        if number not in entries:
            raise Quit(UNUSABLE, f"No document has the id {number}; nothing was removed.")
        if entries[number].sample:
            raise Quit(
                UNUSABLE,
                f"{number} is a sample document; nothing was removed. "
                f"`{PROG} library sample off` turns the sample off.",
            )
    library.remove(args.ids)
    for number in dict.fromkeys(args.ids):
        _put(f"removed  {plain(entries[number].name)}\n")
    return ANSWERED


def _stories(args: argparse.Namespace) -> int:
    try:
        data = sys.stdin.buffer.read() if str(args.file) == "-" else args.file.read_bytes()
        text = data.decode("utf-8")
    except OSError as error:
        raise Quit(FAILED, f"{args.file} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise Quit(UNUSABLE, f"{args.file} is not UTF-8 (byte {error.start}).") from error
    try:
        _put(_json(stories_json(text, datetime.now(UTC))))
    except UnreadableItems as error:
        raise Quit(UNUSABLE, f"{args.file}: {error}") from error
    return ANSWERED


_LARGEST = 10_000_000  # bytes of a report
_JUDGED = {
    "file": ("文件", "file"),
    "style": ("引用样式", "style"),
    "citations": ("引用", "citations"),
    "sources": ("来源", "sources"),
    "sentences": ("句子", "sentences"),
    "cited": ("有引用", "cited"),
    "errors": ("错误", "errors"),
    "warnings": ("警告", "warnings"),
    "line": ("第 {} 行", "line {}"),
    "error": ("错误", "error"),
    "warning": ("警告", "warning"),
    "info": ("提示", "info"),
    "none": ("无", "none"),
    "quoted": ("原文引用", "quoted"),
    "supported": ("有依据", "supported"),
    "unclear": ("依据不明", "unclear"),
    "unsupported": ("所引段落不支持", "not supported"),
    "differs": ("数字不符", "differs"),
    "statuses": ("句子状态", "sentences by status"),
}
_WIDE = 110  # columns: a table is never squeezed below them
_SHADES = {"error": "red", "warning": "yellow", "info": "dim"}


def _evaluate(args: argparse.Namespace) -> int:
    """Checks reports; every file is judged before the exit code is."""
    spoken = args.lang or _spoken()
    found: list[tuple[str, Evaluation]] = []
    unread = []
    if args.json and args.sarif:
        raise Quit(UNUSABLE, "evaluate writes --json or --sarif, not both.")
    for path in args.files:
        try:
            found.append((str(path), evaluate_report(_report_text(path), spoken)))
        except UnreadableReport as error:
            unread.append(f"{path}: {error}")
        except Quit as error:
            unread.append(str(error))
    if args.json:
        rows = [{"file": name, **_as_data(one)} for name, one in found]
        _put(_json(json.dumps(rows, ensure_ascii=False, indent=2)) + "\n")
    elif args.sarif:
        log = evaluations_sarif(found, unread, spoken)
        _put(_json(json.dumps(log, ensure_ascii=False, indent=2)) + "\n")
    elif found:
        _draw(found, 0 if spoken == "zh" else 1)
    for complaint in unread:
        _complain(UNUSABLE, complaint)
    defects = sum(one.lint.errors + one.lint.warnings for _, one in found)
    return UNUSABLE if unread else FAILED if defects else ANSWERED


def _spoken() -> Literal["zh", "en"]:
    """The language of the terminal."""
    return "zh" if (locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en"


def _report_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise Quit(UNUSABLE, f"{path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:  # a name with a character that no file's name has
        raise Quit(UNUSABLE, f"{path} cannot be read: {error}.") from error
    if len(data) > _LARGEST:
        raise Quit(UNUSABLE, f"{path} is larger than {_LARGEST // 1_000_000} MB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Quit(UNUSABLE, f"{path} is not UTF-8 (byte {error.start}).") from error


def _as_data(one: Evaluation) -> dict[str, Any]:
    lint = one.lint
    counts = {"errors": lint.errors, "warnings": lint.warnings, "statuses": one.statuses}
    return lint.model_dump(mode="json") | counts


def _draw(found: list[tuple[str, Evaluation]], tongue: int) -> None:
    """A table of the reports, then what was found in each."""
    console = _Quiet(file=sys.stdout, highlight=False, markup=False, emoji=False)
    console.width = max(console.width, _WIDE)
    names = ("file", "style", "citations", "sources", "sentences", "cited", "errors", "warnings")
    table = Table(box=SIMPLE)
    for name in names:
        justify: Literal["left", "right"] = "left" if name in ("file", "style") else "right"
        table.add_column(
            _JUDGED[name][tongue],
            justify=justify,
            overflow="fold",
            no_wrap=name not in ("file", "style"),
        )
    for file, one in found:
        lint = one.lint
        share = f"{100 * lint.cited / lint.sentences:.0f} %" if lint.sentences else "–"
        counts = (lint.citations, lint.sources, lint.sentences, share, lint.errors, lint.warnings)
        style = ", ".join(lint.styles) or _JUDGED["none"][tongue]
        table.add_row(*(Text(plain(str(value))) for value in (file, style, *counts)))
    console.print(table)
    for file, one in found:
        _draw_findings(console, file, one, tongue)


def _draw_findings(console: Console, file: str, one: Evaluation, tongue: int) -> None:
    if one.lint.flaws or one.statuses:
        console.print(Text(plain(file), "bold"), soft_wrap=True)
    if one.statuses:
        counts = (f"{_JUDGED[name][tongue]} {count}" for name, count in one.statuses.items())
        console.print(Text(f"  {_JUDGED['statuses'][tongue]}: {', '.join(counts)}"), soft_wrap=True)
    for flaw in one.lint.flaws:
        where = f"{_JUDGED['line'][tongue].format(flaw.line)}  " if flaw.line else ""
        line = Text(f"  {where}")
        line.append(f"{_JUDGED[flaw.severity][tongue]} {flaw.kind}", _SHADES[flaw.severity])
        line.append(f"  {plain(flaw.message)}")
        console.print(line, soft_wrap=True)
        if flaw.excerpt:
            console.print(Text(f"      {plain(flaw.excerpt)}", "dim"), soft_wrap=True)


def _db(args: argparse.Namespace) -> int:
    """Asks the database, or runs a statement; what is refused ends with 2."""
    question = " ".join(args.question).strip()
    if bool(question) == bool(args.sql):
        raise Quit(UNUSABLE, "db takes a question, or --sql with a statement.")
    found = query_database(args.sql) if args.sql else ask_database(question)
    if args.json:
        _put(_json(found.model_dump_json()))
    elif found.status in ("answered", "partial", "empty"):
        _put(_rows_of(found))
    if found.status in ("answered", "partial"):
        return ANSWERED
    if found.status == "empty":
        return _complain(NOTHING, found.answer) if args.sql is None else ANSWERED
    return _complain(FAILED if found.status == "failed" else UNUSABLE, found.answer)


def _rows_of(found: DatabaseAnswer) -> str:
    """An answer of the database as text: what it says, its rows, its statement."""
    lines = [found.answer, ""] if found.question != found.sql and found.answer else []
    lines.append("\t".join(found.columns))
    lines += ["\t".join(_cell(value) for value in row.values()) for row in found.rows]
    return "\n".join([*lines, "", found.sql]) + "\n"


def _cell(value: object) -> str:
    return "" if value is None else " ".join(str(value).split())


def _sample(args: argparse.Namespace) -> int:
    library = runs.desk().library
    library.use_sample(args.state == "on")
    found = library.counts()
    count = found.own + found.sample
    _put(f"The sample is {args.state}; the library has {count} documents.\n")
    return ANSWERED


if __name__ == "__main__":
    sys.exit(main())
