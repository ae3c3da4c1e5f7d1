"""Command `table`: fill in a table of rows and questions, every cell cited."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import research
from research.cli.exit_codes import EXIT_ANSWERED, EXIT_USAGE, CommandError
from research.cli.options import add_json_option, add_limit_options, add_output_options
from research.cli.run_output import check_output, find_run, follow_and_write, parse_sources, read_limits
from research.cli.terminal import print_output, print_reading

DESCRIPTION = "Fills in a table from a TOML file, every cell cited."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("spec", type=Path, metavar="SPEC", help="a TOML file that describes the table")
    add_output_options(parser, is_table=True)
    parser.set_defaults(table=True)
    add_json_option(parser)
    parser.add_argument("--sources", metavar="NAMES", help="sources to search, e.g. library,web; overrides the file")
    parser.add_argument(
        "--based-on",
        metavar="RUN",
        help="an earlier table, whose cells are reused where nothing has changed",
    )
    parser.add_argument("--plan", action="store_true", help="say how many searches it takes, and stop")
    add_limit_options(parser)


def execute(args: argparse.Namespace) -> int:
    check_output(args.output, is_table=True)
    try:
        grid, spec_options = research.load_table_spec(args.spec, print_reading)
    except (OSError, research.TableSpecError) as error:
        raise CommandError(EXIT_USAGE, str(error)) from error
    options = _read_options(args, spec_options)
    if args.plan:
        estimate = research.get_application().estimate_usage(options, plan=research.Plan(grid=grid))
        cost = "" if not estimate.tokens else f", about {estimate.tokens:,} tokens"
        cells = len(grid.rows) * len(grid.columns)
        print_output(f"{cells} cells, at most {estimate.searches} searches{cost}\n")
        return EXIT_ANSWERED
    based_on = find_run(args.based_on).id if args.based_on else ""
    run = research.get_application().start_table(grid=grid, options=options, based_on=based_on)
    return follow_and_write(run, 0, args)


def _read_options(args: argparse.Namespace, spec_options: dict[str, Any]) -> research.RunOptions:
    sources = args.sources if args.sources is not None else ",".join(spec_options.pop("sources", ()))
    update = spec_options | {k: v for k, v in read_limits(args).items() if v is not None}
    if sources:
        update["sources"] = parse_sources(sources)
    defaults = research.get_application().services_for().default_options()
    return research.RunOptions.model_validate(defaults.model_dump() | update)
