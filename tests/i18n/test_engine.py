"""Every text that the engine says by itself is there with the values it needs, and every one is said."""

from __future__ import annotations

import ast
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
    """The keys that are written out: in `message(key, …)`, and in calls of what `speaker` has made."""
    speakers = {
        node.targets[0].id: node.value.args[1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func) == "speaker"
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


def test_every_text_that_the_engine_asks_for_exists_with_the_values_that_it_is_given() -> None:
    wrong, seen = [], 0
    for file, tree in trees():
        if file.is_relative_to(ROOT / "research" / "audit"):
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


@pytest.mark.parametrize("table", ["{'zh': '中文', 'en': 'x'}", "{'a': ('中文。', 'Text.')}"])
def test_a_text_in_python_is_noticed(table: str) -> None:
    assert list(tables(ast.parse(f"X = {table}")))


def tables(tree: ast.Module) -> Iterator[int]:
    """Where a table tells the same in Chinese and in English."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Dict):
            continue
        keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
        if keys == {"zh", "en"}:
            yield node.lineno
        for value in node.values:
            if isinstance(value, ast.Tuple):
                texts = [e.value for e in value.elts if isinstance(e, ast.Constant)]
                if any(str(text).endswith("。") for text in texts):
                    yield node.lineno
                    break
