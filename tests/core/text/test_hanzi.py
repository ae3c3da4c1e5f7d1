"""Traditional and simplified characters are one where texts are compared."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from research.core.text.hanzi import to_simplified
from tests.simplified import FILE, pairs
from tests.tables import each_row

WRITTEN = FILE.read_text(encoding="utf-8")


@each_row(
    ("traditional", "expected"),
    [
        ("上海市門票高於50元的5A級景區有幾個", "上海市门票高于50元的5A级景区有几个"),
        ("臺灣與台灣，裏面和裡面，衛星與衞星", "台湾与台湾，里面和里面，卫星与卫星"),
        ("乾淨的餅乾", "干净的饼干"),
        ("著名", "著名"),  # 著 is 着 elsewhere: it hangs on the word
        ("已是简体，English too.", "已是简体，English too."),
    ],
)
def test_traditional_characters_and_variants_are_folded(traditional: str, expected: str) -> None:
    assert to_simplified(traditional) == expected


@given(st.text())
def test_folding_keeps_every_place_and_changes_nothing_twice(text: str) -> None:
    once = to_simplified(text)
    assert len(once) == len(text)
    assert to_simplified(once) == once


def test_the_table_is_opencc_s() -> None:
    folded = {one: word[0] for line in WRITTEN.splitlines() if line[0] != "#" for word in line.split() for one in word[1:]}  # fmt: skip
    assert folded.items() <= pairs().items()  # which may know more by now
    assert len(folded) > 4_000


def test_the_table_is_read_at_the_first_need() -> None:
    code = (
        "import research.core.text.tokenizer as text; from research.core.text import hanzi; "
        "assert not hanzi._load_table.cache_info().currsize; "
        "assert hanzi.to_simplified('萬') == '万' and hanzi._load_table.cache_info().currsize"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
