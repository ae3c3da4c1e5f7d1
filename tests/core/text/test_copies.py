"""Whether two texts are one."""

from __future__ import annotations

from research.core.text.near_duplicates import MIN_LETTERS, is_near_duplicate, shingles

TEXT = "The city council approved the new tram line on 12 March by 31 votes to 18, and work begins next year."
OTHER = "Rangers said that the summit path is closed until May because of ice, and huts will not be staffed."


def test_a_text_is_its_own_copy_whatever_its_layout_and_its_spelling() -> None:
    assert is_near_duplicate(shingles(TEXT), shingles(TEXT.upper().replace(" ", "\n — ")))
    assert shingles("國務院決定從明年一月起對全國所有城市的公共交通實行統一票價，不再區分地區與線路長短遠近。") == (
        shingles("国务院决定从明年一月起对全国所有城市的公共交通实行统一票价不再区分地区与线路长短远近")
    )


def test_a_text_that_stands_in_a_longer_one_is_a_copy_of_it() -> None:
    assert is_near_duplicate(shingles(TEXT), shingles(f"{OTHER} {TEXT} {OTHER}"))
    assert is_near_duplicate(shingles(TEXT), shingles(TEXT.replace("31 votes", "30 votes")))


def test_other_texts_are_none() -> None:
    assert not is_near_duplicate(shingles(TEXT), shingles(OTHER))
    assert not is_near_duplicate(shingles(TEXT), shingles(TEXT[:40] + OTHER))


def test_a_text_that_is_too_short_proves_nothing() -> None:
    assert shingles("a" * (MIN_LETTERS - 1)) == frozenset()
    assert shingles("a" * MIN_LETTERS)
    assert not is_near_duplicate(shingles("Short."), shingles("Short."))
