"""Every call of the program that asks for a text: which messages it may mean, and the values that it gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.catalogue import ROOT, identifier, messages

SPEAKERS = {"t", "message", "value_label"}  # functions that are given a key, in every module
MAKERS = {
    "translator",
    "report_translator",
    "create_translator",
}  # functions that make such a function for a language and a prefix
TYPES = (
    "research.core.i18n",
    "research.export.report_texts",
    "pages.shared.localization",
)  # where those come from


class Request(NamedTuple):
    """A call that asks for a text. `patterns` are the identifiers that it may mean, "" if that cannot be
    told from the code; `given` are the values, None if they are not written out."""

    where: str
    patterns: tuple[str, ...]
    given: frozenset[str] | None

    def meant(self) -> set[str]:
        """The identifiers of the messages that the call may mean."""
        return {name for pattern in self.patterns if pattern for name in _matching(pattern)}


@cache
def _matching(pattern: str) -> frozenset[str]:
    return frozenset(name for name in messages("en") if re.fullmatch(pattern, name))


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Map the names assigned at the top level of a module to the expressions of their values."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            found[node.target.id] = node.value
    return found


def _made(value: ast.expr) -> bool:
    """Tell whether a function that is given keys is made, perhaps beside something else."""
    return any(
        isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS
        for node in [value, *(value.elts if isinstance(value, ast.Tuple) else [])]
    )


class _Module(ast.NodeVisitor):
    """Reads the requests of one module."""

    def __init__(self, path: Path, prefixes: frozenset[str]) -> None:
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.name = str(path.relative_to(ROOT))
        self.constants, self.prefixes = _constants(self.tree), prefixes
        imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom)]
        self.imported = {node.module for node in imports}
        names = {alias.name for node in imports if node.module in TYPES for alias in node.names}
        self.speakers = {"translate", "_translate"} if "Translator" in names else set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign) and _made(node.value):
                self.speakers |= {
                    getattr(one, "id", "") or getattr(one, "attr", "")
                    for target in node.targets
                    for one in ast.walk(target)
                }
        self.functions: list[ast.AST] = []
        self.requests: list[Request] = []
        self.visit(self.tree)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node)
        self.generic_visit(node)
        self.functions.pop()

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        own = isinstance(node.func, ast.Name) and name in SPEAKERS
        own = own and (name != "value_label" or "pages.shared.localization" in self.imported)
        said = name in self.speakers
        if not node.args or isinstance(node.args[0], ast.Starred) or not (own or said):
            return
        heads = {""} if own else self.prefixes
        keys = self._keys(node.args[0])
        if name == "value_label":
            keys = [key and rf"{key}\..*" for key in keys]
        patterns = tuple(_pattern(head, key) if key is not None else "" for key in keys for head in heads)
        given = frozenset(k.arg for k in node.keywords if k.arg)
        whole = all(k.arg for k in node.keywords)
        where = f"{self.name}:{node.lineno}"
        self.requests.append(Request(where, patterns, given if whole else None))

    def _keys(self, node: ast.expr, depth: int = 0) -> list[str | None]:
        """The keys that an expression may come to, as patterns; None for one that is not known."""
        if depth > 6:
            return [None]
        match node:
            case ast.Constant(value=str(text)):
                return [re.escape(text)]
            case ast.IfExp():
                return [*self._keys(node.body, depth + 1), *self._keys(node.orelse, depth + 1)]
            case ast.JoinedStr():
                parts = [re.escape(str(one.value)) if isinstance(one, ast.Constant) else ".*" for one in node.values]
                return ["".join(parts)]
            case ast.BinOp(op=ast.Add()):
                return [
                    None if a is None and b is None else f"{a or '.*'}{b or '.*'}"
                    for a in self._keys(node.left, depth + 1)
                    for b in self._keys(node.right, depth + 1)
                ]
            case ast.Name(id=name):
                return self._named(name, depth)
            case ast.Subscript(value=ast.Name(id=name)) if name in self.constants:
                return self._within(self.constants[name])
            case ast.Subscript(value=ast.Dict() as table):
                return self._within(table)
        return [None]

    def _named(self, name: str, depth: int) -> list[str | None]:
        for function in reversed(self.functions):
            values = [
                one.value
                for one in ast.walk(function)
                if isinstance(one, ast.Assign | ast.NamedExpr)
                and any(
                    isinstance(target, ast.Name) and target.id == name
                    for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
                )
            ]
            if values:
                return [key for value in values for key in self._keys(value, depth + 1)]
        if name in self.constants:
            return self._keys(self.constants[name], depth + 1)
        return [None]

    def _within(self, table: ast.expr) -> list[str | None]:
        """The texts of a table that are keys."""
        texts = [one.value for one in ast.walk(table) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        keys = [text for text in texts if identifier(text) in messages("en")]
        return [re.escape(key) for key in keys] or [None]


def _pattern(head: str, key: str) -> str:
    """The identifiers of keys, as a pattern."""
    text = f"{re.escape(head)}{key}"
    return text.replace(r"\.", "-").replace(r"\ ", "_").replace(r"\-", "-")


@cache
def prefixes() -> frozenset[str]:
    """The beginnings of keys that are given to makers of speakers, and none."""
    found = {""}
    for path in files():
        found |= set(re.findall(r'\btranslator\([^()]*(?:\([^()]*\))?[^()]*, "([a-z]+\.)"\)', path.read_text("utf-8")))
    return frozenset(found | {"report."})


@cache
def files() -> tuple[Path, ...]:
    """The modules that ask for texts."""
    found = (path for folder in ("pages", "research") for path in (ROOT / folder).rglob("*.py"))
    return tuple(sorted(one for one in found if re.search(r"i18n|localization|report_texts", one.read_text("utf-8"))))


def requests() -> Iterator[Request]:
    for path in files():
        if path.is_relative_to(ROOT / "research" / "linter"):
            continue  # there `message` is that of a flaw
        if path in (
            ROOT / "pages" / "shared" / "localization.py",
            ROOT / "research" / "core" / "i18n" / "__init__.py",
        ):
            continue  # which pass keys on
        yield from _Module(path, prefixes()).requests
