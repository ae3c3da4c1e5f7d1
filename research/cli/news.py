"""Command `news`: report on a topic in the news; with --changed, watch the topic."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_FAILED, EXIT_UNCHANGED
from research.cli.options import (
    add_json_option,
    add_output_options,
    add_question_options,
    add_save_option,
    parse_round_count,
    parse_section_count,
)
from research.cli.run_output import (
    check_output,
    follow_and_write,
    follow_or_stop,
    read_options,
    read_question,
    read_save_folder,
    write_result,
)
from research.cli.terminal import print_message

if TYPE_CHECKING:
    from research import WatchedTopic

DESCRIPTION = "Reports on a topic in the news."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question_options(parser)
    add_output_options(parser)
    add_json_option(parser)
    add_save_option(parser)
    parser.add_argument(
        "--changed",
        action="store_true",
        help="watch the topic; print the report only if it has changed",
    )
    parser.add_argument("--sections", type=parse_section_count, metavar="N", help="maximum sections, 1 to 12")
    parser.add_argument(
        "--reflections", type=parse_round_count, metavar="N", help="reflection rounds per section, 0 to 10"
    )


def execute(args: argparse.Namespace) -> int:
    check_output(args.output)
    options = read_options(args, research.get_application().services_for().report_options())
    limits = {"sections": args.sections, "reflections": args.reflections}
    run_options = options.model_copy(update={k: v for k, v in limits.items() if v is not None})
    topic = read_question(args)
    watch = research.get_application().watches.find(topic) if args.changed else None
    if watch:
        return _update_report(watch, args)
    if not args.sources and "news" not in run_options.sources:
        needed = research.get_application().readiness()["news"].detail
        print_message(
            EXIT_ANSWERED,
            f"News search needs one of {needed}. The report uses the library instead.",
        )
    run = research.get_application().start_report(topic, options=run_options, save_folder=read_save_folder(args))
    code = follow_and_write(run, 0, args)
    if args.changed and (finished := research.get_application().runs.get_run(run.id)) and finished.status == "done":
        research.get_application().watches.add(run.id)
    return code


def _update_report(watch: WatchedTopic, args: argparse.Namespace) -> int:
    """Update the report of a watched topic, and write it if anything has changed."""
    run = research.get_application().watches.start_update(watch.id)
    events = research.get_application().runs.events(run.id)
    follow_or_stop(run, events[-1].seq if events else 0)
    report = research.get_application().runs.report(run.id)
    coverage = report.answer.coverage if report and report.answer else None
    if report is None or report.run.status != "done" or (coverage and coverage.changes):
        return write_result(run.id, args)
    searches = [finding for finding in report.findings if not finding.reused]
    failed = [finding for finding in searches if finding.reason not in (None, "empty")]
    if failed and len(failed) == len(searches):
        return print_message(EXIT_FAILED, f"Every search failed: {failed[0].message or failed[0].reason}")
    failure_note = f" {len(failed)} of {len(searches)} searches failed." if failed else ""
    since = f"{watch.updated.astimezone():%Y-%m-%d %H:%M}" if watch.updated else "the last report"
    return print_message(EXIT_UNCHANGED, f"Nothing has changed since {since}.{failure_note}")
