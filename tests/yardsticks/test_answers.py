"""The labels of the sets hold, and the measure counts what it says."""

import json
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from research.core.records import (
    Answer,
    Evidence,
    Part,
    Passage,
    PassageReference,
    Plan,
    Report,
    Run,
    RunOptions,
    Span,
)
from tests.tables import each_row
from tests.yardsticks.answers import (
    SETS,
    Labelled,
    Ranked,
    documents,
    half_of,
    quotes,
    sections,
    treats,
)

ROWS = [(file, json.loads(line)) for file in SETS for line in file.read_text("utf-8").splitlines()]
KINDS = {
    "value", "yes-no", "how-to", "conditions", "comparison", "list", "aspects", "missing",
    "places", "database",
}  # fmt: skip
ROW: dict[str, Any] = {
    "id": "own-1",
    "half": half_of("own-1"),
    "language": "en",
    "kind": "value",
    "q": "How high is the tower of Elsby?",
    "subjects": [["Elsby"]],
    "must": [{"document": "elsby.md", "text": "The tower of Elsby is 71 metres high."}],
    "may": [{"document": "elsby.md", "section": "Visits"}],
    "route": ["library"],
}
ELSBY = "# Elsby\n\nThe tower of Elsby is 71 metres high.\n\n## Visits\n\nThe stairs are closed in rain."


def labels(row: dict[str, Any]) -> list[dict[str, str]]:
    must = [one for group in row["must"] for one in (group if isinstance(group, list) else [group])]
    return must + row["may"]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A set of one question with a document of its own."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "elsby.md").write_text(ELSBY, encoding="utf-8")
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(ROW), encoding="utf-8")
    return file


def test_each_set_has_as_many_questions_in_either_language() -> None:
    for file in SETS:
        found = Counter(row["language"] for name, row in ROWS if name == file)
        assert found == {"zh": 40, "en": 40}


def test_ids_and_questions_are_used_once() -> None:
    assert Counter(row["id"] for _, row in ROWS).most_common(1)[0][1] == 1
    assert Counter(row["q"] for _, row in ROWS).most_common(1)[0][1] == 1


@each_row(("file", "row"), ROWS)
def test_labels_stand_in_the_documents(file: Path, row: dict[str, Any]) -> None:
    assert row["half"] == half_of(row["id"])
    assert row["kind"] in KINDS
    assert "library" in row["route"]
    assert not set(row["route"]) & set(row.get("also", ()))
    assert not (row["must"] and row["kind"] in ("missing", "database"))
    folder = documents(file)
    for one in labels(row):
        text = (folder / one["document"]).read_text("utf-8")
        assert one["text"] in text if "text" in one else sections(folder / one["document"])
        assert "section" not in one or one["section"] in sections(folder / one["document"])


def test_a_sentence_counts_as_on_the_point_if_it_must_or_may_be_quoted(own: Path) -> None:
    one = Labelled.read(ROW, documents(own))
    high, stairs = "The tower of Elsby is 71 metres high.", "The stairs are closed in rain."
    assert (one.quoted([high]), one.quoted([stairs])) == (1, 0)
    assert one.beside([f"{high} {stairs}", "Elsby has a mill."]) == (1, 3)


def test_one_of_several_equally_good_sentences_is_enough(own: Path) -> None:
    either = ROW | {"must": [ROW["must"] + [{"document": "elsby.md", "text": "It is 71 m high."}]]}
    one = Labelled.read(either, documents(own))
    assert [one.quoted([text]) for text in ("It is 71 m high.", "It is high.")] == [1, 0]


def test_a_route_asks_all_that_it_must_and_no_more_than_it_may(own: Path) -> None:
    one = Labelled.read(ROW | {"also": ["places"]}, documents(own))
    routes = (["library"], ["library", "places"], ["places"], ["library", "database"])
    assert [one.routed(asked) for asked in routes] == [True, True, False, False]


def answered(*spans: Span) -> Report:
    """An answer on the tower and on the mill, whose one piece of evidence is the document on Elsby."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    passage = Passage(id="1", text="The tower is 71 metres high.", heading="Sights")
    return Report(
        run=Run(
            id="1", conversation="1", owner="local", question="Tower or mill?", options=RunOptions(),
            status="done", created=now,
        ),
        plan=Plan(
            parts=(
                Part(id="p1", subject="Tower", text="how high"),
                Part(id="p2", subject="Mill", text="tower or mill: how high"),
            )
        ),
        answer=Answer(title="", language="en", author="", spans=spans, created=now),
        evidence=(
            Evidence(id="e1", kind="library", title="Elsby", retrieved=now, passages=(passage,)),
            Evidence(id="e2", kind="database", title="Towers", retrieved=now),
        ),
    )  # fmt: skip


CITE = (PassageReference(evidence="e1", passage="1"),)


def test_a_subject_is_treated_if_it_is_cited_on_or_said_to_be_missing() -> None:
    quote = Span(kind="quote", text="The tower is 71 metres high.", references=CITE, part="p1")
    missing = Span(kind="missing", text="Not found.", part="p2")
    both = answered(quote, missing)
    treated = ("tower", "elsby", "sights", "mill")
    assert [treats(both, [name]) for name in treated] == [True] * len(treated)
    assert treats(answered(quote), ["塔", "tower"])
    assert not treats(answered(quote), ["mill"])  # dropped without a word
    assert not treats(answered(quote, Span(kind="heading", text="Mill", part="p2")), ["mill"])
    other = quote.model_copy(update={"part": "p2"})
    assert not treats(answered(other, missing), ["mill"])  # what is missing there is something else


def test_quotes_are_those_from_the_library() -> None:
    whole = (PassageReference(evidence="e1", passage="1", end=28),)
    part = (PassageReference(evidence="e1", passage="1", start=4, end=9),)
    quote = Span(kind="quote", text="The tower is 71 metres high.", references=whole)
    row = Span(kind="quote", text="tower: 71", references=(PassageReference(evidence="e2", passage="1"),))
    cell = Span(kind="text", text=" “tower”", references=part)
    assert quotes(answered(quote, row, cell)) == [quote.text, "tower"]


def test_the_baseline_ranks_the_sentence_with_the_rarer_words_first() -> None:
    plain = Ranked(["The tower is old.", "The tower of Elsby is high.", "The mill is old."])
    assert plain.best("the tower of Elsby")[0] == "The tower of Elsby is high."
    assert plain.best("harbour") == []


@pytest.mark.slow
def test_the_command_asks_the_product(own: Path) -> None:
    command = [sys.executable, "-m", "tests.yardsticks", "answers", str(own), "--json"]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
    (row,) = json.loads(done.stdout)["sets"]
    assert (row["set"], row["half"], row["n"]) == ("own", ROW["half"], 1)
    assert (row["must"], row["treated"]) == (1.0, 1.0)
    assert row["baseline"] == {"must": 1.0, "beside": 0.0}
    other = "seen" if ROW["half"] == "unseen" else "unseen"
    empty = subprocess.run([*command, "--half", other], capture_output=True, text=True, check=True, cwd=root)
    assert json.loads(empty.stdout) == {"sets": []}
