"""Where sentences end, told fast."""

from __future__ import annotations

from research.core.text.sentences import CLAUSE_END_PATTERN, find_sentence_ends
from tests.tables import each_row


@each_row(
    "text pieces",
    [
        ("它很大。它很老！“真的？”是。", ["它很大。", "它很老！", "“真的？”", "是。"]),
        ("It is large. It is old (so they say.) Yes", ["It is large.", " It is old (so they say.)", " Yes"]),
        ("It rose 5%. Then 12. Then none", ["It rose 5%.", " Then 12.", " Then none"]),
        ("Dr. Li met Prof. Wu of the U.S. Army at No. 5", []),
        ("About 3.5 km of the wall, e.g. of stone", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_text_is_cut_where_a_sentence_certainly_ends(text: str, pieces: list[str]) -> None:
    cuts = [0, *find_sentence_ends(text)]
    found = [text[a:b] for a, b in zip(cuts, [*cuts[1:], len(text)], strict=True) if a < b]
    assert found == (pieces or [text][: len(text)])


def test_only_a_stretch_is_looked_at_but_what_stands_behind_it_is_known() -> None:
    text = "One here now. Two there then. Three"
    assert [*find_sentence_ends(text, 0, 13)] == [13]
    assert [*find_sentence_ends(text, 14, len(text))] == [29]
    assert [*find_sentence_ends(text, 0, 12)] == []


@each_row(
    "text clauses",
    [
        ("门票多少钱，2020年呢？远吗", ["门票多少钱", "2020年呢", "远吗"]),
        ("At 3,000 metres, or 3.5 km away; why? See a.org.", ["At 3,000 metres", " or 3.5 km away", " why", " See a.org", ""]),
    ],
)  # fmt: skip
def test_a_clause_ends_at_a_comma_but_not_within_a_number(text: str, clauses: list[str]) -> None:
    assert CLAUSE_END_PATTERN.split(text) == clauses
