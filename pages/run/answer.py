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
from pages.run import notes, text_fragments
from pages.run import support as standing
from pages.shared import help_topics, layout
from pages.shared.escaping import escape_markdown, web_url
from pages.shared.localization import (
    LANGUAGE_TAGS,
    current_language,
    format_day,
    format_local_time,
    format_number,
    source_name,
    t,
)
from research import (
    AnswerSupport,
    CheckedSentence,
    CitedAnswer,
    Evidence,
    NumberedSpan,
    Paper,
    Passage,
    Report,
    detect_language,
    localise_rows,
    mark_doubtful_sentences,
    summarize_evidence,
)

SHIPPED_DATABASE_PUBLISHER = "scenic areas"  # the publisher of what the database that ships says
_ROW_HEADING = re.compile(r"row (\d+)")
_ROW_COUNT = re.compile(r"rows: (\d+)(\+?)")
RowCells = dict[str, list[list[str]]]  # of the rows of a database, by their passages

NOTE_LABELS = ("own", "add", "edit", "delete", "save", "cancel")  # the words of a note on a passage
MAX_AUTHORS = 3  # of a work that are named
MAX_SUGGESTIONS = 5  # boxes of the search engine that are shown; more would bury the answer
_ASSETS_FOLDER = Path(__file__).resolve().parent.parent / "assets" / "answer"
_answer_component = st.components.v2.component(
    "sightline_answer",
    html='<div class="sl-desk"><nav class="sl-contents" hidden></nav><div class="sl-answer"></div></div>',
    css=(_ASSETS_FOLDER / "answer.css").read_text(encoding="utf-8"),
    js=(_ASSETS_FOLDER / "answer.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


class AnswerContext(NamedTuple):
    """What the blocks of an answer are made of: its sources by number, the cells of rows, by the
    places of spans the sentence that has each, and by sentences what their marks say."""

    sources: dict[int, Evidence]
    row_cells: RowCells
    sentences: dict[int, CheckedSentence]
    marks: dict[int, dict[str, Any]]
    notes: Mapping[tuple[str, str], str]  # of a person's own, by the ids of a source and a passage


def draw(report: Report, cited: CitedAnswer) -> None:
    """The answer of a report, with the line of counts above it."""
    with st.container(key="answer_title"):  # it is seen to be the answer; this is for who hears it
        layout.draw_section_title(t("answer.title"))
    _draw(report, cited, standing.answer_support(report, cited))
    with st.container(horizontal=True, vertical_alignment="center", key="byline"):
        made = f"{t('answer.by')}: {escape_markdown(cited.answer.author)} · {format_local_time(cited.answer.made)}"
        st.caption(made, width="content")
        help_topics.draw_support_link()
        notes.draw_add_button(report)
    notes.draw(report)


def draw_draft(report: Report, cited: CitedAnswer) -> None:
    """What there is of an answer that is still being written.

    Drawn again and again it grows in place: what has not changed stays, and so do open passages.
    """
    _draw(report, cited, None)


def component_key(report: Report) -> str:
    """The key of an answer's component, with which the ids of all that is in it begin."""
    return f"answer_{report.run.id[:8]}"


def _draw(report: Report, cited: CitedAnswer, support: AnswerSupport | None) -> None:
    key = component_key(report)
    opening = summarize_evidence(report, None if support is None else cited)  # a draft has none yet
    made = build_blocks(cited, collect_row_cells(report), support, notes.passage_notes(report), opening.replaced_spans)
    data = {
        "id": key,
        "lang": LANGUAGE_TAGS[cited.answer.language],
        "page": LANGUAGE_TAGS[current_language()],
        "draft": support is None,
        "lead": opening.text,
        "summary": standing.summarize(support, cited) if support else None,
        "uses": standing.source_uses(support, cited) if support else {},
        "blocks": [block for block in made if not _repeats_question(block, report)],
        "suggestions": cited.answer.suggestions[:MAX_SUGGESTIONS],
        "words": {
            "open": _label_template("answer.open"),
            "sample": t("answer.sample"),
            "unsourced": t("answer.unsourced"),
            "passage": t("answer.passage"),
            "grounding": t("answer.grounding"),
            "ocr": t("answer.ocr"),
            "table": t("answer.table"),
            "suggestions": t("answer.suggestions"),
            "nearest": _label_template("support.nearest"),
            "uses": _label_template("support.uses"),
            "contents": t("answer.contents"),
            "drawer": t("answer.drawer"),
            "close": t("answer.close"),
            **{f"note_{one}": t(f"remark.{one}") for one in NOTE_LABELS},
        },
    }
    _answer_component(data=data, key=key, on_noted_change=notes.create_note_callback(report, key))


def _label_template(key: str) -> str:
    """Words whose number the component fills in."""
    return t(key, n="{n}")


def _repeats_question(block: dict[str, Any], report: Report) -> bool:
    """Whether a heading is the SQL that was asked, which stands below with its rows."""
    tasks = report.plan.tasks if report.plan else ()
    typed = bool(tasks) and all(task.tool == "sql" for task in tasks)
    return typed and block["kind"] == "heading" and block["text"] == report.run.question


def collect_row_cells(report: Report) -> RowCells:
    """The cells of the rows that can be cited, each a name and what it says."""
    out: RowCells = {}
    for finding in report.findings:
        if finding.rows:
            found = localise_rows(finding.rows, current_language())
            for item in finding.evidence:
                for passage in item.passages:
                    at = _ROW_HEADING.fullmatch(passage.heading)
                    if at and 0 < int(at[1]) <= len(found.rows):
                        row = zip(found.names, found.rows[int(at[1]) - 1], strict=True)
                        told = [[name, str(value)] for name, value in row if value is not None]
                        out.setdefault(passage.id, told)
    return out


def build_blocks(
    cited: CitedAnswer,
    row_cells: RowCells | None = None,
    support: AnswerSupport | None = None,
    passage_notes: Mapping[tuple[str, str], str] | None = None,
    hidden_spans: frozenset[int] = frozenset(),
) -> list[dict[str, Any]]:
    """The answer as plain data: texts, and for each citation what its passage shows.

    `rows` are the cells of passages that are rows of a database; `found` is what stands behind its
    sentences, of which the doubtful ones are marked; `noted` are the person's own notes on passages.
    The spans at the places that are `folded` are left out: the line above the answer stands for them.

    Text that a model wrote comes as one block for each of its paragraphs, lists, tables and so on,
    with the spans that these cite by their places in the answer.
    """
    support = support or AnswerSupport()
    known = AnswerContext(
        {source.number: source.evidence for source in cited.sources},
        row_cells or {},
        {at: sentence for sentence in support.sentences for at in sentence.spans},
        standing.sentence_marks(support, cited),
        passage_notes or {},
    )
    out: list[dict[str, Any]] = []
    for is_text, group in groupby(
        mark_doubtful_sentences(cited, support), key=lambda at: at.spans[0].span.kind == "text"
    ):
        if is_text:
            for stretch in group:
                for node in stretch.nodes:
                    out.append(_text_block(node, stretch.first_index, stretch.spans, known))
        else:
            shown = [one for one in group if one.first_index not in hidden_spans]
            out += _fold_rows([_span_block(one.first_index, one.spans[0], known) for one in shown])
    return out


def _fold_rows(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Quotes that are rows of a database, folded into one block: they stand in its table as well."""
    for is_row, group in groupby(blocks, key=_is_row_quote):
        found = list(group)
        if is_row and len(found) > 1:
            words = t("rows.cited", n=len(found))
            yield {"kind": "rows", "at": found[0]["at"], "text": words, "items": found}
        else:
            yield from found


def _is_row_quote(block: dict[str, Any]) -> bool:
    return block["kind"] == "quote" and any("cells" in cite for cite in block["cites"])


def _span_block(index: int, numbered_span: NumberedSpan, context: AnswerContext) -> dict[str, Any]:
    made = {
        "kind": numbered_span.span.kind,
        "at": index,
        "text": numbered_span.span.text,
        **_citation_data(index, numbered_span, context),
    }
    if numbered_span.span.kind == "quote":
        made["lang"] = LANGUAGE_TAGS[detect_language(numbered_span.span.text)]
        made["made"] = numbered_span.span.made
    sentence = context.sentences.get(index)
    if sentence and sentence.at in context.marks:
        made["mark"] = context.marks[sentence.at]
    return made


def _citation_data(index: int, numbered_span: NumberedSpan, context: AnswerContext) -> dict[str, Any]:
    return {
        "unsourced": numbered_span.unsourced,
        "cites": [_source_citation(index, numbered_span, number, context) for number in numbered_span.numbers],
    }


def _text_block(node: Any, first_index: int, spans: Sequence[NumberedSpan], context: AnswerContext) -> dict[str, Any]:
    pointed = list(_referenced_spans(node))
    places = sorted({at for kind, at in pointed if kind == "cite"})
    marked = sorted({at for kind, at in pointed if kind == "mark"})
    return {
        "kind": "text",
        "node": node,
        "first": first_index,
        "spans": {first_index + at: _citation_data(first_index + at, spans[at], context) for at in places},
        "marks": {at: context.marks[at] for at in marked},
    }


def _referenced_spans(node: Any) -> Iterator[tuple[str, int]]:
    """The spans that a node of the tree cites and the sentences that are marked in it."""
    if isinstance(node, dict):
        if node["t"] == "cite":
            yield "cite", node["span"]
        elif node["t"] == "mark":
            yield "mark", node["sentence"]
        for child in node.get("c", ()):
            yield from _referenced_spans(child)


def _source_citation(index: int, numbered_span: NumberedSpan, number: int, context: AnswerContext) -> dict[str, Any]:
    evidence = context.sources[number]
    (passage, start, end), *others = _cited_ranges(numbered_span, evidence, context.sentences.get(index))
    kind = evidence.kind
    instead = bool(web_url(evidence.also)) and not evidence.url

    def show(passage: Passage, start: int, end: int) -> dict[str, Any]:
        at = (evidence.id, passage.id)
        own = {"at": at, "note": context.notes.get(at, "")}
        shown = _passage_data(passage, start, end, kind, context.row_cells)
        return shown | own | _scan_data(evidence, passage)

    shown = show(passage, start, end)
    title = passage.title or evidence.title
    return {
        "n": number,
        "title": title,
        "titled": LANGUAGE_TAGS[detect_language(title)],
        "where": " · ".join(filter(None, [notice_text(evidence), title, shown["heading"]])),
        **shown,
        "more": [show(*other) for other in others],
        "code": _statement_sql(evidence),
        "facts": f"{_date_text(evidence)} · {t('answer.retrieved')} {format_local_time(evidence.retrieved)}",
        "notice": notice_text(evidence),
        "url": text_fragments.passage_url(evidence, passage, start, end) or web_url(evidence.also),
        "host": urlsplit(evidence.also).hostname if instead else source_host(evidence),
        "visit": t("answer.also" if instead else "answer.visit"),
        "expires": t("answer.expires") if evidence.expires else "",
        "sample": evidence.sample,
    }


def _date_text(evidence: Evidence) -> str:
    """When a source was published; a map's entry is as it was when it was retrieved."""
    if evidence.kind == "place":
        return f"POI {evidence.publisher}"
    if evidence.kind == "database":
        return f"{t('kind.database')} {source_host(evidence)}"
    if evidence.paper:
        return " · ".join(filter(None, _paper_facts(evidence, evidence.paper)))
    if evidence.published:
        return f"{t('answer.dated')} {format_day(evidence.published)}"
    return t("answer.undated")


def _paper_facts(evidence: Evidence, paper: Paper) -> Iterator[str]:
    """What catalogues know of a work."""
    names = t("mark.list").join(one.display_name for one in paper.authors[:MAX_AUTHORS])
    yield t("answer.and_others", names=names) if len(paper.authors) > MAX_AUTHORS else names
    yield paper.venue
    if evidence.published:
        yield f"{t('answer.dated')} {format_day(evidence.published)}"
    else:
        yield str(paper.year) if paper.year else t("answer.undated")
    if paper.cited is not None and paper.counted:
        yield t("answer.cited_by", n=format_number(paper.cited), service=source_name(paper.counted))


def notice_text(evidence: Evidence) -> str:
    """What has become of a source since it was published, in a word."""
    return t(f"notice.{evidence.notice}") if evidence.notice else ""


def _statement_sql(evidence: Evidence) -> str:
    """The SQL of the evidence that is a statement with its rows; a row that is a place has none."""
    if evidence.kind != "database" or evidence.place:
        return ""
    return evidence.locator


def _passage_data(
    passage: Passage, start: int, end: int, evidence_kind: str = "", row_cells: RowCells | None = None
) -> dict[str, Any]:
    """A passage with the stretch that is meant; none is marked if all of it is. A row of a database
    is shown by its cells."""
    if evidence_kind == "database":
        return _row_data(passage, row_cells or {})
    heading = passage.heading
    if passage.page:
        heading = " · ".join(filter(None, [heading, t("answer.page", n=passage.page)]))
    return {
        "heading": heading,
        "lang": LANGUAGE_TAGS[detect_language(passage.text)],
        "before": passage.text[:start],
        "quote": passage.text[start:end],
        "after": passage.text[end:],
        "grounding": passage.origin == "grounding",
    }


def _scan_data(evidence: Evidence, passage: Passage) -> dict[str, Any]:
    """That a passage was read from a picture, and where that of its page is."""
    if not passage.ocr:
        return {}
    alt = t("answer.page_picture", n=passage.page or 1)
    return {"ocr": True, "picture": pictures.passage_picture_url(evidence.locator, passage), "alt": alt}


def _row_data(passage: Passage, row_cells: RowCells) -> dict[str, Any]:
    """A row, the number of rows, or the statement, which stands below anyway."""
    shown: dict[str, Any] = {
        "heading": "", "before": "", "quote": "", "after": passage.text, "grounding": False,
    }  # fmt: skip
    if at := _ROW_HEADING.fullmatch(passage.heading):
        shown["heading"] = t("rows.place", n=at[1])
        if passage.id in row_cells:
            shown |= {"after": "", "cells": row_cells[passage.id]}
    elif found := _ROW_COUNT.fullmatch(passage.text):
        words = t("rows.found_more", n=found[1]) if found[2] else t("rows.found", n=found[1])
        shown["after"] = words
    elif passage.heading == "SQL":
        shown["after"] = ""
    return shown


def _cited_ranges(
    numbered_span: NumberedSpan, evidence: Evidence, sentence: CheckedSentence | None = None
) -> list[tuple[Passage, int, int]]:
    """The passages behind a citation and the stretch of each that is meant.

    The passage that comes nearest to the sentence comes first, with the stretch of it that does.
    """
    wanted = {cite.passage: cite for cite in numbered_span.span.cites}
    out = []
    for passage in evidence.passages:
        cite = wanted.get(passage.id)
        if cite is None:
            continue
        if numbered_span.span.kind == "quote":
            at = passage.text.find(numbered_span.span.text)
            if at >= 0:
                return [(passage, at, at + len(numbered_span.span.text))]
        elif sentence and _is_nearest(sentence, evidence, passage):
            out.insert(0, (passage, sentence.start, sentence.end))
            continue
        whole = cite.end - cite.start >= len(passage.text)
        out.append((passage, 0, 0) if whole else (passage, cite.start, cite.end))
    return out or [(evidence.passages[0], 0, 0)]


def _is_nearest(sentence: CheckedSentence, evidence: Evidence, passage: Passage) -> bool:
    same = (sentence.evidence, sentence.passage) == (evidence.id, passage.id)
    return same and sentence.start < sentence.end


def source_host(evidence: Evidence) -> str:
    """Where a source is: the site, else the file's name. A redirect's own site says nothing."""
    if evidence.kind == "database":
        return t("database.shipped") if evidence.publisher == SHIPPED_DATABASE_PUBLISHER else evidence.publisher
    if evidence.expires or evidence.kind == "place":
        return evidence.publisher or evidence.title
    if evidence.url:
        return urlsplit(evidence.url).hostname or ""
    return evidence.publisher or evidence.locator.replace("\\", "/").rsplit("/", 1)[-1]
