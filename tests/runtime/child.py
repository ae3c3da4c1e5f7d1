"""A process that works on runs until it is killed: `python -m tests.runtime.child folder log count`.
A further word `approve` lets the runs wait for their plans to be approved.

It starts `count` runs of three queries each and a follow-up, and prints their ids, a line each. What
its source does is a line of `log` each; a query in a `stuck` file beside the log never comes back.
"""

import sys
import time
from pathlib import Path

from research.core.records import RunOptions
from research.core.settings import load_settings
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, resources

if __name__ == "__main__":
    folder, log, count = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    stuck = (log.parent / "stuck").read_text(encoding="utf-8").split()
    runs = LocalRunManager(
        resources(
            load_settings(data_dir=folder),
            ScriptedReasoner(["a", "b", "c"], lambda round_: ["d"]),
            {"web": ScriptedSource(outcomes=dict.fromkeys(stuck, HANGS), log=log)},
        )
    )
    for n in range(count):
        options = RunOptions(loops=2, sources=("web",), approve="approve" in sys.argv[4:])
        print(runs.start(f"What is known of tower {n}?", options=options).id, flush=True)
    while True:
        time.sleep(60)
