"""Questions to begin with: such as can be answered with what is there."""

from __future__ import annotations

from typing import NamedTuple

from pages.shared.login import owner
from pages.shared.words import t
from research import application

MOST = 4
LIBRARY = ":material/library_books:"
PLACES = ":material/map:"
WEB = ":material/public:"


class Example(NamedTuple):
    """A question, and the icon of where its answer comes from."""

    question: str
    icon: str


def offered() -> list[Example]:
    """The examples in the page's language, at most four; none without anything to answer them."""
    ready = application.readiness(owner=owner())

    def some(questions: str, icon: str) -> list[Example]:
        return [Example(question, icon) for question in questions.splitlines()]

    found: list[Example] = []
    if ready["web"].state == "live":
        found += some(t("examples.web"), WEB)
    elif application.desk().library.sample:
        found += some(t("examples.samples"), LIBRARY)
    if ready["places"].state != "missing":
        found[1:1] = some(t("examples.places"), PLACES)
    return found[:MOST]
