"""How the time that something takes grows with the size of what it is given."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

GROWN = 16


def assert_linear(work: Callable[[int], Callable[[], object]], small: int) -> None:
    """What `work(size)` gives is timed, for a small size and one 16 times as large. In proportion it
    takes 16 times as long, with the square 256 times: half-way between, by ratio, the test fails.
    Time is that of the processor, the least of three where it is short, so that what else runs on
    the machine would have to slow it down fourfold, from one moment to the next, to fail a test.
    """
    _seconds(work(small))  # loads what is loaded once
    short = min(_seconds(work(small)) for _ in range(3))
    long = _seconds(work(GROWN * small))
    assert long < 4 * GROWN * short + 0.25, f"{long:.2f} s, {long / short:.0f} times those of a {GROWN}th"


def _seconds(work: Callable[[], object]) -> float:
    collecting = gc.isenabled()
    gc.disable()  # all that other tests have left behind would be looked through as well
    try:
        began = time.process_time()
        work()
        return time.process_time() - began
    finally:
        if collecting:
            gc.enable()
