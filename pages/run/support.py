"""What stands behind the sentences of an answer: how many have what, and why one is marked."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.shared.words import number, t
from research import (
    SUPPORT_ACCURACY,
    CitedAnswer,
    Report,
    Sentence,
    Support,
    support,
)

STATUSES = ("quoted", "supported", "unclear", "unsupported", "differs", "none")
SHOWN = 240  # characters of a sentence in a list
_KEPT = "support"


def of(report: Report, cited: CitedAnswer) -> Support:
    """What stands behind each sentence; worked out once for a run that a visitor looks at."""
    key = (report.run.id, cited.answer.made)
    known = st.session_state.get(_KEPT)
    if known is None or known[0] != key:
        st.session_state[_KEPT] = known = (key, support(cited))
    found: Support = known[1]
    return found


def summary(found: Support, cited: CitedAnswer) -> dict[str, Any] | None:
    """What stands above an answer: the line of counts and what it opens.

    None if the answer claims nothing, or if all of it is the rows of a database.
    """
    kinds = {source.evidence.id: source.evidence.kind for source in cited.sources}
    if all(kinds.get(sentence.evidence) == "database" for sentence in found.sentences):
        return None
    judged = sum(sentence.ruled for sentence in found.sentences)
    notes = [accuracy()]
    if judged:
        notes.append(t("support.ruled", n=number(judged)))
    doubtful = [
        {
            "at": sentence.at,
            "status": sentence.status,
            "text": _cut(sentence.text),
            "why": why(sentence, cited),
        }
        for sentence in found.doubtful
    ]
    return {
        "line": line(found),
        "doubtful": doubtful,
        "title": t("support.doubtful", n=number(len(doubtful))),
        "legend": t("support.legend"),
        "meanings": [
            {"status": status, "name": t(f"standing.{status}"), "text": t(f"meaning.{status}")}
            for status in STATUSES
        ],
        "notes": notes,
    }


def accuracy() -> str:
    """How good the check is, as it was measured, beside plain word overlap."""
    shares = {
        f"{language}_{name}": round(100 * share)
        for language, measured in SUPPORT_ACCURACY.items()
        for name, share in measured.model_dump().items()
    }
    return t("support.accuracy", **shares)


def line(found: Support) -> str:
    """How many sentences have what behind them."""
    counts = found.counts
    if counts.quoted == counts.total:
        return t("support.quoted", n=number(counts.total))
    ok = number(counts.quoted + counts.supported)
    facts = [t("support.line", total=number(counts.total), ok=ok)]
    for status in STATUSES[2:]:
        n = getattr(counts, status)
        facts += [t(f"count.{status}", n=number(n))] if n else []
    return t("mark.comma").join(facts)


def marks(found: Support, cited: CitedAnswer) -> dict[int, dict[str, Any]]:
    """What each mark says, by the sentence behind which it stands."""
    out = {}
    for sentence in found.doubtful:
        out[sentence.at] = {
            "at": sentence.at,
            "status": sentence.status,
            "name": t(f"standing.{sentence.status}"),
            "label": why(sentence, cited),
            "reasons": reasons(sentence, cited),
            "near": _nearest(sentence, cited),
        }
    return out


def why(sentence: Sentence, cited: CitedAnswer) -> str:
    """The status in words, with what speaks against the sentence."""
    name, told = t(f"standing.{sentence.status}"), reasons(sentence, cited)
    if not told:
        return name
    return name + t("mark.colon") + t("mark.semicolon").join(told)


def reasons(sentence: Sentence, cited: CitedAnswer) -> list[str]:
    """What the passages lack of a sentence, or what is wrong with its source."""
    told = []
    for lack in sentence.lacks:
        most = lack.kind == "words" and len(lack.text) * 2 > len(sentence.text)
        if most and not lack.found:
            continue  # to say most of the sentence again tells nothing
        if lack.found:
            told.append(
                t(f"other.{lack.kind}", text=_cut(lack.text, 80), found=_cut(lack.found, 80))
            )
        elif lack.text or lack.kind == "language":
            told.append(t(f"lack.{lack.kind}", text=_cut(lack.text, 80)))
    if sentence.reason.strip():
        told.append(t("support.reason", text=_cut(sentence.reason)))
    if any(cited.spans[at].unsourced for at in sentence.spans):
        told.append(t("support.unsourced"))
    elif sentence.status in ("unclear", "unsupported") and not told:
        told.append(t("support.unclear"))
    return told


def uses(found: Support, cited: CitedAnswer) -> dict[str, list[dict[str, Any]]]:
    """For each source the sentences that use it, each with the place where it is cited."""
    out: dict[str, list[dict[str, Any]]] = {}
    for source in cited.sources:
        used = found.of(source.number)
        out[str(source.number)] = [
            {
                "at": place(sentence, source.number, cited),
                "status": sentence.status,
                "name": t(f"standing.{sentence.status}"),
                "text": _cut(sentence.text),
            }
            for sentence in used
        ]
    return out


def place(sentence: Sentence, source: int, cited: CitedAnswer) -> int:
    """The span of a sentence that cites a source."""
    return next(at for at in sentence.spans if source in cited.spans[at].numbers)


def _nearest(sentence: Sentence, cited: CitedAnswer) -> dict[str, int] | None:
    """The citation whose passage comes nearest to a sentence."""
    for source in cited.sources:
        if source.evidence.id == sentence.evidence and source.number in sentence.numbers:
            return {"n": source.number, "at": place(sentence, source.number, cited)}
    return None


def _cut(text: str, limit: int = SHOWN) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
