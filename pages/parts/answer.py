"""The answer with its citations: a click on [n] opens the passage in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from pages.parts.words import WORDS, lang, local_time, t
from research import CitedAnswer, Evidence, NumberedSpan, Passage, Report, answer_tree

SHIPPED = "scenic areas"  # the publisher of what the database that ships says
_ROW = re.compile(r"row (\d+)")
_COUNT = re.compile(r"rows: (\d+)(\+?)")
Cells = dict[str, list[list[str]]]  # of the rows of a database, by their passages

SUGGESTIONS = 5  # boxes of the search engine that are shown; more would bury the answer
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
    _draw(report, cited, draft=False)
    st.caption(f"{t('answer.by')}: {cited.answer.author} · {local_time(cited.answer.made)}")


def draw_draft(report: Report, cited: CitedAnswer) -> None:
    """What there is of an answer that is still being written.

    Drawn again and again it grows in place: what has not changed stays, and so do open passages.
    """
    _draw(report, cited, draft=True)


def _draw(report: Report, cited: CitedAnswer, *, draft: bool) -> None:
    key = f"answer_{report.run.id[:8]}"
    data = {
        "id": key,
        "lang": "zh-CN" if cited.answer.language == "zh" else "en",
        "draft": draft,
        "blocks": [block for block in blocks(cited, cells(report)) if not _repeats(block, report)],
        "suggestions": cited.answer.suggestions[:SUGGESTIONS],
        "words": {
            "open": WORDS["answer.open"][0 if lang() == "zh" else 1],
            "visit": t("answer.visit"),
            "sample": t("answer.sample"),
            "unsourced": t("answer.unsourced"),
            "passage": t("answer.passage"),
            "grounding": t("answer.grounding"),
            "table": t("answer.table"),
            "suggestions": t("answer.suggestions"),
        },
    }
    _render(data=data, key=key)


def _repeats(block: dict[str, Any], report: Report) -> bool:
    """Whether a heading is the SQL that was asked, which stands below with its rows."""
    tasks = report.plan.tasks if report.plan else ()
    typed = bool(tasks) and all(task.tool == "sql" for task in tasks)
    return typed and block["kind"] == "heading" and block["text"] == report.run.question


def cells(report: Report) -> Cells:
    """The cells of the rows that can be cited, each a name and what it says."""
    out: Cells = {}
    for finding in report.findings:
        if finding.rows:
            found = finding.rows
            for item in finding.evidence:
                for passage in item.passages:
                    at = _ROW.fullmatch(passage.heading)
                    if at and 0 < int(at[1]) <= len(found.rows):
                        row = zip(found.names, found.rows[int(at[1]) - 1], strict=True)
                        told = [[name, str(value)] for name, value in row if value is not None]
                        out.setdefault(passage.id, told)
    return out


def blocks(cited: CitedAnswer, rows: Cells | None = None) -> list[dict[str, Any]]:
    """The answer as plain data: texts, and for each citation what its passage shows.

    `rows` are the cells of passages that are rows of a database.

    Text that a model wrote comes as one block for each of its paragraphs, lists, tables and so on,
    with the spans that these cite by their places in the answer.
    """
    sources = {source.number: source.evidence for source in cited.sources}
    out: list[dict[str, Any]] = []
    for is_text, group in groupby(enumerate(cited.spans), key=lambda at: at[1].span.kind == "text"):
        run = list(group)
        if is_text:
            out += _written(run, sources, rows or {})
        else:
            out += _folded([{"at": at, **_block(item, sources, rows or {})} for at, item in run])
    return out


def _folded(made: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Quotes that are rows of a database, folded into one block: they stand in its table as well."""
    for is_row, group in groupby(made, key=_is_row):
        found = list(group)
        if is_row and len(found) > 1:
            words = t("rows.cited", n=len(found))
            yield {"kind": "rows", "at": found[0]["at"], "text": words, "items": found}
        else:
            yield from found


def _is_row(block: dict[str, Any]) -> bool:
    return block["kind"] == "quote" and any("cells" in cite for cite in block["cites"])


def _block(item: NumberedSpan, sources: dict[int, Evidence], rows: Cells) -> dict[str, Any]:
    return {"kind": item.span.kind, "text": item.span.text, **_cited(item, sources, rows)}


def _cited(item: NumberedSpan, sources: dict[int, Evidence], rows: Cells) -> dict[str, Any]:
    return {
        "unsourced": item.unsourced,
        "cites": [_cite(item, number, sources[number], rows) for number in item.numbers],
    }


def _written(
    run: Sequence[tuple[int, NumberedSpan]], sources: dict[int, Evidence], rows: Cells
) -> Iterator[dict[str, Any]]:
    first = run[0][0]
    for node in answer_tree([item for _, item in run]):
        places = sorted(_places(node))
        spans = {first + at: _cited(run[at][1], sources, rows) for at in places}
        yield {"kind": "text", "node": node, "first": first, "spans": spans}


def _places(node: Any) -> Iterator[int]:
    """The spans that a node of the tree cites."""
    if isinstance(node, dict):
        if node["t"] == "cite":
            yield node["span"]
        for child in node.get("c", ()):
            yield from _places(child)


def _cite(item: NumberedSpan, number: int, evidence: Evidence, rows: Cells) -> dict[str, Any]:
    (passage, start, end), *others = _stretches(item, evidence)
    kind = evidence.kind
    shown = _shown(passage, start, end, kind, rows)
    title = passage.title or evidence.title
    return {
        "n": number,
        "title": title,
        "where": " · ".join(filter(None, [title, shown["heading"]])),
        **shown,
        "more": [_shown(*other, kind, rows) for other in others],
        "code": _statement(evidence),
        "facts": f"{_dated(evidence)} · {t('answer.retrieved')} {local_time(evidence.retrieved)}",
        "url": evidence.url,
        "host": host(evidence),
        "expires": t("answer.expires") if evidence.expires else "",
        "sample": evidence.sample,
    }


def _dated(evidence: Evidence) -> str:
    """When a source was published; a map's entry is as it was when it was retrieved."""
    if evidence.kind == "place":
        return f"POI {evidence.publisher}"
    if evidence.kind == "database":
        return f"{t('kind.database')} {host(evidence)}"
    if evidence.published:
        return f"{t('answer.dated')} {evidence.published}"
    return t("answer.undated")


def _statement(evidence: Evidence) -> str:
    """The SQL of the evidence that is a statement with its rows; a row that is a place has none."""
    if evidence.kind != "database" or evidence.place:
        return ""
    return evidence.locator


def _shown(
    passage: Passage, start: int, end: int, kind: str = "", rows: Cells | None = None
) -> dict[str, Any]:
    """A passage with the stretch that is meant; none is marked if all of it is. A row of a database
    is shown by its cells."""
    if kind == "database":
        return _from_database(passage, rows or {})
    heading = passage.heading
    if passage.page:
        heading = " · ".join(filter(None, [heading, t("answer.page", n=passage.page)]))
    return {
        "heading": heading,
        "before": passage.text[:start],
        "quote": passage.text[start:end],
        "after": passage.text[end:],
        "grounding": passage.origin == "grounding",
    }


def _from_database(passage: Passage, rows: Cells) -> dict[str, Any]:
    """A row, the number of rows, or the statement, which stands below anyway."""
    shown: dict[str, Any] = {
        "heading": "", "before": "", "quote": "", "after": passage.text, "grounding": False,
    }  # fmt: skip
    if at := _ROW.fullmatch(passage.heading):
        shown["heading"] = t("rows.place", n=at[1])
        if passage.id in rows:
            shown |= {"after": "", "cells": rows[passage.id]}
    elif found := _COUNT.fullmatch(passage.text):
        words = t("rows.found_more", n=found[1]) if found[2] else t("rows.found", n=found[1])
        shown["after"] = words
    elif passage.heading == "SQL":
        shown["after"] = ""
    return shown


def _stretches(item: NumberedSpan, evidence: Evidence) -> list[tuple[Passage, int, int]]:
    """The passages behind a citation and the stretch of each that is meant."""
    wanted = {cite.passage: cite for cite in item.span.cites}
    out = []
    for passage in evidence.passages:
        cite = wanted.get(passage.id)
        if cite is None:
            continue
        if item.span.kind == "quote":
            at = passage.text.find(item.span.text)
            if at >= 0:
                return [(passage, at, at + len(item.span.text))]
        whole = cite.end - cite.start >= len(passage.text)
        out.append((passage, 0, 0) if whole else (passage, cite.start, cite.end))
    return out or [(evidence.passages[0], 0, 0)]


def host(evidence: Evidence) -> str:
    """Where a source is: the site, else the file's name. A redirect's own site says nothing."""
    if evidence.kind == "database":
        return t("database.shipped") if evidence.publisher == SHIPPED else evidence.publisher
    if evidence.expires or evidence.kind == "place":
        return evidence.publisher or evidence.title
    if evidence.url:
        return urlsplit(evidence.url).hostname or ""
    return evidence.publisher or evidence.locator.replace("\\", "/").rsplit("/", 1)[-1]
