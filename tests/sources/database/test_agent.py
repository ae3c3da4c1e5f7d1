"""The steps from a question to rows: statements that are wrong are put right, and gaps stay gaps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from research.core.errors import ServiceError
from research.core.events import EventEmitter, ignore_event
from research.sources.database.agent import (
    CONFIRMED,
    MAX_STATEMENTS,
    Intent,
    Outcome,
    QueryResult,
    Statement,
    count_nulls,
    fill_nulls,
    requested_count,
)
from research.sources.database.service import DatabaseService
from tests.tables import each_row

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
    fails: ServiceError | None = None
    author: str = "scripted"

    async def analyse(self, question: str, say: EventEmitter) -> Intent:
        if self.fails:
            raise self.fails
        return self.intent

    async def write(
        self, question: str, hints: Sequence[str], tries: Sequence[tuple[str, str]], say: EventEmitter
    ) -> Statement:
        self.hints = hints
        self.tries.append(list(tries))
        return Statement(sql=self.statements[min(len(tries), len(self.statements) - 1)])

    async def write_supplement(
        self, question: str, rows: QueryResult, lacking: Sequence[str], hints: Sequence[str], say: EventEmitter
    ) -> Statement:
        return Statement(sql=self.supplements.pop(0) if self.supplements else "")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@dataclass
class Failing(Scripted):
    """A model that cannot be asked any more from some request on."""

    at: str = "write"
    after: int = 0

    async def write(
        self, question: str, hints: Sequence[str], tries: Sequence[tuple[str, str]], say: EventEmitter
    ) -> Statement:
        if self.at == "write" and len(tries) >= self.after:
            raise ServiceError("timeout", "no reply in time", hint="model")
        return await super().write(question, hints, tries, say)

    async def write_supplement(
        self, question: str, rows: QueryResult, lacking: Sequence[str], hints: Sequence[str], say: EventEmitter
    ) -> Statement:
        raise ServiceError("quota", "the allowance is used up")


async def asked(folder: Path, writer: Scripted | None, question: str = QUESTION) -> Outcome:
    given = (lambda dialect, schema, examples: writer) if writer else None
    return await DatabaseService("", folder, given).ask(question, ignore_event)


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
    assert len(writer.tries) == MAX_STATEMENTS


async def test_a_model_that_repeats_itself_is_not_asked_again(folder: Path) -> None:
    writer = Scripted(["SELECT wrong FROM a_sight"])
    outcome = await asked(folder, writer)
    assert outcome.status == "refused"
    assert len(writer.tries) == 2


@pytest.mark.slow
@pytest.mark.parametrize("sql", ["DROP TABLE a_sight", "SELECT 1; DELETE FROM a_sight", "PRAGMA x"])
async def test_what_may_not_be_run_is_not(folder: Path, sql: str) -> None:
    outcome = await asked(folder, Scripted([sql, RIGHT]))
    assert outcome.status == "answered"
    assert "refused" in kinds(outcome)


async def test_two_statements_that_are_refused_end_with_the_last_reason(folder: Path) -> None:
    writer = Scripted(["DROP TABLE a_sight", "SELECT nome FROM a_sight", "SELECT  nome  FROM a_sight;"])
    outcome = await asked(folder, writer)
    assert outcome.status == "refused" and "nome" in outcome.problem
    assert kinds(outcome) == ["understand", "write", "refused", "write", "refused", "judge"]
    assert len(writer.tries) == 3


async def test_a_city_without_its_ending_is_told_as_the_column_has_it(folder: Path) -> None:
    writer = Scripted(
        ["SELECT gid, name FROM a_sight WHERE city = '杭州'",
         "SELECT gid, name FROM a_sight WHERE city = '杭州市'"]
    )  # fmt: skip
    outcome = await asked(folder, writer)
    assert outcome.status == "answered"
    assert writer.tries[1][0][1] == "it finds nothing: a_sight.city is never '杭州'; there is '杭州市'"
    judged = next(step for step in outcome.steps if step.kind == "judge")
    assert "'杭州市'" in judged.text


async def test_fewer_than_the_question_names_is_looked_at_once_more(folder: Path) -> None:
    few = "SELECT gid, name FROM a_sight ORDER BY gid LIMIT 3"
    writer = Scripted([few, few.replace("3", "10")])
    outcome = await asked(folder, writer, "评分前10名的景区")
    assert outcome.rows is not None and len(outcome.rows.rows) == 10
    assert writer.tries[1][0][1] == "10 are asked for; it takes no more than 3"


async def test_fewer_are_the_answer_where_there_are_no_more(folder: Path) -> None:
    writer = Scripted(["SELECT gid, name FROM a_sight WHERE province = '天津市' LIMIT 10"])
    outcome = await asked(folder, writer, "天津评分前10名的景区")
    assert (outcome.status, len(writer.tries)) == ("answered", 1)


async def test_some_rows_are_kept_when_the_model_knows_no_better(folder: Path) -> None:
    few = "SELECT gid, name FROM a_sight ORDER BY gid LIMIT 3"
    again = await asked(folder, Scripted([few]), "评分前10名的景区")
    refused = await asked(folder, Scripted([few, "SELECT no FROM a_sight"]), "评分前10名的景区")
    for outcome in (again, refused):
        assert outcome.status == "answered"
        assert outcome.rows is not None and len(outcome.rows.rows) == 3


@each_row(
    ("question", "number"),
    [
        ("评分前10名的景区", 10),
        ("评分最高的５个景区", 5),
        ("top 10 areas by rating", 10),
        ("the 3 best rated, 7 nearest areas", 7),
        ("2015年前后评定的景区", 0),
        ("前2015年", 0),
        ("top of the list", 0),
        ("评分最高的景区", 0),
    ],
)
def test_how_many_a_question_names(question: str, number: int) -> None:
    assert requested_count(question) == number


@pytest.mark.parametrize("after", [0, 1])
async def test_a_model_that_fails_on_the_way_keeps_its_steps(folder: Path, after: int) -> None:
    writer = Failing(["SELECT nome FROM a_sight", RIGHT], after=after)
    outcome = await asked(folder, writer)
    assert (outcome.status, outcome.reason, outcome.hint) == ("failed", "timeout", "model")
    assert outcome.restatement == "as scripted" and outcome.problem == "no reply in time"
    assert kinds(outcome) == ["understand"] + ["write", "refused"] * after


@pytest.mark.slow
async def test_a_model_that_fails_after_some_rows_keeps_them_and_is_named(folder: Path) -> None:
    few = "SELECT gid, name FROM a_sight ORDER BY gid LIMIT 3"
    outcome = await asked(folder, Failing([few], after=1), "评分前10名的景区")
    assert outcome.status == "answered" and outcome.rows is not None
    assert len(outcome.rows.rows) == 3
    assert kinds(outcome) == ["understand", "write", "run", "judge"]
    assert [(failure.reason, failure.source) for failure in outcome.failures] == [("timeout", "database")]


async def test_a_failure_while_supplementing_keeps_the_rows(folder: Path) -> None:
    first = "SELECT gid, name, CAST(NULL AS TEXT) AS rating FROM a_sight WHERE gid < 1104"
    outcome = await asked(folder, Failing([first], at="supplement"))
    assert outcome.status == "partial" and outcome.null_counts == (("rating", 3),)
    assert [failure.reason for failure in outcome.failures] == ["quota"]
    assert outcome.reason is None


async def test_a_supplement_that_was_run_before_is_not_run_again(folder: Path) -> None:
    first = "SELECT gid, name, CAST(NULL AS TEXT) AS rating FROM a_sight WHERE gid < 1104"
    outcome = await asked(folder, Scripted([first], [first.lower() + " ;"]))
    assert kinds(outcome) == ["understand", "write", "run", "missing"]


async def test_a_statement_found_right_for_the_question_needs_no_model(folder: Path) -> None:
    writer, pairs = Scripted([RIGHT]), [("评分最高的景区？", "SELECT COUNT(*) AS n FROM a_sight")]
    desk = DatabaseService("", folder, lambda dialect, schema, examples: writer, load_pairs=lambda owner, base: pairs)
    outcome = await desk.ask(" 评分 最高的景区", ignore_event, "somebody")
    assert outcome.rows is not None and outcome.rows.rows == ((358,),)
    assert [step.text for step in outcome.steps if step.kind == "write"] == [CONFIRMED]
    assert (outcome.author, writer.tries) == ("", [])


async def test_a_statement_that_was_right_once_is_guarded_like_any_other(folder: Path) -> None:
    pairs = [(QUESTION, "SELECT name FROM sqlite_master")]
    outcome = await DatabaseService("", folder, load_pairs=lambda owner, base: pairs).ask(QUESTION, ignore_event)
    assert outcome.status == "refused" and outcome.rows is None


async def test_the_pairs_of_the_owner_and_the_database_are_examples_by_likeness(
    folder: Path,
) -> None:
    asked_of: list[tuple[str, str]] = []
    shown: list[tuple[str, str]] = []

    def pairs(owner: str, base: str) -> list[tuple[str, str]]:
        asked_of.append((owner, base))
        return [("评分最低的景区", "SELECT 1 AS n"), ("unlike anything", "SELECT 2 AS n")]

    def made(dialect: str, schema: str, examples: Callable[[str], Sequence[tuple[str, str]]]) -> Scripted:
        assert dialect == "sqlite" and "tourist_spot" in schema
        shown.extend(examples(QUESTION))
        return Scripted([RIGHT])

    await DatabaseService("", folder, made, load_pairs=pairs).ask(QUESTION, ignore_event, "ann")
    assert asked_of == [("ann", "sights")]
    assert shown == [("评分最低的景区", "SELECT 1 AS n")]


async def test_a_statement_of_one_s_own_is_run_or_refused(folder: Path) -> None:
    desk = DatabaseService("", folder)
    right = await desk.run_statement(RIGHT, ignore_event)
    assert right.status == "answered" and kinds(right) == ["run"]
    none = await desk.run_statement("SELECT gid FROM a_sight WHERE year_rated = 1999", ignore_event)
    assert none.status == "empty"
    refused = await desk.run_statement("SELECT 1; DROP TABLE a_sight", ignore_event)
    assert (refused.status, refused.rows, kinds(refused)) == ("refused", None, ["refused"])


async def test_gaps_are_filled_by_key_and_only_gaps(folder: Path) -> None:
    first = "SELECT gid, name, CAST(NULL AS INTEGER) AS year_rated FROM a_sight WHERE gid < 1105"
    writer = Scripted([first], ["SELECT gid, 'x' AS name, year_rated FROM a_sight WHERE gid < 1103"])
    outcome = await asked(folder, writer)
    assert outcome.rows is not None
    filled = [row[2] is not None for row in outcome.rows.rows]
    assert filled == [True, True, False, False]
    assert "x" not in [row[1] for row in outcome.rows.rows]
    assert outcome.status == "partial"
    assert outcome.null_counts == (("year_rated", 2),)


async def test_a_supplement_that_gains_nothing_is_the_last(folder: Path) -> None:
    first = "SELECT gid, name, CAST(NULL AS TEXT) AS rating FROM a_sight WHERE gid < 1105"
    useless = "SELECT gid, CAST(NULL AS TEXT) AS rating FROM a_sight"
    writer = Scripted([first], [useless, useless, useless])
    outcome = await asked(folder, writer)
    assert kinds(outcome).count("supplement") == 1
    assert outcome.null_counts == (("rating", 4),)


async def test_what_the_tables_cannot_tell_is_asked_back(folder: Path) -> None:
    writer = Scripted([RIGHT], intent=Intent(answerable=False, clarify="No ratings are known."))
    outcome = await asked(folder, writer)
    assert (outcome.status, outcome.problem) == ("unclear", "No ratings are known.")
    assert writer.tries == []


async def test_a_model_that_cannot_be_asked_is_a_failure_with_its_reason(folder: Path) -> None:
    writer = Scripted([RIGHT], fails=ServiceError("quota", "the allowance is used up"))
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
    rows = QueryResult(sql="", names=("gid", "a"), rows=((1, None), (2, 5), (3, "")))
    more = QueryResult(sql="", names=("gid", "a", "b"), rows=((1, 7, 0), (2, 9, 0), (4, 1, 0)))
    filled, gained = fill_nulls(rows, more, "gid")
    assert filled.rows == ((1, 7), (2, 5), (3, "")) and gained == 1
    assert count_nulls(filled) == [("a", 1)]
    assert fill_nulls(rows, more.model_copy(update={"names": ("x", "a", "b")}), "gid") == (rows, 0)
