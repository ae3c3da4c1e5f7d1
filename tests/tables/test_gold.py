"""Tables without a key, held to what a reader found beforehand in the same sources: see `tests/gold_tables.py`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from research.citations.numbering import number_report_answer
from research.citations.support import check_support
from tests.gold_tables import counted, filled

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["china", "world", "sights", "places"])
def test_most_cells_are_filled_nearly_all_of_them_rightly_and_each_is_cited(name: str, tmp_path: Path) -> None:
    report = filled(name, tmp_path)
    found = Counter(counted(name, report, "seen")) + Counter(counted(name, report, "unseen"))
    assert found["filled"] >= 0.6 * found["answerable"]
    assert found["right"] >= 0.9 * found["filled"]
    assert found["right"] > found["baseline right"]
    assert not found["uncited"]
    if name in ("china", "world"):  # nearly all of their cells can be answered
        assert found["right"] >= 0.57 * found["cells"]
    answer = number_report_answer(report)
    assert answer and report.answer and not check_support(answer).sentences  # each cell says how sure it is
    assert sum(span.kind == "notice" for span in report.answer.spans) == 1
