"""How often the check of sentences is right on sets of claims with labels, beside plain word overlap."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from research.citations.judge import judge_claim
from research.citations.tokenization import tokenize_text

RESULTS = Path(__file__).with_name("results.json")


@dataclass(frozen=True)
class Claim:
    """A line of a file: a claim, its passages, and what a person says of the two."""

    set: str
    claim: str
    passages: tuple[str, ...]
    supported: bool
    label: str = ""

    @property
    def language(self) -> str:
        return "zh" if tokenize_text(self.claim, True).is_chinese else "en"

    def overlap(self) -> float:
        """The share of the claim's distinct tokens that stand anywhere in the passages."""
        own = tokenize_text(self.claim, True).vocabulary
        there = frozenset(t for passage in self.passages for t in tokenize_text(passage).vocabulary)
        return len(own & there) / len(own) if own else 0.0


def claims(files: Iterable[Path]) -> list[Claim]:
    """The claims of files with one JSON object a line."""
    return [
        Claim(row["set"], row["claim"], tuple(row["passages"]), row["supported"], row.get("label", ""))
        for file in files
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines())
    ]


def balanced(found: Iterable[tuple[bool, bool]]) -> tuple[float, float, float] | None:
    """Balanced accuracy, sensitivity and specificity of pairs of label and finding; None if there is
    one label only."""
    pairs = list(found)
    good, bad = ([said for label, said in pairs if label is want] for want in (True, False))
    if not good or not bad:
        return None
    sensitivity, specificity = sum(good) / len(good), 1 - sum(bad) / len(bad)
    return (sensitivity + specificity) / 2, sensitivity, specificity


def _measured(name: str, own: list[Claim]) -> dict[str, Any]:
    limits = json.loads(RESULTS.read_text(encoding="utf-8"))["overlap_thresholds"]
    said: list[bool] = []
    statuses: list[str] = []
    exceptions = 0
    began = time.perf_counter()
    for each in own:
        try:
            ruling = judge_claim(each.claim, each.passages)
        except Exception:  # noqa: BLE001 - counted: that none happens is one of the things measured
            exceptions += 1
            said.append(False)
            statuses.append("")
            continue
        said.append(ruling.status == "supported")
        statuses.append(ruling.status)
    took = (time.perf_counter() - began) / len(own)
    score = balanced(zip((each.supported for each in own), said, strict=True))
    base = balanced((each.supported, each.overlap() >= limits[each.language]) for each in own)
    out: dict[str, Any] = {
        "set": name,
        "n": len(own),
        "balanced_accuracy": score and round(score[0], 3),
        "sensitivity": score and round(score[1], 3),
        "specificity": score and round(score[2], 3),
        "overlap": base and round(base[0], 3),
        "ms": round(took * 1000, 2),
        "exceptions": exceptions,
        "statuses": {
            status: [
                sum(s == status and each.supported is want for s, each in zip(statuses, own, strict=True))
                for want in (True, False)
            ]
            for status in ("supported", "unclear", "unsupported", "differs")
        },
    }
    contradictions = [s for s, each in zip(said, own, strict=True) if each.label == "contradiction"]
    if contradictions:
        out["contradictions_supported"] = round(sum(contradictions) / len(contradictions), 3)
    return out


def measured(files: Iterable[Path]) -> dict[str, Any]:
    """Each set of some files, and the mean over sets."""
    every = claims(files)
    names = dict.fromkeys(each.set for each in every)
    sets = [_measured(name, [each for each in every if each.set == name]) for name in names]

    def mean(key: str) -> float | None:
        known = [one[key] for one in sets if one[key] is not None]
        return round(statistics.fmean(known), 3) if known else None

    return {"sets": sets, "mean": mean("balanced_accuracy"), "overlap_mean": mean("overlap")}


def told(found: dict[str, Any]) -> Iterator[str]:
    """The lines of a table; `S`, `W` and `D` are how many claims, good and bad, have which status."""
    yield f"{'set':24} {'n':>5} {'balanced':>8} {'overlap':>8} {'sens.':>6} {'spec.':>6} {'ms':>7} {'errors':>6}   supported/unclear/unsupported/differs (good, bad)"
    for one in found["sets"]:
        row = "  ".join(f"{a}, {b}" for a, b in one["statuses"].values())
        figures = [f"{one[key]:.3f}" if one[key] is not None else "-" for key in ("balanced_accuracy", "overlap", "sensitivity", "specificity")]  # fmt: skip
        more = f"   contradictions supported: {one['contradictions_supported']:.3f}" if "contradictions_supported" in one else ""  # fmt: skip
        yield f"{one['set']:24} {one['n']:5} {figures[0]:>8} {figures[1]:>8} {figures[2]:>6} {figures[3]:>6} {one['ms']:7.2f} {one['exceptions']:6}   {row}{more}"
    if found["mean"] is not None:
        yield f"{'mean':24} {'':5} {found['mean']:8.3f} {found['overlap_mean']:8.3f}"
