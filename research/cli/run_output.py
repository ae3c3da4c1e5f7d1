"""Functions of all commands that start a run, follow it and write its report."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import research
from research.cli.event_lines import format_event
from research.cli.exit_codes import (
    EXIT_ANSWERED,
    EXIT_FAILED,
    EXIT_NOTHING_FOUND,
    EXIT_STOPPED,
    EXIT_USAGE,
    CommandError,
)
from research.cli.options import output_suffixes, program_name
from research.cli.terminal import ProgressDisplay, clean_line, escape_json, print_message, print_output

if TYPE_CHECKING:
    import argparse
    from datetime import datetime

    from research import CitedAnswer, ExportOptions, Report, Run, RunOptions, Task


def read_question(args: argparse.Namespace) -> str:
    """Join the words of a question, decoding as UTF-8 what the locale could not decode."""
    text = " ".join(args.question)
    if re.search("[\udc80-\udcff]", text):
        return os.fsencode(text).decode("utf-8", "replace")
    return text


def read_options(args: argparse.Namespace, default_options: RunOptions | None = None) -> RunOptions:
    """Return the default options with those of the command line.

    Raises:
        CommandError: a source, a notebook or the model is not available.
    """
    services = research.get_application().services_for()
    default_options, sources = default_options or services.default_options(), None
    if args.sources is not None:
        sources = parse_sources(args.sources)
    if args.notebook and args.notebook not in (notebooks := research.get_application().store.notebooks("local")):
        available = f"there are: {', '.join(notebooks)}" if notebooks else "there are none"
        raise CommandError(EXIT_USAGE, f"--notebook {args.notebook!r}: no such notebook; {available}.")
    if args.notebook and "library" not in (sources or default_options.sources):
        raise CommandError(EXIT_USAGE, "--notebook: the library is not among the sources; add it to --sources.")
    if args.model and services.models_for(default_options) is None:
        raise CommandError(
            EXIT_USAGE,
            f"--model {args.model!r}: no model is available. Set GEMINI_API_KEY, or ANSWER_MODEL "
            "and the key or address that it needs.",
        )
    chosen = {
        "queries": args.queries,
        "loops": args.loops,
        "sources": sources,
        "model": args.model,
        "notebook": args.notebook,
        **read_limits(args),
        "approve": args.approve or None,
        "clarify": args.clarify or None,
    }
    return default_options.model_copy(update={k: v for k, v in chosen.items() if v is not None})


def parse_sources(names: str) -> tuple[str, ...]:
    """Parse a list of sources such as `web,library`.

    Raises:
        CommandError: there is no such source.
    """
    known = research.get_application().services_for().sources
    sources = tuple(dict.fromkeys(filter(None, names.replace(" ", "").split(","))))
    if not sources or not set(sources) <= set(known):
        raise CommandError(EXIT_USAGE, f"--sources {names!r}: the available sources are {', '.join(known)}.")
    return sources


def read_limits(args: argparse.Namespace) -> dict[str, float | None]:
    """Return the limits of a run from its options; None without a limit option."""
    return {
        "searches": _to_int(args.max_searches),
        "tokens": _to_int(args.max_tokens),
        "cost": args.max_cost,
        "seconds": args.max_seconds,
    }


def _to_int(value: float | None) -> int | None:
    return None if value is None else int(value)


def read_save_folder(args: argparse.Namespace) -> Path | None:
    """Return the folder in which to save the report; None without --save."""
    if args.save is None:
        return None
    return Path(args.save) if args.save else research.get_application().settings.reports_folder or Path.cwd()


def follow_and_write(run: Run, after: int, args: argparse.Namespace) -> int:
    """Follow a run until it ends, then write its report and return the exit code."""
    follow_or_stop(run, after)
    return write_result(run.id, args)


def find_run(id_prefix: str) -> Run:
    """Return the only run whose id begins with a prefix.

    Raises:
        CommandError: no run or several runs match.
    """
    matches = [
        run
        for run in research.get_application().runs.recent_runs(limit=10_000)
        if id_prefix and run.id.startswith(id_prefix)
    ]
    if len(matches) != 1:
        problem = "No run id starts" if not matches else f"{len(matches)} run ids start"
        raise CommandError(EXIT_USAGE, f"{problem} with {id_prefix!r}; `{program_name()} runs` lists them.")
    return matches[0]


def follow_or_stop(run: Run, after: int) -> None:
    """Follow a run until it ends; Ctrl-C stops it."""
    try:
        with ProgressDisplay() as display:
            print_progress(run, after, display)
    except KeyboardInterrupt:
        research.get_application().runs.stop(run.id)
        for _ in research.get_application().runs.follow(run.id):
            pass


def write_result(run_id: str, args: argparse.Namespace) -> int:
    """Read and write the report of a run that has ended, and return the exit code.

    Raises:
        CommandError: the run no longer exists, or see `write_finished`.
    """
    report = research.get_application().runs.report(run_id)
    if getattr(args, "save", None) is not None:
        _print_saved_path(run_id)
    if report is None:
        raise CommandError(EXIT_FAILED, f"Run {run_id} no longer exists.")
    return write_finished(report, args)


def _print_saved_path(run_id: str) -> None:
    path, reason = research.get_application().saved_report(run_id)
    if path or reason:
        print_message(EXIT_ANSWERED, f"The report is saved: {path}" if path else f"Not saved: {reason}.")


def print_progress(run: Run, after: int, display: ProgressDisplay) -> None:
    """Print the events of a run with numbers above `after` until it has ended."""
    start: datetime | None = None
    display.print_line(f"Run {run.id}")
    for event in research.get_application().runs.follow(run.id, after):
        start = start or event.time
        for text, style in format_event(event):
            display.print_step((event.time - start).total_seconds(), text, style)


def _support_summary(answer: CitedAnswer) -> str:
    """Summarise how many sentences of an answer have which support; "" if it claims nothing."""
    counts = research.check_support(answer).counts
    problems = (
        ("unclear", counts.unclear),
        ("not supported", counts.unsupported),
        ("differing from the source", counts.differs),
        ("without a source", counts.none),
    )
    sentences = "sentence" if counts.total == 1 else "sentences"
    parts = [f"{counts.quoted + counts.supported} of {counts.total} {sentences} supported"]
    parts += [f"{n} {label}" for label, n in problems if n]
    return f"{', '.join(parts)}." if counts.total else ""


def write_finished(report: Report, args: argparse.Namespace) -> int:
    """Write the report of a run that has ended, with a note if it has flaws, and return the exit code.

    Raises:
        CommandError: the run was stopped, waits for its owner, or has failed.
    """
    run, answer = report.run, research.number_report_answer(report)
    if run.status == "stopped":
        folder = f" --data-dir {args.data_dir}" if args.data_dir else ""
        message = f"Stopped; what was found is kept. Resume with: {program_name()} resume {run.id}{folder}"
        raise CommandError(EXIT_STOPPED, message)
    if report.is_awaiting_clarification and (clarification := report.clarification):
        print_output(
            "".join(f"{line}\n" for line in (clarification.question, *(f"- {c}" for c in clarification.choices)))
        )
        command = f'{program_name()} resume {run.id} --answer "…"'
        raise CommandError(
            EXIT_STOPPED,
            f"Which do you mean? Answer with: {command} (without --answer, the run continues as asked)",
        )
    if run.status == "waiting":
        tasks = [task_line(task) for task in report.plan.tasks] if report.plan else []
        print_output("".join(f"{line}\n" for line in tasks))
        raise CommandError(
            EXIT_STOPPED, f"The plan is waiting for approval. Approve it with: {program_name()} resume {run.id}"
        )
    write_report(report, answer, args)
    if answer and (summary := _support_summary(answer)):
        ProgressDisplay().print_line(summary)
    if run.status == "failed" or answer is None:
        hint = f" Resume with: {program_name()} resume {run.id}" if run.is_resumable else ""
        failure = research.parse_failure(run.error)
        reason = research.explain_failure(failure, "en") if failure else run.error
        reason = f"{(reason or 'it has no answer').rstrip('.')}."
        details = f" ({clean_line(failure.message)})" if failure and failure.message not in reason else ""
        raise CommandError(EXIT_FAILED, f"The run has {run.status}: {reason}{details}{hint}")
    if not answer.sources and answer.answer.failures:
        failure_count = len(answer.answer.failures)
        return print_message(
            EXIT_FAILED,
            f"Nothing is cited, and {failure_count} {'search' if failure_count == 1 else 'searches'} failed; the report says why.",
        )
    if not answer.sources and report.findings:
        return print_message(EXIT_NOTHING_FOUND, "Nothing was found in the sources.")
    if any(item.span.kind == "missing" for item in answer.spans) and not report.findings:
        return print_message(EXIT_NOTHING_FOUND, "Nothing was searched.")
    return EXIT_ANSWERED


def write_report(report: Report, answer: CitedAnswer | None, args: argparse.Namespace) -> None:
    """Write the report to the file or the standard output, as the options specify."""
    if args.output:
        _write_file(args.output, _chosen_suffix(args), report, answer, _options(args))
        return
    if args.json:
        has_table = getattr(args, "table", False) and research.has_cited_table(report)
        suffix = "table.json" if has_table else "json"
        print_output(escape_json(research.export_report(report, answer, suffix, _options(args)).decode()))
    else:
        print_output(research.report_markdown(report, answer, _options(args)))


def _options(args: argparse.Namespace) -> ExportOptions:
    application = research.get_application()
    choices = {"citation_format": args.citations, "page_viewer": application.cited_page}
    if args.pages is not None:
        choices["export_pages"] = args.pages
    return research.ExportOptions.from_settings(application.services_for().settings, **choices)


def task_line(task: Task) -> str:
    """Describe a planned search in one line."""
    names = f"; about {' / '.join(task.subject)}" if task.subject else ""
    return clean_line(f"- {task.query} [{task.source}]{names}")


def check_output(path: Path | None, is_table: bool = False) -> None:
    """Check that a report, or a table, can be written to a file.

    Raises:
        CommandError: the folder is missing or the suffix is unknown.
    """
    if path is None:
        return
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise CommandError(EXIT_USAGE, f"{path} cannot be written: it is a folder, or its folder is missing.")
    if not _output_suffix(path, is_table):
        raise CommandError(
            EXIT_USAGE,
            f"{path} does not end in a report format; use one of {', '.join(output_suffixes(is_table))}.",
        )


def _output_suffix(path: Path, is_table: bool = False) -> str:
    """Return the suffix of the format of a file: Markdown for plain text, "" for an unknown one."""
    if found := research.find_format(path.name, for_table=is_table):
        return found.suffix
    return "md" if path.suffix.lower() in ("", ".txt", ".markdown") else ""


def _chosen_suffix(args: argparse.Namespace) -> str:
    table = getattr(args, "table", False)
    return ("table.json" if table else "json") if args.json else _output_suffix(args.output, table)


def _write_file(path: Path, suffix: str, report: Report, answer: CitedAnswer | None, options: ExportOptions) -> None:
    """Write a report to a file; if that fails, print it as Markdown."""
    try:
        data = research.export_report(report, answer, suffix, options)
        path.write_bytes(escape_json(data.decode()).encode() if suffix == "json" else data)
    except OSError as error:
        print_output(research.report_markdown(report, answer))
        raise CommandError(EXIT_FAILED, f"{path} cannot be written: {error.strerror or error}.") from error
    except Exception as error:  # the report has cost money: print it even if the format fails
        logging.getLogger(__name__).exception("the %s file could not be made", suffix)
        print_output(research.report_markdown(report, answer))
        raise CommandError(EXIT_FAILED, f"{path} could not be created ({type(error).__name__}).") from error
    print_message(EXIT_ANSWERED, f"The report is in {path}")
