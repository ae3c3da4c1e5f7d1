"""Tables without a model, beside what is right for each cell by a reader who did not know the program.

`python -m tests.gold_tables` prints, for each table of `gold/`, how many cells are filled and how many of these
are right, in the half of the rows that was looked at while the rules were made and in the other (of `headings_…`
nothing was looked at), beside a plain baseline: the first value of the column's type in the sentences of the best passage. `--cells` shows the cells of the half that
may be looked at.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from research.agent.nodes.table import cell_part_id
from research.application import Application
from research.citations.numbering import number_report_answer
from research.core.records import Cell, CellValue, Column, Plan, Report, Row, RunOptions
from research.core.settings import load_settings
from research.core.text.quantities import find_measures
from research.core.text.sentences import split_sentences
from research.tables.formatting import format_cell
from research.tables.spec import describe_table
from research.tables.spec import load_table_spec as spec
from research.tables.values import date_value, number_value
from tests.servers.world import FakeWorld, entity, statement

FOLDER = Path(__file__).with_name("tables") / "gold"
TABLES = ("china", "world", "companies", "sights", "places", "headings_zh", "headings_en")


def answers(name: str) -> dict[tuple[str, str], dict[str, Any]]:
    lines = (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return {(one["row"], one["column"]): one for one in map(json.loads, lines)}


def world() -> FakeWorld:
    """The open sources, with the articles and statements of the table of the world."""
    known = json.loads((FOLDER / "wikidata.json").read_text(encoding="utf-8"))
    made = {}
    for id_, item in known.items():
        claims: dict[str, list[dict[str, Any]]] = {}
        for property_, value, more in item.get("claims", []):
            claims.setdefault(property_, []).append(statement(property_, value, **more))
        made[id_] = entity(id_, item["labels"], aliases=item.get("aliases", {}), claims=claims)
    articles = json.loads((FOLDER / "wikipedia.json").read_text(encoding="utf-8"))
    return FakeWorld(articles=articles, entities=made)


def filled(name: str, folder: Path) -> Report:
    """The table as a run fills it in, with no key."""
    with ExitStack() as open_:
        env: dict[str, str] = {}
        if name == "world":
            env = open_.enter_context(world()).settings | {"SIGHTLINE_OPEN_SOURCES": "on"}
        grid, given = spec(FOLDER / f"{name}.toml")
        desk = Application(load_settings(env | {"SIGHTLINE_STARTS_PER_MINUTE": "0"}, data_dir=folder))
        open_.callback(desk.close)
        if name == "companies":
            files = sorted((FOLDER / name).glob("*.md"))
            list(desk.library.add_files((file.name, file.read_bytes()) for file in files))
        options = RunOptions.model_validate({"table": True, **given})
        run = desk.runs.start(describe_table(grid), options=options, plan=Plan(grid=grid))
        for _ in desk.runs.follow(run.id):
            pass
        report = desk.runs.report(run.id)
        assert report and report.run.status == "done" and report.answer, run.id
        return report


def right(value: CellValue, column: Column, wanted: Sequence[Any]) -> bool:
    match column.type:
        case "number":
            return any(value.number is not None and abs(value.number - one) <= abs(one) * 1e-6 for one in wanted)
        case "date":
            return format_cell(value, "en") in [str(one) for one in wanted]
        case "yes or no":
            return value.yes in wanted
        case "choice":
            return value.choice in wanted
    return any(str(one).casefold() in value.text.casefold() for one in wanted)


def baseline(report: Report, row: Row, column: Column) -> CellValue | None:
    """The first value of its type in the sentences of the best passage that was found for a cell."""
    part = cell_part_id(row, column)
    for finding in report.findings:
        if finding.task.part != part or not finding.evidence or finding.rows:
            continue
        text = finding.evidence[0].passages[0].text
        for start, end in split_sentences(text):
            if value := _first(text[start:end], column):
                return value
        return None
    return None


def _first(text: str, column: Column) -> CellValue | None:
    if column.type not in ("number", "date"):
        return CellValue(type=column.type, text=text, yes=True)
    for measure in find_measures(text):
        if column.type == "number" and not measure.is_date:
            return number_value(measure, text)
        if column.type == "date" and measure.is_date and measure.date_parts[0]:
            return date_value(measure, text)
    return None


def counted(name: str, report: Report, half: str, show: bool = False) -> dict[str, int]:
    grid, gold = report.plan.grid, answers(name)  # type: ignore[union-attr]
    assert grid and report.answer
    cells = {(cell.row, cell.column): cell for cell in report.answer.cells}
    numbers = number_report_answer(report)
    counts: Counter[str] = Counter()
    for row in grid.rows:
        for column in grid.columns:
            told = gold[row.name, column.name]
            if told["half"] != half:
                continue
            cell: Cell = cells[row.id, column.id]
            counts["cells"] += 1
            counts["answerable"] += bool(told["answers"])
            value = cell.value
            plain = baseline(report, row, column)
            counts["baseline filled"] += plain is not None
            counts["baseline right"] += bool(plain and right(plain, column, told["answers"]))
            if value is None:
                counts["empty, rightly"] += not told["answers"]
                if show and told["answers"]:
                    print(f"  - {row.name} | {column.name}: empty ({cell.missing_reason}), {told['answers']}")
                continue
            counts["filled"] += 1
            counts["uncited"] += not cell.readings[0].references
            good = right(value, column, told["answers"])
            counts["right"] += good
            if show and not good:
                said = format_cell(value, "en")
                print(f"  x {row.name} | {column.name}: {said!r}, {told['answers']}: {cell.readings[0].quote[:160]}")
    assert numbers is not None
    return dict(counts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", action="store_true", help="what is wrong or empty, in the half that may be seen")
    parser.add_argument("names", nargs="*", default=TABLES)
    args = parser.parse_args()
    for name in args.names:
        with tempfile.TemporaryDirectory() as folder:
            report = filled(name, Path(folder))
        for half in sorted({one["half"] for one in answers(name).values()}):
            found = counted(name, report, half, args.cells and half == "seen")
            print(f"{name:10} {half:7}", _line(found))


def _line(found: dict[str, int]) -> str:
    filled_, right_ = found.get("filled", 0), found.get("right", 0)
    share = f"{right_ / filled_:.2f}" if filled_ else "-"
    return (
        f"{found['cells']} cells, {found['answerable']} answerable; filled {filled_} "
        f"({filled_ / found['cells']:.2f}), right {right_} ({share} of the filled); baseline "
        f"{found.get('baseline right', 0)} of {found.get('baseline filled', 0)}"
    )


if __name__ == "__main__":
    main()
