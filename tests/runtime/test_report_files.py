"""Reports as files: their names, what is in them, and what becomes of a folder that cannot be used."""

from __future__ import annotations

import json
import os
import re
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from research.core.events import Event, ReportSaved
from research.core.records import RunOptions
from research.runtime.local_run_manager import LocalRunManager
from research.runtime.report_files import (
    MAX_NAME_BYTES,
    MAX_NAME_CHARS,
    claim_path,
    file_name_part,
    time_name_part,
    write_text,
)
from research.storage.history_index import HistoryQuery
from tests.fakes import HANGS, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import Bench, over, report
from tests.tables import each_row

TOPIC = "The tower / in the news: 塔?"
REPORT = RunOptions(sections=5, reflections=1, sources=("web",))
RESERVED = {"CON", "PRN", "AUX", "NUL", *(f"{n}{i}" for n in ("COM", "LPT") for i in range(10))}


def saved(runs: LocalRunManager, run_id: str) -> list[Event]:
    return [event for event in runs.events(run_id) if isinstance(event.data, ReportSaved)]


def reasoner() -> ScriptedReasoner:
    return ScriptedReasoner(["a", "b"], lambda round_: [f"more {round_}"])


# Names


@each_row(
    ("topic", "name"),
    [
        ("2025年AI芯片市场动向", "2025年AI芯片市场动向"),
        ("../../etc/passwd", "etc_passwd"),
        ("a/b\\c:d", "a_b_c_d"),
        ("CON", "CON"),
        ("nul.txt", "nul_txt"),
        ("  What   is\tnew?\r\n", "What_is_new"),
        ("-rf *", "rf"),
        ("🏛️🔥", "topic"),
        ("塔🏛️楼", "塔_楼"),
        ("...", "topic"),
        ("", "topic"),
        ("a\x00b\x1b[31mc\u202egnp.exe", "a_b_31mc_gnp_exe"),
        ("half \ud83d pair", "half_pair"),
        ("e\u0301te\u0301", "\u00e9t\u00e9"),
        ("$(touch x) `y` \"z\" 'w' <v> |u| %TMP%", "touch_x_y_z_w_v_u_TMP"),
        ("新" * 300, "新" * 60),
        ("𠮷" * 300, "𠮷" * 45),
        ("word " * 100, "_".join(["word"] * 12)),
    ],
)
def test_a_topic_becomes_a_harmless_part_of_a_name(topic: str, name: str) -> None:
    made = file_name_part(topic)
    assert made == name
    assert len(made) <= MAX_NAME_CHARS and len(made.encode()) <= MAX_NAME_BYTES


@pytest.mark.parametrize("topic", ["CON", "../../etc/passwd", "新" * 300, "𠮷" * 300, "🏛️", "a" * 999, "..", "~"])  # fmt: skip
def test_a_file_of_any_topic_lies_in_the_folder_and_has_a_name_for_every_system(topic: str, tmp_path: Path) -> None:
    name = f"deep_search_report_{file_name_part(topic)}_{time_name_part(datetime.now(UTC))}"
    made = [claim_path(tmp_path, name, "md") for _ in range(3)]
    assert len(set(made)) == 3
    for path in made:
        assert path.parent == tmp_path and path.is_file()
        assert path.name.partition(".")[0].upper() not in RESERVED
        assert not re.search(r'[<>:"/\\|?*\x00-\x1f]|[. ]$', path.name)
        assert len(path.name.encode()) < 255


def test_a_time_in_a_name_is_utc() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=8)))
    assert time_name_part(moment) == "20260101_190405"


def test_those_who_want_one_name_at_once_get_a_file_each(tmp_path: Path) -> None:
    made: list[Path] = []

    def claim() -> None:
        made.extend(claim_path(tmp_path / "new", "same", "md") for _ in range(20))

    threads = [threading.Thread(target=claim) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == len(made) == 80


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "x.md").symlink_to(victim)
    assert claim_path(tmp_path, "x", "md").name == "x_2.md"
    write_text(tmp_path / "x.md", "ours")
    assert victim.read_text() == "mine"


def test_a_file_that_cannot_be_written_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_text(tmp_path / "kept", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


# Saving


def test_every_report_is_saved_where_that_is_set(shared: Bench, tmp_path: Path) -> None:
    out = tmp_path / "made" / "reports"
    runs = shared.open(reasoner(), output_dir=out)
    first, second = (runs.start(TOPIC, options=REPORT) for _ in range(2))
    assert (over(runs, first.id), over(runs, second.id)) == ("done", "done")
    runs.resources.report_files.flush()
    reports = sorted(out.glob("deep_search_report_The_tower_in_the_news_塔_*.md"))
    assert len(reports) == 2
    assert len(list(out.iterdir())) == 4
    for run in (first, second):
        (event,) = saved(runs, run.id)
        text = Path(event.data.report).read_text(encoding="utf-8")
        assert text.startswith("# ") and "About a" in text and "https://example.org/web/" in text
        answer = report(runs, run.id).answer
        assert answer and f"_{time_name_part(answer.created)}" in event.data.report


def test_with_the_setting_off_nothing_is_saved(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner(), output_dir=None)
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    runs.resources.report_files.flush()
    assert saved(runs, run.id) == []
    assert {path.name for path in tmp_path.iterdir()} == {"data"}


def reports_of(runs: LocalRunManager, owner: str) -> list[Path]:
    """Two reports of an owner in one conversation; the folder of each file."""
    first = runs.start(TOPIC, options=REPORT, owner=owner)
    assert over(runs, first.id, owner=owner) == "done"
    second = runs.start(TOPIC, options=REPORT, owner=owner, follows=first.id)
    assert over(runs, second.id, owner=owner) == "done"
    runs.resources.report_files.flush()
    events = [*runs.events(first.id, owner=owner), *runs.events(second.id, owner=owner)]
    return [Path(event.data.report) for event in events if isinstance(event.data, ReportSaved)]


def test_reports_in_the_data_folder_are_private_and_each_owner_has_a_folder(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner())
    usual = tmp_path / "data" / "query_engine_streamlit_reports"
    owners = ("local", "user-ann", "../../user-bob")
    homes = [{path.parent for path in reports_of(runs, owner)} for owner in owners]
    assert homes[0] == {usual} and len(set.union(*homes)) == 3
    assert all(home == usual or home.parent == usual for home in set.union(*homes))
    for path in (usual, *usual.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0
    assert len(list(usual.rglob("state_*.json"))) == 6


def test_files_in_the_data_folder_are_deleted_with_their_runs_alone(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner())
    gone, kept = (reports_of(runs, "user-ann") for _ in range(2))
    other = reports_of(runs, "user-bob")
    (one, _) = runs.search_history(HistoryQuery(), owner="user-ann").entries
    runs.delete_conversation(one.id, owner="user-ann")
    left = [path for path in (*gone, *kept) if path.exists()]
    assert left in (gone, kept) and len(list(left[0].parent.iterdir())) == 4
    assert runs.resources.report_files.delete_owner_files("user-ann") == 2
    assert not left[0].parent.exists()
    assert all(path.exists() for path in other)


def test_files_in_any_other_folder_stay(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner(), output_dir=tmp_path / "out")
    saved = reports_of(runs, "local")
    (one,) = runs.search_history(HistoryQuery()).entries
    runs.delete_conversation(one.id)
    assert runs.resources.report_files.delete_owner_files("local") == 0
    assert all(path.exists() for path in saved)


def test_what_a_run_claims_to_have_saved_elsewhere_is_not_deleted(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner())
    (saved, _) = reports_of(runs, "local")
    victims = [tmp_path / "victim.md", saved.parent / "notes.md", saved.parent / "x" / saved.name]
    for path in victims:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (run, _) = runs.recent_runs()
    forged = [Event(run=run.id, seq=1, time=run.created, data=ReportSaved(report=str(path))) for path in victims]
    runs.resources.report_files.delete_run_files(run, forged)
    assert all(path.exists() for path in victims)


def test_an_answer_is_no_report_and_is_not_saved(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(ScriptedReasoner(), output_dir=tmp_path / "out")
    run = runs.start(TOPIC, options=RunOptions(loops=1, sources=("web",)))
    assert over(runs, run.id) == "done"
    runs.resources.report_files.flush()
    assert not (tmp_path / "out").exists()


def test_a_run_can_have_a_folder_of_its_own(bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner(), output_dir=tmp_path / "usual")
    runs.resources.report_files.set_folder("chosen", tmp_path / "own")
    run = runs.start(TOPIC, options=REPORT, run_id="chosen")
    assert over(runs, run.id) == "done"
    runs.resources.report_files.flush()
    assert len(list((tmp_path / "own").iterdir())) == 2
    assert not (tmp_path / "usual").exists()


@pytest.mark.parametrize("states", ["on", "off"])
def test_states_are_saved_unless_that_is_turned_off(states: str, bench: Bench, tmp_path: Path) -> None:
    runs = bench.open(reasoner(), output_dir=tmp_path / "out", save_states=states)
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    runs.resources.report_files.flush()
    found = [path.suffix for path in (tmp_path / "out").iterdir()]
    assert sorted(found) == ([".json", ".md"] if states == "on" else [".md"])


@pytest.mark.parametrize("how", ["a file", "closed"])
def test_a_folder_that_cannot_be_written_is_told_and_costs_the_report_nothing(
    how: str, bench: Bench, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    if how == "a file":
        out.write_text("in the way")
    elif os.geteuid() == 0:
        pytest.skip("nothing is closed to root")
    else:
        out.mkdir(mode=0o500)
    runs = bench.open(reasoner(), output_dir=out)
    run = runs.start(TOPIC, options=REPORT)
    assert over(runs, run.id) == "done"
    answer = report(runs, run.id).answer
    assert answer and not answer.failures
    told = saved(runs, run.id)
    assert told
    for event in told:
        assert event.data.report == ""
        assert event.data.problem.startswith(f"{out} cannot be written: ")
    runs.close()
    assert out.is_file() or list(out.iterdir()) == []


def test_a_state_follows_the_report_and_is_whole_whenever_it_is_read(bench: Bench, tmp_path: Path) -> None:
    source = ScriptedSource(outcomes={"s2 more 1": HANGS})
    runs = bench.open(reasoner(), source, output_dir=tmp_path / "out")
    run = runs.start(TOPIC, options=REPORT)
    seen: list[dict[str, object]] = []

    def complete() -> bool:
        for path in (tmp_path / "out").glob("*.json"):
            text = path.read_text(encoding="utf-8")
            seen.append(json.loads(text) if text else {})
        return bool(seen and seen[-1] and len(seen[-1]["notes"]) == 5)  # type: ignore[arg-type]

    until(complete)
    last = seen[-1]
    assert (last["run"]["status"], last["answer"]) == ("running", None)  # type: ignore[index]
    steps = sorted(step.rpartition(" ")[0] for step in last["notes"])  # type: ignore[attr-defined]
    assert steps == [
        "s1 judgement 0", "s1 text 0", "s1 text 1", "s2 judgement 0", "s2 text 0",
    ]  # fmt: skip
    assert [f["task"]["query"] for f in last["findings"]] == ["a", "b", "s1 more 1"]  # type: ignore[index]
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    runs.close()
    (path,) = (tmp_path / "out").iterdir()
    assert json.loads(path.read_text(encoding="utf-8"))["run"]["status"] == "stopped"


def test_a_report_that_goes_on_in_another_process_keeps_its_state_in_the_same_file(
    bench: Bench, tmp_path: Path
) -> None:
    source = ScriptedSource(outcomes={"s2 more 1": HANGS})
    runs = bench.open(reasoner(), source, output_dir=tmp_path / "out")
    run = runs.start(TOPIC, options=REPORT)
    until(lambda: "s2 more 1" in source.queries)
    runs.close()
    (state,) = (tmp_path / "out").iterdir()
    later = bench.open(reasoner(), output_dir=tmp_path / "out")
    later.resume(run.id)
    assert over(later, run.id) == "done"
    later.close()
    assert json.loads(state.read_text(encoding="utf-8"))["run"]["status"] == "done"
    assert sorted(path.suffix for path in (tmp_path / "out").iterdir()) == [".json", ".md"]


def test_a_report_that_is_stopped_and_goes_on_keeps_its_state_in_one_file(bench: Bench, tmp_path: Path) -> None:
    source = ScriptedSource(outcomes={"s2 more 1": HANGS})
    runs = bench.open(reasoner(), source, output_dir=tmp_path / "out")
    run = runs.start(TOPIC, options=REPORT)
    until(lambda: "s2 more 1" in source.queries)
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    runs.resources.report_files.flush()
    source.outcomes.clear()
    runs.resume(run.id)
    assert over(runs, run.id) == "done"
    runs.resources.report_files.flush()
    (state,) = (tmp_path / "out").glob("*.json")
    assert json.loads(state.read_text(encoding="utf-8"))["run"]["status"] == "done"


def test_closing_writes_what_is_due(bench: Bench, tmp_path: Path) -> None:
    source = ScriptedSource(outcomes={"a": HANGS})
    runs = bench.open(reasoner(), source, output_dir=tmp_path / "out")
    runs.start(TOPIC, options=REPORT)
    until(lambda: len(source.done) == 2)
    runs.close()
    (path,) = (tmp_path / "out").iterdir()
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["run"]["status"] == "interrupted"
    assert [f["task"]["query"] for f in found["findings"]] == ["b", "s2 more 1"]
