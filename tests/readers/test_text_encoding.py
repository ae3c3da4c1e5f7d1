"""The encoding of a text is told by its characters, or not at all."""

from __future__ import annotations

import pytest

from research.readers.drafts import UnreadableFileError, decode_text
from research.readers.text_encoding import detect_encoding
from tests.tables import each_row

OFFICES = "city,country,staff\nMontréal,Canada,120\nZürich,Switzerland,85\nMálaga,Spain,40\n"
CASES = [
    ("gb18030", "城市,人口\n杭州,1200\n苏州,1300\n"),
    ("gb18030", "名称,单价\n灯,5\n"),
    ("cp950", "城市,人口\n臺北,250\n高雄,270\n"),
    ("cp932", "都市,人口\n東京,1400\n大阪,270\n横浜,370\n"),
    ("cp949", "도시,인구\n서울,940\n부산,330\n대구,240\n인천,300\n"),
    ("cp1252", OFFICES),
    ("cp1252", "Stadt;Umsatz\nKöln;100\nMünchen;200\nDüsseldorf;300\n"),
    ("cp1250", "miasto;liczba\nŁódź;1\nKraków;2\nGdańsk;3\nWrocław;4\nCzęstochowa;5\n"),
    ("cp1251", "город,население\nКазань,1257000\nПермь,1034000\n"),
    ("utf-8", "城市,Zürich,город\n"),
    ("utf-8-sig", "城市,人口\n"),
    ("utf-16", "城市\t人口\n杭州\t1200\n"),
    ("utf-16-le", "city\tpeople\n杭州\t1200\n"),
    ("utf-16-be", "city\tpeople\n杭州\t1200\n"),
    ("ascii", "a,b\n1,2\n"),
]


@each_row(("encoding", "text"), CASES)
def test_a_short_table_is_read_in_its_encoding(encoding: str, text: str) -> None:
    guess = detect_encoding(text.encode(encoding))
    assert guess and guess.is_sure
    assert text.encode(encoding).decode(guess.encoding) == text


def test_a_text_that_two_encodings_explain_is_not_guessed() -> None:
    data = "a\n\u201e\u201c\n".encode("cp1252")  # only quotation marks
    guess = detect_encoding(data)
    assert guess and not guess.is_sure
    with pytest.raises(UnreadableFileError, match="save it as UTF-8"):
        decode_text(data)


def test_bytes_of_no_text_have_no_encoding() -> None:
    assert detect_encoding(bytes(range(0x80, 0xA0)) * 4) is None


def test_a_name_beside_ascii_text_does_not_become_chinese() -> None:
    assert decode_text(OFFICES.encode("cp1252")) == OFFICES
