"""Attachments of mails are documents of their own, which name the mail."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from research.sources.library.index import Library
from research.sources.library.prepare import AddResult
from tests.readers.reading import SAMPLES
from tests.terminal import terminal


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path / "library.db")
    library.set_sample_enabled(False)
    yield library
    library.close()


def mail(subject: str, **files: bytes) -> EmailMessage:
    message = EmailMessage()
    message["From"] = "ann@example.org"
    message["Subject"] = subject
    message.set_content("See the attachment.")
    for name, data in files.items():
        name = name.replace("_", ".")
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message


def add(library: Library, name: str, data: bytes) -> list[AddResult]:
    return list(library.add_files([(name, data)]))


def names(library: Library) -> list[str]:
    return sorted(entry.name for entry in library.list_all())


def test_attachments_are_found_under_the_name_of_the_mail_with_their_slide(library: Library) -> None:
    slides = (SAMPLES / "pandoc.pptx").read_bytes()
    results = add(library, "in/m.eml", bytes(mail("Report", talk_pptx=slides, run_exe=b"MZ")))
    assert [(result.name, result.outcome, result.is_attachment) for result in results] == [
        ("in/m.eml", "added", False),
        ("in/m.eml/talk.pptx", "added", True),
    ]
    assert results[0].skipped_attachments == ("run.exe",)
    hit = library.search("Leifeng Pagoda Broken Bridge")[0]
    assert (hit.name, hit.page, hit.heading) == ("in/m.eml/talk.pptx", 2, "Overview")
    assert [result.outcome for result in add(library, "in/m.eml", bytes(mail("Report")))] == ["replaced"]


def test_a_changed_mail_takes_its_former_attachments_with_it(library: Library) -> None:
    inner = mail("Inner", t_csv=b"a,b\n1,2\n")
    outer = mail("Outer", one_md=b"# One\n\nFirst.", two_md=b"# Two\n\nSecond.")
    outer.add_attachment(inner)
    add(library, "m.eml", bytes(outer))
    add(library, "m.eml.md", b"# Another\n\nNot of the mail.")
    assert names(library) == [
        "m.eml",
        "m.eml.md",
        "m.eml/Inner.eml",
        "m.eml/Inner.eml/t.csv",
        "m.eml/one.md",
        "m.eml/two.md",
    ]
    results = add(library, "m.eml", bytes(mail("Outer", one_md=b"# One\n\nFirst.")))
    assert [(result.name, result.outcome) for result in results] == [
        ("m.eml", "replaced"),
        ("m.eml/one.md", "unchanged"),
    ]
    assert names(library) == ["m.eml", "m.eml.md", "m.eml/one.md"]


def test_an_attachment_that_cannot_be_read_is_listed_and_tried_again_with_the_mail(library: Library) -> None:
    data = bytes(mail("Report", bad_pdf=b"%PDF-1.4 broken", good_md=b"# Good\n\nText."))
    expected = [("m.eml", "added"), ("m.eml/bad.pdf", "unreadable"), ("m.eml/good.md", "added")]
    assert [(result.name, result.outcome) for result in add(library, "m.eml", data)] == expected
    assert [item.name for item in library.list_rejected()[0]] == ["m.eml/bad.pdf"]
    again = [(result.name, result.outcome) for result in add(library, "m.eml", data)]
    assert again == [("m.eml", "unchanged"), ("m.eml/bad.pdf", "unreadable"), ("m.eml/good.md", "unchanged")]
    library.dismiss_rejected()
    assert [result.outcome for result in add(library, "m.eml", data)] == ["unchanged"]


def test_names_of_attachments_stay_below_the_mail_and_are_told_apart(library: Library) -> None:
    message = mail("Report")
    for name in ("../../a.md", "a.md", "a.md"):
        message.add_attachment(f"# {name}\n\nx".encode(), maintype="text", subtype="markdown", filename=name)
    add(library, "m.eml", bytes(message))
    assert names(library) == ["m.eml", "m.eml/a (2).md", "m.eml/a (3).md", "m.eml/a.md"]


def test_mails_attached_too_deep_or_with_too_many_files_say_so(library: Library) -> None:
    message = mail("0")
    for n in range(1, 6):
        outer = mail(str(n))
        outer.add_attachment(message)
        message = outer
    results = add(library, "m.eml", bytes(message))
    assert [(result.outcome, result.limit) for result in results] == [("added", "")] * 4 + [("unreadable", "attached")]
    assert "3" in results[-1].detail
    crowd = mail("crowd")
    for n in range(2):
        inner = mail(f"inner {n}", **{f"f{i}_md": b"# x\n\ny" for i in range(60)})
        crowd.add_attachment(inner)
    outcomes = [(result.outcome, result.limit) for result in add(library, "c.eml", bytes(crowd))]
    assert ("too large", "attachments") in outcomes


def test_a_job_counts_attachments_among_its_files(library: Library) -> None:
    data = bytes(mail("Report", one_md=b"# One\n\nFirst.", run_exe=b"MZ"))
    job = library.start_ingestion([("m.eml", len(data), lambda: data), ("n.md", 5, lambda: b"# N\n\nx")])
    assert job.wait(20)
    assert (job.total_files, job.finished_files, job.skipped_files, job.state) == (3, 3, 1, "done")


def test_the_new_kinds_are_listed_by_their_kind(library: Library) -> None:
    for suffix in ("pptx", "epub", "odt", "rtf", "ipynb"):
        add(library, f"pandoc.{suffix}", (SAMPLES / f"pandoc.{suffix}").read_bytes())
    add(library, "m.eml", bytes(mail("Report")))
    add(library, "t.ods", (SAMPLES / "libreoffice.ods").read_bytes())
    kinds = {entry.name.rpartition(".")[2]: entry.kind for entry in library.list_all()}
    assert kinds == {
        "pptx": "slides", "epub": "book", "odt": "word", "rtf": "word", "ipynb": "text", "eml": "mail", "ods": "table",
    }  # fmt: skip


def test_the_terminal_names_what_was_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.eml"
    path.write_bytes(bytes(mail("Report", one_md=b"# One\n\nFirst.", run_exe=b"MZ")))
    result = terminal(tmp_path / "data", "library", "add", str(path)).stdout
    assert "attachments of other types not read: run.exe" in result
    assert "m.eml/one.md" in result
