"""An Excel workbook written row by row: ECMA-376 with inline strings.

openpyxl takes four times as long for a million rows. Cell values are those of
`table_excel.to_excel_value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

from research.export.table_excel import to_excel_value

_SPREADSHEET_NAMESPACE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONSHIPS_NAMESPACE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE_NAMESPACE = "http://schemas.openxmlformats.org/package/2006"
_CONTENT_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_XML_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TEXT_STYLE, _DATE_STYLE, _DATETIME_STYLE, _BOLD_STYLE = 1, 2, 3, 4  # indices of the formats below; 0 is for numbers
_STYLES_XML = (
    f'{_XML_DECLARATION}<styleSheet xmlns="{_SPREADSHEET_NAMESPACE}"><fonts count="2"><font/><font><b/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders>'
    '<cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="5"><xf xfId="0"/><xf quotePrefix="1"/>'
    '<xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/>'
    '<xf fontId="1" quotePrefix="1" applyFont="1"/></cellXfs><cellStyles count="1">'
    '<cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
_FROZEN_PANE_XML = (
    '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" state="frozen"/>'
    "</sheetView></sheetViews>"
)
_ESCAPE_SEQUENCE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # Excel would read it as a character
_EXCEL_EPOCH = datetime(1899, 12, 30)
SheetRow = Iterable[Any]


def write_workbook(path: Path, names: Iterable[str], rows: Iterable[SheetRow], lines: Iterable[str]) -> None:
    """Write a sheet `rows` with headings and a sheet `SQL` with lines: a statement, and notes on its rows."""
    sheets = {"rows": _rows_xml(names, rows), "SQL": (_row_xml([line], _TEXT_STYLE) for line in lines)}
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, sheets, strict=True)
    )
    parts = {"xl/workbook.xml": "sheet.main", "xl/styles.xml": "styles"} | {
        f"xl/worksheets/sheet{n}.xml": "worksheet" for n in numbers
    }
    types = "".join(
        f'<Override PartName="/{part}" ContentType="{_CONTENT_TYPE}.{kind}+xml"/>' for part, kind in parts.items()
    )
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as packed:
        packed.writestr(
            "[Content_Types].xml",
            f'{_XML_DECLARATION}<Types xmlns="{_PACKAGE_NAMESPACE}/content-types"><Default Extension="rels" '
            f'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>{types}</Types>',
        )
        packed.writestr("_rels/.rels", _relationships_xml([("officeDocument", "xl/workbook.xml")]))
        packed.writestr(
            "xl/workbook.xml",
            f'{_XML_DECLARATION}<workbook xmlns="{_SPREADSHEET_NAMESPACE}" xmlns:r="{_RELATIONSHIPS_NAMESPACE}"><sheets>{listed}</sheets></workbook>',
        )
        links = [("worksheet", f"worksheets/sheet{n}.xml") for n in numbers]
        packed.writestr("xl/_rels/workbook.xml.rels", _relationships_xml([*links, ("styles", "styles.xml")]))
        packed.writestr("xl/styles.xml", _STYLES_XML)
        for n, (name, lines) in enumerate(sheets.items(), 1):
            with packed.open(f"xl/worksheets/sheet{n}.xml", "w", force_zip64=True) as out:
                view = _FROZEN_PANE_XML if name == "rows" else ""
                out.write(f'{_XML_DECLARATION}<worksheet xmlns="{_SPREADSHEET_NAMESPACE}">{view}<sheetData>'.encode())
                for line in lines:
                    out.write(line.encode())
                out.write(b"</sheetData></worksheet>")


def _relationships_xml(links: Iterable[tuple[str, str]]) -> str:
    relationships = "".join(
        f'<Relationship Id="r{n}" Type="{_RELATIONSHIPS_NAMESPACE}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(links, 1)
    )
    return (
        f'{_XML_DECLARATION}<Relationships xmlns="{_PACKAGE_NAMESPACE}/relationships">{relationships}</Relationships>'
    )


def _rows_xml(names: Iterable[str], rows: Iterable[SheetRow]) -> Iterator[str]:
    yield _row_xml(names, _BOLD_STYLE)
    for row in rows:
        yield _row_xml(row, _TEXT_STYLE)


def _row_xml(values: SheetRow, text_style: int) -> str:
    return f"<row>{''.join([_cell_xml(to_excel_value(value), text_style) for value in values])}</row>"


def _cell_xml(value: Any, text_style: int) -> str:
    if isinstance(value, str):
        value = _ESCAPE_SEQUENCE.sub("_x005F_", value) if "_x" in value else value
        return f'<c t="inlineStr" s="{text_style}"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if isinstance(value, datetime):
        return f'<c s="{_DATETIME_STYLE}"><v>{(value - _EXCEL_EPOCH) / timedelta(days=1)!r}</v></c>'
    if isinstance(value, date):
        return f'<c s="{_DATE_STYLE}"><v>{(value - _EXCEL_EPOCH.date()).days}</v></c>'
    return f"<c><v>{value!r}</v></c>"
