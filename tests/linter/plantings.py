"""Reports with planted defects (`sentences/*.json`, written for this) and how the check of sentences
does on them.

Each file holds sources with their passages, an answer in the Markdown that models write, whose handles
are the ids of passages, and every sentence of it that claims something, with what a careful reader
says stands behind it. A source may be there twice under two addresses; `same_as` is the place of its
twin. A pair (`--pairs` of the benchmark) is a claim and its passages with such a label.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path

from research.citations.judge import judge_claim
from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import CitedAnswer, number_report_answer
from research.citations.registry import EvidenceRegistry, cites_by_address
from research.citations.support import CheckedSentence, check_support
from research.core.records import (
    Answer,
    Evidence,
    Language,
    Passage,
    PassageReference,
    Record,
    Report,
    Run,
    RunOptions,
    SupportStatus,
)
from research.core.text.quotes import normalise_quote
from research.core.text.tokenizer import LIGHT_WORDS, STOP_WORDS, tokenize

FOLDER = Path(__file__).resolve().parent / "sentences"
MADE = datetime(2025, 6, 1, 8, tzinfo=UTC)
GOOD: tuple[SupportStatus, ...] = ("quoted", "supported")
_SAME = 0.8  # of the longer text, if one sentence is held to be the other


class Labelled(Record):
    """A sentence of an answer, what a careful reader says stands behind it, and what was done to it."""

    text: str
    label: SupportStatus
    kind: str


class Source(Record):
    """A source as a planted report has it."""

    url: str
    title: str
    publisher: str
    published: date
    passages: tuple[Passage, ...]
    same_as: int | None = None


class Planted(Record):
    """A report with planted defects."""

    language: Language
    title: str
    question: str
    sources: tuple[Source, ...]
    answer: str
    sentences: tuple[Labelled, ...]

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The sources as searches bring them: nothing of them is united yet."""
        return tuple(
            Evidence(
                id=f"s{at}",
                kind="web",
                title=source.title,
                publisher=source.publisher,
                url=source.url,
                published=source.published,
                retrieved=MADE,
                passages=source.passages,
            )
            for at, source in enumerate(self.sources)
        )


class Pair(Record):
    """A claim, the passages that it cites, and what a careful reader says of the two."""

    id: str
    lang: str
    claim: str
    passages: tuple[str, ...]
    label: SupportStatus
    kind: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled claim, what was found to stand behind it (None if it was not taken for a claim), and
    how many of its words its passages have (0 to 1)."""

    label: SupportStatus
    found: SupportStatus | None
    overlap: float
    name: str
    kind: str
    language: str

    @property
    def right(self) -> bool:
        """Whether supported was told from unsupported."""
        return self.found is not None and (self.found in GOOD) == (self.label in GOOD)


@dataclass(frozen=True, slots=True)
class Checked:
    """A planted report after the check. `beside` are the sentences found that nobody labelled."""

    cited: CitedAnswer
    judged: tuple[Judged, ...]
    beside: tuple[CheckedSentence, ...]


@cache
def planted() -> dict[str, Planted]:
    """All planted reports by name."""
    files = sorted(FOLDER.glob("*.json"))
    return {f.stem: Planted.model_validate_json(f.read_text(encoding="utf-8")) for f in files}


def pairs(file: Path) -> list[Pair]:
    """The labelled pairs of a file of JSON lines."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [Pair(**json.loads(line)) for line in lines if line.strip()]


def report(name: str) -> Report:
    """A planted report as a finished run has it, its answer read as any model's is."""
    item = planted()[name]
    registry = EvidenceRegistry()
    handles = {
        passage.id: PassageReference(evidence=registry.add(evidence).id, passage=passage.id, end=len(passage.text))
        for evidence in item.evidence
        for passage in evidence.passages
    }
    run = Run(
        id=name,
        conversation=name,
        owner="analyst",
        question=item.question,
        options=RunOptions(sources=("web",)),
        status="done",
        created=MADE,
        finished=MADE,
    )
    answer = Answer(
        title=item.title,
        language=item.language,
        author="planted",
        spans=parse_model_markdown(item.answer, handles, cites_by_address(registry)),
        created=MADE,
    )
    return Report(run=run, answer=answer, evidence=item.evidence)


def check(name: str) -> Checked:
    """Numbers a planted report, checks its sentences and finds the labelled ones among them."""
    item = planted()[name]
    numbered = number_report_answer(report(name))
    assert numbered is not None
    left = list(check_support(numbered).sentences)
    judged = []
    for labelled in item.sentences:
        found = _taken(labelled.text, left)
        judged.append(
            Judged(
                label=labelled.label,
                found=found.status if found else None,
                overlap=overlap(labelled.text, _behind(found, numbered)) if found else 0.0,
                name=f"{name}: {labelled.text[:40]}",
                kind=labelled.kind,
                language=item.language,
            )
        )
    return Checked(numbered, tuple(judged), tuple(left))


def judged(pair: Pair) -> Judged:
    """A pair as the judge of claims finds it."""
    return Judged(
        label=pair.label,
        found=judge_claim(pair.claim, pair.passages).status,
        overlap=overlap(pair.claim, pair.passages),
        name=pair.id,
        kind=pair.kind,
        language=pair.lang,
    )


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", normalise_quote(text)).casefold()


def _taken(text: str, left: list[CheckedSentence]) -> CheckedSentence | None:
    """Takes out the sentence that is a labelled one: the same, or most of it in one piece."""
    wanted = _bare(text)
    exact = (n for n, sentence in enumerate(left) if _bare(sentence.text) == wanted)
    near = (n for n, sentence in enumerate(left) if _near(_bare(sentence.text), wanted))
    at = next(exact, next(near, None))
    return None if at is None else left.pop(at)


def _near(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return bool(short) and short in long and len(short) >= _SAME * len(long)


def _behind(sentence: CheckedSentence, numbered: CitedAnswer) -> list[str]:
    """The passages that a sentence cites."""
    texts = {p.id: p.text for source in numbered.sources for p in source.evidence.passages}
    cites = [cite for at in sentence.spans for cite in numbered.spans[at].span.references]
    return [texts[cite.passage] for cite in cites if cite.passage in texts]


def overlap(claim: str, passages: Iterable[str]) -> float:
    """The share of a claim's words that its passages have: what any real judge has to beat."""
    wanted = {word for word in tokenize(claim) if word not in STOP_WORDS and word not in LIGHT_WORDS}
    there = {word for passage in passages for word in tokenize(passage)}
    return len(wanted & there) / len(wanted) if wanted else 0.0


# --- Scores ---------------------------------------------------------------------------------------


def confusion(of: Iterable[Judged]) -> Counter[tuple[str, str]]:
    """How often which label was found to be what; "" if it was not taken for a claim."""
    return Counter((item.label, item.found or "") for item in of)


def differing(of: Iterable[Judged], beside: Sequence[CheckedSentence] = ()) -> tuple[float, float]:
    """Recall and precision of `differs`; a sentence that nobody labelled is a false alarm."""
    table = confusion(of)
    right = table["differs", "differs"]
    labelled = sum(n for (label, _), n in table.items() if label == "differs")
    found = sum(n for (_, status), n in table.items() if status == "differs")
    found += sum(sentence.status == "differs" for sentence in beside)
    return right / max(1, labelled), right / max(1, found)


def balanced(of: Iterable[Judged], right: Callable[[Judged], bool] | None = None) -> float:
    """The mean of the shares of the supported and of the unsupported that were told as such."""
    seen: dict[bool, list[bool]] = {True: [], False: []}
    for item in of:
        seen[item.label in GOOD].append(right(item) if right else item.right)
    return sum(sum(found) / max(1, len(found)) for found in seen.values()) / 2


def by_words(of: Sequence[Judged]) -> float:
    """What word overlap comes to with the threshold that is best for this very set."""

    def at(least: float) -> float:
        return balanced(of, lambda item: (item.overlap >= least) == (item.label in GOOD))

    return max((at(least) for least in {item.overlap for item in of}), default=0.0)
