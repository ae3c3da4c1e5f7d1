"""Details of the sheets of xlsx and ods files that their values do not show.

Hidden rows and columns, filters, formulas without a stored result, cells with errors and columns in percent
are read from the parts of the file. Sources of the formats: ECMA-376 (xlsx), ODF 1.2.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lxml import etree

MAX_PART_BYTES = 32 * 1024**2  # scanned per sheet
MAX_STYLED_BYTES = 1024**2  # of a sheet, scanned for numbers in percent
MAX_CONTENT_BYTES = 4 * 1024**2  # of an ods file, whose cells are parsed
_SPANNED = re.compile(rb"(?:rows|columns)-spanned=\"(?:[2-9]|1\d)")
_HIDDEN_ROW = re.compile(rb"<(?:\w+:)?row\b[^<>]{0,400}\shidden=\"(?:1|true)\"")
_HIDDEN_COLUMN = re.compile(rb"<(?:\w+:)?col\b[^<>]{0,400}\shidden=\"(?:1|true)\"[^<>]{0,400}>")
_ERROR_CELL = re.compile(rb"<(?:\w+:)?c\b[^<>]{0,400}\st=\"e\"")
_UNCALCULATED_CELL = re.compile(
    rb"<(?:\w+:)?c\b(?![^<>]{0,400}\st=\"str\")[^<>]{0,400}[^/<>]>\s*<(?:\w+:)?f\b(?:[^<>]{0,400}/>|[^<>]{0,400}>[^<]{0,10000}</(?:\w+:)?f>)"
    rb"\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_STYLED_NUMBER = re.compile(rb"<(?:\w+:)?c\s+r=\"([A-Z]{1,3})\d+\"\s+s=\"(\d{1,6})\"(?:\s+t=\"n\")?\s*>")
_PERCENT_FORMATS = frozenset((9, 10))  # numFmtId of 0% and 0.00%
_NAMESPACE = re.compile(r"\{[^}]*\}")


MergedArea = tuple[tuple[int, int], tuple[int, int]]  # rows and columns of the first and last cell, from 0


@dataclass
class SheetDetails:
    """Details of a sheet; rows and columns are numbered from 1.

    `errors` counts the cells with an error, `uncalculated` the formulas without a stored result, and
    `percent_columns` maps columns to the number of their numbers in percent.
    """

    hidden_rows: int = 0
    hidden_columns: set[int] = field(default_factory=set)
    is_filtered: bool = False
    errors: int = 0
    uncalculated: int = 0
    percent_columns: dict[int, int] = field(default_factory=dict)


def read_details(path: Path | IO[bytes], kind: str) -> dict[str, SheetDetails]:
    """Return the details of the sheets by their names; nothing for xls and xlsb files.

    Raises:
        Exception: the file is damaged.
    """
    if kind not in (".xlsx", ".ods") or not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as package:
        names = set(package.namelist())
        if kind == ".ods" and "content.xml" in names:
            with package.open("content.xml") as part:
                return _read_ods(part)
        if "xl/workbook.xml" not in names:
            return {}
        percent_styles = _read_percent_styles(package) if "xl/styles.xml" in names else set()
        details = {}
        for name, part_name in _sheet_parts(package):
            if part_name in names:
                with package.open(part_name) as part:
                    details[name] = _read_xlsx_sheet(part, percent_styles)
        return details


def read_ods_areas(path: Path) -> dict[str, list[MergedArea]]:
    """Return the merged areas of the sheets of an ods file by their names, of the first `MAX_PART_BYTES`."""
    areas: dict[str, list[MergedArea]] = {}
    with zipfile.ZipFile(path) as package:
        with package.open("content.xml") as part:
            if not _SPANNED.search(part.read(MAX_PART_BYTES)):
                return {}
        with package.open("content.xml") as part:
            name, row, row_count, column = "", 0, 0, 0
            for event, tag, element in _elements(
                part, MAX_PART_BYTES, "table", "table-row", "table-cell", "covered-table-cell"
            ):
                if event == "end":
                    continue
                attributes = {_NAMESPACE.sub("", key): value for key, value in element.attrib.items()}
                if tag == "table":
                    name, row, row_count = attributes.get("name", ""), 0, 0
                elif tag == "table-row":
                    row, column = row + row_count, 0
                    row_count = max(1, _to_int(attributes.get("number-rows-repeated", "1")))
                else:
                    height = max(1, _to_int(attributes.get("number-rows-spanned", "1")))
                    width = max(1, _to_int(attributes.get("number-columns-spanned", "1")))
                    if height > 1 or width > 1:
                        areas.setdefault(name, []).append(((row, column), (row + height - 1, column + width - 1)))
                    column += max(1, min(16_384, _to_int(attributes.get("number-columns-repeated", "1"))))
    return areas


class _Limited:
    """The first bytes of a part, as a file."""

    def __init__(self, part: IO[bytes], max_bytes: int) -> None:
        self._part, self._left = part, max_bytes

    def read(self, size: int = -1) -> bytes:
        block = self._part.read(min(self._left, size if size >= 0 else 1 << 16))
        self._left -= len(block)
        return block


def _elements(part: IO[bytes], max_bytes: int, *names: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the events, names and elements of the first bytes of a part."""
    parser = etree.iterparse(
        _Limited(part, max_bytes), events=("start", "end"), tag=[f"{{*}}{name}" for name in names], resolve_entities=False,
        no_network=True, huge_tree=False, recover=True,
    )  # fmt: skip
    for event, element in parser:
        yield event, _NAMESPACE.sub("", element.tag), element
        if event == "end":
            element.clear()
            while element.getprevious() is not None and element.getparent() is not None:
                del element.getparent()[0]


def _sheet_parts(package: zipfile.ZipFile) -> list[tuple[str, str]]:
    """Return the names of the sheets and of their parts."""
    targets = {}
    with package.open("xl/_rels/workbook.xml.rels") as part:
        for event, _, element in _elements(part, MAX_CONTENT_BYTES, "Relationship"):
            if event == "start":
                targets[element.get("Id")] = element.get("Target", "")
    sheets = []
    with package.open("xl/workbook.xml") as part:
        for event, _, element in _elements(part, MAX_CONTENT_BYTES, "sheet"):
            identifier = next((value for key, value in element.attrib.items() if key.endswith("}id")), "")
            if event == "start" and (target := targets.get(identifier)):
                part_name = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
                sheets.append((element.get("name", ""), part_name))
    return sheets


def _read_percent_styles(package: zipfile.ZipFile) -> set[int]:
    """Return the indices of the cell styles that show percent."""
    formats, styles, in_cell_styles = set(_PERCENT_FORMATS), set[int](), False
    index = 0
    with package.open("xl/styles.xml") as part:
        for event, name, element in _elements(part, MAX_CONTENT_BYTES, "numFmt", "cellXfs", "xf"):
            if name == "cellXfs":
                in_cell_styles = event == "start"
            elif event == "start" and name == "numFmt":
                code = re.sub(r'"[^"]*"|\\.', "", element.get("formatCode", ""))
                if "%" in code:
                    formats.add(_to_int(element.get("numFmtId")))
            elif event == "start" and in_cell_styles:
                if _to_int(element.get("numFmtId")) in formats:
                    styles.add(index)
                index += 1
    return styles


def _read_xlsx_sheet(part: IO[bytes], percent_styles: set[int]) -> SheetDetails:
    """Return the details of a sheet, found by patterns, as parsing every cell would take seconds."""
    data = part.read(MAX_PART_BYTES)
    details = SheetDetails(
        hidden_rows=len(_HIDDEN_ROW.findall(data)),
        is_filtered=b"<filterColumn" in data or b":filterColumn" in data,
        errors=len(_ERROR_CELL.findall(data)),
        uncalculated=len(_UNCALCULATED_CELL.findall(data)) if b"<f" in data else 0,
    )
    for tag in _HIDDEN_COLUMN.findall(data):
        bounds = dict(re.findall(rb'\b(min|max)="(\d{1,5})"', tag))
        first, last = int(bounds.get(b"min", 0)), int(bounds.get(b"max", 0))
        details.hidden_columns.update(range(first, min(last, first + 16_384) + 1))
    if percent_styles:
        for letters, style in _STYLED_NUMBER.findall(data[:MAX_STYLED_BYTES]):
            if int(style) in percent_styles:
                column = _column_number(letters.decode())
                details.percent_columns[column] = details.percent_columns.get(column, 0) + 1
    return details


def _read_ods(part: IO[bytes]) -> dict[str, SheetDetails]:
    details: dict[str, SheetDetails] = {}
    current, column, declared = SheetDetails(), 1, 1
    for event, name, element in _elements(
        part, MAX_CONTENT_BYTES, "table", "table-column", "table-row", "table-cell", "covered-table-cell"
    ):
        if event == "end":
            continue
        attributes = {_NAMESPACE.sub("", key): value for key, value in element.attrib.items()}
        is_hidden = attributes.get("visibility") in ("collapse", "filter")
        repeated = max(1, min(16_384, _to_int(attributes.get("number-columns-repeated", "1"))))
        if name == "table":
            current = details.setdefault(attributes.get("name", ""), SheetDetails())
            declared = 1
        elif name == "table-column":
            current.hidden_columns.update(range(declared, declared + repeated) if is_hidden else ())
            declared += repeated
        elif name == "table-row":
            column = 1
            current.hidden_rows += _to_int(attributes.get("number-rows-repeated", "1")) if is_hidden else 0
            current.is_filtered = current.is_filtered or attributes.get("visibility") == "filter"
        else:
            if attributes.get("value-type") == "percentage":
                current.percent_columns[column] = current.percent_columns.get(column, 0) + 1
            column += repeated
    return details


def _column_number(reference: str) -> int:
    number = 0
    for letter in re.sub(r"[^A-Za-z]", "", reference)[:3].upper():
        number = number * 26 + ord(letter) - 64
    return number


def _to_int(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else 0
