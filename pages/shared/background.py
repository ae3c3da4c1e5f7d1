"""Long work in a thread of its own, while the page tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import streamlit as st

POLL_SECONDS = 0.2  # seconds between two looks
Result = TypeVar("Result")
Progress = TypeVar("Progress", int, float)


def run_with_progress(
    work: Callable[[Callable[[Progress], None]], Result],
    initial_progress: Progress,
    describe: Callable[[Progress], tuple[float, str]],
) -> Result:
    """What some work comes to. It is given what it says how far it is to; `told` makes of that what a
    bar shows. Who leaves the page meanwhile does not end it."""
    far = [initial_progress]
    with ThreadPoolExecutor(1, "sightline-working") as pool:  # waits for it, whatever happens here
        making = pool.submit(work, lambda so_far: far.__setitem__(0, so_far))
        bar = st.empty()
        while not making.done():
            part, words = describe(far[0])
            bar.progress(min(max(part, 0.0), 1.0), words)
            wait([making], POLL_SECONDS)
        bar.empty()
        return making.result()
