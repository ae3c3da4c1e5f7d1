"""What a map of many places costs: what is sent to its frame, and the server's time for each rerun.

The time is that of `draw` as a page calls it, the list beside the map included, after a first call.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.shared.place_map import MapState
from research import Place, RecordedPlace, close_application
from tests.benchmarks.figures import Figure

SIZES = (200, 1000, 10_000)
RERUNS = 5
HTML_TARGET = 1.5  # MB
TIME_TARGET = 0.5  # seconds


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SIGHTLINE_DATA_DIR"] = str(Path(folder) / "data")
        close_application()
        try:
            for size in SIZES:
                yield from _measured(size)
        finally:
            close_application()
            del os.environ["SIGHTLINE_DATA_DIR"]


def _measured(size: int) -> Iterator[Figure]:
    page = AppTest.from_function(_page, default_timeout=60)
    page.session_state.seen = sightings(size)
    page.session_state.lang = "zh"
    times = []
    for _ in range(RERUNS + 1):
        selected_id = f"p{len(times)}"
        page.session_state.on_map_bench = MapState(selected_id=selected_id, selected_ms=1, changed_ms=1)
        page.run()
        if page.exception:
            raise RuntimeError(page.exception[0].message)
        times.append(page.session_state.seconds)
    told = json.loads(page.get("component_instance")[0].proto.json_args)
    sent = sum(len((told[part] or "").encode()) for part in ("script", "header", "html", "feature_group"))
    listed = len(page.get("bidi_component")[0].proto.json.encode())
    name = f"{size:,} places"
    last = size == SIZES[-1]
    yield Figure(f"{name}: HTML of the map", sent / 1e6, "MB", HTML_TARGET if last else None,
                 note=f"and {listed / 1e6:.2f} MB for the list")  # fmt: skip
    yield Figure(f"{name}: server time of a rerun, median", statistics.median(times[1:]), "s",
                 TIME_TARGET if last else None, note=f"{max(times[1:]):.2f} s at most")  # fmt: skip


def _page() -> None:
    import time

    import streamlit as st

    from pages.shared import place_map as maps

    started = time.perf_counter()
    maps.draw(st.session_state.seen, key="bench", has_checkboxes=True)
    st.session_state.seconds = time.perf_counter() - started


def sightings(size: int) -> list[RecordedPlace]:
    """Places strewn over Beijing, with all that Amap would say of them."""
    made = random.Random(20)
    now = datetime(2026, 11, 22, tzinfo=UTC)
    return [
        RecordedPlace(
            place=Place(
                id=f"p{n}",
                name=f"王府井示例餐厅（第{n}分店）",
                lng=round(made.gauss(116.4, 0.1), 6),
                lat=round(made.gauss(39.9, 0.08), 6),
                provider="amap",
                category=made.choice(("food", "sight", "family", "shop", "culture")),
                type="餐饮服务;中餐厅;北京菜",
                address=f"王府井大街{n}号",
                district="东城区",
                city="北京市",
                distance=made.randint(10, 9000),
                rating=round(made.uniform(3, 5), 1),
                cost=float(made.randint(20, 300)),
                hours="09:00-21:00",
                phone="010-65250000",
            ),
            url=f"https://www.amap.com/place/B{n:09}",
            retrieved=now,
        )
        for n in range(size)
    ]
