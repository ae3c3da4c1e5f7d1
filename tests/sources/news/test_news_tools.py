from datetime import UTC, date, datetime, timedelta

from research.core.records import Task, fingerprint
from research.sources.news.notes import joined
from research.sources.news.tools import BASIC, TOOLS, Request, chosen
from tests.tables import each_row

TODAY = date(2026, 11, 21)
NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
BY_DATE = "search_news_by_date"


def test_there_are_six_tools_and_each_looks_for_news():
    assert [(tool.name, tool.results) for tool in TOOLS.values()] == [
        ("basic_search_news", 7),
        ("deep_search_news", 20),
        ("search_news_last_24_hours", 10),
        ("search_news_last_week", 10),
        ("search_images_for_news", 5),
        ("search_news_by_date", 15),
    ]
    assert {Request(tool).parameters["topic"] for tool in TOOLS.values()} == {"news"}


@each_row("name", [name for name in TOOLS if name != BY_DATE])
def test_a_tool_that_is_named_is_the_one_that_is_used(name):
    choice = chosen(f" {name} ", None, None, TODAY)
    assert (choice.request, choice.notes, choice.fault) == (Request(TOOLS[name]), (), None)


def test_no_name_is_the_basic_tool():
    assert chosen("", None, None, TODAY).request.tool.name == BASIC


def test_the_basic_tool_by_its_name_is_the_search_that_names_none():
    usual = Task(id="1.1", source="news", query="降准")
    named = usual.model_copy(update={"tool": BASIC})
    assert named.key == usual.key == fingerprint("news", "降准")
    day = {"start": TODAY, "end": TODAY}  # which the basic tool does not use
    assert named.model_copy(update=day).key == usual.model_copy(update=day).key
    others = [usual.model_copy(update={"tool": name}).key for name in TOOLS if name != BASIC]
    assert len({usual.key, *others}) == len(TOOLS)


def test_two_days_arrive_as_they_are():
    choice = chosen(BY_DATE, date(2026, 11, 1), date(2026, 11, 3), TODAY)
    assert choice.request.parameters == {
        "topic": "news",
        "max_results": 15,
        "start_date": "2026-11-01",
        "end_date": "2026-11-03",
    }
    assert (choice.notes, choice.fault) == ((), None)


def test_days_in_the_wrong_order_are_swapped_and_that_is_said():
    choice = chosen(BY_DATE, date(2026, 11, 3), date(2026, 11, 1), TODAY)
    assert (choice.request.start, choice.request.end) == (date(2026, 11, 1), date(2026, 11, 3))
    assert "2026-11-01 to 2026-11-03" in joined(choice.notes, "en")


def test_a_last_day_that_is_still_to_come_is_today_and_that_is_said():
    choice = chosen(BY_DATE, date(2026, 11, 20), date(2026, 12, 24), TODAY)
    assert (choice.request.start, choice.request.end) == (date(2026, 11, 20), TODAY)
    assert "2026-12-24 is in the future" in joined(choice.notes, "en")


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
    choice = chosen(tool, start, end, TODAY)
    assert choice.request == Request(TOOLS[BASIC])
    assert choice.fault
    assert said in choice.fault.said("en")
    assert choice.fault.said("en").endswith(f"{BASIC} was used instead")
    assert choice.fault.said("zh").endswith(f"，已改用 {BASIC}")


def test_days_that_a_tool_does_not_take_are_left_out_and_that_is_said():
    choice = chosen("search_news_last_week", date(2026, 11, 1), None, TODAY)
    assert choice.request == Request(TOOLS["search_news_last_week"])
    assert "does not search by date" in joined(choice.notes, "en")


def test_a_wrong_name_is_repeated_no_longer_than_it_has_to_be():
    fault = chosen("x" * 10_000, None, None, TODAY).fault
    assert fault and len(fault.said("en")) < 200


def test_each_tool_has_its_own_window():
    windows = {name: Request(tool).window(NOW) for name, tool in TOOLS.items()}
    assert {name for name, window in windows.items() if window} == {
        "search_news_last_24_hours",
        "search_news_last_week",
    }
    assert windows["search_news_last_24_hours"].since == NOW - timedelta(days=1)
    assert windows["search_news_last_week"].since == NOW - timedelta(days=7)
    dated = Request(TOOLS[BY_DATE], date(2026, 11, 1), date(2026, 11, 3)).window(NOW)
    assert dated.since == datetime(2026, 11, 1, tzinfo=UTC)
    assert dated.until == datetime(2026, 11, 4, tzinfo=UTC)
