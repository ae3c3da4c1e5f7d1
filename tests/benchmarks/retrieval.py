"""Whether the passage that answers a question is found: 60 labelled questions, the sample library.

`recall@5` counts a question if one of the first five hits of a plain search holds an answering
passage; `digest answers` if a whole run quotes the answer.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from research.application import Application
from research.core.settings import Settings
from research.core.text.quotes import normalise_quote
from research.sources.library.index import Library
from research.sources.library.search import SearchHit
from tests.benchmarks.figures import Figure

FIRST = 5
TARGET = 0.9
LANGUAGES = {"zh": "Chinese", "en": "English"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question; one of `contains` in one of `documents` (names without suffix) answers it."""

    id: str
    language: str
    question: str
    documents: tuple[str, ...]
    contains: tuple[str, ...]


def questions() -> list[Labelled]:
    path = Path(__file__).with_name("questions.json")
    return [
        Labelled(q["id"], q["language"], q["question"], tuple(q["documents"]), tuple(q["contains"]))
        for q in json.loads(path.read_text(encoding="utf-8"))
    ]


def found(labelled: Labelled, library: Library) -> bool:
    """Whether one of the first hits holds an answering passage."""
    hits = library.search(labelled.question, limit=FIRST)
    return any(answers(labelled, hit, library) for hit in hits)


def answers(labelled: Labelled, hit: SearchHit, library: Library) -> bool:
    """Whether the hit holds an answer, or a piece of one that a passage's end cut in two."""
    if Path(hit.name).stem not in labelled.documents:
        return False
    text = library.document_text(hit.document_id)
    for wanted in labelled.contains:
        at = text.find(wanted)
        if at >= 0 and hit.start < at + len(wanted) and at < hit.end:
            return True
    return False


def quoted(labelled: Labelled, desk: Application) -> bool:
    """Whether a run's quotes have the answer."""
    run = desk.runs.start(labelled.question)
    for _ in desk.runs.follow(run.id):
        pass
    report = desk.runs.report(run.id)
    if report is None or report.answer is None:
        return False
    quotes = [normalise_quote(span.text) for span in report.answer.spans if span.kind == "quote"]
    return any(normalise_quote(wanted) in quote for wanted in labelled.contains for quote in quotes)


def figures() -> Iterator[Figure]:
    asked = questions()
    with tempfile.TemporaryDirectory() as folder:
        desk = Application(Settings(data_dir=Path(folder), starts_per_minute=0))
        try:
            recalled = {q.id for q in asked if found(q, desk.library)}
            digested = {q.id for q in asked if quoted(q, desk)}
        finally:
            desk.close()
    for name, good, target in (
        (f"recall@{FIRST}", recalled, TARGET),
        ("digest answers", digested, None),
    ):
        for language, title in LANGUAGES.items():
            ids = [q.id for q in asked if q.language == language]
            missed = [id_ for id_ in ids if id_ not in good]
            yield Figure(
                f"{name}, {title}",
                1 - len(missed) / len(ids),
                target=target,
                more=True,
                note="missed: " + " ".join(missed) if missed else "",
            )
