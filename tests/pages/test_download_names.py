"""The names of files that can be taken away are made by the program, never of outside text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "pages").rglob("*.py"))
MAKERS = {"export_file_name", "file_stem"}  # that make names of times, ids and words of ours
PARTS = {"suffix", "n"}  # endings and numbers, out of tables of ours


class Place(NamedTuple):
    """A node, and the function that it stands in (the module, if none)."""

    node: ast.AST
    inside: ast.AST


def walk(node: ast.AST, inside: ast.AST) -> Iterator[Place]:
    for child in ast.iter_child_nodes(node):
        own = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else inside
        yield Place(child, inside)
        yield from walk(child, own)


def places(texts: dict[str, str]) -> list[Place]:
    trees = [ast.parse(text) for text in texts.values()]
    return [place for tree in trees for place in walk(tree, tree)]


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def ours(node: ast.AST | None, inside: ast.AST, every: list[Place], depth: int = 0) -> bool:
    """Whether a text can only be one that the program has made."""
    if node is None or depth > 12:
        return False

    def again(one: ast.AST | None, where: ast.AST = inside) -> bool:
        return ours(one, where, every, depth + 1)

    match node:
        case ast.Constant():
            return True
        case ast.JoinedStr(values=parts):
            return all(map(again, parts))
        case ast.FormattedValue(format_spec=ast.JoinedStr(values=[ast.Constant(value=form), *_])):
            return "%Y" in str(form)  # a time: no text can be written so
        case ast.FormattedValue(value=inner) | ast.Subscript(value=inner):
            return again(inner)
        case ast.BinOp(left=left, right=right):
            return again(left) and again(right)
        case ast.IfExp(body=one, orelse=other):
            return again(one) and again(other)
        case ast.Attribute(attr=name):
            return name in PARTS
        case ast.Call(func=ast.Attribute(value=inner, attr="rstrip" | "strip" | "removesuffix")):
            return again(inner)
        case ast.Call():
            return called(node) in MAKERS
        case ast.Name(id=name):
            return name in PARTS or bound(name, inside, every, depth)
    return False


def bound(name: str, inside: ast.AST, every: list[Place], depth: int) -> bool:
    """Whether all that a name can be is ours: what is assigned to it, or given as an argument."""
    given = [
        place.node.value
        for place in every
        if place.inside is inside and isinstance(place.node, ast.Assign)
        if any(isinstance(to, ast.Name) and to.id == name for to in place.node.targets)
    ]
    if given:
        return all(ours(one, inside, every, depth + 1) for one in given)
    if not isinstance(inside, ast.FunctionDef):
        return False
    order = [arg.arg for arg in [*inside.args.posonlyargs, *inside.args.args]]
    if name not in [*order, *(arg.arg for arg in inside.args.kwonlyargs)]:
        return False
    calls = [p for p in every if isinstance(p.node, ast.Call) and called(p.node) == inside.name]
    return bool(calls) and all(
        ours(argument(call.node, name, order), call.inside, every, depth + 1)
        for call in calls
        if isinstance(call.node, ast.Call)
    )


def argument(call: ast.Call, name: str, order: list[str]) -> ast.AST | None:
    by_name = {keyword.arg: keyword.value for keyword in call.keywords}
    if name in by_name or name not in order:
        return by_name.get(name)
    at = order.index(name)
    return call.args[at] if at < len(call.args) else None


def wrong(texts: dict[str, str]) -> list[int]:
    """The lines of buttons whose file may have a name of outside text, or none that is ours."""
    every = places(texts)
    buttons = [p for p in every if isinstance(p.node, ast.Call) and called(p.node) == "download_button"]  # fmt: skip
    assert buttons
    return [
        place.node.lineno
        for place in buttons
        if isinstance(place.node, ast.Call) and not ours(argument(place.node, "file_name", []), place.inside, every)
    ]


@pytest.mark.slow
def test_every_download_has_a_name_that_the_program_made() -> None:
    assert wrong({str(file): file.read_text(encoding="utf-8") for file in FILES}) == []


@each_row(
    "text",
    [
        "st.download_button('x', data)",
        "st.download_button('x', data, file_name=run.question)",
        "st.download_button('x', data, file_name=f'{title}.md')",
        "st.download_button('x', data, file_name=f'{title:>9}.md')",
        "st.download_button('x', data, file_name=st.session_state['name'])",
        "name = entry.title\nst.download_button('x', data, file_name=name)",
        "def f(name):\n    st.download_button('x', data, file_name=f'{name}.md')\nf(place.name)",
        "def f(name):\n    st.download_button('x', data, file_name=f'{name}.md')",
    ],
)
def test_a_name_of_outside_text_is_found(text: str) -> None:
    assert wrong({"page": text})


@each_row(
    "text",
    [
        "st.download_button('x', data, file_name='places.csv')",
        "st.download_button('x', data, file_name=f'all-{made:%Y%m%d}.zip')",
        "st.download_button('x', data, file_name=export_file_name(report, one.suffix))",
        "def f(name):\n    st.download_button('x', data, file_name=f'{name}.md')\nf(file_stem('day'))",
    ],
)
def test_a_name_of_ours_is_none(text: str) -> None:
    assert wrong({"page": text}) == []
