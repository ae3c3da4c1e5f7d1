"""Where the rows of a table come from: lines, files, and what a run has found."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from research.core.records import Place, Report, Row
from research.core.text.words import fold

MOST = 500  # rows of a table
NAME = 200  # characters
_NAMES = ("name", "title", "row", "名称", "名字", "标题", "景区", "景点")
_ABOUTS = ("about", "city", "place", "of", "说明", "城市", "地点")


def line_rows(text: str) -> tuple[Row, ...]:
    """Rows of lines as they are typed or pasted: a name each, behind a tab or a bar what tells it from others."""
    return _rows(_cut(line) for line in text.splitlines())


def _cut(line: str) -> tuple[str, str, Place | None]:
    for mark in ("\t", " | ", "|"):
        name, found, about = line.partition(mark)
        if found:
            return name, about, None
    return line, "", None


def csv_rows(data: bytes) -> tuple[Row, ...]:
    """Rows of a CSV file: a column `name`, else the first one; `about` or `city` tells rows of one name apart.

    Raises:
        ValueError: it is no text.
    """
    for code in ("utf-8-sig", "gb18030"):
        try:
            text = data.decode(code)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise ValueError("the file is no text in UTF-8 or GB18030")
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:4096], ",;\t|")
    except csv.Error:
        dialect = csv.excel
    lines = [line for line in csv.reader(io.StringIO(text), dialect) if any(map(str.strip, line))]
    if not lines:
        return ()
    heads = [fold(cell.strip()) for cell in lines[0]]
    name = next((heads.index(word) for word in _NAMES if word in heads), None)
    about = next((heads.index(word) for word in _ABOUTS if word in heads), None)
    body = lines if name is None else lines[1:]
    at = name or 0
    return _rows(
        (line[at], line[about] if about is not None and about < len(line) else "", None)
        for line in body
        if at < len(line)
    )


def report_rows(report: Report) -> tuple[Row, ...]:
    """Rows of what a run has found: its places, the first column of names in its rows, its papers."""
    places = [item.place for item in report.evidence if item.place]
    if places:
        return _rows((place.name, place.city or place.district, place) for place in places)
    for finding in report.findings:
        if finding.rows and finding.rows.rows:
            at = next((n for n, kind in enumerate(finding.rows.types) if kind == "text"), 0)
            return _rows(
                (str(row[at]), "", None) for row in finding.rows.rows if row[at] is not None
            )
    papers = [item for item in report.evidence if item.kind == "paper"]
    return _rows(
        (item.title, str(item.paper.year or "") if item.paper else "", None) for item in papers
    )


def _rows(told: Iterable[tuple[str, str, Place | None]]) -> tuple[Row, ...]:
    return tuple(_numbered(told))


def _numbered(told: Iterable[tuple[str, str, Place | None]]) -> Iterator[Row]:
    seen: set[tuple[str, str]] = set()
    for name, about, place in told:
        name, about = " ".join(name.split())[:NAME], " ".join(about.split())[:NAME]
        key = fold(name), fold(about)
        if not name or key in seen:
            continue
        seen.add(key)
        yield Row(id=f"r{len(seen)}", name=name, about=about, place=place)
        if len(seen) == MOST:
            return
