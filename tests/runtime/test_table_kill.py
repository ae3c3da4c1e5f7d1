"""A table whose process is killed at any moment: every cell is there in the end, and nothing is paid for twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from research.application import Application
from research.core.settings import load_settings
from tests.fakes import until
from tests.runtime.conftest import report, searched
from tests.runtime.lives import Lives, lines, live_with_a_table, tabled
from tests.servers.gemini import FakeGemini

KILLS, AT_ONCE = 10, 40
CALLS = 20 * 8 + 20  # a search for each cell, and a call for each row that reads its cells


@pytest.mark.slow
def test_a_table_that_is_killed_again_and_again_repeats_only_what_was_in_flight(
    tmp_path: Path,
) -> None:
    folder, log = tmp_path / "data", tmp_path / "log"
    moments, lives = random.Random(20261125), Lives()
    with FakeGemini(latency=0.1) as server:
        env = {
            "GEMINI_API_KEY": "sentinel", "GOOGLE_GEMINI_BASE_URL": server.base_url,
            "SIGHTLINE_MODEL_CONCURRENCY": str(AT_ONCE),
        }  # fmt: skip
        desk = Application(load_settings(env, data_dir=tmp_path / "other"))
        assert tabled(desk, "undisturbed") == "done"
        expected = report(desk.runs, "undisturbed")
        desk.close()
        assert len(server.log) == CALLS
        server.log.clear()
        try:
            for _ in range(KILLS):
                wanted = len(server.log) + moments.randint(1, CALLS // 12)
                life = lives.begin(live_with_a_table, env, folder, log, "one")
                until(lambda wanted=wanted: len(server.log) >= wanted or lines(log))
                time.sleep(moments.uniform(0, 0.1))
                lives.kill(life)
                until(lambda: all(call.ended for call in tuple(server.log)))
                known = Application(load_settings(env, data_dir=folder))
                kept = {q for q, (_, finished) in searched(known.runs, "one").items() if finished}
                read = len(known.runs.store.load_step_results("one"))
                known.close()
                before = len(server.log)
            own = Application(load_settings(env, data_dir=folder))
            assert tabled(own, "one") == "done"
            again = [call.prompt for call in list(server.log)[before:]]
            assert not [query for query in kept if any(query == prompt for prompt in again)]
            assert len(again) <= CALLS - len(kept) - read // 8
            found = report(own.runs, "one")
            counts = searched(own.runs, "one")
            own.close()
        finally:
            lives.close()
    assert {finished for _, finished in counts.values()} == {1}
    assert len(counts) == 20 * 8
    assert found.answer and expected.answer
    cells = [(c.row, c.column, c.readings) for c in found.answer.cells]
    assert sorted(cells, key=lambda c: c[:2]) == sorted(
        [(c.row, c.column, c.readings) for c in expected.answer.cells], key=lambda c: c[:2]
    )
    repeated = sum(n - 1 for n in Counter(call.prompt for call in server.log).values())
    assert repeated <= KILLS * AT_ONCE
