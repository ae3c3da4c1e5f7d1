"""Saved states of reports: loading them repeats nothing, and what is no state is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from research.citations.numbering import number_report_answer
from research.core.records import RunOptions, RunStatus
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.report_states import StateError, dump_state, read_state, restore_run
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import Bench, get, over, report

TOPIC = "The tower in the news"
REPORT = RunOptions(sections=5, reflections=2, sources=("web",))
SOURCES = ("web", "library")


def reasoner() -> ScriptedReasoner:
    return ScriptedReasoner(["a", "b"], lambda round_: [f"more {round_}"])


def kept(runs: LocalRunManager, run_id: str, folder: Path) -> Path:
    """A file with the state of a run as it is now."""
    path = folder / "state.json"
    path.write_text(dump_state(runs.store, get(runs, run_id)), encoding="utf-8")
    return path


@pytest.fixture
def half(shared: Bench, tmp_path: Path) -> Path:
    """The state of a report that was cut off: the second section waits for its second search."""
    source = ScriptedSource(outcomes={"s2 more 1": HANGS})
    first = reasoner()
    runs = shared.open(first, source)
    run = runs.start(TOPIC, options=REPORT, owner="ann")
    until(lambda: "s2 more 1" in source.queries and len(first.written) == 4)
    runs.stop(run.id, owner="ann")
    assert over(runs, run.id, owner="ann") == "stopped"
    path = tmp_path / "state.json"
    path.write_text(dump_state(runs.store, get(runs, run.id, "ann")), encoding="utf-8")
    runs.close()
    return path


@pytest.fixture
def done(bench: Bench, tmp_path: Path) -> tuple[Path, LocalRunManager, str]:
    runs = bench.open(reasoner())
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    return kept(runs, run.id, tmp_path), runs, run.id


# Going on


def test_a_report_goes_on_elsewhere_and_repeats_neither_a_search_nor_a_step(half: Path, tmp_path: Path) -> None:
    other = Bench(tmp_path / "elsewhere")
    source, second = ScriptedSource(), reasoner()
    try:
        runs = other.open(second, source)
        run = restore_run(runs.store, read_state(half, SOURCES), "local")
        assert (run.status, run.owner, run.id) == ("interrupted", "local", identity_of(half))
        assert runs.resume(run.id)
        assert over(runs, run.id) == "done"
        assert sorted(source.queries) == ["s2 more 1", "s2 more 2"]
        assert (len(second.planned), len(second.written), len(second.reflected)) == (0, 2, 1)
        found = report(runs, run.id)
        assert len(found.findings) == 6
        numbered = number_report_answer(found)
        assert numbered and len(numbered.sources) == 6
    finally:
        other.close()


def identity_of(path: Path) -> str:
    return str(json.loads(path.read_text(encoding="utf-8"))["run"]["id"])


def test_a_report_whose_id_is_taken_gets_a_new_one_and_the_other_stays(half: Path, shared: Bench) -> None:
    runs = shared.open(reasoner(), ScriptedSource())
    loaded = [restore_run(runs.store, read_state(half, SOURCES), "local") for _ in range(2)]
    ids = {identity_of(half), *(run.id for run in loaded)}
    assert len(ids) == 3
    assert get(runs, identity_of(half), "ann").status == "stopped"
    assert runs.get_run(identity_of(half), owner="local") is None
    assert len({run.conversation for run in loaded}) == 2
    for run in loaded:
        runs.resume(run.id)
        assert over(runs, run.id) == "done"


def test_the_state_of_a_finished_report_gives_it_again_without_any_work(
    done: tuple[Path, LocalRunManager, str], tmp_path: Path
) -> None:
    path, runs, run_id = done
    before = report(runs, run_id)
    other = Bench(tmp_path / "elsewhere")
    source, second = ScriptedSource(), reasoner()
    try:
        later = other.open(second, source)
        run = restore_run(later.store, read_state(path, SOURCES), "local")
        assert run.status == "done"
        again = later.resume(run.id)
        assert again and again.status == "done"
        found = report(later, run.id)
        assert (found.plan, found.findings, found.answer) == (
            before.plan,
            before.findings,
            before.answer,
        )
        assert found.run.finished == before.run.finished
        assert number_report_answer(found) == number_report_answer(before)
        assert (source.calls, second.planned, second.written) == ([], [], [])
    finally:
        other.close()


def test_a_state_names_no_owner_and_holds_all_that_was_found(half: Path) -> None:
    text = half.read_text(encoding="utf-8")
    assert "ann" not in json.dumps(json.loads(text)["run"])
    found = read_state(half, SOURCES)
    assert found.run.owner == ""
    assert [f.task.query for f in found.findings] == ["a", "b", "s1 more 1", "s1 more 2"]
    for finding in found.findings:
        assert finding.evidence[0].published and finding.evidence[0].passages
    assert found.plan and len(found.notes) == 7 and found.seconds > 0


def test_what_was_used_before_counts_after_loading(bench: Bench, tmp_path: Path) -> None:
    source = ScriptedSource(outcomes={"s2 more 1": HANGS})
    runs = bench.open(reasoner(), source)
    run = runs.start(TOPIC, options=REPORT.model_copy(update={"searches": 5}))
    until(lambda: "s2 more 1" in source.queries and "s1 more 2" in [t.query for t in source.done])
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    path = kept(runs, run.id, tmp_path)
    other = Bench(tmp_path / "elsewhere")
    try:
        again = ScriptedSource()
        later = other.open(reasoner(), again)
        loaded = restore_run(later.store, read_state(path, SOURCES), "local")
        later.resume(loaded.id)
        assert over(later, loaded.id) == "done"
        assert again.queries == ["s2 more 1"]
    finally:
        other.close()


def test_a_state_from_before_there_was_a_plan_begins_at_the_beginning(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner())
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    told = json.loads(kept(runs, run.id, tmp_path).read_text(encoding="utf-8"))
    told |= {"plan": None, "findings": [], "notes": {}, "answer": None, "usage": []}
    told["run"]["status"] = "running"
    (path := tmp_path / "early.json").write_text(json.dumps(told), encoding="utf-8")
    loaded = restore_run(runs.store, read_state(path, SOURCES), "local")
    runs.resume(loaded.id)
    assert over(runs, loaded.id) == "done"
    assert len(report(runs, loaded.id).findings) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("was", "now"),
    [("queued", "interrupted"), ("running", "interrupted"), ("stopped", "interrupted"),
     ("interrupted", "interrupted"), ("failed", "failed"), ("waiting", "waiting")],
)  # fmt: skip
def test_what_becomes_of_a_run_that_was_not_over(was: RunStatus, now: RunStatus, half: Path, shared: Bench) -> None:
    told = json.loads(half.read_text(encoding="utf-8"))
    told["run"]["status"] = was
    half.write_text(json.dumps(told), encoding="utf-8")
    runs = shared.open(reasoner(), ScriptedSource())
    run = restore_run(runs.store, read_state(half, SOURCES), "local")
    assert get(runs, run.id).status == now
    (runs.approve if now == "waiting" else runs.resume)(run.id)
    assert over(runs, run.id) == "done"


# What is no state


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    told = json.loads(path.read_text(encoding="utf-8"))
    change(told)
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "it is damaged, or no JSON"),
        (b"{", "it is damaged, or no JSON"),
        (b"\xff\xfe\x00", "it is damaged, or no JSON"),
        (b"[" * 100_000, "it is damaged, or no JSON"),
        (b"[]", "it is of another kind"),
        (b"3", "it is of another kind"),
        (b'{"query": "x", "paragraphs": []}', "it is of another kind"),
        (b'{"format": "sightline report state", "version": 2}', "by a newer version of Sightline"),
        (b'{"format": "sightline report state", "version": 1}', "saved: Field required"),
    ],
)
def test_a_file_that_is_no_state_is_refused_in_one_line(data: bytes, said: str, tmp_path: Path) -> None:
    (path := tmp_path / "x.json").write_bytes(data)
    with pytest.raises(StateError) as caught:
        read_state(path, SOURCES)
    message = str(caught.value)
    assert message.startswith(f"{path} is no saved state of a report: ") and said in message
    assert "\n" not in message and len(message) < len(str(path)) + 250


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t: t["run"].update(status="asleep"), "run.status"),
        (lambda t: t["run"].update(question="  "), "its topic cannot be researched"),
        (lambda t: t["run"]["options"].update(sections=0), "its run is no report"),
        (lambda t: t["plan"].update(outline=False), "its run is no report"),
        (lambda t: t["run"]["options"].update(sources=["bing"]), "'bing', which is none of web"),
        (lambda t: t["plan"]["tasks"][0].update(source="bing"), "'bing', which is none of web"),
        (lambda t: t["findings"][0]["task"].update(source="bing"), "'bing', which is none"),
        (lambda t: t["run"].update(status="done"), "the report is missing"),
        (lambda t: t["notes"].update({"s1 text 0": {"part": 3}}), "part"),
        (lambda t: t["notes"].update({"s1 text 0": "words"}), "notes.s1 text 0"),
        (lambda t: t["findings"][0]["evidence"][0].update(retrieved="2026-01-01T00:00:00"), "time zone"),
        (lambda t: t.update(seconds=-1), "seconds"),
        (lambda t: t.update(seconds="1e999"), "seconds"),
        (lambda t: t.update(more=1), "more: "),
    ],
)  # fmt: skip
def test_a_state_that_was_tampered_with_is_refused_and_leaves_no_run(
    change: Callable[[dict[str, Any]], object], said: str, half: Path, shared: Bench
) -> None:
    changed(half, change)
    runs = shared.open(reasoner(), ScriptedSource())
    with pytest.raises(StateError, match="is no saved state of a report: ") as caught:
        restore_run(runs.store, read_state(half, SOURCES), "local")
    assert said in str(caught.value)
    assert runs.recent_runs() == []


def test_an_id_that_is_none_is_replaced(half: Path, shared: Bench) -> None:
    changed(half, lambda told: told["run"].update(id="../../x", conversation="of somebody"))
    runs = shared.open(reasoner(), ScriptedSource())
    run = restore_run(runs.store, read_state(half, SOURCES), "local")
    assert len(run.id) == 32 and run.conversation != "of somebody"


def test_a_file_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_state(tmp_path / "none.json", SOURCES)
