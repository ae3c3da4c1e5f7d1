"""A table: rows by columns, each cell searched, read and cited by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from research.agent.nodes.table import estimate_searches
from research.citations.numbering import number_report_answer
from research.core.records import Cell, Column, Grid, Plan, Question, Report, Row, RunOptions
from tests.fakes import Outcome, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import Bench, over, report

TABLE = RunOptions(table=True, sources=("web",))
GRID = Grid(
    title="Towers",
    rows=(Row(id="r1", name="Tower A"), Row(id="r2", name="Tower B", qualifier="Oslo")),
    columns=(Column(id="c1", name="height"), Column(id="c2", name="age")),
)
PLAN = Plan(grid=GRID)


def cells(found: Report) -> dict[tuple[str, str], Cell]:
    assert found.answer
    return {(cell.row, cell.column): cell for cell in found.answer.cells}


def test_each_cell_is_searched_read_and_cited(shared: Bench) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner()
    runs = shared.open(reasoner, source)
    run = runs.start("Towers", options=TABLE, plan=PLAN)
    assert over(runs, run.id) == "done"
    asked = ["Tower A age", "Tower A height", "Tower B Oslo age", "Tower B Oslo height"]
    assert sorted(source.queries) == asked
    assert sorted(reasoner.read) == [("Tower A", ("height", "age")), ("Tower B", ("height", "age"))]
    found = report(runs, run.id)
    assert len(cells(found)) == 4 and all(cell.value for cell in cells(found).values())
    numbered = number_report_answer(found)
    assert numbered and len(numbered.sources) == 4
    assert "| **Tower A** |" in "".join(span.text for span in found.answer.spans)  # type: ignore[union-attr]


def test_a_table_is_proposed_from_a_sentence_and_waits_to_be_approved(shared: Bench) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner(["Tower A", "Tower B"])
    runs = shared.open(reasoner, source)
    run = runs.start("Compare", options=TABLE.model_copy(update={"approve": True}))
    until(lambda: report(runs, run.id).run.status == "waiting")
    assert source.queries == []
    plan = report(runs, run.id).plan
    assert plan and plan.grid and len(plan.grid.rows) == 2
    fewer = plan.grid.model_copy(update={"columns": plan.grid.columns[:1]})
    runs.approve(run.id, plan=plan.model_copy(update={"grid": fewer}))
    assert over(runs, run.id) == "done"
    assert sorted(source.queries) == ["Tower A height", "Tower B height"]


def test_a_cell_says_why_it_is_empty(shared: Bench) -> None:
    nothing, broken = Outcome(passages=()), Outcome(reason="unreachable", message="no connection")
    source = ScriptedSource(outcomes={"Tower A height": nothing, "Tower A age": broken})
    runs = shared.open(ScriptedReasoner(), source)
    run = runs.start("Towers", options=TABLE, plan=PLAN)
    assert over(runs, run.id) == "done"
    found = cells(report(runs, run.id))
    assert found["r1", "c1"].missing_reason == "not found"
    assert (found["r1", "c2"].missing_reason, found["r1", "c2"].message) == ("failed", "no connection")
    assert found["r2", "c1"].missing_reason == ""


def test_dearer_sources_are_asked_for_empty_cells_alone(shared: Bench) -> None:
    known = ScriptedSource(name="library", outcomes={"Tower A height": Outcome(passages=())})
    dear, reasoner = ScriptedSource(), ScriptedReasoner()
    runs = shared.open(reasoner, [known, dear])
    options = RunOptions(table=True, sources=("library", "web"))
    run = runs.start("Towers", options=options, plan=PLAN)
    assert over(runs, run.id) == "done"
    assert dear.queries == ["Tower A height"]
    assert ("Tower A", ("height",)) in reasoner.read and len(reasoner.read) == 3


def test_a_column_may_keep_to_some_sources(shared: Bench) -> None:
    columns = (GRID.columns[0].model_copy(update={"sources": ("library",)}), GRID.columns[1])
    known, dear = ScriptedSource(name="library"), ScriptedSource()
    runs = shared.open(ScriptedReasoner(), [known, dear])
    plan = Plan(grid=GRID.model_copy(update={"columns": columns}))
    run = runs.start("T", options=RunOptions(table=True, sources=("library", "web")), plan=plan)
    assert over(runs, run.id) == "done"
    assert "Tower A height" in known.queries
    assert not any("height" in query for query in dear.queries)


def test_another_table_pays_only_for_what_is_new_in_it(shared: Bench) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner()
    runs = shared.open(reasoner, source)
    first = runs.start("Towers", options=TABLE, plan=PLAN)
    assert over(runs, first.id) == "done"
    longer = Grid(
        rows=(
            Row(id="r1", name="Tower C"),
            *(r.model_copy(update={"id": f"{r.id}b"}) for r in GRID.rows),
        ),
        columns=(GRID.columns[1].model_copy(update={"id": "c9"}), Column(id="c2", name="width")),
    )
    source.calls.clear()
    reasoner.read.clear()
    second = runs.start("Towers", options=TABLE, plan=Plan(grid=longer), based_on=first.id)
    assert over(runs, second.id) == "done"
    new = ["Tower A width", "Tower B Oslo width", "Tower C age", "Tower C width"]
    assert sorted(source.queries) == new
    assert sorted(reasoner.read) == [
        ("Tower A", ("width",)), ("Tower B", ("width",)), ("Tower C", ("age", "width")),
    ]  # fmt: skip
    found = report(runs, second.id)
    assert len([cell for cell in cells(found).values() if cell.value]) == 6
    assert len(number_report_answer(found).sources) == 6  # type: ignore[union-attr]
    source.calls.clear()
    third = runs.start("Towers", options=TABLE, plan=Plan(grid=longer), based_on=second.id)
    assert over(runs, third.id) == "done"
    assert source.queries == []  # also what the first table had found


def test_what_is_older_than_a_date_is_looked_for_anew(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(ScriptedReasoner(), source)
    first = runs.start("Towers", options=TABLE, plan=PLAN)
    assert over(runs, first.id) == "done"
    now = datetime.now(UTC)
    source.calls.clear()
    recent = GRID.model_copy(update={"fresh_after": datetime(2000, 1, 1, tzinfo=UTC)})
    second = runs.start("Towers", options=TABLE, plan=Plan(grid=recent), based_on=first.id)
    assert over(runs, second.id) == "done" and source.queries == []
    later = GRID.model_copy(update={"fresh_after": now + timedelta(seconds=1)})
    third = runs.start("Towers", options=TABLE, plan=Plan(grid=later), based_on=second.id)
    assert over(runs, third.id) == "done" and len(source.queries) == 4


def test_a_limit_leaves_cells_empty_and_says_so(shared: Bench) -> None:
    runs = shared.open(ScriptedReasoner(), ScriptedSource())
    run = runs.start("Towers", options=TABLE.model_copy(update={"searches": 3}), plan=PLAN)
    assert over(runs, run.id) == "done"
    lacks = [cell.missing_reason for cell in cells(report(runs, run.id)).values()]
    assert lacks.count("limit") == 1 and lacks.count("") == 3


def test_the_searches_of_a_table_are_told_beforehand(shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(ScriptedReasoner(), source)
    question = Question(text="Towers", language="en")
    assert estimate_searches(GRID, question, ScriptedReasoner(), TABLE) == 4
    both = TABLE.model_copy(update={"sources": ("library", "web")})
    assert estimate_searches(GRID, question, ScriptedReasoner(), both) == 8
    rows = tuple(Row(id=f"r{n}", name=f"Tower {n}") for n in range(100))
    many = GRID.model_copy(update={"rows": rows})
    assert estimate_searches(many, question, ScriptedReasoner(), TABLE) == 200
    run = runs.start("Towers", options=TABLE, plan=PLAN)
    assert over(runs, run.id) == "done" and len(source.queries) == 4
