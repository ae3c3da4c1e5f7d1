"""The report that is hard to set, read back from every format."""

from __future__ import annotations

import json
import re
from collections import Counter
from io import BytesIO
from typing import Any

import bibtexparser
import pytest
import RISparser
import rispy
from docx import Document as read_docx
from docx.oxml.ns import qn
from lxml import html
from pybtex.database import parse_string
from pypdf import PdfReader

from research.citations.numbering import CitedAnswer, number_report_answer
from research.core.records import Report
from research.export.fonts import is_drawable
from research.export.formats import EXPORT_FORMATS, export_report
from tests.export.hard import CODE, DISPLAYED, EMOJI, INLINE, SCRIPTS, SECTIONS, SOURCES, hard
from tests.export.test_formulas_export import OMML, formulas
from tests.export.test_markdown import BARRED, shape
from tests.export.test_pdf import goals, links, tagged

pytestmark = pytest.mark.slow

SAID = [script for name, script in SCRIPTS.items() if name not in ("Arabic", "Hebrew")]
DIRECT = ("Hangul", "Cyrillic", "Greek")  # scripts whose letters stand in a PDF as they are typed


@pytest.fixture(scope="module")
def made() -> tuple[Report, CitedAnswer]:
    report = hard()
    numbered = number_report_answer(report)
    assert numbered and len(numbered.sources) == SOURCES
    return report, numbered


@pytest.fixture(scope="module")
def files(made: tuple[Report, CitedAnswer]) -> dict[str, bytes]:
    return {item.suffix: item.write(*made) for item in EXPORT_FORMATS if item.content in ("report", "sources")}


def squeezed(text: str) -> str:
    return re.sub(r"\s", "", text)


def test_markdown(files: dict[str, bytes]) -> None:
    text = files["md"].decode()
    assert not BARRED & set(shape(re.sub(r'<a id="s\d+"></a>', "", text)))
    found = Counter(" ".join(tex.split()) for tex, _ in formulas(text))
    assert {*INLINE, *(" ".join(tex.split()) for tex in DISPLAYED)} <= {*found}
    assert found[INLINE[0]] == 2 * SECTIONS // len(INLINE)
    assert text.count("\n```python\n") == text.count("\n```sql\n") == SECTIONS // len(CODE)
    assert all(script in text for script in SCRIPTS.values()) and all(one in text for one in EMOJI)
    assert len(re.findall(r'^\d+\. <a id="s\d+"></a>', text, re.M)) == SOURCES
    marks = re.findall(r"\[\\\[(\d+)\\\]\]\(#s(\d+)\)", text)
    assert {*map(int, next(zip(*marks, strict=True)))} == {*range(1, SOURCES + 1)}
    assert all(number == goal for number, goal in marks)
    assert text.count("* [ ] open") == text.count("* [x] done") == SECTIONS
    assert "(\\$5 or \\$10)" in text


def test_html(files: dict[str, bytes]) -> None:
    page: Any = html.document_fromstring(files["html"])
    found = Counter(" ".join(node.text.split()) for node in page.iter("annotation"))
    assert {*INLINE, *(" ".join(tex.split()) for tex in DISPLAYED)} <= {*found}
    assert not page.find_class("math")  # each could be read
    said = page.text_content()
    assert all(script in said for script in SCRIPTS.values()) and all(one in said for one in EMOJI)
    ids = Counter(node.get("id") for node in page.iter() if node.get("id"))
    assert max(ids.values()) == 1
    inner = {a.get("href")[1:] for a in page.iter("a") if a.get("href").startswith("#")}
    assert inner <= {*ids} and {f"source-{n}" for n in range(1, SOURCES + 1)} <= inner
    assert {code.get("class") for code in page.iter("code")} == {
        None,
        "language-python",
        "language-sql",
    }
    ways = {p.text_content()[:6] for p in page.iter("p") if p.get("dir") == "rtl"}
    assert {SCRIPTS["Arabic"][:6], SCRIPTS["Hebrew"][:6]} <= ways


def test_pdf(files: dict[str, bytes]) -> None:
    reader = PdfReader(BytesIO(files["pdf"]))
    pages = [page.extract_text() for page in reader.pages]
    said = squeezed("".join(pages))
    assert 20 <= len(pages) <= 60 and all(f"{n}/{len(pages)}" in squeezed(t) for n, t in enumerate(pages, 1))
    assert all(squeezed(SCRIPTS[name]) in said for name in DIRECT)
    han = "".join(c if is_drawable(c) else f"[U+{ord(c):X}]" for c in "𠮷田港逐年擴大，龘與")
    assert han in said  # a character that no font of this machine has is named
    fonts = {
        str(font.get_object()["/BaseFont"]).partition("+")[2].partition("-")[0]
        for page in reader.pages
        for font in page["/Resources"]["/Font"].values()
    }
    assert {
        "NotoSansArabic",
        "NotoSansHebrew",
        "NotoSansThai",
        "NotoSansDevanagari",
        "NotoEmoji",
    } <= fonts
    titles = [str(entry["/Title"]) for entry in reader.outline if not isinstance(entry, list)]
    assert titles[:2] == ["Question", "Answer"] and "Sources" in titles and "Places" in titles
    inner = next(entry for entry in reader.outline if isinstance(entry, list))
    assert [str(entry["/Title"]).partition(":")[0] for entry in inner] == [f"Section {n + 1}" for n in range(SECTIONS)]
    sources = {int(page.split(".")[0]) for page in re.findall(r"^\d+\. Report", "\n".join(pages), re.M)}
    assert sources == {*range(1, SOURCES + 1)}
    assert len(goals(reader)) >= SOURCES
    assert len(links(files["pdf"])) == SOURCES
    alts = [str(n["/Alt"]) for n in tagged(reader.root_object["/StructTreeRoot"]) if "/Alt" in n]
    assert "p < 0.05" in alts and any("留园" in alt for alt in alts)


def test_word(files: dict[str, bytes]) -> None:
    file: Any = read_docx(BytesIO(files["docx"]))
    body = file.element.body
    said = "".join(body.itertext())
    assert all(script in said for script in SAID) and all(one in said for one in EMOJI)
    names = [mark.get(qn("w:name")) for mark in body.iter(qn("w:bookmarkStart"))]
    assert len(names) == len({*names})
    asked = {link.get(qn("w:anchor")) for link in body.iter(qn("w:hyperlink"))} - {None}
    assert asked <= {*names} and {f"source_{n}" for n in range(1, SOURCES + 1)} <= asked
    assert sum(1 for _ in body.iter(f"{{{OMML}}}oMathPara")) == SECTIONS
    titles = [p.text for p in file.paragraphs if p.style.name == "Heading 2"]
    assert sum(title.startswith("Section ") for title in titles) == SECTIONS
    assert len(file.tables) >= SECTIONS + 2  # what sources differ about, and the places
    assert sum(p.text.startswith("☐ open") for p in file.paragraphs) == SECTIONS


def test_bibtex_for_two_readers(files: dict[str, bytes]) -> None:
    text = files["bib"].decode()
    one, other = bibtexparser.parse_string(text), parse_string(text, "bibtex")
    assert not one.failed_blocks
    assert [entry.key for entry in one.entries] == [*other.entries] == [f"s{n}" for n in range(1, SOURCES + 1)]
    entry = other.entries["s1"]
    assert (entry.type, entry.fields["date"]) == ("online", "2026-01-01")
    assert entry.fields["organization"] == r"{Sons \& Daughters 0 \textbraceleft{}Ltd\textbraceright{}}"
    assert not other.entries["s1"].persons


def test_ris_for_two_readers(files: dict[str, bytes]) -> None:
    text = files["ris"].decode().replace("\r\n", "\n")
    one, other = rispy.loads(text), [*RISparser.read(text.split("\n"))]
    ids = [f"s{n}" for n in range(1, SOURCES + 1)]
    assert [item["id"] for item in one] == [item["id"] for item in other] == ids
    assert one[0]["title"] == other[0]["title"] and SCRIPTS["Hangul"] in one[0]["title"]
    assert Counter(item["type_of_reference"] for item in one) == {"ELEC": 150, "NEWS": 50}


def test_data(made: tuple[Report, CitedAnswer], files: dict[str, bytes]) -> None:
    items = json.loads(files["csl.json"])
    assert len(items) == SOURCES and all("container-title" in item and "author" not in item for item in items)
    assert len(json.loads(files["json"])["sources"]) >= SOURCES
    assert {ending: export_report(*made, ending) for ending in ("pdf", "docx")} == {
        ending: files[ending] for ending in ("pdf", "docx")
    }
