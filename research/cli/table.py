"""A table: things by what is asked of each, every cell cited."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import research
from research.cli.exits import ANSWERED, FAILED, UNUSABLE, Quit
from research.cli.running import check_output, named, over, watched
from research.cli.screen import complain
from research.cli.usage import bound, json_option, writing

ABOUT = "Fills in a table from a TOML file, every cell cited."


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="the table, as a TOML file says it")
    writing(parser, table=True)
    parser.set_defaults(table=True)
    json_option(parser)
    parser.add_argument(
        "--sources", metavar="NAMES", help="where to look, e.g. library,web, instead of the file's"
    )
    parser.add_argument(
        "--based-on",
        metavar="RUN",
        help="an earlier table; its cells that are asked again are kept",
    )
    parser.add_argument(
        "--plan", action="store_true", help="say how many searches it takes, and stop"
    )
    for name, unit, text in (
        ("searches", "N", "maximum searches"),
        ("tokens", "N", "maximum tokens"),
        ("cost", "DOLLARS", "maximum estimated cost in US dollars"),
        ("seconds", "S", "maximum seconds of work"),
    ):
        parser.add_argument(f"--max-{name}", type=bound, metavar=unit, help=f"{text}; 0: no limit")


def act(args: argparse.Namespace) -> int:
    check_output(args.output, table=True)
    try:
        grid, given = research.table_spec(args.spec)
    except (OSError, research.TableSpecError) as error:
        raise Quit(UNUSABLE, str(error)) from error
    options = _options(args, given)
    if args.plan:
        likely = research.runs.estimate(options, plan=research.Plan(grid=grid))
        cost = "" if not likely.tokens else f", about {likely.tokens:,} tokens"
        cells = len(grid.rows) * len(grid.columns)
        complain(ANSWERED, f"{cells} cells, at most {likely.searches} searches{cost}.")
        return ANSWERED
    based_on = named(args.based_on).id if args.based_on else ""
    run = research.runs.tabulate(grid=grid, options=options, based_on=based_on)
    watched(run, 0)
    report = research.runs.report(run.id)
    if report is None:
        raise Quit(FAILED, f"Run {run.id} no longer exists.")
    return over(run.id, args)


def _options(args: argparse.Namespace, given: dict[str, Any]) -> research.Options:
    services = research.runs.services()
    own = given.pop("sources", ())
    told = args.sources.replace(" ", "").split(",") if args.sources else own
    sources = tuple(dict.fromkeys(filter(None, told)))
    if unknown := [name for name in sources if name not in services.sources]:
        there = ", ".join(services.sources)
        raise Quit(
            UNUSABLE, f"There is no source {unknown[0]!r}; the available sources are {there}."
        )
    limits = {
        "searches": args.max_searches, "tokens": args.max_tokens, "cost": args.max_cost,
        "seconds": args.max_seconds,
    }  # fmt: skip
    update = given | {k: v for k, v in limits.items() if v is not None}
    if sources:
        update["sources"] = sources
    return research.Options.model_validate(services.usual().model_dump() | update)
