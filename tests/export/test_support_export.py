"""What stands behind each sentence is said in the files: a line, quiet marks, and fields."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from research.citations.answer_tree import build_answer_tree
from research.citations.numbering import CitedAnswer, NumberedSpan, number_citations
from research.citations.registry import collect_evidence, evidence_id
from research.citations.support import SUPPORT_ACCURACY, AnswerSupport, CheckedSentence, check_support
from research.citations.tree_sentences import find_sentences, insert_marks
from research.core.records import (
    Answer,
    AnswerReview,
    Evidence,
    Finding,
    Language,
    Passage,
    PassageReference,
    Report,
    Run,
    RunOptions,
    SentenceRepair,
    Span,
    SupportGap,
    Task,
)
from research.export.markdown import _doubt_mark, answer_markdown, report_markdown
from research.export.options import ExportOptions
from research.export.report_json import report_json
from research.export.report_texts import report_translator
from research.export.tree_markdown import render_spans

NOW = datetime(2025, 3, 1, 8, 5, tzinfo=UTC)
PAGE = "https://example.org/palace"
PASSAGE = "The palace opened in 1925. A ticket costs 60 yuan from April to October."
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def made(*spans: Span, language: Language = "en", grounding: str = "") -> Report:
    passages = [Passage(id="p", text=PASSAGE, end=len(PASSAGE))]
    passages += [Passage(id="g", origin="grounding", text=grounding)] if grounding else []
    page = Evidence(
        id=evidence_id("web", PAGE, ""), kind="web", title="The palace", url=PAGE, retrieved=NOW,
        passages=tuple(passages),
    )  # fmt: skip
    answer = Answer(title="", language=language, author="m", spans=spans, created=NOW)
    run = Run(
        id="r", conversation="c", owner="o", question="Palace?", options=RunOptions(), status="done",
        created=NOW,
    )  # fmt: skip
    task = Task(id="1", source="web", query="q")
    findings = (Finding(task=task, evidence=(page,), started=NOW),)
    return Report(run=run, findings=findings, answer=answer)


def numbered(report: Report) -> CitedAnswer:
    assert report.answer
    return number_citations(report.answer, collect_evidence(report.findings))


def text(words: str, *passages: str, unsourced: bool = False) -> Span:
    page = evidence_id("web", PAGE, "")
    cites = tuple(PassageReference(evidence=page, passage=passage) for passage in passages)
    return Span(kind="text", text=words, references=cites, unsourced=unsourced)


THREE = (
    text("The palace opened in 1925.", "p"),
    text(" Elephants guard submarines under the northern gate.", "p"),
    text(" It is painted red every third winter. It closes at noon.", unsourced=True),
)


def test_doubtful_sentences_have_quiet_marks_and_others_none() -> None:
    report = made(*THREE)
    assert (
        "The palace opened in 1925. [1] Elephants guard submarines under the northern gate. [1] "
        "(not supported by what is cited) It is painted red every third winter. (no source) It closes at noon. "
        "(no source)\n" in report_markdown(report, numbered(report))
    )


def test_what_the_span_says_already_is_not_said_twice() -> None:
    written = report_markdown(made(*THREE), numbered(made(*THREE)))
    assert "(no source) (" not in written
    both = made(text("Elephants guard submarines", "p"), text(" and the gate.", unsourced=True))
    assert "not supported by" not in report_markdown(both, numbered(both))


@pytest.mark.parametrize(
    ("language", "words"),
    [("zh", " （数字与来源不符：来源为 80）"), ("en", " (figure differs: 80 in the source)")],
)
def test_a_figure_that_differs_is_told(language: Language, words: str) -> None:
    lack = SupportGap(kind="figure", text="60", found="80")
    found = CheckedSentence(at=0, text="60", status="differs", gaps=(lack,))
    assert _doubt_mark(found, (), report_translator(language)) == words
    hostile = found.model_copy(update={"gaps": (lack.model_copy(update={"found": "[x](y) | z"}),)})
    assert "\\[x\\](y) \\| z" in _doubt_mark(hostile, (), report_translator(language))
    long = found.model_copy(update={"gaps": (lack.model_copy(update={"found": "9" * 50}),)})
    assert "9" not in _doubt_mark(long, (), report_translator(language))


@pytest.mark.parametrize(
    ("language", "start"),
    [
        (
            "en",
            "1 of 4 sentences supported, 1 not supported, 2 without a source. This is an automatic hint",
        ),
        ("zh", "4 句中 1 句有来源支持，1 句所引段落不支持，2 句无来源。此为自动提示"),
    ],
)
def test_the_answer_begins_with_the_counts_and_how_far_they_can_be_trusted(language: Language, start: str) -> None:
    report = made(*THREE, language=language)
    written = report_markdown(report, numbered(report))
    line = next(line for line in written.splitlines() if line.startswith(start))
    assert f"{SUPPORT_ACCURACY[language].balanced * 100:.0f}%" in line
    assert written.index(line) < written.index("The palace opened")


def test_sentences_that_a_check_has_changed_leave_with_the_report() -> None:
    plain = made(*THREE)
    assert "changed by the check" not in report_markdown(plain, numbered(plain))
    assert json.loads(report_json(plain, numbered(plain)))["review"] is None
    repairs = (SentenceRepair(before="It *had* 70 gates."), SentenceRepair(before="Old.", after="New [1]."))
    review = AnswerReview(author="gemini:x", repairs=repairs)
    assert plain.answer is not None
    changed = plain.model_copy(update={"answer": plain.answer.model_copy(update={"review": review})})
    written = report_markdown(changed, numbered(changed))
    assert "- removed: “It \\*had\\* 70 gates.”\n" in written
    assert "- rewritten: “Old.” → “New \\[1\\].”" in written
    kept = json.loads(report_json(changed, numbered(changed)))["review"]["repairs"]
    assert [item["before"] for item in kept] == ["It *had* 70 gates.", "Old."]


def test_quotes_alone_need_no_hint_and_nothing_claimed_no_line() -> None:
    page = evidence_id("web", PAGE, "")
    quote = Span(
        kind="quote",
        text="The palace opened in 1925.",
        references=(PassageReference(evidence=page, passage="p"),),
    )
    written = report_markdown(made(quote), numbered(made(quote)))
    assert "Sentences: 1, each verbatim from its source.\n" in written
    assert "hint" not in written
    silent = made(Span(kind="missing", text=""))
    assert "hint" not in report_markdown(silent, numbered(silent))


def test_the_json_has_every_sentence_with_what_stands_behind_it() -> None:
    report = made(*THREE)
    data = json.loads(report_json(report, numbered(report)))
    assert data["support"]["accuracy"] == SUPPORT_ACCURACY["en"].model_dump()
    counts = data["support"]["counts"]
    assert counts == {
        "total": 4,
        "quoted": 1,
        "supported": 0,
        "unclear": 0,
        "unsupported": 1,
        "differs": 0,
        "none": 2,
    }
    first, unsupported, none, _ = data["support"]["sentences"]
    assert set(first) == {
        "at", "text", "status", "numbers", "gaps", "evidence", "passage", "start", "end", "ruled",
        "reason",
    }  # fmt: skip
    assert PASSAGE[first["start"] : first["end"]] == first["text"] == "The palace opened in 1925."
    assert (unsupported["status"], unsupported["numbers"], none["evidence"]) == (
        "unsupported",
        [1],
        "",
    )
    assert "not supported" not in data["answer"]
    unwritten = report.model_copy(update={"answer": None})
    assert json.loads(report_json(unwritten, None))["support"] is None


# Any text


WRITTEN = st.lists(
    st.sampled_from(
        ["A fact of 1925. ", "另一句有40元。", "**bold. and** ", "\n\n", "\n- item. Two. ", "\n1. x. ", "`a.b` ",
         "\n\n| a | b |\n|---|---|\n| c. d | e |\n", "# head\n", "_x_. ", "[1] ", "(y). ", "\n> said. So. ", "~~s~~. ", "！？"]
    ) | st.text(max_size=6),
    max_size=8,
).map("".join)  # fmt: skip


@given(st.lists(WRITTEN, min_size=1, max_size=3), st.sets(st.integers(0, 12)))
@settings(max_examples=300, deadline=None)
def test_marks_change_nothing_but_that_they_are_there(words: list[str], chosen: set[int]) -> None:
    spans = [NumberedSpan(span=text(word), numbers=(1,)) for word in words]
    nodes = build_answer_tree(spans)
    count = len(find_sentences(nodes))
    own = {at for at in chosen if at < count}
    doubts = {at: f" (weak{at}x)" for at in own}
    with_marks = render_spans(spans, lambda item: " [1]", insert_marks(nodes, own), doubts)
    without = render_spans(spans, lambda item: " [1]")
    assert _shown(re.sub(r"\(weak\d+x\)", "", _text(with_marks))) == _shown(_text(without))
    for at in own:
        assert with_marks.count(f"(weak{at}x)") == 1


def _text(written: str) -> str:
    tokens = MARKDOWN.parse(written)
    every = [item for token in tokens for item in (token, *(token.children or []))]
    return "".join(item.content for item in every if item.type != "inline")


def _shown(words: str) -> str:
    return re.sub(r"[\s*~]", "", words)


# Footnotes


NOTES = MarkdownIt("commonmark").enable(["table", "strikethrough"]).use(footnote_plugin)


def test_citations_can_be_footnotes() -> None:
    report = made(
        text("The palace opened in 1925.", "p"), text(" A ticket is 60 yuan.", "p", "g"),
        grounding="It says 60 yuan.",
    )  # fmt: skip
    cited = numbered(report)
    written = report_markdown(report, cited, ExportOptions(citation_format="footnotes"))
    assert "The palace opened in 1925. [^1] A ticket is 60 yuan. [^1]" in written
    assert "## Sources" not in written
    tokens = NOTES.parse(written)
    kinds = [token.type for token in tokens]
    assert kinds.count("footnote_open") == len(cited.sources) == 1
    marks = [c.type for token in tokens for c in token.children or []]
    assert marks.count("footnote_ref") == 2
    note = tokens[kinds.index("footnote_open") : kinds.index("footnote_close")]
    said = "".join(token.content for token in note)
    assert "[The palace](https://example.org/palace) — web page" in said
    assert "It says 60 yuan." in said
    assert "[^" not in report_markdown(report, cited)


def test_every_citation_of_many_sources_is_a_footnote_that_is_there() -> None:
    report = made(*THREE)
    page = report.findings[0].evidence[0]
    urls = [f"https://example.org/{n}" for n in range(12)]
    pages = tuple(page.model_copy(update={"id": evidence_id("web", url, ""), "url": url}) for url in urls)
    spans = tuple(
        Span(kind="text", text=f"Fact {n}. ", references=(PassageReference(evidence=item.id, passage="p"),))
        for n, item in enumerate(pages)
    )
    answer = report.answer and report.answer.model_copy(update={"spans": spans})
    finding = report.findings[0].model_copy(update={"evidence": pages})
    report = report.model_copy(update={"findings": (finding,), "answer": answer})
    tokens = NOTES.parse(report_markdown(report, numbered(report), ExportOptions(citation_format="footnotes")))
    opened = [t for t in tokens if t.type == "footnote_open"]
    assert [int(t.meta["label"]) for t in opened] == list(range(1, 13))


def test_a_report_that_cites_nothing_says_so_with_footnotes_too() -> None:
    report = made(Span(kind="text", text="Hello."))
    assert "The answer cites no source." in report_markdown(
        report, numbered(report), ExportOptions(citation_format="footnotes")
    )


def test_the_answer_alone_has_no_marks() -> None:
    cited = numbered(made(*THREE))
    assert check_support(cited).doubtful_sentences
    assert "not supported" not in answer_markdown(cited)
    assert AnswerSupport().counts.total == 0
