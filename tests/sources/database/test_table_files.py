"""Files of tables: what is recognised in them, what they become, and how a bad one is told."""

from __future__ import annotations

import datetime as dt
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import duckdb
import openpyxl
import pytest

from research.core.reading_notes import describe_reading_note
from research.readers.reading_summary import describe_reading, find_notes
from research.readers.table_files import detect_tables, load_tables
from research.readers.table_records import Correction, FileTable, UnreadableTableError
from research.sources.database.duckdb import DuckDB
from research.sources.database.engines import open_database
from research.sources.database.refusals import RefusedError
from research.sources.database.results import ExecutionError, ResultLimits
from research.sources.database.uploads import UploadStore
from tests.tables import each_row

SALES = '日期,城市,销售额,数量,"备 注"\n2024年3月5日,杭州,12.5,3,"a,b\nc"\n2024/3/6,苏州,,4,x\n'
ROWS = (("2024-03-05", "杭州", 12.5, 3, "a,b\nc"), ("2024-03-06", "苏州", None, 4, "x"))
TYPES = ["date", "text", "number", "integer", "text"]


def became(
    path: Path, corrections: Mapping[str, Correction] | None = None
) -> dict[str, tuple[FileTable, tuple[tuple[object, ...], ...]]]:
    """The tables of a file, with their rows as a statement has them."""
    target = path.with_name("made.duckdb")
    found = load_tables([(path, detect_tables(path, path.name, corrections))], target)
    database = open_database(target, includes_samples=False)
    return {table.name: (table, database.run(database.check(f'SELECT * FROM "{table.name}"')).rows) for table in found}


def written(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_a_table_is_the_same_in_every_encoding(tmp_path: Path) -> None:
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "gb18030", "gbk"):
        path = written(tmp_path, "sales.csv", SALES.encode(encoding))
        table, rows = became(path)["sales"]
        assert [c.name for c in table.columns] == ["日期", "城市", "销售额", "数量", "备_注"], encoding
        assert [c.type for c in table.columns] == TYPES
        assert rows == ROWS and table.rows == 2


@each_row(
    ("name", "text", "header", "types", "first"),
    [
        ("tabs.tsv", "a\tb\n1\t2,5\n", 1, ["integer", "number"], (1, 2.5)),
        ("semi.csv", "a;b\n1;x,y\n", 1, ["integer", "text"], (1, "x,y")),
        ("title.csv", "2024 年销售,,\n\na,b,c\n1,x,y\n2,x,y\n", 3, ["integer", "text", "text"], (1, "x", "y")),
        ("bare.csv", "1,2\n3,4\n", 0, ["integer", "integer"], (1, 2)),
        ("zeros.csv", "id,n\n001,1\n002,2\n", 1, ["text", "integer"], ("001", 1)),
        ("digits.csv", "id\n123456789012345678901\n", 1, ["text"], ("123456789012345678901",)),
        ("times.csv", "t\n2024年3月5日 08:30\n2024/3/6 9:05:01\n", 1, ["datetime"], ("2024-03-05T08:30:00",)),
        ("points.csv", "d\n2024.3.5\n2024.12.31\n", 1, ["date"], ("2024-03-05",)),
        ("flags.csv", "f\ntrue\nFALSE\n", 1, ["boolean"], (True,)),
        ("crlf.csv", "a,b\r\n1,2\r\n", 1, ["integer", "integer"], (1, 2)),
        ("ends.csv", "a,b\n1,2", 1, ["integer", "integer"], (1, 2)),
        ("formula.csv", "a,b\n1,=SUM(A1)\n", 1, ["integer", "text"], (1, "=SUM(A1)")),
    ],
)  # fmt: skip
def test_what_a_text_is_told_to_be(
    tmp_path: Path, name: str, text: str, header: int, types: list[str], first: tuple[object, ...]
) -> None:
    ((table, rows),) = became(written(tmp_path, name, text)).values()
    assert (table.header, [c.type for c in table.columns], rows[0]) == (header, types, first)


def test_a_value_that_is_none_of_its_type_is_never_lost(tmp_path: Path) -> None:
    path = written(tmp_path, "late.csv", "a,b,d\n" + "1,2,2024-01-01\n" * 3000 + "1.5,4,q\nq,5,\n")
    table, rows = became(path)["late"]
    assert [c.type for c in table.columns] == ["text", "integer", "text"]
    assert [(note.kind, note.column, note.examples) for note in find_notes(table)] == [
        ("mixed", "a", ("1.5", "q")),
        ("mixed", "d", ("q",)),
    ]
    database = open_database(path.with_name("made.duckdb"), includes_samples=False)
    last = database.run(database.check("SELECT a, b, d FROM late WHERE b > 2 ORDER BY b")).rows
    assert last == (("1.5", 4, "q"), ("q", 5, None))
    assert len(rows) == database.limits.max_rows


def test_what_was_recognised_can_be_corrected(tmp_path: Path) -> None:
    path = written(tmp_path, "odd.csv", "x,y\na,b\n1,2\n")
    given = Correction(name="right", header=2, columns={"a": ("amount", "number"), "b": ("", "text")})
    table, rows = became(path, {"": given})["right"]
    assert [(c.name, c.type) for c in table.columns] == [("amount", "number"), ("b", "text")]
    assert rows == ((1.0, "2"),)


def test_values_that_are_not_of_a_chosen_type_are_left_out_and_counted(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "x,price,day\n" + "1,2.5,03/04/2024\n" * 117 + "1,ca. 2,soon\n" * 3)
    chosen = Correction(columns={"price": ("", "number"), "day": ("", "date-mdy")})
    table, rows = became(path, {"": chosen})["a"]
    assert [describe_reading_note(note, "en") for note in find_notes(table)] == [
        "3 of 120 values of price could not be read as numbers and were left out: “ca. 2”.",
        "3 of 120 values of day could not be read as dates and were left out: “soon”.",
    ]
    assert rows[0][1:] == (2.5, "2024-03-04") and rows[-1][1:] == (None, None)
    assert table.correction == chosen


def test_a_chosen_type_of_a_typed_file_leaves_values_out_too(tmp_path: Path) -> None:
    lines = [f'{{"n": "{n}"}}\n' for n in (1, 2, 3, "x")]
    path = written(tmp_path, "a.jsonl", "".join(lines))
    table, rows = became(path, {"": Correction(columns={"n": ("", "integer")})})["a"]
    assert rows == ((1,), (2,), (3,), (None,))
    assert [(note.kind, note.count, note.total) for note in find_notes(table)] == [("left out", 1, 4)]


def test_rows_of_totals_stay_in_the_data_if_that_is_chosen(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "city,n\nA,1\nB,2\nTotal,3\n")
    table, rows = became(path, {"": Correction(keep_totals=True)})["a"]
    assert rows == (("A", 1), ("B", 2), ("Total", 3)) and not find_notes(table)


def test_an_upload_is_read_again_with_its_choices_and_keeps_its_name(tmp_path: Path) -> None:
    store = UploadStore(tmp_path / "tables")
    first = written(tmp_path, "a.csv", "city,n\nA,1\nB,2\nTotal,3\n")
    second = written(tmp_path, "b.csv", "x\n1\n")
    upload = store.add("ann", [(file, detect_tables(file)) for file in (first, second)])
    same = [(file, detect_tables(file)) for file in (first, second)]
    changed = store.read_again("ann", upload.id, {0: Correction(keep_totals=True)})
    assert changed is not None and (changed.id, changed.revision, changed.tables[0].rows) == (upload.id, 1, 3)
    changed = store.read_again("ann", upload.id, {1: Correction(header=0)})
    assert changed is not None and [table.rows for table in changed.tables] == [3, 2]
    assert store.get("ann", upload.id) == changed
    with pytest.raises(UnreadableTableError):
        store.read_again("ann", upload.id, {0: Correction(encoding="utf-16")})
    assert store.get("ann", upload.id) == changed
    assert store.read_again("bob", upload.id, {}) is None
    other = store.add("ann", same)  # the files as they are detected
    assert other.id != upload.id and other.tables[0].rows == 2 and store.add("ann", same) == other
    store.remove("ann", other.id)
    assert store.remove("ann", upload.id) and not list((tmp_path / "tables").rglob("*.*"))


def test_a_long_name_of_a_file_keeps_its_suffix(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.worksheets[0].append(["a", "b"])
    book.worksheets[0].append([1, 2])
    book.save(tmp_path / "x.xlsx")
    (table,) = detect_tables(tmp_path / "x.xlsx", f"{'long' * 30}.xlsx")
    assert table.file.endswith("lon.xlsx") and len(table.file) == 60


def test_every_sheet_is_a_table_and_a_formula_is_its_value(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["日期", "金额", "件", "有"])
    book.active.append([dt.date(2024, 3, 5), 12.5, 3, True])
    book.active.append([dt.datetime(2024, 3, 6), "=1+1", None, False])
    other = book.create_sheet("客户 表")
    other.append(["标题"])
    other.append([])
    other.append(["名称", "x"])
    other.append(["a", 1])
    book.create_sheet("空")
    path = tmp_path / "book.xlsx"
    book.save(path)
    found = became(path)
    assert set(found) == {"book", "客户_表"}
    table, rows = found["book"]
    assert [c.type for c in table.columns] == ["date", "number", "integer", "boolean"]
    assert rows == (("2024-03-05", 12.5, 3, True), ("2024-03-06", None, None, False))
    assert found["客户_表"][1] == (("a", 1),)


def test_a_note_far_right_of_a_late_row_is_not_lost(tmp_path: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("log")
    sheet.append(["time", "event"])
    for n in range(3_000):
        sheet.append([n, "Anmeldung", *([None] * 5), *(["siehe Anhang"] if n == 2_500 else [])])
    book.save(tmp_path / "log.xlsx")
    table, _ = became(tmp_path / "log.xlsx")["log"]
    assert [column.heading for column in table.columns[::7]] == ["time", "column_8"]
    database = open_database(tmp_path / "made.duckdb", includes_samples=False)
    noted = database.run(database.check("SELECT time, column_8 FROM log WHERE column_8 <> ''")).rows
    assert noted == ((2_500, "siehe Anhang"),)


def test_parquet_and_json_lines_have_types_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    with duckdb.connect() as raw:
        raw.execute(f"copy (select 1 a, date '2024-01-02' d, [1, 2] l, 'x' as \"名 称\") to '{path}'")
    table, rows = became(path)["p"]
    assert [c.type for c in table.columns] == ["integer", "date", "text", "text"]
    assert rows == ((1, "2024-01-02", "1, 2", "x"),)
    lines = written(tmp_path, "j.jsonl", '{"a": 1, "b": "x"}\n{"a": 2, "b": null}\n')
    assert became(lines)["j"][1] == ((1, "x"), (2, None))


@each_row(
    ("name", "content", "why", "row"),
    [
        ("x.exe", b"1", "kind", 0),
        ("empty.csv", b"", "empty", 0),
        ("blank.csv", b"\n\n\n", "empty", 0),
        ("bytes.csv", bytes(range(1, 256)) * 20, "encoding", 0),
        ("nul.csv", b"a,b\n\x00\x00,1\n" * 400, "encoding", 0),
        ("open.csv", b'a,b\n1,2\n"x,1\n2,3\n', "broken", 3),
        ("bad.xlsx", b"PK\x03\x04" + b"nonsense" * 40, "broken", 0),
        ("bad.parquet", b"PAR1xxxxxxxx", "broken", 0),
        ("bad.jsonl", b'{"a": 1\n{{{', "broken", 0),
        ("wide.csv", b",".join(b"c%d" % n for n in range(501)) + b"\n", "columns", 0),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path: Path, name: str, content: bytes, why: str, row: int) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(UnreadableTableError) as caught:
        became(path)
    if name != "nul.csv":
        assert (caught.value.reason, caught.value.row) == (why, row)
    for language in ("en", "zh"):
        told = caught.value.message_in(language)  # type: ignore[arg-type]
        assert name in told and "\n" not in told and "unreadable" not in told
    assert not path.with_name("made.duckdb").exists()
    assert not list(tmp_path.glob("*.part*"))


@pytest.mark.slow
@pytest.mark.parametrize("late", ['{"id": 1, "note": "siehe Anhang"}', '{"id": "siehe Anhang"}'])
def test_json_lines_may_have_late_keys_and_types(tmp_path: Path, late: str) -> None:
    lines = ['{"id": 0}'] * 25_000
    became(written(tmp_path, "log.jsonl", "\n".join([*lines, late, *lines])))
    database = open_database(tmp_path / "made.duckdb", includes_samples=False)
    column = "note" if "note" in late else "id"
    found = database.run(database.check(f"SELECT {column} FROM log WHERE {column} LIKE '%Anhang%'"))
    assert [str(value).strip('"') for (value,) in found.rows] == ["siehe Anhang"]


def test_a_damaged_sheet_is_not_left_out_in_silence(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["a", 1])
    book.create_chartsheet("Diagramm")
    book.create_sheet("second").append(["b", 2])
    path = tmp_path / "book.xlsx"
    book.save(path)
    assert set(became(path)) == {"book", "second"}
    with zipfile.ZipFile(path) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    with zipfile.ZipFile(path, "w") as package:
        for name, content in parts.items():
            package.writestr(name, content[:-40] if name.endswith("/sheet2.xml") else content)
    with pytest.raises(UnreadableTableError) as caught:
        detect_tables(path, path.name)
    assert caught.value.reason == "broken"


def test_a_cell_may_hold_a_long_text(tmp_path: Path) -> None:
    text = "第一条, " * 40_000
    _, rows = became(written(tmp_path, "laws.csv", f'id,text\n1,"{text}"\n2,short\n'))["laws"]
    assert [row[0] for row in rows] == [1, 2]
    assert str(rows[0][1]).startswith("第一条, 第一条")


def test_hostile_names_are_names_and_nothing_else(tmp_path: Path) -> None:
    heads = '"x""; DROP TABLE y; --",<script>,=1+1,\u202eabc,\u0007,select,a'
    path = written(tmp_path, "it's ${x} '); attach.csv", f"{heads}\n1,2,3,4,5,6,7\n")
    ((table, rows),) = became(path).values()
    assert all(c.name.replace("_", "").isalnum() for c in table.columns)
    assert table.name.replace("_", "").isalnum()
    assert rows == ((1, 2, 3, 4, 5, 6, 7),)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such file")
def test_no_other_file_is_read_while_one_is_loaded(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "a,b\n/etc/passwd,1\n")
    (table,) = detect_tables(path, "a.csv")
    evil = table.model_copy(update={"delimiter": "','), x AS (SELECT * FROM read_text('/etc/passwd')) --"})
    target = tmp_path / "evil.duckdb"
    with pytest.raises(UnreadableTableError):
        load_tables([(path, [evil])], target)
    assert not target.exists()


def test_uploads_are_their_owners_alone_and_go_when_they_are_removed(tmp_path: Path) -> None:
    path = written(tmp_path, "sales.csv", SALES)
    tables = detect_tables(path, "sales.csv")
    here = UploadStore(tmp_path / "tables")
    made = here.add("ann", [(path, tables)])
    assert here.add("ann", [(path, tables)]) == made  # not twice
    assert [each.id for each in here.all("ann")] == [made.id] and here.all("bob") == ()
    assert here.get("bob", made.id) is None and not here.remove("bob", made.id)
    for odd in ("../x", "", "..", made.id + "/../x"):
        assert here.get("ann", odd) is None and not here.remove("ann", odd)
        assert here.path("ann", odd).name == "none.duckdb"
    here.add("bob", [(path, tables)])
    assert here.clear("ann") == 1 and here.all("ann") == ()
    assert not here.path("ann", made.id).exists() and len(here.all("bob")) == 1


def test_of_an_upload_nothing_but_its_tables_can_be_read(tmp_path: Path) -> None:
    path = written(tmp_path, "sales.csv", SALES)
    here = UploadStore(tmp_path / "tables")
    made = here.add("ann", [(path, detect_tables(path, "sales.csv"))])
    file = here.path("ann", made.id)
    database = open_database(file)
    for sql in (
        f"SELECT * FROM '{path}'",
        f"SELECT * FROM read_csv('{path}')",
        "FROM duckdb_tables()",
    ):
        with pytest.raises(RefusedError):
            database.check(sql)
        backend = DuckDB(file, ResultLimits())
        backend.read_schema(None, None)
        with pytest.raises(ExecutionError):
            backend.run(sql)


def test_merged_cells_hold_their_text_and_two_rows_of_headings_are_joined(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["各地区销售情况", None, None, None, None],
        ["地区", "第一季度", None, "第二季度", None],
        [None, "数量", "金额", "数量", "金额"],
        ["华东", 10, 100.5, 12, 130],
        ["华南", 20, 200.25, 22, 240],
    ):
        sheet.append(row)
    for area in ("A1:E1", "A2:A3", "B2:C2", "D2:E2"):
        sheet.merge_cells(area)
    people = book.create_sheet("员工")
    for row in (["部门", "姓名"], ["研发部", "张三"], [None, "李四"], ["市场部", "王五"]):
        people.append(row)
    people.merge_cells("A2:A3")
    path = tmp_path / "regions.xlsx"
    book.save(path)
    found = became(path)
    table, rows = found["regions"]
    assert [c.name for c in table.columns] == ["地区", "第一季度数量", "第一季度金额", "第二季度数量", "第二季度金额"]
    assert rows[1] == ("华南", 20, 200.25, 22, 240)
    assert found["员工"][1] == (("研发部", "张三"), ("研发部", "李四"), ("市场部", "王五"))


def test_totals_are_beside_the_table_and_not_in_it(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "sales.csv",
        "门店,城市,金额\n一店,北京,100\n二店,北京,250\n三店,上海,250\n合计,,600\n注：单位为元,,\n",
    )
    table, rows = became(path)["sales"]
    assert [row[2] for row in rows] == [100, 250, 250] and table.rows == 3
    assert [(row.row, row.kind, row.text) for row in table.set_aside] == [
        (5, "total", "合计 · 600"),
        (6, "note", "注：单位为元"),
    ]
    assert describe_reading(table, "zh").endswith("1 行合计不计入数据，1 行注释不计入数据")
    assert describe_reading_note(find_notes(table)[0], "zh") == "sales 有 1 行合计不计入数据：“合计 · 600 (5)”。"
