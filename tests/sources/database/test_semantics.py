"""Semantic models: read, written, checked against a schema, drafted from one, and kept for each owner."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.sources.database.described import Descriptions
from research.sources.database.engines import open_database
from research.sources.database.schema import Schema
from research.sources.database.semantics import (
    LONGEST,
    Unusable,
    described,
    drafted,
    dumped,
    headings,
    loaded,
)
from tests.sources.database.foreign import FOLDER, database

TEXT = (FOLDER / "chinook.yaml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    return open_database(database(tmp_path_factory.mktemp("chinook"))).schema


def test_a_model_is_the_same_after_it_was_written_and_read(schema: Schema) -> None:
    model = loaded(TEXT, schema)
    assert loaded(dumped(model), schema) == model
    draft = drafted(schema)
    assert loaded(dumped(draft), schema) == draft


def test_a_draft_has_names_keys_and_dates(schema: Schema) -> None:
    draft = drafted(schema)
    assert draft.tables["InvoiceLine"].label.en == "invoice line"
    assert draft.tables["Customer"].row == ("FirstName", "LastName")
    assert draft.tables["Employee"].date == "HireDate"
    assert "Customer.SupportRepId = Employee.EmployeeId" in draft.relationships
    assert len(draft.relationships) == 11


def test_what_a_model_leaves_out_is_as_in_a_draft(schema: Schema) -> None:
    model = loaded("tables: {Track: {label: {en: song}}}", schema)
    draft = drafted(schema)
    assert model.tables["Track"].label.en == "song"
    assert model.tables["Track"].columns == draft.tables["Track"].columns
    assert model.tables["Album"] == draft.tables["Album"]
    assert model.relationships == draft.relationships


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tables: [", "Line 1"),
        ("tables: 3", "tables"),
        ("tables: {Nothing: {}}", "no such table"),
        ("tables: {Track: {columns: {Nothing: {}}}}", "no such column"),
        ("tables: {Track: {row: [Nothing]}}", "no such column"),
        ("tables: {Track: {colour: red}}", "colour"),
        ("relationships: [Track.Nothing = Album.AlbumId]", "no column"),
        ("relationships: [Track]", "no column"),
        ("metrics: {m: {table: Nothing, expression: count(*)}}", "no table"),
        ("description: &a [x, x]\ntables: {Track: {synonyms: *a}}", "aliases"),
        ("!!python/object/apply:os.system [ls]", "Line 1"),
        ("x" * (LONGEST + 1), "characters"),
    ],
)
def test_what_is_no_model_of_the_database_is_told(schema: Schema, text: str, problem: str) -> None:
    with pytest.raises(Unusable, match=problem):
        loaded(text, schema)


def test_what_a_model_says_is_what_a_writer_of_sql_is_told(schema: Schema) -> None:
    told = described(schema, loaded(TEXT, schema)).described()
    assert "invoice, 发票, order, purchase" in told
    assert "unit: ms" in told
    assert "Rock = 摇滚" in told


def test_headings_have_names_and_units_in_both_languages(schema: Schema) -> None:
    found = headings(
        loaded(TEXT, schema), ["Milliseconds", "avg_Milliseconds", "sales", "Name", "x"]
    )
    assert found["Milliseconds"] == {"en": "Length (ms)", "zh": "时长（ms）"}
    assert found["avg_Milliseconds"]["en"] == "Average length (ms)"
    assert headings(loaded(TEXT, schema), ["month"])["month"] == {"en": "Month", "zh": "月"}
    assert found["sales"]["zh"] == "销售额（USD）"
    assert not {"Name", "x"} & found.keys()  # several tables call a column so; nothing is


def test_each_owner_has_descriptions_of_their_own(tmp_path: Path) -> None:
    kept = Descriptions(tmp_path)
    kept.put("ann", "abc", "one")
    kept.put("bob", "abc", "two")
    assert (kept.get("ann", "abc"), kept.get("bob", "abc")) == ("one", "two")
    assert kept.all("ann") == {"abc": "one"}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.yaml")} == {0o600}
    assert kept.remove("ann", "abc")
    assert not kept.remove("ann", "abc")
    assert kept.clear("bob") == 1
    assert not list(tmp_path.rglob("*.yaml"))
    with pytest.raises(ValueError, match="no database"):
        kept.put("ann", "../../x", "one")
