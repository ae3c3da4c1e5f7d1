import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from research.core.json_values import keep_objects
from research.http.sanitize import remove_control_characters, strip_html, tidy_text, truncate_text

DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_what_cannot_be_shown_or_stored_goes_and_nothing_else():
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        unseen = unicodedata.category(char) in ("Cc", "Cs") or char in DIRECTIONS
        assert remove_control_characters(char) == ("" if unseen and char not in "\n\t" else char), hex(code)


def test_what_is_no_text_is_none():
    for value in (None, 5, b"bytes", ["a"], {}):
        assert remove_control_characters(value) == tidy_text(value) == strip_html(value) == ""
    assert keep_objects(None) == keep_objects({"a": 1}) == keep_objects("row") == []
    assert keep_objects([{"a": 1}, None, "row"]) == [{"a": 1}]


def test_of_mark_up_the_text_is_left():
    assert strip_html("<p>Fish &amp; <b>chi</b>ps</p><script>alert(1)</script>") == "Fish & chips"


@given(st.text(), st.integers(1, 50))
def test_a_text_is_cut_to_no_more_than_its_limit_and_begins_as_it_did(text, limit):
    cut = truncate_text(text, limit)
    assert len(cut) <= limit
    assert text.startswith(cut)
