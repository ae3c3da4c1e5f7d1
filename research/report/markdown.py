"""A report as Markdown, for people.

All text but the fixed words comes from outside and is escaped: it reads as itself and can start no
link, image, tag or heading. What a model wrote may have headings, lists, tables, code and emphasis,
and nothing else. Knows reports and numbered answers; writes no file, and never takes a file name
from a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from math import isfinite
from typing import NamedTuple
from urllib.parse import urlsplit

from research.evidence.citations import CitedAnswer, CitedSource, NumberedSpan, verbatim
from research.evidence.registry import Registry, gather
from research.i18n import Say
from research.language.text import language
from research.records import (
    CREDITS,
    Centre,
    Evidence,
    Failure,
    Finding,
    Hint,
    Language,
    Options,
    Paper,
    Passage,
    Place,
    Reason,
    Reflection,
    Report,
    SpanKind,
    Task,
    Usage,
)
from research.report import coverage
from research.report.conflicts import conflicts
from research.report.failures import FailureGroup, group_failures
from research.report.inline import (
    BREAKS,
    bullets,
    escape,
    inactive,
    joined,
    link,
    quoted,
    quoted_lines,
)
from research.report.lead import lead
from research.report.prose import markdown
from research.report.tables import tables
from research.report.words import Citations, known, speaker
from research.urls import canonical_url
from research.verification.conflicts import conflicts as disagreements
from research.verification.support import (
    ACCURACY,
    Counts,
    Sentence,
    Stretch,
    Support,
    drawn,
    support,
)

SHOWN_QUERIES = 5  # of failures that read the same
TITLE_LENGTH = 80  # characters
PLACES = 200  # rows of the table of places
NOTED = 80  # characters of a passage that a note repeats
AUTHORS = 3  # of a work that are named in the list of sources
FOUND = 40  # characters of a figure of a source that a mark repeats

# --- The report as Markdown ---------------------------------------------------------------------


def report_markdown(
    report: Report,
    cited: CitedAnswer | None,
    *,
    citations: Citations = "numbers",
    behind: Support | None = None,
) -> str:
    """The whole report as Markdown, in the language of the answer, else of the question.

    `cited` is the report's answer with its numbers, or None if the run ended without an
    answer: then the report says so and lists the plan and what was found. `citations` are numbers; or
    links to the entries of the list of sources, which GitHub, pandoc and editors follow; or footnotes,
    as these and Obsidian know them. `behind` is what stands behind the answer's sentences, where that
    is known already.
    """
    tongue, registry = language_of(report, cited), gathered(report)
    say = speaker(tongue, citations)
    blocks = [
        f"# {_title(report.run.question) or say('untitled')}",
        f"## {say('question')}",
        *_lines(report.run.question),
        *coverage.changes(registry, cited, say),
        f"## {say('answer')}",
        *(_answer(report, cited, behind, say) if cited else _no_answer(report, say)),
        *conflicts(disagreements(report, cited), registry, say),
        *coverage.coverage(report, registry, cited, say),
        *(_sources(cited, say, citations) if cited else ()),
        *_remarks(report, registry, cited, say),
        *_places(report, cited, say),
        *tables(report, say, tongue),
        *_review(cited, say),
        *_failures(report, cited, say),
        *_plan(report, say, with_evidence=cited is None),
        *_usage(report, say),
        *_made(report, cited, say),
    ]
    return "\n\n".join(blocks) + "\n"


def message_markdown(report: Report, cited: CitedAnswer) -> str:
    """The answer as a message of a conversation: with its sources and with what failed."""
    say = speaker(language_of(report, cited))
    blocks = [
        *_answer(report, cited, None, say),
        *(_sources(cited, say, "numbers") if cited.sources else ()),
        *_failures(report, cited, say),
    ]
    return "\n\n".join(blocks)


def language_of(report: Report, cited: CitedAnswer | None) -> Language:
    return cited.answer.language if cited else language(report.run.question)


def _title(question: str) -> str:
    line = " ".join(question.split())
    return quoted(line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…")


def _lines(text: str) -> Iterator[str]:
    """Each line of outside text as a paragraph of its own."""
    return quoted_lines(text)


# --- The answer


def answer_markdown(cited: CitedAnswer) -> str:
    """The answer alone, with its citations as [n], without its title and marks of support."""
    return "\n\n".join(_body(cited, speaker(cited.answer.language), Support()))


def _answer(report: Report, cited: CitedAnswer, behind: Support | None, say: Say) -> Iterator[str]:
    title = quoted(cited.answer.title)
    if title and title != quoted(report.run.question):
        yield f"**{title}**"
    opening = lead(report, cited)
    if opening.text:
        yield escape(opening.text)
    found = support(cited) if behind is None else behind
    yield from _supported(found.counts, cited.answer.language, say)
    yield from _body(cited, say, found, opening.folded)


def _supported(counts: Counts, language: Language, say: Say) -> Iterator[str]:
    """How many sentences have what behind them, and how far that can be trusted."""
    if not counts.total:
        return
    if counts.quoted == counts.total:
        yield say("support.quoted", total=counts.total)
        return
    facts = [say("support", good=counts.quoted + counts.supported, total=counts.total)]
    facts += [
        say(f"support.{way}", count=count)
        for way, count in counts._asdict().items()
        if count and way not in ("total", "quoted", "supported")
    ]
    yield say(
        "support hint",
        what=say("comma").join(facts),
        percent=f"{ACCURACY[language].balanced:.0%}"[:-1],
    )


def _body(
    cited: CitedAnswer, say: Say, found: Support, folded: frozenset[int] = frozenset()
) -> Iterator[str]:
    """The spans of an answer, but for those that its first line stands for."""
    sources = {source.number: source for source in cited.sources}
    doubts = {sentence.at: _doubt(sentence, cited.spans, say) for sentence in found.doubtful}
    trees = (stretch for stretch in drawn(cited, found) if stretch.written)
    placed = enumerate(cited.spans)
    for shape, group in groupby(placed, key=lambda item: _SHAPES[item[1].span.kind]):
        own = [item for at, item in group if at not in folded]
        if shape is None:
            yield from _texts(next(trees), say, doubts)
        elif own:
            yield from shape(own, sources, say)


def _doubt(sentence: Sentence, spans: Sequence[NumberedSpan], say: Say) -> str:
    """What is said behind a doubtful sentence; nothing if a citation of it says it already."""
    if sentence.status == "differs":
        found = next((lack.found for lack in sentence.lacks if lack.found.strip()), "")
        words = inactive(" ".join(found.split()))
        short = words if len(words) <= FOUND else ""
        return " " + (say("differs from", found=short) if short else say("differs"))
    if any(spans[at].unsourced for at in sentence.spans):
        return ""
    return " " + say("no source" if sentence.status == "none" else sentence.status)


def _headings(spans: list[NumberedSpan], _: dict[int, CitedSource], say: Say) -> Iterator[str]:
    for item in spans:
        yield f"### {quoted(item.span.text)}{_marks(item, say)}"


def _notices(spans: list[NumberedSpan], _: dict[int, CitedSource], say: Say) -> Iterator[str]:
    for item in spans:
        yield f"> {quoted(item.span.text)}{_marks(item, say)}"


def _points(spans: list[NumberedSpan], sources: dict[int, CitedSource], say: Say) -> Iterator[str]:
    """Quotes and what was not found, as a list."""
    yield from bullets(
        _quote(item, sources, say) if item.span.kind == "quote" else _missing(item, say)
        for item in spans
    )


def _texts(stretch: Stretch, say: Say, doubts: Mapping[int, str]) -> Iterator[str]:
    text = markdown(
        stretch.spans,
        lambda item: _marks(item, say),
        stretch.nodes,
        doubts,
        none=" " + say("no source"),
        rowless=lambda count: say("no source rows", count=count),
    )
    if text:
        yield text


def _marks(item: NumberedSpan, say: Say) -> str:
    """The citation numbers of a span. A space before each keeps a "!" from making an image."""
    unsourced = " " + say("no source") if item.unsourced else ""
    return "".join(" " + say("cite", number=number) for number in item.numbers) + unsourced


def _quote(item: NumberedSpan, sources: dict[int, CitedSource], say: Say) -> str:
    words = quoted(item.span.text) if item.span.made else f"“{quoted(item.span.text)}”"
    words += _marks(item, say)
    places = [_where(item, sources[number].evidence, say) for number in item.numbers]
    return f"{words} — {say('semicolon').join(places)}" if places else words


def _where(item: NumberedSpan, evidence: Evidence, say: Say) -> str:
    """Title, section and page, as far as they are known."""
    passage = quoted_passage(item, evidence)
    heading = passage.heading if passage else ""
    page = passage.page if passage else None
    notice = say(f"notice.{evidence.notice}") if evidence.notice else ""
    words = [notice, escape(_name(evidence, say)), escape(heading)]
    words.append("" if page is None else say("page", page=page))
    words.append(say("ocr") if passage and passage.ocr else "")
    return " · ".join(word for word in words if word)


def quoted_passage(item: NumberedSpan, evidence: Evidence) -> Passage | None:
    """The passage of a source that a quote was taken from."""
    cited = {cite.passage for cite in item.span.cites}
    fitting = (p for p in evidence.passages if p.id in cited and verbatim(item.span.text, p.text))
    return next(fitting, None)


def _missing(item: NumberedSpan, say: Say) -> str:
    """What the writer says of a part without evidence: not found, or not looked up."""
    text = quoted(item.span.text) or say("not found") + say("stop")
    return text + _marks(item, say)


_Shape = Callable[[list[NumberedSpan], dict[int, CitedSource], Say], Iterator[str]]
_SHAPES: dict[SpanKind, _Shape | None] = {
    "heading": _headings,
    "notice": _notices,
    "quote": _points,
    "missing": _points,
    "text": None,  # drawn by `_texts`, from its tree
}


def _review(cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    """The sentences that a model's check has taken out or put in other words, as they were."""
    review = cited.answer.review if cited else None
    if review and review.repairs:
        yield f"## {say('review')}"
        yield from bullets(
            say(
                "review.rewritten" if repair.after else "review.dropped",
                before=escape(repair.before),
                after=escape(repair.after),
            )
            for repair in review.repairs
        )


def _no_answer(report: Report, say: Say) -> Iterator[str]:
    yield say("no answer", status=say(f"status.{report.run.status}"))


# --- What stands behind it


def _sources(cited: CitedAnswer, say: Say, citations: Citations) -> Iterator[str]:
    if citations != "footnotes" or not cited.sources:  # who draws footnotes has a heading for them
        yield f"## {say('sources')}"
    lines = [line for s in cited.sources for line in _cited_source(s, say, citations)]
    yield "\n".join(lines) or say("nothing cited")


def _cited_source(source: CitedSource, say: Say, citations: Citations) -> Iterator[str]:
    """A numbered source. The words of a search model follow: its page need not have them."""
    notes = citations == "footnotes"
    number = f"[^{source.number}]: " if notes else f"{source.number}. "
    indent = 4 if notes else len(number)
    goal = f'<a id="s{source.number}"></a>' if citations == "links" else ""
    yield number + goal + _source(source.evidence, say)
    for passage in source.evidence.passages:
        if passage.origin == "grounding":
            yield f"{' ' * indent}- “{escape(passage.text)}” — {say('grounding')}"


def _name(evidence: Evidence, say: Say) -> str:
    return evidence.title.strip() or canonical_url(evidence.url) or say("untitled")


def _source(evidence: Evidence, say: Say) -> str:
    """One source: its title, linked if it has an address, and what is known of it."""
    facts = _of_map(evidence, say) if evidence.kind == "place" else _of_source(evidence, say)
    known = say("comma").join(fact for fact in facts if fact)
    return f"{link(_name(evidence, say), evidence.url, maths=True)} — {known}"


def _of_map(evidence: Evidence, say: Say) -> Iterator[str]:
    """What is known of a place, or of what else a map service says: a way, the weather."""
    place = evidence.place
    sample = place is not None and place.provider == "offline"  # its name says that it is a sample
    if place and place.provider in CREDITS:
        yield link(*CREDITS[place.provider])
    elif place and not sample:
        yield say("poi", service=_where_looked(place.provider, say))
    else:
        yield say("source.offline") if sample else escape(evidence.publisher) or say("kind.place")
    yield say("looked up", date=utc(evidence.retrieved).date().isoformat())
    yield say("sample") if evidence.sample and not sample else ""


def _of_source(evidence: Evidence, say: Say) -> list[str]:
    retrieved = say("retrieved", date=utc(evidence.retrieved).date().isoformat())
    published, paper = evidence.published, evidence.paper
    day = published.isoformat() if published else str(paper.year or "") if paper else ""
    dated = say("published", date=day) if day else retrieved
    host = "" if evidence.expires else urlsplit(canonical_url(evidence.url)).hostname or ""
    return [
        say(f"notice.{evidence.notice}") if evidence.notice else "",
        say(f"kind.{evidence.kind}"),
        _by(paper, say) if paper else "",
        escape(evidence.publisher) or escape(host),
        dated,
        retrieved if evidence.expires and published else "",
        *(_of_paper(paper, say) if paper else ()),
        say("sample") if evidence.sample else "",
        say("expires") if evidence.expires else "",
        say(f"standing.{evidence.standing}") if evidence.standing else "",
        say("see also", link=link(evidence.also, evidence.also)) if evidence.also else "",
    ]


def _by(paper: Paper, say: Say) -> str:
    """Who has written a work, the first of them."""
    names = say("comma").join(escape(one.shown) for one in paper.authors[:AUTHORS])
    return say("and others", names=names) if len(paper.authors) > AUTHORS else names


def _of_paper(paper: Paper, say: Say) -> Iterator[str]:
    """The DOI of a work, and how often it is cited, by whose count."""
    yield f"DOI {escape(paper.doi)}" if paper.doi else ""
    if paper.cited is not None and paper.counted:
        service = _where_looked(paper.counted, say)
        yield say("cited by", n=f"{paper.cited:,}", service=service)


# --- What its reader has noted


def _remarks(
    report: Report, registry: Registry, cited: CitedAnswer | None, say: Say
) -> Iterator[str]:
    """The notes of whose report it is, each under what it is on: none of it is or has a citation."""
    if not report.remarks:
        return
    numbers = {source.evidence.id: source.number for source in cited.sources} if cited else {}
    yield f"## {say('remarks')}"
    yield say("remarks own")
    for one in report.remarks:
        day = utc(one.made).date().isoformat()
        item = registry.get(one.evidence)
        if item is None:
            yield say("remark answer", date=day)
        else:
            passage = registry.passage(one.evidence, one.passage)
            facts = [
                say("remark source", n=numbers[item.id]) if item.id in numbers else "",
                escape(_name(item, say)),
                escape(passage.heading) if passage else "",
                f"“{escape(_short(passage.text))}”" if passage and passage.text.strip() else "",
            ]
            yield say("remark passage", what=" · ".join(filter(None, facts)), date=day)
        lines = [escape(line) for line in BREAKS.split(one.text) if line.strip()]
        yield "\n>\n".join(f"> {line}" for line in lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= NOTED else f"{line[: NOTED - 1].rstrip()}…"


# --- Where it is


def gathered(report: Report) -> Registry:
    """Every source of the findings once, and any other that the report knows."""
    registry = gather(report.findings)
    for item in report.evidence:
        registry.add(item)
    return registry


def _places(report: Report, cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    """The places as a table, those that are cited first."""
    registry = gathered(report)
    numbers = {source.evidence.id: source.number for source in cited.sources} if cited else {}
    items = [source.evidence for source in cited.sources] if cited else []
    items += [item for item in registry if item.id not in numbers]
    found = [(item, item.place) for item in items if item.place]
    if not found:
        return
    near = _centres(report, registry)
    centres = dict.fromkeys(near.values())
    several = len({centre.name for centre in centres}) > 1
    yield f"## {say('places')}"
    yield from bullets(_centre(centre, say) for centre in centres)
    head = [say(f"place.{column}") for column in _COLUMNS]
    rows = [head, ["---"] * len(head)]
    for item, place in found[:PLACES]:
        number = say("cite", number=numbers[item.id]) if item.id in numbers else "—"
        centre = near.get(item.id) if several else None
        rows.append([number, *_row(item, place, centre, say)])
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)
    if len(found) > PLACES:
        yield say("places left out", count=len(found) - PLACES)


_COLUMNS = (
    "number", "name", "category", "address", "distance", "rating", "cost", "hours", "coordinates",
)  # fmt: skip


def _centres(report: Report, registry: Registry) -> dict[str, Centre]:
    """What each place was searched around: as it is known from where it was found first."""
    near: dict[str, Centre] = {}
    for finding in report.findings:
        for item in finding.evidence:
            known = registry.get(item.id)
            if finding.centre and item.place and known:
                near.setdefault(known.id, finding.centre)
    return near


def _centre(centre: Centre, say: Say) -> str:
    where = _position(centre)
    radius = say("radius", far=_far(centre.radius, say)) if centre.radius > 0 else ""
    if centre.asked:
        radius = say("widened", radius=radius, asked=_far(centre.asked, say))
    facts = [escape(centre.name) or say("untitled"), where, radius]
    return say("centre", what=say("comma").join(fact for fact in facts if fact))


def _row(item: Evidence, place: Place, centre: Centre | None, say: Say) -> Iterator[str]:
    """The cells of a place behind its number; `centre` if it has to be said which one it was."""
    name = link(place.name.strip() or _name(item, say), item.url)
    yield f"{name} · {say('sample')}" if place.sample else name
    category = f"category.{place.category}"
    yield say(category) if known(category) else escape(place.category)
    yield escape(" ".join(dict.fromkeys([place.city, place.district, place.address])))
    away = "" if place.distance is None else _far(place.distance, say)
    yield f"{away} · {escape(centre.name)}" if away and centre and centre.name.strip() else away
    yield _figure(place.rating)
    yield _figure(place.cost)
    yield escape(place.hours)
    yield _position(place)


def _position(point: Place | Centre) -> str:
    known = abs(point.lng) <= 180 and abs(point.lat) <= 90
    return f"{point.lat:z.6f}, {point.lng:z.6f}" if known else "—"


def _far(metres: int, say: Say) -> str:
    """A distance as people say it."""
    if metres < 1_000:
        return say("metres", count=metres)
    return say("kilometres", count=f"{metres / 1_000:,.1f}")


def _figure(value: float | None) -> str:
    """A number as people write it: 60, not 60.00."""
    if value is None or not isfinite(value):
        return ""
    return f"{value:.2f}".rstrip("0").rstrip(".")


# --- What went wrong


def failed(report: Report, cited: CitedAnswer | None) -> tuple[Failure, ...]:
    """The failures that the answer lists; without one, those of every stage that there was.

    A look-up that found nothing has not failed.
    """
    if cited:
        return cited.answer.failures
    found = list(report.plan.failures) if report.plan else []
    for reflection in report.reflections:
        found += reflection.failures
    for finding in report.findings:
        found += finding.failures
        if finding.reason and finding.reason != "empty":
            task = finding.task
            found.append(
                Failure(
                    source=task.source,
                    query=task.query,
                    reason=finding.reason,
                    hint=finding.hint,
                    message=finding.message,
                )
            )
    return tuple(found)


def _failures(report: Report, cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    """Yield the section on failures: each group of equal failures with its searches, then the
    original messages of the services."""
    failures = failed(report, cited)
    if not failures:
        return
    groups = group_failures(failures, language_of(report, cited))
    yield f"## {say('failures')}"
    yield from bullets(_grouped(group, say) for group in groups)
    details = dict.fromkeys(text for group in groups for text in group.details)
    if details:
        yield (say("failure details") + say("colon")).rstrip()
        yield from bullets(escape(text) for text in details)


def _grouped(group: FailureGroup, say: Say) -> str:
    text = escape(group.text)
    if group.number > 1:
        text += say("aside", what=f"{group.number}×")
    queries = [f"“{escape(query)}”" for query in group.queries[:SHOWN_QUERIES]]
    if len(group.queries) > SHOWN_QUERIES:
        queries.append("…")
    return text + say("aside", what=say("comma").join(queries)) if queries else text


def _failure(failure: Failure, say: Say) -> str:
    """What failed, where and why."""
    stage = say(f"stage.{failure.stage}")
    where = _where_looked(failure.source, say) if failure.source.strip() else ""
    what = f"“{escape(failure.query)}”" if failure.query.strip() else stage
    facts = [
        stage if failure.stage != "search" and what != stage else "",
        where,
        *_because(failure.reason, failure.hint, failure.message, say),
    ]
    return f"{what} — {joined(facts, say)}"


def _because(reason: Reason | None, hint: Hint, message: str, say: Say) -> Iterator[str]:
    """A reason in words, and what could help."""
    if reason == "unclear" and message.strip():  # it asks back
        yield say("reason.unclear") + say("colon") + escape(message)
        return
    if reason == "no model" and message.strip():  # it says all of it
        yield escape(message)
        return
    yield say(f"reason.{reason}") if reason else ""
    yield say(f"hint.{hint}") if hint else ""
    if reason in (None, "empty"):  # else it is told with what failed
        yield escape(message)


def _where_looked(source: str, say: Say) -> str:
    """The name of a source as people read it; a source without words keeps its own name."""
    key = f"source.{source}"
    return escape(say(key) if known(key) else source)


# --- How it came about


def _plan(report: Report, say: Say, *, with_evidence: bool) -> Iterator[str]:
    yield f"## {say('plan')}"
    if report.plan is None:
        yield say("no plan")
    else:
        if report.plan.edited:
            yield say("edited")
        yield from bullets(_said(report, say))
        if report.plan.parts:
            yield say("parts")
        yield from bullets(
            f"“{escape(part.text)}”" + (f" — {escape(part.subject)}" if part.subject else "")
            for part in report.plan.parts
        )
        yield from (escape(note) for note in report.plan.notes if note.strip())
    for number in rounds(report):
        yield from _round(report, number, say, with_evidence=with_evidence)


def _said(report: Report, say: Say) -> Iterator[str]:
    """What the run has asked back, and what was said to it while it went on."""
    asked = report.clarification
    if asked and asked.answer is not None:
        answer = escape(asked.answer) or say("clarified skipped")
        yield say("clarified", question=escape(asked.question), answer=answer)
    for one in report.instructions:
        yield say("instruction" if one.heeded else "instruction late", text=escape(one.text))


def rounds(report: Report) -> list[int]:
    planned = report.plan.tasks if report.plan else ()
    return sorted(
        {task.round for task in planned}
        | {finding.task.round for finding in report.findings}
        | {reflection.round for reflection in report.reflections}
    )


def waiting(report: Report, number: int) -> list[Task]:
    """The planned tasks of a round that brought back neither evidence nor a reason."""
    ran = {finding.task.id for finding in report.findings}
    planned = report.plan.tasks if report.plan else ()
    return [task for task in planned if task.round == number and task.id not in ran]


def _round(report: Report, number: int, say: Say, *, with_evidence: bool) -> Iterator[str]:
    yield f"### {say('round', round=number)}"
    found = [
        _finding(finding, say, with_evidence=with_evidence)
        for finding in report.findings
        if finding.task.round == number
    ]
    unrun = [_task(task, [say("not run")], say) for task in waiting(report, number)]
    yield from bullets([*found, *unrun])
    for reflection in report.reflections:
        if reflection.round == number:
            yield from _reflection(reflection, say)


def _task(task: Task, outcome: list[str], say: Say, provider: str = "") -> str:
    looked = _where_looked(task.source, say)
    where = say("by", source=looked, provider=_where_looked(provider, say)) if provider else ""
    reason = say(f"why.{task.why}") if known(f"why.{task.why}") else escape(task.why)
    why = say("why", why=reason) if task.why.strip() else ""
    return f"“{escape(task.query)}” — {joined([where or looked, why, *outcome], say)}"


def _kept(finding: Finding, say: Say) -> str:
    """That a search was not made anew, and when it was."""
    if finding.cached:
        return say("cached", time=f"{utc(finding.started):%Y-%m-%d %H:%M} UTC")
    return say("reused") if finding.reused else ""


def _finding(finding: Finding, say: Say, *, with_evidence: bool) -> str:
    count = finding.passages
    outcome = [
        say("passage" if count == 1 else "passages", count=count) if not finding.reason else "",
        *_because(finding.reason, finding.hint, finding.message, say),
        say("seconds", seconds=f"{finding.seconds:.1f}"),
        _kept(finding, say),
    ]
    asked = say("semicolon").join(f"“{escape(query)}”" for query in finding.asked)
    below = [
        *([say("asked", queries=asked)] if asked else []),
        *(say("beside", failure=_failure(failure, say)) for failure in finding.failures),
        *(_found(item, say) for item in finding.evidence if with_evidence),
    ]
    line = _task(finding.task, outcome, say, finding.provider.strip())
    return "".join([line, *(f"\n  - {fact}" for fact in below)])


def _found(evidence: Evidence, say: Say) -> str:
    """A source that was found, and whether its page need not have the words found."""
    grounding = any(passage.origin == "grounding" for passage in evidence.passages)
    return _source(evidence, say) + (say("semicolon") + say("grounding") if grounding else "")


def _reflection(reflection: Reflection, say: Say) -> Iterator[str]:
    yield say("sufficient" if reflection.sufficient else "insufficient")
    yield from _lines(reflection.note)
    yield from bullets(
        [
            *(say("gap", gap=escape(gap)) for gap in reflection.gap),
            *(say("follow-up", query=_task(task, [], say)) for task in reflection.follow_ups),
        ]
    )


class Total(NamedTuple):
    """What several calls used together. `cost` adds up the prices that are known; `unpriced` counts
    the calls without one, `estimated` those whose tokens nobody has counted."""

    calls: int
    input: int
    cached: int
    output: int
    searches: int
    cost: float | None  # None if no price is known
    unpriced: int
    estimated: int

    @property
    def complete(self) -> bool:
        """Whether every price is known and every token counted."""
        return not (self.unpriced or self.estimated)


def total(usage: Sequence[Usage]) -> Total:
    known = [item.cost for item in usage if item.cost is not None]
    return Total(
        calls=sum(item.calls for item in usage),
        input=sum(item.input for item in usage),
        cached=sum(item.cached for item in usage),
        output=sum(item.output for item in usage),
        searches=sum(item.searches for item in usage),
        cost=round(sum(known), 6) if known or not usage else None,
        unpriced=sum(item.calls for item in usage if item.cost is None),
        estimated=sum(item.calls for item in usage if item.estimated),
    )


def _usage(report: Report, say: Say) -> Iterator[str]:
    """What the run used: in all, then by model or search service."""
    if not report.usage:
        return
    by_model: dict[str, list[Usage]] = {}
    for item in report.usage:
        by_model.setdefault(item.model, []).append(item)
    yield f"## {say('usage')}"
    yield from bullets(
        [
            say("spent", who=say("in all"), what=_spent(total(report.usage), say)),
            *(
                say("spent", who=escape(model) or say("untitled"), what=_spent(total(used), say))
                for model, used in by_model.items()
            ),
        ]
    )


def _spent(used: Total, say: Say) -> str:
    tokens = used.input or used.output
    cost = "" if used.cost is None else f"{used.cost:.4f}"
    price = "cost in part" if used.unpriced else "cost"
    facts = [
        say("call" if used.calls == 1 else "calls", count=used.calls),
        say("tokens in", count=f"{used.input:,}") if tokens else "",
        say("tokens cached", count=f"{used.cached:,}") if used.cached else "",
        say("tokens out", count=f"{used.output:,}") if tokens else "",
        say("search" if used.searches == 1 else "searches", count=used.searches)
        if used.searches
        else "",
        say("uncounted" if used.estimated == 1 else "uncounted several", count=used.estimated)
        if used.estimated
        else "",
        say(price, cost=cost) if cost else say("cost unknown"),
    ]
    return joined(facts, say)


def origin_markdown(report: Report, cited: CitedAnswer | None) -> str:
    """How a report was made and what failed, as Markdown: what other files tell of themselves."""
    say = speaker(language_of(report, cited))
    return "\n\n".join([*_made(report, cited, say), *_failures(report, cited, say)])


def _made(report: Report, cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    run = report.run
    chosen = run.options
    sources = say("comma").join(_where_looked(name, say) for name in chosen.sources)
    if chosen.sections:
        limits = {"sections": chosen.sections, "reflections": chosen.reflections}
        options = say("report options", sources=sources, **limits)
    else:
        options = say("options", sources=sources, queries=chosen.queries, loops=chosen.loops)
    made = say("made at", time=_minute(cited.answer.made)) if cited else ""
    models = dict.fromkeys(item.model for item in report.usage if item.model.strip())
    facts = [
        say("author", author=escape(cited.answer.author)) if cited else "",
        options,
        say("notebook", name=escape(run.options.notebook)) if run.options.notebook else "",
        _limits(run.options, say),
        say("model", model=escape(run.options.model)) if run.options.model.strip() else "",
        say("used", names=say("comma").join(map(escape, models))) if models else "",
        say("run", run=escape(run.id)),
        say("status", status=say(f"status.{run.status}")),
        say("error", error=escape(run.error)) if run.error.strip() else "",
        made or say("created at", time=_minute(run.created)),
        say("sampled", what=_sampled(report, cited, say)),
        say("failed", count=len(failed(report, cited))),
    ]
    yield f"## {say('made')}"
    yield from bullets(fact for fact in facts if fact)


def _limits(options: Options, say: Say) -> str:
    """What the run might use, where that was limited."""
    names = ("searches", "tokens", "cost", "seconds")
    set_ = [(name, getattr(options, name)) for name in names if getattr(options, name)]
    told = [say(f"limit.{name}", n=f"{value:,.10g}") for name, value in set_]
    return say("limits", limits=say("comma").join(told)) if told else ""


def _sampled(report: Report, cited: CitedAnswer | None, say: Say) -> str:
    """Which of the sources are sample data."""
    numbers = [str(s.number) for s in cited.sources if s.evidence.sample] if cited else []
    if numbers:
        return say("sampled sources", numbers=say("comma").join(numbers))
    found = any(item.sample for finding in report.findings for item in finding.evidence)
    used = found or (cited is not None and cited.answer.sample)
    return say("sampled uncited" if used else "sampled none")


def utc(time: datetime) -> datetime:
    """A time in UTC; one without a zone is UTC already."""
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def _minute(time: datetime) -> str:
    return f"{utc(time):%Y-%m-%d %H:%M} UTC"


def file_name(report: Report, suffix: str) -> str:
    """A file name for an export, from the time and the run's id alone: "sightline-….md"."""
    made = utc(report.answer.made if report.answer else report.run.created)
    run = re.sub(r"[^A-Za-z0-9]", "", report.run.id)[:8] or "run"
    return f"sightline-{made:%Y%m%d-%H%M}-{run}.{suffix.lstrip('.')}"
