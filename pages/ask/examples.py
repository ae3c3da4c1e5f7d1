"""Questions to begin with: such as can be answered with what is there."""

from __future__ import annotations

from typing import NamedTuple

from pages.shared.localization import t
from pages.shared.login import current_owner
from research import application

MAX_EXAMPLES = 4
LIBRARY_ICON = ":material/library_books:"
PLACES_ICON = ":material/map:"
WEB_ICON = ":material/public:"


class Example(NamedTuple):
    """A question, and the icon of where its answer comes from."""

    question: str
    icon: str


def list_examples() -> list[Example]:
    """The examples in the page's language, at most four; none without anything to answer them."""
    ready = application.readiness(owner=current_owner())

    def some(questions: str, icon: str) -> list[Example]:
        return [Example(question, icon) for question in questions.splitlines()]

    found: list[Example] = []
    if ready["web"].state == "live":
        found += some(t("examples.web"), WEB_ICON)
    elif application.get_application().library.is_sample_enabled:
        found += some(t("examples.samples"), LIBRARY_ICON)
    if ready["places"].state != "missing":
        found[1:1] = some(t("examples.places"), PLACES_ICON)
    return found[:MAX_EXAMPLES]
