"""Files of tables that would end the server: refused in a moment, with little memory; honest ones are read."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pytest
from openpyxl.utils import get_column_letter
from pyarrow import parquet

from research.core.i18n import message
from research.readers.table_files import detect_tables, load_tables
from research.readers.table_records import FileTable, UnreadableTableError
from tests.sources.database.bombs import (
    HEAD,
    cell,
    ods,
    ods_cell,
    ods_gap,
    ods_row,
    packed,
    text_cell,
    xls,
    xlsb,
    xlsx,
)
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[3]
LAST = f'<row r="1048576">{cell("XFD1048576")}</row>'
FAR = [(0, 0, 1.0), (0, 1, 2.0)]
ENTITIES = (
    '<!DOCTYPE l [<!ENTITY l0 "lol">' + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)) + "]>"
)
BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "sparse.xlsx": (lambda: xlsx(HEAD + LAST), "extent"),
    "tall.xlsx": (lambda: xlsx(HEAD + f'<row r="1048576">{cell("CV1048576")}</row>'), "extent"),
    "middling.xlsx": (lambda: xlsx(HEAD + f'<row r="400000">{cell("P400000")}</row>'), "extent"),
    "backwards.xlsx": (lambda: xlsx(LAST + HEAD), "extent"),
    "quotes.xlsx": (lambda: xlsx(HEAD + LAST.replace('"', "'")), "extent"),
    "spaces.xlsx": (lambda: xlsx(HEAD + LAST.replace("r=", ' s="1"  r = ')), "extent"),
    "row.xlsx": (lambda: xlsx('<row r="1">' + "<c><v>1</v></c>" * 2_000 + '</row><row r="1048576"><c><v>1</v></c></row>'), "extent"),
    "unnumbered.xlsx": (lambda: xlsx("<row><c><v>1</v></c></row>" * 100_000 + "<row>" + "<c><v>1</v></c>" * 16_384 + "</row>"), "extent"),
    "prefix.xlsx": (lambda: xlsx((HEAD + LAST).replace("<", "<x:").replace("<x:/", "</x:"), prefix="x"), "extent"),
    "elsewhere.xlsx": (lambda: xlsx(HEAD + LAST, sheet="data/part.bin"), "extent"),
    "overflow.xlsx": (lambda: xlsx(HEAD + f'<row r="9">{cell("ZZZZZZ4294967295")}</row>'), "extent"),
    "diagonal.xlsx": (lambda: xlsx("".join(f'<row r="{n}">{cell(f"{get_column_letter(n)}{n}")}</row>' for n in range(1, 5_000))), "extent"),
    "entities.xlsx": (lambda: xlsx(f'<row r="1">{text_cell("A1", "&l9;")}</row>', declared=ENTITIES), "broken"),
    "blanks.xlsx": (lambda: xlsx(HEAD + " " * (200 << 20)), "unpacked"),
    "strings.xlsx": (lambda: xlsx(HEAD, more={"xl/sharedStrings.xml": "<sst>" + "<si><t>x</t></si>" * 10_000_000 + "</sst>"}), "unpacked"),
    "count.xlsx": (lambda: xlsx(HEAD, more={"xl/sharedStrings.xml": '<sst count="4000000000" uniqueCount="4000000000"><si><t>x</t></si></sst>'}), "memory"),
    "entries.xlsx": (lambda: xlsx(HEAD, more={f"x/{n}": b"" for n in range(25_000)}), "unpacked"),
    "rows.ods": (lambda: ods(ods_row(ods_cell("h"), ods_cell("g")) + ods_row(ods_cell("x", 16_384), times=1_048_576)), "extent"),
    "wild.ods": (lambda: ods(ods_row(ods_cell("h")) + ods_row(ods_cell("x", 4_000_000_000), times=4_000_000_000)), "extent"),
    "many.ods": (lambda: ods(ods_row(ods_cell("h"), ods_cell("g")) + ods_row(ods_cell("x", 500), times=20_000)), "extent"),
    "far.ods": (lambda: ods(ods_row(ods_cell("h")) + ods_row(ods_gap(16_000), ods_cell("x")) + ods_row(ods_gap(1), times=1_000_000) + ods_row(ods_cell("y"))), "extent"),
    "far.xlsb": (lambda: xlsb([*FAR, (1_048_575, 16_383, 3.0)]), "extent"),
    "wild.xlsb": (lambda: xlsb([*FAR, (4_294_967_290, 4_294_967_290, 3.0)]), "extent"),
    "far.xls": (lambda: xls([*FAR, (65_535, 255, 3.0)]), "extent"),
    "wild.xls": (lambda: xls([*FAR, (65_535, 65_535, 3.0)]), "extent"),
    "claims.xls": (lambda: xls([*FAR, (1, 0, 3.0)], extent=(0, 4_000_000_000, 0, 65_535)), "memory"),
    "line.csv": (lambda: b"a,b\n" + b"x" * (40 << 20), "broken"),
    "nested.jsonl": (lambda: b'{"a":' + b"[" * 500_000 + b"]" * 500_000 + b"}\n", "broken"),
    "nul.csv": (lambda: b"a,b\n1,\0\n2,3\n", "broken"),
    "nuls.csv": (lambda: bytes(100_000), "broken"),
}  # fmt: skip

# Refuses the files that it is given, each in a process of its own, and prints how and with how much memory.
MEASURED = """
import json, resource, sys, time
from pathlib import Path
from research.readers.table_files import UnreadableTableError, detect_tables
out = []
for name in sys.argv[1:]:
    since = time.monotonic()
    try:
        detect_tables(Path(name), Path(name).name)
        why = ""
    except UnreadableTableError as error:
        why = error.reason
    out.append((Path(name).name, why, time.monotonic() - since))
from research.readers.table_files import _PARSER_POOL
_PARSER_POOL.close()
print(json.dumps([out, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024]))
"""


@pytest.mark.slow
def test_a_bomb_is_refused_in_a_moment_and_with_little_memory(tmp_path: Path) -> None:
    paths = []
    for name, (make, _) in BOMBS.items():
        (tmp_path / name).write_bytes(make())
        paths.append(str(tmp_path / name))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    found, megabytes = json.loads(done.stdout)
    linux = sys.platform == "linux"
    assert {name: why for name, why, _ in found if linux or BOMBS[name][1] != "memory"} == {
        name: why for name, (_, why) in BOMBS.items() if linux or why != "memory"
    }
    slow = {name: seconds for name, _, seconds in found if seconds > 10}  # of a busy machine
    assert slow == {}
    assert megabytes < 200


def read(path: Path) -> FileTable:
    (table,) = load_tables([(path, detect_tables(path, path.name))], path.with_name("made.duckdb"))
    return table


@pytest.mark.slow
@each_row(
    ("name", "make", "columns", "rows"),
    [
        ("claims.xlsx", lambda: xlsx(HEAD + f'<row r="2">{cell("A2")}{cell("B2")}</row>', before='<dimension ref="A1:XFD1048576"/>'), 2, 1),
        ("merged.xlsx", lambda: xlsx(HEAD + f'<row r="2">{cell("A2")}{cell("B2")}</row>', after="<mergeCells>" + '<mergeCell ref="A1:XFD1048576"/>' * 50_000 + "</mergeCells>"), 2, 1),
        ("styled.xlsx", lambda: xlsx(HEAD + f'<row r="2">{cell("A2")}{cell("B2")}</row><row r="1048576"><c r="XFD1048576" s="1"/></row>'), 2, 1),
        ("mentions.xlsx", lambda: xlsx(f'<row r="1">{text_cell("A1", "h")}</row><row r="2">{text_cell("A2", "r=&quot;XFD1048576&quot;")}</row>'), 1, 1),
        ("offset.xlsx", lambda: xlsx(f'<row r="900">{cell("AA900")}{cell("AB900", 2)}</row><row r="901">{cell("AA901", 3)}{cell("AB901", 4)}</row>'), 2, 2),
        ("wide.xlsx", lambda: xlsx("".join(f'<row r="{n}">' + "".join(cell(f"{get_column_letter(c)}{n}", c) for c in range(1, 500)) + "</row>" for n in range(1, 40))), 499, 39),
        ("long.xlsx", lambda: xlsx(HEAD + "".join(f'<row r="{n}">{cell(f"A{n}", n)}{cell(f"B{n}")}</row>' for n in range(2, 60_000))), 2, 59_998),
        ("filled.ods", lambda: ods(ods_row(ods_cell("h"), ods_cell("g")) + ods_row(ods_cell("a"), ods_cell("b"), ods_gap(16_382), times=3) + ods_row(ods_gap(16_384), times=1_048_572)), 2, 3),
        ("claims.xlsb", lambda: xlsb([(n, c, n * 10.0 + c) for n in range(20) for c in range(3)], extent=(0, 1_048_575, 0, 16_383)), 3, 20),
        ("small.xls", lambda: xls([(n, c, n * 10.0 + c) for n in range(20) for c in range(3)]), 3, 20),
        ("nested.xlsx", lambda: xlsx(HEAD + f'<row r="2">{cell("A2")}{cell("B2")}</row>', more={"x/inner.zip": packed({"zeros": bytes(50 << 20)})}), 2, 1),
    ],
)  # fmt: skip
def test_an_honest_workbook_is_read_whatever_it_claims(
    tmp_path: Path, name: str, make: Callable[[], bytes], columns: int, rows: int
) -> None:
    path = tmp_path / name
    path.write_bytes(make())
    table = read(path)
    assert (len(table.columns), table.rows) == (columns, rows)


def test_a_text_is_taken_for_utf_16_only_where_it_is(tmp_path: Path) -> None:
    for n, text in enumerate(("a,b\n1,2\n", "城市,人口\n杭州,1\n", "城市,人口\n杭州,很多人\n" * 500)):
        for encoding in ("utf-16-le", "utf-16-be"):
            path = tmp_path / f"t{n}.csv"
            path.write_bytes(text.encode(encoding))
            assert detect_tables(path, path.name)[0].encoding == encoding
    path = tmp_path / "nul.csv"
    path.write_bytes("城市,人口\n杭州,1\n".encode() * 20 + b"\0")
    with pytest.raises(UnreadableTableError):
        detect_tables(path, path.name)


@pytest.mark.slow
def test_a_parquet_file_that_lies_costs_nothing_but_itself(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": range(1_000), "b": ["x"] * 1_000}), path)
    good = path.read_bytes()
    (size,) = struct.unpack("<I", good[-8:-4])
    for at in range(0, size, max(1, size // 25)):
        for value in (0xFF, 0x7F):
            broken = bytearray(good)
            broken[len(good) - 8 - size + at] = value
            path.write_bytes(broken)
            try:
                read(path)
            except UnreadableTableError as error:
                assert error.reason in (
                    "broken",
                    "memory",
                    "rows",
                    "time",
                    "columns",
                    "empty",
                    "value",
                )
    path.write_bytes(good)
    assert read(path).rows == 1_000
    assert not list(tmp_path.glob("*.part*"))


def test_rows_without_end_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": pyarrow.array([1] * 20_000_001, pyarrow.int8())}), path)
    with pytest.raises(UnreadableTableError) as caught:
        detect_tables(path, path.name)
    assert caught.value.reason == "rows"


@pytest.mark.parametrize("why", ["extent", "unpacked", "time", "memory", "busy", "start"])
def test_a_refusal_is_told_in_both_languages(why: str) -> None:
    error = UnreadableTableError(why, "sales.xlsx")  # type: ignore[arg-type]
    assert error.message_in("en") == message(f"unreadable.{why}", "en", file="sales.xlsx", row=0)
    assert "sales.xlsx" in error.message_in("zh") != error.message_in("en")
