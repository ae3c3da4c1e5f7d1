"""A run ends well however its model service fails: the fault matrix, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from tests.faults import COLUMNS, FAULTS, Cell, Fault, Matrix

Rows = dict[str, Future[list[Cell]]]


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest) -> Iterator[Rows]:
    """The rows whose tests are to run, all begun."""
    specs = [getattr(i, "callspec", None) for i in request.session.items if i.path == request.path]
    wanted = {spec.params["fault"].name for spec in specs if spec}
    with Matrix() as matrix:
        yield {fault.name: matrix.row(fault) for fault in FAULTS if fault.name in wanted}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_run_ends_well_whatever_stage_a_fault_strikes(fault: Fault, rows: Rows) -> None:
    cells = rows[fault.name].result(120)
    assert [cell.column for cell in cells] == [c.name for c in COLUMNS if c.name in fault.columns]
    assert {cell.column: cell.problems for cell in cells if cell.problems} == {}


def test_every_fault_has_a_name_of_its_own() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
