"""What would be searched, and what that would take."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import research
from research.cli.exits import ANSWERED
from research.cli.running import chosen_options, planned, question
from research.cli.screen import as_json, plain, put
from research.cli.told import named_part
from research.cli.usage import json_option, limits

if TYPE_CHECKING:
    from research import Estimate

ABOUT = "Shows what would be searched."


def arguments(parser: argparse.ArgumentParser) -> None:
    limits(parser)
    json_option(parser)


def act(args: argparse.Namespace) -> int:
    options = chosen_options(args)
    plan = research.application.plan(question(args), options=options)
    likely = research.application.estimate(options, plan=plan)
    if args.json:
        made = plan.model_dump(mode="json") | {"estimate": likely.model_dump(mode="json")}
        put(as_json(json.dumps(made, ensure_ascii=False, indent=2)) + "\n")
        return ANSWERED
    lines = []
    for part in plan.parts:
        lines.append(plain(named_part(part.subject, part.text)))
        lines += [planned(task) for task in plan.tasks if task.part == part.id]
    lines += [planned(task) for task in plan.tasks if not task.part]
    lines += [plain(note) for note in plan.notes]
    lines.append(_likely(likely))
    put("\n".join(lines) + "\n")
    return ANSWERED


def _likely(estimate: Estimate) -> str:
    cost = "price unknown" if estimate.cost is None else f"${estimate.cost:.2g}"
    facts = [f"{estimate.searches} searches"]
    facts += [f"{estimate.tokens:,} tokens", cost] if estimate.tokens else []
    return f"estimate: {', '.join([*facts, f'{estimate.seconds:.2g} s'])}"
