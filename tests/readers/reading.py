"""Help for tests of readers: sample files, refusals and outlines.

The files `samples/pandoc.*` are `samples/source.md` as written by pandoc 2.17, `samples/libreoffice.odt`, `.rtf` and
`.epub` the Word form of it as saved by LibreOffice 7.4, and `samples/libreoffice.xls` and `.ods` a small table, likewise.
`samples/outlook.msg` is a test file of python-oxmsg (MIT), saved by another program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from research.readers.documents import Document, UnreadableFileError, read_document

SAMPLES = Path(__file__).parent / "samples"
# The sentences of source.md in order.
SENTENCES = (
    "The lake holds 1.4 × 10⁶ m³ of water and CO₂ is measured. [1]",
    "这是一个关于西湖的段落。门票四十元。",
    "Leifeng Pagoda",
    "Broken Bridge",
    "2023",
    "28 million",
    "30 million",
    "西湖全年开放。",
)


def read_sample(name: str) -> Document:
    return read_document(name, (SAMPLES / name).read_bytes())


def outline(document: Document) -> list[tuple[str, int | None, str]]:
    """Return heading, page and text of each section."""
    return [(s.heading, s.page, document.text[s.start : s.end]) for s in document.sections]


def refusal(name: str, data: bytes) -> UnreadableFileError:
    with pytest.raises(UnreadableFileError) as caught:
        read_document(name, data)
    assert 0 < len(caught.value.detail) <= 300
    return caught.value


def assert_in_order(text: str, parts: tuple[str, ...] = SENTENCES) -> None:
    position = 0
    for part in parts:
        assert part in text[position:], part
        position = text.index(part, position) + len(part)
