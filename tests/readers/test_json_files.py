"""JSON becomes rows: in the library as lines, in the database as columns, with nested names such as address.city."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from research.readers.documents import UnreadableFileError, parse_document
from research.readers.table_detection import detect_tables_of_kind
from research.readers.table_loading import write_table
from research.readers.table_records import UnreadableTableError

WRAPPED = """{"source": "Bureau", "meta": {"year": 2023}, "data": [
 {"id": 1, "name": "西湖", "address": {"city": "杭州", "geo": {"lat": 30.250}}, "tags": ["lake", "park"],
  "visits": [{"y": 2022, "n": 5}], "open": true},
 {"id": 2, "name": "东湖", "address": null, "tags": []}]}"""
LINES = '{"a": 1, "b": {"c": "x"}}\n\n{"a": 2.50, "d": [1, 2]}\n'


def test_records_of_a_document_are_lines_with_nested_names() -> None:
    document = parse_document("a.json", WRAPPED.encode())
    assert document.text.splitlines() == [
        "source: Bureau",
        "meta.year: 2023",
        "id: 1; name: 西湖; address.city: 杭州; address.geo.lat: 30.250; tags: lake, park; "
        'visits: [{"y": 2022, "n": 5}]; open: true',
        "id: 2; name: 东湖",
    ]
    assert [section.heading for section in document.sections] == ["", "data > 1–2"]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_json_lines_are_records(name: str) -> None:
    assert parse_document(name, LINES.encode()).text == "a: 1; b.c: x\na: 2.50; d: 1, 2"


def test_other_documents_are_names_and_values() -> None:
    source = '{"hangzhou": {"pop": 5}, "list": ["x", "y"], "deep": {"a": {"rows": [{"v": 1}, {"v": 2}]}}}'
    assert parse_document("a.json", source.encode()).text.splitlines() == [
        "hangzhou.pop: 5",
        "list: x, y",
        "v: 1",
        "v: 2",
    ]


@pytest.mark.parametrize(
    ("name", "data", "detail"),
    [
        ("a.json", b'{"a":', "Line 1 of the file is not JSON."),
        ("a.jsonl", b'{"a": 1}\nb', "Line 2 of the file is not JSON."),
        ("a.json", b"[" * 200_000, "nested more than"),
    ],
)
def test_what_is_no_json_says_where(name: str, data: bytes, detail: str) -> None:
    with pytest.raises(UnreadableFileError, match=detail):
        parse_document(name, data)


def loaded(folder: Path, name: str, source: str) -> tuple[list[tuple[str, str]], list[tuple[object, ...]]]:
    path = folder / name
    path.write_text(source, encoding="utf-8")
    (table,) = detect_tables_of_kind(path, path.suffix, name, {})
    written = write_table(path, table, folder / "a.duckdb", lambda part: None)
    with duckdb.connect(str(folder / "a.duckdb")) as raw:
        rows = raw.execute(f'select * from "{written.name}"').fetchall()
    return [(c.name, c.type) for c in written.columns], rows


def test_nested_values_are_columns_of_a_data_file(tmp_path: Path) -> None:
    columns, rows = loaded(tmp_path, "a.json", WRAPPED)
    assert columns == [
        ("id", "integer"),
        ("name", "text"),
        ("address_city", "text"),
        ("address_geo_lat", "number"),
        ("tags", "text"),
        ("visits", "text"),
        ("open", "boolean"),
        ("source", "text"),
        ("meta_year", "integer"),
    ]
    assert rows == [
        (1, "西湖", "杭州", 30.25, "lake, park", '[{"y":2022,"n":5}]', True, "Bureau", 2023),
        (2, "东湖", None, None, None, None, None, "Bureau", 2023),
    ]


def test_json_lines_have_nested_columns_too(tmp_path: Path) -> None:
    late = "".join(f'{{"a": {n}}}\n' for n in range(25_000)) + '{"a": 1, "b": {"c": {"d": "late"}}}\n'
    columns, rows = loaded(tmp_path, "a.jsonl", late)
    assert columns == [("a", "integer"), ("b_c_d", "text")]
    assert rows[-1] == (1, "late")


def test_names_with_points_and_nested_names_stay_apart(tmp_path: Path) -> None:
    columns, rows = loaded(tmp_path, "a.json", '[{"a.b": 1, "a": {"b": 2, "it\'s": 3}}]')
    assert [name for name, _ in columns] == ["a_b", "a_b_2", "a_it_s"]
    assert rows == [(1, 2, 3)]


@pytest.mark.parametrize(("source", "reason"), [("[]", "empty"), ('{"a":', "broken")])
def test_a_document_without_rows_is_refused(tmp_path: Path, source: str, reason: str) -> None:
    with pytest.raises(UnreadableTableError) as caught:
        loaded(tmp_path, "a.json", source)
    assert caught.value.reason == reason
