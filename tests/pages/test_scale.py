"""Years of work in one folder: what a page draws and sends does not grow with all there is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from research import Run, RunOptions, get_application
from tests.many import LAST, fill
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
PLACES = 5_000
MESSAGE = 2_000_000  # bytes for the map and its list, as JSON within JSON
ELEMENTS = 600  # on any page


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("many") / "data"
    return fill(folder, runs=120, documents=300, places=PLACES)


@pytest.fixture
def many(folder: Path, filled: Path) -> Path:
    shutil.copytree(filled, folder, dirs_exist_ok=True)
    return folder


def sent(visitor: Visitor) -> int:
    """The bytes of the map and of the list beside it."""
    found = [item.proto.json_args for item in visitor.at.get("component_instance")]
    found += [item.proto.json for item in visitor.at.get("bidi_component")]
    return sum(len(text.encode()) for text in found)


@pytest.mark.slow
def test_five_thousand_places_are_all_listed_in_a_message_of_bounded_size(many: Path, visit: Visit) -> None:
    visitor = visit("places")
    listed = [json.loads(item.proto.json) for item in visitor.at.get("bidi_component")]
    assert len(listed[0]["rows"]) >= PLACES
    assert sent(visitor) < MESSAGE


@pytest.mark.slow
def test_a_filter_sends_only_what_it_leaves(many: Path, visit: Visit) -> None:
    visitor = visit("places")
    visitor.at.text_input(key="places_text").set_value("书店")
    before = sent(visitor)
    assert sent(visitor.look()) < before / 3


@pytest.mark.slow
@pytest.mark.parametrize("page", ["ask", "news", "places", "database", "history", "library"])
def test_no_page_draws_more_elements_for_more_work(many: Path, visit: Visit, page: str) -> None:
    visitor = visit("" if page == "ask" else page)
    assert sum(1 for _ in elements(visitor)) < ELEMENTS


def elements(visitor: Visitor) -> list[object]:
    found: list[object] = []
    nodes = [visitor.at.main, visitor.at.sidebar]
    while nodes:
        node = nodes.pop()
        inside = list(getattr(node, "children", {}).values())
        nodes += inside
        found += inside
    return found


def test_the_sidebar_lists_some_runs_and_tells_of_the_others(folder: Path, visit: Visit) -> None:
    for n in range(30):
        run = Run(
            id=f"{n:08x}".ljust(32, "0"), conversation=f"talk{n}", owner="local", question=f"Question {n}",
            options=RunOptions(), status="waiting", created=LAST,
        )  # fmt: skip
        get_application().runs.store.add_run(run, None, "0" * 32)
    links = [link.proto.label for link in visit("news").at.sidebar.get("page_link")]
    assert len(links) == 9
    assert links[-1] == "+ 22 · History"
