"""Runs the largest results that a database may give and tells the most memory that each took.

A process of its own, so that it can be read off. Prints one line of JSON: kilobytes at the start, and
for each statement the outcome, the characters of its rows, and the peak since the start.
"""

from __future__ import annotations

import json
import resource
import sys

from research.sources.database.engines import open_database
from research.sources.database.results import ExecutionError


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main(address: str, *statements: str) -> None:
    database = open_database(address, includes_samples=False)
    database.run(database.check("SELECT n FROM large LIMIT 1"))
    before, told = peak(), []
    for sql in statements:
        try:
            result = database.run(database.check(sql))
            outcome = "rows" if result.rows else "none"
            size = sum(len(str(value)) for row in result.rows for value in row)
        except ExecutionError as failed:
            outcome, size = failed.cause, 0
        told.append({"outcome": outcome, "characters": size, "peak": peak()})
    print(json.dumps({"before": before, "told": told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
