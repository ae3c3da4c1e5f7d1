"""Fits the choice of sentences: `python -m tests.yardsticks.fit_quotes retrieval_zh.jsonl`.

Fitted on the questions of the file, each asked of the library of all its texts, and once more without
the text that has its answer; and on the seen halves of the questions in `answers`. A
sentence is right that has the answer, or is labelled as on the point. Logistic regression with a ridge;
every set has a weight of its own. The figures that are reported are those of questions that were left
out of the fit, by a hash of their text. Writes `research/data/quotes.json` and `quotes.json` beside this.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from research.agent.extractive.quote_selection import MAX_QUOTES, candidates_with_features
from research.agent.extractive.reasoner import ExtractiveReasoner
from research.agent.nodes.question import clean_question
from research.agent.reasoner import ReasonerInput
from research.core.events import ignore_event
from research.core.records import Finding, Part, Plan, RunOptions
from research.sources.library.index import Library
from research.sources.library.retriever import LibraryRetriever
from tests.yardsticks import answers
from tests.yardsticks.retrieval import Text

FEATURES = ("said", "looks", "rank", "lost")
SHARES = {"CMRC": 1.0, "unanswerable": 1.0, "sample": 0.5, "other": 0.5}  # of the weight of the fit
RIDGE = 0.001
QUOTED = 0.15  # the chance from which a sentence is quoted
BESIDE = 0.5  # the share of the best chance that each further one has
WAYS = 3  # in which a part is looked for in the end
WEIGHTS = Path(__file__).parents[2] / "research" / "data" / "quotes.json"
RESULTS = Path(__file__).with_name("quotes.json")
Array = Any


@dataclass
class Case:
    """A part of a question with the features of its candidates, and which of them are right."""

    set: str
    rows: Array
    right: Array
    half: int


async def _looked_up(
    library: Library, asked: str, reflected: bool
) -> list[tuple[ExtractiveReasoner, str, Part, list[Finding]]]:
    """The parts of a question with all that is found when each is looked for in several ways."""
    reasoner, source = ExtractiveReasoner(library), LibraryRetriever(library)
    question, options = clean_question(asked), RunOptions()
    plan = await reasoner.plan(ReasonerInput(question, options, ignore_event))
    if not isinstance(plan, Plan):
        return []
    findings = [await source.search(task, ignore_event) for task in plan.tasks]
    if reflected:
        for part in plan.parts:
            ways = [*reasoner.alternative_tasks(question, plan, part, findings)][:WAYS]
            findings += [await source.search(task, ignore_event) for task in ways]
    return [(reasoner, question.text, part, findings) for part in plan.parts]


def _case(name: str, found: tuple[ExtractiveReasoner, str, Part, list[Finding]], right: Any, key: str) -> Case:
    reasoner, text, part, findings = found
    asked, names, proper = reasoner.search_terms(part, text)
    some = candidates_with_features(asked, names, proper, findings)
    rows = [[values[name] for name in FEATURES] for _, values in some]
    half = hashlib.md5(key.encode(), usedforsecurity=False).digest()[0] & 1
    return Case(name, np.array(rows), np.array([right(one.text) for one, _ in some], bool), half)


async def _read(library: Library, texts: list[Text]) -> list[Case]:
    out: list[Case] = []
    for n, text in enumerate(texts):
        for asked, told in text.questions:
            for found in await _looked_up(library, asked, reflected=False):
                out.append(_case("CMRC", found, lambda line, t=told: any(a in line for a in t), text.text))
                rest = [_without(str(n), finding) for finding in found[3]]
                out.append(_case("unanswerable", (*found[:3], rest), lambda line: False, text.text))
    return out


def _without(name: str, finding: Finding) -> Finding:
    kept = tuple(one for one in finding.evidence if one.title != name)
    return finding.model_copy(update={"evidence": kept})


async def _labelled(library: Library, asked: list[answers.Labelled], name: str) -> list[Case]:
    out = []
    for one in asked:
        fit = [text for group in one.must for text in group] + list(one.may)

        def right(line: str, fit: Sequence[str] = fit) -> bool:
            told = answers.bare(answers.cells(line))
            return any(told in text or text in told for text in fit)

        for found in await _looked_up(library, one.q, reflected=True):
            out.append(_case(name, found, right, one.id))
    return out


def cases(file: Path) -> list[Case]:
    """All parts of all questions that have a sentence to choose from."""
    lines = file.read_text(encoding="utf-8").splitlines()
    texts = [Text.read(line, "as written") for line in lines]
    out: list[Case] = []
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder) / "library.db")
        library.set_sample_enabled(False)
        list(library.add_files((f"{n}.txt", one.text.encode()) for n, one in enumerate(texts)))
        out += asyncio.run(_read(library, texts))
        library.close()
    for path in answers.SETS:
        folder = answers.documents(path)
        rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        asked = [answers.Labelled.read(row, folder) for row in rows]
        mine = [one for one in asked if one.half == "seen" and one.route == {"library"}]
        with answers.desk(folder) as there:
            out += asyncio.run(_labelled(there.library, mine, path.stem))
    return [case for case in out if len(case.right)]


def fitted(some: list[Case], use: Sequence[int]) -> Array:
    """The weights of the features and, last, the bias. Newton's method."""
    sizes = {name: sum(len(c.right) for c in some if c.set == name) for name in SHARES}
    x = np.vstack([case.rows[:, use] for case in some])
    y = np.concatenate([case.right for case in some]).astype(float)
    w = np.concatenate([np.full(len(c.right), SHARES[c.set] / sizes[c.set]) for c in some]) / sum(SHARES.values())
    z = np.c_[x, np.ones(len(x))]
    ridge = np.diag([RIDGE] * x.shape[1] + [0.0])
    b = np.zeros(z.shape[1])
    for _ in range(40):
        p = 1 / (1 + np.exp(-z @ b))
        slope = z.T @ (w * (p - y)) + ridge @ b
        b -= np.linalg.solve((z * (w * p * (1 - p))[:, None]).T @ z + ridge, slope)
    return b


def unseen(every: list[Case], use: Sequence[int]) -> dict[str, float]:
    """Of parts left out of the fit: the share on which something right is quoted, by set (for what
    cannot be answered, the share that is quoted on at all), and that of quotes beside the point."""
    told: dict[str, list[bool]] = {}
    beside: list[bool] = []
    for half in (0, 1):
        b = fitted([case for case in every if case.half != half], use)
        for case in every:
            if case.half == half:
                p = 1 / (1 + np.exp(-(case.rows[:, use] @ b[:-1] + b[-1])))
                best = np.argsort(-p)[:MAX_QUOTES]
                best = best[(p[best] >= QUOTED) & (p[best] >= BESIDE * p.max())]
                hit = len(best) > 0 if case.set == "unanswerable" else case.right[best].any()
                told.setdefault(case.set, []).append(bool(hit))
                if case.set in ("sample", "other"):
                    beside += list(~case.right[best])
    shares = {name: round(float(np.mean(found)), 3) for name, found in told.items()}
    return {**shares, "beside": round(float(np.mean(beside)), 3)}


def main(file: str) -> None:
    every = cases(Path(file))
    whole = range(len(FEATURES))
    results = {
        "n": {name: sum(case.set == name for case in every) for name in SHARES},
        "unseen": unseen(every, whole),
        "without": {name: unseen(every, [at for at in whole if at != gone]) for gone, name in enumerate(FEATURES)},
    }
    b = fitted(every, whole).round(3)
    shipped = {
        "about": "Weights of research/agent/extractive/quote_selection.py, by tests/yardsticks/fit_quotes.py",
        "weights": dict(zip(FEATURES, map(float, b[:-1]), strict=True)),
        "bias": float(b[-1]),
        "quoted": QUOTED,
        "beside": BESIDE,
    }
    for path, content in ((WEIGHTS, shipped), (RESULTS, results)):
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main(sys.argv[1])
