"""The steps from a question to rows: statements that are wrong are put right, and gaps stay gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from research.database.agent import STEPS, Outcome, Rows, lacks, merged
from research.database.desk import DatabaseDesk
from research.reasoners.sql import Intent, Statement
from research.records import Say, silent
from research.trouble import Trouble

QUESTION = "评分最高的景区"  # which no rule knows
RIGHT = "SELECT gid, name FROM a_sight WHERE province = '浙江省' ORDER BY gid LIMIT 3"


@dataclass
class Scripted:
    """A model that says what it was given to say, and remembers what it was told."""

    statements: list[str]
    supplements: list[str] = field(default_factory=list)
    intent: Intent = field(default_factory=lambda: Intent(answerable=True, meant="as scripted"))
    tries: list[list[tuple[str, str]]] = field(default_factory=list)
    hints: Sequence[str] = ()
    fails: Trouble | None = None
    author: str = "scripted"

    async def analyse(self, question: str, say: Say) -> Intent:
        if self.fails:
            raise self.fails
        return self.intent

    async def write(
        self, question: str, hints: Sequence[str], tries: Sequence[tuple[str, str]], say: Say
    ) -> Statement:
        self.hints = hints
        self.tries.append(list(tries))
        return Statement(sql=self.statements[min(len(tries), len(self.statements) - 1)])

    async def supplement(
        self, question: str, rows: Rows, lacking: Sequence[str], hints: Sequence[str], say: Say
    ) -> Statement:
        return Statement(sql=self.supplements.pop(0) if self.supplements else "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


async def asked(folder: Path, writer: Scripted | None, question: str = QUESTION) -> Outcome:
    given = (lambda dialect, schema, examples: writer) if writer else None
    return await DatabaseDesk("", folder, given).ask(question, silent)


def kinds(outcome: Outcome) -> list[str]:
    return [step.kind for step in outcome.steps]


async def test_a_wrong_column_is_told_with_those_that_are_like_it(folder: Path) -> None:
    writer = Scripted(["SELECT nome FROM a_sight", RIGHT])
    outcome = await asked(folder, writer)
    assert outcome.status == "answered"
    assert kinds(outcome) == ["understand", "write", "refused", "write", "run"]
    (sql, problem), = writer.tries[1]  # fmt: skip
    assert sql == "SELECT nome FROM a_sight" and "name" in problem
    assert outcome.author == "scripted"


async def test_a_wrong_value_is_told_with_what_the_column_says(folder: Path) -> None:
    writer = Scripted(["SELECT gid FROM a_sight WHERE province = '浙江'", RIGHT])
    outcome = await asked(folder, writer)
    assert outcome.status == "answered"
    assert "judge" in kinds(outcome)
    assert "'浙江省'" in writer.tries[1][0][1]


async def test_a_count_of_nothing_is_looked_at_as_well(folder: Path) -> None:
    writer = Scripted(
        ["SELECT COUNT(*) AS n FROM a_sight WHERE province = '浙江'",
         "SELECT COUNT(*) AS n FROM a_sight WHERE province = '浙江省'"]
    )  # fmt: skip
    outcome = await asked(folder, writer)
    assert outcome.rows and outcome.rows.rows == ((22,),)


async def test_what_is_truly_not_there_is_an_answer(folder: Path) -> None:
    writer = Scripted(["SELECT gid FROM a_sight WHERE province = '浙江省' AND year_rated = 1999"])
    outcome = await asked(folder, writer)
    assert outcome.status == "empty"
    assert len(writer.tries) == 1


async def test_no_more_statements_are_asked_for_than_there_are_steps(folder: Path) -> None:
    writer = Scripted([f"SELECT wrong{n} FROM a_sight" for n in range(9)])
    outcome = await asked(folder, writer)
    assert outcome.status == "refused" and "wrong3" in outcome.problem
    assert len(writer.tries) == STEPS


async def test_a_model_that_repeats_itself_is_not_asked_again(folder: Path) -> None:
    writer = Scripted(["SELECT wrong FROM a_sight"])
    outcome = await asked(folder, writer)
    assert outcome.status == "refused"
    assert len(writer.tries) == 2


@pytest.mark.parametrize("sql", ["DROP TABLE a_sight", "SELECT 1; DELETE FROM a_sight", "PRAGMA x"])
async def test_what_may_not_be_run_is_not(folder: Path, sql: str) -> None:
    outcome = await asked(folder, Scripted([sql, RIGHT]))
    assert outcome.status == "answered"
    assert "refused" in kinds(outcome)


async def test_gaps_are_filled_by_key_and_only_gaps(folder: Path) -> None:
    first = "SELECT gid, name, CAST(NULL AS INTEGER) AS year_rated FROM a_sight WHERE gid < 1105"
    writer = Scripted(
        [first], ["SELECT gid, 'x' AS name, year_rated FROM a_sight WHERE gid < 1103"]
    )
    outcome = await asked(folder, writer)
    assert outcome.rows is not None
    filled = [row[2] is not None for row in outcome.rows.rows]
    assert filled == [True, True, False, False]
    assert "x" not in [row[1] for row in outcome.rows.rows]
    assert outcome.status == "partial"
    assert outcome.missing == (("year_rated", 2),)


async def test_a_supplement_that_gains_nothing_is_the_last(folder: Path) -> None:
    first = "SELECT gid, name, CAST(NULL AS TEXT) AS rating FROM a_sight WHERE gid < 1105"
    useless = "SELECT gid, CAST(NULL AS TEXT) AS rating FROM a_sight"
    writer = Scripted([first], [useless, useless, useless])
    outcome = await asked(folder, writer)
    assert kinds(outcome).count("supplement") == 1
    assert outcome.missing == (("rating", 4),)


async def test_what_the_tables_cannot_tell_is_asked_back(folder: Path) -> None:
    writer = Scripted([RIGHT], intent=Intent(answerable=False, clarify="No ratings are known."))
    outcome = await asked(folder, writer)
    assert (outcome.status, outcome.problem) == ("unclear", "No ratings are known.")
    assert writer.tries == []


async def test_a_model_that_cannot_be_asked_is_a_failure_with_its_reason(folder: Path) -> None:
    writer = Scripted([RIGHT], fails=Trouble("quota", "the allowance is used up"))
    outcome = await asked(folder, writer)
    assert (outcome.status, outcome.problem) == ("failed", "the allowance is used up")


async def test_names_are_linked_before_a_statement_is_written(folder: Path) -> None:
    intent = Intent(answerable=True, meant="", names=["浙江", "Summer Palace", "火星"])
    writer = Scripted([RIGHT], intent=intent)
    await asked(folder, writer)
    assert any("'浙江省'" in hint for hint in writer.hints)
    assert not any("火星" in hint for hint in writer.hints)


async def test_where_rules_understand_no_model_is_asked(folder: Path) -> None:
    writer = Scripted([RIGHT])
    outcome = await asked(folder, writer, "浙江省有多少个5A级景区？")
    assert (outcome.status, outcome.author) == ("answered", "")
    assert writer.tries == []


async def test_without_a_model_the_words_that_were_not_understood_are_named(folder: Path) -> None:
    outcome = await asked(folder, None)
    assert outcome.status == "unclear" and "评分" in outcome.problem


def test_merging_replaces_no_value_and_adds_no_row() -> None:
    rows = Rows(sql="", names=("gid", "a"), rows=((1, None), (2, 5), (3, "")))
    more = Rows(sql="", names=("gid", "a", "b"), rows=((1, 7, 0), (2, 9, 0), (4, 1, 0)))
    filled, gained = merged(rows, more, "gid")
    assert filled.rows == ((1, 7), (2, 5), (3, "")) and gained == 1
    assert lacks(filled) == [("a", 1)]
    assert merged(rows, more.model_copy(update={"names": ("x", "a", "b")}), "gid") == (rows, 0)
