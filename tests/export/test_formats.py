"""The registry of export formats: its writers exist, and what is derived from it agrees with it."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from research.cli.options import output_suffixes
from research.core.records import Language
from research.core.settings import Settings
from research.export.available_files import list_exports
from research.export.formats import EXPORT_FORMATS, export_report, file_formats
from research.export.options import DEFAULT_OPTIONS, ExportOptions, listed_sources
from research.export.table_csv import table_csv
from research.export.table_excel import Sheet, workbook_bytes
from research.export.table_model import ExportColumn, ExportTable
from research.export.table_parquet import table_parquet
from tests import document_tables
from tests.export.test_archive import whole
from tests.export.test_markdown import numbered, report

ROOT = Path(__file__).resolve().parents[2]


def test_every_format_has_a_writer_a_key_and_a_suffix_of_its_own() -> None:
    for item in EXPORT_FORMATS:
        module, _, function = item.writer.partition(":")
        assert callable(getattr(import_module(module), function)), item.key
        for label in (item.label, item.short_label or item.label):
            assert label.en and label.zh and not re.search("[㐀-鿿]", label.en), item.key
    for names in ([item.key for item in EXPORT_FORMATS], [item.suffix for item in EXPORT_FORMATS]):
        assert len(set(names)) == len(names)


def test_the_document_lists_every_format_and_no_other() -> None:
    """`python -m tests.document_tables` writes the list."""
    text = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
    assert document_tables.with_formats(text) == text
    table = "\n".join(document_tables.formats_table())
    assert set(re.findall(r"`([a-z.]+)`", table)) == {item.suffix for item in EXPORT_FORMATS}


def test_the_terminal_takes_the_formats_of_a_report_and_of_a_table() -> None:
    contents = {"report", "sources", "everything"}
    assert set(output_suffixes()) == {f".{item.suffix}" for item in EXPORT_FORMATS if item.content in contents}
    added = {item.suffix for item in file_formats(for_table=True)} - {item.suffix for item in file_formats()}
    assert added == {item.suffix for item in EXPORT_FORMATS if item.content == "table"}


def test_every_file_that_a_report_can_be_exported_to_is_written() -> None:
    written, cited = whole()
    files = list(list_exports(written, cited))
    assert {file.format.content for file in files} == {item.content for item in EXPORT_FORMATS} - {"table"}
    assert [file.suffix for file in files if file.format.key == "rows_csv"] == ["rows1.csv"]
    for file in files:
        if file.format.content not in ("report", "everything"):
            assert file.format.write(written, cited, ExportOptions(table_number=file.table_number))


def test_an_option_takes_the_value_of_the_setting_of_its_name(tmp_path: Path) -> None:
    class MoreSettings(Settings):
        language: Language = "zh"

    settings = MoreSettings(data_dir=tmp_path)
    assert ExportOptions.from_settings(settings) == ExportOptions(language="zh")
    assert ExportOptions.from_settings(settings, language="en", table_number=2) == ExportOptions(
        language="en", table_number=2
    )
    assert ExportOptions.from_settings(Settings(data_dir=tmp_path)) == DEFAULT_OPTIONS


def test_every_document_and_reference_lists_the_same_sources() -> None:
    written = report("words")
    cited = numbered(written)
    numbers = [source.number for source in listed_sources(cited, DEFAULT_OPTIONS)]
    assert numbers and listed_sources(None, DEFAULT_OPTIONS) == ()
    text = export_report(written, cited, "footnotes.md").decode()
    assert [int(number) for number in re.findall(r"^\[\^(\d+)\]: ", text, re.MULTILINE)] == numbers
    assert len(re.findall(r'<li id="source-', export_report(written, cited, "html").decode())) == len(numbers)
    assert export_report(written, cited, "ris").count(b"\r\nER  - ") == len(numbers)
    assert len(export_report(written, cited, "sources.csv").splitlines()) == 1 + len(numbers)


@pytest.mark.parametrize("name", ["", "a/b:c" * 20])
def test_a_table_is_written_in_each_format_whatever_it_is_called(name: str) -> None:
    table = ExportTable(name, [ExportColumn("n", "integer"), ExportColumn("n")], [[1, "=1"], [None, None]])
    assert table_csv([table]).decode() == "\ufeffn,n\r\n1,'=1\r\n,\r\n"
    assert table_parquet(table).startswith(b"PAR1")
    assert workbook_bytes([Sheet(table._replace(name=f"1 {name}"))], {}).startswith(b"PK")
