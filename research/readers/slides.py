"""PowerPoint files as text: each slide with its title, text, tables, chart data, diagrams and speaker notes.

Text follows the order of the shapes in the file, which is the reading order for screen readers, with the
title first. Not supported: comments, footers, text in pictures.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from lxml import etree

from research.core.text.tokenizer import detect_language
from research.readers.drafts import FileDraft, TextBlock, UnreadableFileError, one_line
from research.readers.office_files import check_container, usable_title
from research.readers.scripts import lowered_text, raised_text
from research.readers.table_text import table_lines

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_PRESENTATION = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_RELATIONSHIP = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MATH_TEXT = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_FOOTERS = ("sldNum", "dt", "ftr", "hdr", "sldImg")  # types of placeholders without text of their own
_TITLES = ("title", "ctrTitle")


def _paragraph_text(paragraph: Any) -> str:
    """Return the text of a paragraph, with superscripts and subscripts in plain form."""
    text = ""
    for node in _descendants(paragraph):
        if node.tag == f"{_DRAWING}t":
            properties = node.getparent().find(f"{_DRAWING}rPr")
            baseline = properties.get("baseline", "0") if properties is not None else "0"
            if baseline.startswith("-"):
                text += lowered_text(node.text or "")
            else:
                text += raised_text(node.text or "", text[-40:]) if baseline.strip("0%.") else node.text or ""
        elif node.tag == f"{_DRAWING}br":
            text += "\n"
        elif node.tag == _MATH_TEXT:
            text += node.text or ""
    return text


def _descendants(element: Any) -> Iterator[Any]:
    """Yield the elements below an element in document order, without alternatives for old programs."""
    walker = etree.iterwalk(element, events=("start",))
    for _, node in walker:
        if node.tag == _FALLBACK:
            walker.skip_subtree()
        else:
            yield node


def _body_text(element: Any) -> str:
    return "\n".join(_paragraph_text(paragraph) for paragraph in element.iter(f"{_DRAWING}p"))


def _table_text(table: Any) -> str:
    """Return the rows of a table as lines; a merged cell holds its text once."""
    rows = [[_body_text(cell) for cell in row.iter(f"{_DRAWING}tc")] for row in table.iter(f"{_DRAWING}tr")]
    properties = table.find(f"{_DRAWING}tblPr")
    has_header = properties is not None and properties.get("firstRow") in ("1", "true")
    return "\n".join(table_lines(rows, int(has_header)))


def _points(series: Any, *names: str) -> dict[int, str]:
    """Return the stored values of a chart's series by index, from the first element of these names."""
    for name in names:
        holder = series.find(f"{_CHART}{name}")
        if holder is not None:
            return {
                int(point.get("idx", 0)): _number_text(point.findtext(f"{_CHART}v") or "")
                for point in holder.iter(f"{_CHART}pt")
            }
    return {}


def _number_text(text: str) -> str:
    """Return a stored number without the noise of binary fractions, any other text unchanged."""
    try:
        return format(float(text), ".15g") if "." in text or "E" in text else text
    except ValueError:
        return text


def _chart_text(chart: Any) -> str:
    """Return the title and the data of a chart, a line for each category."""
    title = chart.find(f"{_CHART}chart/{_CHART}title")
    all_series = [*chart.iter(f"{_CHART}ser")]
    names = [_points(series, "tx").get(0) or series.findtext(f"{_CHART}tx/{_CHART}v") or "" for series in all_series]
    values = [_points(series, "val", "yVal") for series in all_series]
    categories: dict[int, str] = {}
    for series in all_series:
        categories = _points(series, "cat", "xVal") | categories
    indexes = sorted({*categories, *(index for points in values for index in points)})
    rows = [[categories.get(index, ""), *(points.get(index, "") for points in values)] for index in indexes]
    lines = table_lines([["", *names], *rows], 1) if any(names) else table_lines(rows)
    return "\n".join([*([one_line(_body_text(title))] if title is not None else []), *lines])


def _part_text(part: Any, frame: Any) -> str:
    """Return the text of a chart or a diagram (SmartArt), which is in a part of its own."""
    chart = frame.find(f".//{_CHART}chart")
    diagram = frame.find(f".//{_DIAGRAM}relIds")
    name = (
        chart.get(f"{_RELATIONSHIP}id") if chart is not None
        else diagram.get(f"{_RELATIONSHIP}dm") if diagram is not None
        else None
    )  # fmt: skip
    if name is None:
        return ""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    root = etree.fromstring(part.related_part(name).blob, parser)
    if chart is not None:
        return _chart_text(root)
    return "\n".join(filter(None, (_body_text(text) for text in root.iter(f"{_DIAGRAM}t"))))


def _placeholder_type(shape: Any) -> str:
    placeholder = shape.find(f"{_PRESENTATION}nvSpPr/{_PRESENTATION}nvPr/{_PRESENTATION}ph")
    return str(placeholder.get("type", "body")) if placeholder is not None else ""


def _slide_texts(slide: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts of a slide in order, each with the type of its placeholder, "" for other shapes."""
    for node in _descendants(slide.element):
        if node.tag == f"{_PRESENTATION}sp":
            kind = _placeholder_type(node)
            body = node.find(f"{_PRESENTATION}txBody")
            if body is not None and kind not in _FOOTERS:
                yield kind, _body_text(body)
        elif node.tag == f"{_PRESENTATION}graphicFrame":
            table = node.find(f".//{_DRAWING}tbl")
            yield "", _table_text(table) if table is not None else _part_text(slide.part, node)


def _add_slide(draft: FileDraft, slide: Any) -> None:
    texts = [(kind, text) for kind, text in _slide_texts(slide) if text.strip()]
    draft.open_headings = []
    title = next((text for kind, text in texts if kind in _TITLES), "")
    draft.add_heading(1, title)
    for _, text in texts:
        if text is not title:
            draft.add_text(text)
    if slide.has_notes_slide:
        notes = "\n".join(text for kind, text in _slide_texts(slide.notes_slide) if kind == "body")
        if notes.strip():
            label = "备注" if detect_language(notes) == "zh" else "Notes"
            draft.blocks.append(TextBlock(notes, (*draft.heading_path, label), draft.page))


def read_pptx(data: bytes) -> FileDraft:
    """Read the slides of a PowerPoint file; the page of a block is the number of its slide, from 1.

    Raises:
        UnreadableFileError: the file is refused, or its slides hold pictures only.
    """
    import pptx
    from pptx.exc import PythonPptxError

    check_container(data, "presentation")
    try:
        return _read_presentation(pptx.Presentation(io.BytesIO(data)))
    except PythonPptxError as error:
        raise ValueError("damaged presentation") from error


def _read_presentation(presentation: Any) -> FileDraft:
    draft = FileDraft()
    has_pictures = False
    for number, slide in enumerate(presentation.slides, 1):
        draft.page = number
        _add_slide(draft, slide)
        has_pictures = has_pictures or next(slide.element.iter(f"{_PRESENTATION}pic"), None) is not None
    if has_pictures and not draft.blocks:
        detail = "The slides hold pictures without text; save the presentation as PDF and add that."
        raise UnreadableFileError("no text layer", detail, "slides")
    first_heading = next((block.text for block in draft.blocks if block.is_heading and block.page == 1), "")
    draft.title = usable_title(presentation.core_properties.title) or first_heading
    return draft
