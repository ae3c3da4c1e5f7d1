"""Every text is asked for with exactly the values that it takes, as far as the code tells, and every text
is asked for somewhere."""

from __future__ import annotations

import ast
import logging
from functools import cache

import pytest

from research import message
from tests.catalogue import LANGUAGES, ROOT, identifier, messages, variables
from tests.core.i18n.calls import Request, prefixes, requests
from tests.pages.test_words import FAMILIES
from tests.tables import each_row

FAMILY = {identifier(family): (family, members) for family, members in FAMILIES.items()}


@cache
def asked() -> tuple[Request, ...]:
    """The texts that the code asks for."""
    return tuple(requests())


@cache
def taken(name: str) -> frozenset[str]:
    """The values of a message, in whichever language."""
    return frozenset().union(*(variables(name, language) for language in LANGUAGES))


def members(request: Request) -> set[str] | None:
    """The messages that a call may mean, by the values that the record behind it may have; None where
    its family is open."""
    found: set[str] = set()
    for pattern in request.patterns:
        if not pattern.endswith(".*"):
            return None
        if pattern[:-2] not in FAMILY:
            return None
        family, values = FAMILY[pattern[:-2]]
        found |= {identifier(family + value) for value in values}
    return found


def wrong(request: Request) -> str:
    """Describe the error in the values that a call passes; "" if there is none or it cannot be
    determined."""
    if request.given is None or not all(request.patterns):
        return ""
    meant = members(request) or request.meant()
    if not meant:
        return "there is no such text"
    exact = all(".*" not in pattern for pattern in request.patterns)
    alone = exact and len({p.partition("-")[0] for p in request.patterns}) == 1
    if not (alone or members(request)):  # a prefix or an ending is known to another function alone
        fits = any(taken(name) == request.given for name in meant)
        return "" if fits else f"none of {sorted(meant)[:9]} takes {sorted(request.given)}"
    lacking = {name: taken(name) - request.given for name in meant}
    if lacking := {name: sorted(values) for name, values in lacking.items() if values}:
        return f"not given: {lacking}"
    spare = request.given.difference(*(taken(name) for name in meant))
    return f"not taken: {sorted(spare)}" if spare else ""


@pytest.mark.slow
def test_every_call_gives_the_values_that_its_text_takes() -> None:
    found = {request.where: why for request in asked() if (why := wrong(request))}
    assert found == {}


@pytest.mark.slow
def test_most_calls_can_be_read() -> None:
    """Keys are written where they are asked for, so that the tests here see them."""
    unread = [request for request in asked() if not all(request.patterns)]
    assert len(asked()) > 1_500 and len(unread) < len(asked()) / 20


@each_row("name", list(messages("en")))
def test_a_text_takes_the_same_values_in_both_languages(name: str) -> None:
    """One language may need a number that the other only writes, or that it leaves out for good."""
    chinese, english = (variables(name, language) for language in LANGUAGES)
    assert chinese == english or _counted(name, chinese ^ english)


def _counted(name: str, values: set[str]) -> bool:
    """Tell whether values only choose the form of a word where they are used."""
    from tests.catalogue import written

    return not any(values & written(name, language) for language in LANGUAGES)


def _texts() -> set[str]:
    """Every string of the program."""
    return {
        node.value
        for folder in ("pages", "research")
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.slow
def test_every_text_is_asked_for() -> None:
    """By a call, by a key in a table, or as a member of a family."""
    meant = set().union(*(request.meant() for request in asked()))
    meant |= {identifier(family + one) for family, values in FAMILIES.items() for one in values}
    heads = {*prefixes(), "evaluation.", "flaw.", "loaded.", "unreadable.", "mark."}
    meant |= {identifier(head + text) for text in _texts() for head in heads}
    assert [name for name in messages("en") if name not in meant] == []


def test_a_text_that_lacks_a_value_is_logged() -> None:
    """And fails every test that draws it: see the fixture in tests/conftest.py."""
    log = logging.getLogger("research.core.i18n")
    lines: list[str] = []
    kept, log.handlers = log.handlers, [logging.NullHandler()]
    log.handlers[0].handle = lambda record: bool(lines.append(record.getMessage()))  # type: ignore[method-assign]
    try:
        message("history.sources", "en")
    finally:
        log.handlers = kept
    assert len(lines) == 1 and "history.sources" in lines[0]


@each_row(
    ("pattern", "given", "noticed"),
    [
        ("guide-library", {"kinds"}, False),
        ("guide-library", set(), True),
        ("guide-library", {"kinds", "more"}, True),
        ("guide-no_such", set(), True),
        ("reason-.*", set(), False),
        ("reason-.*", {"n"}, True),
    ],
)
def test_a_call_with_other_values_is_noticed(pattern: str, given: set[str], noticed: bool) -> None:
    assert bool(wrong(Request("here", (pattern,), frozenset(given)))) is noticed
