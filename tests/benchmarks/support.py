"""How well sentences are checked against the passages that they cite, on reports with planted defects.

The reports are those of `tests/audit/sentences`: sentences that their sources say, in the same or
in other words, and sentences with another figure, date, unit, source or name, with a negation, with no
citation or an invented one. `differs` is found or not; of all, "supported" (quoted and supported) is
told from "unsupported". Beside it stands what plain word overlap reaches with the threshold that is
best for the very set. With a file of labelled pairs the judge alone is measured on them as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from research.citations.numbering import CitedAnswer, number_report_answer
from research.citations.registry import EvidenceRegistry
from research.citations.support import CheckedSentence, check_support
from research.core.records import Answer, PassageReference, Report, Span
from tests.benchmarks.figures import Figure
from tests.linter.plantings import (
    MADE,
    Judged,
    balanced,
    by_words,
    check,
    confusion,
    differing,
    judged,
    pairs,
    planted,
    report,
)

PAIRS = Path(__file__).resolve().parent.parent / "linter" / "pairs"
PRECISION = 0.9
SENTENCES, SOURCES = 900, 300  # of a report of about 30 pages
LANGUAGES = {"": "all", "zh": "Chinese", "en": "English", "mixed": "mixed"}


def figures(file: Path | None = None) -> Iterator[Figure]:
    begun = time.process_time()
    checked = [check(name) for name in planted()]
    spent = time.process_time() - begun
    found = [item for report in checked for item in report.judged]
    beside = [sentence for report in checked for sentence in report.beside]
    yield from _scores("reports", found, beside)
    yield Figure("reports, sentences nobody labelled", len(beside), note=_texts(beside))
    yield Figure("reports, processor a sentence", 1000 * spent / max(1, len(found)), "ms")
    long = _long()
    begun = time.process_time()
    check_support(long)
    spent = time.process_time() - begun
    note = f"{SENTENCES} sentences, {len(long.sources)} sources"
    yield Figure("a report of 30 pages, processor", spent, "s", target=1.0, note=note)
    for known in sorted(PAIRS.glob("*.jsonl")):
        yield from _scores(f"pairs, {known.stem}", [judged(pair) for pair in pairs(known)])
    if file:
        yield from _scores(file.stem, [judged(pair) for pair in pairs(file)])


def _long() -> CitedAnswer:
    """The sentences of the planted reports one after the other, again and again; three of them cite one
    source, whose passages are those of a source of their report and nobody else's."""
    every = [(name, s) for name, item in planted().items() for s in item.sentences]
    registry, evidence, spans = EvidenceRegistry(), [], []
    for n in range(SENTENCES):
        name, sentence = every[n % len(every)]
        if n % (SENTENCES // SOURCES) == 0:
            own = planted()[name].evidence
            first = own[n % len(own)]
            passages = tuple(p.model_copy(update={"text": f"{p.text} ({n})"}) for p in first.passages)
            update = {"url": f"https://example.org/{n}", "passages": passages}
            evidence.append(registry.add(first.model_copy(update=update)))
        source = evidence[-1]
        cites = tuple(PassageReference(evidence=source.id, passage=p.id) for p in source.passages)
        spans.append(Span(kind="text", text=f"{sentence.text}\n\n", references=cites))
    run = report(next(iter(planted()))).run
    answer = Answer(title="Long", language="en", author="planted", spans=tuple(spans), created=MADE)
    numbered = number_report_answer(Report(run=run, answer=answer, evidence=tuple(evidence)))
    assert numbered is not None and len(numbered.sources) == SOURCES
    return numbered


def _scores(what: str, of: Sequence[Judged], beside: Sequence[CheckedSentence] = ()) -> Iterator[Figure]:
    for language, title in LANGUAGES.items():
        part = [item for item in of if language in ("", item.language)]
        if not part:
            continue
        recall, precision = differing(part, () if language else beside)
        note = f"{len(part)} claims"
        yield Figure(f"{what}, {title}: recall of differs", recall, note=note)
        wanted = PRECISION if what == "reports" else None
        yield Figure(f"{what}, {title}: precision of differs", precision, target=wanted, more=True)
        cited = [item for item in part if item.label != "none"]
        ways = {"cited": cited, "all": part} if len(cited) < len(part) else {"cited": cited}
        for way, chosen in ways.items():
            name = f"{what}, {title}: balanced accuracy, {way}"
            words = f"by words alone {by_words(chosen):.2f}"
            yield Figure(name, balanced(chosen), note=words)
    for kind in sorted({item.kind for item in of}):
        part = [item for item in of if item.kind == kind]
        share = sum(item.right for item in part) / len(part)
        yield Figure(f"{what}, {kind}", share, note=f"of {len(part)} told from the other kind")
    for (label, status), count in sorted(confusion(of).items()):
        yield Figure(f"{what}, {label} found {status or 'to be no claim'}", count)


def _texts(sentences: Sequence[CheckedSentence]) -> str:
    return " / ".join(f"{sentence.status}: {sentence.text[:30]}" for sentence in sentences)
