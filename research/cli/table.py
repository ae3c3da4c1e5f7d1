"""A table: things by what is asked of each, every cell cited."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import research
from research.cli.exits import ANSWERED, UNUSABLE, Quit
from research.cli.running import check_output, named, named_sources, to_the_end
from research.cli.running import spending as limits_of
from research.cli.screen import put
from research.cli.usage import json_option, spending, writing

ABOUT = "Fills in a table from a TOML file, every cell cited."


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "spec", type=Path, metavar="SPEC", help="a TOML file that describes the table"
    )
    writing(parser, table=True)
    parser.set_defaults(table=True)
    json_option(parser)
    parser.add_argument(
        "--sources", metavar="NAMES", help="sources to search, e.g. library,web; overrides the file"
    )
    parser.add_argument(
        "--based-on",
        metavar="RUN",
        help="an earlier table, whose cells are reused where nothing has changed",
    )
    parser.add_argument(
        "--plan", action="store_true", help="say how many searches it takes, and stop"
    )
    spending(parser)


def act(args: argparse.Namespace) -> int:
    check_output(args.output, table=True)
    try:
        grid, given = research.table_spec(args.spec)
    except (OSError, research.TableSpecError) as error:
        raise Quit(UNUSABLE, str(error)) from error
    options = _options(args, given)
    if args.plan:
        likely = research.application.estimate(options, plan=research.Plan(grid=grid))
        cost = "" if not likely.tokens else f", about {likely.tokens:,} tokens"
        cells = len(grid.rows) * len(grid.columns)
        put(f"{cells} cells, at most {likely.searches} searches{cost}\n")
        return ANSWERED
    based_on = named(args.based_on).id if args.based_on else ""
    run = research.application.tabulate(grid=grid, options=options, based_on=based_on)
    return to_the_end(run, 0, args)


def _options(args: argparse.Namespace, given: dict[str, Any]) -> research.Options:
    own = args.sources if args.sources is not None else ",".join(given.pop("sources", ()))
    update = given | {k: v for k, v in limits_of(args).items() if v is not None}
    if own:
        update["sources"] = named_sources(own)
    usual = research.application.services().usual()
    return research.Options.model_validate(usual.model_dump() | update)
