"""What a run is told of the turns before it: from the store, bounded, at each start and resume."""

from __future__ import annotations

from research.agent.nodes.memory import ASKED, TURNS, remembered
from research.citations.numbering import cited
from research.core.records import Memory, Run
from research.storage.store import Store


def before(store: Store, run: Run) -> Memory:
    """The memory of the turns that a run follows. Only the last are read whole."""
    line: list[Run] = []
    earlier = store.run(run.follows) if run.follows else None
    seen = {run.id}
    while earlier and earlier.owner == run.owner and earlier.id not in seen:
        seen.add(earlier.id)
        line.append(earlier)
        if len(line) == TURNS + ASKED:
            break
        earlier = store.run(earlier.follows) if earlier.follows else None
    turns = []
    for at, turn in reversed(list(enumerate(line))):
        report = store.report(turn) if at < TURNS else None
        plan = report.plan if report else None
        question = plan.question if plan and plan.question else turn.question
        turns.append((question, cited(report) if report else None))
    return remembered(turns)
