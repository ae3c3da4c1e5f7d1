"""The list of sources of a Markdown report, and the reader's notes on them."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from research.citations.numbering import CitedAnswer, CitedSource
from research.citations.registry import EvidenceRegistry
from research.core.i18n import Translator
from research.core.records import ATTRIBUTIONS, Evidence, Paper, Report
from research.core.urls import canonical_url
from research.export.markdown_escaping import LINE_BREAKS, escape_markdown, markdown_link, service_label
from research.export.options import ExportOptions, listed_sources
from research.export.report_facts import source_numbers, to_utc
from research.export.report_texts import CitationFormat

MAX_PASSAGE_CHARS = 80  # of a passage quoted above a note
MAX_AUTHORS = 3  # authors of a paper named in the list of sources


def source_blocks(cited: CitedAnswer, translate: Translator, options: ExportOptions) -> Iterator[str]:
    """Yield the list of sources. Footnotes get no heading."""
    citation_format = options.citation_format or "numbers"
    if citation_format != "footnotes" or not cited.sources:  # renderers of footnotes add their own heading
        yield f"## {translate('sources')}"
    sources = listed_sources(cited, options)
    lines = [line for source in sources for line in _source_lines(source, translate, citation_format)]
    yield "\n".join(lines) or translate("nothing cited")


def _source_lines(source: CitedSource, translate: Translator, citation_format: CitationFormat) -> Iterator[str]:
    """Yield the entry of a source, then its passages worded by a search model.

    The page of the source need not contain the words of a search model.
    """
    is_footnote = citation_format == "footnotes"
    number = f"[^{source.number}]: " if is_footnote else f"{source.number}. "
    indent = 4 if is_footnote else len(number)
    anchor = f'<a id="s{source.number}"></a>' if citation_format == "links" else ""
    yield number + anchor + source_line(source.evidence, translate)
    for passage in source.evidence.passages:
        if passage.origin == "grounding":
            yield f"{' ' * indent}- “{escape_markdown(passage.text)}” — {translate('grounding')}"


def source_name(evidence: Evidence, translate: Translator) -> str:
    """Return the title of a source, else its address."""
    return evidence.title.strip() or canonical_url(evidence.url) or translate("untitled")


def source_line(evidence: Evidence, translate: Translator) -> str:
    """Format a source: its title, linked if it has an address, and its facts."""
    facts = _map_facts(evidence, translate) if evidence.kind == "place" else _source_facts(evidence, translate)
    known = translate("comma").join(fact for fact in facts if fact)
    return f"{markdown_link(source_name(evidence, translate), evidence.url, keep_formulas=True)} — {known}"


def _map_facts(evidence: Evidence, translate: Translator) -> Iterator[str]:
    """Yield facts about the evidence of a map service: a place, a route, the weather."""
    place = evidence.place
    sample = place is not None and place.provider == "offline"  # the service name says that it is a sample
    if place and place.provider in ATTRIBUTIONS:
        yield markdown_link(*ATTRIBUTIONS[place.provider])
    elif place and not sample:
        yield translate("poi", service=service_label(place.provider, translate))
    else:
        yield translate("source.offline") if sample else escape_markdown(evidence.publisher) or translate("kind.place")
    yield translate("looked up", date=to_utc(evidence.retrieved).date().isoformat())
    yield translate("sample") if evidence.sample and not sample else ""


def _source_facts(evidence: Evidence, translate: Translator) -> list[str]:
    retrieved = translate("retrieved", date=to_utc(evidence.retrieved).date().isoformat())
    published, paper = evidence.published, evidence.paper
    day = published.isoformat() if published else str(paper.year or "") if paper else ""
    dated = translate("published", date=day) if day else retrieved
    host = "" if evidence.url_expires else urlsplit(canonical_url(evidence.url)).hostname or ""
    return [
        translate(f"notice.{evidence.notice}") if evidence.notice else "",
        translate(f"kind.{evidence.kind}"),
        _author_names(paper, translate) if paper else "",
        escape_markdown(evidence.publisher) or escape_markdown(host),
        dated,
        retrieved if evidence.url_expires and published else "",
        *(_paper_facts(paper, translate) if paper else ()),
        translate("sample") if evidence.sample else "",
        translate("expires") if evidence.url_expires else "",
        translate(f"standing.{evidence.domain_status}") if evidence.domain_status else "",
        translate("see also", link=markdown_link(evidence.further_url, evidence.further_url))
        if evidence.further_url
        else "",
    ]


def _author_names(paper: Paper, translate: Translator) -> str:
    """Return the first authors of a paper."""
    names = translate("comma").join(escape_markdown(author.display_name) for author in paper.authors[:MAX_AUTHORS])
    return translate("and others", names=names) if len(paper.authors) > MAX_AUTHORS else names


def _paper_facts(paper: Paper, translate: Translator) -> Iterator[str]:
    """Yield the DOI of a paper, and its citation count with the counting service."""
    yield f"DOI {escape_markdown(paper.doi)}" if paper.doi else ""
    if paper.citation_count is not None and paper.citation_source:
        service = service_label(paper.citation_source, translate)
        yield translate("cited by", n=f"{paper.citation_count:,}", service=service)


# Notes of the reader


def note_blocks(
    report: Report, registry: EvidenceRegistry, cited: CitedAnswer | None, translate: Translator
) -> Iterator[str]:
    """Yield the reader's notes, each below its subject. Notes are never cited."""
    if not report.remarks:
        return
    numbers = source_numbers(cited)
    yield f"## {translate('remarks')}"
    yield translate("remarks own")
    for note in report.remarks:
        day = to_utc(note.updated).date().isoformat()
        item = registry.get(note.evidence)
        if item is None:
            yield translate("remark answer", date=day)
        else:
            passage = registry.passage(note.evidence, note.passage)
            facts = [
                translate("remark source", n=numbers[item.id]) if item.id in numbers else "",
                escape_markdown(source_name(item, translate)),
                escape_markdown(passage.heading) if passage else "",
                f"“{escape_markdown(_shorten(passage.text))}”" if passage and passage.text.strip() else "",
            ]
            yield translate("remark passage", what=" · ".join(filter(None, facts)), date=day)
        lines = [escape_markdown(line) for line in LINE_BREAKS.split(note.text) if line.strip()]
        yield "\n>\n".join(f"> {line}" for line in lines)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_PASSAGE_CHARS else f"{line[: MAX_PASSAGE_CHARS - 1].rstrip()}…"
