"""Sections of a news report as Markdown: changes, timeline, conflicts, outlets, pictures.

Headlines, outlets, figures and captions come from outside and are escaped. Pictures are linked and
not embedded, so opening the file makes no request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from research.citations.numbering import CitedAnswer
from research.citations.registry import EvidenceRegistry
from research.core.i18n import Translator
from research.core.records import Evidence, Figure, NewsCoverage, Report, Story, StoryChange, StoryConflict
from research.export.disagreements_markdown import MAX_PRINTED_DISAGREEMENTS, omission_note
from research.export.markdown_escaping import bullet_list, escape_markdown, join_facts, markdown_link, markdown_table
from research.export.report_facts import source_numbers
from research.export.report_texts import has_report_text

MAX_STORIES = 200  # rows of the timeline
MAX_OUTLETS = 100
MAX_PICTURES = 60


def story_change_blocks(registry: EvidenceRegistry, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield the changes since the earlier report that was updated."""
    coverage = _coverage_of(cited)
    if coverage is None or not coverage.compared_run:
        return
    yield f"## {translate('changes')}"
    lines = [_change_line(change, registry, translate) for change in coverage.changes]
    yield from bullet_list(lines)
    if not lines:
        yield translate("no changes")


def news_blocks(
    report: Report, registry: EvidenceRegistry, cited: CitedAnswer | None, translate: Translator
) -> Iterator[str]:
    """Yield stories by day, conflicts, outlets, pictures and answers of search services."""
    coverage = _coverage_of(cited)
    if coverage and cited:
        cited_numbers = source_numbers(cited)
        numbers = {
            key: cited_numbers[item.id]
            for key in _evidence_ids(coverage)
            if (item := registry.get(key)) and item.id in cited_numbers
        }
        yield f"## {translate('timeline')}"
        yield _summary_line(coverage, translate)
        yield from _timeline_blocks(coverage, registry, numbers, translate)
        yield from _conflict_blocks(coverage, numbers, translate)
        yield from _outlet_blocks(coverage, translate)
    yield from _picture_blocks(report, translate)
    yield from _service_answer_blocks(report, translate)


def _coverage_of(cited: CitedAnswer | None) -> NewsCoverage | None:
    return cited.answer.coverage if cited else None


def _evidence_ids(coverage: NewsCoverage) -> Iterator[str]:
    """Yield the evidence ids of all stories and conflicts."""
    for story in coverage.stories:
        yield from story.evidence
    for conflict in coverage.conflicts:
        yield from (figure.evidence for figure in conflict.figures)


def _change_line(change: StoryChange, registry: EvidenceRegistry, translate: Translator) -> str:
    text = translate(f"change.{change.kind}", headline=escape_markdown(change.headline))
    if change.before and change.after:
        before, after = _figure_text(change.before, translate), _figure_text(change.after, translate)
        return text + translate("colon") + translate("from to", before=before, after=after)
    articles = [item for key in change.evidence if (item := registry.get(key))]
    return (
        f"{text} — {translate('comma').join(_article_link(item, translate) for item in articles)}" if articles else text
    )


def _article_link(item: Evidence, translate: Translator) -> str:
    """Link an article by the name of its outlet, with its date."""
    name = item.publisher or item.title or translate("untitled")
    day = item.published.isoformat() if item.published else translate("no date")
    return markdown_link(name, item.url) + translate("aside", what=day)


def _figure_text(figure: Figure, translate: Translator) -> str:
    outlet = escape_markdown(figure.outlet)
    return escape_markdown(figure.text) + translate("aside", what=outlet) if outlet else escape_markdown(figure.text)


def _summary_line(coverage: NewsCoverage, translate: Translator) -> str:
    """Summarise date, freshness, number of stories and author of the tones."""
    newest = (
        translate("newest", date=coverage.latest_day.isoformat()) if coverage.latest_day else translate("nothing dated")
    )
    count = len(coverage.stories)
    return join_facts(
        [
            translate("as of", date=coverage.as_of.isoformat()),
            newest,
            translate("stale") if coverage.is_stale else "",
            translate("story" if count == 1 else "stories", count=count),
            translate("undated", count=coverage.undated) if coverage.undated else "",
            translate("tones by", author=escape_markdown(coverage.author))
            if coverage.author
            else translate("tones rough"),
        ],
        translate,
    )


def _timeline_blocks(
    coverage: NewsCoverage, registry: EvidenceRegistry, numbers: Mapping[str, int], translate: Translator
) -> Iterator[str]:
    """Yield a table of the stories by the day of their first report, undated stories last."""
    dated = sorted((s for s in coverage.stories if s.day), key=lambda s: (str(s.day), s.headline))
    stories = [*dated, *(s for s in coverage.stories if not s.day)]
    head = [translate(f"story.{name}") for name in ("day", "headline", "outlets", "tone", "sources")]
    rows = [[*_timeline_row(story, registry, numbers, translate)] for story in stories[:MAX_STORIES]]
    yield from markdown_table(head, rows)
    if len(stories) > MAX_STORIES:
        yield translate("stories left out", count=len(stories) - MAX_STORIES)


def _timeline_row(
    story: Story, registry: EvidenceRegistry, numbers: Mapping[str, int], translate: Translator
) -> Iterator[str]:
    days = list(dict.fromkeys(day.isoformat() for day in (story.day, story.latest) if day))
    yield (" – ".join(days) or translate("no date")) + (
        translate("aside", what=translate("old")) if story.stale else ""
    )
    first = next(filter(None, map(registry.get, story.evidence)), None)
    yield markdown_link(story.headline, first.url) if first else escape_markdown(story.headline)
    outlets = translate("comma").join(escape_markdown(name) for name in story.outlets) or "—"
    copies = len(story.evidence) > story.independent
    count = translate("independent", count=story.independent, items=len(story.evidence))
    yield outlets + translate("aside", what=count) if copies else outlets
    yield translate(f"tone.{story.tone}") + (
        translate("aside", what=translate("rough")) if story.tone_from_words else ""
    )
    yield (" ".join(translate("cite", number=numbers[key]) for key in story.evidence if key in numbers) or "—")


def _conflict_blocks(coverage: NewsCoverage, numbers: Mapping[str, int], translate: Translator) -> Iterator[str]:
    """Yield the figures on which outlets disagree."""
    if not coverage.conflicts:
        return
    headlines = {story.id: story.headline for story in coverage.stories}
    yield f"## {translate('conflicts')}"
    yield translate("conflicts help")
    yield from bullet_list(
        _conflict_item(conflict, headlines.get(conflict.story, ""), numbers, translate)
        for conflict in coverage.conflicts[:MAX_PRINTED_DISAGREEMENTS]
    )
    yield from omission_note(len(coverage.conflicts), translate)


def _conflict_item(conflict: StoryConflict, headline: str, numbers: Mapping[str, int], translate: Translator) -> str:
    lines = []
    for figure in conflict.figures:
        number = numbers.get(figure.evidence)
        mark = " " + translate("cite", number=number) if number else ""
        lines.append(f"{_figure_text(figure, translate)}{mark} — “{escape_markdown(figure.clause)}”")
    heading = escape_markdown(conflict.subject) + (
        translate("aside", what=escape_markdown(headline)) if headline else ""
    )
    return "".join([heading, *(f"\n  - {line}" for line in lines)])


def _outlet_blocks(coverage: NewsCoverage, translate: Translator) -> Iterator[str]:
    if not coverage.outlets:
        return
    yield f"## {translate('outlets')}"
    head = [translate(f"outlet.{name}") for name in ("name", "items", "stories", "first")]
    rows = (
        [
            escape_markdown(outlet.name) or translate("unknown outlet"),
            str(outlet.items),
            str(outlet.stories),
            outlet.first.isoformat() if outlet.first else translate("no date"),
        ]
        for outlet in coverage.outlets[:MAX_OUTLETS]
    )
    yield from markdown_table(head, rows)


def _picture_blocks(report: Report, translate: Translator) -> Iterator[str]:
    """Yield links to the pictures of the findings, with captions and pages."""
    pictures = {p.url: p for finding in report.findings for p in finding.pictures}
    if not pictures:
        return
    yield f"## {translate('pictures')}"
    lines = []
    for picture in [*pictures.values()][:MAX_PICTURES]:
        line = markdown_link(picture.caption or translate("picture"), picture.url)
        lines.append(f"{line} — {markdown_link(translate('its page'), picture.page)}" if picture.page else line)
    yield from bullet_list(lines)


def _service_answer_blocks(report: Report, translate: Translator) -> Iterator[str]:
    """Yield answers written by search services. They are no evidence and are never cited."""
    findings = [finding for finding in report.findings if finding.provider_summary.strip()]
    if not findings:
        return
    yield f"## {translate('leads')}"
    yield translate("leads help")
    for finding in findings:
        key = f"source.{finding.provider}"
        service = escape_markdown(translate(key) if has_report_text(key) else finding.provider)
        yield f"> {service} — “{escape_markdown(finding.task.query)}”: {escape_markdown(finding.provider_summary)}"
