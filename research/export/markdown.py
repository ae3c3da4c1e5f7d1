"""A report as Markdown, for people.

All text except the fixed words comes from outside and is escaped: it cannot start a link, image,
tag or heading. Text by a model may have the formatting that `tree_markdown` renders, and no other.
Writes no file, and never takes a file name from a question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from research.citations.disagreements import find_disagreements
from research.citations.numbering import CitedAnswer, CitedSource, NumberedSpan, is_verbatim
from research.citations.support import (
    SUPPORT_ACCURACY,
    AnswerSupport,
    CheckedSentence,
    SpanGroup,
    StatusCounts,
    check_support,
    mark_doubtful_sentences,
)
from research.core.document_names import page_unit
from research.core.i18n import Translator
from research.core.records import Evidence, Language, Passage, Report, SpanKind
from research.export import news_markdown
from research.export.database_rows_markdown import database_blocks
from research.export.disagreements_markdown import disagreement_blocks
from research.export.evidence_summary import summarize_evidence
from research.export.markdown_escaping import (
    bullet_list,
    escape_inline,
    escape_keeping_formulas,
    escape_lines_keeping_formulas,
    escape_markdown,
)
from research.export.options import DEFAULT_OPTIONS, ExportOptions
from research.export.places_markdown import place_blocks
from research.export.process_markdown import failure_blocks, plan_blocks
from research.export.provenance_markdown import provenance_blocks, usage_blocks
from research.export.report_facts import collect_report_evidence, report_language
from research.export.report_texts import report_translator
from research.export.sources_markdown import note_blocks, source_blocks, source_name
from research.export.tree_markdown import render_spans

MAX_TITLE_CHARS = 80
MAX_FIGURE_CHARS = 40  # a mark omits a longer figure of a source

# --- The report as Markdown ---------------------------------------------------------------------


def markdown_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Render the report as a file, with links to the list of sources unless the options say otherwise."""
    return report_markdown(report, cited, replace(options, citation_format=options.citation_format or "links"))


def footnotes_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Render the report with its citations as footnotes."""
    return report_markdown(report, cited, replace(options, citation_format="footnotes"))


def report_markdown(
    report: Report,
    cited: CitedAnswer | None,
    options: ExportOptions = DEFAULT_OPTIONS,
    *,
    answer_support: AnswerSupport | None = None,
) -> str:
    """Render the whole report in the language of the answer, else of the question.

    Args:
        cited: the numbered answer. Without it the run ended without an answer: the report says so
            and lists the plan and the evidence.
        options: the citation format is "numbers"; "links" to the list of sources, which GitHub,
            pandoc and editors follow; or "footnotes", as these and Obsidian know them.
        answer_support: support of the answer's sentences, if it is known already.
    """
    language, registry = report_language(report, cited), collect_report_evidence(report)
    translate = report_translator(language, options.citation_format or "numbers")
    blocks = [
        f"# {_short_title(report.run.question) or translate('untitled')}",
        f"## {translate('question')}",
        *escape_lines_keeping_formulas(report.run.question),
        *news_markdown.story_change_blocks(registry, cited, translate),
        f"## {translate('answer')}",
        *(_answer_blocks(report, cited, answer_support, translate) if cited else _no_answer_block(report, translate)),
        *disagreement_blocks(find_disagreements(report, cited), registry, translate),
        *news_markdown.news_blocks(report, registry, cited, translate),
        *(source_blocks(cited, translate, options) if cited else ()),
        *note_blocks(report, registry, cited, translate),
        *place_blocks(report, cited, translate),
        *database_blocks(report, translate, language),
        *_review_blocks(cited, translate),
        *failure_blocks(report, cited, translate),
        *plan_blocks(report, translate, include_evidence=cited is None),
        *usage_blocks(report, translate),
        *provenance_blocks(report, cited, translate),
    ]
    return "\n\n".join(blocks) + "\n"


def message_markdown(report: Report, cited: CitedAnswer) -> str:
    """Render the answer as a message of a conversation, with its sources and failures."""
    translate = report_translator(report_language(report, cited))
    blocks = [
        *_answer_blocks(report, cited, None, translate),
        *(source_blocks(cited, translate, DEFAULT_OPTIONS) if cited.sources else ()),
        *failure_blocks(report, cited, translate),
    ]
    return "\n\n".join(blocks)


def _short_title(question: str) -> str:
    line = " ".join(question.split())
    return escape_keeping_formulas(line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1].rstrip() + "…")


# --- The answer


def answer_markdown(cited: CitedAnswer) -> str:
    """Render only the answer with citations as [n], without its title and marks of support."""
    return "\n\n".join(_answer_body(cited, report_translator(cited.answer.language), AnswerSupport()))


def _answer_blocks(
    report: Report, cited: CitedAnswer, answer_support: AnswerSupport | None, translate: Translator
) -> Iterator[str]:
    title = escape_keeping_formulas(cited.answer.title)
    if title and title != escape_keeping_formulas(report.run.question):
        yield f"**{title}**"
    opening = summarize_evidence(report, cited)
    if opening.text:
        yield escape_markdown(opening.text)
    support = check_support(cited) if answer_support is None else answer_support
    yield from _support_summary(support.counts, cited.answer.language, translate)
    yield from _answer_body(cited, translate, support, opening.replaced_spans)


def _support_summary(counts: StatusCounts, language: Language, translate: Translator) -> Iterator[str]:
    """State how many sentences have which support, and the accuracy of that check."""
    if not counts.total:
        return
    if counts.quoted == counts.total:
        yield translate("support.quoted", total=counts.total)
        return
    facts = [translate("support", good=counts.quoted + counts.supported, total=counts.total)]
    facts += [
        translate(f"support.{status}", count=count)
        for status, count in counts._asdict().items()
        if count and status not in ("total", "quoted", "supported")
    ]
    yield translate(
        "support hint",
        what=translate("comma").join(facts),
        percent=f"{SUPPORT_ACCURACY[language].balanced:.0%}"[:-1],
    )


def _answer_body(
    cited: CitedAnswer,
    translate: Translator,
    answer_support: AnswerSupport,
    omitted_spans: frozenset[int] = frozenset(),
) -> Iterator[str]:
    """Yield the spans of an answer except those that its opening line replaces."""
    sources = {source.number: source for source in cited.sources}
    doubts = {
        sentence.at: _doubt_mark(sentence, cited.spans, translate) for sentence in answer_support.doubtful_sentences
    }
    trees = (span_group for span_group in mark_doubtful_sentences(cited, answer_support) if span_group.is_markdown)
    placed = enumerate(cited.spans)
    for write, group in groupby(placed, key=lambda item: _SPAN_WRITERS[item[1].span.kind]):
        items = [item for at, item in group if at not in omitted_spans]
        if write is None:
            yield from _text_blocks(next(trees), translate, doubts)
        elif items:
            yield from write(items, sources, translate)


def _doubt_mark(sentence: CheckedSentence, spans: Sequence[NumberedSpan], translate: Translator) -> str:
    """Return the mark behind a doubtful sentence, "" if a citation has that mark already."""
    if sentence.status == "differs":
        figure = next((gap.found for gap in sentence.gaps if gap.found.strip()), "")
        escaped = escape_inline(" ".join(figure.split()))
        short = escaped if len(escaped) <= MAX_FIGURE_CHARS else ""
        return " " + (translate("differs from", found=short) if short else translate("differs"))
    if any(spans[at].unsourced for at in sentence.spans):
        return ""
    return " " + translate("no source" if sentence.status == "none" else sentence.status)


def _heading_blocks(spans: list[NumberedSpan], _: dict[int, CitedSource], translate: Translator) -> Iterator[str]:
    for item in spans:
        yield f"### {escape_keeping_formulas(item.span.text)}{_citation_marks(item, translate)}"


def _notice_blocks(spans: list[NumberedSpan], _: dict[int, CitedSource], translate: Translator) -> Iterator[str]:
    for item in spans:
        yield f"> {escape_keeping_formulas(item.span.text)}{_citation_marks(item, translate)}"


def _list_blocks(spans: list[NumberedSpan], sources: dict[int, CitedSource], translate: Translator) -> Iterator[str]:
    """Yield quotes and missing parts as a list."""
    yield from bullet_list(
        _quote_line(item, sources, translate) if item.span.kind == "quote" else _missing_line(item, translate)
        for item in spans
    )


def _text_blocks(group: SpanGroup, translate: Translator, doubt_marks: Mapping[int, str]) -> Iterator[str]:
    text = render_spans(
        group.spans,
        lambda item: _citation_marks(item, translate),
        group.nodes,
        doubt_marks,
        no_source_text=" " + translate("no source"),
        format_unsourced_rows=lambda count: translate("no source rows", count=count),
    )
    if text:
        yield text


def _citation_marks(item: NumberedSpan, translate: Translator) -> str:
    """Return the citations of a span. A space before each keeps a "!" from making an image."""
    unsourced = " " + translate("no source") if item.unsourced else ""
    return "".join(" " + translate("cite", number=number) for number in item.numbers) + unsourced


def _quote_line(item: NumberedSpan, sources: dict[int, CitedSource], translate: Translator) -> str:
    words = (
        escape_keeping_formulas(item.span.text)
        if item.span.generated
        else f"“{escape_keeping_formulas(item.span.text)}”"
    )
    words += _citation_marks(item, translate)
    places = [_quote_location(item, sources[number].evidence, translate) for number in item.numbers]
    return f"{words} — {translate('semicolon').join(places)}" if places else words


def _quote_location(item: NumberedSpan, evidence: Evidence, translate: Translator) -> str:
    """Return the title, section and page of a quote, as far as they are known."""
    passage = quoted_passage(item, evidence)
    heading = passage.heading if passage else ""
    page = passage.page_range if passage else ""
    notice = translate(f"notice.{evidence.notice}") if evidence.notice else ""
    facts = [notice, escape_markdown(source_name(evidence, translate)), escape_markdown(heading)]
    facts.append(translate("page", page=page, unit=page_unit(evidence.locator)) if page else "")
    facts.append(translate("ocr") if passage and passage.ocr else "")
    return " · ".join(word for word in facts if word)


def quoted_passage(item: NumberedSpan, evidence: Evidence) -> Passage | None:
    """Return the cited passage of a source that contains the quote, or None."""
    cited = {cite.passage for cite in item.span.references}
    matches = (p for p in evidence.passages if p.id in cited and is_verbatim(item.span.text, p.text))
    return next(matches, None)


def _missing_line(item: NumberedSpan, translate: Translator) -> str:
    """Return the note on a part without evidence: not found, or not searched."""
    text = escape_keeping_formulas(item.span.text) or translate("not found") + translate("stop")
    return text + _citation_marks(item, translate)


_SpanWriter = Callable[[list[NumberedSpan], dict[int, CitedSource], Translator], Iterator[str]]
_SPAN_WRITERS: dict[SpanKind, _SpanWriter | None] = {
    "heading": _heading_blocks,
    "notice": _notice_blocks,
    "quote": _list_blocks,
    "missing": _list_blocks,
    "text": None,  # rendered by `_text_blocks` from its tree
}


def _review_blocks(cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield the sentences that a model's review removed or rewrote."""
    review = cited.answer.review if cited else None
    if review and review.repairs:
        yield f"## {translate('review')}"
        yield from bullet_list(
            translate(
                "review.rewritten" if repair.after else "review.dropped",
                before=escape_markdown(repair.before),
                after=escape_markdown(repair.after),
            )
            for repair in review.repairs
        )


def _no_answer_block(report: Report, translate: Translator) -> Iterator[str]:
    yield translate("no answer", status=translate(f"status.{report.run.status}"))
