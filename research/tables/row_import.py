"""Rows of a table, read from lines, from CSV files and from the results of a run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from research.core.records import Place, Report, Row
from research.core.text.quotes import normalise_quote

MAX_ROWS = 500
MAX_NAME_CHARS = 200
_NAME_HEADINGS = ("name", "title", "row", "名称", "名字", "标题", "景区", "景点")
_ABOUT_HEADINGS = ("about", "city", "place", "of", "说明", "城市", "地点")


def rows_from_lines(text: str) -> tuple[Row, ...]:
    """Parse lines as typed or pasted: a name, then optionally a tab or bar and what distinguishes
    it."""
    return _make_rows(_split_line(line) for line in text.splitlines())


def _split_line(line: str) -> tuple[str, str, Place | None]:
    for delimiter in ("\t", " | ", "|"):
        name, separator, about = line.partition(delimiter)
        if separator:
            return name, about, None
    return line, "", None


def rows_from_csv(content: bytes) -> tuple[Row, ...]:
    """Parse rows of a CSV file in UTF-8 or GB18030.

    Names come from a column `name` (or another heading of `_NAME_HEADINGS`), else from the first
    column; `about` or `city` distinguishes rows with the same name.

    Raises:
        ValueError: the content is not text.
    """
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            text = content.decode(encoding)
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
    headings = [normalise_quote(cell.strip()) for cell in lines[0]]
    name = next((headings.index(word) for word in _NAME_HEADINGS if word in headings), None)
    about = next((headings.index(word) for word in _ABOUT_HEADINGS if word in headings), None)
    body = lines if name is None else lines[1:]
    name_column = name or 0
    return _make_rows(
        (line[name_column], line[about] if about is not None and about < len(line) else "", None)
        for line in body
        if name_column < len(line)
    )


def rows_from_report(report: Report) -> tuple[Row, ...]:
    """Return as rows what a run found: its places, else the first text column of its rows, else its
    papers."""
    places = [item.place for item in report.evidence if item.place]
    if places:
        return _make_rows((place.name, place.city or place.district, place) for place in places)
    for finding in report.findings:
        if finding.rows and finding.rows.rows:
            text_column = next((n for n, kind in enumerate(finding.rows.types) if kind == "text"), 0)
            return _make_rows(
                (str(row[text_column]), "", None) for row in finding.rows.rows if row[text_column] is not None
            )
    papers = [item for item in report.evidence if item.kind == "paper"]
    return _make_rows((item.title, str(item.paper.year or "") if item.paper else "", None) for item in papers)


def _make_rows(entries: Iterable[tuple[str, str, Place | None]]) -> tuple[Row, ...]:
    return tuple(_unique_rows(entries))


def _unique_rows(entries: Iterable[tuple[str, str, Place | None]]) -> Iterator[Row]:
    """Yield at most `MAX_ROWS` rows, without unnamed ones and duplicates.

    An entry has a name, the text that distinguishes it from others of the name, and its place or
    None.
    """
    seen: set[tuple[str, str]] = set()
    for name, about, place in entries:
        name, about = " ".join(name.split())[:MAX_NAME_CHARS], " ".join(about.split())[:MAX_NAME_CHARS]
        key = normalise_quote(name), normalise_quote(about)
        if not name or key in seen:
            continue
        seen.add(key)
        yield Row(id=f"r{len(seen)}", name=name, qualifier=about, place=place)
        if len(seen) == MAX_ROWS:
            return
