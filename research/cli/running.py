"""A run from its start to its written report: what every command that makes one shares."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import research
from research.cli.exits import ANSWERED, FAILED, NOTHING, STOPPED, UNUSABLE, Quit
from research.cli.screen import Screen, as_json, complain, plain, put
from research.cli.told import TELL
from research.cli.usage import outputs, prog

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from research import Citations, CitedAnswer, Options, Report, Run, Task


def question(args: argparse.Namespace) -> str:
    """The words as one question, read as UTF-8 where the locale could not."""
    text = " ".join(args.question)
    if re.search("[\udc80-\udcff]", text):
        return os.fsencode(text).decode("utf-8", "replace")
    return text


def chosen_options(args: argparse.Namespace, usual: Options | None = None) -> Options:
    services = research.application.services()
    usual, sources = usual or services.usual(), None
    if args.sources is not None:
        sources = named_sources(args.sources)
    if args.notebook and args.notebook not in (kept := research.application.notebooks()):
        there = f"there are: {', '.join(kept)}" if kept else "there are none"
        raise Quit(UNUSABLE, f"--notebook {args.notebook!r}: no such notebook; {there}.")
    if args.notebook and "library" not in (sources or usual.sources):
        raise Quit(
            UNUSABLE, "--notebook: the library is not among the sources; add it to --sources."
        )
    if args.model and services.thinking(usual) is None:
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
        "notebook": args.notebook,
        **spending(args),
        "approve": args.approve or None,
        "clarify": args.clarify or None,
    }
    return usual.model_copy(update={k: v for k, v in chosen.items() if v is not None})


def named_sources(names: str) -> tuple[str, ...]:
    """The sources of a list like `web,library`."""
    known = research.application.services().sources
    sources = tuple(dict.fromkeys(filter(None, names.replace(" ", "").split(","))))
    if not sources or not set(sources) <= set(known):
        raise Quit(UNUSABLE, f"--sources {names!r}: the available sources are {', '.join(known)}.")
    return sources


def spending(args: argparse.Namespace) -> dict[str, float | None]:
    """What a run may use at most, as the options say it; None where they do not."""
    return {
        "searches": _whole(args.max_searches),
        "tokens": _whole(args.max_tokens),
        "cost": args.max_cost,
        "seconds": args.max_seconds,
    }


def _whole(value: float | None) -> int | None:
    """A number of things; a part of one is none."""
    return None if value is None else int(value)


def folder(args: argparse.Namespace) -> Path | None:
    """Where the report is to be saved, if that was asked for."""
    if args.save is None:
        return None
    return (
        Path(args.save)
        if args.save
        else research.application.desk().settings.reports_folder or Path.cwd()
    )


def to_the_end(run: Run, after: int, args: argparse.Namespace) -> int:
    """Follows a run until it is over, then writes its report."""
    watched(run, after)
    return over(run.id, args)


def named(start: str) -> Run:
    """The run whose id begins so."""
    found = [
        run
        for run in research.application.recent(limit=10_000)
        if start and run.id.startswith(start)
    ]
    if len(found) != 1:
        what = "No run id starts" if not found else f"{len(found)} run ids start"
        raise Quit(UNUSABLE, f"{what} with {start!r}; `{prog()} runs` lists them.")
    return found[0]


def watched(run: Run, after: int) -> None:
    """Follows a run until it is over; Ctrl-C stops it."""
    try:
        with Screen() as screen:
            follow(run, after, screen)
    except KeyboardInterrupt:
        research.application.stop(run.id)
        for _ in research.application.follow(run.id):
            pass


def over(run_id: str, args: argparse.Namespace) -> int:
    """Writes the report of a run that is over."""
    report = research.application.report(run_id)
    if getattr(args, "save", None) is not None:
        _told_of_file(run_id)
    if report is None:
        raise Quit(FAILED, f"Run {run_id} no longer exists.")
    return finished(report, args)


def _told_of_file(run_id: str) -> None:
    path, why = research.application.saved(run_id)
    if path or why:
        complain(ANSWERED, f"The report is saved: {path}" if path else f"Not saved: {why}.")


def follow(run: Run, after: int, screen: Screen) -> None:
    start: datetime | None = None
    screen.line(f"Run {run.id}")
    for event in research.application.follow(run.id, after):
        start = start or event.time
        tell = TELL.get(event.kind)
        for text, style in tell(event) if tell else ():
            screen.step((event.time - start).total_seconds(), text, style)


def _counted(answer: CitedAnswer) -> str:
    """How many sentences of an answer have what behind them; empty if it claims nothing."""
    counts = research.support(answer).counts
    told = (("unclear", counts.unclear), ("not supported", counts.unsupported), ("differing from the source", counts.differs), ("without a source", counts.none))  # fmt: skip
    sentences = "sentence" if counts.total == 1 else "sentences"
    facts = [f"{counts.quoted + counts.supported} of {counts.total} {sentences} supported"]
    facts += [f"{n} {what}" for what, n in told if n]
    return f"{', '.join(facts)}." if counts.total else ""


def finished(report: Report, args: argparse.Namespace) -> int:
    run, answer = report.run, research.cited(report)
    if run.status == "stopped":
        folder = f" --data-dir {args.data_dir}" if args.data_dir else ""
        message = f"Stopped; what was found is kept. Resume with: {prog()} resume {run.id}{folder}"
        raise Quit(STOPPED, message)
    if report.asks_back and (asked := report.clarification):
        put("".join(f"{line}\n" for line in (asked.question, *(f"- {c}" for c in asked.choices))))
        how = f'{prog()} resume {run.id} --answer "…"'
        raise Quit(
            STOPPED,
            f"Which do you mean? Answer with: {how} (without --answer, the run continues as asked)",
        )
    if run.status == "waiting":
        tasks = [planned(task) for task in report.plan.tasks] if report.plan else []
        put("".join(f"{line}\n" for line in tasks))
        raise Quit(
            STOPPED, f"The plan is waiting for approval. Approve it with: {prog()} resume {run.id}"
        )
    written(report, answer, args)
    if answer and (counted := _counted(answer)):
        Screen().line(counted)
    if run.status == "failed" or answer is None:
        again = f" Resume with: {prog()} resume {run.id}" if run.resumable else ""
        failure = research.parse_failure(run.error)
        why = research.explain_failure(failure, "en") if failure else run.error
        why = f"{(why or 'it has no answer').rstrip('.')}."
        details = f" ({plain(failure.message)})" if failure and failure.message not in why else ""
        raise Quit(FAILED, f"The run has {run.status}: {why}{details}{again}")
    if not answer.sources and answer.answer.failures:
        lost = len(answer.answer.failures)
        return complain(
            FAILED,
            f"Nothing is cited, and {lost} {'search' if lost == 1 else 'searches'} failed; "
            "the report says why.",
        )
    if not answer.sources and report.findings:
        return complain(NOTHING, "Nothing was found in the sources.")
    if any(item.span.kind == "missing" for item in answer.spans) and not report.findings:
        return complain(NOTHING, "Nothing was searched.")
    return ANSWERED


def written(report: Report, answer: CitedAnswer | None, args: argparse.Namespace) -> None:
    """The report as it is, to where the options say."""
    if args.output:
        _save(args.output, _format(args), report, answer, args.citations or "links")
        return
    cites: Citations = args.citations or "numbers"
    table = getattr(args, "table", False) and research.report_tabled(report)
    put(
        as_json(
            research.report_as(report, answer, "table.json").decode()
            if table
            else research.report_json(report, answer)
        )
        if args.json
        else research.report_markdown(report, answer, citations=cites)
    )


def planned(task: Task) -> str:
    names = f"; about {' / '.join(task.subject)}" if task.subject else ""
    return plain(f"- {task.query} [{task.source}]{names}")


def check_output(path: Path | None, table: bool = False) -> None:
    """That a report, or a table, can be written to a file of that name."""
    if path is None:
        return
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise Quit(UNUSABLE, f"{path} cannot be written: it is a folder, or its folder is missing.")
    if not _ending(path, table):
        raise Quit(
            UNUSABLE,
            f"{path} does not end in a report format; use one of {', '.join(outputs(table))}.",
        )


def _ending(path: Path, table: bool = False) -> str:
    """The format that a file's name asks for: Markdown without a suffix, "" for one that is unknown."""
    name = path.name.lower()
    if path.suffix.lower() in ("", ".txt", ".markdown"):
        return "md"
    return "zip" if name.endswith(".zip") else research.report_suffix(name, table)


def _format(args: argparse.Namespace) -> str:
    table = getattr(args, "table", False)
    return ("table.json" if table else "json") if args.json else _ending(args.output, table)


def _save(
    path: Path, ending: str, report: Report, answer: CitedAnswer | None, citations: Citations
) -> None:
    """Writes a report to a file; if that cannot be, prints it as Markdown."""
    try:
        if ending == "md":
            data = research.report_markdown(report, answer, citations=citations).encode()
        else:
            data = (
                research.report_zip(report, answer)
                if ending == "zip"
                else research.report_as(report, answer, ending)
            )
        path.write_bytes(as_json(data.decode()).encode() if ending == "json" else data)
    except OSError as error:
        put(research.report_markdown(report, answer))
        raise Quit(FAILED, f"{path} cannot be written: {error.strerror or error}.") from error
    except Exception as error:  # whatever is wrong with the format, the report is paid for
        logging.getLogger(__name__).exception("the %s file could not be made", ending)
        put(research.report_markdown(report, answer))
        raise Quit(FAILED, f"{path} could not be created ({type(error).__name__}).") from error
    complain(ANSWERED, f"The report is in {path}")
