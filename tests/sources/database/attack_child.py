"""Runs every attack on SQLite, or on DuckDB, straight at the engine, past the guard, and tells what
came of it.

A process of its own, so that the most memory it ever had can be read off. Prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

from research.sources.database.duckdb import DuckDB
from research.sources.database.results import ExecutionError, ResultLimits
from research.sources.database.sqlite import SQLite
from tests.sources.database.scenic import cases, known

FILES = {"sqlite": "attacks.json", "duckdb": "attacks_duckdb.json"}


def main(scenic: str, outside: str, new: str, seconds: str) -> None:
    kind = "duckdb" if scenic.endswith(".duckdb") else "sqlite"
    limits = ResultLimits(timeout_seconds=float(seconds))
    backend = (DuckDB if kind == "duckdb" else SQLite)(Path(scenic), limits)
    backend.read_schema(known, None)
    backend.run("select name, replace(name, 'a', 'b') from a_sight order by name")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    told = []
    for case in cases(FILES[kind], kind):
        if "guard_only" in case:
            continue
        text = case["sql"].replace("{outside}", outside).replace("{new}", new)
        started = time.monotonic()
        try:
            outcome, rows = "rows", repr(backend.run(text).rows)
        except ExecutionError as failed:
            outcome, rows = failed.cause, ""
        taken = time.monotonic() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        told.append({"sql": case["sql"], "outcome": outcome, "rows": rows, "seconds": taken, "peak": peak})
    print(json.dumps({"before": before, "told": told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
