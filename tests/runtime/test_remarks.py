"""Notes of one's own: on an answer and on passages, found again, and apart from what is cited."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from pypdf import PdfReader
from sqlalchemy import select

from research import (
    HistoryQuery,
    Report,
    close_application,
    export_report,
    get_application,
    number_report_answer,
    report_markdown,
)
from research.citations.registry import evidence_id
from research.core.records import Answer, Evidence, Finding, Passage, PassageReference, Run, RunOptions, Span, Task
from research.storage.tables import remark

ANN, BOB = "user-ann", "user-bob"
MADE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TEXT = "A ticket to the tower costs 40 yuan."
HOSTILE = "see <script>alert(1)</script> [1] ![x](https://evil.example/?q=1)\n# Sources\n1. $x$ **not bold**"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    close_application()
    yield tmp_path
    close_application()


def source() -> Evidence:
    url = "https://example.org/tower"
    return Evidence(
        id=evidence_id("web", url, ""), kind="web", title="The tower", url=url, language="en",
        retrieved=MADE, passages=(Passage(id="p1", text=TEXT, end=len(TEXT), heading="Prices"),),
    )  # fmt: skip


def put(language: str = "en", owner: str = ANN) -> str:
    """A run that is done; returns its id."""
    store = get_application().runs.store
    run = Run(
        id=f"run-{owner}", conversation=f"talk-{owner}", owner=owner, question="What does it cost?",
        options=RunOptions(), status="done", created=MADE, finished=MADE,
    )  # fmt: skip
    assert store.add_run(run, None, "")
    task = Task(id="1.1", source="web", query="ticket")
    found = Finding(task=task, evidence=(source(),), started=MADE)
    store.finish_search(store.start_search(run.id, task), run.conversation, found)
    cite = PassageReference(evidence=source().id, passage="p1")
    answer = Answer(
        title="", language=language, author="Scripted, no model", created=MADE,  # type: ignore[arg-type]
        spans=(Span(kind="quote", text=TEXT, references=(cite,)),),
    )  # fmt: skip
    store.save_outcome(run.id, None, [], answer)
    return run.id


def report(run_id: str, owner: str = ANN) -> Report:
    found = get_application().runs.report(run_id, owner=owner)
    assert found is not None
    return found


def notes(run_id: str, owner: str = ANN) -> list[tuple[str, str]]:
    return [(one.passage, one.text) for one in report(run_id, owner).remarks]


def on(run_id: str, text: str, owner: str = ANN) -> bool:
    return get_application().runs.save_remark(run_id, text, evidence=source().id, passage="p1", owner=owner)


def test_a_note_is_written_changed_and_deleted() -> None:
    run_id = put()
    assert notes(run_id) == []
    assert on(run_id, "from the flyer") and get_application().runs.save_remark(run_id, "  for the memo\n", owner=ANN)
    assert notes(run_id) == [("", "for the memo"), ("p1", "from the flyer")]
    assert on(run_id, "from the flyer of 2025")
    assert notes(run_id) == [("", "for the memo"), ("p1", "from the flyer of 2025")]
    assert get_application().runs.save_remark(run_id, " ", owner=ANN)
    assert notes(run_id) == [("p1", "from the flyer of 2025")]
    assert get_application().runs.save_remark(run_id, "x" * 5_000 + "\ud800", owner=ANN)
    assert [len(text) for _, text in notes(run_id)] == [4_000, 22]
    assert get_application().runs.save_remark(run_id, "a\ud800b", owner=ANN) and notes(run_id)[0] == ("", "a?b")


def test_what_is_not_of_the_run_takes_no_note() -> None:
    run_id = put()
    assert not get_application().runs.save_remark(run_id, "x", evidence=source().id, passage="p2", owner=ANN)
    assert not get_application().runs.save_remark(run_id, "x", evidence="none", passage="p1", owner=ANN)
    assert not get_application().runs.save_remark("no run", "x", owner=ANN)
    assert notes(run_id) == []


def test_the_notes_of_one_person_are_not_another_s() -> None:
    hers, his = put(owner=ANN), put(owner=BOB)
    assert on(hers, "hers") and on(his, "his", BOB)
    assert not on(hers, "his on hers", BOB) and not get_application().runs.save_remark(hers, "", owner=BOB)
    assert (notes(hers), notes(his, BOB)) == ([("p1", "hers")], [("p1", "his")])
    assert get_application().runs.search_history(HistoryQuery("hers"), owner=BOB).entries == ()


def test_a_note_is_found_in_the_history_until_it_is_deleted() -> None:
    run_id = put()
    assert get_application().runs.search_history(HistoryQuery("memorandum"), owner=ANN).total == 0
    get_application().runs.save_remark(run_id, "For the Memorandum of May", owner=ANN)
    on(run_id, "another one")
    (entry,) = get_application().runs.search_history(HistoryQuery("memorandum"), owner=ANN).entries
    (hit,) = entry.matching_turns[0].hits
    assert hit.field == "note" and ("Memorandum", True) in hit.pieces
    get_application().runs.save_remark(run_id, "", owner=ANN)
    assert get_application().runs.search_history(HistoryQuery("memorandum"), owner=ANN).total == 0
    assert get_application().runs.search_history(HistoryQuery("another"), owner=ANN).total == 1


def test_notes_go_with_their_conversation(folder: Path) -> None:
    run_id = put()
    on(run_id, "a secret of hers")
    get_application().runs.delete_conversation(f"talk-{ANN}", owner=ANN)
    assert get_application().runs.store.database.read(select(remark)) == []


def test_every_format_has_the_notes_as_the_reader_s_own() -> None:
    run_id = put()
    get_application().runs.save_remark(run_id, "Ask the office.\n\nThen the press.", owner=ANN)
    on(run_id, "The flyer says 45.")
    made = report(run_id)
    for ending in ("md", "html", "docx", "pdf"):
        words = said(export_report(made, number_report_answer(made), ending), ending)
        for text in ("Notes", "Written by the reader.", "Ask the office.", "Then the press.",
                     "source 1 · The tower · Prices", "The flyer says 45."):  # fmt: skip
            assert text in words, (ending, text)
        assert words.rindex("Sources") < words.rindex("Ask the office.")
    data = json.loads(export_report(made, number_report_answer(made), "json"))
    assert [(one["passage"], one["text"]) for one in data["notes"]] == notes(run_id)
    assert "45" not in data["answer"] + json.dumps(data["blocks"])
    # It is a claim about nothing: what is counted and checked is the same.
    bare = made.model_copy(update={"remarks": ()})
    plain = json.loads(export_report(bare, number_report_answer(bare), "json"))
    assert {**data, "notes": []} == plain
    assert "Notes" not in report_markdown(bare, number_report_answer(bare))


def said(data: bytes, ending: str) -> str:
    """The words of a file."""
    if ending == "pdf":
        pages = [page.extract_text() for page in PdfReader(io.BytesIO(data)).pages]
        return " ".join(" ".join(pages).split())
    if ending == "docx":
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            return file.read("word/document.xml").decode()
    return data.decode()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_hostile_note_is_nothing_but_text(language: str) -> None:
    run_id = put(language)
    on(run_id, HOSTILE)
    made = report(run_id)
    text = report_markdown(made, number_report_answer(made))
    tokens = MarkdownIt("commonmark").parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    assert not [one for one in [*tokens, *inner] if one.type in ("image", "html_inline", "html_block")]
    assert "evil.example" not in " ".join(str(one.attrGet("href")) for one in inner)
    heads = [tokens[n + 1].content for n, one in enumerate(tokens) if one.type == "heading_open"]
    assert len(heads) == len(set(heads)) and {"en": "Notes", "zh": "读者批注"}[language] in heads
    page = export_report(made, number_report_answer(made), "html").decode()
    assert "<script" not in page and "&lt;script&gt;" in page
    noted = page[page.index("see &lt;script") : page.index("not bold") + 40]
    assert "<sup" not in noted and "<strong>" not in noted and "<math" not in noted
