"""What is known of a paper, and what became of it, is told in every form that a report has."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import BytesIO

from docx import Document
from pypdf import PdfReader

from pages.run.answer import build_blocks, collect_row_cells, notice_text
from pages.run.sources import SourceRow, _table_row
from research import AnswerSupport, number_report_answer
from research.agent.llm.material import passage_blocks
from research.citations.registry import EvidenceRegistry
from research.citations.support import check_support
from research.core.records import (
    Answer,
    Author,
    Evidence,
    Language,
    Paper,
    Passage,
    PassageReference,
    PublicationNotice,
    Report,
    Run,
    RunOptions,
    Span,
)
from research.export.docx import report_docx
from research.export.html import report_html
from research.export.markdown import report_markdown
from research.export.pdf import report_pdf
from research.export.report_json import report_json
from research.mcp_server.results import run_result
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
TEXT = "Half of the articles are open."
PAPER = Paper(
    authors=(
        Author(family="Piwowar", given="Heather"), Author(name="Jason <b>Priem</b>"),
        Author(name="C"), Author(name="Dropped"),
    ),
    year=2018, venue="PeerJ", doi="10.7717/peerj.4375", citation_count=1204, citation_source="openalex",
)  # fmt: skip
ITEM = Evidence(
    id="e1", kind="paper", title="The state of OA", publisher="PeerJ", retrieved=NOW, paper=PAPER,
    url="https://doi.org/10.7717/peerj.4375", further_url="https://peerj.com/articles/4375.pdf",
    passages=(Passage(id="p1", text=TEXT, end=len(TEXT)),),
)  # fmt: skip


def report(notice: PublicationNotice, language: Language = "en") -> Report:
    item = EvidenceRegistry().add(ITEM.model_copy(update={"notice": notice}))
    run = Run(
        id="r1", conversation="c1", owner="local", question="How open?", options=RunOptions(),
        status="done", created=NOW,
    )  # fmt: skip
    quote = Span(kind="quote", text=TEXT, references=(PassageReference(evidence=item.id, passage="p1"),))
    answer = Answer(title="How open?", language=language, author="digest", spans=(quote,), created=NOW)
    return Report(run=run, answer=answer, evidence=(item,))


WORDS = {
    "retracted": ("RETRACTED", "已撤稿"),
    "corrected": ("corrected since it was published", "发表后有更正"),
    "concern": ("expression of concern", "表达关注"),
}


@each_row("notice", WORDS)
def test_every_form_of_a_report_marks_it(notice: PublicationNotice) -> None:
    english, chinese = WORDS[notice]
    for language, said in (("en", english), ("zh", chinese)):
        made = report(notice, language)
        numbered = number_report_answer(made)
        assert said in report_markdown(made, numbered)
        assert said in report_html(made, numbered)
        told = json.loads(report_json(made, numbered))
        assert told["sources"][0]["notice"] == told["evidence"][0]["notice"] == notice
    made = report(notice)
    assert english not in report_markdown(report(""), number_report_answer(report("")))
    assert english in " ".join(
        one.text for one in Document(BytesIO(report_docx(made, number_report_answer(made)))).paragraphs
    )


def test_a_pdf_marks_it() -> None:
    made = report("retracted")
    pages = PdfReader(BytesIO(report_pdf(made, number_report_answer(made)))).pages
    assert "RETRACTED" in " ".join(page.extract_text() for page in pages)


def test_a_list_of_sources_names_authors_year_doi_and_who_counted() -> None:
    text = report_markdown(report(""), number_report_answer(report("")))
    (line,) = [one for one in text.splitlines() if one.startswith("1. ")]
    for said in ("Heather Piwowar", "and others", "PeerJ", "2018", "cited 1,204 times (OpenAlex)", "4375.pdf"):  # fmt: skip
        assert said in line, line
    assert "Dropped" not in line and "<b>" not in line.replace("\\<b>", "")
    assert line.index("Heather") < line.index("PeerJ") < line.index("dated 2018")
    told = json.loads(report_json(report(""), number_report_answer(report(""))))["sources"][0]["paper"]
    assert told["authors"][0] == {"family": "Piwowar", "given": "Heather", "name": ""}
    assert (told["year"], told["doi"], told["citation_count"]) == (2018, PAPER.doi, 1204)


def test_the_page_marks_it_beside_its_passage_and_in_the_table_of_sources() -> None:
    made = report("retracted")
    numbered = number_report_answer(made)
    assert numbered
    (block,) = build_blocks(numbered, collect_row_cells(made), None)
    (cite,) = block["cites"]
    assert cite["notice"] == notice_text(made.evidence[0]) != ""
    assert "Heather Piwowar" in cite["facts"] and "2018" in cite["facts"]
    assert cite["host"] == "doi.org" and cite["url"].startswith("https://doi.org/10.7717")
    found: AnswerSupport = check_support(numbered)
    row = _table_row(SourceRow(1, made.evidence[0], 1), found)
    assert row["name"] == f"{cite['notice']} · The state of OA"
    assert build_blocks(number_report_answer(report("")), collect_row_cells(made), None)[0]["cites"][0]["notice"] == ""  # type: ignore[arg-type]


def test_a_model_that_writes_is_told() -> None:
    (piece,) = passage_blocks(report("retracted").evidence)
    cite = PassageReference(evidence=report("").evidence[0].id, passage="p1", end=len(TEXT))
    assert "RETRACTED · The state of OA · PeerJ · 2018" in piece.render({cite: "h1"})


def test_a_program_that_asks_over_mcp_is_told() -> None:
    found = run_result(report("retracted"))
    assert found.structuredContent is not None
    assert found.structuredContent["citations"][0]["notice"] == "retracted"


def test_of_two_descriptions_of_a_source_the_graver_notice_holds() -> None:
    registry = EvidenceRegistry()
    page = {"notice": "corrected", "paper": None, "kind": "web", "further_url": ""}
    registry.add(ITEM.model_copy(update=page))
    both = registry.add(ITEM.model_copy(update={"notice": "retracted"}))
    assert (both.notice, both.paper, len(registry)) == ("retracted", PAPER, 1)
    assert both.further_url == ITEM.further_url


@each_row("notice", WORDS)
def test_it_stands_beside_the_quote_itself(notice: PublicationNotice) -> None:
    told = number_report_answer(report(notice))
    assert told is not None
    (block,) = [one for one in build_blocks(told, collect_row_cells(report(notice)), None) if one["kind"] == "quote"]
    assert block["cites"][0]["where"].startswith(notice_text(told.sources[0].evidence))
    line = next(x for x in report_markdown(report(notice), told).splitlines() if x.startswith(f"- “{TEXT}"))
    assert f"— **{WORDS[notice][0]}" in line
