"""A database as a source: rows with their statement are evidence."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from research.citations.judge import judge_claim
from research.core.events import ignore_event
from research.core.records import Finding, Task
from research.core.text.sentences import split_sentences
from research.sources.database.retriever import SQL_TOOL, DatabaseRetriever
from research.sources.database.service import DatabaseService


@pytest.fixture
def source(tmp_path: Path) -> DatabaseRetriever:
    return DatabaseRetriever(DatabaseService("", tmp_path))


async def found(source: DatabaseRetriever, question: str) -> Finding:
    return await source.search(Task(id="1.1", source="database", query=question), ignore_event)


async def test_rows_are_passages_and_the_statement_is_where_they_are_from(
    source: DatabaseRetriever,
) -> None:
    finding = await found(source, "离颐和园最近的3个景区")
    statement, *spots = finding.evidence
    assert (statement.kind, statement.publisher) == ("database", "scenic areas")
    assert statement.locator == finding.provider_queries[0] and statement.locator.startswith("SELECT")
    assert statement.passages[0].text == "rows: 3; lng_wgs84 known: 356 of 357 rows"
    assert len(spots) == 3
    first = spots[0]
    assert "圆明园" in first.passages[0].text and "km: " in first.passages[0].text
    assert first.place is not None and 116.2 < first.place.lng < 116.4 and 39.9 < first.place.lat < 40.1
    assert first.locator == "scenic areas · 圆明园景区 · gid 1108"


async def test_the_answer_in_words_cites_the_rows(source: DatabaseRetriever) -> None:
    finding = await found(source, "离颐和园最近的3个景区")
    span = finding.summary[0]
    assert span.text.startswith("离颐和园最近的 3 个 5A 级景区：圆明园景区（")
    assert {one.references[0].evidence for one in finding.summary} == {finding.evidence[0].id}


@pytest.mark.parametrize(
    "question",
    [
        "上海市门票高于50元的5A级景区有几个",
        "How many 5A areas in Shanghai have tickets over 50 yuan?",
        "按门票从高到低列出上海的景区",
        "浙江省有多少个5A级景区？",
        "浙江省有哪些5A级景区？",
        "Which 5A areas in Zhejiang have tickets over 100 yuan?",
    ],
)
async def test_each_sentence_in_words_cites_where_its_figures_stand(source: DatabaseRetriever, question: str) -> None:
    finding = await found(source, question)
    passages = {(e.id, p.id): p.text for e in finding.evidence for p in e.passages}
    assert finding.summary
    for span in finding.summary:
        cited = [passages[cite.evidence, cite.passage] for cite in span.references]
        assert cited and judge_claim(span.text, cited).status != "differs"
        assert len(split_sentences(span.text)) == 1, span.text


async def test_the_same_statement_is_the_same_evidence(source: DatabaseRetriever) -> None:
    one, other = [await found(source, "浙江省有多少个5A级景区？") for _ in range(2)]
    assert one.evidence[0].id == other.evidence[0].id
    assert one.evidence[0].passages == other.evidence[0].passages


async def test_what_is_not_known_is_said_to_be_missing(source: DatabaseRetriever) -> None:
    finding = await found(source, "故宫博物院的开放时间和官网")
    assert finding.reason is None
    assert "None" not in finding.evidence[0].passages[1].text


async def test_nothing_found_is_no_failure(source: DatabaseRetriever) -> None:
    finding = await found(source, "1999年评定的景区有哪些")
    assert (finding.reason, finding.evidence) == ("empty", ())


async def test_what_the_rules_do_not_know_is_asked_back(source: DatabaseRetriever) -> None:
    finding = await found(source, "评分最高的景区")
    assert (finding.reason, finding.evidence, finding.rows) == ("unclear", (), None)
    assert "评分最高" in finding.message


async def shop(folder: Path) -> DatabaseRetriever:
    """A source over a database of somebody's own, whose tables have other names."""
    path = folder / "shop.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            """
            create table branch(id integer primary key, shop_name text, lng real, lat real);
            create table sale(gid integer, branch_id integer, amount real);
            insert into branch values (1,'湖滨店',120.16,30.25),(2,'West "End"',120.1,30.2),(3,'?',999,30);
            insert into sale values (7,1,5.5),(7,1,6.5),(7,2,1.0),(8,3,2.0);
            """
        )
    return DatabaseRetriever(DatabaseService(f"sqlite:///{path}", folder, title="shop"))


async def run(source: DatabaseRetriever, sql: str) -> Finding:
    return await source.search(Task(id="1", source="database", query=sql, tool=SQL_TOOL), ignore_event)


async def test_rows_of_other_tables_have_places_and_evidence_of_their_own(tmp_path: Path) -> None:
    source = await shop(tmp_path)
    sql = "SELECT s.gid, b.shop_name, b.lng, b.lat, s.amount FROM sale s JOIN branch b ON b.id = s.branch_id ORDER BY s.amount"
    finding = await run(source, sql)
    statement, *spots = finding.evidence
    assert [spot.title for spot in spots] == ['West "End"', "湖滨店", "湖滨店"]
    assert len({item.id for item in finding.evidence}) == 4
    assert all(spot.publisher == "shop" and spot.locator.startswith("shop · ") for spot in spots)
    assert all("SELECT" not in spot.locator for spot in spots)
    assert "?" in statement.passages[1].text  # a row beyond the earth is no place
    assert [item.id for item in (await run(source, sql)).evidence] == [i.id for i in finding.evidence]


async def test_the_same_number_in_another_statement_is_another_thing(tmp_path: Path) -> None:
    source = await shop(tmp_path)
    one = await run(source, "SELECT id AS gid, 'x' AS name, lng, lat FROM branch WHERE id = 1")
    other = await run(
        source,
        "SELECT branch_id AS gid, 'x' AS name, 1.0 AS lng, 2.0 AS lat FROM sale WHERE amount = 5.5",
    )
    assert one.evidence[1].id != other.evidence[1].id


async def test_a_thing_that_a_join_tells_twice_is_two_pieces_of_evidence(
    source: DatabaseRetriever,
) -> None:
    sql = "SELECT s.gid, s.name, s.lng_wgs84, s.lat_wgs84, o.gid AS other FROM a_sight s CROSS JOIN a_sight o WHERE s.gid = 1101 AND o.gid < 1104"
    ids = [item.id for item in (await run(source, sql)).evidence]
    assert len(ids) == len(set(ids)) == 4


async def test_a_statement_that_is_refused_is_blocked(source: DatabaseRetriever) -> None:
    finding = await run(source, "DELETE FROM a_sight")
    assert (finding.reason, finding.evidence) == ("refused", ())
    assert finding.message.startswith("No statement could be run: ")


def test_it_says_what_it_can_do(source: DatabaseRetriever) -> None:
    assert source.readiness().state == "offline"


async def test_a_name_in_the_answer_is_no_markdown(tmp_path: Path) -> None:
    path, evil = tmp_path / "shop.db", "![x](https://evil.example/p.png) **b** <i>"
    with closing(sqlite3.connect(path)) as db:
        db.execute("create table goods(id integer primary key, name text)")
        db.execute("insert into goods values(1, ?)", (evil,))
        db.commit()
    source = DatabaseRetriever(DatabaseService(f"sqlite:///{path}", tmp_path, title="shop"))
    task = Task(id="1", source="database", query="SELECT id, name FROM goods", tool="sql")
    (span,) = (await source.search(task, ignore_event)).summary
    tokens = MarkdownIt("commonmark").parseInline(span.text)[0].children or []
    assert {token.type for token in tokens} <= {"text", "text_special"}
    assert evil in "".join(token.content for token in tokens)
