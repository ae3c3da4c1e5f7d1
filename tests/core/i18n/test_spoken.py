"""Every text that the engine says by itself is there with the values it needs, and every one is said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from research import has_message
from tests.catalogue import ENGINE, ROOT, identifier, messages, variables
from tests.tables import each_row

SPOKEN = ("report", *ENGINE)  # the beginnings of the keys that the engine may ask for


def trees(patterns: str = "research/**/*.py") -> Iterator[tuple[Path, ast.Module]]:
    for pattern in patterns.split():
        files = sorted(ROOT.glob(pattern))
        assert files, pattern
        for file in files:
            yield file, ast.parse(file.read_text(encoding="utf-8"))


def said(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """The keys that are written out: in `message(key, …)`, and in calls of what `translator` has made."""
    speakers = {
        node.targets[0].id: node.value.args[1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "translator"
        and len(node.value.args) == 2
        and isinstance(node.value.args[1], ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            prefix = "" if node.func.id == "message" else speakers.get(node.func.id)
            if prefix is None:
                continue
            first = node.args[0]
            for key in [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]:
                if isinstance(key, ast.Constant):
                    yield f"{prefix}{key.value}", node


@pytest.mark.slow
def test_every_text_that_the_engine_asks_for_exists_with_the_values_that_it_is_given() -> None:
    wrong, seen = [], 0
    for file, tree in trees():
        if file.is_relative_to(ROOT / "research" / "linter"):
            continue  # there `message` is that of a flaw
        for key, call in said(tree):
            seen += 1
            given = {keyword.arg for keyword in call.keywords}
            if (
                not has_message(key)
                or not key.startswith(SPOKEN)
                or (None not in given and given != variables(identifier(key), "en"))
            ):
                wrong.append((file.name, call.lineno, key))
    assert wrong == []
    assert seen > 80


@pytest.mark.slow
@each_row("prefix", ENGINE)
def test_every_text_of_the_engine_is_said(prefix: str) -> None:
    """Its key stands in the files that say it, whole or after the prefix."""
    written = {
        identifier(node.value)
        for _, tree in trees(ENGINE[prefix])
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    own = [key for key in messages("en") if key.startswith(f"{prefix}-")]
    assert own
    assert [k for k in own if not {k, k.removeprefix(f"{prefix}-")} & written] == []


TOLD = re.compile("[\u4e00-\u9fff]")


def told_twice(tree: ast.Module) -> Iterator[int]:
    """The lines of tables that tell the same in Chinese and in English: {"zh": "门票", "en": "ticket"} and
    {"price": ("门票", "ticket")}."""

    def texts(node: ast.AST) -> str:
        parts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
        return " ".join(part for part in parts if isinstance(part, str))

    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        pairs = [value.elts for value in node.values if isinstance(value, ast.Tuple)]
        if {"zh", "en"} <= set(keys):
            pairs.append([node.values[keys.index("zh")], node.values[keys.index("en")]])
        for pair in pairs:
            if len(pair) == 2 and not any(isinstance(one, ast.Call) for one in pair):
                chinese, english = map(texts, pair)
                if TOLD.search(chinese) and english and not TOLD.search(english):
                    yield node.lineno
                    break


@pytest.mark.slow
def test_no_text_for_people_is_in_python() -> None:
    """But for what the rules have read in a question, which is put in words where it is read."""
    files = [*trees(), *trees("pages/**/*.py")]
    database = ROOT / "research" / "sources" / "database"
    reading = {database / "rules.py", database / "statement_builder.py", *database.glob("question_*.py")}
    told = [(file, line) for file, tree in files for line in told_twice(tree)]
    assert [(file.name, line) for file, line in told if file not in reading] == []


@each_row(
    ("code", "found"),
    [
        ("X = {'zh': '门票', 'en': 'ticket'}", [1]),
        ("X = {'en': ('a', 'b'), 'zh': ('甲', '乙')}", [1]),
        ("X = {'price': ('门票 {}', 'ticket {}')}", [1]),
        ("X = {'zh': 'zh-CN', 'en': 'en'}", []),
        ("X = {'故宫': ('故宫博物院', '紫禁城')}", []),
    ],
)
def test_a_table_of_texts_is_noticed(code: str, found: list[int]) -> None:
    assert list(told_twice(ast.parse(code))) == found
