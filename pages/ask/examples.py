"""Example questions that the configured sources can answer."""

from __future__ import annotations

from typing import NamedTuple

from pages.shared.localization import t
from pages.shared.login import current_owner
from research import get_application

MAX_EXAMPLES = 4
LIBRARY_ICON = ":material/library_books:"
PLACES_ICON = ":material/map:"
WEB_ICON = ":material/public:"


class Example(NamedTuple):
    """An example question with the icon of its source."""

    question: str
    icon: str


def list_examples() -> list[Example]:
    """Return at most MAX_EXAMPLES examples in the page's language, for available sources only."""
    ready = get_application().readiness(owner=current_owner())

    def parse_examples(questions: str, icon: str) -> list[Example]:
        return [Example(question, icon) for question in questions.splitlines()]

    examples: list[Example] = []
    if ready["web"].state == "live":
        examples += parse_examples(t("examples.web"), WEB_ICON)
    elif get_application().library.is_sample_enabled:
        examples += parse_examples(t("examples.samples"), LIBRARY_ICON)
    if ready["places"].state != "missing":
        examples[1:1] = parse_examples(t("examples.places"), PLACES_ICON)
    return examples[:MAX_EXAMPLES]
