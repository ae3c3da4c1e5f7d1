"""What benchmarks say of the machine, and that no limit of ours is measured in place of the program."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from research.core.settings import Settings
from tests.benchmarks import __main__ as command
from tests.benchmarks import crowd, models, reports, runs, sessions
from tests.benchmarks.figures import Others, Unreachable, at_once
from tests.benchmarks.growth import exponent, named
from tests.tables import each_row


@pytest.mark.slow
@each_row("module", [crowd, models, reports, runs, sessions])
def test_runs_that_are_measured_at_once_wait_for_no_turn(module: ModuleType) -> None:
    with closing(module.figures()) as figures:
        first = next(figures)
    most = getattr(module, "MOST", module.MANY)
    assert (first.name, first.measured) == ("runs at once", most)
    assert "SIGHTLINE_MAX_RUNS_EACH" in first.note


@each_row(
    ("limits", "name"),
    [
        ({}, "SIGHTLINE_MAX_RUNS_EACH is 20"),
        ({"max_runs": 10, "max_runs_per_owner": 0}, "SIGHTLINE_MAX_RUNS is 10"),
        ({"max_runs_per_owner": 0, "model_concurrency": 149}, "SIGHTLINE_MODEL_CONCURRENCY is 149"),
        ({"max_runs_per_owner": 0, "requests_per_minute": 60}, "SIGHTLINE_REQUESTS_PER_MINUTE is 60"),
    ],
)
def test_a_limit_that_makes_a_target_unreachable_is_an_error(limits: dict[str, Any], name: str) -> None:
    with pytest.raises(Unreachable, match=name):
        at_once(50, Settings(data_dir=Path(), **limits), calls=150)


def test_a_limit_of_nothing_is_none() -> None:
    assert "SIGHTLINE_MAX_RUNS off" in at_once(50, Settings(data_dir=Path(), max_runs=0, max_runs_per_owner=0)).note


def test_each_benchmark_tells_the_machine_and_its_load(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "places"])
    assert command.main() == 0
    assert re.search(r"places \(\d+ cores, Python [\d.]+, load average [\d.]+\)", capsys.readouterr().out)


def test_it_is_told_how_busy_others_kept_the_machine() -> None:
    assert re.fullmatch(r"others took -?\d+\.\d cores", str(Others()))


@each_row(
    ("power", "name"),
    [(0, "constant"), (0.5, "less than linear"), (1, "linear"), (2, "worse than linear")],
)
def test_a_growth_is_named_by_its_power(power: float, name: str) -> None:
    found = exponent({size: 3.0 * size**power for size in (1, 20, 100)})
    assert found == pytest.approx(power, abs=1e-9)
    assert named(found) == name
