"""Semantic models: read, written, checked against a schema, drafted from one, and kept for each owner."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from research.sources.database.description_files import DescriptionFiles
from research.sources.database.engines import open_database
from research.sources.database.schema import Schema
from research.sources.database.semantic_model import (
    MAX_FILE_CHARS,
    SemanticModelError,
    add_comments,
    column_headings,
    describe_metrics,
    draft_model,
    dump_model,
    parse_model,
)

FOLDER = Path(__file__).with_name("chinook")
TEXT = (FOLDER / "chinook.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    path = tmp_path_factory.mktemp("chinook") / "chinook.sqlite"
    path.write_bytes(lzma.decompress((FOLDER / "chinook.sqlite.xz").read_bytes()))
    return open_database(path).schema


def test_a_model_is_the_same_after_it_was_written_and_read(schema: Schema) -> None:
    model = parse_model(TEXT, schema)
    assert parse_model(dump_model(model), schema) == model
    draft = draft_model(schema)
    assert parse_model(dump_model(draft), schema) == draft


def test_a_draft_has_names_and_relationships(schema: Schema) -> None:
    draft = draft_model(schema)
    assert draft.tables["InvoiceLine"].label.en == "invoice line"
    assert "Customer.SupportRepId = Employee.EmployeeId" in draft.relationships
    assert len(draft.relationships) == 11


def test_what_a_model_leaves_out_is_as_in_a_draft(schema: Schema) -> None:
    model = parse_model("tables: {Track: {label: {en: song}}}", schema)
    draft = draft_model(schema)
    assert model.tables["Track"].label.en == "song"
    assert model.tables["Track"].columns == draft.tables["Track"].columns
    assert model.tables["Album"] == draft.tables["Album"]
    assert model.relationships == draft.relationships


def test_keys_of_earlier_versions_are_accepted_and_ignored(schema: Schema) -> None:
    old = """\
tables:
  Track:
    label: {en: song}
    row: [Title]
    date: Released
    columns:
      Milliseconds: {label: {en: length}, high: [long, 长], low: [short, 短]}
"""
    model = parse_model(old, schema)
    assert model.tables["Track"].label.en == "song"
    assert model.tables["Track"].columns["Milliseconds"].label.en == "length"
    assert not {"row:", "date:", "high:", "low:"} & set(dump_model(model).split())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tables: [", "Line 1"),
        ("tables: 3", "tables"),
        ("tables: {Nothing: {}}", "no such table"),
        ("tables: {Track: {columns: {Nothing: {}}}}", "no such column"),
        ("tables: {Track: {colour: red}}", "colour"),
        ("relationships: [Track.Nothing = Album.AlbumId]", "no column"),
        ("relationships: [Track]", "no column"),
        ("metrics: {m: {table: Nothing, expression: count(*)}}", "no table"),
        ("description: &a [x, x]\ntables: {Track: {synonyms: *a}}", "aliases"),
        ("!!python/object/apply:os.system [ls]", "Line 1"),
        ("x" * (MAX_FILE_CHARS + 1), "characters"),
    ],
)
def test_what_is_no_model_of_the_database_is_told(schema: Schema, text: str, problem: str) -> None:
    with pytest.raises(SemanticModelError, match=problem):
        parse_model(text, schema)


def test_what_a_model_says_is_what_a_writer_of_sql_is_told(schema: Schema) -> None:
    told = add_comments(schema, parse_model(TEXT, schema)).describe()
    assert "invoice, 发票, order, purchase" in told
    assert "unit: ms" in told
    assert "Rock = 摇滚" in told


def test_metrics_and_relationships_are_told_to_a_writer_of_sql(schema: Schema) -> None:
    model = parse_model(
        """\
relationships: [Track.Composer = Artist.Name]
metrics:
  sales: {label: {en: sales, zh: 销售额}, synonyms: [revenue], table: Invoice, expression: sum(Total), unit: USD}
""",
        schema,
    )
    assert describe_metrics(model) == "metric sales, 销售额, revenue: sum(Total) over Invoice, in USD"
    assert "-> Artist.Name" in add_comments(schema, model).describe()


def test_headings_have_names_and_units_in_both_languages(schema: Schema) -> None:
    found = column_headings(parse_model(TEXT, schema), ["Milliseconds", "sales", "Name", "x"])
    assert found["Milliseconds"] == {"en": "Length (ms)", "zh": "时长（ms）"}
    assert found["sales"]["zh"] == "销售额（USD）"
    assert not {"Name", "x"} & found.keys()  # several tables call a column so; nothing is


def test_each_owner_has_descriptions_of_their_own(tmp_path: Path) -> None:
    kept = DescriptionFiles(tmp_path)
    kept.save("ann", "abc", "one")
    kept.save("bob", "abc", "two")
    assert (kept.get("ann", "abc"), kept.get("bob", "abc")) == ("one", "two")
    assert kept.all("ann") == {"abc": "one"}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.yaml")} == {0o600}
    assert kept.remove("ann", "abc")
    assert not kept.remove("ann", "abc")
    assert kept.clear("bob") == 1
    assert not list(tmp_path.rglob("*.yaml"))
    with pytest.raises(ValueError, match="no database"):
        kept.save("ann", "../../x", "one")
