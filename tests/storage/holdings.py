"""Everything that a data folder holds, as plain values: what a later version must find in it again.

This module is the only place in which the tests of stored data read values by the names of the public
interface: when a public name changes, it changes here, and no value does.
"""

from __future__ import annotations

import io
import json
import time
import zipfile
from datetime import UTC, datetime
from typing import Any

import research
from research import HistoryQuery, get_application

OWNERS = ("local", "ann")
SINCE = datetime(2026, 11, 1, tzinfo=UTC)
UNTIL_KILLED = "interrupted"  # the status of a run whose process was killed
SIGN_INS = (
    ("ann", "first-sign-in", datetime(2026, 11, 25, tzinfo=UTC)),
    ("ann", "second-sign-in", datetime(2026, 11, 25, tzinfo=UTC)),
    ("bob", "early", datetime(2026, 11, 1, tzinfo=UTC)),
    ("bob", "late", datetime(2026, 11, 25, tzinfo=UTC)),
)


def follow_to_end(run_id: str, owner: str = "local") -> str:
    """Wait until nothing happens in a run any more; return its status."""
    for _ in get_application().runs.follow(run_id, owner=owner):
        pass
    run = get_application().runs.get_run(run_id, owner=owner)
    return run.status if run else ""


def find_runs() -> list[tuple[str, str, str]]:
    """List the id, the owner and the status of each run, ordered by id."""
    found = [(run.id, owner, run.status) for owner in OWNERS for run in get_application().runs.recent_runs(owner=owner)]
    return sorted(found)


def export(run_id: str, ending: str, owner: str = "local") -> bytes:
    """Write the report of a run in a format."""
    report = get_application().runs.report(run_id, owner=owner)
    assert report is not None, run_id
    return research.export_report(report, research.number_report_answer(report), ending)


def read_export(run_id: str, owner: str = "local") -> dict[str, Any]:
    """Return the report of a run as its JSON export has it."""
    exported: dict[str, Any] = json.loads(export(run_id, "json", owner))
    return exported


def collect_exports() -> dict[str, bytes]:
    """Write each run as Markdown and JSON, by the name of a file.

    Runs whose process was killed are left out: they end when the folder is opened, at a new time each time.
    """
    return {
        f"{run_id}.{ending}": export(run_id, ending, owner)
        for run_id, owner, status in find_runs()
        if status != UNTIL_KILLED
        for ending in ("md", "json")
    }


def collect_facts() -> dict[str, Any]:
    """Return what the open data folder holds."""
    library = get_application().library
    return {
        "runs": {run_id: summarise_run(run_id, owner) for run_id, owner, _ in find_runs()},
        "owners": {owner: collect_of_owner(owner) for owner in OWNERS},
        "sign_outs": [
            [owner, sign_in, get_application().store.is_signed_out(owner, sign_in, started_at=began)]
            for owner, sign_in, began in SIGN_INS
        ],
        "library": {
            "documents": [
                [one.name, one.title, one.kind, one.passage_count, one.character_count]
                for one in sorted(library.list_all(), key=lambda one: one.name)
                if not one.is_sample
            ],
            "removed": sorted(one.name for one in library.list_trashed()[0]),
            "unread": sorted([one.name, one.outcome, one.pages] for one in library.list_rejected()[0]),
            "scans": sorted([one.name, one.page_count, list(one.waiting_pages)] for one in library.list_scans()),
            "sample": library.is_sample_enabled,
            "hits": {words: [hit.text for hit in library.search(words)] for words in ("雷峰塔", "lighthouse", "ferry")},
        },
    }


def summarise_run(run_id: str, owner: str) -> dict[str, Any]:
    """Return what somebody would ask first about a run; its export in the archive has the rest."""
    run = get_application().runs.get_run(run_id, owner=owner)
    assert run is not None
    exported = read_export(run_id, owner)
    return {
        "owner": owner,
        "status": run.status,
        "question": run.question,
        "follows": run.follows,
        "events": len(get_application().runs.events(run_id, owner=owner)),
        "title": exported["title"],
        "answer": exported["answer"].splitlines(),
        "sources": [[one["number"], one["title"]] for one in exported["sources"]],
        "evidence": len(exported["evidence"]),
        "support": exported["support"] and exported["support"]["counts"],
        "searched": searched(exported),
        "reused": sum(bool(found["cached"]) for found in findings(exported)),
        "gaps": [one["gap"] for each in exported["rounds"] for one in each["reflections"]],
        "rows": [found["rows"]["rows"] for found in findings(exported) if found["rows"]],
        "places": [one["title"] for one in exported["evidence"] if one["place"]],
        "clarification": exported["clarification"],
        "instructions": [one["text"] for one in exported["instructions"]],
        "notes": [one["text"] for one in exported["notes"]],
        "failures": [[one["stage"], one["reason"]] for one in exported["failures"]],
        "changes": [
            [one["kind"], one["headline"]] for one in (exported["coverage"] or {"changes": ()})["changes"]
        ],
        "calls": exported["usage"]["total"]["calls"],
    }  # fmt: skip


def findings(exported: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings of all rounds of an export."""
    return [found for each in exported["rounds"] for found in each["findings"]]


def searched(exported: dict[str, Any]) -> list[str]:
    """Return the queries whose searches are finished."""
    return sorted(found["task"]["query"] for found in findings(exported))


def collect_of_owner(owner: str) -> dict[str, Any]:
    """Return what belongs to a person beside the runs themselves."""
    history = get_application().runs.search_history(limit=100, owner=owner)
    return {
        "personal": read_personal(owner),
        "history": sorted([one.title, one.pinned, list(one.tags), one.turn_count] for one in history.entries),
        "found_by_words": sorted(one.title for one in get_application().runs.search_history(HistoryQuery("tower"), owner=owner).entries),
        "bin": [one.title for one in get_application().runs.bin_entries(owner=owner)],
        "choices": {one.name: one.value for one in get_application().preferences.choices(owner=owner) if one.is_chosen},
        "keys": {one.name: one.location for one in get_application().preferences.key_statuses(owner=owner) if one.location != "none"},
        "usage": [
            [one.day.isoformat(), one.stage, one.model, one.calls, one.input, one.output, one.searches]
            for one in get_application().daily_usage(since=SINCE, time_zone=UTC, owner=owner)
        ],
        "watches": [
            {"topic": one.topic, "reports": len(reports_of(one.id, owner)), "changed": one.changed}
            for one in get_application().watches.all(owner=owner)
        ],
        "places": sorted([one.place.name, sorted(one.runs)] for one in get_application().store.recorded_places(owner)),
        "statements": [list(pair) for pair in get_application().databases.confirmed_statements(owner=owner)],
        "tables": {
            ", ".join(one.names): query(f"SELECT * FROM {one.tables[0].name}", one.database, owner)
            for one in research.get_application().databases.uploads(owner=owner)
        },
    }  # fmt: skip


def reports_of(watch_id: str, owner: str = "local") -> list[str]:
    """Return the finished runs of a watched topic, the earliest first."""
    first = get_application().runs.get_run(watch_id, owner=owner)
    assert first is not None
    turns = get_application().store.turns(first.conversation, owner=owner)
    return [run.id for run in turns if run.status == "done"]


def query(statement: str, database: str, owner: str = "local") -> list[dict[str, Any]]:
    """Return the rows of a statement, as JSON would have them."""
    found = research.get_application().databases.query(statement, database=database, owner=owner)
    rows: list[dict[str, Any]] = json.loads(json.dumps(found.rows, default=str))
    return rows


def read_personal(owner: str) -> dict[str, Any]:
    """Return `personal.json` and the list of documents from the export of everything of an owner."""
    get_application().data_exports.start(owner, include_library=True)
    while (state := get_application().data_exports.get(owner)) is not None and state.status == "making":
        time.sleep(0.01)
    assert state is not None and state.path is not None, state
    with zipfile.ZipFile(io.BytesIO(state.path.read_bytes())) as archive:
        personal: dict[str, Any] = json.loads(archive.read("personal.json"))
        personal["documents"] = json.loads(archive.read("library/index.json"))
        personal["files"] = sorted(name for name in archive.namelist() if name.startswith("runs/"))
    get_application().data_exports.discard(owner)
    return personal
