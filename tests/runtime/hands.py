"""What worker processes of tests work with: scripted helpers, as the files beside the data folder say.

`log` gets a line at the start and the end of each search; while there is a file `hold`, no search comes
back; with a file `broken`, no worker can begin.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from research.core.events import EventEmitter
from research.core.records import Finding, Task
from research.core.settings import Settings
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import ScriptedReasoner, ScriptedSource, resources


class _Held(ScriptedSource):
    async def search(self, task: Task, say: EventEmitter) -> Finding:
        found = await super().search(task, say)
        while self.hold.exists():  # noqa: ASYNC110 - a test removes the file
            await asyncio.sleep(0.02)
        return found

    hold: Path


class Hands:
    """Runs of two rounds, in which each search finds something."""

    def __init__(self, settings: Settings) -> None:
        beside = settings.data_dir.parent
        if (beside / "broken").exists():
            raise LookupError("there is nothing to work with")
        source = _Held(log=beside / "log")
        source.hold = beside / "hold"
        reasoner = ScriptedReasoner(["a", "b", "c"], lambda round_: [f"d{round_}"])
        self.runs = LocalRunManager(resources(settings, reasoner, {"web": source}))

    def warm(self) -> None:
        self.runs.run_on_loop(self.runs.preload())

    def close(self) -> None:
        self.runs.close()
