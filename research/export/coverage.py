"""What the news of a report come to, as Markdown: changes, a timeline, conflicts, outlets, pictures.

Headlines, outlets, figures and captions come from outside and are escaped. Pictures are addresses
to be followed: none is embedded, so that opening the file calls nobody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from research.citations.numbering import CitedAnswer
from research.citations.registry import Registry
from research.core.i18n import Say
from research.core.records import Change, Conflict, Coverage, Evidence, Figure, Report, Story
from research.export.conflicts import PRINTED, unprinted
from research.export.inline import bullets, escape, joined, link, table
from research.export.words import known

STORIES = 200  # rows of the timeline
OUTLETS = 100
PICTURES = 60


def changes(registry: Registry, cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    """What is otherwise than in the report that was brought up to date."""
    coverage = _of(cited)
    if coverage is None or not coverage.compared:
        return
    yield f"## {say('changes')}"
    told = [_change(change, registry, say) for change in coverage.changes]
    yield from bullets(told)
    if not told:
        yield say("no changes")


def coverage(
    report: Report, registry: Registry, cited: CitedAnswer | None, say: Say
) -> Iterator[str]:
    """What stands behind the text of a report: stories by day, conflicts, outlets, pictures."""
    known = _of(cited)
    if known and cited:
        given = {source.evidence.id: source.number for source in cited.sources}
        numbers = {
            key: given[item.id]
            for key in _pieces(known)
            if (item := registry.get(key)) and item.id in given
        }
        yield f"## {say('timeline')}"
        yield _head(known, say)
        yield from _timeline(known, registry, numbers, say)
        yield from _conflicts(known, numbers, say)
        yield from _outlets(known, say)
    yield from _pictures(report, say)
    yield from _leads(report, say)


def _of(cited: CitedAnswer | None) -> Coverage | None:
    return cited.answer.coverage if cited else None


def _pieces(known: Coverage) -> Iterator[str]:
    """The ids of the evidence that is named."""
    for story in known.stories:
        yield from story.evidence
    for conflict in known.conflicts:
        yield from (figure.evidence for figure in conflict.figures)


def _change(change: Change, registry: Registry, say: Say) -> str:
    what = say(f"change.{change.kind}", headline=escape(change.headline))
    if change.before and change.after:
        before, after = _figure(change.before, say), _figure(change.after, say)
        return what + say("colon") + say("from to", before=before, after=after)
    pieces = [item for key in change.evidence if (item := registry.get(key))]
    return f"{what} — {say('comma').join(_piece(item, say) for item in pieces)}" if pieces else what


def _piece(item: Evidence, say: Say) -> str:
    """A piece by its outlet, linked, with its day."""
    name = item.publisher or item.title or say("untitled")
    day = item.published.isoformat() if item.published else say("no date")
    return link(name, item.url) + say("aside", what=day)


def _figure(figure: Figure, say: Say) -> str:
    outlet = escape(figure.outlet)
    return escape(figure.text) + say("aside", what=outlet) if outlet else escape(figure.text)


def _head(known: Coverage, say: Say) -> str:
    """As of when, how fresh, and who judged the tones."""
    newest = say("newest", date=known.newest.isoformat()) if known.newest else say("nothing dated")
    count = len(known.stories)
    return joined(
        [
            say("as of", date=known.as_of.isoformat()),
            newest,
            say("stale") if known.stale else "",
            say("story" if count == 1 else "stories", count=count),
            say("undated", count=known.undated) if known.undated else "",
            say("tones by", author=escape(known.author)) if known.author else say("tones rough"),
        ],
        say,
    )


def _timeline(
    known: Coverage, registry: Registry, numbers: Mapping[str, int], say: Say
) -> Iterator[str]:
    """The stories by the day on which they were first told, those without a day last."""
    dated = sorted((s for s in known.stories if s.day), key=lambda s: (str(s.day), s.headline))
    told = [*dated, *(s for s in known.stories if not s.day)]
    head = [say(f"story.{name}") for name in ("day", "headline", "outlets", "tone", "sources")]
    rows = [[*_row(story, registry, numbers, say)] for story in told[:STORIES]]
    yield from table(head, rows)
    if len(told) > STORIES:
        yield say("stories left out", count=len(told) - STORIES)


def _row(story: Story, registry: Registry, numbers: Mapping[str, int], say: Say) -> Iterator[str]:
    days = list(dict.fromkeys(day.isoformat() for day in (story.day, story.latest) if day))
    yield (" – ".join(days) or say("no date")) + (
        say("aside", what=say("old")) if story.stale else ""
    )
    first = next(filter(None, map(registry.get, story.evidence)), None)
    yield link(story.headline, first.url) if first else escape(story.headline)
    outlets = say("comma").join(escape(name) for name in story.outlets) or "—"
    copies = len(story.evidence) > story.independent
    count = say("independent", count=story.independent, items=len(story.evidence))
    yield outlets + say("aside", what=count) if copies else outlets
    yield say(f"tone.{story.tone}") + (say("aside", what=say("rough")) if story.rough else "")
    yield (
        " ".join(say("cite", number=numbers[key]) for key in story.evidence if key in numbers)
        or "—"
    )


def _conflicts(known: Coverage, numbers: Mapping[str, int], say: Say) -> Iterator[str]:
    """Where outlets give different figures for the same thing."""
    if not known.conflicts:
        return
    headlines = {story.id: story.headline for story in known.stories}
    yield f"## {say('conflicts')}"
    yield say("conflicts help")
    yield from bullets(
        _conflict(conflict, headlines.get(conflict.story, ""), numbers, say)
        for conflict in known.conflicts[:PRINTED]
    )
    yield from unprinted(len(known.conflicts), say)


def _conflict(conflict: Conflict, headline: str, numbers: Mapping[str, int], say: Say) -> str:
    lines = []
    for figure in conflict.figures:
        number = numbers.get(figure.evidence)
        mark = " " + say("cite", number=number) if number else ""
        lines.append(f"{_figure(figure, say)}{mark} — “{escape(figure.clause)}”")
    what = escape(conflict.subject) + (say("aside", what=escape(headline)) if headline else "")
    return "".join([what, *(f"\n  - {line}" for line in lines)])


def _outlets(known: Coverage, say: Say) -> Iterator[str]:
    if not known.outlets:
        return
    yield f"## {say('outlets')}"
    head = [say(f"outlet.{name}") for name in ("name", "items", "stories", "first")]
    rows = (
        [
            escape(outlet.name) or say("unknown outlet"),
            str(outlet.items),
            str(outlet.stories),
            outlet.first.isoformat() if outlet.first else say("no date"),
        ]
        for outlet in known.outlets[:OUTLETS]
    )
    yield from table(head, rows)


def _pictures(report: Report, say: Say) -> Iterator[str]:
    """The pictures that searches found, as addresses with captions and pages."""
    found = {p.url: p for finding in report.findings for p in finding.pictures}
    if not found:
        return
    yield f"## {say('pictures')}"
    lines = []
    for picture in [*found.values()][:PICTURES]:
        line = link(picture.caption or say("picture"), picture.url)
        lines.append(f"{line} — {link(say('its page'), picture.page)}" if picture.page else line)
    yield from bullets(lines)


def _leads(report: Report, say: Say) -> Iterator[str]:
    """What a search service wrote itself: no evidence, and cited by nothing."""
    told = [finding for finding in report.findings if finding.lead.strip()]
    if not told:
        return
    yield f"## {say('leads')}"
    yield say("leads help")
    for finding in told:
        key = f"source.{finding.provider}"
        who = escape(say(key) if known(key) else finding.provider)
        yield f"> {who} — “{escape(finding.task.query)}”: {escape(finding.lead)}"
