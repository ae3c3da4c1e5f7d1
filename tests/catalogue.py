"""The texts of the catalogue for tests: `WORDS["ask.title"]` is the Chinese one and the English one."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from fluent.syntax import FluentParser, ast
from fluent.syntax.visitor import Visitor

from research import has_message, message
from research.i18n import _IDENTIFIER
from research.records import Language

ROOT = Path(__file__).parents[1]
# What the engine says by itself: the beginning of its keys, and the files that say it.
ENGINE = {
    "answering": "research/stages/answer.py",
    "budget": "research/stages/budget.py",
    "column": "research/database/*.py",
    "checking": "research/stages/check.py",
    "digest": "research/reasoners/digest.py",
    "draft": "research/reasoners/*.py",
    "mcp": "research/sources/toolservers/*.py",
    "evaluation": "research/cli/evaluate.py research/records.py",
    "fact": "research/sources/places/facts.py research/places/directions.py research/sources/wikidata/statements.py",
    "flaw": "research/audit/words.py",
    "hours": "research/places/hours.py",
    "loaded": "research/cli/db.py",
    "unreadable": "research/database/files.py",
    "look": "research/places/look.py research/places/ways.py research/places/maps.py",
    "mark": "research/**/*.py",
    "note": "research/news/*.py research/sources/news/*.py",
    "related": "research/runs/related.py",
    "outcome": "research/database/answer.py",
    "planning": "research/stages/plan.py",
    "tabled": "research/stages/table.py research/reasoners/clerk.py research/tables/shown.py",
    "takeout": "research/account/export.py",
    "unwritten": "research/stages/section.py",
}
LOCALE = ROOT / "research" / "i18n" / "locale"
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
    return key.translate(_IDENTIFIER)


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
