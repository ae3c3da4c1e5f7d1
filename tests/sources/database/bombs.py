"""Workbooks of a few kilobytes that would take gigabytes, and honest ones that look like them.

xlsx and ods are written as XML, xlsb as records (MS-XLSB), xls as records in a compound file (MS-XLS, MS-CFB).
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Iterable, Mapping

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
Cells = Iterable[tuple[int, int, float]]  # row and column from 0, in order, and the value


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """A zip file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in files.items():
            package.writestr(name, content)
    return out.getvalue()


def _book(sheet: str, kind: str, workbook: bytes | str, body: bytes | str, more: Mapping[str, bytes | str]) -> bytes:  # fmt: skip
    suffix = "bin" if kind == "binary" else "xml"
    types = "sheet.binary.macroEnabled.main" if kind == "binary" else "sheet.main+xml"
    name = sheet.rpartition("/")[2]
    return packed({
        "[Content_Types].xml": f'<?xml version="1.0"?><Types xmlns="{_PACKAGE}/content-types">'
        f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.{suffix}" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.{types}"/></Types>',
        "_rels/.rels": f'<?xml version="1.0"?><Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.{suffix}"/></Relationships>',
        f"xl/workbook.{suffix}": workbook,
        f"xl/_rels/workbook.{suffix}.rels": f'<?xml version="1.0"?><Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="{sheet}"/>'
        f'<Relationship Id="rId2" Type="{_OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
        f"xl/{sheet}": body,
        "xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}"/>',
        "note": name,
        **more,
    })  # fmt: skip


def xlsx(rows: str, *, sheet: str = "worksheets/sheet1.xml", before: str = "", after: str = "", declared: str = "", prefix: str = "", more: Mapping[str, bytes | str] | None = None) -> bytes:  # fmt: skip
    """A workbook whose one sheet has these rows, as XML."""
    workbook = (
        f'<?xml version="1.0"?><workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">'
        '<sheets><sheet name="s" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    colon = f"{prefix}:" if prefix else ""
    space = f'xmlns:{prefix}="{_MAIN}"' if prefix else f'xmlns="{_MAIN}"'
    body = (
        f'<?xml version="1.0"?>{declared}<{colon}worksheet {space}>{before}'
        f"<{colon}sheetData>{rows}</{colon}sheetData>{after}</{colon}worksheet>"
    )
    return _book(sheet, "xml", workbook, body, more or {})


def text_cell(ref: str, text: str) -> str:
    return f'<c r="{ref}" t="inlineStr"><is><t>{text}</t></is></c>'


def cell(ref: str, value: int = 1) -> str:
    return f'<c r="{ref}"><v>{value}</v></c>'


HEAD = f'<row r="1">{text_cell("A1", "h")}{text_cell("B1", "g")}</row>'


def ods(rows: str) -> bytes:
    """A spreadsheet whose one sheet has these rows, as XML."""
    return packed({
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": f'<?xml version="1.0"?><manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0">'
        '<manifest:file-entry manifest:full-path="/" manifest:media-type="application/vnd.oasis.opendocument.spreadsheet"/></manifest:manifest>',
        "content.xml": f'<?xml version="1.0"?><office:document-content xmlns:office="{_ODF}:office:1.0" '
        f'xmlns:table="{_ODF}:table:1.0" xmlns:text="{_ODF}:text:1.0" office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="s">{rows}</table:table></office:spreadsheet></office:body></office:document-content>',
    })  # fmt: skip


def ods_row(*cells: str, times: int = 1) -> str:
    return f'<table:table-row table:number-rows-repeated="{times}">{"".join(cells)}</table:table-row>'  # fmt: skip


def ods_cell(text: str, times: int = 1) -> str:
    return (
        f'<table:table-cell office:value-type="string" table:number-columns-repeated="{times}">'
        f"<text:p>{text}</text:p></table:table-cell>"
    )


def ods_gap(times: int) -> str:
    return f'<table:table-cell table:number-columns-repeated="{times}"/>'


def _record(kind: int, data: bytes = b"") -> bytes:
    head = bytes([kind]) if kind < 128 else bytes([kind & 0x7F | 0x80, kind >> 7])
    assert len(data) < 128
    return head + bytes([len(data)]) + data


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb(cells: Cells, extent: tuple[int, int, int, int] = (0, 0, 0, 0)) -> bytes:
    """A binary workbook with one sheet of numbers, which claims to have an `extent`."""
    body = _record(129) + _record(148, struct.pack("<IIII", *extent)) + _record(145)
    last = None
    for row, column, value in cells:
        if row != last:
            body += _record(0, struct.pack("<IIHBBBI", row, 0, 300, 0, 0, 0, 0))
            last = row
        body += _record(5, struct.pack("<IId", column, 0, value))
    body += _record(146) + _record(130)
    sheet = struct.pack("<II", 0, 1) + _wide("rId1") + _wide("s")
    workbook = _record(131) + _record(143) + _record(156, sheet) + _record(144) + _record(132)
    return _book("worksheets/sheet1.bin", "binary", workbook, body, {})


def _biff(kind: int, data: bytes = b"") -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _begin(kind: int) -> bytes:
    return _biff(0x809, struct.pack("<HHHHII", 0x600, kind, 0x0DBB, 0x07CC, 0, 6))


def xls(cells: Cells, extent: tuple[int, int, int, int] = (0, 1, 0, 1)) -> bytes:
    """A workbook of Excel 97 with one sheet of numbers, which claims to have an `extent`."""

    def opening(offset: int) -> bytes:
        sheet = struct.pack("<IBBBB", offset, 0, 0, 1, 0) + b"s"
        return _begin(5) + _biff(0x42, struct.pack("<H", 1200)) + _biff(0x85, sheet) + _biff(0x0A)

    stream = opening(len(opening(0))) + _begin(0x10)
    stream += _biff(0x200, struct.pack("<IIHHH", *extent, 0))
    for row, column, value in cells:
        stream += _biff(0x203, struct.pack("<HHHd", row, column, 0, value))
    stream += _biff(0x0A)
    stream += bytes(max(0, 4_096 - len(stream)))
    stream += bytes(-len(stream) % 512)
    count = len(stream) // 512
    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    table = [0xFFFFFFFD, end, *range(3, count + 2), end]
    table += [free] * (128 - len(table))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
    head += bytes(6) + struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4_096, end, 0, end, 0) + struct.pack("<I", 0)
    head += b"\xff" * (4 * 108)

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        written = name.encode("utf-16-le") + b"\0\0"
        return (
            written.ljust(64, b"\0")
            + struct.pack("<HBBIII", len(written), kind, 1, free, free, child)
            + bytes(36)
            + struct.pack("<IQ", start, size)
        )

    folder = entry("Root Entry", 5, 1, end, 0) + entry("Workbook", 2, free, 2, count * 512)
    return head + struct.pack("<128I", *table) + folder + bytes(256) + stream
