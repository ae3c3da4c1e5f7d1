"""What is new, gone or changed between two sets of stories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from research.news.article import Article
from research.news.changes import carried, changes, matched
from research.news.stories import stories

DAY = datetime(2026, 11, 20, 8, tzinfo=UTC)
SLIDE = Article(title="四川某县山体滑坡致12人遇难", url="https://a.example/1", outlet="A", published=DAY)  # fmt: skip
LATER = Article(title="四川某县山体滑坡已致15人遇难", url="https://b.example/9", outlet="B", published=DAY + timedelta(days=1))  # fmt: skip
MUSEUM = Article(title="Museum in Oslo extends its opening hours", url="https://a.example/2", published=DAY)  # fmt: skip
GOLD = Article(title="Gold hits record high", url="https://a.example/3", published=DAY)


def test_new_gone_and_changed_are_told_apart() -> None:
    found = changes(stories([SLIDE, MUSEUM]), stories([LATER, GOLD]))
    assert [story.headline for story in found.new] == [GOLD.title]
    assert [story.headline for story in found.gone] == [MUSEUM.title]
    assert [story.headline for story in found.grown] == [LATER.title]
    (change,) = found.figures
    assert (change.before.text, change.after.text) == ("12人", "15人")


def test_what_lies_before_the_period_is_past_and_not_gone() -> None:
    found = changes(stories([MUSEUM]), stories([GOLD]), since=DAY + timedelta(hours=1))
    assert found.gone == ()
    assert [story.headline for story in found.past] == [MUSEUM.title]


def test_nothing_changes_between_equal_sets() -> None:
    told = stories([SLIDE, MUSEUM, GOLD])
    found = changes(told, told)
    assert (found.new, found.gone, found.grown, found.figures) == ((), (), (), ())
    assert all(before == after for before, after in found.kept)


def test_a_story_keeps_its_id_with_a_new_headline_and_an_earlier_piece() -> None:
    before = stories([LATER])
    after = stories([SLIDE, LATER])
    assert before[0].id != after[0].id
    assert carried(before, after)[0].id == before[0].id


def test_a_shared_address_is_the_same_story_whatever_it_is_called() -> None:
    renamed = MUSEUM.model_copy(update={"title": "Night opening: what visitors should know"})
    assert matched(stories([MUSEUM]), stories([renamed])) == {0: 0}


def test_an_equal_headline_weeks_later_is_another_story() -> None:
    later = GOLD.model_copy(
        update={"url": "https://a.example/4", "published": DAY + timedelta(days=20)}
    )
    assert matched(stories([GOLD]), stories([later])) == {}


def test_ids_stay_unique_when_a_story_splits() -> None:
    before = stories([SLIDE, LATER])
    after = stories([LATER, GOLD, MUSEUM, SLIDE.model_copy(update={"title": "Storm hits Peru"})])
    ids = [story.id for story in carried(before, after)]
    assert len(set(ids)) == len(ids)


def test_two_empty_sets_have_no_changes() -> None:
    assert changes((), ()).new == ()
