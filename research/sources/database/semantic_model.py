"""Semantic models: YAML files that describe the meaning of a database.

A model gives the names of tables and columns, their units, the meaning of their values, the joins
between tables, and named metrics. The model that writes SQL reads it, and result tables take their
headings from it.

The keys are those that semantic layers share (dbt's, Snowflake's, Cube's): tables with columns,
labels, synonyms and descriptions; relationships; metrics with an expression; examples that were
confirmed as right.

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

This module depends on schemas and on no engine. A model is drafted from a schema, and an analyst
corrects it.
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
from research.sources.database.schema import Schema, SchemaTable

MAX_FILE_CHARS = 400_000  # characters of a file


class SemanticModelError(ValueError):
    """A file is no semantic model of the database; the message says where, for a person."""


class Label(Record):
    """A name in English and in Chinese."""

    en: str = ""
    zh: str = ""


class _ModelWithRetiredKeys(Record):
    """A part of a semantic model that accepts and ignores the keys of earlier versions."""

    retired: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="before")
    @classmethod
    def _ignore_retired_keys(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        return {key: value for key, value in given.items() if key not in cls.retired}


class ColumnModel(_ModelWithRetiredKeys):
    """Description of a column. `values` maps its values to other wordings of them."""

    retired = frozenset(("high", "low"))
    label: Label = Label()
    synonyms: tuple[str, ...] = ()
    description: str = ""
    unit: str = ""
    values: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class TableModel(_ModelWithRetiredKeys):
    """Description of a table, with its columns by name."""

    retired = frozenset(("row", "date"))
    label: Label = Label()
    synonyms: tuple[str, ...] = ()
    description: str = ""
    columns: dict[str, ColumnModel] = Field(default_factory=dict)


class Metric(Record):
    """A named figure: an aggregate `expression` over the columns of a table."""

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
    """Description of a database. Its tables have their names in the schema."""

    description: str = ""
    tables: dict[str, TableModel] = Field(default_factory=dict)
    relationships: tuple[str, ...] = ()
    metrics: dict[str, Metric] = Field(default_factory=dict)
    examples: tuple[StatementExample, ...] = ()

    def iter_links(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield each relationship as table and column, and the table and column they refer to."""
        for relationship in self.relationships:
            source, _, target = (part.strip() for part in relationship.partition("="))
            yield (*_split_column(source), *_split_column(target))


def _split_column(name: str) -> tuple[str, str]:
    """Split the qualified name of a column into those of its table and of the column."""
    table, _, column = name.rpartition(".")
    return table, column


# Files


def parse_model(text: str, schema: Schema) -> SemanticModel:
    """Parse a YAML file into a semantic model, with the parts it leaves out drafted from the
    schema.

    Raises:
        SemanticModelError: it is no model, or names something that the database does not have.
    """
    if len(text) > MAX_FILE_CHARS:
        raise SemanticModelError(f"The file has {len(text):,} characters; {MAX_FILE_CHARS:,} is the most.")
    try:
        data = yaml.load(text, _Loader)
        model = SemanticModel.model_validate(data or {})
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
    """Fill in the tables, columns, labels and relationships that a model leaves out from a
    draft."""
    tables = {}
    for name, draft_table in draft.tables.items():
        table = model.tables.get(name)
        if table is None:
            tables[name] = draft_table
            continue
        columns = {column: table.columns.get(column, draft_table.columns[column]) for column in draft_table.columns}
        label = table.label if table.label != Label() else draft_table.label
        tables[name] = table.model_copy(update={"label": label, "columns": columns})
    links = model.relationships or draft.relationships
    return model.model_copy(update={"tables": tables, "relationships": links})


def dump_model(model: SemanticModel) -> str:
    """Write a model as a YAML file, without empty parts."""
    data = model.model_dump(mode="json", exclude_defaults=True)
    return str(yaml.dump(data, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=110))


class _Loader(yaml.SafeLoader):
    """YAML loader that refuses aliases, with which a few lines could stand for gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            raise yaml.YAMLError(f"Line {event.start_mark.line + 1}: aliases are not read.")
        return super().compose_node(parent, index)


class _Dumper(yaml.SafeDumper):
    """YAML dumper that writes small mappings and lists on one line."""

    def represent_mapping(self, tag: str, mapping: Any, flow_style: bool | None = None) -> Any:
        inner = [value for value in mapping.values() if isinstance(value, dict)]
        small = not any(isinstance(value, dict) for each in inner for value in each.values())
        flow = small and len(str(mapping)) < 90
        return super().represent_mapping(tag, mapping, flow_style=flow or None)

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> Any:
        flow = all(isinstance(value, str) for value in sequence) and len(str(sequence)) < 90
        return super().represent_sequence(tag, sequence, flow_style=flow or None)


def _find_problems(model: SemanticModel, schema: Schema) -> Iterator[str]:
    """Yield a message for each thing in the model that the database does not have."""
    tables = {table.qualified_name: {column.name for column in table.columns} for table in schema.tables}
    for name, table in model.tables.items():
        if name not in tables:
            yield f"tables.{name}: the database has no such table."
            continue
        for column in table.columns:
            if column not in tables[name]:
                yield f"tables.{name}.{column}: the table has no such column."
    for relationship, (own_table, own_column, other_table, other_column) in zip(
        model.relationships, model.iter_links(), strict=True
    ):
        for table_name, column in ((own_table, own_column), (other_table, other_column)):
            if column not in tables.get(table_name, ()):
                yield f"relationships: {relationship}: there is no column {table_name}.{column}."
    for name, metric in model.metrics.items():
        if metric.table not in tables:
            yield f"metrics.{name}: the database has no table {metric.table}."


# Drafts


def draft_model(schema: Schema) -> SemanticModel:
    """Draft a model from the names, comments, types and keys of a schema."""
    columns = {table.qualified_name: {column.name for column in table.columns} for table in schema.tables}
    relationships = []
    for table in schema.tables:
        for column in table.columns:
            target_table, target_column = _split_column(column.reference)
            target_column = target_column or column.name
            if column.reference and target_column in columns.get(target_table, ()):
                relationships.append(f"{table.qualified_name}.{column.name} = {target_table}.{target_column}")
    return SemanticModel(
        tables={table.qualified_name: _draft_table(table) for table in schema.tables},
        relationships=tuple(relationships),
    )


def _draft_table(table: SchemaTable) -> TableModel:
    columns = {
        column.name: ColumnModel()  # a foreign key takes its label from the table it refers to
        if column.reference
        else ColumnModel(label=_draft_label(column.name), description=column.comment)
        for column in table.columns
    }
    return TableModel(label=_draft_label(table.name), description=table.comment, columns=columns)


def _draft_label(name: str) -> Label:
    """Split a name into words: order_items and OrderItems become "order items"; 销售额 is Chinese."""
    if re.search("[\u4e00-\u9fff]", name):
        return Label(zh=name)
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+", " ", name)
    return Label(en=" ".join(parts.split()).lower())


# Descriptions for the SQL writer and for result tables


def add_comments(schema: Schema, model: SemanticModel) -> Schema:
    """Add the labels of the model to the schema as comments, and its relationships as references of
    columns, for the model that writes SQL."""
    joins = {(table, column): f"{target_table}.{target}" for table, column, target_table, target in model.iter_links()}
    tables = []
    for table in schema.tables:
        described = model.tables.get(table.qualified_name, TableModel())
        columns = tuple(
            replace(
                column,
                comment=_build_comment(described.columns.get(column.name, ColumnModel()), column.comment),
                reference=joins.get((table.qualified_name, column.name), column.reference),
            )
            for column in table.columns
        )
        comment = _build_comment(described, table.comment)
        tables.append(replace(table, columns=columns, comment=comment))
    return replace(schema, tables=tuple(tables))


def _build_comment(model: TableModel | ColumnModel, comment: str) -> str:
    """Join the names, description, unit and meanings of values of a table or column to one comment.

    `comment` is the database's own, used if the model has no description.
    """
    words = [model.label.en, model.label.zh, *model.synonyms]
    parts = [", ".join(dict.fromkeys(filter(None, words))), model.description or comment]
    if isinstance(model, ColumnModel):
        parts.append(f"unit: {model.unit}" if model.unit else "")
        meanings = [f"{value} = {'/'.join(words)}" for value, words in list(model.values.items())[:20]]
        parts.append("; ".join(meanings))
    return "; ".join(filter(None, parts))


def describe_metrics(model: SemanticModel) -> str:
    """Describe the metrics for the model that writes SQL, "" if there are none."""
    lines = []
    for name, metric in model.metrics.items():
        words = filter(None, (metric.label.en, metric.label.zh, *metric.synonyms))
        names = ", ".join(dict.fromkeys(words)) or name
        unit = f", in {metric.unit}" if metric.unit else ""
        description = f" ({metric.description})" if metric.description else ""
        lines.append(f"metric {names}: {metric.expression} over {metric.table}{unit}{description}")
    return "\n".join(lines)


def column_headings(model: SemanticModel, names: Iterable[str]) -> dict[str, dict[Language, str]]:
    """Return the headings of result columns in both languages, with their units.

    A column that the model does not describe, or describes in several ways, has none.
    """
    labels: dict[str, set[tuple[str, str, str]]] = {}
    for table in model.tables.values():
        for name, column in table.columns.items():
            label = column.label
            labels.setdefault(name.lower(), set()).add((label.en, label.zh, column.unit))
    for name, metric in model.metrics.items():
        labels.setdefault(name.lower(), set()).add((metric.label.en, metric.label.zh, metric.unit))
    headings: dict[str, dict[Language, str]] = {}
    for name in names:
        candidates = labels.get(name.lower(), set())
        if len(candidates) == 1:
            en, zh, unit = next(iter(candidates))
            texts: dict[Language, str] = {"en": en or zh, "zh": zh or en}
            headings[name] = {
                language: _format_heading(text, unit, language) for language, text in texts.items() if text
            }
    return headings


def _format_heading(label: str, unit: str, language: Language) -> str:
    text = f"{label[:1].upper()}{label[1:]}"
    return message("mark.aside", language, text=text, more=unit) if unit else text
