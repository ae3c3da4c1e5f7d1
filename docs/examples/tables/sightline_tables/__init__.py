"""A source for Sightline: the rows of the CSV files (title, text, url) in the folder TABLES_FOLDER."""

import asyncio
import csv
from pathlib import Path

from research.citations.registry import evidence_id
from research.core.events import EventEmitter
from research.core.records import Evidence, Finding, Passage, Readiness, Task, fingerprint
from research.sources import Dependencies, Setting, Source


class Tables:
    max_sequential_calls = 1

    def __init__(self, dependencies: Dependencies) -> None:
        self._folder = Path(dependencies.settings.source_setting("TABLES_FOLDER"))
        self._clock = dependencies.clock

    def readiness(self) -> Readiness:
        names = ", ".join(sorted(path.name for path in self._folder.glob("*.csv")))
        return Readiness(state="live" if names else "missing", detail=names)

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        found = tuple(await asyncio.to_thread(self._rows, task))
        reason = None if found else "empty"
        return Finding(task=task, evidence=found, reason=reason, started=self._clock())

    def _rows(self, task: Task) -> list[Evidence]:
        """The rows that name the subject of a task, if it has one, and have a word of its query."""
        found = []
        for path in sorted(self._folder.glob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file):
                    said = f"{row['title']} {row['text']}".casefold()
                    about = not task.subject or any(n.casefold() in said for n in task.subject)
                    if about and any(word in said for word in task.query.casefold().split()):
                        found.append(self._evidence(row, path.name))
        return found

    def _evidence(self, row: dict[str, str], file: str) -> Evidence:
        text, url = row["text"], row["url"]
        passage = Passage(id=fingerprint(url, text), text=text, end=len(text))
        return Evidence(
            id=evidence_id("web", url, row["title"]), kind="web", title=row["title"], url=url,
            publisher=file, retrieved=self._clock(), passages=(passage,),
        )  # fmt: skip


SOURCE = Source(
    name="tables",
    kind="web",
    label={"zh": "表格", "en": "Tables"},
    description={"zh": "一个文件夹里的 CSV 表格。", "en": "The CSV tables in a folder."},
    prompt_phrase="tables of mountains, with their heights",
    build=Tables,
    settings=(Setting("TABLES_FOLDER", str(Path(__file__).parent)),),
    is_default=lambda status: status.state == "live",
    is_local=True,
    test_query="Mount Erebus",
    icon="table",
)
