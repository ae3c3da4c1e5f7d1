"""Which stories are kept, and what is new, gone or changed in a later report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from research.core.records import Evidence, NewsCoverage, Passage, Report, Run, RunOptions, StoryChange
from research.sources.news.article import Article
from research.sources.news.coverage import add_changes, build_coverage
from research.sources.news.stories import cluster_articles
from research.sources.news.story_matching import match_stories

DAY = datetime(2026, 11, 20, 8, tzinfo=UTC)
RUN = Run(id="r", conversation="c", owner="o", question="q", options=RunOptions(), status="done", created=DAY)


def piece(title: str, url: str, outlet: str = "A", at: datetime = DAY) -> Evidence:
    return Evidence(
        id=url, kind="news", title=title, publisher=outlet, url=f"https://{url}", retrieved=DAY, published=at.date(),
        published_at=at, passages=(Passage(id=url, text=title, end=len(title)),),
    )  # fmt: skip


SLIDE = piece("四川某县山体滑坡致12人遇难", "a.example/1")
LATER = piece("四川某县山体滑坡已致15人遇难", "b.example/9", "B", DAY + timedelta(days=1))
MUSEUM = piece("Museum in Oslo extends its opening hours", "a.example/2")
GOLD = piece("Gold hits record high", "a.example/3")


def changed(before: list[Evidence], now: list[Evidence]) -> dict[str, list[StoryChange]]:
    """What has changed, by its kind: all that there was is known, and expected to be found again."""
    coverage = build_coverage([*before, *now], DAY) or NewsCoverage(as_of=DAY.date())
    known = {item.id for item in before}
    report = Report(run=RUN, evidence=tuple(before))
    found: dict[str, list[StoryChange]] = {}
    for change in add_changes(coverage, report, now, known, frozenset(known)).changes:
        found.setdefault(change.kind, []).append(change)
    return found


def test_new_gone_grown_and_changed_are_told_apart() -> None:
    found = changed([SLIDE, MUSEUM], [LATER, GOLD])
    assert [(c.headline, c.evidence) for c in found["new"]] == [(GOLD.title, (GOLD.id,))]
    assert [(c.headline, c.evidence) for c in found["gone"]] == [(MUSEUM.title, (MUSEUM.id,))]
    assert [(c.headline, c.evidence) for c in found["grown"]] == [(LATER.title, (LATER.id,))]
    (figure,) = found["figure"]
    assert figure.before and figure.after
    assert (figure.before.text, figure.before.outlet, figure.before.evidence) == (
        "12人",
        "A",
        SLIDE.id,
    )
    assert (figure.after.text, figure.after.outlet, figure.after.evidence) == (
        "15人",
        "B",
        LATER.id,
    )


def test_nothing_changes_between_equal_sets() -> None:
    assert changed([SLIDE, MUSEUM, GOLD], [SLIDE, MUSEUM, GOLD]) == {}
    assert changed([], []) == {}


def article(item: Evidence, **update: object) -> Article:
    made = Article(url=item.url, title=item.title, outlet=item.publisher, published=item.published_at)
    return made.model_copy(update=update)


def test_a_shared_address_is_the_same_story_whatever_it_is_called() -> None:
    renamed = article(MUSEUM, title="Night opening: what visitors should know")
    assert match_stories(cluster_articles([article(MUSEUM)]), cluster_articles([renamed])) == {0: 0}


def test_another_piece_on_the_event_is_of_the_same_story() -> None:
    other = article(MUSEUM, url="https://c.example/7", title="Oslo museum extends opening hours")
    assert match_stories(cluster_articles([article(MUSEUM)]), cluster_articles([other, article(GOLD)])) in (
        {0: 0},
        {0: 1},
    )
    assert match_stories(cluster_articles([article(MUSEUM)]), cluster_articles([article(GOLD)])) == {}


def test_an_equal_headline_weeks_later_is_another_story() -> None:
    later = article(GOLD, url="https://a.example/4", published=DAY + timedelta(days=20))
    assert match_stories(cluster_articles([article(GOLD)]), cluster_articles([later])) == {}


def test_a_story_that_splits_is_kept_once() -> None:
    before = cluster_articles([article(SLIDE), article(LATER)])
    split = article(SLIDE, title="Storm hits Peru")
    after = cluster_articles([article(LATER), article(GOLD), article(MUSEUM), split])
    assert len(before) == len(match_stories(before, after)) == 1
