"""Recognition of the format of a file by its content, whatever its name says.

Sources: the magic numbers of the formats; ECMA-376 part 2, OpenDocument 1.3 part 2 and EPUB 3.3 for the parts of zip
packages; [MS-CFB], [MS-XLS] 2.4.117 (FilePass) and [MS-OFFCRYPTO] for Office files before 2007 and encrypted ones.
"""

from __future__ import annotations

import codecs
import json
import re
import struct
import zipfile
from typing import IO, Any, NamedTuple

HEAD_BYTES = 65_536
MAX_PART_BYTES = 1 << 20
_SIGNATURES = (
    (b"%PDF-", ".pdf"), (b"{\\rtf", ".rtf"), (b"\x1f\x8b", ".gz"),
    (b"7z\xbc\xaf\x27\x1c", ".7z"), (b"Rar!\x1a\x07", ".rar"),
    (b"BZh", ".bz2"), (b"\xfd7zXZ\0", ".xz"), (b"\x28\xb5\x2f\xfd", ".zst"),
    (b"\x89PNG\r\n\x1a\n", ".png"), (b"\xff\xd8\xff", ".jpg"), (b"GIF8", ".gif"),
    (b"II*\0", ".tiff"), (b"MM\0*", ".tiff"), (b"PAR1", ".parquet"), (b"PARE", ".parquet"),
    (b"SQLite format 3\0", ".sqlite"),
    (b"ID;P", ".slk"),
)  # fmt: skip
_OFFICE_FOLDERS = (("word/", ".docx"), ("ppt/", ".pptx"), ("xl/workbook.bin", ".xlsb"), ("xl/", ".xlsx"))
_OPEN_DOCUMENT_TYPES = {b"text": ".odt", b"spreadsheet": ".ods", b"presentation": ".odp", b"graphics": ".odg"}
_COMPOUND_STREAMS = (
    ("WordDocument", ".doc"), ("Workbook", ".xls"), ("Book", ".xls"), ("PowerPoint Document", ".ppt"),
    ("__properties_version1.0", ".msg"),
)  # fmt: skip
_COMPOUND_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_FILE_PASS_RECORD = 0x2F  # follows the first records of an encrypted .xls file
_FIRST_RECORD_BYTES = 1024
_HTML = re.compile(
    r"\s*(?:<\?xml[^<>]*>\s*)?(?:<!--.{0,2000}?-->\s*)*"
    r"<(?:!doctype\s+html|html|head|body|table|meta|style|script|title|div)\b",
    re.IGNORECASE | re.DOTALL,
)
_MHTML = re.compile(r"\s*MIME-Version:.{0,500}multipart/related", re.IGNORECASE | re.DOTALL)
_MAIL = re.compile(
    r"(?:(?:From|To|Cc|Subject|Date|Received|Return-Path|Delivered-To|"
    r"Reply-To|Message-ID|MIME-Version|Content-Type|X-[\w-]{1,60})"
    r":[^\r\n]{0,2000}(?:\r?\n[ \t][^\r\n]{0,2000}){0,50}\r?\n){3}",
    re.IGNORECASE,
)
_CONTROLS = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_BYTE_ORDER_MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ARCHIVE_SUFFIXES = (".zip", ".gz", ".7z", ".rar", ".bz2", ".xz", ".zst")


class FileContent(NamedTuple):
    """The format of a file's content as the usual suffix, such as ".docx" or ".txt" for plain text; "" if unknown.

    `is_blank` marks a file of white space or a byte order mark alone, `is_cut` one that ends before its own end.
    """

    suffix: str = ""
    is_encrypted: bool = False
    is_blank: bool = False
    is_cut: bool = False


def recognise(file: IO[bytes]) -> FileContent:
    """Recognise the format of a file; damaged files of a known format may be unknown."""
    file.seek(0)
    head = file.read(HEAD_BYTES)
    is_complete = len(head) < HEAD_BYTES
    if is_complete and is_blank(head):
        return FileContent(is_blank=True)
    if head.startswith(b"PK\x03\x04"):
        return _recognise_package(file)
    if head.startswith(_COMPOUND_SIGNATURE):
        return _recognise_compound_file(file)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return FileContent(".webp")
    if not head.strip(b"\0"):
        return FileContent(is_cut=is_complete)
    text_start = head.removeprefix(codecs.BOM_UTF8).lstrip()
    for signature, suffix in _SIGNATURES:
        if head.startswith(signature) or (suffix in (".pdf", ".rtf") and text_start.startswith(signature)):
            return FileContent(suffix, is_encrypted=signature == b"PARE")
    return FileContent(_text_suffix(head, is_complete=is_complete))


def is_blank(data: bytes) -> bool:
    """Return True for white space, or a byte order mark, alone."""
    for mark in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data.removeprefix(mark)
            return not (text if mark == codecs.BOM_UTF8 else text.replace(b"\0", b"")).strip()
    return not data.strip()


def _recognise_package(file: IO[bytes]) -> FileContent:
    """Recognise a zip package by its parts."""
    try:
        with zipfile.ZipFile(file) as package:
            names = package.namelist()
            if any(entry.flag_bits & 1 for entry in package.infolist()):
                return FileContent(is_encrypted=True)
            if "[Content_Types].xml" in names:
                folders = (suffix for part, suffix in _OFFICE_FOLDERS if any(name.startswith(part) for name in names))
                return FileContent(next(folders, ""))
            if "META-INF/container.xml" in names:
                return FileContent(".epub")
            kind = _read_part(package, "mimetype").strip().rpartition(b".")[2].removesuffix(b"-template")
            is_other_package = (
                "mimetype" in names
                or "content.xml" in names
                or any("\\" in name or name.startswith(("word/", "xl/", "ppt/")) for name in names)
            )
            suffix = _OPEN_DOCUMENT_TYPES.get(kind, "" if is_other_package else ".zip")
            return FileContent(suffix, b"encryption-data" in _read_part(package, "META-INF/manifest.xml"))
    except (OSError, RuntimeError, NotImplementedError, ValueError, zipfile.BadZipFile, EOFError, struct.error):
        return FileContent()  # the reader of its format says that it is damaged


def _read_part(package: zipfile.ZipFile, name: str) -> bytes:
    """Return the beginning of a part of a package, b"" if there is none."""
    try:
        with package.open(name) as part:
            return part.read(MAX_PART_BYTES)
    except KeyError:
        return b""


def _recognise_compound_file(file: IO[bytes]) -> FileContent:
    """Recognise an Office file from before 2007, a message of Outlook, or an encrypted file of Office."""
    import olefile

    try:
        with olefile.OleFileIO(file, raise_defects=olefile.DEFECT_INCORRECT) as compound:
            if compound.exists("EncryptedPackage"):
                return FileContent(is_encrypted=True)
            suffix = next((suffix for name, suffix in _COMPOUND_STREAMS if compound.exists(name)), "")
            return FileContent(suffix, is_encrypted=suffix == ".xls" and _has_password(compound))
    except Exception:  # noqa: BLE001 - the library raises many kinds of errors for damaged files
        return FileContent(is_cut=True)


def _has_password(compound: Any) -> bool:
    """Return True if the records of an .xls file are encrypted."""
    name = next(name for name in ("Workbook", "Book") if compound.exists(name))
    records, position = compound.openstream(name).read(_FIRST_RECORD_BYTES), 0
    while position + 4 <= len(records):
        kind, size = struct.unpack_from("<HH", records, position)
        if kind == _FILE_PASS_RECORD:
            return True
        position += 4 + size
    return False


def _text_suffix(head: bytes, *, is_complete: bool) -> str:
    """Return the suffix of a text by its beginning; "" for what is no text."""
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = head.decode("utf-16" if is_wide else "utf-8-sig", "replace")
    if _CONTROLS.search(text[:4_096]) or "%PDF-" in text[:1_024]:  # which may follow other bytes
        return ""
    if _MHTML.match(text):
        return ".mht"
    if _MAIL.match(text):
        return ".eml"
    if _HTML.match(text):
        return ".html"
    if text.lstrip().startswith("<?xml"):
        return ".xml"
    return _json_suffix(text.strip(), is_complete=is_complete)


def _json_suffix(text: str, *, is_complete: bool) -> str:
    """Return ".json", ".jsonl" or ".txt"; "" for damaged JSON and for plain values, which may be JSON lines."""
    first_line, _, rest = text.partition("\n")
    is_json = _is_json(first_line)
    if not text.startswith(("{", "[")):
        return "" if is_json else ".txt"
    if is_json:
        return ".jsonl" if rest.lstrip().startswith(text[0]) else ".json"
    if is_complete:
        return ".json" if _is_json(text) else ""
    return ".json" if re.match(r"\[\s*\{\s*\"[^\"\n]{1,200}\"\s*:", text) else ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


# Formats that one suffix stands for

_PICTURES = frozenset((".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff"))
_TEXTS = frozenset((".txt", ".md", ".markdown", ".csv", ".tsv", ".eml", ".html", ".htm"))
_PLAIN_TEXTS = frozenset((".txt", ".md", ".markdown", ".eml"))
_JSON = frozenset((".json", ".jsonl", ".ndjson", ".ipynb"))
_FITTING: dict[str, frozenset[str]] = {
    ".txt": _TEXTS,
    ".html": _PLAIN_TEXTS | {".html", ".htm"},
    ".xml": _PLAIN_TEXTS | {".html", ".htm"},
    ".mht": _PLAIN_TEXTS,
    ".eml": _PLAIN_TEXTS,
    ".json": _PLAIN_TEXTS | _JSON - {".jsonl", ".ndjson"},
    ".jsonl": _PLAIN_TEXTS | _JSON - {".ipynb"},
    **dict.fromkeys(_PICTURES, _PICTURES),
}


def fits(suffix: str, content: str) -> bool:
    """Return True if a file with this suffix may have content of this format, or if the format is unknown."""
    return not content or suffix == content or suffix in _FITTING.get(content, ())
