"""Long work in a thread of its own, with a progress bar on the page."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import streamlit as st

POLL_SECONDS = 0.2  # between updates of the bar
Result = TypeVar("Result")
Progress = TypeVar("Progress", int, float)


def run_with_progress(
    work: Callable[[Callable[[Progress], None]], Result],
    initial_progress: Progress,
    describe: Callable[[Progress], tuple[float, str]],
) -> Result:
    """Run work in a thread, draw its progress, and return its result.

    Leaving the page meanwhile does not stop the work.

    Args:
        work: Function that does the work; it reports progress by calling its argument.
        initial_progress: Progress before the first report.
        describe: Converts progress to a share from 0 to 1 and the text of the bar.

    Raises:
        Exception: whatever `work` raises.
    """
    latest = [initial_progress]
    with ThreadPoolExecutor(1, "sightline-working") as pool:  # exit waits for the thread
        future = pool.submit(work, lambda so_far: latest.__setitem__(0, so_far))
        bar = st.empty()
        while not future.done():
            share, text = describe(latest[0])
            bar.progress(min(max(share, 0.0), 1.0), text)
            wait([future], POLL_SECONDS)
        bar.empty()
        return future.result()
