"""The Help page, the ways to its topics, and the tour that meets who is here for the first time."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pages.shared import help_topics, tour
from pages.shared.paths import ASSETS_FOLDER
from research import SUPPORT_ACCURACY, Run, RunOptions, get_application
from tests.catalogue import WORDS
from tests.pages.conftest import KEY
from tests.pages.visitor import Visitor, shown
from tests.servers.openai import FakeOpenAI
from tests.tables import each_row

Visit = Callable[..., Visitor]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def english(key: str, **values: object) -> str:
    return shown(WORDS[key][1].format(**values))


def topics(visitor: Visitor) -> list[str]:
    """The titles that are shown, in their order."""
    return [block.label for block in visitor.at.expander]


def opened(visitor: Visitor) -> list[str]:
    return [block.label for block in visitor.at.expander if block.proto.expanded]


# The page


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "at"), [("zh", 0), ("en", 1)])
def test_every_topic_is_told_in_the_visitor_s_language(visit: Visit, lang: str, at: int) -> None:
    visitor = visit("help", lang=lang)
    assert topics(visitor) == [WORDS[f"topic.{topic}"][at] for topic in help_topics.TOPICS]
    assert opened(visitor) == []
    for key in ("guide.citation", "meaning.differs", "leaves.never"):
        assert shown(WORDS[key][at]) in visitor.words


def test_a_topic_that_is_linked_to_stands_first_and_open(visit: Visit) -> None:
    visitor = visit("help", topic="support")
    assert opened(visitor) == topics(visitor)[:1] == [english("topic.support")]
    assert len(topics(visitor)) == len(help_topics.TOPICS)


def test_a_topic_that_there_is_not_harms_nothing(visit: Visit) -> None:
    assert len(topics(visit("help", topic="<script>"))) == len(help_topics.TOPICS)


def test_a_search_leaves_the_topics_that_have_every_word(visit: Visit) -> None:
    visitor = visit("help")
    visitor.at.text_input(key="help_search").set_value("ODbc GCJ-02")
    assert topics(visitor.look()) == []
    assert english("help.none") in visitor.words
    visitor.at.text_input(key="help_search").set_value("gcj-02 amap")
    assert topics(visitor.look()) == opened(visitor) == [english("topic.places")]


def test_what_is_wanted_is_found_in_either_language_and_in_pieces_of_a_chinese_phrase() -> None:
    assert "places" in help_topics.search_topics("坐标")
    assert "export" in help_topics.search_topics("怎样导出成文件")
    assert help_topics.search_topics("导出 PDF") == ("export",)
    assert help_topics.search_topics("zzz") == ()


@each_row(("wanted", "topic"), [("docx", "library"), ("额度用尽", "trouble"), ("unreachable", "trouble")])
def test_what_a_topic_takes_from_elsewhere_is_searched_with_it(wanted: str, topic: str) -> None:
    assert topic in help_topics.search_topics(wanted)
    for language in ("zh", "en"):
        assert "{" not in help_topics.topic_text(topic, language)  # type: ignore[arg-type]


def test_the_accuracy_is_the_one_that_was_measured(visit: Visit) -> None:
    shares = {
        f"{language}_{name}": round(100 * share)
        for language, measured in SUPPORT_ACCURACY.items()
        for name, share in measured.model_dump().items()
    }
    assert english("support.accuracy", **shares) in visit("help").words


def test_without_a_service_nothing_leaves_but_what_the_map_asks_for(visit: Visit) -> None:
    words = visit("help").words
    assert english("leaves.none").lstrip("- ") in words
    assert english("leaves.tiles").lstrip("- ") in words
    assert english("leaves.places") not in words
    assert "Nominatim" not in words


def test_without_tiles_the_map_asks_nobody(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAP_TILES", "off")
    words = visit("help").words
    assert "The ground of the map" not in words
    assert english("leaves.none").lstrip("- ") in words


@pytest.mark.parametrize(("key", "when"), [("", "always"), ("amap-sentinel", "abroad")])
def test_what_openstreetmap_is_sent_is_told_where_the_open_sources_are_on(
    visit: Visit, monkeypatch: pytest.MonkeyPatch, key: str, when: str
) -> None:
    monkeypatch.setenv("SIGHTLINE_OPEN_SOURCES", "on")
    monkeypatch.setenv("AMAP_MAPS_API_KEY", key)
    visitor = visit("help")
    assert english("leaves.osm", when=when) in visitor.words
    assert (english("leaves.places") in visitor.words) is bool(key)


def test_whoever_is_set_up_is_named_and_no_key_is_shown(
    visit: Visit, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-sentinel")
    monkeypatch.setenv("AMAP_MAPS_API_KEY", "amap-sentinel")
    words = visit("help").words
    assert "openai:gpt-fake" in words
    assert english("source.tavily") in words
    assert english("leaves.places") in words
    assert "Questions are answered here" not in words
    assert not [key for key in (KEY, "tvly-sentinel", "amap-sentinel") if key in words]


def test_a_small_link_leads_to_its_topic_in_the_language_that_was_chosen() -> None:
    from streamlit.testing.v1 import AppTest

    def page() -> None:
        import streamlit as st

        from pages.shared import help_topics
        from pages.shared.paths import page_script

        st.session_state.lang = "zh"
        st.navigation([st.Page(page_script("help"), url_path="help"), st.Page(lambda: help_topics.draw_topic_link("support"), url_path="x", default=True)])  # fmt: skip
        help_topics.draw_topic_link("support")

    at = AppTest.from_function(page).run()
    assert not at.exception
    (link,) = at.get("page_link")
    assert link.proto.page == "help"
    assert sorted(link.proto.query_string.split("&")) == ["lang=zh", "topic=support"]


# The tour


def test_who_is_new_is_met_by_the_tour_once(visit: Visit) -> None:
    visitor = visit(new=True)
    assert english("tour.ask_text") in visitor.words
    assert english("ask.keyless") in visitor.words
    assert get_application().store.preferences("local")[tour.PREFERENCE_NAME]
    assert "tour_next" not in visit(new=True).buttons


def test_the_tour_goes_on_back_and_to_its_end(visit: Visit) -> None:
    visitor = visit(new=True)
    seen = []
    for _ in tour.STEPS[1:]:
        visitor.press("tour_next")
        seen += [step for step in tour.STEPS if english(f"tour.{step}_text") in visitor.words]
    assert seen == [*tour.STEPS[1:]]
    assert "5/5" in visitor.words
    assert "4/5" in visitor.press("tour_back").words
    visitor.press("tour_next").press("tour_next")
    assert "5/5" not in visitor.words
    assert "start" in visitor.buttons


def test_the_tour_can_be_skipped_and_shown_again_from_the_help(visit: Visit) -> None:
    visitor = visit(new=True).press("tour_skip")
    assert "tour_next" not in visitor.buttons
    visitor.go("help").press("show_tour")
    assert english("tour.ask_text") in visitor.words


@pytest.mark.slow
@pytest.mark.parametrize(("page", "query"), [("", {"run": "somebody-s"}), ("library", {}), ("help", {"topic": "what"})])
def test_who_follows_a_link_is_not_met_by_the_tour(visit: Visit, page: str, query: dict[str, str]) -> None:
    visitor = visit(page, new=True, **query)
    assert "tour_next" not in visitor.buttons
    assert "tour_next" not in visitor.go("ask").buttons
    assert tour.PREFERENCE_NAME not in get_application().store.preferences("local")


def test_who_has_asked_before_is_not_met_by_the_tour(visit: Visit) -> None:
    run = Run(id="r", conversation="r", owner="local", question="?", options=RunOptions(), status="done", created=NOW)  # fmt: skip
    get_application().runs.store.add_run(run, None, "")
    assert "tour_next" not in visit(new=True).buttons


@each_row("step", tour.STEPS)
def test_each_step_has_a_light_picture_that_asks_nobody_for_anything(step: str) -> None:
    picture = Path(ASSETS_FOLDER / "tour" / f"{step}.svg")
    text = picture.read_text("utf-8")
    assert len(text) < 4000
    assert ElementTree.fromstring(text).tag.endswith("svg")  # noqa: S314 - our own
    assert "href" not in text and "<script" not in text and "url(" not in text
