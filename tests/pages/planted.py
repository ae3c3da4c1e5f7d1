"""A data folder in which everything that a page can show has happened already.

The runs are real ones of the desk without keys, but for those that need a model or a failure: these
are written as they would be stored.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from research import Run, RunOptions, close_application, get_application
from research.core.events import parse_event
from research.core.records import Plan, RunStatus, Task
from research.storage.store import Store
from tests.pages import checked_run, filled_table
from tests.pages.serving import SETTINGS

LANGUAGES = ("zh", "en")
PLACES = {"zh": "王府井附近适合遛娃的好去处", "en": "Where can I take kids near Wangfujing?"}
COUNTED = {"zh": "各省 5A 景区数量", "en": "How many 5A areas does each province have?"}
NEAREST = {"zh": "离故宫 50 公里内有哪些 5A 景区？", "en": "Which 5A areas are within 50 km of the Palace Museum?"}  # fmt: skip
TOPIC = {"zh": "北京的博物馆与门票", "en": "World heritage in China"}
LASTS = 60.0  # seconds that a run without keys may take


@dataclass
class Planted:
    """The folder and, by kind and language, the runs in it."""

    folder: Path
    runs: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, kind: str, language: str, run_id: str) -> None:
        self.runs.setdefault(kind, {})[language] = run_id


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """The desk of this process on that folder, without a setting from outside."""
    kept = {name: os.environ.pop(name) for name in SETTINGS if name in os.environ}
    close_application()
    get_application(folder)
    try:
        yield
    finally:
        close_application()
        os.environ.update(kept)


def plant(folder: Path, library: Path) -> Planted:
    """Fills a new folder; `library` is the index of the sample documents."""
    folder.mkdir(parents=True)
    shutil.copy(library, folder)
    made = Planted(folder)
    with alone(folder):
        for language in LANGUAGES:
            made.add("places", language, get_application().runs.start(PLACES[language]).id)
            made.add("counted", language, get_application().start_database_run(COUNTED[language]).id)
            made.add("nearest", language, get_application().start_database_run(NEAREST[language]).id)
            made.add("report", language, get_application().start_report(TOPIC[language]).id)
            asked = get_application().runs.start(checked_run.ASKED[language], options=_approving())
            made.add("waiting", language, asked.id)
        for kind, ids in made.runs.items():
            for run_id in ids.values():
                _over(run_id, "waiting" if kind == "waiting" else "done")
        get_application().watches.add(made.runs["report"]["en"])
        sql = "select province, count(*) from scenic_area group by province"
        get_application().databases.confirm_statement(COUNTED["zh"], sql)
    store = Store(folder / "runs.db")
    for language in LANGUAGES:
        checked_run.put(store, language)  # type: ignore[arg-type]
        made.add("checked", language, checked_run.IDS[language])
        made.add("table", language, filled_table.put(store, language))  # type: ignore[arg-type]
        for status in ("failed", "stopped"):
            made.add(status, language, _ended(store, language, status))
    store.close()
    return made


def _approving() -> RunOptions:
    return get_application().default_options().model_copy(update={"approve": True})


def _over(run_id: str, status: RunStatus) -> None:
    deadline = time.monotonic() + LASTS
    while (run := get_application().runs.get_run(run_id)) is None or run.is_active:
        assert time.monotonic() < deadline, run
        time.sleep(0.05)
    assert run.status == status, (run.question, run.status, run.error)


def _ended(store: Store, language: str, status: RunStatus) -> str:
    """A run that came to an end before it had an answer."""
    now = datetime.now(UTC) - timedelta(hours=2)
    task = Task(id="1.1", source="web", query=checked_run.ASKED[language])
    plan = Plan(tasks=(task,))
    made = Run(
        id=f"{status}{language}".ljust(32, "0"), conversation=f"{status}{language}", owner="local",
        question=checked_run.ASKED[language], options=RunOptions(), status="running", created=now,
    )  # fmt: skip
    error = "the store is full" if status == "failed" else ""
    assert store.add_run(made, None, "0" * 32)
    store.save_outcome(made.id, plan, [], None)
    told = [
        ("status", {"status": "running"}),
        ("question", {"text": made.question, "language": language}),
        ("plan", {"plan": plan.model_dump(mode="json")}),
        ("search", {"task": task.model_dump(mode="json")}),
        ("status", {"status": status, "error": error}),
    ]
    store.append_events(made.id, [(now, parse_event(kind, data)) for kind, data in told], status)
    return made.id
