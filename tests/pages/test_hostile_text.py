"""What each text that means harm becomes, without a browser: words of the page, names, files."""

from __future__ import annotations

import csv
import json
import re
from io import BytesIO, StringIO

import pytest
from lxml import etree
from markdown_it import MarkdownIt
from openpyxl import load_workbook

from pages.shared.escaping import escape_markdown, markdown_link, web_url
from pages.shared.map_content import encode_script_json
from research import Place, QueryResult, places_csv, places_geojson, places_kml
from research.export.database_rows import rows_excel, rows_table
from research.export.table_csv import table_csv
from research.sources.library.ingestion import MAX_NAME_PART_CHARS, safe_name
from tests.hostile import ADDRESSES, TEXTS, UNSTORABLE, planted, seen
from tests.tables import each_row

URL = "http://127.0.0.1:9"
ALL = [planted(text, URL) for text in (*TEXTS, *UNSTORABLE)]
IDS = [f"{n}" for n in range(len(ALL))]
READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def place(text: str) -> Place:
    return Place(
        id="1", name=text, lng=116.4, lat=39.9, provider="amap", address=text, category=text,
        phone=text, hours=text, photos=(text,),
    )  # fmt: skip


def test_there_are_many_and_no_two_are_the_same() -> None:
    assert len(TEXTS) >= 80
    assert len(set(TEXTS)) == len(TEXTS)


@each_row("text", ALL)
def test_a_page_shows_it_as_words(text: str) -> None:
    tokens = READER.parse(f"- **{escape_markdown(text, 160)}** {markdown_link(text, URL)} {escape_markdown(text)}")
    inside = {child.type for token in tokens for child in token.children or ()}
    assert inside <= {
        "text",
        "text_special",
        "strong_open",
        "strong_close",
        "link_open",
        "link_close",
    }
    assert not {"html_block", "fence", "heading_open", "table_open", "hr"} & {t.type for t in tokens}
    words = "".join(child.content for token in tokens for child in token.children or ())
    assert seen(text) in seen(words, len(words))


@each_row("address", ADDRESSES)
def test_no_such_address_becomes_a_link(address: str) -> None:
    assert web_url(address) == ""
    assert markdown_link("words", address) == "words"


@each_row("text", ALL)
def test_a_name_of_it_leads_nowhere_and_has_nothing_unseen(text: str) -> None:
    name = safe_name(text)
    assert not re.search("[\x00-\x1f\x7f\\\\\u200b-\u200f\u202a-\u202e\u2066-\u2069]", name)
    for part in name.split("/"):
        assert part == part.strip()
        assert part not in ("", ".", "..")
        assert len(part) <= MAX_NAME_PART_CHARS


def no_formula(cell: str) -> bool:
    return not re.match(r"\s*[=+\-@\t\r\n]", cell) or bool(re.fullmatch(r"[-+]?[\d.]+", cell))


@pytest.mark.slow
@each_row("text", ALL)
def test_no_spreadsheet_takes_it_for_a_formula(text: str) -> None:
    rows = QueryResult(sql="select 1", names=(text, "n"), types=("text", "integer"), rows=((text, 1),))
    lines = list(csv.reader(StringIO(table_csv([rows_table(rows)]).decode("utf-8-sig"), newline="")))
    assert len(lines) == 2
    assert all(no_formula(cell) for line in lines for cell in line)
    table = list(csv.reader(StringIO(places_csv([place(text)]).removeprefix("\ufeff"), newline="")))
    assert all(no_formula(cell) for cell in table[1])
    sheet = load_workbook(BytesIO(rows_excel(rows, (text,)))).worksheets
    assert {cell.data_type for page in sheet for row in page for cell in row} <= {"s", "n"}
    assert not any(cell.hyperlink for page in sheet for row in page for cell in row)


@each_row("text", ALL)
def test_a_file_of_places_has_it_as_text(text: str) -> None:
    written = places_kml([place(text)], text, (text,)).encode("utf-8", "replace")
    names = {etree.QName(one).localname for one in etree.fromstring(written).iter()}
    calm = places_kml([place("calm")], "calm", ("calm",)).encode()
    assert names == {etree.QName(one).localname for one in etree.fromstring(calm).iter()}
    (one,) = json.loads(places_geojson([place(text)]))["features"]
    assert set(one) == {"type", "geometry", "properties"} or set(one) > {"type", "geometry"}
    assert seen(text) == seen(one["properties"]["name"])


@each_row("text", ALL)
def test_inside_a_script_it_stays_a_text(text: str) -> None:
    written = encode_script_json({"name": text, text: [text]})
    assert not re.search(r"[<>&\u2028\u2029]", written)
    assert "{{" not in written and "{%" not in written
    assert json.loads(written)["name"] == text.encode("utf-8", "replace").decode()
