"""A data folder of years of work: runs with their answers, sources and events, documents, places.

`python -m tests.many FOLDER` fills one, to look at the desk on it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from research.citations.registry import evidence_id
from research.core.events import parse_event
from research.core.records import (
    Evidence,
    Finding,
    Language,
    Part,
    Passage,
    Place,
    Plan,
    Run,
    RunOptions,
    RunStatus,
    Task,
    Usage,
)
from research.sources.library.index import Library
from research.storage.store import Store
from tests.pages import checked_run

RUNS, DOCUMENTS, PLACES = 2_000, 10_000, 5_000
LAST = datetime(2026, 11, 22, 5, 0, tzinfo=UTC)
SUBJECTS = (
    ("故宫", "the Palace Museum"), ("西湖", "West Lake"), ("泰山", "Mount Tai"),
    ("长城", "the Great Wall"), ("敦煌", "Dunhuang"), ("鼓浪屿", "Gulangyu"),
    ("武夷山", "Mount Wuyi"), ("拙政园", "the Humble Administrator's Garden"),
)  # fmt: skip
ASPECTS = (
    ("门票多少钱", "What does a ticket to {} cost"), ("几点开放", "When does {} open"),
    ("怎么去", "How does one get to {}"), ("适合带孩子去吗", "Is {} fit for children"),
    ("什么季节去最好", "Which season is best for {}"), ("客流如何变化", "How do visits to {} develop"),
)  # fmt: skip
CITIES = (
    ("北京市", "东城区", 116.40, 39.92), ("上海市", "黄浦区", 121.48, 31.23),
    ("杭州市", "西湖区", 120.14, 30.25), ("西安市", "碑林区", 108.94, 34.26),
    ("成都市", "青羊区", 104.06, 30.67), ("广州市", "越秀区", 113.27, 23.13),
)  # fmt: skip
KINDS = ("food", "sight", "family", "shop", "hotel", "transport", "culture")


def fill(folder: Path, *, runs: int = RUNS, documents: int = DOCUMENTS, places: int = PLACES) -> Path:
    """Adds that much to a data folder, the same each time."""
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder / "runs.db")
    for n in range(runs):
        add_run(store, n)
    store.add_evidence(store.place_registry("local"), map(place, range(places)))
    store.close()
    library = Library(folder / "library.db")
    for _ in library.add_files(texts(documents)):
        pass
    library.close()
    return folder


# Runs


def question(n: int) -> tuple[Language, str]:
    """Chinese and English in turn; two that are near are never the same."""
    chinese, english = SUBJECTS[n // 2 % len(SUBJECTS)]
    aspect = ASPECTS[n // 16 % len(ASPECTS)]
    year = 2025 + n % 3
    if n % 2:
        return "en", f"{aspect[1].format(english)} in {year}, question {n}?"
    return "zh", f"{year}年{chinese}{aspect[0]}？第{n}问"


def status(n: int) -> RunStatus:
    endings: dict[int, RunStatus] = {7: "failed", 13: "stopped", 17: "interrupted"}
    return endings.get(n % 20, "done")


def add_run(store: Store, n: int) -> str:
    """A run of some minutes ago, the higher `n` the longer; every fifth follows the one before."""
    language, asked = question(n)
    began = LAST - timedelta(minutes=37 * n)
    talk = f"{n - n % 5:08x}".ljust(32, "0")
    run = Run(
        id=f"{n:08x}".ljust(32, "0"), conversation=talk, owner="local", question=asked,
        options=RunOptions(sources=("web",)), status="running", created=began,
    )  # fmt: skip
    task = Task(id="1.1", source="web", query=asked)
    plan = Plan(parts=(Part(id="p1", subject="", text=asked),), tasks=(task,))
    known = tuple(_own(item, n) for item in checked_run.found(language, 2))
    assert store.add_run(run, None, "0" * 32)
    store.finish_search(store.start_search(run.id, task), talk, Finding(task=task, evidence=known, started=began))
    ended = status(n)
    written = checked_run.answer(language, known) if ended == "done" else None
    store.save_outcome(run.id, plan, (), written)
    told = _told(run, task, plan, language, len(known), ended)
    store.append_events(run.id, [(began + timedelta(seconds=k), parse_event(*one)) for k, one in enumerate(told)], ended)  # fmt: skip
    return run.id


def _own(item: Evidence, n: int) -> Evidence:
    """The source as another run would find it: some are the same for all, most are not."""
    if not item.url or n % 3 == 0:
        return item
    url = f"{item.url.split('#')[0]}?of={n}"
    return item.model_copy(update={"id": evidence_id(item.kind, url, item.title), "url": url})


def _told(
    run: Run, task: Task, plan: Plan, language: str, found: int, ended: RunStatus
) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "status", {"status": "running"}
    yield "question", {"text": run.question, "language": language}
    yield "plan", {"plan": plan.model_dump(mode="json")}
    yield "search", {"task": task.model_dump(mode="json")}
    if ended == "done":
        told = {
            "task": task.model_dump(mode="json"), "passages": found, "titles": ["…"] * found,
            "reason": None, "hint": "", "provider": "tavily", "message": "", "seconds": 0.4,
            "reused": False, "cached": "",
        }  # fmt: skip
        yield "found", told
        for stage, tokens in (("plan", 900), ("check", 2_000), ("write", 6_000)):
            spent = Usage(stage=stage, model="openai:gpt-fake", input=tokens, output=tokens // 5)
            yield "usage", spent.model_dump(mode="json")
        yield "writing", {}
        yield "answer", {"quotes": 1, "cites": 9, "failures": 0}
    yield "status", {"status": ended, "error": "the model is gone" if ended == "failed" else ""}


# Places and documents


def place(n: int) -> Evidence:
    """A place in one of six cities, as a look-up finds it."""
    made = random.Random(n)
    city, district, lng, lat = CITIES[n % len(CITIES)]
    name = f"{district}示例{made.choice(('餐厅', '博物馆', '公园', '书店', '酒店'))}（第{n}店）"
    url = f"https://www.amap.com/place/B{n:09}"
    spot = Place(
        id=f"B{n:09}", name=name, lng=round(made.gauss(lng, 0.06), 6), lat=round(made.gauss(lat, 0.05), 6),
        provider="amap", category=KINDS[n % len(KINDS)], type="餐饮服务;中餐厅;北京菜",
        address=f"示例大街{n}号", district=district, city=city, distance=made.randint(10, 9000),
        rating=round(made.uniform(3, 5), 1), cost=float(made.randint(20, 300)),
        hours="09:00-21:00", phone="010-65250000",
    )  # fmt: skip
    return Evidence(
        id=evidence_id("place", url, name), kind="place", title=name, url=url, locator=name,
        retrieved=LAST - timedelta(minutes=n), passages=(Passage(id="p", text=name, end=len(name)),),
        place=spot,
    )  # fmt: skip


def texts(number: int) -> Iterator[tuple[str, bytes]]:
    """Documents of two sections, Chinese and English in turn, with a day each."""
    for n in range(number):
        language, asked = question(n)
        chinese, english = SUBJECTS[n % len(SUBJECTS)]
        day = (LAST - timedelta(days=n % 1500)).date().isoformat()
        if language == "zh":
            body = f"{chinese}第{n}号资料。门票为{n % 90 + 10}元，每周一闭馆。\n\n## 交通\n\n地铁{n % 20 + 1}号线可到，步行{n % 30}分钟。"  # fmt: skip
        else:
            body = f"Note {n} on {english}. A ticket costs {n % 90 + 10} yuan.\n\n## Access\n\nTake metro line {n % 20 + 1} and walk {n % 30} minutes."  # fmt: skip
        yield f"note-{n:05}.md", f"---\ndate: {day}\n---\n# {asked}\n\n{body}\n".encode()


if __name__ == "__main__":
    started = time.perf_counter()
    print(fill(Path(sys.argv[1])), f"{time.perf_counter() - started:.0f} s")
