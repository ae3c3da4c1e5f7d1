"""Sentences taken out of Markdown: they go, all else stays."""

from __future__ import annotations

from research.citations.answer_tree import build_answer_tree
from research.citations.numbering import NumberedSpan
from research.citations.repair import repair_spans
from research.citations.tree_sentences import find_sentences
from research.core.records import PassageReference, Span
from tests.tables import each_row

CITE = (PassageReference(evidence="e1", passage="p1"),)


def spans(text: str) -> tuple[Span, ...]:
    """Text with a citation at each ^."""
    parts = text.split("^")
    out = [Span(kind="text", text=part, references=CITE) for part in parts[:-1]]
    return (*out, *([Span(kind="text", text=parts[-1])] if parts[-1] else []))


def shown(found: tuple[Span, ...]) -> str:
    return "".join(span.text + "^" * bool(span.references) for span in found)


def sentences(found: tuple[Span, ...]) -> list[str]:
    return [piece.text for piece in find_sentences(build_answer_tree([NumberedSpan(span=s) for s in found]))]


CASES = [
    ("门票60元。^周一闭馆。^", {0: ""}, "周一闭馆。^"),
    ("门票60元。^周一闭馆。^", {1: ""}, "门票60元。^"),
    ("One is here.^ Two is there.^ Three.", {1: ""}, "One is here.^ Three."),
    ("- One\n- Two^\n- Three", {1: ""}, "- One\n- Three"),
    ("1. One\n2. Two^\n3. Three", {0: "", 2: ""}, "2. Two^"),
    ("- One is. Two is.^\n- Three", {1: ""}, "- One is.\n- Three"),
    ("**A is. B is.^** C is.", {1: ""}, "**A is.** C is."),
    ("**标题：**甲是一。^乙是二。^", {1: ""}, "**标题：**甲是一。^"),
    ("| a | b |\n|---|---|\n| x | 1^ |\n| y | 2^ |", {0: ""}, "| a | b |\n|---|---|\n| y | 2^ |"),
    ("Before.\n\n| a | b |\n|---|---|\n| x | 1^ |\n\nAfter.", {1: ""}, "Before.\n\nAfter."),
    ("## H\n\nOne is.^\n\n## K\n\nTwo is.^", {0: ""}, "## K\n\nTwo is.^"),
    ("## H\n\n### I\n\nOne is.^\n\n### J\n\nTwo is.^", {0: ""}, "## H\n\n### J\n\nTwo is.^"),
    ("One is.^\n\nOne is.^", {1: ""}, "One is.^"),
    ("甲是一。^乙是二。^丙是三。", {1: "乙是*五*。"}, "甲是一。^乙是\\*五\\*。^丙是三。"),
    ("- One\n- Two is two.^", {1: "Two is 3."}, "- One\n- Two is 3.^"),
]  # fmt: skip


@each_row(("text", "changes", "left"), CASES)
def test_sentences_go_or_are_put_in_other_words(text: str, changes: dict[int, str], left: str) -> None:
    before = sentences(spans(text))
    found = repair_spans(spans(text), changes)
    assert found.repaired_indices == set(changes)
    told = [line.rstrip() for line in shown(found.spans).strip().split("\n")]
    squeezed = "\n".join(line for n, line in enumerate(told) if line or (n and told[n - 1]))
    assert squeezed == left
    kept = [s for at, s in enumerate(before) if changes.get(at, "x")]
    assert len(sentences(found.spans)) == len(kept)


def test_an_item_with_items_of_its_own_stays_and_that_is_said() -> None:
    text = "- One is.^\n  - Two is.^"
    found = repair_spans(spans(text), {0: ""})
    assert (shown(found.spans), found.repaired_indices) == (text, frozenset())


def test_a_row_is_not_put_in_other_words() -> None:
    text = "| a | b |\n|---|---|\n| x | 1^ |"
    found = repair_spans(spans(text), {0: "x is 2"})
    assert (shown(found.spans), found.repaired_indices) == (text, frozenset())


def test_nothing_is_done_where_nothing_is_asked() -> None:
    text = "## H\n\n- A & B\\* is `c`.^\n\n> D is.^"
    found = repair_spans(spans(text), {})
    assert shown(found.spans) == text


def test_each_part_keeps_its_own_text() -> None:
    given = (
        Span(kind="text", text="\n\n## H\n\n", part="s1"),
        Span(kind="text", text="One is.", references=CITE, part="s1"),
        Span(kind="text", text="\n\n## K\n\n", part="s2"),
        Span(kind="text", text="Two is.", references=CITE, part="s2"),
    )
    found = repair_spans(given, {0: ""})
    assert [(s.part, s.text.strip()) for s in found.spans if s.text.strip()] == [
        ("s2", "## K"), ("s2", "Two is."),
    ]  # fmt: skip
