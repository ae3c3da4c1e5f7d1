"""Files that cannot be read, or not as their name says: each is refused with its reason, or read and remarked on."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zipfile
from pathlib import Path

import docx
import olefile
import openpyxl
import pytest
from openpyxl.chart import BarChart
from PIL import Image

from research import message
from research.readers.documents import SUFFIXES, read_document
from research.readers.drafts import FileProblem
from research.readers.file_content import FileContent, recognise
from research.readers.table_files import detect_tables, load_tables
from research.readers.table_records import TABLE_SUFFIXES, UnreadableReason, UnreadableTableError
from research.readers.workbook_details import read_details
from research.sources.library.index import Library
from tests.readers.compound_files import compound_file
from tests.readers.reading import SAMPLES, refusal
from tests.tables import each_row

CSV = b"id,name\n" + b"".join(b"%d,Town %d\n" % (n, n) for n in range(40))
PAGE = b"<!DOCTYPE html><html><body><p>Here is text.</p></body></html>"
ROWS = b"".join(b"<tr><td>%d</td><td>Town %d</td></tr>" % (n, n) for n in range(40))
TABLE_PAGE = b"<html><body><table><tr><th>id</th><th>name</th></tr>" + ROWS + b"</table></body></html>"
SPREADSHEET_XML = (
    b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>'
    b'<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"/>'
)
MAIL = b"From: a@example.org\nTo: b@example.org\nSubject: Lakes\n\nHere is text.\n"


def workbook(*rows: list[object], chart_only: bool = False) -> bytes:
    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in rows or [["id", "name"], *([n, f"Town {n}"] for n in range(40))]:
        if not chart_only:
            book.active.append(row)
    if chart_only:
        book.create_chartsheet("Chart").add_chart(BarChart())
    book.save(out)
    return out.getvalue()


def word_file() -> bytes:
    document, out = docx.Document(), io.BytesIO()
    document.add_paragraph("Here is text.")
    table = document.add_table(rows=3, cols=2)
    for number, row in enumerate(table.rows):
        row.cells[0].text, row.cells[1].text = f"id {number}", f"name {number}"
    document.save(out)
    return out.getvalue()


def picture(kind: str) -> bytes:
    out = io.BytesIO()
    Image.effect_noise((60, 40), 80).convert("RGB").save(out, kind)
    return out.getvalue()


def package(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in parts.items():
            file.writestr(name.replace("__", "/"), data)
    return out.getvalue()


def with_flags(data: bytes) -> bytes:
    """Return a zip file whose entries are marked as encrypted."""
    out = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = -1
        while (position := out.find(signature, position + 1)) >= 0:
            out[position + offset] |= 1
    return bytes(out)


def locked_xls() -> bytes:
    """Return an .xls file with a password: its record FilePass follows the first one."""
    with olefile.OleFileIO(io.BytesIO((SAMPLES / "libreoffice.xls").read_bytes())) as file:
        records = file.openstream("Workbook").read()
    end = 4 + struct.unpack_from("<H", records, 2)[0]
    return compound_file({"Workbook": records[:end] + struct.pack("<HH", 0x2F, 6) + bytes(6) + records[end:]})


def locked_odf(kind: str) -> bytes:
    parts = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": b"\x01\x02",
        "META-INF__manifest.xml": b"<manifest><encryption-data/></manifest>",
    }
    return package(**parts)


OFFICE_PASSWORD = compound_file({"EncryptedPackage": bytes(512), "EncryptionInfo": bytes(512)})
PDF = b"%PDF-1.7\n1 0 obj\n<<>>\nendobj\n"
XLS = (SAMPLES / "libreoffice.xls").read_bytes()
FORMULAS = [[f"=1+{n}", f"=A{n + 1}*2"] for n in range(5)]
GOOD = {
    ".docx": word_file(),
    ".xlsx": workbook(),
    ".xls": XLS,
    ".csv": CSV,
    ".json": json.dumps([{"id": 1}, {"id": 2}]).encode(),
    ".html": TABLE_PAGE,
    ".eml": MAIL,
    ".png": picture("PNG"),
    ".jpg": picture("JPEG"),
    ".webp": picture("WEBP"),
    ".tiff": picture("TIFF"),
    **{
        Path(name).suffix: (SAMPLES / name).read_bytes()
        for name in (
            "pandoc.pptx",
            "libreoffice.odt",
            "libreoffice.ods",
            "libreoffice.rtf",
            "libreoffice.epub",
            "outlook.msg",
            "pandoc.ipynb",
        )
    },
}
BLANK = {"nothing": b"", "white space": b" \r\n\t ", "a mark": b"\xef\xbb\xbf", "a wide mark": b"\xff\xfe\r\0\n\0"}


# Recognition


@each_row("suffix", sorted(GOOD))
def test_a_good_file_is_recognised_or_unknown_but_never_taken_for_another(suffix: str) -> None:
    content = recognise(io.BytesIO(GOOD[suffix]))
    expected = {".csv": ".txt", ".ipynb": ".json"}.get(suffix, suffix)
    assert content == FileContent(expected)


@each_row(
    "data, suffix",
    [
        (b"\xff\xfe" + "a,b\r\n1,2".encode("utf-16-le"), ".txt"),
        ("名称,金额\r\n甲,1".encode("gb18030"), ".txt"),
        (b'{"a": 1}\n{"a": 2}\n', ".jsonl"),
        (b'{\n "a": 1\n}', ".json"),
        (b'{"a": 1', ""),  # damaged JSON
        (b"42\n43\n", ""),  # JSON lines, or a column of numbers
        (b"junk\n%PDF-1.4\n", ""),
        (b"<?xml version='1.0'?>\n<!-- x --><html>", ".html"),
        (b"MIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n", ".mht"),
        (package(**{"[Content_Types].xml": b"", "word__document2.xml": b""}), ".docx"),
        (package(**{"content.xml": b""}), ""),
        (package(notes=b""), ".zip"),
    ],
)
def test_the_content_decides_about_the_format(data: bytes, suffix: str) -> None:
    assert recognise(io.BytesIO(data)).suffix == suffix


# Documents


@each_row("name", sorted(BLANK))
def test_a_blank_document_of_any_kind_is_empty(name: str) -> None:
    for suffix in SUFFIXES:
        assert refusal(f"a{suffix}", BLANK[name]).problem == "empty", suffix


def test_a_document_of_zero_bytes_alone_is_damaged() -> None:
    for suffix in SUFFIXES:
        assert refusal(f"a{suffix}", bytes(9_000)).problem == "unreadable", suffix


@each_row(
    "suffix, data",
    [
        (".docx", OFFICE_PASSWORD),
        (".pptx", OFFICE_PASSWORD),
        (".xlsx", OFFICE_PASSWORD),
        (".xls", OFFICE_PASSWORD),
        (".xls", locked_xls()),
        (".odt", locked_odf("text")),
        (".ods", locked_odf("spreadsheet")),
        *((suffix, with_flags(GOOD[suffix])) for suffix in (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".epub")),
    ],
)
def test_a_document_with_a_password_is_named_as_such(suffix: str, data: bytes) -> None:
    error = refusal(f"a{suffix}", data)
    assert (error.problem, "password" in error.detail) == ("encrypted", True)


@each_row("suffix", [".docx", ".xlsx", ".pptx", ".odt", ".ods", ".epub", ".xls", ".json", ".ipynb", ".webp"])
def test_a_truncated_document_is_damaged(suffix: str) -> None:
    data = GOOD[suffix]
    for share in (0.1, 0.5, 0.9):
        error = refusal(f"a{suffix}", data[: int(len(data) * share)])
        assert (error.problem, error.limit) == ("unreadable", ""), share


@each_row("suffix", [".rtf", ".eml", ".png", ".jpg", ".tiff"])
def test_a_truncated_document_that_can_be_read_in_part_is_marked(suffix: str) -> None:
    mail = (
        b'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n'
        + MAIL.replace(b"\n\n", b"\n\n--b\n\n")
        + b"\n--b--\n"
    )
    data = mail if suffix == ".eml" else GOOD[suffix]
    assert not read_document(f"a{suffix}", data, allow_scans=True).is_cut
    assert read_document(f"a{suffix}", data[: int(len(data) * 0.95)], allow_scans=True).is_cut


def test_rich_text_that_ends_before_its_text_is_damaged_and_not_empty() -> None:
    assert refusal("a.rtf", GOOD[".rtf"][:3_000]).problem == "unreadable"


@each_row(
    "suffix, content, data",
    [
        (".docx", ".pdf", PDF),
        (".pdf", ".jpg", GOOD[".jpg"]),
        (".pdf", ".docx", GOOD[".docx"]),
        (".docx", ".html", PAGE),
        (".pptx", ".zip", package(notes=b"x")),
        (".csv", ".gz", gzip.compress(CSV)),
        (".xlsx", ".html", PAGE),
        (".json", ".html", PAGE),
        (".csv", ".html", PAGE),
        (".xls", ".xml", SPREADSHEET_XML),
        (".docx", ".xlsx", GOOD[".xlsx"]),
        (".docx", ".txt", b"Here is text."),
        (".txt", ".rtf", GOOD[".rtf"]),
        (".png", ".pdf", PDF),
        (".msg", ".eml", MAIL),
        (".md", ".docx", GOOD[".docx"]),
        (".xls", ".doc", compound_file({"WordDocument": bytes(600)})),
        (".xlsx", ".parquet", b"PAR1" + bytes(60)),
    ],
)
def test_a_mislabelled_document_is_refused_with_its_real_kind(suffix: str, content: str, data: bytes) -> None:
    error = refusal(f"a{suffix}", data)
    assert (error.problem, error.content) == ("mislabelled", content)
    assert suffix in error.detail


@each_row(
    "suffix, content, data",
    [
        (".xls", ".html", TABLE_PAGE),
        (".xls", ".xlsx", GOOD[".xlsx"]),
        (".xlsx", ".xls", XLS),
        (".xlsx", ".csv", CSV),
        (".ods", ".xlsx", GOOD[".xlsx"]),
        (".csv", ".xlsx", GOOD[".xlsx"]),
        (".jsonl", ".json", json.dumps([{"name": "Town 7"}]).encode()),
    ],
)
def test_a_table_under_the_name_of_another_kind_is_read_as_what_it_is(suffix: str, content: str, data: bytes) -> None:
    document = read_document(f"a{suffix}", data)
    assert document.content == content
    assert ("Town 7" if content != ".xls" else "西湖") in document.text


def test_formulas_without_results_are_counted_or_refused() -> None:
    assert read_document("a.xlsx", workbook(["id", "double"], [1, "=A2*2"], [2, "=A3*2"])).uncalculated == 2
    error = refusal("a.xlsx", workbook(*FORMULAS))
    assert (error.problem, error.limit) == ("empty", "formulas")
    assert refusal("a.xlsx", workbook(chart_only=True)).problem == "empty"


def test_a_bad_file_costs_no_other_file_of_the_same_batch(tmp_path: Path) -> None:
    library = Library(tmp_path / "library.db", lambda: None)
    files = [
        ("a.md", b"# Lake\n\nWater."),
        ("bad.docx", PDF),
        ("b\x1b[31m<b>.docx", b""),
        ("c.xls", TABLE_PAGE),
        ("d.xlsx", OFFICE_PASSWORD),
        ("e.txt", b"End."),
    ]
    results = list(library.add_files(files))
    assert [(result.outcome, result.content) for result in results] == [
        ("added", ""),
        ("mislabelled", ".pdf"),
        ("empty", ""),
        ("added", ".html"),
        ("encrypted", ""),
        ("added", ""),
    ]
    rejected, total = library.list_rejected()
    assert (total, {item.content for item in rejected}) == (3, {"", ".pdf"})
    library.close()


@each_row("problem", ["mislabelled", "empty", "encrypted", "unreadable"])
def test_every_problem_has_a_name_and_a_remedy_in_both_languages(problem: FileProblem) -> None:
    for language in ("zh", "en"):
        assert message(f"unread.{problem}", language)
        assert message(f"remedy.{problem}", language)


# Tables


def table_error(folder: Path, name: str, data: bytes) -> UnreadableTableError:
    path = folder / name
    path.write_bytes(data)
    with pytest.raises(UnreadableTableError) as caught:
        load_tables([(path, detect_tables(path))], folder / "out.duckdb")
    error = caught.value
    for language in ("zh", "en"):
        assert name in error.message_in(language)
        assert error.content in error.message_in(language)
    return error


@each_row("name", sorted(BLANK))
def test_a_blank_table_of_any_kind_is_empty(name: str, tmp_path: Path) -> None:
    for suffix in TABLE_SUFFIXES:
        assert table_error(tmp_path, f"a{suffix}", BLANK[name]).reason == "empty", suffix


@each_row(
    "suffix, reason, data",
    [
        (".xlsx", "encrypted", OFFICE_PASSWORD),
        (".xls", "encrypted", locked_xls()),
        (".ods", "encrypted", locked_odf("spreadsheet")),
        (".xlsx", "encrypted", with_flags(GOOD[".xlsx"])),
        (".docx", "encrypted", OFFICE_PASSWORD),
        (".parquet", "encrypted", b"PARE" + bytes(90)),
        (".xlsx", "broken", GOOD[".xlsx"][:2_000]),
        (".xls", "broken", XLS[:3_000]),
        (".csv", "broken", bytes(9_000)),
        (".csv", "broken", CSV + bytes(10)),
        (".csv", "broken", ("名称,金额\n" + "甲,1\n" * 50 + "甲").encode()[:-1]),
        (".json", "broken", b'[{"id": 1}, {"i'),
        (".json", "broken", b"[" * 100_000),
        (".json", "encoding", '[{"id": 1}]'.encode("utf-16")),
        (".csv", "broken", b"\x80\x81\x00\x02" * 90),
        (".xlsx", "uncalculated", workbook(*FORMULAS)),
        (".xlsx", "empty", workbook(chart_only=True)),
    ],
)
def test_an_unreadable_table_is_refused_with_its_reason(
    suffix: str, reason: UnreadableReason, data: bytes, tmp_path: Path
) -> None:
    assert table_error(tmp_path, f"a{suffix}", data).reason == reason


@each_row(
    "suffix, reason, content, data",
    [
        (".csv", "packed", ".gz", gzip.compress(CSV)),
        (".xlsx", "packed", ".zip", package(notes=b"x")),
        (".csv", "mislabelled", ".pdf", PDF),
        (".csv", "mislabelled", ".html", PAGE),
        (".json", "mislabelled", ".html", PAGE),
        (".xls", "mislabelled", ".html", PAGE),
        (".xls", "mislabelled", ".xml", SPREADSHEET_XML),
        (".csv", "mislabelled", ".eml", MAIL),
        (".xlsx", "mislabelled", ".pptx", GOOD[".pptx"]),
        (".html", "mislabelled", ".txt", CSV),
        (".docx", "mislabelled", ".jpg", GOOD[".jpg"]),
        (".txt", "mislabelled", ".rtf", GOOD[".rtf"]),
    ],
)
def test_a_mislabelled_file_without_a_table_is_refused_with_its_real_kind(
    suffix: str, reason: UnreadableReason, content: str, data: bytes, tmp_path: Path
) -> None:
    error = table_error(tmp_path, f"a{suffix}", data)
    assert (error.reason, error.content) == (reason, content)


@each_row(
    "suffix, content, data, count",
    [
        (".xls", ".html", TABLE_PAGE, 40),
        (".xls", ".xlsx", GOOD[".xlsx"], 40),
        (".xlsx", ".xls", XLS, 2),
        (".xlsx", ".csv", CSV, 40),
        (".xlsx", ".csv", b"\xff\xfe" + CSV.decode().encode("utf-16-le"), 40),
        (".csv", ".xlsx", GOOD[".xlsx"], 40),
        (".csv", ".html", TABLE_PAGE, 40),
        (".csv", ".json", b'[{"id": 1}, {"id": 2}]', 2),
        (".json", ".csv", CSV, 40),
        (".ods", ".xlsx", GOOD[".xlsx"], 40),
    ],
)
def test_a_mislabelled_table_is_read_as_what_it_is_with_a_remark(
    suffix: str, content: str, data: bytes, count: int, tmp_path: Path
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    (table,) = load_tables([(path, detect_tables(path))], tmp_path / "out.duckdb")
    assert (table.rows, table.kind) == (count, content)
    assert [notice.text for notice in table.notices if notice.kind == "read_as"] == [content]


def test_a_page_that_ends_within_its_table_is_read_with_a_remark(tmp_path: Path) -> None:
    for data, count in ((TABLE_PAGE, 0), (TABLE_PAGE[:900], 1)):
        path = tmp_path / "a.html"
        path.write_bytes(data)
        (table,) = detect_tables(path)
        assert sum(notice.kind == "cut" for notice in table.notices) == count


def test_a_sheet_of_formulas_without_results_costs_no_other_sheet(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(io.BytesIO(workbook()))
    sheet = book.create_sheet("Formulas")
    for row in FORMULAS:
        sheet.append(row)
    book.save(tmp_path / "a.xlsx")
    (table,) = detect_tables(tmp_path / "a.xlsx")
    assert [notice.count for notice in table.notices if notice.kind == "uncalculated"] == [10]
    assert sum(details.uncalculated for details in read_details(tmp_path / "a.xlsx", ".xlsx").values()) == 10


def test_hostile_names_of_files_and_sheets_stay_names(tmp_path: Path) -> None:
    book = openpyxl.load_workbook(io.BytesIO(workbook()))
    book.active.title = "'; DROP TABLE x;--"
    path = tmp_path / "a\x1b[31m‮;--'.xlsx"
    book.save(path)
    (table,) = load_tables([(path, detect_tables(path))], tmp_path / "out.duckdb")
    assert (table.name, table.file.isprintable(), table.rows) == ("DROP_TABLE_x", True, 40)


@pytest.mark.slow
def test_extreme_sizes_are_refused_or_read_whole(tmp_path: Path) -> None:
    assert table_error(tmp_path, "wide.csv", b",".join(b"c%d" % n for n in range(16_384)) + b"\n").reason == "columns"
    assert table_error(tmp_path, "line.csv", b"a,b\n" + b"x" * 100_000_000).reason == "broken"
    path = tmp_path / "tall.csv"
    path.write_bytes(b"id,name\n" + b"".join(b"%d,Town\n" % n for n in range(1_048_575)))
    (table,) = load_tables([(path, detect_tables(path))], tmp_path / "out.duckdb")
    assert table.rows == 1_048_575
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate(1_073_741_825)
    with pytest.raises(UnreadableTableError) as caught:
        detect_tables(tmp_path / "huge.csv")
    assert caught.value.reason == "size"
    os.truncate(tmp_path / "huge.csv", 0)
