"""Support of the sentences of an answer: counts by status, and the reasons of each mark."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.shared.escaping import to_single_line
from pages.shared.localization import format_number, t
from research import SUPPORT_ACCURACY, AnswerSupport, CheckedSentence, CitedAnswer, Report, check_support

STATUSES = ("quoted", "supported", "unclear", "unsupported", "differs", "none")
MAX_SENTENCE_CHARS = 240  # of a sentence in a list
_CACHE_KEY = "support"


def answer_support(report: Report, cited: CitedAnswer) -> AnswerSupport:
    """Return the support of each sentence, computed once per session for the run on the page."""
    key = (report.run.id, cited.answer.created)
    cached = st.session_state.get(_CACHE_KEY)
    if cached is None or cached[0] != key:
        st.session_state[_CACHE_KEY] = cached = (key, check_support(cited))
    result: AnswerSupport = cached[1]
    return result


def summarize(sentence_support: AnswerSupport, cited: CitedAnswer) -> dict[str, Any] | None:
    """Return the line of counts above an answer, with the details that it opens.

    Return None if the answer claims nothing, or if all its sentences rest on database rows.
    """
    kinds = {source.evidence.id: source.evidence.kind for source in cited.sources}
    if all(kinds.get(sentence.evidence) == "database" for sentence in sentence_support.sentences):
        return None
    notes = [accuracy_text()]
    if ruled_count := sum(sentence.ruled for sentence in sentence_support.sentences):
        notes.append(t("support.ruled", n=format_number(ruled_count)))
    doubtful = [
        {
            "at": sentence.at,
            "status": sentence.status,
            "text": to_single_line(sentence.text, MAX_SENTENCE_CHARS),
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
    """Return the measured accuracy of the check, beside that of plain word overlap."""
    shares = {
        f"{language}_{name}": round(100 * share)
        for language, measured in SUPPORT_ACCURACY.items()
        for name, share in measured.model_dump().items()
    }
    return t("support.accuracy", **shares)


def counts_text(sentence_support: AnswerSupport) -> str:
    """Return one line with the number of sentences of each status."""
    counts = sentence_support.counts
    if counts.quoted == counts.total:
        return t("support.quoted", n=format_number(counts.total))
    supported_count = format_number(counts.quoted + counts.supported)
    facts = [t("support.line", total=format_number(counts.total), ok=supported_count)]
    for status in STATUSES[2:]:
        n = getattr(counts, status)
        facts += [t(f"count.{status}", n=format_number(n))] if n else []
    return t("mark.comma").join(facts)


def sentence_marks(sentence_support: AnswerSupport, cited: CitedAnswer) -> dict[int, dict[str, Any]]:
    """Return the mark of each doubtful sentence, by sentence index."""
    return {
        sentence.at: {
            "at": sentence.at,
            "status": sentence.status,
            "name": t(f"standing.{sentence.status}"),
            "label": status_text(sentence, cited),
            "reasons": gap_texts(sentence, cited),
            "near": _nearest_citation(sentence, cited),
        }
        for sentence in sentence_support.doubtful_sentences
    }


def status_text(sentence: CheckedSentence, cited: CitedAnswer) -> str:
    """Return the localised status of a sentence, with the reasons against it."""
    name, reasons = t(f"standing.{sentence.status}"), gap_texts(sentence, cited)
    if not reasons:
        return name
    return name + t("mark.colon") + t("mark.semicolon").join(reasons)


def gap_texts(sentence: CheckedSentence, cited: CitedAnswer) -> list[str]:
    """Return what the passages lack to support a sentence, or what is wrong with its source."""
    texts = []
    for gap in sentence.gaps:
        is_most_of_sentence = gap.kind == "words" and len(gap.text) * 2 > len(sentence.text)
        if is_most_of_sentence and not gap.found:
            continue  # repeating most of the sentence would explain nothing
        if gap.found:
            texts.append(t(f"other.{gap.kind}", text=to_single_line(gap.text, 80), found=to_single_line(gap.found, 80)))
        elif gap.text or gap.kind == "language":
            texts.append(t(f"lack.{gap.kind}", text=to_single_line(gap.text, 80)))
    if sentence.reason.strip():
        texts.append(t("support.reason", text=to_single_line(sentence.reason, MAX_SENTENCE_CHARS)))
    if any(cited.spans[at].unsourced for at in sentence.spans):
        texts.append(t("support.unsourced"))
    elif sentence.status in ("unclear", "unsupported") and not texts:
        texts.append(t("support.unclear"))
    return texts


def source_uses(sentence_support: AnswerSupport, cited: CitedAnswer) -> dict[str, list[dict[str, Any]]]:
    """Return for each source number the sentences that cite it, each with its citing span."""
    return {
        str(source.number): [
            {
                "at": citing_span(sentence, source.number, cited),
                "status": sentence.status,
                "name": t(f"standing.{sentence.status}"),
                "text": to_single_line(sentence.text, MAX_SENTENCE_CHARS),
            }
            for sentence in sentence_support.sentences_citing(source.number)
        ]
        for source in cited.sources
    }


def citing_span(sentence: CheckedSentence, source_number: int, cited: CitedAnswer) -> int:
    """Return the index of the first span of a sentence that cites a source.

    Raises:
        StopIteration: no span of the sentence cites it.
    """
    return next(at for at in sentence.spans if source_number in cited.spans[at].numbers)


def _nearest_citation(sentence: CheckedSentence, cited: CitedAnswer) -> dict[str, int] | None:
    """Return source number and span of the citation whose passage is nearest to a sentence."""
    for source in cited.sources:
        if source.evidence.id == sentence.evidence and source.number in sentence.numbers:
            return {"n": source.number, "at": citing_span(sentence, source.number, cited)}
    return None
