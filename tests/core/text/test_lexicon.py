"""The table of words and names of both languages."""

from __future__ import annotations

from research.core.text.lexicon import lexicon_entries

USES = ("ask", "word", "name", "venue", "named", "food", "deed", "for", "any")


def test_every_row_is_for_something_and_has_spellings_in_both_languages() -> None:
    for entry in lexicon_entries(*USES):
        assert set(entry.uses) <= set(USES)
        for language in ("zh", "en"):
            assert all(word and word == word.strip("? ") for word in entry.spellings(language))


def test_a_row_is_found_for_each_of_its_uses() -> None:
    (hotel,) = (entry for entry in lexicon_entries("ask") if "民宿" in entry.zh)
    assert hotel in lexicon_entries("venue", "food")
    assert hotel not in lexicon_entries("food", "name")
    assert hotel.primary_use == "venue"
    assert hotel.keywords[0] == "酒店"


def test_a_word_that_asks_is_told_apart() -> None:
    (price,) = (entry for entry in lexicon_entries("ask") if "门票" in entry.zh)
    assert price.question_words == {"多少钱"}
    assert "多少钱" in price.spellings("zh")
    assert "?" not in "".join(price.en)
