"""The texts of the catalogue for tests: `WORDS["ask.title"]` is the Chinese one and the English one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from fluent.syntax import FluentParser, ast
from fluent.syntax.visitor import Visitor

from research import has_message, message
from research.core.i18n import _KEY_TO_IDENTIFIER
from research.core.records import Language

ROOT = Path(__file__).parents[1]
# What the engine says by itself: the beginning of its keys, and the files that say it.
ENGINE = {
    "answering": "research/agent/nodes/answer.py",
    "budget": "research/agent/nodes/budget.py",
    "column": "research/sources/database/*.py",
    "checking": "research/agent/nodes/check.py",
    "digest": "research/agent/extractive/reasoner.py",
    "draft": "research/agent/**/*.py research/sources/database/sql_writer.py",
    "mcp": "research/sources/mcp_tools/*.py",
    "evaluation": "research/cli/evaluate.py research/core/records/*.py",
    "fact": "research/sources/places/evidence.py research/sources/places/directions.py research/sources/wikidata/statements.py",
    "flaw": "research/linter/flaw_kinds.py",
    "hours": "research/sources/places/opening_hours.py",
    "loaded": "research/cli/db.py research/readers/reading_summary.py research/core/reading_notes.py",
    "unreadable": "research/readers/table_records.py",
    "look": "research/sources/places/place_search.py research/sources/places/routes.py research/sources/places/map_services.py",
    "mark": "research/**/*.py",
    "note": "research/sources/news/*.py",
    "related": "research/runtime/related_questions.py",
    "outcome": "research/sources/database/outcome_text.py",
    "planning": "research/agent/nodes/plan.py",
    "tabled": "research/agent/nodes/table.py research/agent/llm/table_extractor.py research/tables/formatting.py",
    "takeout": "research/accounts/data_export.py",
    "unwritten": "research/agent/nodes/section.py",
}
LOCALE = ROOT / "research" / "core" / "i18n" / "locale"
LANGUAGES: tuple[Language, Language] = ("zh", "en")


class _Variables(Visitor):
    """The values of a message, and those of them that it writes: others only choose a form."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.written: set[str] = set()

    def visit_Placeable(self, node: ast.Placeable) -> None:
        if isinstance(node.expression, ast.VariableReference):
            self.written.add(node.expression.id.name)
        self.generic_visit(node)

    def visit_VariableReference(self, node: ast.VariableReference) -> None:
        self.names.add(node.id.name)


@cache
def messages(language: Language) -> dict[str, ast.Message]:
    """Every message of a language by its identifier; one that stands twice, or what is no message,
    is an error."""
    found: dict[str, ast.Message] = {}
    for file in sorted((LOCALE / language).glob("*.ftl")):
        for entry in FluentParser().parse(file.read_text(encoding="utf-8")).body:
            assert not isinstance(entry, ast.Junk), (file.name, entry.content)
            if isinstance(entry, ast.Message):
                assert entry.id.name not in found, (file.name, entry.id.name)
                found[entry.id.name] = entry
    return found


def variables(identifier: str, language: Language) -> set[str]:
    """The names of the values that a message takes."""
    visitor = _Variables()
    visitor.visit(messages(language)[identifier])
    return visitor.names


def written(identifier: str, language: Language) -> set[str]:
    """The names of the values that a message shows."""
    visitor = _Variables()
    visitor.visit(messages(language)[identifier])
    return visitor.written


def identifier(key: str) -> str:
    return key.translate(_KEY_TO_IDENTIFIER)


class Told(str):
    """A text without its values, `{n}` in their places; `format` fills them in."""

    key: str
    language: Language

    def format(self, *args: object, **values: Any) -> str:
        return message(self.key, self.language, **values)


class Words:
    def __getitem__(self, key: str) -> tuple[Told, Told]:
        return _told(key, "zh"), _told(key, "en")

    def __contains__(self, key: object) -> bool:
        return has_message(str(key))


def _told(key: str, language: Language) -> Told:
    names = variables(identifier(key), language)
    told = Told(message(key, language, **{name: f"{{{name}}}" for name in names}))
    told.key, told.language = key, language
    return told


WORDS = Words()
