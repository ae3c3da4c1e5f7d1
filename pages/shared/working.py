"""Long work in a thread of its own, while the page tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

import streamlit as st

LOOK = 0.2  # seconds between two looks
Made = TypeVar("Made")
Far = TypeVar("Far", int, float)


def worked(
    act: Callable[[Callable[[Far], None]], Made],
    start: Far,
    told: Callable[[Far], tuple[float, str]],
) -> Made:
    """What some work comes to. It is given what it says how far it is to; `told` makes of that what a
    bar shows. Who leaves the page meanwhile does not end it."""
    far = [start]
    with ThreadPoolExecutor(1, "sightline-working") as pool:  # waits for it, whatever happens here
        making = pool.submit(act, lambda so_far: far.__setitem__(0, so_far))
        bar = st.empty()
        while not making.done():
            part, words = told(far[0])
            bar.progress(min(max(part, 0.0), 1.0), words)
            wait([making], LOOK)
        bar.empty()
        return making.result()
