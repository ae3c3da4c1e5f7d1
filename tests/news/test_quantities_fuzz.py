"""Numbers in other scripts and without end are read or left, never an error."""

from __future__ import annotations

import pytest

from research.news.quantities import quantities


@pytest.mark.parametrize("text", ["前１月", "前١月", "٣٠ people killed", "9" * 500 + "%", "三" * 300 + "人", "q٣"])  # fmt: skip
def test_odd_digits_are_no_error(text: str) -> None:
    quantities(text)
