"""Wikidata as a source, over loopback: which thing is meant, what is stated of it, and where from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from research.core.errors import ServiceError
from research.core.events import ignore_event
from research.core.records import Finding, Task
from research.http.client import ServiceClient
from research.sources.wikidata.retriever import WikidataRetriever
from tests.servers.search import nowhere
from tests.servers.world import FakeWorld, day, entity, statement

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\u202e\x00[1](javascript:x)"
CENSUS = {"P854": "https://www.stat.example.jp/2020?x=1&y=2", "P248": "Q9002"}
KYOTO = entity(
    "Q34600",
    {"en": "Kyoto", "zh-hans": "京都市", "zh": "京都市"},
    aliases={"en": ["Kyoto City"], "zh": ["京都"]},
    claims={
        "P1082": [
            statement("P1082", ("+1474570", ""), qualifiers={"P585": day("+2010-10-01")}),
            statement(
                "P1082", ("+1463723", ""), qualifiers={"P585": day("+2020-10-01")},
                references=[CENSUS],
            ),
        ],
        "P2046": [statement("P2046", ("+827.83", "Q712226"))],
        "P17": [
            statement("P17", "Q188712", qualifiers={"P582": day("+1947-05-03")}),
            statement("P17", "Q17"),
        ],
        "P6": [
            statement("P6", "Q9003", rank="deprecated"),
            statement("P6", "Q9001", rank="preferred", qualifiers={"P580": day("+2024-02-25")}),
        ],
        "P571": [statement("P571", day("+0794-00-00", 9))],
        "P625": [statement("P625", {"latitude": 35.0117, "longitude": 135.7683, "globe": "http://www.wikidata.org/entity/Q2"})],
        "P190": [statement("P190", "Q9003")],
    },
)  # fmt: skip
THINGS = {
    "Q34600": KYOTO,
    "Q17": entity("Q17", {"en": "Japan", "zh": "日本"}),
    "Q188712": entity("Q188712", {"en": "Empire of Japan"}),
    "Q712226": entity("Q712226", {"en": "square kilometre", "zh-hans": "平方公里"}),
    "Q9001": entity("Q9001", {"en": "Koji Matsui", "zh": "松井孝治"}),
    "Q9002": entity("Q9002", {"en": "Population Census"}),
    "Q9003": entity("Q9003", {"en": "Somebody Else"}),
}
ARTICLES = {
    "en": [{"title": "Kyoto", "extract": "Kyoto is a city.", "item": "Q34600"}],
    "zh": [{"title": "京都市", "extract": "京都市人口。", "item": "Q34600"}],
}


@pytest.fixture
def world() -> Iterator[FakeWorld]:
    with FakeWorld(articles=ARTICLES, entities=THINGS) as fake:
        yield fake


@pytest.fixture
async def wikidata(world: FakeWorld) -> AsyncIterator[WikidataRetriever]:
    made = source(world)
    yield made
    await made.close()


def source(world: FakeWorld, *, timeout: float = 5.0, address: str = "", **more: Any) -> WikidataRetriever:
    wikis = {
        code: ServiceClient(f"{world.base_url}/wikipedia/{code}", timeout_seconds=timeout) for code in ("zh", "en")
    }
    client = ServiceClient(address or f"{world.base_url}/wikidata", timeout_seconds=timeout)
    return WikidataRetriever(
        client, wikis, **({"is_enabled": True, "timeout_seconds": 10.0, "clock": lambda: NOW} | more)
    )


async def asked(wikidata: WikidataRetriever, query: str) -> Finding:
    return await wikidata.search(Task(id="1.1", source="wikidata", query=query), ignore_event)


def told(finding: Finding) -> dict[str, str]:
    (item,) = finding.evidence
    return {passage.heading: passage.text for passage in item.passages}


async def test_what_is_asked_for_is_told_first_with_its_date_and_its_reference(
    wikidata: WikidataRetriever,
) -> None:
    finding = await asked(wikidata, "What is the population of Kyoto?")
    (item,) = finding.evidence
    assert (item.title, item.publisher) == ("Kyoto (Q34600)", "Wikidata, CC0")
    assert (item.url, item.kind, item.language) == (
        "https://www.wikidata.org/wiki/Q34600",
        "web",
        "en",
    )
    assert item.passages[0].text == (
        "Kyoto: population 1,463,723 (1 October 2020).\n"
        "Reference: https://www.stat.example.jp/2020?x=1&y=2; Population Census"
    )
    assert all(p.start == 0 and p.end == len(p.text) for p in item.passages)


async def test_each_kind_of_value_is_told_in_words(wikidata: WikidataRetriever) -> None:
    facts = told(await asked(wikidata, "Kyoto"))
    first = {name: text.splitlines()[0] for name, text in facts.items()}
    assert first["area"] == "Kyoto: area 827.83 square kilometres."
    assert first["country"] == "Kyoto: country Japan."  # the empire is over
    assert first["head of government"] == ("Kyoto: head of government Koji Matsui (since 25 February 2024).")
    assert first["founded or built"] == "Kyoto: founded or built 794."
    assert first["coordinates"] == "Kyoto: coordinates 35.0117° N, 135.7683° E."
    assert facts["area"].endswith("\nWikidata gives no reference for this.")
    assert "Somebody Else" not in " ".join(facts.values())


async def test_a_question_in_chinese_is_told_in_chinese(wikidata: WikidataRetriever, world: FakeWorld) -> None:
    facts = told(await asked(wikidata, "京都人口有多少？"))
    assert facts["人口"].startswith("京都市：人口 1,463,723（2020年10月1日）。\n出处：https://")
    assert facts["面积"].startswith("京都市：面积 827.83 平方公里。")
    assert facts["行政首长"].startswith("京都市：行政首长 松井孝治（自2024年2月25日起）。")
    assert world.of("wikipedia")[0].path.startswith("/wikipedia/zh/")


async def test_the_other_wiki_is_asked_where_that_of_the_language_finds_nothing(
    wikidata: WikidataRetriever, world: FakeWorld
) -> None:
    world.articles = {"en": ARTICLES["en"]}
    world.articles["en"][0] |= {"extract": "京都 人口"}
    assert (await asked(wikidata, "京都人口有多少？")).evidence
    assert [one.path.split("/")[2] for one in world.of("wikipedia")] == ["zh", "en"]


async def test_a_thing_of_which_no_name_stands_in_the_query_is_not_told_of(
    wikidata: WikidataRetriever, world: FakeWorld
) -> None:
    world.articles = {"en": [{"title": "Nara population", "extract": "", "item": "Q34600"}]}
    finding = await asked(wikidata, "population of Nara")
    assert (finding.evidence, finding.reason) == ((), "empty")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (("+8848.86", "Q11573"), ""),  # a unit of which nobody knows the name
        (("-10.5", ""), "-10.5"),
        (("+1e999999", ""), ""),
        (("many", ""), ""),
        (day("-0551-00-00", 9), "551 BC"),
        (day("+1889-03-31"), "31 March 1889"),
        (day("+1889-03-00", 10), "March 1889"),
        (day("+1889-13-45", 11), "1889"),
        (day("+1800-00-00", 7), ""),  # a century
        (day("+1616-04-23") | {"calendarmodel": "http://www.wikidata.org/entity/Q1985786"}, "1616"),
        ({"latitude": 91.0, "longitude": 0.0}, ""),
        ({"latitude": "x", "longitude": None}, ""),
        ({"latitude": 1.0, "longitude": 2.0, "globe": "http://www.wikidata.org/entity/Q111"}, ""),
        ("H₂O", "H₂O"),
        ("Q404", ""),  # a thing that is not there
    ],
)
async def test_a_value_is_told_or_left_out(
    wikidata: WikidataRetriever, world: FakeWorld, value: Any, shown: str
) -> None:
    thing = entity("Q1", {"en": "Thing"}, claims={"P2048": [statement("P2048", value)]})
    world.entities = {"Q1": thing}
    world.articles = {"en": [{"title": "Thing", "extract": "", "item": "Q1"}]}
    found = (await asked(wikidata, "Thing")).evidence
    lines = [p.text.splitlines()[0] for item in found for p in item.passages]
    assert lines == ([f"Thing: height {shown}."] if shown else [])


async def test_what_is_hostile_stays_text_and_only_web_addresses_are_references(
    wikidata: WikidataRetriever, world: FakeWorld
) -> None:
    references = [{"P854": "javascript:alert(1)"}, {"P854": "https://a.example/?q=" + "x" * 9}]
    claims = {"P225": [statement("P225", HOSTILE, references=references)]}
    world.entities = {"Q1": entity("Q1", {"en": f"Thing {HOSTILE}"}, aliases={"en": ["Thing"]}, claims=claims)}
    world.articles = {"en": [{"title": "Thing", "extract": "", "item": "Q1"}]}
    (item,) = (await asked(wikidata, "Thing")).evidence
    assert "\x00" not in item.title and "\u202e" not in item.title
    assert "Reference: https://a.example/?q=xxxxxxxxx" in item.passages[0].text
    assert "javascript:alert" not in item.passages[0].text


@pytest.mark.parametrize(
    "claims",
    [
        [], "x", {"P1082": "x"}, {"P1082": [None, 3, {}]}, {"P1082": [{"mainsnak": []}]},
        {"P1082": [{"mainsnak": {"snaktype": "somevalue"}}]},
        {"P1082": [{"mainsnak": {"snaktype": "value", "datavalue": {"type": "quantity", "value": []}}}]},
        {"P1082": [{"mainsnak": {"snaktype": "value", "datavalue": {"type": "time", "value": {}}}}]},
    ],
)  # fmt: skip
async def test_statements_of_another_form_are_left_out(
    wikidata: WikidataRetriever, world: FakeWorld, claims: Any
) -> None:
    world.entities = {"Q34600": KYOTO | {"claims": claims}}
    assert (await asked(wikidata, "Kyoto")).reason == "empty"


@pytest.mark.parametrize("service", ["wikipedia", "wikidata"])
@pytest.mark.parametrize(
    ("status", "reason"), [(403, "blocked"), (429, "quota"), (500, "unavailable"), (404, "refused")]
)
async def test_a_refusal_is_told_by_its_kind(
    wikidata: WikidataRetriever, world: FakeWorld, service: str, status: int, reason: str
) -> None:
    world.faulty, world.status = (service,), status
    with pytest.raises(ServiceError) as caught:
        await asked(wikidata, "Kyoto")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ratelimited", "quota"),
        ("maxlag", "unavailable"),
        ("blocked", "blocked"),
        ("param-missing", "refused"),
    ],
)
async def test_an_error_under_the_status_of_success_is_one(
    wikidata: WikidataRetriever, world: FakeWorld, code: str, reason: str
) -> None:
    world.faulty, world.error = ("wikidata",), {"code": code, "info": "as it says"}
    with pytest.raises(ServiceError, match="as it says") as caught:
        await asked(wikidata, "Kyoto")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("html", "malformed"), ("broken", "malformed"), ("list", "malformed"), ("empty", "malformed"),
     ("hangs", "timeout"), ("trickles", "timeout"), ("drops", "unreachable")],
)  # fmt: skip
async def test_a_fault_is_told_by_its_kind(world: FakeWorld, fault: str, reason: str) -> None:
    world.faulty, world.fault = ("wikidata",), fault
    made = source(world, timeout=0.5 if reason == "timeout" else 30)
    with pytest.raises(ServiceError) as caught:
        await asked(made, "Kyoto")
    await made.close()
    assert caught.value.reason == reason


async def test_one_that_is_not_there_is_unreachable(world: FakeWorld) -> None:
    made = source(world, address=nowhere())
    with pytest.raises(ServiceError) as caught:
        await asked(made, "Kyoto")
    await made.close()
    assert caught.value.reason == "unreachable"


async def test_it_is_asked_only_where_that_is_turned_on(world: FakeWorld) -> None:
    made = source(world, is_enabled=False)
    assert (made.readiness().state, made.readiness().detail) == ("missing", "SIGHTLINE_OPEN_SOURCES")
    with pytest.raises(ServiceError) as caught:
        await asked(made, "Kyoto")
    assert caught.value.reason == "no key" and world.log == []


async def test_what_is_put_into_words_here_is_marked_as_such(wikidata: WikidataRetriever) -> None:
    (item,) = (await asked(wikidata, "Kyoto")).evidence
    assert all(passage.generated for passage in item.passages)
