"""Where outlets give different figures of one thing, and where they only seem to."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from research.sources.news.article import Article
from research.sources.news.stories import StoryCluster
from research.sources.news.story_figures import StoryConflict, find_conflicts
from tests.tables import each_row


def between(*texts: str) -> tuple[StoryConflict, ...]:
    items = tuple(Article(title=text, outlet=f"outlet {n}") for n, text in enumerate(texts))
    return find_conflicts(StoryCluster(id="s", headline=texts[0], articles=items))


@each_row(
    ("one", "other", "texts"),
    [
        ("山体滑坡致12人遇难", "山体滑坡造成15人死亡", ("12人", "15人")),
        (
            "Landslide leaves 12 people killed",
            "Landslide: 15 people dead",
            ("12 people", "15 people"),
        ),
        ("事故致三十五人受伤", "事故造成38人受伤", ("三十五人", "38人")),
        ("10月出口同比上涨3.2%", "10月出口同比上涨3.5%", ("3.2%", "3.5%")),
        ("Factory output rose 3.2%", "Factory output rose 3.5%", ("3.2%", "3.5%")),
        ("景区接待游客430万人次", "景区接待游客4.6百万人次", ("430万人次", "4.6百万人次")),
        ("Strike: 38 ships waiting", "41 ships waiting outside port", ("38", "41")),
        ("火灾造成14人死亡", "Fire kills 17 people", ("14人", "17 people")),
    ],
)
def test_two_figures_of_one_thing_are_a_conflict(one: str, other: str, texts: tuple[str, str]) -> None:
    (found,) = between(one, other)
    assert tuple(figure.text for figure in found.figures) == texts
    assert {figure.outlet for figure in found.figures} == {"outlet 0", "outlet 1"}


@each_row(
    ("one", "other"),
    [
        ("山体滑坡致12人遇难", "山体滑坡致15人受伤"),
        ("Landslide: 12 killed", "Landslide: 15 injured"),
        ("Company raised 12 million dollars", "Company raised 12.3 million dollars"),
        ("超100人死亡", "104人死亡"),
        ("出口增长3.2%", "进口下降3.5%"),
        ("10月出口同比上涨3.2%", "9月出口同比上涨3.5%"),
        ("10月出口同比上涨3.2%", "10月出口环比上涨3.5%"),
        ("此前通报12人遇难", "15人遇难"),
        ("Toll was earlier given as 12 dead", "15 dead"),
        ("11月20日开园", "11月21日开园"),
        ("12人遇难", "十二人遇难"),
        ("Thirty-two people killed in ferry fire", "32 people killed in ferry fire"),
        ("Firm pays A$5 million", "Firm pays 5 million Australian dollars"),
        ("12", "15"),
        ("Board rejects offer of 4.5%", "New offer is 6%"),
        (
            "远航物流三季度营收同比增长12.5%",
            "Pelham Steel said quarterly sales grew 3% on the year",
        ),
        ("远航物流三季度营收同比增长12.5%", "云杉软件三季度营收同比增长7.8%"),
        ("Dunmore Foods said sales rose 8%", "Pelham Steel said sales rose 3%"),
        ("Strike grounds 310 flights on Monday", "Strike grounds 180 flights on Tuesday"),
    ],
)
def test_other_things_rounding_and_earlier_figures_are_no_conflict(one: str, other: str) -> None:
    assert between(one, other) == ()


def test_figures_of_both_scripts_are_compared_and_shown_as_they_are_written() -> None:
    (found,) = between("山体滑坡致12人遇难", "山體滑坡造成15人死亡，GDP受影響")
    assert [figure.clause for figure in found.figures] == [
        "山体滑坡致12人遇难",
        "山體滑坡造成15人死亡，GDP受影響",
    ]
    (money,) = between("某集團營收達120億元，同比上漲3%", "某集团营收达150亿元，同比上涨3%")
    assert [figure.text for figure in money.figures] == ["120億元", "150亿元"]


def test_one_outlet_alone_makes_no_conflict() -> None:
    assert between("山体滑坡致12人遇难") == ()
    items = tuple(Article(title=f"山体滑坡致{n}人遇难", outlet="A") for n in (12, 15))
    assert find_conflicts(StoryCluster(id="s", headline="", articles=items)) == ()


@settings(deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_texts_are_compared_without_an_error(one: str, other: str) -> None:
    between(one, other)
    assert between(one, one) == ()
