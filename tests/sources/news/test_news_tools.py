from datetime import UTC, date, datetime, timedelta

from research.core.records import Task, fingerprint
from research.sources.news.notes import join_notes
from research.sources.news.search_tools import BASIC_TOOL, NEWS_TOOLS, NewsRequest, choose_tool
from tests.tables import each_row

TODAY = date(2026, 11, 21)
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
BY_DATE = "search_news_by_date"


def test_there_are_six_tools_and_each_looks_for_news():
    assert [(tool.name, tool.max_results) for tool in NEWS_TOOLS.values()] == [
        ("basic_search_news", 7),
        ("deep_search_news", 20),
        ("search_news_last_24_hours", 10),
        ("search_news_last_week", 10),
        ("search_images_for_news", 5),
        ("search_news_by_date", 15),
    ]
    assert {NewsRequest(tool).tavily_parameters["topic"] for tool in NEWS_TOOLS.values()} == {"news"}


@each_row("name", [name for name in NEWS_TOOLS if name != BY_DATE])
def test_a_tool_that_is_named_is_the_one_that_is_used(name):
    choice = choose_tool(f" {name} ", None, None, TODAY)
    assert (choice.request, choice.notes, choice.error_note) == (NewsRequest(NEWS_TOOLS[name]), (), None)


def test_no_name_is_the_basic_tool():
    assert choose_tool("", None, None, TODAY).request.tool.name == BASIC_TOOL


def test_the_basic_tool_by_its_name_is_the_search_that_names_none():
    usual = Task(id="1.1", source="news", query="降准")
    named = usual.model_copy(update={"tool": BASIC_TOOL})
    assert named.key == usual.key == fingerprint("news", "降准")
    day = {"start": TODAY, "end": TODAY}  # which the basic tool does not use
    assert named.model_copy(update=day).key == usual.model_copy(update=day).key
    others = [usual.model_copy(update={"tool": name}).key for name in NEWS_TOOLS if name != BASIC_TOOL]
    assert len({usual.key, *others}) == len(NEWS_TOOLS)


def test_two_days_arrive_as_they_are():
    choice = choose_tool(BY_DATE, date(2026, 11, 1), date(2026, 11, 3), TODAY)
    assert choice.request.tavily_parameters == {
        "topic": "news",
        "max_results": 15,
        "start_date": "2026-11-01",
        "end_date": "2026-11-03",
    }
    assert (choice.notes, choice.error_note) == ((), None)


def test_days_in_the_wrong_order_are_swapped_and_that_is_said():
    choice = choose_tool(BY_DATE, date(2026, 11, 3), date(2026, 11, 1), TODAY)
    assert (choice.request.start_date, choice.request.end_date) == (date(2026, 11, 1), date(2026, 11, 3))
    assert "2026-11-01 to 2026-11-03" in join_notes(choice.notes, "en")


def test_a_last_day_that_is_still_to_come_is_today_and_that_is_said():
    choice = choose_tool(BY_DATE, date(2026, 11, 20), date(2026, 12, 24), TODAY)
    assert (choice.request.start_date, choice.request.end_date) == (date(2026, 11, 20), TODAY)
    assert "2026-12-24 is in the future" in join_notes(choice.notes, "en")


@each_row(
    ("tool", "start", "end", "said"),
    [
        ("search_everything", None, None, "there is no tool 'search_everything'"),
        (BY_DATE, None, None, "needs a start date and an end date"),
        (BY_DATE, date(2026, 11, 1), None, "needs a start date and an end date"),
        (BY_DATE, None, date(2026, 11, 1), "needs a start date and an end date"),
        (BY_DATE, date(2026, 12, 1), date(2026, 12, 2), "2026-12-01, is in the future"),
    ],
)
def test_what_makes_no_request_falls_back_to_the_basic_tool_and_says_why(tool, start, end, said):
    choice = choose_tool(tool, start, end, TODAY)
    assert choice.request == NewsRequest(NEWS_TOOLS[BASIC_TOOL])
    assert choice.error_note
    assert said in choice.error_note.render("en")
    assert choice.error_note.render("en").endswith(f"{BASIC_TOOL} was used instead")
    assert choice.error_note.render("zh").endswith(f"，已改用 {BASIC_TOOL}")


def test_days_that_a_tool_does_not_take_are_left_out_and_that_is_said():
    choice = choose_tool("search_news_last_week", date(2026, 11, 1), None, TODAY)
    assert choice.request == NewsRequest(NEWS_TOOLS["search_news_last_week"])
    assert "does not search by date" in join_notes(choice.notes, "en")


def test_a_wrong_name_is_repeated_no_longer_than_it_has_to_be():
    fault = choose_tool("x" * 10_000, None, None, TODAY).error_note
    assert fault and len(fault.render("en")) < 200


def test_each_tool_has_its_own_window():
    windows = {name: NewsRequest(tool).time_window(NOW) for name, tool in NEWS_TOOLS.items()}
    assert {name for name, window in windows.items() if window} == {
        "search_news_last_24_hours",
        "search_news_last_week",
    }
    assert windows["search_news_last_24_hours"].start == NOW - timedelta(days=1)
    assert windows["search_news_last_week"].start == NOW - timedelta(days=7)
    dated = NewsRequest(NEWS_TOOLS[BY_DATE], date(2026, 11, 1), date(2026, 11, 3)).time_window(NOW)
    assert dated.start == datetime(2026, 11, 1, tzinfo=UTC)
    assert dated.end == datetime(2026, 11, 4, tzinfo=UTC)
