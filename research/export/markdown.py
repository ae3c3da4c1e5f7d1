"""A report as Markdown, for people.

All text except the fixed words comes from outside and is escaped: it cannot start a link, image,
tag or heading. Text by a model may have the formatting that `tree_markdown` renders, and no other.
Writes no file, and never takes a file name from a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from math import isfinite
from typing import NamedTuple
from urllib.parse import urlsplit

from research.citations.disagreements import find_disagreements as disagreements
from research.citations.numbering import CitedAnswer, CitedSource, NumberedSpan, is_verbatim
from research.citations.registry import EvidenceRegistry, collect_evidence
from research.citations.support import (
    SUPPORT_ACCURACY,
    AnswerSupport,
    CheckedSentence,
    SpanGroup,
    StatusCounts,
    check_support,
    mark_doubtful_sentences,
)
from research.core.i18n import Translator
from research.core.records import (
    ATTRIBUTIONS,
    Evidence,
    Failure,
    FailureHint,
    FailureReason,
    Finding,
    Language,
    Paper,
    Passage,
    Place,
    Reflection,
    Report,
    RunOptions,
    SearchArea,
    SpanKind,
    Task,
    Usage,
)
from research.core.text.tokenizer import detect_language
from research.core.urls import canonical_url
from research.export import coverage
from research.export.database_rows_markdown import database_blocks
from research.export.disagreements import disagreement_blocks
from research.export.evidence_summary import summarize_evidence
from research.export.failures import FailureGroup, group_failures
from research.export.markdown_escaping import (
    LINE_BREAKS,
    bullet_list,
    escape_inline,
    escape_keeping_formulas,
    escape_lines_keeping_formulas,
    escape_markdown,
    join_facts,
    markdown_link,
)
from research.export.report_texts import CitationFormat, has_report_text, report_translator
from research.export.tree_markdown import render_spans

MAX_QUERIES = 5  # queries listed for failures with the same sentence
MAX_TITLE_CHARS = 80
MAX_PLACES = 200  # rows of the table of places
MAX_PASSAGE_CHARS = 80  # of a passage quoted above a note
MAX_AUTHORS = 3  # authors of a paper named in the list of sources
MAX_FIGURE_CHARS = 40  # a mark omits a longer figure of a source

# --- The report as Markdown ---------------------------------------------------------------------


def report_markdown(
    report: Report,
    cited: CitedAnswer | None,
    *,
    citation_format: CitationFormat = "numbers",
    answer_support: AnswerSupport | None = None,
) -> str:
    """Render the whole report in the language of the answer, else of the question.

    Args:
        cited: the numbered answer. Without it the run ended without an answer: the report says so
            and lists the plan and the evidence.
        citation_format: "numbers"; "links" to the list of sources, which GitHub, pandoc and editors
            follow; or "footnotes", as these and Obsidian know them.
        answer_support: support of the answer's sentences, if it is known already.
    """
    language, registry = report_language(report, cited), collect_report_evidence(report)
    translate = report_translator(language, citation_format)
    blocks = [
        f"# {_short_title(report.run.question) or translate('untitled')}",
        f"## {translate('question')}",
        *_paragraph_lines(report.run.question),
        *coverage.change_blocks(registry, cited, translate),
        f"## {translate('answer')}",
        *(_answer_blocks(report, cited, answer_support, translate) if cited else _no_answer_block(report, translate)),
        *disagreement_blocks(disagreements(report, cited), registry, translate),
        *coverage.coverage_blocks(report, registry, cited, translate),
        *(_source_blocks(cited, translate, citation_format) if cited else ()),
        *_note_blocks(report, registry, cited, translate),
        *_place_blocks(report, cited, translate),
        *database_blocks(report, translate, language),
        *_review_blocks(cited, translate),
        *_failure_blocks(report, cited, translate),
        *_plan_blocks(report, translate, include_evidence=cited is None),
        *_usage_blocks(report, translate),
        *_provenance_blocks(report, cited, translate),
    ]
    return "\n\n".join(blocks) + "\n"


def message_markdown(report: Report, cited: CitedAnswer) -> str:
    """Render the answer as a message of a conversation, with its sources and failures."""
    translate = report_translator(report_language(report, cited))
    blocks = [
        *_answer_blocks(report, cited, None, translate),
        *(_source_blocks(cited, translate, "numbers") if cited.sources else ()),
        *_failure_blocks(report, cited, translate),
    ]
    return "\n\n".join(blocks)


def report_language(report: Report, cited: CitedAnswer | None) -> Language:
    """Return the language of the answer, else the detected language of the question."""
    return cited.answer.language if cited else detect_language(report.run.question)


def _short_title(question: str) -> str:
    line = " ".join(question.split())
    return escape_keeping_formulas(line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1].rstrip() + "…")


def _paragraph_lines(text: str) -> Iterator[str]:
    """Escape outside text, each line as a paragraph of its own."""
    return escape_lines_keeping_formulas(text)


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
        figure = next((gap.found for gap in sentence.lacks if gap.found.strip()), "")
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
        escape_keeping_formulas(item.span.text) if item.span.made else f"“{escape_keeping_formulas(item.span.text)}”"
    )
    words += _citation_marks(item, translate)
    places = [_quote_location(item, sources[number].evidence, translate) for number in item.numbers]
    return f"{words} — {translate('semicolon').join(places)}" if places else words


def _quote_location(item: NumberedSpan, evidence: Evidence, translate: Translator) -> str:
    """Return the title, section and page of a quote, as far as they are known."""
    passage = quoted_passage(item, evidence)
    heading = passage.heading if passage else ""
    page = passage.page if passage else None
    notice = translate(f"notice.{evidence.notice}") if evidence.notice else ""
    facts = [notice, escape_markdown(_source_name(evidence, translate)), escape_markdown(heading)]
    facts.append("" if page is None else translate("page", page=page))
    facts.append(translate("ocr") if passage and passage.ocr else "")
    return " · ".join(word for word in facts if word)


def quoted_passage(item: NumberedSpan, evidence: Evidence) -> Passage | None:
    """Return the cited passage of a source that contains the quote, or None."""
    cited = {cite.passage for cite in item.span.cites}
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


# --- Sources


def _source_blocks(cited: CitedAnswer, translate: Translator, citation_format: CitationFormat) -> Iterator[str]:
    if citation_format != "footnotes" or not cited.sources:  # renderers of footnotes add their own heading
        yield f"## {translate('sources')}"
    lines = [line for s in cited.sources for line in _source_lines(s, translate, citation_format)]
    yield "\n".join(lines) or translate("nothing cited")


def _source_lines(source: CitedSource, translate: Translator, citation_format: CitationFormat) -> Iterator[str]:
    """Yield the entry of a source, then its passages worded by a search model.

    The page of the source need not contain the words of a search model.
    """
    is_footnote = citation_format == "footnotes"
    number = f"[^{source.number}]: " if is_footnote else f"{source.number}. "
    indent = 4 if is_footnote else len(number)
    anchor = f'<a id="s{source.number}"></a>' if citation_format == "links" else ""
    yield number + anchor + _source_line(source.evidence, translate)
    for passage in source.evidence.passages:
        if passage.origin == "grounding":
            yield f"{' ' * indent}- “{escape_markdown(passage.text)}” — {translate('grounding')}"


def _source_name(evidence: Evidence, translate: Translator) -> str:
    return evidence.title.strip() or canonical_url(evidence.url) or translate("untitled")


def _source_line(evidence: Evidence, translate: Translator) -> str:
    """Format a source: its title, linked if it has an address, and its facts."""
    facts = _map_facts(evidence, translate) if evidence.kind == "place" else _source_facts(evidence, translate)
    known = translate("comma").join(fact for fact in facts if fact)
    return f"{markdown_link(_source_name(evidence, translate), evidence.url, keep_formulas=True)} — {known}"


def _map_facts(evidence: Evidence, translate: Translator) -> Iterator[str]:
    """Yield facts about the evidence of a map service: a place, a route, the weather."""
    place = evidence.place
    sample = place is not None and place.provider == "offline"  # the service name says that it is a sample
    if place and place.provider in ATTRIBUTIONS:
        yield markdown_link(*ATTRIBUTIONS[place.provider])
    elif place and not sample:
        yield translate("poi", service=_service_label(place.provider, translate))
    else:
        yield translate("source.offline") if sample else escape_markdown(evidence.publisher) or translate("kind.place")
    yield translate("looked up", date=to_utc(evidence.retrieved).date().isoformat())
    yield translate("sample") if evidence.sample and not sample else ""


def _source_facts(evidence: Evidence, translate: Translator) -> list[str]:
    retrieved = translate("retrieved", date=to_utc(evidence.retrieved).date().isoformat())
    published, paper = evidence.published, evidence.paper
    day = published.isoformat() if published else str(paper.year or "") if paper else ""
    dated = translate("published", date=day) if day else retrieved
    host = "" if evidence.expires else urlsplit(canonical_url(evidence.url)).hostname or ""
    return [
        translate(f"notice.{evidence.notice}") if evidence.notice else "",
        translate(f"kind.{evidence.kind}"),
        _author_names(paper, translate) if paper else "",
        escape_markdown(evidence.publisher) or escape_markdown(host),
        dated,
        retrieved if evidence.expires and published else "",
        *(_paper_facts(paper, translate) if paper else ()),
        translate("sample") if evidence.sample else "",
        translate("expires") if evidence.expires else "",
        translate(f"standing.{evidence.standing}") if evidence.standing else "",
        translate("see also", link=markdown_link(evidence.also, evidence.also)) if evidence.also else "",
    ]


def _author_names(paper: Paper, translate: Translator) -> str:
    """Return the first authors of a paper."""
    names = translate("comma").join(escape_markdown(author.display_name) for author in paper.authors[:MAX_AUTHORS])
    return translate("and others", names=names) if len(paper.authors) > MAX_AUTHORS else names


def _paper_facts(paper: Paper, translate: Translator) -> Iterator[str]:
    """Yield the DOI of a paper, and its citation count with the counting service."""
    yield f"DOI {escape_markdown(paper.doi)}" if paper.doi else ""
    if paper.cited is not None and paper.counted:
        service = _service_label(paper.counted, translate)
        yield translate("cited by", n=f"{paper.cited:,}", service=service)


# --- Notes of the reader


def _note_blocks(
    report: Report, registry: EvidenceRegistry, cited: CitedAnswer | None, translate: Translator
) -> Iterator[str]:
    """Yield the reader's notes, each below its subject. Notes are never cited."""
    if not report.remarks:
        return
    numbers = {source.evidence.id: source.number for source in cited.sources} if cited else {}
    yield f"## {translate('remarks')}"
    yield translate("remarks own")
    for note in report.remarks:
        day = to_utc(note.made).date().isoformat()
        item = registry.get(note.evidence)
        if item is None:
            yield translate("remark answer", date=day)
        else:
            passage = registry.passage(note.evidence, note.passage)
            facts = [
                translate("remark source", n=numbers[item.id]) if item.id in numbers else "",
                escape_markdown(_source_name(item, translate)),
                escape_markdown(passage.heading) if passage else "",
                f"“{escape_markdown(_shorten(passage.text))}”" if passage and passage.text.strip() else "",
            ]
            yield translate("remark passage", what=" · ".join(filter(None, facts)), date=day)
        lines = [escape_markdown(line) for line in LINE_BREAKS.split(note.text) if line.strip()]
        yield "\n>\n".join(f"> {line}" for line in lines)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_PASSAGE_CHARS else f"{line[: MAX_PASSAGE_CHARS - 1].rstrip()}…"


# --- Places


def collect_report_evidence(report: Report) -> EvidenceRegistry:
    """Collect the evidence of findings and report, each source once."""
    registry = collect_evidence(report.findings)
    for item in report.evidence:
        registry.add(item)
    return registry


def _place_blocks(report: Report, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield a table of the places, cited ones first."""
    registry = collect_report_evidence(report)
    numbers = {source.evidence.id: source.number for source in cited.sources} if cited else {}
    items = [source.evidence for source in cited.sources] if cited else []
    items += [item for item in registry if item.id not in numbers]
    places = [(item, item.place) for item in items if item.place]
    if not places:
        return
    centre_by_place = _centres_by_place(report, registry)
    centres = dict.fromkeys(centre_by_place.values())
    has_several_centres = len({centre.name for centre in centres}) > 1
    yield f"## {translate('places')}"
    yield from bullet_list(_centre_line(centre, translate) for centre in centres)
    head = [translate(f"place.{column}") for column in _PLACE_COLUMNS]
    rows = [head, ["---"] * len(head)]
    for item, place in places[:MAX_PLACES]:
        number = translate("cite", number=numbers[item.id]) if item.id in numbers else "—"
        centre = centre_by_place.get(item.id) if has_several_centres else None
        rows.append([number, *_place_row(item, place, centre, translate)])
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if len(places) > MAX_PLACES:
        yield translate("places left out", count=len(places) - MAX_PLACES)


_PLACE_COLUMNS = ("number", "name", "category", "address", "distance", "rating", "cost", "hours", "coordinates")


def _centres_by_place(report: Report, registry: EvidenceRegistry) -> dict[str, SearchArea]:
    """Map evidence ids of places to the search area in which they were first found."""
    centre_by_place: dict[str, SearchArea] = {}
    for finding in report.findings:
        for item in finding.evidence:
            known = registry.get(item.id)
            if finding.centre and item.place and known:
                centre_by_place.setdefault(known.id, finding.centre)
    return centre_by_place


def _centre_line(centre: SearchArea, translate: Translator) -> str:
    position = _format_position(centre)
    radius = translate("radius", far=_format_distance(centre.radius, translate)) if centre.radius > 0 else ""
    if centre.asked:
        radius = translate("widened", radius=radius, asked=_format_distance(centre.asked, translate))
    facts = [escape_markdown(centre.name) or translate("untitled"), position, radius]
    return translate("centre", what=translate("comma").join(fact for fact in facts if fact))


def _place_row(item: Evidence, place: Place, search_centre: SearchArea | None, translate: Translator) -> Iterator[str]:
    """Yield the cells of a place after its number, with the centre if there are several."""
    name = markdown_link(place.name.strip() or _source_name(item, translate), item.url)
    yield f"{name} · {translate('sample')}" if place.sample else name
    category = f"category.{place.category}"
    yield translate(category) if has_report_text(category) else escape_markdown(place.category)
    yield escape_markdown(" ".join(dict.fromkeys([place.city, place.district, place.address])))
    distance = "" if place.distance is None else _format_distance(place.distance, translate)
    yield (
        f"{distance} · {escape_markdown(search_centre.name)}"
        if distance and search_centre and search_centre.name.strip()
        else distance
    )
    yield _format_number(place.rating)
    yield _format_number(place.cost)
    yield escape_markdown(place.hours)
    yield _format_position(place)


def _format_position(point: Place | SearchArea) -> str:
    known = abs(point.lng) <= 180 and abs(point.lat) <= 90
    return f"{point.lat:z.6f}, {point.lng:z.6f}" if known else "—"


def _format_distance(metres: int, translate: Translator) -> str:
    """Format a distance in metres or kilometres."""
    if metres < 1_000:
        return translate("metres", count=metres)
    return translate("kilometres", count=f"{metres / 1_000:,.1f}")


def _format_number(value: float | None) -> str:
    """Format a number without trailing zeros: 60, not 60.00; "" if it is unknown."""
    if value is None or not isfinite(value):
        return ""
    return f"{value:.2f}".rstrip("0").rstrip(".")


# --- Failures


def collect_failures(report: Report, cited: CitedAnswer | None) -> tuple[Failure, ...]:
    """Return the failures of the answer, or those of every stage if there is no answer.

    A search without results has not failed.
    """
    if cited:
        return cited.answer.failures
    failures = list(report.plan.failures) if report.plan else []
    for reflection in report.reflections:
        failures += reflection.failures
    for finding in report.findings:
        failures += finding.failures
        if finding.reason and finding.reason != "empty":
            task = finding.task
            failures.append(
                Failure(
                    source=task.source,
                    query=task.query,
                    reason=finding.reason,
                    hint=finding.hint,
                    message=finding.message,
                )
            )
    return tuple(failures)


def _failure_blocks(report: Report, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield the section on failures: groups with their queries, then service messages."""
    failures = collect_failures(report, cited)
    if not failures:
        return
    groups = group_failures(failures, report_language(report, cited))
    yield f"## {translate('failures')}"
    yield from bullet_list(_failure_group_line(group, translate) for group in groups)
    details = dict.fromkeys(text for group in groups for text in group.details)
    if details:
        yield (translate("failure details") + translate("colon")).rstrip()
        yield from bullet_list(escape_markdown(text) for text in details)


def _failure_group_line(group: FailureGroup, translate: Translator) -> str:
    text = escape_markdown(group.text)
    if group.failure_count > 1:
        text += translate("aside", what=f"{group.failure_count}×")
    queries = [f"“{escape_markdown(query)}”" for query in group.queries[:MAX_QUERIES]]
    if len(group.queries) > MAX_QUERIES:
        queries.append("…")
    return text + translate("aside", what=translate("comma").join(queries)) if queries else text


def _failure_line(failure: Failure, translate: Translator) -> str:
    """Describe a failure: query, stage, service and reason."""
    stage = translate(f"stage.{failure.stage}")
    service = _service_label(failure.source, translate) if failure.source.strip() else ""
    subject = f"“{escape_markdown(failure.query)}”" if failure.query.strip() else stage
    facts = [
        stage if failure.stage != "search" and subject != stage else "",
        service,
        *_reason_facts(failure.reason, failure.hint, failure.message, translate),
    ]
    return f"{subject} — {join_facts(facts, translate)}"


def _reason_facts(
    reason: FailureReason | None, hint: FailureHint, message: str, translate: Translator
) -> Iterator[str]:
    """Yield a reason in words, and a hint."""
    if reason == "unclear" and message.strip():  # the message is a question to the user
        yield translate("reason.unclear") + translate("colon") + escape_markdown(message)
        return
    if reason == "no model" and message.strip():  # the message is complete
        yield escape_markdown(message)
        return
    yield translate(f"reason.{reason}") if reason else ""
    yield translate(f"hint.{hint}") if hint else ""
    if reason in (None, "empty"):  # other messages are in the section on failures
        yield escape_markdown(message)


def _service_label(source: str, translate: Translator) -> str:
    """Return the display name of a source, or its own name if it has none."""
    key = f"source.{source}"
    return escape_markdown(translate(key) if has_report_text(key) else source)


# --- Plan, rounds, usage and provenance


def _plan_blocks(report: Report, translate: Translator, *, include_evidence: bool) -> Iterator[str]:
    yield f"## {translate('plan')}"
    if report.plan is None:
        yield translate("no plan")
    else:
        if report.plan.edited:
            yield translate("edited")
        yield from bullet_list(_conversation_lines(report, translate))
        if report.plan.parts:
            yield translate("parts")
        yield from bullet_list(
            f"“{escape_markdown(part.text)}”" + (f" — {escape_markdown(part.subject)}" if part.subject else "")
            for part in report.plan.parts
        )
        yield from (escape_markdown(note) for note in report.plan.notes if note.strip())
    for number in round_numbers(report):
        yield from _round_blocks(report, number, translate, include_evidence=include_evidence)


def _conversation_lines(report: Report, translate: Translator) -> Iterator[str]:
    """Yield the clarification of the run and the instructions sent while it ran."""
    clarification = report.clarification
    if clarification and clarification.answer is not None:
        answer = escape_markdown(clarification.answer) or translate("clarified skipped")
        yield translate("clarified", question=escape_markdown(clarification.question), answer=answer)
    for instruction in report.instructions:
        yield translate(
            "instruction" if instruction.heeded else "instruction late", text=escape_markdown(instruction.text)
        )


def round_numbers(report: Report) -> list[int]:
    """Return the numbers of all rounds, in order."""
    planned = report.plan.tasks if report.plan else ()
    return sorted(
        {task.round for task in planned}
        | {finding.task.round for finding in report.findings}
        | {reflection.round for reflection in report.reflections}
    )


def unfinished_tasks(report: Report, round_number: int) -> list[Task]:
    """Return the planned tasks of a round that have no finding."""
    finished_ids = {finding.task.id for finding in report.findings}
    planned = report.plan.tasks if report.plan else ()
    return [task for task in planned if task.round == round_number and task.id not in finished_ids]


def _round_blocks(report: Report, round_number: int, translate: Translator, *, include_evidence: bool) -> Iterator[str]:
    yield f"### {translate('round', round=round_number)}"
    finished = [
        _finding_line(finding, translate, include_evidence=include_evidence)
        for finding in report.findings
        if finding.task.round == round_number
    ]
    unfinished = [
        _task_line(task, [translate("not run")], translate) for task in unfinished_tasks(report, round_number)
    ]
    yield from bullet_list([*finished, *unfinished])
    for reflection in report.reflections:
        if reflection.round == round_number:
            yield from _reflection_blocks(reflection, translate)


def _task_line(task: Task, outcome: list[str], translate: Translator, provider: str = "") -> str:
    service = _service_label(task.source, translate)
    service_note = translate("by", source=service, provider=_service_label(provider, translate)) if provider else ""
    reason = translate(f"why.{task.why}") if has_report_text(f"why.{task.why}") else escape_markdown(task.why)
    why = translate("why", why=reason) if task.why.strip() else ""
    return f"“{escape_markdown(task.query)}” — {join_facts([service_note or service, why, *outcome], translate)}"


def _reuse_note(finding: Finding, translate: Translator) -> str:
    """Note that a result comes from the cache, with its time, or is reused."""
    if finding.cached:
        return translate("cached", time=f"{to_utc(finding.started):%Y-%m-%d %H:%M} UTC")
    return translate("reused") if finding.reused else ""


def _finding_line(finding: Finding, translate: Translator, *, include_evidence: bool) -> str:
    count = finding.passage_count
    outcome = [
        translate("passage" if count == 1 else "passages", count=count) if not finding.reason else "",
        *_reason_facts(finding.reason, finding.hint, finding.message, translate),
        translate("seconds", seconds=f"{finding.seconds:.1f}"),
        _reuse_note(finding, translate),
    ]
    queries = translate("semicolon").join(f"“{escape_markdown(query)}”" for query in finding.asked)
    details = [
        *([translate("asked", queries=queries)] if queries else []),
        *(translate("beside", failure=_failure_line(failure, translate)) for failure in finding.failures),
        *(_found_source_line(item, translate) for item in finding.evidence if include_evidence),
    ]
    line = _task_line(finding.task, outcome, translate, finding.provider.strip())
    return "".join([line, *(f"\n  - {fact}" for fact in details)])


def _found_source_line(evidence: Evidence, translate: Translator) -> str:
    """Format a source of a finding, and note if its words are those of a search model."""
    grounding = any(passage.origin == "grounding" for passage in evidence.passages)
    return _source_line(evidence, translate) + (translate("semicolon") + translate("grounding") if grounding else "")


def _reflection_blocks(reflection: Reflection, translate: Translator) -> Iterator[str]:
    yield translate("sufficient" if reflection.sufficient else "insufficient")
    yield from _paragraph_lines(reflection.note)
    yield from bullet_list(
        [
            *(translate("gap", gap=escape_markdown(gap)) for gap in reflection.gap),
            *(translate("follow-up", query=_task_line(task, [], translate)) for task in reflection.follow_ups),
        ]
    )


class UsageTotal(NamedTuple):
    """Total usage of several calls.

    `cost` adds up the known prices in US dollars. `unpriced` counts the calls without a price,
    `estimated` those with estimated tokens.
    """

    calls: int
    input: int
    cached: int
    output: int
    searches: int
    cost: float | None  # None if no price is known
    unpriced: int
    estimated: int

    @property
    def is_complete(self) -> bool:
        """True if every price is known and every token was counted."""
        return not (self.unpriced or self.estimated)


def sum_usage(usage: Sequence[Usage]) -> UsageTotal:
    """Add up the usage of calls."""
    costs = [item.cost for item in usage if item.cost is not None]
    return UsageTotal(
        calls=sum(item.calls for item in usage),
        input=sum(item.input for item in usage),
        cached=sum(item.cached for item in usage),
        output=sum(item.output for item in usage),
        searches=sum(item.searches for item in usage),
        cost=round(sum(costs), 6) if costs or not usage else None,
        unpriced=sum(item.calls for item in usage if item.cost is None),
        estimated=sum(item.calls for item in usage if item.estimated),
    )


def _usage_blocks(report: Report, translate: Translator) -> Iterator[str]:
    """Yield the usage of the run: in total, then by model or search service."""
    if not report.usage:
        return
    by_model: dict[str, list[Usage]] = {}
    for item in report.usage:
        by_model.setdefault(item.model, []).append(item)
    yield f"## {translate('usage')}"
    yield from bullet_list(
        [
            translate("spent", who=translate("in all"), what=_usage_facts(sum_usage(report.usage), translate)),
            *(
                translate(
                    "spent",
                    who=escape_markdown(model) or translate("untitled"),
                    what=_usage_facts(sum_usage(used), translate),
                )
                for model, used in by_model.items()
            ),
        ]
    )


def _usage_facts(usage: UsageTotal, translate: Translator) -> str:
    tokens = usage.input or usage.output
    cost = "" if usage.cost is None else f"{usage.cost:.4f}"
    price = "cost in part" if usage.unpriced else "cost"
    facts = [
        translate("call" if usage.calls == 1 else "calls", count=usage.calls),
        translate("tokens in", count=f"{usage.input:,}") if tokens else "",
        translate("tokens cached", count=f"{usage.cached:,}") if usage.cached else "",
        translate("tokens out", count=f"{usage.output:,}") if tokens else "",
        translate("search" if usage.searches == 1 else "searches", count=usage.searches) if usage.searches else "",
        translate("uncounted" if usage.estimated == 1 else "uncounted several", count=usage.estimated)
        if usage.estimated
        else "",
        translate(price, cost=cost) if cost else translate("cost unknown"),
    ]
    return join_facts(facts, translate)


def provenance_markdown(report: Report, cited: CitedAnswer | None) -> str:
    """Render how a report was made and its failures, for files other than the report."""
    translate = report_translator(report_language(report, cited))
    return "\n\n".join([*_provenance_blocks(report, cited, translate), *_failure_blocks(report, cited, translate)])


def _provenance_blocks(report: Report, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    run = report.run
    chosen = run.options
    sources = translate("comma").join(_service_label(name, translate) for name in chosen.sources)
    if chosen.sections:
        limits = {"sections": chosen.sections, "reflections": chosen.reflections}
        options = translate("report options", sources=sources, **limits)
    else:
        options = translate("options", sources=sources, queries=chosen.queries, loops=chosen.loops)
    made_at = translate("made at", time=_format_minute(cited.answer.made)) if cited else ""
    models = dict.fromkeys(item.model for item in report.usage if item.model.strip())
    facts = [
        translate("author", author=escape_markdown(cited.answer.author)) if cited else "",
        options,
        translate("notebook", name=escape_markdown(run.options.notebook)) if run.options.notebook else "",
        _limits_text(run.options, translate),
        translate("model", model=escape_markdown(run.options.model)) if run.options.model.strip() else "",
        translate("used", names=translate("comma").join(map(escape_markdown, models))) if models else "",
        translate("run", run=escape_markdown(run.id)),
        translate("status", status=translate(f"status.{run.status}")),
        translate("error", error=escape_markdown(run.error)) if run.error.strip() else "",
        made_at or translate("created at", time=_format_minute(run.created)),
        translate("sampled", what=_sample_data_text(report, cited, translate)),
        translate("failed", count=len(collect_failures(report, cited))),
    ]
    yield f"## {translate('made')}"
    yield from bullet_list(fact for fact in facts if fact)


def _limits_text(options: RunOptions, translate: Translator) -> str:
    """List the usage limits of the run, "" if it has none."""
    names = ("searches", "tokens", "cost", "seconds")
    limits = [(name, getattr(options, name)) for name in names if getattr(options, name)]
    texts = [translate(f"limit.{name}", n=f"{value:,.10g}") for name, value in limits]
    return translate("limits", limits=translate("comma").join(texts)) if texts else ""


def _sample_data_text(report: Report, cited: CitedAnswer | None, translate: Translator) -> str:
    """State which sources are sample data."""
    numbers = [str(s.number) for s in cited.sources if s.evidence.sample] if cited else []
    if numbers:
        return translate("sampled sources", numbers=translate("comma").join(numbers))
    has_sample_evidence = any(item.sample for finding in report.findings for item in finding.evidence)
    has_sample_data = has_sample_evidence or (cited is not None and cited.answer.sample)
    return translate("sampled uncited" if has_sample_data else "sampled none")


def to_utc(time: datetime) -> datetime:
    """Convert a time to UTC. A time without a zone is taken as UTC."""
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _format_minute(time: datetime) -> str:
    return f"{to_utc(time):%Y-%m-%d %H:%M} UTC"


def export_file_name(report: Report, suffix: str) -> str:
    """Return a file name built only from time and run id: "sightline-….md"."""
    timestamp = to_utc(report.answer.made if report.answer else report.run.created)
    run = re.sub(r"[^A-Za-z0-9]", "", report.run.id)[:8] or "run"
    return f"sightline-{timestamp:%Y%m%d-%H%M}-{run}.{suffix.lstrip('.')}"
