"""Bounded memory of earlier turns, rebuilt from the store at each start and resume of a run."""

from __future__ import annotations

from research.agent.nodes.turn_memory import MAX_EARLIER_QUESTIONS, MAX_TURNS, build_memory
from research.citations.numbering import number_report_answer
from research.core.records import Memory, Run
from research.storage.store import Store


def conversation_memory(store: Store, run: Run) -> Memory:
    """Build the memory of the turns before a run. Only the latest are read in full."""
    turns: list[Run] = []
    earlier = store.get_run(run.follows) if run.follows else None
    seen = {run.id}
    while earlier and earlier.owner == run.owner and earlier.id not in seen:
        seen.add(earlier.id)
        turns.append(earlier)
        if len(turns) == MAX_TURNS + MAX_EARLIER_QUESTIONS:
            break
        earlier = store.get_run(earlier.follows) if earlier.follows else None
    entries = []
    for index, turn in reversed(list(enumerate(turns))):
        report = store.report(turn) if index < MAX_TURNS else None
        plan = report.plan if report else None
        question = plan.question if plan and plan.question else turn.question
        entries.append((question, number_report_answer(report) if report else None))
    return build_memory(entries)
