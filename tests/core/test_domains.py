"""Lists of domains: read, and applied to what a search has found before anything of it is read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from research.core import settings
from research.core.domains import domain_status, merge_domain_lists, parse_domain_list
from research.core.events import ignore_event
from research.core.i18n import message
from research.core.records import Evidence, Language, Passage, Readiness, Task
from research.core.settings import SettingError
from research.sources.domain_ranking import apply_domain_rules
from research.sources.web.provider import SearchResult
from research.sources.web.retriever import WebRetriever
from tests.tables import each_row

NOW = datetime(2026, 11, 25, tzinfo=UTC)
LIST = """
prefer gov.cn            # the state's own
warn tabloid.example; avoid content-farm.example
avoid 例子.测试
prefer good.content-farm.example
"""


@each_row(
    ("url", "said"),
    [
        ("https://www.gov.cn/a", "prefer"),
        ("https://mct.gov.cn", "prefer"),
        ("https://notgov.cn", None),
        ("http://TABLOID.example:8080/x", "warn"),
        ("https://a.b.content-farm.example/x", "avoid"),
        ("https://www.good.content-farm.example", "prefer"),
        ("https://xn--fsqu00a.xn--0zwm56d/x", "avoid"),
        ("https://[broken", None),
        ("", None),
    ],
)
def test_a_domain_stands_for_all_below_it_and_the_longest_counts(url: str, said: str | None) -> None:
    assert domain_status(url, parse_domain_list(LIST)) == said


@each_row("language", ["zh", "en"])
def test_the_example_on_the_settings_page_is_a_list(language: Language) -> None:
    assert [*parse_domain_list(message("settings.domains_example", language)).values()] == ["prefer", "avoid", "warn"]  # fmt: skip


def test_of_two_lists_the_later_counts() -> None:
    assert merge_domain_lists(["avoid a.example", "prefer a.example"]) == {"a.example": "prefer"}


@each_row("text", ["like gov.cn", "prefer", "prefer https://gov.cn", "avoid a.example b.example", "warn localhost"])  # fmt: skip
def test_an_entry_that_is_none_is_named(text: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="SIGHTLINE_DOMAINS"):
        settings.load_settings({"SIGHTLINE_DOMAINS": text}, data_dir=tmp_path)
    file = tmp_path / "domains.txt"
    file.write_text(f"# ours\n{text}\n", encoding="utf-8")
    with pytest.raises(SettingError, match=r"domains\.txt"):
        settings.load_settings({}, data_dir=tmp_path)
    file.unlink()


def test_the_desk_has_a_file_and_a_person_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "domains.txt").write_text("avoid a.example\nwarn b.example", encoding="utf-8")
    desk = settings.load_settings({}, data_dir=tmp_path)
    mine = settings.apply_choices(desk, {"SIGHTLINE_DOMAINS": "prefer a.example"})
    assert desk.domain_statuses == {"a.example": "avoid", "b.example": "warn"}
    assert mine.domain_statuses == {"a.example": "prefer", "b.example": "warn"}


def item(host: str) -> Evidence:
    url = f"https://{host}/page"
    passage = Passage(id=host, text=f"Said by {host}.", end=9)
    return Evidence(id=host, kind="web", title=host, url=url, retrieved=NOW, passages=(passage,))


class Provided:
    def __init__(self, *, summarises: bool = False) -> None:
        self.name, self.has_summary = "fake", summarises

    def readiness(self) -> Readiness:
        return Readiness(state="live")

    async def search(self, query: str, say: object) -> SearchResult:
        hosts = ("x.example", "content-farm.example", "tabloid.example", "www.gov.cn")
        return SearchResult(evidence=tuple(map(item, hosts)))

    async def close(self) -> None:
        pass


class Reading:
    def __init__(self) -> None:
        self.urls: list[str] = []

    async def read(self, url: str, query: str) -> tuple[Passage, ...]:
        self.urls.append(url)
        return ()


async def test_what_is_to_be_avoided_is_not_read_and_what_is_preferred_is_read_first() -> None:
    reader = Reading()
    web = WebRetriever(
        [Provided()],
        timeout_seconds=30,
        page_reader=reader,
        pages_per_search=2,
        domain_statuses=parse_domain_list(LIST),
        clock=lambda: NOW,
    )
    found = await web.search(Task(id="1.1", source="web", query="q"), ignore_event)
    assert [(e.id, e.domain_status) for e in found.evidence] == [
        ("www.gov.cn", "preferred"), ("x.example", ""), ("tabloid.example", "warned"),
    ]  # fmt: skip
    assert reader.urls == ["https://www.gov.cn/page", "https://x.example/page"]
    assert found.message == "left out, of sites to be avoided: 1"


async def test_what_a_text_was_written_from_stays_and_is_marked() -> None:
    web = WebRetriever([Provided(summarises=True)], timeout_seconds=30, domain_statuses=parse_domain_list(LIST))
    found = await web.search(Task(id="1.1", source="web", query="q"), ignore_event)
    assert {e.id: e.domain_status for e in found.evidence}["content-farm.example"] == "warned"


def test_an_address_that_expires_is_known_by_its_publisher() -> None:
    hidden = item("vertexaisearch.cloud.google.com")
    hidden = hidden.model_copy(update={"publisher": "mct.gov.cn", "url_expires": True})
    (seen,), _ = apply_domain_rules([hidden], parse_domain_list(LIST))
    assert seen.domain_status == "preferred"
