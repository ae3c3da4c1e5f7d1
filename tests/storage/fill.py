"""Fill a data folder with every kind of run and of stored data, and keep it as an archive for tests.

    python -m tests.storage.fill NAME

writes `tests/store/NAME.zip` (the folder `data`, and the exports of its runs in `exports`) and
`tests/store/NAME.json` (the facts that this version finds in it, see holdings.py). It takes some fifteen
seconds, asks no service outside this machine, and prints how many rows each table of each SQLite file has.
Make a new archive with a new name before stored data changes its form; an archive that exists is never
filled again, because it has to be the work of the version that filled it.

    python -m tests.storage.fill NAME --exports

only writes the exports and the facts of an existing archive again, after exports or facts have changed on
purpose. The data in it stays as it was. The fill has three parts: with models and services, without
any (the answers are then made by rules), and a process that is killed while it works on three runs.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from research import Library, RunOptions, close_application, detect_tables, get_application
from tests.fakes import until
from tests.sources.library.test_documents import make_pdf
from tests.sources.library.test_scans import mixed, scanned
from tests.storage.holdings import collect_exports, collect_facts, follow_to_end
from tests.storage.services import KEY, Services, tower_table
from tests.terminal import environment
from tests.typist import Typist

HERE = Path(__file__).resolve().parent
FAR = "2099-01-01T00:00:00+00:00"  # what lies in a bin until then is not deleted by a test
SIGNED_OUT = datetime(2026, 11, 20, 12, tzinfo=UTC)
STAMP = (2026, 11, 27, 0, 0, 0)  # of the files in the archive
BEFORE_THE_KILL = [(3, 1, 0), (3, 1, 2), (6, 1, 6)]  # of the answer, the table and the report
TOPIC = "The reopening of the tower"
CHOSEN = {
    "NUMBER_OF_INITIAL_QUERIES": "4", "MAX_RESEARCH_LOOPS": "3", "SIGHTLINE_SOURCES": "web,library",
    "SIGHTLINE_APPROVE_PLAN": "on", "SIGHTLINE_CLARIFY": "off", "SIGHTLINE_MAX_SEARCHES": "30",
    "SIGHTLINE_MAX_TOKENS": "200000", "SIGHTLINE_MAX_COST": "1.5", "SIGHTLINE_MAX_SECONDS": "600",
    "SIGHTLINE_REPORT_SECTIONS": "4", "MAX_REFLECTIONS": "1", "SIGHTLINE_REPORT_SOURCES": "news",
    "QUERY_GENERATOR_MODEL": "openai:qwen3-8b", "REFLECTION_MODEL": "openai:qwen3-8b",
    "ANSWER_MODEL": "openai:qwen3-8b", "WEB_SEARCH_MODEL": "openai:qwen3-8b",
    "CHECK_MODEL": "openai:qwen3-8b", "WEB_SEARCH": "wikipedia", "SIGHTLINE_OPEN_SOURCES": "on",
    "SIGHTLINE_OUTLETS": "bbc,un", "SIGHTLINE_DOMAINS": "prefer gov.cn; avoid content-farm.example",
    "SIGHTLINE_CHECK": "rules", "SIGHTLINE_REPAIR": "drop", "MAP_TILES": "off",
}  # fmt: skip
LEIFENG = """---
title: 雷峰塔
url: https://example.org/leifeng
date: 2026-05-01
---
# 雷峰塔（又名黄妃塔）

雷峰塔重建于2002年，塔高71.679米。门票为40元。

## English

Leifeng Pagoda was rebuilt in 2002. It is 71.679 metres high.
"""
LAKE = "West Lake is in Hangzhou. The lake covers 6.39 square kilometres.\n"
OLD = "# 保俶塔（又名宝石塔）\n\n保俶塔高45.3米。\n"
RULES = RunOptions(loops=1, sources=("library",))
WEB = RunOptions(queries=2, loops=2, sources=("web",))


def fill_scans(path: Path) -> None:
    """Add two scans, of which one page is read and the others wait, and remove the second."""
    recogniser = Typist({1: "The ledger of 1925 lists twelve bells."}, halt=2)
    library = Library(path, lambda: recogniser)
    list(library.add_files([("ledger.pdf", scanned(2)), ("old-ledger.pdf", scanned(1))]))
    assert recogniser.halted.wait(60)
    library.scan_reader.stop()
    assert library.scan_reader.wait(60)
    library.remove([one.document_id for one in library.list_scans() if one.name == "old-ledger.pdf"])
    library.close()


def fill_library() -> None:
    """Add documents of several kinds, two that cannot be read, and remove two."""
    library = get_application().library
    library.set_sample_enabled(False)
    files = [
        ("leifeng.md", LEIFENG.encode()),
        ("notes/lake.txt", LAKE.encode()),
        ("notes/2026/tickets.csv", b"place,price\nLeifeng Pagoda,40\n"),
        ("guide.pdf", make_pdf(["The lighthouse museum opens at nine."], ["It is on a cliff."])),
        ("half-scanned.pdf", mixed(["The ferry leaves at noon."], [])),
        ("scan.pdf", scanned(2)),
        ("broken.docx", b"this is no archive"),
        ("old.md", OLD.encode()),
        ("old-scan.pdf", mixed(["The old ferry left at ten."], [])),
    ]
    list(library.add_files(files))
    removed = {"old.md", "old-scan.pdf"}
    library.remove([one.id for one in library.list_all() if one.name in removed])
    get_application().store.add_to_notebook("local", "Towers", ["leifeng.md", "notes/lake.txt"])


def fill_without_services() -> None:
    """Runs of the reasoner that needs no model, over the library and the tables that ship."""
    follow_to_end(get_application().runs.start("雷峰塔有多高？", options=RULES, run_id="rules-first-turn").id)
    follow_to_end(
        get_application()
        .runs.start(
            "它是哪年重建的？",
            options=RULES,
            follows="rules-first-turn",
            run_id="rules-second-turn",
        )
        .id
    )
    follow_to_end(get_application().start_database_run("浙江有多少个5A景区？", run_id="rules-database").id)
    follow_to_end(get_application().runs.start("Who wrote Hamlet?", options=RULES, run_id="binned").id)
    follow_to_end(
        get_application().runs.start("王府井附近有什么公园？", options=RunOptions(loops=1, sources=("places",)), run_id="rules-places").id
    )  # fmt: skip


def fill_with_services(services: Services) -> None:
    """Runs of a model over the web, the news, the map and databases."""
    brain = services.model.brain
    assert get_application().preferences.add_keys({"OPENAI_API_KEY": KEY}, remember=True, owner="local") == {}
    brain.values["plan"] = {"ask_back": "Which year?", "choices": ["2025", "2026"]}
    asking = WEB.model_copy(update={"clarify": True})
    get_application().runs.start("When does the tower open?", options=asking, run_id="first-turn")
    get_application().runs.start("When was the bell cast?", options=asking, run_id="waits-for-clarification")
    for run_id in ("first-turn", "waits-for-clarification"):
        follow_to_end(run_id)
    brain.values.clear()
    services.search.waits = 0.5
    get_application().runs.answer_clarification("first-turn", "2026")
    until(lambda: services.queries)
    assert get_application().runs.add_instruction("first-turn", "Use only what was written after 2024.")
    follow_to_end("first-turn")
    services.search.waits = 0.0
    follow_to_end(
        get_application().runs.start("How high is it?", options=WEB, follows="first-turn", run_id="second-turn").id
    )
    follow_to_end(get_application().runs.start("When does the tower open?", options=WEB, run_id="from-cache").id)
    follow_to_end(get_application().runs.start("Hello!", options=WEB, run_id="greeted").id)
    approving = WEB.model_copy(update={"approve": True})
    get_application().runs.start("Who designed the tower?", options=approving, run_id="waits-for-approval")
    get_application().start_table("Which towers are there?", options=WEB, run_id="waiting-table")
    for run_id in ("waits-for-approval", "waiting-table"):
        follow_to_end(run_id)
    services.hang("history")
    get_application().runs.start("Why was the gate moved?", options=WEB, run_id="stopped")
    until(lambda: sum("gate" in query for query in services.queries) == 2)
    get_application().runs.stop("stopped")
    follow_to_end("stopped")
    services.search.odd = {}
    services.model.fail("write", "400key")
    get_application().runs.start("What is the roof made of?", options=WEB, run_id="failed")
    follow_to_end("failed")
    services.model.fail("write", "ok")
    fill_reports(services)
    fill_tables()
    fill_places()
    fill_databases(services)


def fill_reports(services: Services) -> None:
    """A report with sections, watched and brought up to date once."""
    services.model.brain.chapters = ["history", "visitors", "tickets"]
    options = get_application().services_for().report_options().model_copy(
        update={"sections": 3, "reflections": 1, "sources": ("news",)}
    )  # fmt: skip
    run = get_application().start_report(TOPIC, options=options)
    follow_to_end(run.id)
    get_application().watches.add(run.id)
    original = services.search.results
    services.search.results = later_results
    follow_to_end(get_application().watches.start_update(run.id).id)
    services.search.results = original


def later_results(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the results of a later day: one that the first report has, and one that is new."""
    query = str(body["query"])
    return [
        {
            "title": f"Ferry crews strike beside the tower: {query[:30]}",
            "url": f"https://later.example/{'-'.join(query.lower().split())[:60]}",
            "content": "Ferry crews want 8% more pay. The strike began on 20 November 2026.",
            "score": 0.9,
            "raw_content": None,
            "published_date": "Fri, 20 Nov 2026 08:00:00 GMT",
        }
    ]


def fill_tables() -> None:
    """A table with cited cells, of which one column stays empty."""
    grid = tower_table("Two pagodas", "Leifeng Pagoda", "Baochu Pagoda")
    follow_to_end(get_application().start_table(grid=grid, options=WEB, run_id="table").id)


def fill_places() -> None:
    """A search around a place, a way and a day's round by a run, and searches of the Places page."""
    places = RunOptions(loops=1, sources=("places",))
    for run_id, question in (
        ("places", "王府井附近适合遛娃的地方"),
        ("route", "青岛栈桥到八大关步行路线"),
    ):
        follow_to_end(get_application().runs.start(question, options=places, run_id=run_id).id)
    get_application().places.search_around("西湖", "公园", 2000)
    get_application().places.find_route("故宫", "天坛")
    get_application().places.plan_itinerary("西湖", ["雷峰塔", "断桥残雪"])
    get_application().places.find("外滩附近的博物馆")


def fill_databases(services: Services) -> None:
    """Questions to the tables that ship and to a file of the owner, with what the owner says of it."""
    services.model.brain.statements = [
        "SELECT province, COUNT(*) AS n FROM a_sight GROUP BY province ORDER BY n DESC LIMIT 3"
    ]
    follow_to_end(get_application().start_database_run("Which three provinces have most sights?", run_id="database").id)
    follow_to_end(
        get_application().start_database_run("SELECT COUNT(*) AS n FROM a_sight", is_statement=True, run_id="statement").id
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tickets.csv"
        file.write_text(
            "place,price,opened\n雷峰塔,40,2002-10-25\nBaochu Pagoda,0,1933-05-01\n",
            encoding="utf-8",
        )
        upload = get_application().databases.load_files([(file, detect_tables(file))])
    statement = "SELECT place, price FROM tickets ORDER BY price DESC"
    services.model.brain.statements = [statement]
    follow_to_end(
        get_application()
        .start_database_run("What does a ticket cost?", database=upload.database, run_id="files-database")
        .id
    )
    described = {"tables": {"tickets": {"label": {"en": "tickets of two pagodas", "zh": "门票"}}}}
    assert get_application().databases.save_description(json.dumps(described), upload.database) == ""
    get_application().databases.confirm_statement("What does a ticket cost?", statement, database=upload.database)
    get_application().databases.confirm_statement("浙江有多少个5A景区", "SELECT COUNT(*) FROM a_sight")


def fill_account() -> None:
    """What people have said of their conversations, settings and sign-ins."""
    talk = {run.id: run.conversation for run in get_application().runs.recent_runs()}
    get_application().store.update_conversation(talk["first-turn"], title="The tower", pinned=True, owner="local")
    get_application().store.history.set_tags("local", talk["first-turn"], ["tower", "杭州"])
    get_application().store.history.set_tags("local", talk["rules-first-turn"], ["pagoda"])
    get_application().store.update_conversation(talk["places"], title="With children", owner="local")
    get_application().runs.move_to_bin(talk["binned"])
    report = get_application().runs.report("first-turn")
    assert report is not None
    source = report.evidence[0]
    assert get_application().runs.save_remark("first-turn", "Ask the museum.")
    assert get_application().runs.save_remark(
        "first-turn", "Compare with 2025.", evidence=source.id, passage=source.passages[0].id
    )
    get_application().store.set_preference("local", "language", "zh")
    get_application().store.set_preference("local", "tour", {"seen": True, "step": 3})
    assert get_application().preferences.save_choices(CHOSEN, owner="ann") == {}
    get_application().store.set_preference("ann", "language", "en")
    run = get_application().runs.start("West Lake", options=RULES, owner="ann", run_id="of-another-owner")
    for _ in get_application().runs.follow(run.id, owner="ann"):
        pass
    expires = datetime.fromisoformat(FAR)
    get_application().store.record_sign_out("ann", "first-sign-in", ended_at=SIGNED_OUT, keep_until=expires)
    get_application().store.record_sign_out("bob", "", ended_at=SIGNED_OUT, keep_until=expires)


def begin_runs() -> None:
    """Begin the runs whose process is killed, and work on them until then."""
    get_application().runs.start("What is known of the cellar?", options=WEB, run_id="killed-in-search")
    options = get_application().services_for().report_options().model_copy(
        update={"sections": 3, "reflections": 1, "sources": ("news",)}
    )  # fmt: skip
    run = get_application().start_report("The flood in the harbour", options=options)
    print(run.id, flush=True)
    grid = tower_table("Two towers", "Liuhe Tower", "Bell Tower")
    get_application().start_table(grid=grid, options=WEB, run_id="killed-table")
    while True:
        time.sleep(60)


def kill_at_work(services: Services, folder: Path) -> None:
    """Kill a process as soon as all of its runs can do no more than wait for the searches that hang."""
    services.model.brain.chapters = ["history", "visitors", "tickets"]
    services.model.brain.follow_ups = 2
    services.hang("cellar more details 1.2", "harbour tickets", "Bell Tower price")
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.storage.fill", "-", "--begin", str(folder)],
        cwd=HERE.parents[1],
        env=environment(folder, services.environment),
    )
    try:
        until(lambda: measure_progress(folder) == BEFORE_THE_KILL, 120)
        until(lambda: is_state_saved(folder), 120)
    finally:
        child.kill()
        child.wait()


def measure_progress(folder: Path) -> list[tuple[int, int, int]]:
    """Count the finished searches, the open searches and the notes of each run under way."""
    statement = """
        select (select count(*) from search where search.run = run.id and search.finished is not null),
            (select count(*) from search where search.run = run.id and search.finished is null),
            (select count(*) from note where note.run = run.id)
        from run where status = 'running'"""
    with closing(sqlite3.connect(f"file:{folder / 'runs.db'}?mode=ro", uri=True)) as database:
        return sorted(database.execute(statement))


def is_state_saved(folder: Path) -> bool:
    """Return whether the saved state of the report under way has all that the report has found."""
    (path,) = folder.rglob("state_The_flood_*.json")
    searches, _, notes = BEFORE_THE_KILL[-1]
    state = json.loads(path.read_text(encoding="utf-8"))
    return (len(state["findings"]), len(state["notes"])) == (searches, notes)


def tidy(folder: Path) -> None:
    """Delete what is made again when it is missing, write journals into their files, and move what would be
    deleted after some days."""
    for path in [*folder.glob("sights-*.db*"), *folder.glob("engines/*-journal")]:
        path.unlink()
    for path in folder.glob("*.db"):
        with closing(sqlite3.connect(path)) as database:
            if path.name == "runs.db":
                database.execute("update conversation set binned = ? where binned is not null", (FAR,))
            if path.name == "library.db":
                database.execute("update bin_document set removed = ?", (FAR,))
            database.commit()
            database.execute("pragma journal_mode = delete")
            database.execute("vacuum")


def count_rows(folder: Path) -> Iterator[tuple[str, str, int]]:
    """Yield each table of each SQLite file with its number of rows."""
    for path in sorted(folder.rglob("*.db")):
        with closing(sqlite3.connect(path)) as database:
            tables = database.execute("select name from sqlite_master where type = 'table' order by name").fetchall()
            for (table,) in tables:
                (count,) = database.execute(f'select count(*) from "{table}"').fetchone()
                yield path.name, table, count


def pack(folder: Path, exports: dict[str, bytes]) -> bytes:
    """Pack a data folder and the exports of its runs."""
    packed = io.BytesIO()
    files = {
        f"data/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in (files | {f"exports/{n}": c for n, c in exports.items()}).items():
            info = zipfile.ZipInfo(name, STAMP)
            archive.writestr(info, content, zipfile.ZIP_DEFLATED, 9)
    return packed.getvalue()


def fill(folder: Path) -> None:
    """Fill an empty data folder."""
    with Services() as services:
        folder.mkdir()
        fill_scans(folder / "library.db")
        work_in(folder, {"SIGHTLINE_STARTS_PER_MINUTE": "0"})
        fill_library()
        fill_without_services()
        close_application()
        work_in(folder, services.environment)
        fill_with_services(services)
        fill_account()
        close_application()
        kill_at_work(services, folder)
    tidy(folder)


def work_in(folder: Path, settings: dict[str, str]) -> None:
    """Open a data folder with these settings alone."""
    os.environ.clear()
    os.environ.update(environment(folder, settings))
    get_application(folder)


def look_at(packed: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the facts and the exports of a copy of the data in an archive."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(folder)
        work_in(Path(folder) / "data", {})
        try:
            return collect_facts(), collect_exports()
        finally:
            close_application()


def unpack_data(packed: bytes, folder: Path) -> Path:
    """Unpack the data folder of an archive."""
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    return folder / "data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--exports", action="store_true")
    parser.add_argument("--begin", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.begin:
        get_application(args.begin)
        begin_runs()
    archive = HERE / f"{args.name}.zip"
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        if args.exports:
            data = unpack_data(archive.read_bytes(), Path(folder))
        elif archive.exists():
            parser.error(f"{archive} exists; an archive is never filled again.")
        else:
            fill(data)
            for row in count_rows(data):
                print(*row)
        facts, exports = look_at(pack(data, {}))
        archive.write_bytes(pack(data, exports))
    text = json.dumps(facts, ensure_ascii=False, indent=1) + "\n"
    archive.with_suffix(".json").write_text(text, encoding="utf-8")
    print(archive, f"{archive.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
