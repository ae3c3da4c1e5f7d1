"""The answer with its citations: a click on [n] opens the passage in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from pages.parts.words import WORDS, lang, local_time, t
from research import CitedAnswer, Evidence, NumberedSpan, Passage, Report

_ASSETS = Path(__file__).resolve().parent.parent / "assets" / "answer"
_render = st.components.v2.component(
    "sightline_answer",
    html='<div class="sl-answer"></div>',
    css=(_ASSETS / "answer.css").read_text(encoding="utf-8"),
    js=(_ASSETS / "answer.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def draw(report: Report, cited: CitedAnswer) -> None:
    """The answer of a report."""
    key = f"answer_{report.run.id[:8]}"
    data = {
        "id": key,
        "lang": "zh-CN" if cited.answer.language == "zh" else "en",
        "blocks": blocks(cited),
        "words": {
            "open": WORDS["answer.open"][0 if lang() == "zh" else 1],
            "visit": t("answer.visit"),
            "sample": t("answer.sample"),
            "unsourced": t("answer.unsourced"),
            "passage": t("answer.passage"),
        },
    }
    _render(data=data, key=key)
    st.caption(f"{t('answer.by')}: {cited.answer.author} · {local_time(cited.answer.made)}")


def blocks(cited: CitedAnswer) -> list[dict[str, Any]]:
    """The answer as plain data: texts, and for each citation what its passage shows."""
    sources = {source.number: source.evidence for source in cited.sources}
    return [
        {
            "kind": item.span.kind,
            "text": item.span.text,
            "unsourced": item.unsourced,
            "cites": [_cite(item, number, sources[number]) for number in item.numbers],
        }
        for item in cited.spans
    ]


def _cite(item: NumberedSpan, number: int, evidence: Evidence) -> dict[str, Any]:
    passage, start, end = _stretch(item, evidence)
    heading = passage.heading
    if passage.page:
        heading = " · ".join(filter(None, [heading, t("answer.page", n=passage.page)]))
    title = passage.title or evidence.title
    dated = (
        f"{t('answer.dated')} {evidence.published}" if evidence.published else t("answer.undated")
    )
    return {
        "n": number,
        "title": title,
        "heading": heading,
        "where": " · ".join(filter(None, [title, heading])),
        "before": passage.text[:start],
        "quote": passage.text[start:end],
        "after": passage.text[end:],
        "facts": f"{dated} · {t('answer.retrieved')} {local_time(evidence.retrieved)}",
        "url": evidence.url,
        "host": host(evidence),
        "sample": evidence.sample,
    }


def _stretch(item: NumberedSpan, evidence: Evidence) -> tuple[Passage, int, int]:
    """The passage behind a citation and the stretch of it that is meant."""
    wanted = {cite.passage: cite for cite in item.span.cites}
    for passage in evidence.passages:
        cite = wanted.get(passage.id)
        if cite is None:
            continue
        if item.span.kind == "quote":
            at = passage.text.find(item.span.text)
            if at >= 0:
                return passage, at, at + len(item.span.text)
        return passage, cite.start, cite.end
    return evidence.passages[0], 0, 0


def host(evidence: Evidence) -> str:
    """Where a source is: the site, else the file's name."""
    if evidence.url:
        return urlsplit(evidence.url).hostname or ""
    return evidence.publisher or evidence.locator.replace("\\", "/").rsplit("/", 1)[-1]
