"""What a database means: its semantic model, a YAML file that says once what tables and columns are
called, in which units they are, what their values stand for, how tables join, and which figures are asked
for by name. A model that writes SQL reads it, and tables of results get their headings from it.

The keys are those that semantic layers share (dbt's, Snowflake's, Cube's): tables with columns, labels,
synonyms and descriptions; relationships; metrics with an expression; examples that were found right.

    tables:
      Invoice:
        label: {en: invoice, zh: 发票}
        synonyms: [order, 订单]
        columns:
          Total: {label: {en: amount, zh: 金额}, unit: USD}
          BillingCountry: {label: {en: country, zh: 国家}, values: {Germany: [德国]}}
    relationships:
      - Invoice.CustomerId = Customer.CustomerId
    metrics:
      sales: {label: {en: sales, zh: 销售额}, table: Invoice, expression: sum(Total), unit: USD}
    examples:
      - {question: "Which country buys most?", sql: SELECT ...}

Knows schemas, no engine. A model is drafted from a schema; an analyst corrects it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import yaml
from pydantic import Field, ValidationError, model_validator

from research.core.i18n import message
from research.core.records import Language, Record
from research.sources.database.schema import Schema, SchemaColumn, SchemaTable

MAX_FILE_CHARS = 400_000  # characters of a file


class SemanticModelError(ValueError):
    """A file is no semantic model of the database; the message says where, for a person."""


class Label(Record):
    """What something is called, in English and in Chinese."""

    en: str = ""
    zh: str = ""


class _Described(Record):
    """A part of a semantic model that accepts and ignores the keys of earlier versions."""

    retired: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _ignore_retired_keys(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {key: value for key, value in given.items() if key not in cls.retired}


class ColumnModel(_Described):
    """A column. `values` are other wordings of its values."""

    retired = frozenset(("high", "low"))
    label: Label = Label()
    synonyms: tuple[str, ...] = ()
    description: str = ""
    unit: str = ""
    values: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class TableModel(_Described):
    """A table with its columns by name."""

    retired = frozenset(("row", "date"))
    label: Label = Label()
    synonyms: tuple[str, ...] = ()
    description: str = ""
    columns: dict[str, ColumnModel] = Field(default_factory=dict)


class Metric(Record):
    """A figure that is asked for by name: an aggregate `expression` over the columns of a table."""

    label: Label = Label()
    synonyms: tuple[str, ...] = ()
    description: str = ""
    table: str
    expression: str
    unit: str = ""


class StatementExample(Record):
    """A question with a statement that answers it."""

    question: str
    sql: str


class SemanticModel(Record):
    """All that is said of a database. Tables are named as the schema calls them."""

    description: str = ""
    tables: dict[str, TableModel] = Field(default_factory=dict)
    relationships: tuple[str, ...] = ()
    metrics: dict[str, Metric] = Field(default_factory=dict)
    examples: tuple[StatementExample, ...] = ()

    def iter_links(self) -> Iterator[tuple[str, str, str, str]]:
        """The relationships: table, column, table and column of the row that is referred to."""
        for told in self.relationships:
            here, _, there = (part.strip() for part in told.partition("="))
            yield (*_split_column(here), *_split_column(there))


def _split_column(name: str) -> tuple[str, str]:
    table, _, column = name.rpartition(".")
    return table, column


# Files


def parse_model(text: str, schema: Schema) -> SemanticModel:
    """The model that a YAML file holds.

    Raises:
        Unusable: it is none, or speaks of what the database does not have.
    """
    if len(text) > MAX_FILE_CHARS:
        raise SemanticModelError(f"The file has {len(text):,} characters; {MAX_FILE_CHARS:,} is the most.")
    try:
        read = yaml.load(text, _Loader)
        model = SemanticModel.model_validate(read or {})
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"Line {mark.line + 1}: " if mark else ""
        raise SemanticModelError(f"{where}{getattr(error, 'problem', None) or error}"[:300]) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise SemanticModelError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if problem := next(_find_problems(model, schema), ""):
        raise SemanticModelError(problem)
    return _complete_model(model, draft_model(schema))


def _complete_model(model: SemanticModel, draft: SemanticModel) -> SemanticModel:
    """The model with what it says nothing of as the draft has it: tables, columns, and how they join."""
    tables = {}
    for name, of in draft.tables.items():
        said = model.tables.get(name)
        if said is None:
            tables[name] = of
            continue
        columns = {column: said.columns.get(column, of.columns[column]) for column in of.columns}
        label = said.label if said.label != Label() else of.label
        tables[name] = said.model_copy(update={"label": label, "columns": columns})
    links = model.relationships or draft.relationships
    return model.model_copy(update={"tables": tables, "relationships": links})


def dump_model(model: SemanticModel) -> str:
    """A model as a YAML file, without what is empty."""
    told = model.model_dump(mode="json", exclude_defaults=True)
    return str(yaml.dump(told, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110))


class _Loader(yaml.SafeLoader):
    """YAML that cannot grow: a file of a few lines may not stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.YAMLError(f"Line {event.start_mark.line + 1}: aliases are not read.")
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):
    """What is small stands on one line."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        inner = [value for value in mapping.values() if isinstance(value, dict)]
        small = not any(isinstance(value, dict) for each in inner for value in each.values())
        flow = small and len(str(mapping)) < 90
        return super().represent_mapping(tag, mapping, flow_style=flow or None)

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:
        flow = all(isinstance(value, str) for value in sequence) and len(str(sequence)) < 90
        return super().represent_sequence(tag, sequence, flow_style=flow or None)


def _find_problems(model: SemanticModel, schema: Schema) -> Iterator[str]:
    """What the model says that the database does not have."""
    tables = {table.qualified_name: {column.name for column in table.columns} for table in schema.tables}
    for name, table in model.tables.items():
        if name not in tables:
            yield f"tables.{name}: the database has no such table."
            continue
        for column in table.columns:
            if column not in tables[name]:
                yield f"tables.{name}.{column}: the table has no such column."
    for told, (here, mine, there, other) in zip(model.relationships, model.iter_links(), strict=True):
        for of, column in ((here, mine), (there, other)):
            if column not in tables.get(of, ()):
                yield f"relationships: {told}: there is no column {of}.{column}."
    for name, metric in model.metrics.items():
        if metric.table not in tables:
            yield f"metrics.{name}: the database has no table {metric.table}."


# Drafts


def draft_model(schema: Schema) -> SemanticModel:
    """What can be said of a database from its names, comments, types and keys alone."""
    links = []
    for table in schema.tables:
        for column in table.columns:
            if column.reference:
                there, _, other = column.reference.rpartition(".")
                links.append(f"{table.qualified_name}.{column.name} = {there}.{other or column.name}")
    known = {table.qualified_name: {column.name for column in table.columns} for table in schema.tables}
    keys = {told.partition(" = ")[0] for told in links}
    whole = [told for told in links if (end := _split_column(told.partition(" = ")[2]))[1] in known.get(end[0], ())]
    return SemanticModel(
        tables={table.qualified_name: _draft_table(table, keys) for table in schema.tables},
        relationships=tuple(whole),
    )


def _draft_table(table: SchemaTable, keys: set[str]) -> TableModel:
    columns = {
        c.name: ColumnModel() if f"{table.qualified_name}.{c.name}" in keys else _draft_column(c) for c in table.columns
    }  # what only refers to another table is called as that is
    return TableModel(label=_draft_label(table.name), description=table.comment, columns=columns)


def _draft_column(column: SchemaColumn) -> ColumnModel:
    return ColumnModel(label=_draft_label(column.name), description=column.comment)


def _draft_label(name: str) -> Label:
    """A name as words: order_items and OrderItems are "order items"; 销售额 is Chinese."""
    if re.search("[\u4e00-\u9fff]", name):
        return Label(zh=name)
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", " ", name)
    return Label(en=" ".join(parts.split()).lower())


# What others are told of it


def add_comments(schema: Schema, model: SemanticModel) -> Schema:
    """Return the schema with the labels of the model as comments, and its relationships as references of
    columns, for a model that writes SQL."""
    joins = {(here, column): f"{there}.{other}" for here, column, there, other in model.iter_links()}
    tables = []
    for table in schema.tables:
        said = model.tables.get(table.qualified_name, TableModel())
        columns = tuple(
            replace(
                column,
                comment=_build_comment(said.columns.get(column.name, ColumnModel()), column.comment),
                reference=joins.get((table.qualified_name, column.name), column.reference),
            )
            for column in table.columns
        )
        comment = _build_comment(said, table.comment)
        tables.append(replace(table, columns=columns, comment=comment))
    return replace(schema, tables=tuple(tables))


def _build_comment(model: TableModel | ColumnModel, comment: str) -> str:
    words = [model.label.en, model.label.zh, *model.synonyms]
    parts = [", ".join(dict.fromkeys(filter(None, words))), model.description or comment]
    if isinstance(model, ColumnModel):
        parts.append(f"unit: {model.unit}" if model.unit else "")
        stands = [f"{value} = {'/'.join(words)}" for value, words in list(model.values.items())[:20]]
        parts.append("; ".join(stands))
    return "; ".join(filter(None, parts))


def describe_metrics(model: SemanticModel) -> str:
    """The metrics as who writes SQL is told of them, "" if there are none."""
    lines = []
    for name, metric in model.metrics.items():
        words = filter(None, (metric.label.en, metric.label.zh, *metric.synonyms))
        called = ", ".join(dict.fromkeys(words)) or name
        unit = f", in {metric.unit}" if metric.unit else ""
        about = f" ({metric.description})" if metric.description else ""
        lines.append(f"metric {called}: {metric.expression} over {metric.table}{unit}{about}")
    return "\n".join(lines)


def column_headings(model: SemanticModel, names: Iterable[str]) -> dict[str, dict[Language, str]]:
    """What columns of rows are called above a table, with their units, in both languages; those of which
    the model says nothing, or two things, keep their names."""
    known: dict[str, set[tuple[str, str, str]]] = {}
    for table in model.tables.values():
        for name, column in table.columns.items():
            label = column.label
            known.setdefault(name.lower(), set()).add((label.en, label.zh, column.unit))
    for name, metric in model.metrics.items():
        known.setdefault(name.lower(), set()).add((metric.label.en, metric.label.zh, metric.unit))
    found: dict[str, dict[Language, str]] = {}
    for name in names:
        meant = known.get(name.lower(), set())
        if len(meant) == 1:
            en, zh, unit = next(iter(meant))
            said: dict[Language, str] = {"en": en, "zh": zh or en}
            if not en:
                said["en"] = zh
            found[name] = {language: _format_heading(text, unit, language) for language, text in said.items() if text}
    return found


def _format_heading(label: str, unit: str, language: Language) -> str:
    text = f"{label[:1].upper()}{label[1:]}"
    return message("mark.aside", language, text=text, more=unit) if unit else text
