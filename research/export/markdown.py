"""A report as Markdown, for people.

All text but the fixed words comes from outside and is escaped: it reads as itself and can start no
link, image, tag or heading. Knows reports and numbered answers; writes no file, and never takes a
file name from a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from urllib.parse import quote, urlsplit

from research.evidence.citations import CitedAnswer, CitedSource, NumberedSpan, verbatim
from research.evidence.registry import canonical_url
from research.export.words import WORDS, Say, speaker
from research.records import (
    Evidence,
    Failure,
    Finding,
    Language,
    Passage,
    Reflection,
    Report,
    SpanKind,
    Task,
)
from research.text import language

TITLE_LENGTH = 80  # characters

# What acts wherever it stands. "~" is among them: GitHub strikes out from one "~" to the next, and
# 3~5天，10~20元 is ordinary Chinese. "!" is not: it acts only before a bracket, and none is left.
_ACTIVE = re.compile(
    r"[\\`*\[\]|$~]"
    r"|(?<![A-Za-z0-9_])_+|_+(?![A-Za-z0-9_])"  # within a word, as in snake_case, it does nothing
    r"|<(?=[A-Za-z/!?])"
    r"|&(?=#?[A-Za-z0-9]*(;|$))"
    r"|(?<= )#(?=#*$)"  # would close a heading
)
# What acts only at the start of a block.
_LEADING = re.compile(r"[#>=]|[-+](?=[ -]|$)")
_LEADING_NUMBER = re.compile(r"([0-9]{1,9})([.)])(?= |$)")
_SURROGATES = re.compile("[\ud800-\udfff]")
_BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def escape(text: str) -> str:
    """Markdown that renders as exactly `text`, on one line, white space collapsed.

    Safe at the start of a line, in a heading, a link's text or a table cell, and beside other text
    that is set off by a space or by a mark such as ” or ;. Ordinary sentences come out as they are.
    Two characters cannot be rendered and become U+FFFD: NUL and half a surrogate pair.
    """
    line = encodable(" ".join(text.split())).replace("\0", "\ufffd")
    head = _LEADING_NUMBER.match(line)
    if head:
        return f"{head[1]}\\{head[2]}{_ACTIVE.sub(_backslashed, line[head.end() :])}"
    if _LEADING.match(line):
        return f"\\{line[0]}{_ACTIVE.sub(_backslashed, line[1:])}"
    return _ACTIVE.sub(_backslashed, line)


def _backslashed(match: re.Match[str]) -> str:
    return "".join("\\" + char for char in match[0])


def encodable(text: str) -> str:
    """Text that UTF-8 can hold: JSON may smuggle in half of a surrogate pair."""
    return _SURROGATES.sub("\ufffd", text)


def _link(text: str, url: str) -> str:
    """A Markdown link, or only the text if the address is not http(s)."""
    address = canonical_url(url)
    label = escape(text) or escape(address)
    return f"[{label}]({_destination(address)})" if address else label


def _destination(address: str) -> str:
    """A canonical address as a link destination that nothing in it can end or change."""
    parts = urlsplit(address)
    origin = f"{parts.scheme}://{parts.netloc}"
    # "&" stays, but "&copy;" would be read as an entity: there the semicolon is encoded.
    rest = re.sub(r"(&#?[A-Za-z0-9]+);", r"\1%3B", address[len(origin) :])
    return origin + quote(rest, safe="/?#:@!&'+,;=%$-._~")


# --- The report as Markdown ---------------------------------------------------------------------


def report_markdown(report: Report, cited: CitedAnswer | None) -> str:
    """The whole report as Markdown, in the language of the answer, else of the question.

    `cited` is the report's answer with its numbers, or None if the run ended without an
    answer: then the report says so and lists the plan and what was found.
    """
    say = speaker(language_of(report, cited))
    blocks = [
        f"# {_title(report.run.question) or say('untitled')}",
        f"## {say('question')}",
        *_lines(report.run.question),
        f"## {say('answer')}",
        *(_answer(report, cited, say) if cited else _no_answer(report, say)),
        *(_sources(cited, say) if cited else ()),
        *_failures(report, cited, say),
        *_plan(report, say, with_evidence=cited is None),
        *_made(report, cited, say),
    ]
    return "\n\n".join(blocks) + "\n"


def language_of(report: Report, cited: CitedAnswer | None) -> Language:
    return cited.answer.language if cited else language(report.run.question)


def _title(question: str) -> str:
    line = " ".join(question.split())
    return escape(line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…")


def _lines(text: str) -> Iterator[str]:
    """Each line of outside text as a paragraph of its own."""
    return (escape(line) for line in _BREAKS.split(text) if line.strip())


def _bullets(lines: Iterable[str]) -> Iterator[str]:
    """A list as one block; nothing for no lines."""
    block = "\n".join(f"- {line}" for line in lines)
    if block:
        yield block


# --- The answer


def _answer(report: Report, cited: CitedAnswer, say: Say) -> Iterator[str]:
    title = escape(cited.answer.title)
    if title and title != escape(report.run.question):
        yield f"**{title}**"
    sources = {source.number: source for source in cited.sources}
    for shape, group in groupby(cited.spans, key=lambda item: _SHAPES[item.span.kind]):
        yield from shape(list(group), sources, say)


def _headings(spans: list[NumberedSpan], _: dict[int, CitedSource], say: Say) -> Iterator[str]:
    for item in spans:
        yield f"### {escape(item.span.text)}{_marks(item, say)}"


def _notices(spans: list[NumberedSpan], _: dict[int, CitedSource], say: Say) -> Iterator[str]:
    for item in spans:
        yield f"> {escape(item.span.text)}{_marks(item, say)}"


def _points(spans: list[NumberedSpan], sources: dict[int, CitedSource], say: Say) -> Iterator[str]:
    """Quotes and what was not found, as a list."""
    yield from _bullets(
        _quote(item, sources, say) if item.span.kind == "quote" else _missing(item, say)
        for item in spans
    )


def _texts(spans: list[NumberedSpan], _: dict[int, CitedSource], say: Say) -> Iterator[str]:
    """Stretches of text flow on into each other; a line break in the text ends a paragraph."""
    flow = ""
    part = spans[0].span.part
    for item in spans:
        flow += "" if item.span.part == part else "\n"
        part = item.span.part
        before, core, after = _parted(item.span.text)
        stretch = "\n".join(_lines(core)) + _marks(item, say)
        flow += before + ("" if flow.endswith(tuple("。！？；，、：")) else " ") + stretch + after
    return (line.strip() for line in flow.split("\n") if line.strip())


def _parted(text: str) -> tuple[str, str, str]:
    """A text without white space around it, and the line break before and after it, if any."""
    core = text.strip()
    before, _, after = text.partition(core) if core else (text, "", "")
    return "\n" * bool(_BREAKS.search(before)), core, "\n" * bool(_BREAKS.search(after))


def _marks(item: NumberedSpan, say: Say) -> str:
    """The citation numbers of a span. A space before each keeps a "!" from making an image."""
    unsourced = " " + say("no source") if item.unsourced else ""
    return "".join(f" [{number}]" for number in item.numbers) + unsourced


def _quote(item: NumberedSpan, sources: dict[int, CitedSource], say: Say) -> str:
    quoted = f"“{escape(item.span.text)}”{_marks(item, say)}"
    places = [_where(item, sources[number].evidence, say) for number in item.numbers]
    return f"{quoted} — {say('semicolon').join(places)}" if places else quoted


def _where(item: NumberedSpan, evidence: Evidence, say: Say) -> str:
    """Title, section and page, as far as they are known."""
    passage = quoted_passage(item, evidence)
    heading = passage.heading if passage else ""
    page = passage.page if passage else None
    words = [escape(_name(evidence, say)), escape(heading)]
    words.append("" if page is None else say("page", page=page))
    return " · ".join(word for word in words if word)


def quoted_passage(item: NumberedSpan, evidence: Evidence) -> Passage | None:
    """The passage of a source that a quote was taken from."""
    cited = {cite.passage for cite in item.span.cites}
    fitting = (p for p in evidence.passages if p.id in cited and verbatim(item.span.text, p.text))
    return next(fitting, None)


def _missing(item: NumberedSpan, say: Say) -> str:
    """What the writer says of a part without evidence: not found, or not looked up."""
    text = escape(item.span.text) or say("not found") + say("stop")
    return text + _marks(item, say)


_Shape = Callable[[list[NumberedSpan], dict[int, CitedSource], Say], Iterator[str]]
_SHAPES: dict[SpanKind, _Shape] = {
    "heading": _headings,
    "notice": _notices,
    "quote": _points,
    "missing": _points,
    "text": _texts,
}


def _no_answer(report: Report, say: Say) -> Iterator[str]:
    yield say("no answer", status=say(f"status.{report.run.status}"))


# --- What stands behind it


def _sources(cited: CitedAnswer, say: Say) -> Iterator[str]:
    yield f"## {say('sources')}"
    lines = [f"{source.number}. {_source(source.evidence, say)}" for source in cited.sources]
    yield "\n".join(lines) or say("nothing cited")


def _name(evidence: Evidence, say: Say) -> str:
    return evidence.title.strip() or canonical_url(evidence.url) or say("untitled")


def _source(evidence: Evidence, say: Say) -> str:
    """One source: its title, linked if it has an address, and what is known of it."""
    published = evidence.published
    facts = [
        say(f"kind.{evidence.kind}"),
        escape(evidence.publisher) or escape(urlsplit(canonical_url(evidence.url)).hostname or ""),
        say("published", date=published.isoformat())
        if published
        else say("retrieved", date=utc(evidence.retrieved).date().isoformat()),
        say("sample") if evidence.sample else "",
    ]
    known = say("comma").join(fact for fact in facts if fact)
    return f"{_link(_name(evidence, say), evidence.url)} — {known}"


def failed(report: Report, cited: CitedAnswer | None) -> tuple[Failure, ...]:
    """The failures that the answer lists; without one, those of the findings.

    A look-up that found nothing has not failed.
    """
    if cited:
        return cited.answer.failures
    return tuple(
        Failure(source=f.task.source, query=f.task.query, reason=f.reason, message=f.message)
        for f in report.findings
        if f.reason and f.reason != "empty"
    )


def _failures(report: Report, cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    failures = failed(report, cited)
    if failures:
        yield f"## {say('failures')}"
        yield from _bullets(
            f"“{escape(failure.query)}” — {_where_looked(failure.source, say)}{say('semicolon')}"
            f"{say(f'reason.{failure.reason}')}"
            for failure in failures
        )


def _where_looked(source: str, say: Say) -> str:
    """The name of a source as people read it; a source without words keeps its own name."""
    key = f"source.{source}"
    return say(key) if key in WORDS else escape(source)


# --- How it came about


def _plan(report: Report, say: Say, *, with_evidence: bool) -> Iterator[str]:
    yield f"## {say('plan')}"
    if report.plan is None:
        yield say("no plan")
    else:
        if report.plan.edited:
            yield say("edited")
        if report.plan.parts:
            yield say("parts")
        yield from _bullets(
            f"“{escape(part.text)}”" + (f" — {escape(part.subject)}" if part.subject else "")
            for part in report.plan.parts
        )
        yield from (escape(note) for note in report.plan.notes if note.strip())
    for number in rounds(report):
        yield from _round(report, number, say, with_evidence=with_evidence)


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
    yield from _bullets([*found, *unrun])
    for reflection in report.reflections:
        if reflection.round == number:
            yield from _reflection(reflection, say)


def _task(task: Task, outcome: list[str], say: Say) -> str:
    reason = say(f"why.{task.why}") if f"why.{task.why}" in WORDS else escape(task.why)
    why = say("why", why=reason) if task.why.strip() else ""
    facts = [_where_looked(task.source, say), why, *outcome]
    return f"“{escape(task.query)}” — {say('semicolon').join(fact for fact in facts if fact)}"


def _finding(finding: Finding, say: Say, *, with_evidence: bool) -> str:
    count = finding.passages
    outcome = [
        say("passage" if count == 1 else "passages", count=count) if not finding.reason else "",
        say(f"reason.{finding.reason}") if finding.reason else "",
        say("seconds", seconds=f"{finding.seconds:.1f}"),
        say("reused") if finding.reused else "",
    ]
    line = _task(finding.task, outcome, say)
    listed = finding.evidence if with_evidence else ()
    return "".join([line, *(f"\n  - {_source(item, say)}" for item in listed)])


def _reflection(reflection: Reflection, say: Say) -> Iterator[str]:
    yield say("sufficient" if reflection.sufficient else "insufficient")
    yield from _lines(reflection.note)
    yield from _bullets(
        [
            *(say("gap", gap=escape(gap)) for gap in reflection.gap),
            *(say("follow-up", query=_task(task, [], say)) for task in reflection.follow_ups),
        ]
    )


def _made(report: Report, cited: CitedAnswer | None, say: Say) -> Iterator[str]:
    run = report.run
    options = say(
        "options",
        queries=run.options.queries,
        loops=run.options.loops,
        sources=say("comma").join(_where_looked(name, say) for name in run.options.sources),
    )
    made = say("made at", time=_minute(cited.answer.made)) if cited else ""
    facts = [
        say("author", author=escape(cited.answer.author)) if cited else "",
        options,
        say("run", run=escape(run.id)),
        say("status", status=say(f"status.{run.status}")),
        say("error", error=escape(run.error)) if run.error.strip() else "",
        made or say("created at", time=_minute(run.created)),
        say("sampled", what=_sampled(report, cited, say)),
        say("failed", count=len(failed(report, cited))),
    ]
    yield f"## {say('made')}"
    yield from _bullets(fact for fact in facts if fact)


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
