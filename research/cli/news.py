"""A report on a topic in the news; with --changed, a topic that is watched."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import research
from research.cli.exits import ANSWERED, FAILED, UNCHANGED
from research.cli.running import (
    check_output,
    chosen_options,
    folder,
    over,
    question,
    to_the_end,
    watched,
)
from research.cli.screen import complain
from research.cli.usage import json_option, limits, rounds, saving, sections, writing

if TYPE_CHECKING:
    from research import Watch

ABOUT = "Reports on a topic in the news."


def arguments(parser: argparse.ArgumentParser) -> None:
    limits(parser)
    writing(parser)
    json_option(parser)
    saving(parser)
    parser.add_argument(
        "--changed",
        action="store_true",
        help="watch the topic; print the report only if it has changed",
    )
    parser.add_argument("--sections", type=sections, metavar="N", help="maximum sections, 1 to 12")
    parser.add_argument(
        "--reflections", type=rounds, metavar="N", help="reflection rounds per section, 0 to 10"
    )


def act(args: argparse.Namespace) -> int:
    check_output(args.output)
    options = chosen_options(args, research.application.services().reporting())
    given = {"sections": args.sections, "reflections": args.reflections}
    chosen = options.model_copy(update={k: v for k, v in given.items() if v is not None})
    topic = question(args)
    watch = research.application.watched(topic) if args.changed else None
    if watch:
        return _again(watch, args)
    if not args.sources and "news" not in chosen.sources:
        needed = research.application.readiness()["news"].detail
        complain(
            ANSWERED,
            f"News search needs one of {needed}. The report uses the library instead.",
        )
    run = research.application.report_on(topic, options=chosen, save=folder(args))
    code = to_the_end(run, 0, args)
    if args.changed and (done := research.application.get(run.id)) and done.status == "done":
        research.application.watch(run.id)
    return code


def _again(watch: Watch, args: argparse.Namespace) -> int:
    """Brings the report of a topic up to date, and writes it if anything has changed."""
    run = research.application.look_again(watch.id)
    seen = research.application.events(run.id)
    watched(run, seen[-1].seq if seen else 0)
    report = research.application.report(run.id)
    coverage = report.answer.coverage if report and report.answer else None
    if report is None or report.run.status != "done" or (coverage and coverage.changes):
        return over(run.id, args)
    looked = [finding for finding in report.findings if not finding.reused]
    failed = [finding for finding in looked if finding.reason not in (None, "empty")]
    if failed and len(failed) == len(looked):
        return complain(FAILED, f"Every search failed: {failed[0].message or failed[0].reason}")
    lost = f" {len(failed)} of {len(looked)} searches failed." if failed else ""
    since = f"{watch.updated.astimezone():%Y-%m-%d %H:%M}" if watch.updated else "the last report"
    return complain(UNCHANGED, f"Nothing has changed since {since}.{lost}")
