"""What is said of the table of conflicts is what was measured, and the command that measures it works."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.yardsticks.conflicts import (
    PARTS,
    RESULTS,
    Question,
    overlap,
    product,
    questions_of,
    scores,
    shown,
    without,
)

HERE = Path(__file__).parent
FOUND = json.loads(RESULTS.read_text(encoding="utf-8"))
ROWS = [
    {
        "query": "When did the Sunderby tram open?",
        "answer": [["May 4, 1908", "4 May 1908"]],
        "fakeanswer": "May 14, 1918",
        "positive": [
            "The Sunderby tram opened to the public on May 4, 1908.",
            "The Sunderby tram opened on 4 May 1908 and ran to Lower Quay.",
        ],
        "positive_wrong": [
            "The Sunderby tram opened to the public on May 14, 1918.",
            "The Sunderby tram opened on May 14, 1918 and ran to Lower Quay.",
        ],
        "negative": ["The Marle tram opened to the public on June 9, 1911."],
    },
    {
        "query": "Who built the Sunderby tram?",
        "answer": "Ada Holm",
        "fakeanswer": "Per Lind",
        "positive": ["Ada Holm built the 12 km Sunderby tram.", "Ada Holm built the Sunderby tram, 13 km of it."],
        "positive_wrong": ["Per Lind built the 12 km Sunderby tram.", "Per Lind built the Sunderby tram, 13 km of it."],
        "negative": [],
    },
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return path


def test_the_document_tells_the_results() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for half in ("seen", "kept back"):
        for language, row in FOUND[half].items():
            told = [
                f"{row[name]:{form}} ({row[f'overlap_{name}']:{form}})"
                for name, form in (("shown", ".2f"), ("apart", ".2f"), ("false", ".3f"), ("alarms", ".2f"))
            ]  # fmt: skip
            start = f"| {half}, {language} | {row['n']} | {row['numeric']} | "
            assert start + " | ".join(told) + " |" in text
    for name, row in FOUND["without"].items():
        told = f"{row['shown']:.2f} | {row['apart']:.2f} | {row['false']:.3f} | {row['alarms']:.2f}"
        assert f"| {name} | {told} |" in text
    assert FOUND["without"].keys() == PARTS.keys()


def test_the_documents_tell_the_results() -> None:
    rows: list[dict[str, Any]] = [row for half in ("seen", "kept back") for row in FOUND[half].values()]
    asked = sum(row["numeric"] for row in rows)
    count = round(sum(row["shown"] * row["numeric"] for row in rows))
    pairs = sum(row["pairs"] for row in rows)
    false = round(sum(row["false"] * row["pairs"] for row in rows))
    docs = HERE.parents[1] / "docs"
    english, chinese = (
        " ".join((docs / name).read_text(encoding="utf-8").split()) for name in ("accuracy.md", "zh.md")
    )
    assert f"it showed {count} of {asked} changes" in english
    assert f"differed on {false} of {pairs} pairs" in english
    assert f"{asked} 处列出 {count} 处" in chinese
    assert f"{pairs} 对一致的段落误报 {false} 对" in chinese


def test_four_in_five_are_shown_and_one_in_twenty_is_false_on_the_half_kept_back() -> None:
    for row in FOUND["kept back"].values():
        assert row["shown"] >= 0.8
        assert row["false"] <= min(0.05, row["overlap_false"])
        assert row["alarms"] < row["overlap_alarms"]


@pytest.mark.slow
def test_the_command_prints_one_object(file: Path) -> None:
    command = [sys.executable, "-m", "tests.yardsticks", "conflicts", str(file), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parents[1])
    (row,) = json.loads(done.stdout)["sets"]
    assert (row["set"], row["n"], row["numeric"], row["pairs"]) == ("rows.jsonl", 2, 1, 2)
    assert (row["shown"], row["apart"]) == (1.0, 1.0)
    assert row["false"] == 0.5  # 12 and 13 km


def test_a_conflict_about_something_else_is_not_the_one_asked_for(file: Path) -> None:
    question = questions_of(file)[0]
    assert not shown(
        product,
        question,
        (("The tram of Sunderby has 12 cars.",), ("The tram of Sunderby has 14 cars.",)),
    )


def test_a_name_is_no_figure(file: Path) -> None:
    assert [question.numeric for question in questions_of(file)] == [True, False]


def test_the_plain_way_goes_by_shared_words_alone(file: Path) -> None:
    question = questions_of(file)[0]
    assert shown(overlap(0.9), question, (question.positive, question.altered))
    assert overlap(0.5)(question, (question.positive[:1], question.negative))
    assert not product(question, (question.positive[:1], question.negative))


def test_a_part_left_out_is_back_afterwards(file: Path) -> None:
    questions: list[Question] = questions_of(file)
    before = scores(product, questions)
    assert without("names", questions)["alarms"] != before["alarms"]
    assert scores(product, questions) == before
