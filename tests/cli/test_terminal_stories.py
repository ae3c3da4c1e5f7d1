"""Stories from a file in the terminal: what is printed, and what is said about a file that is none."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from research import UnreadableItemsError, stories_json
from research.cli import main
from tests.tables import each_row
from tests.terminal import called, environment

ITEMS = [
    {"title": "Landslide in Nepal kills 14", "outlet": "A", "published": "2026-11-20", "url": "https://a.example/1?utm_source=x"},
    {"title": "At least 14 dead after landslide in Nepal", "outlet": "B", "published": "Sat, 21 Nov 2026 09:00:00 GMT"},
    {"title": "黄金价格创新高", "published": "3小时前"},
    {"title": "Nepal: what we know", "url": "https://a.example/1", "outlet": None},
]  # fmt: skip


def test_a_file_of_items_is_printed_as_stories_and_touches_no_data_folder(tmp_path: Path) -> None:
    file = tmp_path / "items.json"
    file.write_text(json.dumps(ITEMS), encoding="utf-8")
    done = called(environment(tmp_path / "data"), "stories", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "data").exists()
    found = json.loads(done.stdout)
    first, second = found["stories"]
    assert (first["items"], first["outlets"], first["independent"]) == ([0, 1, 3], ["A", "B"], 2)
    assert (first["earliest"], first["latest"]) == ("2026-11-20", "2026-11-21T09:00:00Z")
    assert (second["headline"], second["earliest"]) == ("黄金价格创新高", None)
    assert found["unread"] == [{"item": 2, "published": "3小时前", "why": "relative"}]


def test_an_item_of_the_future_has_no_date_and_is_not_the_latest() -> None:
    items = [
        {"title": "Landslide in Nepal kills 14", "published": "2026-11-20"},
        {"title": "Landslide in Nepal kills 14", "published": "2031-01-01"},
    ]
    found = json.loads(stories_json(json.dumps(items), datetime(2026, 11, 21, tzinfo=UTC)))
    assert found["stories"][0]["latest"] == "2026-11-20"
    assert found["unread"] == [{"item": 1, "published": "2031-01-01", "why": "future"}]


def test_an_object_with_items_is_read_as_its_list() -> None:
    whole = stories_json(json.dumps({"items": ITEMS}))
    assert json.loads(whole) == json.loads(stories_json(json.dumps(ITEMS)))
    assert json.loads(stories_json("[]")) == {"items": 0, "stories": [], "unread": []}


@each_row(
    ("text", "said"),
    [
        ("{", "This is no JSON"),
        ("", "line 1, column 1"),
        ("[" * 100_000, "nested too deeply"),
        ("3", "not a number"),
        ("{}", 'has no "items"'),
        ('{"items": null}', "not nothing"),
        ('["x"]', "Item 0 is a text"),
        ('[{"url": "https://a.example"}]', "Item 0 has no title"),
        ('[{"title": "a"}, {"title": 5}]', "Item 1: title is a number"),
        ('[{"title": "a", "text": ["b"]}]', "Item 0: text is a list"),
    ],
)
def test_what_is_no_list_of_items_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(UnreadableItemsError, match=said):
        stories_json(text)


def test_a_file_that_cannot_be_used_ends_with_a_sentence_and_a_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["stories", str(tmp_path / "none.json")]) == 1
    assert "cannot be read" in capsys.readouterr().err
    bad = tmp_path / "bad.json"
    bad.write_bytes(b"[\xff]")
    assert main(["stories", str(bad)]) == 2
    assert "is not UTF-8 (byte 1)" in capsys.readouterr().err
    bad.write_text("[3]", encoding="utf-8")
    assert main(["stories", str(bad)]) == 2
    assert "Item 0 is a number" in capsys.readouterr().err
