"""Slides keep their title, order, tables, chart data and notes, and passages name their slide."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pptx
from PIL import Image
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from research.readers.documents import read_document
from tests.readers.reading import assert_in_order, outline, read_sample, refusal

BOX = (Inches(1), Inches(3), Inches(5), Inches(2))


def presentation(fill: Callable[[Any], object], title: str = "") -> bytes:
    deck = pptx.Presentation()
    deck.core_properties.title = title
    fill(deck)
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def add_slide(deck: Any, title: str, body: str = "", notes: str = "") -> Any:
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = title
    slide.placeholders[1].text = body
    if notes:
        slide.notes_slide.notes_text_frame.text = notes
    return slide


def test_each_slide_is_a_section_with_its_number_and_its_notes() -> None:
    def fill(deck: Any) -> None:
        add_slide(deck, "西湖票价", "成人票四十元。\n学生票二十元。", notes="这里要强调学生票。")
        add_slide(deck, "Opening hours", "Open from eight.", notes="Mention the winter hours.")
        add_slide(deck, "Opening hours", "Closed on Monday.")

    document = read_document("talk.pptx", presentation(fill))
    assert document.title == "西湖票价"
    assert outline(document) == [
        ("", 1, "成人票四十元。\n学生票二十元。"),
        ("备注", 1, "这里要强调学生票。"),
        ("Opening hours", 2, "Open from eight."),
        ("Opening hours > Notes", 2, "Mention the winter hours."),
        ("Opening hours", 3, "Closed on Monday."),
    ]


def test_tables_and_charts_are_lines_with_the_names_of_their_columns() -> None:
    def fill(deck: Any) -> None:
        slide = add_slide(deck, "Visitors")
        table = slide.shapes.add_table(2, 2, *BOX).table
        for n, text in enumerate(("Year", "Fee", "2024", "40")):
            table.cell(n // 2, n % 2).text = text
        data = CategoryChartData()
        data.categories = ["2023", "2024"]
        data.add_series("Visitors, million", (28.1, 30))
        data.add_series("Share", (0.1 + 0.2, None))
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, data).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Visitors of the lake"

    document = read_document("talk.pptx", presentation(fill, title="West Lake"))
    assert document.title == "West Lake"
    assert outline(document) == [
        ("Visitors", 1, "Year: 2024; Fee: 40\nVisitors of the lake\n2023; Visitors, million: 28.1; Share: 0.3\n2024; Visitors, million: 30"),
    ]  # fmt: skip


def test_groups_are_read_and_superscripts_have_their_plain_form() -> None:
    def fill(deck: Any) -> None:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        group = slide.shapes.add_group_shape()
        frame = group.shapes.add_textbox(*BOX).text_frame
        for text, baseline in (("Area 10", None), ("6", "30000"), (" m", None), ("2", "30000"), (" of CO", None), ("2", "-25000")):  # fmt: skip
            run = frame.paragraphs[0].add_run()
            run.text = text
            if baseline:
                run.font._element.set("baseline", baseline)

    assert outline(read_document("talk.pptx", presentation(fill))) == [("", 1, "Area 10⁶ m² of CO₂")]


def test_slides_by_another_program_are_read_in_order() -> None:
    document = read_sample("pandoc.pptx")
    assert document.title == "West Lake report 西湖报告"
    assert_in_order(document.text)
    assert [(heading, page) for heading, page, _ in outline(document)] == [
        ("", 1), ("Overview", 2), ("结论", 3), ("Notes", 4),
    ]  # fmt: skip


def test_the_text_of_a_diagram_is_read_from_its_own_part() -> None:
    drawing = "http://schemas.openxmlformats.org/drawingml/2006"
    frame = (
        f'<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="{drawing}/main">'
        f'<a:graphic><a:graphicData uri="{drawing}/diagram"><d:relIds xmlns:d="{drawing}/diagram" '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" r:dm="rId77"/>'
        "</a:graphicData></a:graphic></p:graphicFrame></p:spTree>"
    )
    diagram = (
        f'<d:dataModel xmlns:d="{drawing}/diagram" xmlns:a="{drawing}/main"><d:ptLst><d:pt><d:t><a:p><a:r>'
        "<a:t>First the gate</a:t></a:r></a:p></d:t></d:pt><d:pt><d:t><a:p><a:r><a:t>then the lake</a:t></a:r></a:p>"
        "</d:t></d:pt></d:ptLst></d:dataModel>"
    )
    relation = (
        '<Relationship Id="rId77" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData"'
        ' Target="../diagrams/data1.xml"/></Relationships>'
    )
    out = io.BytesIO()
    plain = presentation(lambda deck: add_slide(deck, "The way"))
    with zipfile.ZipFile(io.BytesIO(plain)) as given, zipfile.ZipFile(out, "w") as made:
        for name in given.namelist():
            text = given.read(name)
            if name == "ppt/slides/slide1.xml":
                text = text.replace(b"</p:spTree>", frame.encode())
            if name == "ppt/slides/_rels/slide1.xml.rels":
                text = text.replace(b"</Relationships>", relation.encode())
            made.writestr(name, text)
        made.writestr("ppt/diagrams/data1.xml", diagram)
    assert outline(read_document("talk.pptx", out.getvalue())) == [("", 1, "First the gate\nthen the lake")]


def test_slides_that_are_pictures_are_refused_with_what_to_do() -> None:
    def fill(deck: Any) -> None:
        picture = io.BytesIO()
        Image.new("RGB", (8, 8)).save(picture, "PNG")
        picture.seek(0)
        deck.slides.add_slide(deck.slide_layouts[6]).shapes.add_picture(picture, 0, 0)

    error = refusal("talk.pptx", presentation(fill))
    assert (error.problem, error.limit) == ("no text layer", "slides")
    assert "PDF" in error.detail
    assert refusal("talk.pptx", presentation(lambda deck: None)).problem == "empty"
