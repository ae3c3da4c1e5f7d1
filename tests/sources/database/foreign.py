"""A database that nobody here has made: Chinook, with its semantic model and sixty questions by another hand.

`python -m tests.sources.database.foreign` measures what is read without a model. The questions were halved at random
before anything was read of them; the half "unseen" was counted, and never looked at, while the interpreter was
written.
"""

from __future__ import annotations

import json
import lzma
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any

from research.sources.database.asking import NotUnderstood
from research.sources.database.engines import Database, open_database
from research.sources.database.interpreter import Lexicon, interpreted
from research.sources.database.lexicon import lexicon
from research.sources.database.semantics import drafted, loaded

FOLDER = Path(__file__).with_name("chinook")
BESIDES = 4  # columns that an answer may have besides those of the gold
Question = dict[str, Any]
Rows = Sequence[Sequence[object]]


def database(folder: Path) -> Path:
    """The file of the database."""
    path = folder / "chinook.sqlite"
    path.write_bytes(lzma.decompress((FOLDER / "chinook.sqlite.xz").read_bytes()))
    return path


def described(path: Path, *, draft: bool = False) -> tuple[Database, Lexicon]:
    """The database with the words of its description, or of a draft of one."""
    base = open_database(path)
    text = (FOLDER / "chinook.yaml").read_text(encoding="utf-8")
    return base, lexicon(base, drafted(base.schema) if draft else loaded(text, base.schema))


def questions(*splits: str) -> list[Question]:
    lines = (FOLDER / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        q for line in lines if (q := json.loads(line))["split"] in (splits or ("seen", "unseen"))
    ]


def gold(path: Path, question: Question) -> Iterator[Rows]:
    """The rows of each reading that is fair."""
    with closing(sqlite3.connect(path)) as connection:
        for sql in (question["sql"], *question.get("or", ())):
            yield connection.execute(sql).fetchall()


def same(wanted: Rows, found: Rows) -> bool:
    """Whether rows are those of the gold, in any order, perhaps with a few more columns."""
    if len(wanted) != len(found):
        return False
    if not wanted:
        return True
    size, width = len(wanted[0]), len(found[0])
    if not size <= width <= size + BESIDES:
        return False
    told = sorted(repr(_plain(row)) for row in wanted)
    return any(
        sorted(repr(_plain([row[at] for at in order])) for row in found) == told
        for order in permutations(range(width), size)
    )


def _plain(row: Iterable[object]) -> tuple[object, ...]:
    return tuple(round(float(v), 2) if isinstance(v, (int, float)) else v for v in row)


def verdict(path: Path, base: Database, words: Lexicon, question: Question) -> str:
    """right, wrong or declined."""
    try:
        read = interpreted(question["question"], words)
    except NotUnderstood:
        return "declined"
    rows = base.run(base.check(read.sql)).rows
    return "right" if any(same(told, rows) for told in gold(path, question)) else "wrong"


def baseline(base: Database, question: Question) -> str:
    """The plainest reading there is: the rows of the table that a question names, counted."""
    text = question["question"].lower()
    for table in base.schema.tables:
        if re.search(rf"\b{table.name.lower()}s?\b", text):
            return f'SELECT count(*) FROM "{table.name}"'
    return ""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = database(Path(folder))
        base, words = described(path)
        _, bare = described(path, draft=True)
        for split in ("seen", "unseen"):
            for language in ("zh", "en"):
                asked = [q for q in questions(split) if q["language"] == language]
                found = Counter(verdict(path, base, words, q) for q in asked)
                early = Counter(verdict(path, base, bare, q) for q in asked)
                plain = [(q, sql) for q in asked if (sql := baseline(base, q))]
                right = sum(any(same(t, base.run(base.check(sql)).rows) for t in gold(path, q)) for q, sql in plain)  # fmt: skip
                kinds = ("right", "wrong", "declined")
                told, first = (", ".join(f"{of[k]} {k}" for k in kinds) for of in (found, early))
                print(f"{split} {language}: {told} of {len(asked)}; with a draft: {first}; the table's rows counted: {right} right, {len(plain) - right} wrong")  # fmt: skip


if __name__ == "__main__":
    main()
