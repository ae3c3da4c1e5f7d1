"""Command `plan`: show the searches of a question and their estimated cost."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import research
from research.cli.event_lines import part_label
from research.cli.exit_codes import EXIT_ANSWERED
from research.cli.options import add_json_option, add_question_options
from research.cli.run_output import read_options, read_question, task_line
from research.cli.terminal import clean_line, escape_json, print_output

if TYPE_CHECKING:
    from research import RunEstimate

DESCRIPTION = "Shows what would be searched."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_question_options(parser)
    add_json_option(parser)


def execute(args: argparse.Namespace) -> int:
    options = read_options(args)
    plan = research.get_application().runs.preview_plan(read_question(args), options=options)
    estimate = research.get_application().estimate_usage(options, plan=plan)
    if args.json:
        record = plan.model_dump(mode="json") | {"estimate": estimate.model_dump(mode="json")}
        print_output(escape_json(json.dumps(record, ensure_ascii=False, indent=2)) + "\n")
        return EXIT_ANSWERED
    lines = []
    for part in plan.parts:
        lines.append(clean_line(part_label(part.subject, part.text)))
        lines += [task_line(task) for task in plan.tasks if task.part == part.id]
    lines += [task_line(task) for task in plan.tasks if not task.part]
    lines += [clean_line(note) for note in plan.notes]
    lines.append(_estimate_line(estimate))
    print_output("\n".join(lines) + "\n")
    return EXIT_ANSWERED


def _estimate_line(estimate: RunEstimate) -> str:
    cost = "price unknown" if estimate.cost is None else f"${estimate.cost:.2g}"
    facts = [f"{estimate.searches} searches"]
    facts += [f"{estimate.tokens:,} tokens", cost] if estimate.tokens else []
    return f"estimate: {', '.join([*facts, f'{estimate.seconds:.2g} s'])}"
