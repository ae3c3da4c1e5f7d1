"""What an outcome says in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.database.answer import told
from research.database.desk import DatabaseDesk
from research.records import silent


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("浙江省有多少个5A级景区？", "景区数量：浙江省：共 22。"),
        ("How many 5A scenic areas are there in Zhejiang?", "number of areas: 浙江省: 22."),
        ("离颐和园最近的3个景区", "离颐和园最近的 3 个：找到 3 行。依次为：圆明园"),
        ("1999年评定的景区有哪些？", "没有符合条件的行"),
        ("评分最高的景区", "没有读懂“评分最高”"),
        ("Which area is the loveliest?", "This needs a model: “loveliest” was not understood."),
        ("江苏有哪些5A景区？", "前 10 个："),
    ],
)
async def test_it_is_said_in_the_language_of_the_question(
    tmp_path: Path, question: str, words: str
) -> None:
    assert words in told(await DatabaseDesk("", tmp_path).ask(question, silent))


async def test_what_is_missing_is_named_with_how_many_rows_lack_it(tmp_path: Path) -> None:
    outcome = await DatabaseDesk("", tmp_path).ask("浙江景区的开放时间", silent)
    assert outcome.status == "partial"
    text = told(outcome)
    number = dict(outcome.missing)["opening_hours"]
    assert f"opening_hours（{number} 行）" in text
