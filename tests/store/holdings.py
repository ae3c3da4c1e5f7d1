"""All that a data folder holds, as plain values: what the next version must find in it again.

`python -m tests.store.holdings FOLDER` prints it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from research import runs
from research.library.listing import Wanted


def told() -> dict[str, Any]:
    """What the open data folder holds."""
    found: dict[str, Any] = {}
    for run in sorted(runs.recent(), key=lambda run: run.id):
        report = runs.report(run.id)
        found[run.id[0]] = {
            "status": run.status,
            "question": run.question,
            "conversation": run.conversation[0],
            "based_on": run.based_on[:1],
            "answer": [span.text for span in report.answer.spans]
            if report and report.answer
            else [],
            "evidence": [item.title for item in report.evidence] if report else [],
            "events": [event.kind for event in runs.events(run.id)],
        }
    library = runs.desk().library
    return {
        "runs": found,
        "history": [[one.title, one.pinned, list(one.tags)] for one in runs.history().entries],
        "bin": [one.title for one in runs.binned()],
        "choices": {one.name: one.value for one in runs.choices() if one.chosen},
        "preferences": runs.preferences(),
        "keys": {key.name: key.place for key in runs.key_states() if key.place != "none"},
        "statements": [list(pair) for pair in runs.confirmed()],
        "documents": [[one.name, one.passages] for one in library.listed(Wanted(), 0, 50)[0]],
        "removed": [one.name for one in library.removed()[0]],
        "passages": [hit.text for hit in library.search("雷峰塔")],
    }


if __name__ == "__main__":
    runs.desk(Path(sys.argv[1]))
    print(json.dumps(told(), ensure_ascii=False, indent=1))
    runs.close()
