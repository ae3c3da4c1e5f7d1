"""How often the table of conflicts shows that sources differ, and how often it says so of sources that agree.

Each line of a file is a question with its right answer and a false one, passages that give the right one
(`positive`), the same passages with the false one in its place (`positive_wrong`), and others that give none
(`negative`). Only questions whose answers are figures or dates are asked for a conflict; all have passages that
agree. `python -m tests.yardsticks.conflicts ZH.jsonl EN.jsonl` writes `conflicts.json`: the two halves of the files, and
each part of the comparison left out in turn.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

from research.citations import mention_comparison, mentions
from research.citations.disagreements import find_disagreements
from research.citations.tokenization import TokenizedSentence, tokenize_text
from research.core.records import Evidence, Passage, Report, Run, RunOptions
from research.core.text.quantities import Measure, find_measures, measures_agree

RESULTS = Path(__file__).with_name("conflicts.json")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIGURES = ("shown", "apart", "false", "alarms")

Sources = Sequence[Sequence[str]]  # the passages of each source
Finds = Callable[["Question", Sources], list[tuple[str, ...]]]


@dataclass(frozen=True)
class Question:
    """A line of a file. `right` and `wrong` are the spellings of either answer."""

    query: str
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    positive: tuple[str, ...]
    altered: tuple[str, ...]
    negative: tuple[str, ...]

    @classmethod
    def read(cls, line: str) -> Question:
        row = json.loads(line)
        return cls(
            row["query"],
            tuple(_spellings(row["answer"])),
            tuple(_spellings(row["fakeanswer"])),
            tuple(row["positive"]),
            tuple(row["positive_wrong"]),
            tuple(row["negative"]),
        )

    @property
    def numeric(self) -> bool:
        """Whether both answers are figures or dates, and other ones."""
        return bool(
            self.wrong
            and _figures(self.right)
            and not any(_says(spelling, self.right) for spelling in self.wrong)
            and _figures(self.wrong)
        )


def _spellings(answer: Any) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    else:
        for each in answer:
            yield from _spellings(each)


def _figures(spellings: Iterable[str]) -> list[Measure]:
    return [measure for text in spellings for measure in find_measures(text)]


def _says(text: str, answer: Iterable[str]) -> bool:
    """Whether a text gives one of the figures of an answer."""
    return any(measures_agree(mine, its) for mine in _figures(answer) for its in find_measures(text))


def product(question: Question, sources: Sources) -> list[tuple[str, ...]]:
    """The figures of each conflict that the product shows for a run with these sources."""
    evidence = tuple(
        Evidence(
            id=f"e{n}", kind="web", title="", url=f"https://s{n}.example/", locator="", retrieved=NOW,
            passages=tuple(Passage(id=f"p{n}.{k}", text=text, end=len(text)) for k, text in enumerate(texts)),
        )
        for n, texts in enumerate(sources)
    )  # fmt: skip
    run = Run(
        id="r", conversation="c", owner="o", question=question.query, options=RunOptions(), status="done",
        created=NOW,
    )  # fmt: skip
    return [
        tuple(figure.text for figure in one.figures)
        for one in find_disagreements(Report(run=run, evidence=evidence), None)
    ]


def overlap(threshold: float) -> Finds:
    """The plain way: two other figures of one unit, in sentences that share so much of their words."""

    def finds(_: Question, sources: Sources) -> list[tuple[str, ...]]:
        return [
            (text[m.start : m.end], other[n.start : n.end])
            for one, two in combinations(sources, 2)
            for text, other, m, n, share in _rivals(tuple(one), tuple(two))
            if share >= threshold
        ]

    return finds


def _rivals(one: Sequence[str], two: Sequence[str]) -> Iterator[tuple[str, str, Measure, Measure, float]]:
    for a in _sentences(one):
        for b in _sentences(two):
            share = _shared(a, b)
            for m in a.measures:
                for n in b.measures:
                    if m.kind == n.kind and m.unit == n.unit and not (measures_agree(m, n) or measures_agree(n, m)):
                        yield a.folded, b.folded, m, n, share


def _sentences(texts: Iterable[str]) -> list[TokenizedSentence]:
    return [sentence for text in texts for sentence in tokenize_text(text).sentences]


def _shared(one: TokenizedSentence, other: TokenizedSentence) -> float:
    mine, its = ({token for token in s.tokens if not token[0].isdigit()} for s in (one, other))
    return len(mine & its) / (min(len(mine), len(its)) or 1)


def shown(finds: Finds, question: Question, sources: Sources) -> bool:
    """Whether a conflict has both the right figure and the false one."""
    return any(
        any(_says(text, question.right) for text in figures) and any(_says(text, question.wrong) for text in figures)
        for figures in finds(question, sources)
    )


def _share(found: Iterable[bool]) -> float | None:
    told = list(found)
    return round(sum(told) / len(told), 3) if told else None


def scores(finds: Finds, questions: Sequence[Question]) -> dict[str, float | None]:
    """`shown` with the passages of one source against the same with the false figure, `apart` where the
    false figure stands in other passages than the right one, `false` of pairs of right passages; `alarms`
    of questions, where each passage that was found is a source, and some may well differ."""
    numeric = [question for question in questions if question.numeric]
    return {
        "shown": _share(shown(finds, q, (q.positive, q.altered)) for q in numeric),
        "apart": _share(shown(finds, q, (q.positive[::2], q.altered[1::2])) for q in numeric if len(q.positive) > 1),
        "false": _share(
            bool(finds(q, ((one,), (two,)))) for q in questions for one, two in combinations(q.positive, 2)
        ),
        "alarms": _share(
            bool(finds(q, [(text,) for text in dict.fromkeys(q.positive + q.negative)])) for q in questions
        ),
    }


def learnt(questions: Sequence[Question]) -> float:
    """The threshold of the plain way with the highest sum of `shown` and of pairs left alone."""

    def worth(threshold: float) -> float:
        found = scores(overlap(threshold), questions)
        return (found["shown"] or 0) - (found["false"] or 0)

    return max((n / 20 for n in range(1, 21)), key=worth)


def questions_of(file: Path) -> list[Question]:
    return [Question.read(line) for line in file.read_text(encoding="utf-8").splitlines()]


def row(name: str, questions: Sequence[Question], threshold: float) -> dict[str, Any]:
    """How many questions, numeric ones and pairs of right passages, and the scores, beside those of the
    plain way."""
    plain = scores(overlap(threshold), questions)
    return {
        "set": name,
        "n": len(questions),
        "numeric": sum(question.numeric for question in questions),
        "pairs": sum(len(q.positive) * (len(q.positive) - 1) // 2 for q in questions),
        **scores(product, questions),
        **{f"overlap_{key}": score for key, score in plain.items()},
    }


def language(questions: Sequence[Question]) -> str:
    return "zh" if tokenize_text(questions[0].query, True).is_chinese else "en"


def _measured(file: Path) -> dict[str, Any]:
    questions = questions_of(file)
    learnt_on_other = json.loads(RESULTS.read_text(encoding="utf-8"))["overlap_thresholds"]
    return row(file.name, questions, learnt_on_other[language(questions)])


def measured(files: Iterable[Path]) -> dict[str, Any]:
    """`sets` with a row for each file."""
    return {"sets": [_measured(file) for file in files]}


def told(found: dict[str, Any]) -> Iterator[str]:
    """The figures as a table, those of the plain way in brackets."""
    yield f"{'set':<24}{'n':>5}{'numeric':>9}{'pairs':>7}" + "".join(f"{n:>14}" for n in FIGURES)
    for one in found["sets"]:
        yield f"{one['set']:<24}{one['n']:>5}{one['numeric']:>9}{one['pairs']:>7}" + "".join(
            f"{_shown(one[name]) + ' (' + _shown(one[f'overlap_{name}']) + ')':>14}" for name in FIGURES
        )


def _shown(score: float | None) -> str:
    return "–" if score is None else f"{score:.2f}"


# A part of the comparison, and what stands in its place when it is left out.
PARTS: dict[str, dict[str, Any]] = {
    "words": {"MIN_WORD_OVERLAP": 0.0, "MIN_WORD_OVERLAP_FOR_YEARS": 0.0},
    "years": {"MIN_WORD_OVERLAP_FOR_YEARS": mention_comparison.MIN_WORD_OVERLAP},
    "qualifiers": {"qualifiers_in": lambda _: frozenset()},
    "taken back": {"RETRACTING_CUES": frozenset()},
    "other figures": {"_has_other_context": lambda *_: False},
    "numbers of names": {"_misses_number": lambda *_: False},
    "same figure": {"_has_other_precision": lambda *_: False},
    "attributes": {"_has_same_attribute": lambda *_: True},
    "names": {"_has_same_names": lambda *_: True},
    "enough": {"_shares_enough": lambda *_: True},
}


def without(part: str, questions: Sequence[Question]) -> dict[str, float | None]:
    """The scores with a part of the comparison left out."""
    mentions.find_mentions.cache_clear()
    with ExitStack() as patches:
        for name, instead in PARTS[part].items():
            module = mention_comparison if hasattr(mention_comparison, name) else mentions
            patches.enter_context(patch.object(module, name, instead))
        found = scores(product, questions)
    mentions.find_mentions.cache_clear()
    return found


def kept_back(question: Question) -> bool:
    """Whether a question is of the half that was not looked at when the comparison was made."""
    return hashlib.sha256(question.query.encode()).digest()[0] % 2 == 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.yardsticks.conflicts")
    parser.add_argument("files", nargs=2, type=Path)
    files = {language(own): own for own in map(questions_of, parser.parse_args().files)}
    seen = {key: [q for q in own if not kept_back(q)] for key, own in files.items()}
    kept = {key: [q for q in own if kept_back(q)] for key, own in files.items()}
    limits = {"zh": learnt(seen["en"]), "en": learnt(seen["zh"])}
    every = [question for own in seen.values() for question in own]
    found = {
        "overlap_thresholds": limits,
        "seen": {key: row(key, own, limits[key]) for key, own in seen.items()},
        "kept back": {key: row(key, own, limits[key]) for key, own in kept.items()},
        "all": scores(product, every),
        "without": {part: without(part, every) for part in PARTS},
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
