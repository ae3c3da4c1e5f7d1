"""How long a CSV file of 1 GB takes to be recognised, loaded and asked, and how much memory.

    python -m tests.sources.database.large_file [MEGABYTES]

makes the file in a temporary folder and prints the figures with the machine. The baseline is Python's
own `csv` module over the same file, which only counts the rows.
"""

from __future__ import annotations

import csv
import os
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path

from research.readers.table_files import detect_tables, load_tables
from research.sources.database.engines import open_database

CITIES = ("杭州", "苏州", "南京", "上海", "北京", "广州", "深圳", "成都")
QUESTIONS = (
    "SELECT count(*) FROM sales",
    "SELECT 城市, sum(金额) AS total FROM sales GROUP BY 城市 ORDER BY total DESC",
    "SELECT date_trunc('month', 日期) AS month, avg(数量) FROM sales GROUP BY month ORDER BY month",
    "SELECT * FROM sales WHERE 订单 = 1234567",
    "SELECT 产品, count(DISTINCT 日期) FROM sales GROUP BY 产品 ORDER BY 2 DESC LIMIT 10",
)


def make(path: Path, megabytes: int) -> int:
    """A file of sales; how many rows it has."""
    n, size, most = 0, 0, megabytes * 1_000_000
    with path.open("w", encoding="utf-8") as made:
        made.write("订单,日期,城市,产品,数量,金额\n")
        while size < most:
            lines = [
                f"{i},{2020 + i % 5}年{i % 12 + 1}月{i % 28 + 1}日,{CITIES[i * 7 % 8]},产品{i % 997},"
                f"{i * 13 % 90 + 1},{i * 17 % 100_000 / 100:.2f}\n"
                for i in range(n, n + 50_000)
            ]
            made.write(text := "".join(lines))
            n, size = n + 50_000, size + len(text.encode())
    return n


def memory() -> float:
    """Megabytes, the most that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(megabytes: int = 1000) -> None:
    cores = os.cpu_count()
    print(f"{platform.machine()}, {cores} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder) / "sales.csv", Path(folder) / "sales.duckdb"
        rows = make(path, megabytes)
        print(f"{path.stat().st_size / 1e6:.0f} MB, {rows} rows")
        print(f"memory at the start: {memory():.0f} MB")
        started = time.monotonic()
        tables = detect_tables(path, path.name)
        print(f"recognised: {time.monotonic() - started:.1f} s")
        said: list[float] = []
        started = time.monotonic()
        loaded = load_tables([(path, tables)], target, said.append)
        print(f"loaded: {time.monotonic() - started:.1f} s, {len(said)} times told of progress")
        assert loaded[0].rows == rows
        print(f"database: {target.stat().st_size / 1e6:.0f} MB; memory: {memory():.0f} MB")
        database = open_database(f"duckdb:///{target}", includes_samples=False)
        for sql in QUESTIONS:
            started = time.monotonic()
            database.run(database.check(sql))
            print(f"{time.monotonic() - started:.2f} s: {sql}")
        print(f"memory: {memory():.0f} MB")
        started = time.monotonic()
        with path.open(encoding="utf-8", newline="") as opened:
            counted = sum(1 for _ in csv.reader(opened)) - 1
        print(f"baseline, Python's csv counting {counted} rows: {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
