"""What a run is told of the turns before it: from the store, bounded, at each start and resume."""

from __future__ import annotations

from research.agent.nodes.turn_memory import MAX_EARLIER_QUESTIONS, MAX_TURNS, build_memory
from research.citations.numbering import number_report_answer
from research.core.records import Memory, Run
from research.storage.store import Store


def conversation_memory(store: Store, run: Run) -> Memory:
    """The memory of the turns that a run follows. Only the last are read whole."""
    line: list[Run] = []
    earlier = store.get_run(run.follows) if run.follows else None
    seen = {run.id}
    while earlier and earlier.owner == run.owner and earlier.id not in seen:
        seen.add(earlier.id)
        line.append(earlier)
        if len(line) == MAX_TURNS + MAX_EARLIER_QUESTIONS:
            break
        earlier = store.get_run(earlier.follows) if earlier.follows else None
    turns = []
    for at, turn in reversed(list(enumerate(line))):
        report = store.report(turn) if at < MAX_TURNS else None
        plan = report.plan if report else None
        question = plan.question if plan and plan.question else turn.question
        turns.append((question, number_report_answer(report) if report else None))
    return build_memory(turns)
