"""How well a question is answered without a model: what is quoted, what is left out, where it was asked.

Each line of a set is a question with labels; README.md says which. The set `sample` is asked of the
sample library that ships, any other of the folder `documents` beside it. A set is given as a file;
without one both that are here are asked.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

from research.application import Application
from research.core.records import Report, Span
from research.core.settings import load_settings
from research.core.text.quotes import normalise_quote
from research.core.text.sentences import split_sentences
from research.core.text.tokenizer import tokenize

HERE = Path(__file__).parent / "answers"
SETS = (HERE / "sample.jsonl", HERE / "other.jsonl")
SHIPPED = Path(__file__).parents[2] / "research" / "data" / "library"
OFFERED = ("library", "places", "database")
QUOTED = 3  # sentences that the baseline quotes
FIGURES = ("must", "beside", "treated", "routes", "ms")
Half = Literal["seen", "unseen"]


def half_of(name: str) -> Half:
    """The half of the question with an id: settled before anything was known of the question."""
    return "seen" if hashlib.sha256(name.encode()).digest()[0] % 2 == 0 else "unseen"


def bare(text: str) -> str:
    """Text as labels and quotes are compared: without marks of layout and punctuation."""
    return re.sub(r"[\W_]+", "", normalise_quote(text)).casefold()


@lru_cache(256)
def sections(document: Path) -> dict[str, str]:
    """The text of a document under each of its headings."""
    text = document.read_text(encoding="utf-8")
    if text.startswith("---\n"):
        text = text.split("\n---\n", 1)[1]
    found: dict[str, list[str]] = {}
    heading = ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.strip():
            found.setdefault(heading, []).append(line)
    return {heading: "\n".join(lines) for heading, lines in found.items()}


@dataclass(frozen=True)
class Labelled:
    """A question and its labels, texts as `bare` makes them. `must` are groups: one of each is enough."""

    id: str
    half: Half
    q: str
    subjects: tuple[tuple[str, ...], ...]
    must: tuple[tuple[str, ...], ...]
    may: tuple[str, ...]
    route: frozenset[str]
    also: frozenset[str]

    @classmethod
    def read(cls, row: Mapping[str, Any], folder: Path) -> Self:
        def allowed(one: Mapping[str, str]) -> str:
            return bare(one["text"] if "text" in one else sections(folder / one["document"])[one["section"]])

        groups = [one if isinstance(one, list) else [one] for one in row["must"]]
        return cls(
            id=row["id"],
            half=row["half"],
            q=row["q"],
            subjects=tuple(tuple(map(bare, names)) for names in row["subjects"]),
            must=tuple(tuple(bare(one["text"]) for one in group) for group in groups),
            may=tuple(map(allowed, row["may"])),
            route=frozenset(row["route"]),
            also=frozenset(row.get("also", ())),
        )

    def quoted(self, quotes: Iterable[str]) -> int:
        """How many of the sentences that must be quoted are."""
        told = [bare(quote) for quote in quotes]
        return sum(any(one in quote for one in group for quote in told) for group in self.must)

    def beside(self, quotes: Iterable[str]) -> tuple[int, int]:
        """How many sentences of some quotes are neither in what must nor in what may be quoted, of
        how many."""
        fit = [one for group in self.must for one in group] + list(self.may)
        told = [bare(quote[at:end]) for quote in quotes for at, end in split_sentences(quote)]
        told = [one for one in told if one]
        return sum(not any(one in other or other in one for other in fit) for one in told), len(told)

    def routed(self, asked: Iterable[str]) -> bool:
        asked = set(asked)
        return self.route <= asked <= self.route | self.also


def measured(files: Iterable[Path], half: Half | None = None) -> dict[str, Any]:
    """`sets` with a row for each half of each file: the questions (`n`), the share of the sentences
    that must be quoted which are (`must`), of the quoted sentences which are beside the point
    (`beside`), of the questions whose every named subject is quoted on or said to be missing
    (`treated`), of the questions that were put to the right sources (`routes`), milliseconds a
    question (`ms`), and under `baseline` the first two for the three sentences that BM25 ranks first."""
    rows = [row for file in files or SETS for row in _measured(file, half)]
    return {"sets": rows}


def _measured(file: Path, half: Half | None) -> Iterator[dict[str, Any]]:
    folder = documents(file)
    lines = file.read_text(encoding="utf-8").splitlines()
    asked = [Labelled.read(json.loads(line), folder) for line in lines]
    plain = Ranked([part for one in sorted(folder.glob("*.*")) for part in _sentences(one)])
    with desk(folder) as there:
        for name in ("seen", "unseen"):
            own = [one for one in asked if one.half == name and half in (None, name)]
            if own:
                found = [_answered(there, one) for one in own]
                base = [_shares(one, plain.best(one.q)) for one in own]
                yield {"set": file.stem, "half": name, "n": len(own), **_told(found)} | {
                    "baseline": {key: _told(base)[key] for key in ("must", "beside")}
                }


def documents(file: Path) -> Path:
    """The folder of the documents that a set is asked of."""
    return SHIPPED if file.stem == "sample" else file.parent / "documents"


@contextmanager
def desk(folder: Path) -> Iterator[Application]:
    """A desk without any key, whose library holds the documents of a folder."""
    with tempfile.TemporaryDirectory() as data:
        there = Application(load_settings({"SIGHTLINE_STARTS_PER_MINUTE": "0"}, data_dir=Path(data)))
        try:
            there.library.set_sample_enabled(folder == SHIPPED)
            if folder != SHIPPED:
                added = there.library.add_files((one.name, one.read_bytes()) for one in sorted(folder.glob("*.*")))
                assert all(item.is_ok for item in added)
            yield there
        finally:
            there.close()


def _answered(there: Application, one: Labelled) -> dict[str, Any]:
    options = there.services.default_options().model_copy(update={"sources": OFFERED})
    started = time.perf_counter()
    run = there.runs.start(one.q, options=options)
    for _ in there.runs.follow(run.id):
        pass
    took = time.perf_counter() - started
    report = there.runs.report(run.id)
    assert report and report.plan and report.answer, f"{one.id} was not answered"
    treated = all(treats(report, names) for names in one.subjects) if one.subjects else None
    return _shares(one, quotes(report)) | {
        "treated": treated,
        "routes": one.routed(task.source for task in report.plan.tasks),
        "ms": 1_000 * took,
    }


def quotes(report: Report) -> list[str]:
    """What an answer quotes from the library, in sections or in the cells of a table."""
    assert report.answer
    own = {
        (item.id, passage.id): passage.text
        for item in report.evidence
        if item.kind == "library"
        for passage in item.passages
    }
    return [
        cells(" ".join(own[cite.evidence, cite.passage][cite.start : cite.end].split()))
        for span in report.answer.spans
        for cite in span.references[:1]
        if (cite.evidence, cite.passage) in own
    ]


def cells(quote: str) -> str:
    """A row of a table without the names of its columns, as it stands in the document."""
    parts = [part.partition(": ") for part in quote.split("; ")]
    return " | ".join(value for _, _, value in parts) if all(v for _, _, v in parts) else quote


def treats(report: Report, names: Iterable[str]) -> bool:
    """Whether an answer cites something on a subject, in whichever of its spellings, or says that
    there is nothing: by its name, or under a part of its own that cites nothing."""
    assert report.answer and report.plan
    items = {item.id: item for item in report.evidence}
    cited = {span.part for span in report.answer.spans if span.references}
    bare_parts = {part.id: part.subject or part.text for part in report.plan.parts if part.id not in cited}

    def around(span: Span) -> Iterator[str]:
        if span.references or span.kind == "missing":
            yield span.text
        if span.kind == "missing":
            yield bare_parts.get(span.part, "")
        for cite in span.references:
            if item := items.get(cite.evidence):
                yield item.title
                yield from (one.heading for one in item.passages if one.id == cite.passage)

    said = [bare(text) for span in report.answer.spans for text in around(span)]
    return any(name in one for name in names for one in said)


def _shares(one: Labelled, quoted: list[str]) -> dict[str, Any]:
    beside, said = one.beside(quoted)
    return {
        "quoted": one.quoted(quoted),
        "wanted": len(one.must),
        "beside": beside,
        "said": said,
        "treated": None,
        "routes": False,
        "ms": 0.0,
    }


def _told(found: list[dict[str, Any]]) -> dict[str, float | None]:
    def share(part: float, whole: float) -> float | None:
        return round(part / whole, 4) if whole else None

    def total(name: str) -> float:
        return sum(row[name] for row in found)

    named = [row["treated"] for row in found if row["treated"] is not None]
    return {
        "must": share(total("quoted"), total("wanted")),
        "beside": share(total("beside"), total("said")),
        "treated": share(sum(named), len(named)),
        "routes": share(total("routes"), len(found)),
        "ms": round(total("ms") / len(found), 1),
    }


def _sentences(document: Path) -> Iterator[str]:
    for text in sections(document).values():
        for at, end in split_sentences(text):
            yield text[at:end]


class Ranked:
    """BM25 over sentences, with the usual constants: what the product has to beat."""

    def __init__(self, texts: list[str]) -> None:
        self.texts, self.bags = texts, [Counter(tokenize(text)) for text in texts]
        self.usual = sum(bag.total() for bag in self.bags) / len(texts)
        self.holding = Counter(term for bag in self.bags for term in bag)

    def best(self, question: str) -> list[str]:
        scored = [(self._score(set(tokenize(question)), bag), n) for n, bag in enumerate(self.bags)]
        first = sorted(scored, key=lambda one: (-one[0], one[1]))[:QUOTED]
        return [self.texts[n] for score, n in first if score > 0]

    def _score(self, terms: set[str], bag: Counter[str]) -> float:
        length = 1.5 * (0.25 + 0.75 * bag.total() / self.usual)
        return sum(self._rare(term) * 2.5 * bag[term] / (bag[term] + length) for term in terms)

    def _rare(self, term: str) -> float:
        held = self.holding[term]
        return math.log(1 + (len(self.texts) - held + 0.5) / (held + 0.5))


def told(found: dict[str, Any]) -> Iterator[str]:
    """The figures as a table."""
    heads = [*FIGURES, "BM25 must", "beside"]
    yield f"{'set':<16}{'half':<8}{'n':>5}" + "".join(f"{head:>10}" for head in heads)
    for row in found["sets"]:
        shares = [row[name] for name in FIGURES[:-1]]
        base = [row["baseline"][name] for name in ("must", "beside")]
        cells = [*map(_cell, shares), f"{row['ms']:>10.0f}", *map(_cell, base)]
        yield f"{row['set']:<16}{row['half']:<8}{row['n']:>5}" + "".join(cells)


def _cell(share: float | None) -> str:
    return f"{'-' if share is None else format(share, '.3f'):>10}"
