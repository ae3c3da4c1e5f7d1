"""The answer of a run with its citations. A click on [n] opens the cited passage in place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple, get_args
from urllib.parse import urlsplit

import streamlit as st

from pages.library import pictures
from pages.run import notes, support_texts, text_fragments
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
from pages.shared.paths import ASSETS_FOLDER
from research import (
    AnswerSupport,
    CheckedSentence,
    CitedAnswer,
    Evidence,
    MissingPageReason,
    NumberedSpan,
    Paper,
    Passage,
    QuoteMatch,
    Report,
    detect_language,
    document_file_name,
    localise_rows,
    mark_doubtful_sentences,
    page_unit,
    summarize_evidence,
)

SHIPPED_DATABASE_PUBLISHER = "scenic areas"  # publisher of evidence from the bundled database
_ROW_HEADING = re.compile(r"row (\d+)")
_ROW_COUNT = re.compile(r"rows: (\d+)(\+?)")
RowCells = dict[str, list[list[str]]]  # cells of database rows (name, value), by passage id

# Labels of the component: names of messages of the family `answer`.
LABELS = (
    "sample",
    "unsourced",
    "passage",
    "grounding",
    "ocr",
    "table",
    "suggestions",
    "contents",
    "drawer",
    "close",
    "show_page",
    "page_failed",
)
NOTE_LABELS = ("own", "add", "edit", "delete", "save", "cancel")  # of the note editor
MAX_AUTHORS = 3  # authors named of a scholarly work
MAX_SUGGESTIONS = 5  # search engine boxes to show; more would bury the answer
_answer_component = st.components.v2.component(
    "sightline_answer",
    html='<div class="sl-desk"><nav class="sl-contents" hidden></nav><div class="sl-answer"></div></div>',
    css=(ASSETS_FOLDER / "answer" / "answer.css").read_text(encoding="utf-8"),
    js=(ASSETS_FOLDER / "answer" / "answer.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


class AnswerContext(NamedTuple):
    """Data that the blocks of an answer draw on."""

    sources: dict[int, Evidence]  # by citation number
    row_cells: RowCells
    sentences: dict[int, CheckedSentence]  # by span index
    marks: dict[int, dict[str, Any]]  # of doubtful sentences, by sentence index
    notes: Mapping[tuple[str, str], str]  # the visitor's own, by source id and passage id


def draw(report: Report, cited: CitedAnswer) -> None:
    """Draw the answer of a report with its title, byline, support counts and notes."""
    with st.container(key="answer_title"):  # hidden by CSS; for screen readers
        layout.draw_section_title(t("answer.title"))
    _draw(report, cited, support_texts.answer_support(report, cited))
    with st.container(horizontal=True, vertical_alignment="center", key="byline"):
        byline = f"{t('answer.by')}: {escape_markdown(cited.answer.author)} · {format_local_time(cited.answer.created)}"
        st.caption(byline, width="content")
        help_topics.draw_topic_link("support", t("help.how"))
        notes.draw_add_button(report)
    notes.draw(report)


def draw_draft(report: Report, cited: CitedAnswer) -> None:
    """Draw the part of an answer that has been written so far.

    Repeated calls update the component in place: unchanged blocks and open passages stay.
    """
    _draw(report, cited, None)


def component_key(report: Report) -> str:
    """Return the key of the answer's component, which also prefixes the ids of its elements."""
    return f"answer_{report.run.id[:8]}"


def _draw(report: Report, cited: CitedAnswer, support: AnswerSupport | None) -> None:
    key = component_key(report)
    summary = summarize_evidence(report, None if support is None else cited)  # none in a draft
    blocks = build_blocks(
        cited, collect_row_cells(report), support, notes.passage_notes(report), summary.replaced_spans
    )
    data = {
        "id": key,
        "lang": LANGUAGE_TAGS[cited.answer.language],
        "page": LANGUAGE_TAGS[current_language()],
        "draft": support is None,
        "lead": summary.text,
        "summary": support_texts.summarize(support, cited) if support else None,
        "uses": support_texts.source_uses(support, cited) if support else {},
        "blocks": [block for block in blocks if not _repeats_question(block, report)],
        "suggestions": cited.answer.suggestions[:MAX_SUGGESTIONS],
        "words": {
            "open": _label_template("answer.open"),
            "nearest": _label_template("support.nearest"),
            "uses": _label_template("support.uses"),
            **{label: t(f"answer.{label}") for label in LABELS},
            "pages": {match: t(f"report.page match.{match}") for match in get_args(QuoteMatch)}
            | {reason: t(f"report.no page.{reason}") for reason in get_args(MissingPageReason)},
            **{f"note_{label}": t(f"remark.{label}") for label in NOTE_LABELS},
        },
    }
    _answer_component(data=data, key=key, on_noted_change=notes.create_note_callback(report, key))


def _label_template(key: str) -> str:
    """Return a label with its `{n}` left for the component to fill in."""
    return t(key, n="{n}")


def _repeats_question(block: dict[str, Any], report: Report) -> bool:
    """Return True for a heading that repeats a typed SQL statement, which is drawn below anyway."""
    tasks = report.plan.tasks if report.plan else ()
    typed = bool(tasks) and all(task.tool == "sql" for task in tasks)
    return typed and block["kind"] == "heading" and block["text"] == report.run.question


def collect_row_cells(report: Report) -> RowCells:
    """Return name and value of the non-null cells of every citable database row, by passage id."""
    out: RowCells = {}
    for finding in report.findings:
        if finding.rows:
            localised = localise_rows(finding.rows, current_language())
            for item in finding.evidence:
                for passage in item.passages:
                    match = _ROW_HEADING.fullmatch(passage.heading)
                    if match and 0 < int(match[1]) <= len(localised.rows):
                        row = zip(localised.names, localised.rows[int(match[1]) - 1], strict=True)
                        cells = [[name, str(value)] for name, value in row if value is not None]
                        out.setdefault(passage.id, cells)
    return out


def build_blocks(
    cited: CitedAnswer,
    row_cells: RowCells | None = None,
    support: AnswerSupport | None = None,
    passage_notes: Mapping[tuple[str, str], str] | None = None,
    hidden_spans: frozenset[int] = frozenset(),
) -> list[dict[str, Any]]:
    """Convert an answer to plain data: its texts and, for each citation, the passage to show.

    Text written by a model becomes one block per paragraph, list or table; its `spans` are keyed by
    index in the answer. Consecutive quotes of database rows are folded into one block.

    Args:
        row_cells: Cells of the passages that are rows of a database, by passage id.
        support: Support of each sentence; doubtful sentences are marked.
        passage_notes: The visitor's own notes, by source id and passage id.
        hidden_spans: Indices of spans to omit because the line above the answer replaces them.
    """
    support = support or AnswerSupport()
    context = AnswerContext(
        {source.number: source.evidence for source in cited.sources},
        row_cells or {},
        {index: sentence for sentence in support.sentences for index in sentence.spans},
        support_texts.sentence_marks(support, cited),
        passage_notes or {},
    )
    blocks: list[dict[str, Any]] = []
    for is_text, group in groupby(
        mark_doubtful_sentences(cited, support), key=lambda text_group: text_group.spans[0].span.kind == "text"
    ):
        if is_text:
            for text_group in group:
                blocks += [
                    _text_block(node, text_group.first_index, text_group.spans, context) for node in text_group.nodes
                ]
        else:
            visible = [span_group for span_group in group if span_group.first_index not in hidden_spans]
            blocks += _fold_rows(
                [_span_block(span_group.first_index, span_group.spans[0], context) for span_group in visible]
            )
    return blocks


def _fold_rows(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Fold consecutive quotes of database rows into one block; their table shows them as well."""
    for is_row, group in groupby(
        blocks, key=lambda block: block["kind"] == "quote" and any("cells" in cite for cite in block["cites"])
    ):
        quotes = list(group)
        if is_row and len(quotes) > 1:
            label = t("rows.cited", n=len(quotes))
            yield {"kind": "rows", "at": quotes[0]["at"], "text": label, "items": quotes}
        else:
            yield from quotes


def _span_block(index: int, numbered_span: NumberedSpan, context: AnswerContext) -> dict[str, Any]:
    data = {
        "kind": numbered_span.span.kind,
        "at": index,
        "text": numbered_span.span.text,
        **_citation_data(index, numbered_span, context),
    }
    if numbered_span.span.kind == "quote":
        data["lang"] = LANGUAGE_TAGS[detect_language(numbered_span.span.text)]
        data["made"] = numbered_span.span.generated
    sentence = context.sentences.get(index)
    if sentence and sentence.at in context.marks:
        data["mark"] = context.marks[sentence.at]
    return data


def _citation_data(index: int, numbered_span: NumberedSpan, context: AnswerContext) -> dict[str, Any]:
    return {
        "unsourced": numbered_span.unsourced,
        "cites": [_source_citation(index, numbered_span, number, context) for number in numbered_span.numbers],
    }


def _text_block(node: Any, first_index: int, spans: Sequence[NumberedSpan], context: AnswerContext) -> dict[str, Any]:
    references = list(_referenced_spans(node))
    cited_indices = sorted({index for kind, index in references if kind == "cite"})
    marked_sentences = sorted({index for kind, index in references if kind == "mark"})
    return {
        "kind": "text",
        "node": node,
        "first": first_index,
        "spans": {first_index + n: _citation_data(first_index + n, spans[n], context) for n in cited_indices},
        "marks": {sentence: context.marks[sentence] for sentence in marked_sentences},
    }


def _referenced_spans(node: Any) -> Iterator[tuple[str, int]]:
    """Yield the spans cited ("cite") and the sentences marked ("mark") in a node of the tree."""
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
    uses_other_url = bool(web_url(evidence.further_url)) and not evidence.url

    def passage_data(passage: Passage, start: int, end: int) -> dict[str, Any]:
        note_key = (evidence.id, passage.id)
        return {
            **_passage_data(passage, start, end, evidence, context.row_cells),
            "at": note_key,
            "note": context.notes.get(note_key, ""),
            **_scan_data(evidence, passage),
            **_page_data(evidence, passage, start, end),
        }

    first_data = passage_data(passage, start, end)
    title = passage.title or evidence.title
    return {
        "n": number,
        "title": title,
        "titled": LANGUAGE_TAGS[detect_language(title)],
        "where": " · ".join(filter(None, [notice_text(evidence), title, first_data["heading"]])),
        **first_data,
        "more": [passage_data(*other) for other in others],
        "code": evidence.locator if kind == "database" and not evidence.place else "",  # SQL statement
        "facts": f"{_date_text(evidence)} · {t('answer.retrieved')} {format_local_time(evidence.retrieved)}",
        "notice": notice_text(evidence),
        "url": text_fragments.passage_url(evidence, passage, start, end) or web_url(evidence.further_url),
        "host": urlsplit(evidence.further_url).hostname if uses_other_url else source_host(evidence),
        "visit": t("answer.also" if uses_other_url else "answer.visit"),
        "expires": t("answer.expires") if evidence.url_expires else "",
        "sample": evidence.sample,
    }


def _date_text(evidence: Evidence) -> str:
    """Return the date line of a source.

    Places and databases have their provider or host instead of a publication day.
    """
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
    """Yield authors, venue, date and citation count of a scholarly work."""
    names = t("mark.list").join(author.display_name for author in paper.authors[:MAX_AUTHORS])
    yield t("answer.and_others", names=names) if len(paper.authors) > MAX_AUTHORS else names
    yield paper.venue
    if evidence.published:
        yield f"{t('answer.dated')} {format_day(evidence.published)}"
    else:
        yield str(paper.year) if paper.year else t("answer.undated")
    if paper.citation_count is not None and paper.citation_source:
        yield t("answer.cited_by", n=format_number(paper.citation_count), service=source_name(paper.citation_source))


def notice_text(evidence: Evidence) -> str:
    """Return the label of the notice on a source, such as a retraction; empty without a notice."""
    return t(f"notice.{evidence.notice}") if evidence.notice else ""


def _passage_data(passage: Passage, start: int, end: int, evidence: Evidence, row_cells: RowCells) -> dict[str, Any]:
    """Return a passage split into the text before, in and after the cited range.

    An empty range marks nothing. A row of a database is returned as its cells.
    """
    if evidence.kind == "database":
        return _row_data(passage, row_cells)
    heading = passage.heading
    if passage.page:
        heading = " · ".join(
            filter(None, [heading, t("answer.page", n=passage.page_range, unit=page_unit(evidence.locator))])
        )
    return {
        "heading": heading,
        "lang": LANGUAGE_TAGS[detect_language(passage.text)],
        "before": passage.text[:start],
        "quote": passage.text[start:end],
        "after": passage.text[end:],
        "grounding": passage.origin == "grounding",
    }


def _scan_data(evidence: Evidence, passage: Passage) -> dict[str, Any]:
    """Return the picture of a passage read by OCR, cut from its page; empty for other passages."""
    if not passage.ocr:
        return {}
    alt = t("answer.page_picture", n=passage.page or 1)
    return {"ocr": True, "picture": pictures.passage_picture_url(evidence.locator, passage), "alt": alt}


def _page_data(evidence: Evidence, passage: Passage, start: int, end: int) -> dict[str, Any]:
    """Return the address of the passage's page with the cited range marked; empty without a page."""
    if passage.ocr:  # its picture is shown anyway
        return {}
    url = pictures.marked_page_url(evidence, passage, start, end)
    if url is None:
        return {"pageNote": t("report.no page.changed")}
    return {"page": url, "alt": t("answer.page_picture", n=passage.page)} if url else {}


def _row_data(passage: Passage, row_cells: RowCells) -> dict[str, Any]:
    """Return the data of a database passage: a row, the row count or the statement.

    The statement stays empty because it is drawn below the answer.
    """
    data: dict[str, Any] = {"heading": "", "before": "", "quote": "", "after": passage.text, "grounding": False}
    if row_match := _ROW_HEADING.fullmatch(passage.heading):
        data["heading"] = t("rows.place", n=row_match[1])
        if passage.id in row_cells:
            data |= {"after": "", "cells": row_cells[passage.id]}
    elif count_match := _ROW_COUNT.fullmatch(passage.text):
        data["after"] = t("rows.found_more" if count_match[2] else "rows.found", n=count_match[1])
    elif passage.heading == "SQL":
        data["after"] = ""
    return data


def _cited_ranges(
    numbered_span: NumberedSpan, evidence: Evidence, sentence: CheckedSentence | None
) -> list[tuple[Passage, int, int]]:
    """Return the cited passages of a source, each with the start and end of the cited range.

    The passage nearest to the sentence comes first, with the range that matches the sentence. A
    range of 0 to 0 stands for the whole passage.
    """
    cites_by_passage = {cite.passage: cite for cite in numbered_span.span.references}
    ranges = []
    for passage in evidence.passages:
        cite = cites_by_passage.get(passage.id)
        if cite is None:
            continue
        if numbered_span.span.kind == "quote":
            start = passage.text.find(numbered_span.span.text)
            if start >= 0:
                return [(passage, start, start + len(numbered_span.span.text))]
        elif (
            sentence
            and sentence.start < sentence.end
            and (sentence.evidence, sentence.passage) == (evidence.id, passage.id)
        ):
            ranges.insert(0, (passage, sentence.start, sentence.end))
            continue
        whole = cite.end - cite.start >= len(passage.text)
        ranges.append((passage, 0, 0) if whole else (passage, cite.start, cite.end))
    return ranges or [(evidence.passages[0], 0, 0)]


def source_host(evidence: Evidence) -> str:
    """Return the host of a source's URL, else its publisher or file name.

    An expiring redirect and a place name their publisher, since the host of a redirect is not that
    of the source.
    """
    if evidence.kind == "database":
        return t("database.shipped") if evidence.publisher == SHIPPED_DATABASE_PUBLISHER else evidence.publisher
    if evidence.url_expires or evidence.kind == "place":
        return evidence.publisher or evidence.title
    if evidence.url:
        return urlsplit(evidence.url).hostname or ""
    return evidence.publisher or document_file_name(evidence.locator)
