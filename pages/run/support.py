"""What stands behind the sentences of an answer: how many have what, and why one is marked."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.shared.localization import format_number, t
from research import (
    SUPPORT_ACCURACY,
    AnswerSupport,
    CheckedSentence,
    CitedAnswer,
    Report,
    check_support,
)

STATUSES = ("quoted", "supported", "unclear", "unsupported", "differs", "none")
MAX_SENTENCE_CHARS = 240  # characters of a sentence in a list
_CACHE_KEY = "support"


def answer_support(report: Report, cited: CitedAnswer) -> AnswerSupport:
    """What stands behind each sentence; worked out once for a run that a visitor looks at."""
    key = (report.run.id, cited.answer.made)
    known = st.session_state.get(_CACHE_KEY)
    if known is None or known[0] != key:
        st.session_state[_CACHE_KEY] = known = (key, check_support(cited))
    found: AnswerSupport = known[1]
    return found


def summarize(sentence_support: AnswerSupport, cited: CitedAnswer) -> dict[str, Any] | None:
    """What stands above an answer: the line of counts and what it opens.

    None if the answer claims nothing, or if all of it is the rows of a database.
    """
    kinds = {source.evidence.id: source.evidence.kind for source in cited.sources}
    if all(kinds.get(sentence.evidence) == "database" for sentence in sentence_support.sentences):
        return None
    judged = sum(sentence.ruled for sentence in sentence_support.sentences)
    notes = [accuracy_text()]
    if judged:
        notes.append(t("support.ruled", n=format_number(judged)))
    doubtful = [
        {
            "at": sentence.at,
            "status": sentence.status,
            "text": _shorten(sentence.text),
            "why": status_text(sentence, cited),
        }
        for sentence in sentence_support.doubtful_sentences
    ]
    return {
        "line": counts_text(sentence_support),
        "doubtful": doubtful,
        "title": t("support.doubtful", n=format_number(len(doubtful))),
        "legend": t("support.legend"),
        "meanings": [
            {"status": status, "name": t(f"standing.{status}"), "text": t(f"meaning.{status}")} for status in STATUSES
        ],
        "notes": notes,
    }


def accuracy_text() -> str:
    """How good the check is, as it was measured, beside plain word overlap."""
    shares = {
        f"{language}_{name}": round(100 * share)
        for language, measured in SUPPORT_ACCURACY.items()
        for name, share in measured.model_dump().items()
    }
    return t("support.accuracy", **shares)


def counts_text(sentence_support: AnswerSupport) -> str:
    """How many sentences have what behind them."""
    counts = sentence_support.counts
    if counts.quoted == counts.total:
        return t("support.quoted", n=format_number(counts.total))
    ok = format_number(counts.quoted + counts.supported)
    facts = [t("support.line", total=format_number(counts.total), ok=ok)]
    for status in STATUSES[2:]:
        n = getattr(counts, status)
        facts += [t(f"count.{status}", n=format_number(n))] if n else []
    return t("mark.comma").join(facts)


def sentence_marks(sentence_support: AnswerSupport, cited: CitedAnswer) -> dict[int, dict[str, Any]]:
    """What each mark says, by the sentence behind which it stands."""
    out = {}
    for sentence in sentence_support.doubtful_sentences:
        out[sentence.at] = {
            "at": sentence.at,
            "status": sentence.status,
            "name": t(f"standing.{sentence.status}"),
            "label": status_text(sentence, cited),
            "reasons": gap_texts(sentence, cited),
            "near": _nearest_citation(sentence, cited),
        }
    return out


def status_text(sentence: CheckedSentence, cited: CitedAnswer) -> str:
    """The status in words, with what speaks against the sentence."""
    name, told = t(f"standing.{sentence.status}"), gap_texts(sentence, cited)
    if not told:
        return name
    return name + t("mark.colon") + t("mark.semicolon").join(told)


def gap_texts(sentence: CheckedSentence, cited: CitedAnswer) -> list[str]:
    """What the passages lack of a sentence, or what is wrong with its source."""
    told = []
    for lack in sentence.lacks:
        most = lack.kind == "words" and len(lack.text) * 2 > len(sentence.text)
        if most and not lack.found:
            continue  # to say most of the sentence again tells nothing
        if lack.found:
            told.append(t(f"other.{lack.kind}", text=_shorten(lack.text, 80), found=_shorten(lack.found, 80)))
        elif lack.text or lack.kind == "language":
            told.append(t(f"lack.{lack.kind}", text=_shorten(lack.text, 80)))
    if sentence.reason.strip():
        told.append(t("support.reason", text=_shorten(sentence.reason)))
    if any(cited.spans[at].unsourced for at in sentence.spans):
        told.append(t("support.unsourced"))
    elif sentence.status in ("unclear", "unsupported") and not told:
        told.append(t("support.unclear"))
    return told


def source_uses(sentence_support: AnswerSupport, cited: CitedAnswer) -> dict[str, list[dict[str, Any]]]:
    """For each source the sentences that use it, each with the place where it is cited."""
    out: dict[str, list[dict[str, Any]]] = {}
    for source in cited.sources:
        used = sentence_support.citing(source.number)
        out[str(source.number)] = [
            {
                "at": citing_span(sentence, source.number, cited),
                "status": sentence.status,
                "name": t(f"standing.{sentence.status}"),
                "text": _shorten(sentence.text),
            }
            for sentence in used
        ]
    return out


def citing_span(sentence: CheckedSentence, source_number: int, cited: CitedAnswer) -> int:
    """The span of a sentence that cites a source."""
    return next(at for at in sentence.spans if source_number in cited.spans[at].numbers)


def _nearest_citation(sentence: CheckedSentence, cited: CitedAnswer) -> dict[str, int] | None:
    """The citation whose passage comes nearest to a sentence."""
    for source in cited.sources:
        if source.evidence.id == sentence.evidence and source.number in sentence.numbers:
            return {"n": source.number, "at": citing_span(sentence, source.number, cited)}
    return None


def _shorten(text: str, max_characters: int = MAX_SENTENCE_CHARS) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"
