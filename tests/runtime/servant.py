"""A graph for an Agent Server over scripted helpers: what `research.runtime.agent_server` is over real ones.

`SCRIPT_LOG` names a file that gets a line at the start and at the end of each search, in whichever
process; the last of these is named in the file `process` beside it. There too, the words of a file `stuck` are queries that never come back, and while there is a
file `broken` no plan can be made.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from research.agent.reasoner import ReasonerInput
from research.core.records import Draft, Plan, Task
from research.core.settings import load_settings
from research.runtime.active_run import RunResources
from research.runtime.server_worker import ServerWorker, served_graph
from research.storage.store import Store
from tests.fakes import HANGS, Outcome, ScriptedReasoner, ScriptedSource

SECRET = "sk-sentinel-of-a-server"  # that an error message of a library might quote


class _Stuck(dict[str, Outcome]):
    """What the searches come to, as the file says at the moment."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def get(self, query: str, usual: Any = None) -> Any:
        stuck = self._file.read_text(encoding="utf-8").split() if self._file.exists() else []
        return HANGS if query in stuck else usual


class _Reasoner(ScriptedReasoner):
    def __init__(self, broken: Path) -> None:
        super().__init__(["a", "b", "c"], lambda round_: [f"d{round_}"])
        self._broken = broken

    async def plan(self, inputs: ReasonerInput) -> Plan | Draft:
        if self._broken.exists():
            raise LookupError(f"no plan with {SECRET}")
        return await super().plan(inputs)


def reasoner(log: Path) -> ScriptedReasoner:
    """Three queries, and one that follows each round."""
    return _Reasoner(log.with_name("broken"))


def source(log: Path) -> ScriptedSource:
    """Searches that take a little time."""

    def note(_: Task) -> None:
        process = log.with_name(f"process-{os.getpid()}")
        process.write_text(str(os.getpid()), encoding="utf-8")
        process.replace(log.with_name("process"))  # whoever reads it reads all of it

    script = ScriptedSource(usual=Outcome(waits=0.1), log=log, before=note)
    script.outcomes = _Stuck(log.with_name("stuck"))
    return script


def _opened() -> ServerWorker:
    settings = load_settings()
    log = Path(os.environ["SCRIPT_LOG"])
    return ServerWorker(RunResources(settings, Store(settings.store), reasoner(log), {"web": source(log)}))


graph = served_graph({"web": "web_research"}, _opened)
