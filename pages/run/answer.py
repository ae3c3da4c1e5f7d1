"""The answer with its citations: a click on [n] opens the passage in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import streamlit as st

from pages.library import pictures
from pages.run import fragments, notes
from pages.run import support as standing
from pages.shared import guide, layout
from pages.shared.safe import plain, web
from pages.shared.words import CODES, day, lang, local_time, number, source_name, t
from research import (
    CitedAnswer,
    Evidence,
    NumberedSpan,
    Paper,
    Passage,
    Report,
    Sentence,
    Support,
    answer_lead,
    answer_stretches,
    detect_language,
    readable_rows,
)

SHIPPED = "scenic areas"  # the publisher of what the database that ships says
_ROW = re.compile(r"row (\d+)")
_COUNT = re.compile(r"rows: (\d+)(\+?)")
Cells = dict[str, list[list[str]]]  # of the rows of a database, by their passages

NOTE = ("own", "add", "edit", "delete", "save", "cancel")  # the words of a note on a passage
AUTHORS = 3  # of a work that are named
SUGGESTIONS = 5  # boxes of the search engine that are shown; more would bury the answer
_ASSETS = Path(__file__).resolve().parent.parent / "assets" / "answer"
_render = st.components.v2.component(
    "sightline_answer",
    html='<div class="sl-desk"><nav class="sl-contents" hidden></nav><div class="sl-answer"></div></div>',
    css=(_ASSETS / "answer.css").read_text(encoding="utf-8"),
    js=(_ASSETS / "answer.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


class Known(NamedTuple):
    """What the blocks of an answer are made of: its sources by number, the cells of rows, by the
    places of spans the sentence that has each, and by sentences what their marks say."""

    sources: dict[int, Evidence]
    rows: Cells
    sentences: dict[int, Sentence]
    marks: dict[int, dict[str, Any]]
    notes: Mapping[tuple[str, str], str]  # of a person's own, by the ids of a source and a passage


def draw(report: Report, cited: CitedAnswer) -> None:
    """The answer of a report, with the line of counts above it."""
    with st.container(key="answer_title"):  # it is seen to be the answer; this is for who hears it
        layout.section(t("answer.title"))
    _draw(report, cited, standing.of(report, cited))
    with st.container(horizontal=True, vertical_alignment="center", key="byline"):
        made = f"{t('answer.by')}: {plain(cited.answer.author)} · {local_time(cited.answer.made)}"
        st.caption(made, width="content")
        guide.checked()
        notes.offer(report)
    notes.draw(report)


def draw_draft(report: Report, cited: CitedAnswer) -> None:
    """What there is of an answer that is still being written.

    Drawn again and again it grows in place: what has not changed stays, and so do open passages.
    """
    _draw(report, cited, None)


def key_of(report: Report) -> str:
    """The key of an answer's component, with which the ids of all that is in it begin."""
    return f"answer_{report.run.id[:8]}"


def _draw(report: Report, cited: CitedAnswer, found: Support | None) -> None:
    key = key_of(report)
    opening = answer_lead(report, None if found is None else cited)  # a draft has none yet
    made = blocks(cited, cells(report), found, notes.on_passages(report), opening.folded)
    data = {
        "id": key,
        "lang": CODES[cited.answer.language],
        "page": CODES[lang()],
        "draft": found is None,
        "lead": opening.text,
        "summary": standing.summary(found, cited) if found else None,
        "uses": standing.uses(found, cited) if found else {},
        "blocks": [block for block in made if not _repeats(block, report)],
        "suggestions": cited.answer.suggestions[:SUGGESTIONS],
        "words": {
            "open": _unfilled("answer.open"),
            "sample": t("answer.sample"),
            "unsourced": t("answer.unsourced"),
            "passage": t("answer.passage"),
            "grounding": t("answer.grounding"),
            "ocr": t("answer.ocr"),
            "table": t("answer.table"),
            "suggestions": t("answer.suggestions"),
            "nearest": _unfilled("support.nearest"),
            "uses": _unfilled("support.uses"),
            "contents": t("answer.contents"),
            "drawer": t("answer.drawer"),
            "close": t("answer.close"),
            **{f"note_{one}": t(f"remark.{one}") for one in NOTE},
        },
    }
    _render(data=data, key=key, on_noted_change=notes.taken(report, key))


def _unfilled(key: str) -> str:
    """Words whose number the component fills in."""
    return t(key, n="{n}")


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
            found = readable_rows(finding.rows, lang())
            for item in finding.evidence:
                for passage in item.passages:
                    at = _ROW.fullmatch(passage.heading)
                    if at and 0 < int(at[1]) <= len(found.rows):
                        row = zip(found.names, found.rows[int(at[1]) - 1], strict=True)
                        told = [[name, str(value)] for name, value in row if value is not None]
                        out.setdefault(passage.id, told)
    return out


def blocks(
    cited: CitedAnswer,
    rows: Cells | None = None,
    found: Support | None = None,
    noted: Mapping[tuple[str, str], str] | None = None,
    folded: frozenset[int] = frozenset(),
) -> list[dict[str, Any]]:
    """The answer as plain data: texts, and for each citation what its passage shows.

    `rows` are the cells of passages that are rows of a database; `found` is what stands behind its
    sentences, of which the doubtful ones are marked; `noted` are the person's own notes on passages.
    The spans at the places that are `folded` are left out: the line above the answer stands for them.

    Text that a model wrote comes as one block for each of its paragraphs, lists, tables and so on,
    with the spans that these cite by their places in the answer.
    """
    found = found or Support()
    known = Known(
        {source.number: source.evidence for source in cited.sources},
        rows or {},
        {at: sentence for sentence in found.sentences for at in sentence.spans},
        standing.marks(found, cited),
        noted or {},
    )
    out: list[dict[str, Any]] = []
    for is_text, group in groupby(
        answer_stretches(cited, found), key=lambda at: at.spans[0].span.kind == "text"
    ):
        if is_text:
            for stretch in group:
                for node in stretch.nodes:
                    out.append(_written(node, stretch.first, stretch.spans, known))
        else:
            shown = [one for one in group if one.first not in folded]
            out += _folded([_block(one.first, one.spans[0], known) for one in shown])
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


def _block(at: int, item: NumberedSpan, known: Known) -> dict[str, Any]:
    made = {"kind": item.span.kind, "at": at, "text": item.span.text, **_cited(at, item, known)}
    if item.span.kind == "quote":
        made["lang"] = CODES[detect_language(item.span.text)]
        made["made"] = item.span.made
    sentence = known.sentences.get(at)
    if sentence and sentence.at in known.marks:
        made["mark"] = known.marks[sentence.at]
    return made


def _cited(at: int, item: NumberedSpan, known: Known) -> dict[str, Any]:
    return {
        "unsourced": item.unsourced,
        "cites": [_cite(at, item, number, known) for number in item.numbers],
    }


def _written(node: Any, first: int, spans: Sequence[NumberedSpan], known: Known) -> dict[str, Any]:
    pointed = list(_pointed(node))
    places = sorted({at for kind, at in pointed if kind == "cite"})
    marked = sorted({at for kind, at in pointed if kind == "mark"})
    return {
        "kind": "text",
        "node": node,
        "first": first,
        "spans": {first + at: _cited(first + at, spans[at], known) for at in places},
        "marks": {at: known.marks[at] for at in marked},
    }


def _pointed(node: Any) -> Iterator[tuple[str, int]]:
    """The spans that a node of the tree cites and the sentences that are marked in it."""
    if isinstance(node, dict):
        if node["t"] == "cite":
            yield "cite", node["span"]
        elif node["t"] == "mark":
            yield "mark", node["sentence"]
        for child in node.get("c", ()):
            yield from _pointed(child)


def _cite(at: int, item: NumberedSpan, number: int, known: Known) -> dict[str, Any]:
    evidence = known.sources[number]
    (passage, start, end), *others = _stretches(item, evidence, known.sentences.get(at))
    kind = evidence.kind
    instead = bool(web(evidence.also)) and not evidence.url

    def show(passage: Passage, start: int, end: int) -> dict[str, Any]:
        at = (evidence.id, passage.id)
        own = {"at": at, "note": known.notes.get(at, "")}
        shown = _shown(passage, start, end, kind, known.rows)
        return shown | own | _scanned(evidence, passage)

    shown = show(passage, start, end)
    title = passage.title or evidence.title
    return {
        "n": number,
        "title": title,
        "titled": CODES[detect_language(title)],
        "where": " · ".join(filter(None, [noticed(evidence), title, shown["heading"]])),
        **shown,
        "more": [show(*other) for other in others],
        "code": _statement(evidence),
        "facts": f"{_dated(evidence)} · {t('answer.retrieved')} {local_time(evidence.retrieved)}",
        "notice": noticed(evidence),
        "url": fragments.address(evidence, passage, start, end) or web(evidence.also),
        "host": urlsplit(evidence.also).hostname if instead else host(evidence),
        "visit": t("answer.also" if instead else "answer.visit"),
        "expires": t("answer.expires") if evidence.expires else "",
        "sample": evidence.sample,
    }


def _dated(evidence: Evidence) -> str:
    """When a source was published; a map's entry is as it was when it was retrieved."""
    if evidence.kind == "place":
        return f"POI {evidence.publisher}"
    if evidence.kind == "database":
        return f"{t('kind.database')} {host(evidence)}"
    if evidence.paper:
        return " · ".join(filter(None, _of_paper(evidence, evidence.paper)))
    if evidence.published:
        return f"{t('answer.dated')} {day(evidence.published)}"
    return t("answer.undated")


def _of_paper(evidence: Evidence, paper: Paper) -> Iterator[str]:
    """What catalogues know of a work."""
    names = t("mark.list").join(one.shown for one in paper.authors[:AUTHORS])
    yield t("answer.and_others", names=names) if len(paper.authors) > AUTHORS else names
    yield paper.venue
    if evidence.published:
        yield f"{t('answer.dated')} {day(evidence.published)}"
    else:
        yield str(paper.year) if paper.year else t("answer.undated")
    if paper.cited is not None and paper.counted:
        yield t("answer.cited_by", n=number(paper.cited), service=source_name(paper.counted))


def noticed(evidence: Evidence) -> str:
    """What has become of a source since it was published, in a word."""
    return t(f"notice.{evidence.notice}") if evidence.notice else ""


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
        "lang": CODES[detect_language(passage.text)],
        "before": passage.text[:start],
        "quote": passage.text[start:end],
        "after": passage.text[end:],
        "grounding": passage.origin == "grounding",
    }


def _scanned(evidence: Evidence, passage: Passage) -> dict[str, Any]:
    """That a passage was read from a picture, and where that of its page is."""
    if not passage.ocr:
        return {}
    alt = t("answer.page_picture", n=passage.page or 1)
    return {"ocr": True, "picture": pictures.of_passage(evidence.locator, passage), "alt": alt}


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


def _stretches(
    item: NumberedSpan, evidence: Evidence, sentence: Sentence | None = None
) -> list[tuple[Passage, int, int]]:
    """The passages behind a citation and the stretch of each that is meant.

    The passage that comes nearest to the sentence comes first, with the stretch of it that does.
    """
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
        elif sentence and _nearest(sentence, evidence, passage):
            out.insert(0, (passage, sentence.start, sentence.end))
            continue
        whole = cite.end - cite.start >= len(passage.text)
        out.append((passage, 0, 0) if whole else (passage, cite.start, cite.end))
    return out or [(evidence.passages[0], 0, 0)]


def _nearest(sentence: Sentence, evidence: Evidence, passage: Passage) -> bool:
    same = (sentence.evidence, sentence.passage) == (evidence.id, passage.id)
    return same and sentence.start < sentence.end


def host(evidence: Evidence) -> str:
    """Where a source is: the site, else the file's name. A redirect's own site says nothing."""
    if evidence.kind == "database":
        return t("database.shipped") if evidence.publisher == SHIPPED else evidence.publisher
    if evidence.expires or evidence.kind == "place":
        return evidence.publisher or evidence.title
    if evidence.url:
        return urlsplit(evidence.url).hostname or ""
    return evidence.publisher or evidence.locator.replace("\\", "/").rsplit("/", 1)[-1]
