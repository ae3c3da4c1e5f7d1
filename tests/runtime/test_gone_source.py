"""A run that goes on where a package that brought one of its sources is not installed any more."""

from __future__ import annotations

import pytest

from research.core.records import RunOptions
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, Bench, over, report


@pytest.mark.parametrize("sections", [0, 2])
def test_its_searches_are_told_as_failed_and_the_run_ends(sections: int, bench: Bench) -> None:
    gone, web = ScriptedSource("gone", HANGS), ScriptedSource("web")
    runs = bench.open(ScriptedReasoner(["a", "b"]), [gone, web])
    options = RunOptions(sources=("gone", "web"), loops=1, sections=sections, reflections=0)
    run = runs.start(QUESTION, options=options)
    until(lambda: len(gone.calls) == 2)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    runs.close()
    later = bench.open(ScriptedReasoner(["a", "b"]), ScriptedSource("web"))
    later.resume(run.id)
    assert over(later, run.id) == "done"
    told = report(later, run.id)
    assert {f.reason for f in told.findings if f.task.source == "gone"} == {"unavailable"}
    assert told.answer is not None
    assert {f.source for f in told.answer.failures} == {"gone"}
