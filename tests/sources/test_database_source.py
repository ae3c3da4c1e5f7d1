"""A database as a source: rows with their statement are evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from research.database.desk import DatabaseDesk
from research.records import Finding, Task, silent
from research.sources.database import DatabaseSource
from research.trouble import Trouble


@pytest.fixture
def source(tmp_path: Path) -> DatabaseSource:
    return DatabaseSource(DatabaseDesk("", tmp_path))


async def found(source: DatabaseSource, question: str) -> Finding:
    return await source.search(Task(id="1.1", source="database", query=question), silent)


async def test_rows_are_passages_and_the_statement_is_where_they_are_from(
    source: DatabaseSource,
) -> None:
    finding = await found(source, "离颐和园最近的3个景区")
    (item,) = finding.evidence
    assert (item.kind, item.publisher) == ("database", "scenic areas")
    assert item.locator == finding.asked[0] and item.locator.startswith("SELECT")
    assert item.passages[0].text == "rows: 3"
    assert len(item.passages) == 4
    assert "圆明园" in item.passages[1].text and "km: " in item.passages[1].text


async def test_the_same_statement_is_the_same_evidence(source: DatabaseSource) -> None:
    one, other = [await found(source, "浙江省有多少个5A级景区？") for _ in range(2)]
    assert one.evidence[0].id == other.evidence[0].id
    assert one.evidence[0].passages == other.evidence[0].passages


async def test_what_is_not_known_is_said_to_be_missing(source: DatabaseSource) -> None:
    finding = await found(source, "故宫博物院的开放时间和官网")
    assert finding.reason is None
    assert "None" not in finding.evidence[0].passages[1].text


async def test_nothing_found_is_no_failure(source: DatabaseSource) -> None:
    finding = await found(source, "1999年评定的景区有哪些")
    assert (finding.reason, finding.evidence) == ("empty", ())


async def test_what_the_rules_do_not_know_is_asked_back(source: DatabaseSource) -> None:
    with pytest.raises(Trouble) as caught:
        await found(source, "评分最高的景区")
    assert caught.value.reason == "unclear"
    assert "评分最高" in caught.value.message


def test_it_says_what_it_can_do(source: DatabaseSource) -> None:
    assert source.ready().state == "offline"
