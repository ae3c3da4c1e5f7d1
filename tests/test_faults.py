"""A run ends well however its model service fails: the fault matrix, row by row.

Over Gemini every row is run at every stage, over the other wires at the last stage and at all at once;
`python -m tests.faults` runs the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.faults import COLUMNS, FAULTS, WIRES, Cell, Fault, Matrix, Wire, rows

Key = tuple[str, str]
COMMON = ("answer", "everything")
ROWS = [(wire, fault) for wire in WIRES for fault in (rows(wire) if wire.searches else rows(wire, COMMON))]


@pytest.fixture(scope="module")
def running(request: pytest.FixtureRequest) -> Iterator[dict[Key, Future[list[Cell]]]]:
    """The rows whose tests are to run, all begun."""
    specs = [getattr(i, "callspec", None) for i in request.session.items if i.path == request.path]
    wanted = {(s.params["wire"].name, s.params["fault"].name) for s in specs if s}
    with Matrix() as whole, Matrix(3) as parts:  # the others wait more than they work
        yield {
            (wire.name, fault.name): (whole if wire.searches else parts).row(wire, fault)
            for wire, fault in ROWS
            if (wire.name, fault.name) in wanted
        }


@pytest.mark.slow
@pytest.mark.parametrize(("wire", "fault"), ROWS, ids=[f"{wire.name}-{fault.name}" for wire, fault in ROWS])
def test_a_run_ends_well_whatever_stage_a_fault_strikes(
    wire: Wire, fault: Fault, running: dict[Key, Future[list[Cell]]]
) -> None:
    cells = running[wire.name, fault.name].result(120)
    assert [cell.column for cell in cells] == [c.name for c in COLUMNS if c.name in fault.columns]
    assert {cell.column: cell.problems for cell in cells if cell.problems} == {}


def test_every_fault_has_a_name_of_its_own_and_strikes_over_some_wire() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert {fault.name for wire in WIRES for fault in rows(wire)} == {f.name for f in FAULTS}
