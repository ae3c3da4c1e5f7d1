"""Notebooks: a question that is limited to one quotes its documents alone, and whose it is decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from research import Report, close_application, get_application, number_report_answer, report_json, report_markdown
from research.core.records import Run, RunOptions

ANN, BOB = "user-ann", "user-bob"
QUESTION = "What does a ticket to the tower cost?"
FILES = {
    "old.md": "# Guide of 1990\n\nA ticket to the tower costs 3 yuan.",
    "new.md": "# Guide of 2025\n\nA ticket to the tower costs 40 yuan.",
    "flyer.md": "# Flyer\n\nA ticket to the tower costs 45 yuan at the gate.",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "ANSWER_MODEL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIGHTLINE_DATA_DIR", str(tmp_path))
    close_application()
    library = get_application().library
    library.set_sample_enabled(False)
    assert all(one.is_ok for one in library.add_files((n, t.encode()) for n, t in FILES.items()))
    yield tmp_path
    close_application()


def limited(notebook: str) -> RunOptions:
    return RunOptions(loops=1, sources=("library",), notebook=notebook)


def over(run: Run) -> Report:
    assert [*get_application().runs.follow(run.id, owner=run.owner)]
    report = get_application().runs.report(run.id, owner=run.owner)
    assert report is not None
    return report


def ask(notebook: str, owner: str = ANN, **more: str) -> Report:
    return over(get_application().runs.start(QUESTION, options=limited(notebook), owner=owner, **more))


def quoted(report: Report) -> set[str]:
    return {item.locator for finding in report.findings for item in finding.evidence}


@pytest.mark.slow
def test_a_question_limited_to_a_notebook_quotes_its_documents_alone() -> None:
    assert get_application().store.add_to_notebook(ANN, "Today", ["new.md", "flyer.md"]) == "Today"
    get_application().store.add_to_notebook(ANN, "Guides", ["new.md", "old.md"])
    assert quoted(ask("")) == set(FILES)
    assert quoted(ask("Today")) == {"new.md", "flyer.md"}
    assert quoted(ask("Guides")) == {"new.md", "old.md"}
    get_application().store.remove_from_notebook(ANN, "Today", ["flyer.md"])
    report = ask("Today")
    assert quoted(report) == {"new.md"}
    assert report.answer and {s.text for s in report.answer.spans if s.kind == "quote"} == {
        "A ticket to the tower costs 40 yuan."
    }


def test_a_notebook_goes_with_its_last_document_or_when_it_is_deleted() -> None:
    get_application().store.add_to_notebook(ANN, "Today", ["new.md"])
    get_application().store.add_to_notebook(ANN, "Guides", ["new.md"])
    get_application().store.add_to_notebook(ANN, "Guides", ["new.md", "old.md"])
    assert get_application().store.notebooks(ANN) == {
        "Guides": ("new.md", "old.md"),
        "Today": ("new.md",),
    }
    get_application().store.remove_from_notebook(ANN, "Today", ["new.md", "old.md"])
    assert list(get_application().store.notebooks(ANN)) == ["Guides"]
    get_application().store.delete_notebook(ANN, "Guides")
    assert get_application().store.notebooks(ANN) == {}
    assert get_application().library.count_documents().own_count == 3


def test_a_notebook_has_another_name_and_the_same_documents() -> None:
    get_application().store.add_to_notebook(ANN, "Today", ["new.md", "flyer.md"])
    get_application().store.add_to_notebook(ANN, "Guides", ["old.md"])
    get_application().store.add_to_notebook(BOB, "Today", ["old.md"])
    assert get_application().store.rename_notebook(ANN, "Today", " Ticket prices ") == "Ticket prices"
    assert quoted(ask("Ticket prices")) == {"new.md", "flyer.md"}
    assert get_application().store.rename_notebook(ANN, "Ticket prices", "TICKET prices") == "TICKET prices"
    # A name that there is already: one notebook with the documents of both.
    assert get_application().store.rename_notebook(ANN, "TICKET prices", "guides") == "Guides"
    assert get_application().store.notebooks(ANN) == {"Guides": ("flyer.md", "new.md", "old.md")}
    for name, wanted in (("Guides", " \u200b"), ("Gone", "New")):
        assert get_application().store.rename_notebook(ANN, name, wanted) == ""
    assert get_application().store.rename_notebook(ANN, "Guides", "Guides") == "Guides"
    assert list(get_application().store.notebooks(ANN)) == ["Guides"]
    assert get_application().store.notebooks(BOB) == {"Today": ("old.md",)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "kept"),
    [("today", "Today"), ("  TODAY\n", "Today"), ("Ｔｒｉｐ", "Trip"), ("x" * 99, "x" * 40),
     ("西湖", "西湖"), (" \u200b\x00", ""), ("\ud800", "")],
)  # fmt: skip
def test_a_name_is_kept_as_it_can_be_shown_and_found_whatever_its_case(typed: str, kept: str) -> None:
    get_application().store.add_to_notebook(ANN, "Today", ["old.md"])
    assert get_application().store.add_to_notebook(ANN, typed, ["new.md"]) == kept
    there = get_application().store.notebooks(ANN)
    assert set(there) == {"Today", *filter(None, [kept])}
    assert not kept or "new.md" in there[kept]


def test_a_changed_document_stays_where_it_was_put_and_a_removed_one_is_not_quoted() -> None:
    get_application().store.add_to_notebook(ANN, "Today", ["new.md", "flyer.md"])
    library = get_application().library
    (changed,) = library.add_files([("new.md", FILES["new.md"].replace("40", "50").encode())])
    assert changed.outcome == "replaced"
    library.remove([hit.document_id for hit in library.search("gate flyer", names=["flyer.md"])])
    report = ask("Today")
    assert quoted(report) == {"new.md"}
    assert "50 yuan" in report_markdown(report, number_report_answer(report))


def test_a_notebook_that_is_gone_is_told_and_nothing_is_quoted_instead() -> None:
    report = ask("Gone")
    (finding,) = report.findings
    assert (finding.reason, finding.evidence) == ("not found", ())
    assert "Gone" in finding.message
    # Nor is the library told to have something that comes close.
    assert report.answer and not any("Guide" in span.text for span in report.answer.spans)


def test_a_run_based_on_another_takes_nothing_that_another_notebook_gave() -> None:
    get_application().store.add_to_notebook(ANN, "Today", ["new.md"])
    get_application().store.add_to_notebook(ANN, "Guides", ["old.md"])
    first = ask("Today")
    again = ask("Guides", based_on=first.run.id)
    assert quoted(again) == {"old.md"}
    assert not any(finding.reused for finding in again.findings)
    same = ask("Today", based_on=first.run.id)
    assert all(finding.reused for finding in same.findings)


def test_exports_tell_what_the_library_was_limited_to() -> None:
    get_application().store.add_to_notebook(ANN, "*Today*", ["new.md"])
    report = ask("*Today*")
    made = report_markdown(report, number_report_answer(report))
    assert r"Library: only the notebook “\*Today\*”" in made
    assert '"notebook": "*Today*"' in report_json(report, number_report_answer(report))
    whole = ask("")
    assert "notebook" not in report_markdown(whole, number_report_answer(whole))


def test_the_notebook_of_one_person_is_not_another_s() -> None:
    get_application().store.add_to_notebook(ANN, "Today", ["new.md"])
    assert get_application().store.notebooks(BOB) == {}
    (finding,) = ask("Today", BOB).findings
    assert finding.reason == "not found"
    get_application().store.add_to_notebook(BOB, "Today", ["old.md"])
    assert quoted(ask("Today", BOB)) == {"old.md"}
    assert quoted(ask("Today", ANN)) == {"new.md"}
    get_application().store.remove_from_notebook(BOB, "Today", ["new.md"])
    get_application().store.delete_notebook(BOB, "Today")
    assert get_application().store.notebooks(ANN) == {"Today": ("new.md",)}
