"""Where the rows of a table come from: lines, files, and what a run has found."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from research.core.records import Place, Report, Row
from research.core.text.tokenizer import normalise_quote

MAX_ROWS = 500  # rows of a table
MAX_NAME_CHARS = 200  # characters
_NAME_HEADINGS = ("name", "title", "row", "名称", "名字", "标题", "景区", "景点")
_ABOUT_HEADINGS = ("about", "city", "place", "of", "说明", "城市", "地点")


def rows_from_lines(text: str) -> tuple[Row, ...]:
    """Rows of lines as they are typed or pasted: a name each, behind a tab or a bar what tells it from others."""
    return _make_rows(_split_line(line) for line in text.splitlines())


def _split_line(line: str) -> tuple[str, str, Place | None]:
    for mark in ("\t", " | ", "|"):
        name, found, about = line.partition(mark)
        if found:
            return name, about, None
    return line, "", None


def rows_from_csv(content: bytes) -> tuple[Row, ...]:
    """Rows of a CSV file: a column `name`, else the first one; `about` or `city` tells rows of one name apart.

    Raises:
        ValueError: it is no text.
    """
    for code in ("utf-8-sig", "gb18030"):
        try:
            text = content.decode(code)
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
    heads = [normalise_quote(cell.strip()) for cell in lines[0]]
    name = next((heads.index(word) for word in _NAME_HEADINGS if word in heads), None)
    about = next((heads.index(word) for word in _ABOUT_HEADINGS if word in heads), None)
    body = lines if name is None else lines[1:]
    at = name or 0
    return _make_rows(
        (line[at], line[about] if about is not None and about < len(line) else "", None)
        for line in body
        if at < len(line)
    )


def rows_from_report(report: Report) -> tuple[Row, ...]:
    """Rows of what a run has found: its places, the first column of names in its rows, its papers."""
    places = [item.place for item in report.evidence if item.place]
    if places:
        return _make_rows((place.name, place.city or place.district, place) for place in places)
    for finding in report.findings:
        if finding.rows and finding.rows.rows:
            at = next((n for n, kind in enumerate(finding.rows.types) if kind == "text"), 0)
            return _make_rows((str(row[at]), "", None) for row in finding.rows.rows if row[at] is not None)
    papers = [item for item in report.evidence if item.kind == "paper"]
    return _make_rows((item.title, str(item.paper.year or "") if item.paper else "", None) for item in papers)


def _make_rows(entries: Iterable[tuple[str, str, Place | None]]) -> tuple[Row, ...]:
    return tuple(_unique_rows(entries))


def _unique_rows(entries: Iterable[tuple[str, str, Place | None]]) -> Iterator[Row]:
    seen: set[tuple[str, str]] = set()
    for name, about, place in entries:
        name, about = " ".join(name.split())[:MAX_NAME_CHARS], " ".join(about.split())[:MAX_NAME_CHARS]
        key = normalise_quote(name), normalise_quote(about)
        if not name or key in seen:
            continue
        seen.add(key)
        yield Row(id=f"r{len(seen)}", name=name, about=about, place=place)
        if len(seen) == MAX_ROWS:
            return
