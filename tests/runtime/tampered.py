"""Two runs in a store, of which somebody has changed the rows of one by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from research.citations.registry import evidence_id
from research.core.events import parse_event
from research.core.records import (
    Answer,
    Evidence,
    Finding,
    Part,
    Passage,
    PassageReference,
    Place,
    Plan,
    Reflection,
    Run,
    RunOptions,
    Span,
    Task,
    Usage,
)
from research.storage.store import Store
from tests.servers.postgres import PASSWORD, USER

GOOD, BAD = "good", "tampered"
NOW = datetime.now(UTC)
TEXT = "The tower is open from 9:00 to 17:00."
TASK = Task(id="1.1", source="library", query="tower")


def asked(run_id: str) -> str:
    return f"What is known of the {run_id} tower?"


def evidence(run_id: str, **update: Any) -> Evidence:
    """A place, with a passage that the answer quotes."""
    url = f"https://example.org/{run_id}"
    place = Place(id=run_id, name=f"The {run_id} tower", lng=116.4, lat=39.9, provider="amap")
    return Evidence(
        id=evidence_id("place", url, run_id),
        kind="place",
        title=f"About the {run_id} tower",
        url=url,
        locator=run_id,
        retrieved=NOW,
        passages=(Passage(id="p", text=TEXT, end=len(TEXT)),),
        place=place,
    ).model_copy(update=update)


def answer(run_id: str, cite: PassageReference | None = None, **update: Any) -> Answer:
    found = evidence(run_id)
    cite = cite or PassageReference(evidence=found.id, passage="p", end=len(TEXT))
    spans = (
        Span(kind="heading", text="Opening"),
        Span(kind="quote", text=TEXT, part="p1", references=(cite,)),
        Span(kind="text", text="It is open [by day](https://example.org).", references=(cite,)),
    )
    return Answer(title=asked(run_id), language="en", author="Scripted", spans=spans, created=NOW).model_copy(update=update)  # fmt: skip


def put(store: Store, run_id: str, item: Evidence | None = None, written: Answer | None = None) -> None:
    """A run that is done, with all that belongs to one."""
    item, written = item or evidence(run_id), written or answer(run_id)
    run = Run(
        id=run_id, conversation=run_id, owner="local", question=asked(run_id),
        options=RunOptions(sources=("library",)), status="running", created=NOW,
    )  # fmt: skip
    plan = Plan(parts=(Part(id="p1", subject="tower", text=run.question),), tasks=(TASK,))
    assert store.add_run(run, None, "0" * 32)
    finding = Finding(task=TASK, evidence=(item,), started=NOW)
    store.finish_search(store.start_search(run_id, TASK), run_id, finding)
    told: list[tuple[str, dict[str, Any]]] = [
        ("status", {"status": "running"}),
        ("question", {"text": run.question, "language": "en"}),
        ("plan", {"plan": plan.model_dump(mode="json")}),
        ("search", {"task": TASK.model_dump(mode="json")}),
        ("found", {
            "task": TASK.model_dump(mode="json"), "passages": 1, "titles": [item.title], "reason": None,
            "hint": "", "provider": "", "message": "", "seconds": 0.1, "reused": False, "cached": "",
        }),
        ("usage", Usage(stage="plan", model="gemini:none", input=10, output=5).model_dump(mode="json")),
        ("reflection", Reflection(round=1, sufficient=True).model_dump(mode="json")),
        ("writing", {}),
        ("answer", {"quotes": 1, "cites": 2, "failures": 0}),
        ("status", {"status": "done", "error": ""}),
    ]  # fmt: skip
    store.save_outcome(run_id, plan, (Reflection(round=1, sufficient=True),), written)
    store.append_events(run_id, [(NOW, parse_event(kind, data)) for kind, data in told], "done")


_KEYS = {"run": "id", "evidence": "conversation"}
_FAR = PassageReference(evidence=evidence(BAD).id, passage="p", start=10**9, end=-5)
TAMPERED: dict[str, tuple[str, str, str]] = {  # a table, a column and what stands there now
    "options that are no JSON": ("run", "options", "{"),
    "options of no sense": ("run", "options", '{"queries": "many"}'),
    "options that are a list": ("run", "options", "[]"),
    "a status of an unknown word": ("run", "status", "dancing"),
    "a time that is none": ("run", "created", "yesterday"),
    "an end that is none": ("run", "finished", "never"),
    "events that are no JSON": ("event", "data", '{"a'),
    "events that are lists": ("event", "data", "[1]"),
    "events that tell nothing": ("event", "data", "{}"),
    "events that tell something else": ("event", "data", '{"task": 7, "plan": [], "round": "x"}'),
    "events of no time": ("event", "time", "never"),
    "events of an unknown kind": ("event", "kind", "dance"),
    "a finding that is no JSON": ("search", "finding", "{"),
    "a finding without a task": ("search", "finding", '{"evidence": []}'),
    "evidence that is no JSON": ("evidence", "record", "{"),
    "evidence without an address": ("evidence", "record", '{"place": {"lng": "east"}}'),
    "an answer that is no JSON": ("answer", "answer", "{"),
    "an answer without spans": ("answer", "answer", '{"title": 1}'),
    "an answer that cites beyond the text": ("answer", "answer", answer(BAD, _FAR).model_dump_json()),
    "a plan that is no JSON": ("answer", "plan", "{"),
    "reflections that are no JSON": ("answer", "reflections", "{"),
    "reflections that are none": ("answer", "reflections", "null"),
    "reflections of something else": ("answer", "reflections", "[7]"),
}  # fmt: skip


def tamper(place: Path | str, name: str) -> None:
    """Changes a column of the rows of one of the two runs."""
    table, column, value = TAMPERED[name]
    key = _KEYS.get(table, "run")
    change = f"update {table} set {column} = %s where {key} = '{BAD}'"
    if isinstance(place, Path):
        with closing(sqlite3.connect(place)) as connection, connection:
            assert connection.execute(change.replace("%s", "?"), (value,)).rowcount
        return
    import psycopg

    to = urlsplit(place)
    with psycopg.connect(host=to.hostname, port=to.port, user=USER, password=PASSWORD, dbname=to.path[1:]) as server:
        assert server.execute(change, (value,)).rowcount


def hostile() -> dict[str, Evidence]:
    """Evidence with addresses and texts that would act if they were drawn as they are."""
    script = "<img src=x onerror=alert(1)><script>alert(1)</script>"
    addresses = ("javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>alert(1)</script>", " javascript:alert(1)", "vbscript:x", "file:///etc/passwd", "java\nscript:alert(1)")  # fmt: skip
    found = {f"the address {url!r}": evidence(BAD, url=url) for url in addresses}
    found["a title with a script"] = evidence(BAD, title=script, publisher=script)
    found["a passage with a script"] = evidence(
        BAD, passages=(Passage(id="p", text=TEXT + script, end=9, heading=script, title=script),)
    )
    place = evidence(BAD).place
    assert place
    wild = dict.fromkeys(("name", "category", "type", "address", "hours", "phone"), script)
    found["a place with scripts"] = evidence(
        BAD, place=place.model_copy(update={**wild, "photos": ("javascript:alert(1)",)})
    )
    return found
