"""A report as Markdown, for people.

All text but the fixed words comes from outside and is escaped: it reads as itself and can start no
link, image, tag or heading. What a model wrote may have headings, lists, tables, code and emphasis,
and nothing else. Knows reports and numbered answers; writes no file, and never takes a file name
from a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import groupby
from math import isfinite
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from research.evidence.citations import CitedAnswer, CitedSource, NumberedSpan, verbatim
from research.evidence.markup import Node, encodable, punctuation, tree
from research.evidence.registry import Registry, gather
from research.export.words import WORDS, Say, speaker
from research.records import (
    Centre,
    Evidence,
    Failure,
    Finding,
    Hint,
    Language,
    Options,
    Passage,
    Place,
    Reason,
    Reflection,
    Report,
    SpanKind,
    Task,
    Usage,
)
from research.text import language
from research.urls import canonical_url

TITLE_LENGTH = 80  # characters
PLACES = 200  # rows of the table of places

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
_BREAKS = re.compile(r"[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")


def escape(text: str) -> str:
    """Markdown that renders as exactly `text`, on one line, white space collapsed.

    Safe at the start of a line, in a heading, a link's text or a table cell, and beside other text
    that is set off by a space or by a mark such as ” or ;. Ordinary sentences come out as they are.
    Two characters cannot be rendered and become U+FFFD: NUL and half a surrogate pair.
    """
    return _at_start(_inactive(" ".join(text.split())))


def _inactive(text: str) -> str:
    """Text within a line in which nothing acts."""
    return _ACTIVE.sub(_backslashed, encodable(text).replace("\0", "\ufffd"))


def _at_start(line: str) -> str:
    """A line that begins no heading, list, quotation or rule."""
    head = _LEADING_NUMBER.match(line)
    if head:
        return f"{head[1]}\\{line[head.end(1) :]}"
    return f"\\{line}" if _LEADING.match(line) else line


def _backslashed(match: re.Match[str]) -> str:
    return "".join("\\" + char for char in match[0])


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


# --- What a model wrote ---------------------------------------------------------------------------

_WRAPS = {"em": "*", "strong": "**", "s": "~~"}
_BLOCK_TAGS = frozenset({"p", "h", "ul", "ol", "table", "pre", "blockquote", "hr"})
_CLOSE = "，。；、！？）”’,.;!?"  # what needs no space behind a citation; "(" and ":" would make it a link
_RULERS = {"left": ":---", "center": ":---:", "right": "---:"}


def markdown(spans: Sequence[NumberedSpan], marks: Callable[[NumberedSpan], str]) -> str:
    """A run of text spans as Markdown that renders as `tree` reads it.

    It is written anew from the tree: lists, tables, code, headings and emphasis are all that can
    come of it. `marks` gives what stands where a span has its citations; it begins with a space.
    Lists have bullets of their own, "*", so that none runs on into a list of the report.
    """
    return "\n\n".join(_Writer(spans, marks).blocks(tree(spans)))


class _Writer:
    def __init__(self, spans: Sequence[NumberedSpan], marks: Callable[[NumberedSpan], str]) -> None:
        self._spans, self._marks = spans, marks

    def blocks(self, nodes: Sequence[Node], *, in_item: bool = False) -> list[str]:
        """The blocks of a container; strings and the like between them are paragraphs."""
        out: list[str] = []
        last, other = "", in_item  # `other`: lists that touch need bullets that differ
        for inline, group in groupby(nodes, key=_is_inline):
            if inline:
                out += self._paragraphs(list(group))
                last, other = "", False
                continue
            for node in group:
                assert isinstance(node, dict)
                other = not other if node["t"] == last else other and not last
                last = node["t"]
                out += self._block(node, other=other)
        return out

    def _block(self, node: dict[str, Any], *, other: bool) -> list[str]:
        content, kind = node["c"], node["t"]
        if kind == "p":
            return self._paragraphs(content)
        if kind == "h":
            title = re.sub(r"(?<= )#+$", _backslashed, self._flow(content).strip())
            return [f"{'#' * node['level']} {_at_start(title)}"] if title else []
        if kind == "pre":
            return [_fenced(str(content[0]))]
        if kind == "table":
            return [self._table(content)]
        if kind == "blockquote":
            lines = "\n\n".join(self.blocks(content)).split("\n")
            return ["\n".join(f"> {line}".rstrip() for line in lines)]
        if kind == "hr":
            return ["---"]
        return [self._list(node, other=other)]

    def _list(self, node: dict[str, Any], *, other: bool) -> str:
        first = int(node.get("start", 1))
        items = []
        for at, item in enumerate(node["c"]):
            number_ = f"{first + at}{'.)'[other]}"
            items.append(self._item(item, number_ if node["t"] == "ol" else "*+"[other]))
        dense = not any("\n\n" in item for item in items)
        spaced = any(
            not _is_inline(child) and child["t"] == "p" for i in node["c"] for child in i["c"]
        )
        return ("\n" if dense and not spaced else "\n\n").join(items)

    def _item(self, node: dict[str, Any], marker: str) -> str:
        blocks = self.blocks(node["c"], in_item=True)
        # A list may follow its paragraph at once unless it is one that cannot interrupt it.
        follows = len(blocks) == 2 and re.match(r"(?:[*+]|1[.)]) \S", blocks[1])
        dense = follows and _is_inline(node["c"][0])
        lines = ("\n" if dense else "\n\n").join(blocks).split("\n")
        indent = " " * (len(marker) + 1)
        rest = [f"{indent}{line}" if line else "" for line in lines[1:]]
        return "\n".join([f"{marker} {lines[0]}".rstrip(), *rest])

    def _table(self, rows: Sequence[dict[str, Any]]) -> str:
        cells = [[self._flow(cell["c"], cell=True).strip() for cell in row["c"]] for row in rows]
        rulers = [_RULERS.get(cell.get("align", ""), "---") for cell in rows[0]["c"]]
        lines = (" | ".join(row) for row in [cells[0], rulers, *cells[1:]])
        return "\n".join(f"| {line} |" for line in lines)

    def _paragraphs(self, nodes: Sequence[Node]) -> list[str]:
        """One paragraph for each line: a line of its own could begin another block."""
        parts = [
            self._flow(list(group)).strip()
            for breaks, group in groupby(nodes, key=lambda node: _tag(node) == "br")
            if not breaks
        ]
        return [_at_start(part) for part in parts if part]

    def _flow(self, nodes: Sequence[Node], within: str = "", *, cell: bool = False) -> str:
        """Inline nodes on one line, with a space where two would act on each other."""
        out = ""
        last: Node = ""
        for node in nodes:
            piece = self._piece(node, within, cell=cell)
            if not piece:
                continue
            piece = piece.lstrip() if out.endswith(" ") else piece
            out += " " * _collide(last, out, node, piece) + piece if piece else ""
            last = node
        return out

    def _piece(self, node: Node, within: str, *, cell: bool) -> str:
        if isinstance(node, str):
            return _inactive(re.sub(r"\s+", " ", node))
        kind = node["t"]
        if kind == "cite":
            return self._marks(self._spans[node["span"]])
        if kind == "br":
            return " "
        if kind == "code":
            return _code(str(node["c"][0]), cell=cell)
        inner = self._flow(node["c"], f"{within} {kind}", cell=cell)
        words = inner.strip()
        if not words or kind in within.split():
            return inner
        before, after = inner[0].isspace(), inner[-1].isspace()
        return " " * before + _WRAPS[kind] + words + _WRAPS[kind] + " " * after


def _tag(node: Node) -> str:
    return node["t"] if isinstance(node, dict) else ""


def _is_inline(node: Node) -> bool:
    return _tag(node) not in _BLOCK_TAGS


def _collide(last: Node, out: str, node: Node, piece: str) -> bool:
    """Whether two neighbours need a space between them to stay what they are."""
    if not out or out[-1].isspace() or piece[0].isspace():
        return False
    kinds = _tag(last), _tag(node)
    if re.search(r"(?<!\\)\]$", out) and piece[0] not in "*~":  # it ends with a citation
        return piece[0] not in _CLOSE
    if kinds == ("code", "code") or (kinds[0] in _WRAPS and kinds[1] in _WRAPS):
        return True
    if kinds[0] in _WRAPS:
        return punctuation(out.rstrip("*~")[-1:] or "*") and not punctuation(piece[0])
    if kinds[1] in _WRAPS:
        return punctuation(piece.lstrip("*~")[:1] or "*") and not punctuation(out[-1])
    return False


def _code(content: str, *, cell: bool) -> str:
    ticks = "`" * (max(map(len, re.findall("`+", content)), default=0) + 1)
    content = re.sub(r"\s", " ", encodable(content))
    if content.strip() and (content[0] in "` " or content[-1] in "` "):
        content = f" {content} "
    return ticks + (content.replace("|", "\\|") if cell else content) + ticks


def _fenced(content: str) -> str:
    ticks = "`" * max(3, max(map(len, re.findall("`+", content)), default=0) + 1)
    return f"{ticks}\n{encodable(content).rstrip()}\n{ticks}"


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
        *_places(report, cited, say),
        *_failures(report, cited, say),
        *_plan(report, say, with_evidence=cited is None),
        *_usage(report, say),
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


def answer_markdown(cited: CitedAnswer) -> str:
    """The answer alone, with its citations as [n] and without its title."""
    return "\n\n".join(_body(cited, speaker(cited.answer.language)))


def _answer(report: Report, cited: CitedAnswer, say: Say) -> Iterator[str]:
    title = escape(cited.answer.title)
    if title and title != escape(report.run.question):
        yield f"**{title}**"
    yield from _body(cited, say)


def _body(cited: CitedAnswer, say: Say) -> Iterator[str]:
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
    if text := markdown(spans, lambda item: _marks(item, say)):
        yield text


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
    lines = [line for source in cited.sources for line in _cited_source(source, say)]
    yield "\n".join(lines) or say("nothing cited")


def _cited_source(source: CitedSource, say: Say) -> Iterator[str]:
    """A numbered source. The words of a search model follow: its page need not have them."""
    number = f"{source.number}. "
    yield number + _source(source.evidence, say)
    for passage in source.evidence.passages:
        if passage.origin == "grounding":
            yield f"{' ' * len(number)}- “{escape(passage.text)}” — {say('grounding')}"


def _name(evidence: Evidence, say: Say) -> str:
    return evidence.title.strip() or canonical_url(evidence.url) or say("untitled")


def _source(evidence: Evidence, say: Say) -> str:
    """One source: its title, linked if it has an address, and what is known of it."""
    facts = _of_map(evidence, say) if evidence.kind == "place" else _of_source(evidence, say)
    known = say("comma").join(fact for fact in facts if fact)
    return f"{_link(_name(evidence, say), evidence.url)} — {known}"


def _of_map(evidence: Evidence, say: Say) -> Iterator[str]:
    """What is known of a place, or of what else a map service says: a way, the weather."""
    place = evidence.place
    sample = place is not None and place.provider == "offline"  # its name says that it is a sample
    if place and not sample:
        yield say("poi", service=_where_looked(place.provider, say))
    else:
        yield say("source.offline") if sample else escape(evidence.publisher) or say("kind.place")
    yield say("looked up", date=utc(evidence.retrieved).date().isoformat())
    yield say("sample") if evidence.sample and not sample else ""


def _of_source(evidence: Evidence, say: Say) -> list[str]:
    retrieved = say("retrieved", date=utc(evidence.retrieved).date().isoformat())
    published = evidence.published
    dated = say("published", date=published.isoformat()) if published else retrieved
    host = "" if evidence.expires else urlsplit(canonical_url(evidence.url)).hostname or ""
    return [
        say(f"kind.{evidence.kind}"),
        escape(evidence.publisher) or escape(host),
        dated,
        retrieved if evidence.expires and published else "",
        say("sample") if evidence.sample else "",
        say("expires") if evidence.expires else "",
    ]


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
    yield from _bullets(_centre(centre, say) for centre in centres)
    head = [say(f"place.{column}") for column in _COLUMNS]
    rows = [head, ["---"] * len(head)]
    for item, place in found[:PLACES]:
        number = f"[{numbers[item.id]}]" if item.id in numbers else "—"
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
    facts = [escape(centre.name) or say("untitled"), where, radius]
    return say("centre", what=say("comma").join(fact for fact in facts if fact))


def _row(item: Evidence, place: Place, centre: Centre | None, say: Say) -> Iterator[str]:
    """The cells of a place behind its number; `centre` if it has to be said which one it was."""
    name = _link(place.name.strip() or _name(item, say), item.url)
    yield f"{name} · {say('sample')}" if place.sample else name
    category = f"category.{place.category}"
    yield say(category) if category in WORDS else escape(place.category)
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
    failures = failed(report, cited)
    if failures:
        yield f"## {say('failures')}"
        yield from _bullets(_failure(failure, say) for failure in failures)


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
    return f"{what} — {_facts(facts, say)}"


def _because(reason: Reason | None, hint: Hint, message: str, say: Say) -> Iterator[str]:
    """A reason in words, what could help, and what was said by whoever failed."""
    if reason == "unclear" and message.strip():  # it asks back
        yield say("reason.unclear") + say("colon") + escape(message)
        return
    yield say(f"reason.{reason}") if reason else ""
    yield say(f"hint.{hint}") if hint else ""
    yield escape(message)


def _facts(facts: Iterable[str], say: Say) -> str:
    return say("semicolon").join(fact for fact in facts if fact)


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


def _task(task: Task, outcome: list[str], say: Say, provider: str = "") -> str:
    looked = _where_looked(task.source, say)
    where = say("by", source=looked, provider=_where_looked(provider, say)) if provider else ""
    reason = say(f"why.{task.why}") if f"why.{task.why}" in WORDS else escape(task.why)
    why = say("why", why=reason) if task.why.strip() else ""
    return f"“{escape(task.query)}” — {_facts([where or looked, why, *outcome], say)}"


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
    yield from _bullets(
        [
            *(say("gap", gap=escape(gap)) for gap in reflection.gap),
            *(say("follow-up", query=_task(task, [], say)) for task in reflection.follow_ups),
        ]
    )


class Total(NamedTuple):
    """What several calls used together. `cost` adds up the prices that are known."""

    calls: int
    input: int
    cached: int
    output: int
    searches: int
    cost: float | None  # None if no price is known
    complete: bool  # whether every price is


def total(usage: Sequence[Usage]) -> Total:
    known = [item.cost for item in usage if item.cost is not None]
    return Total(
        calls=sum(item.calls for item in usage),
        input=sum(item.input for item in usage),
        cached=sum(item.cached for item in usage),
        output=sum(item.output for item in usage),
        searches=sum(item.searches for item in usage),
        cost=round(sum(known), 6) if known or not usage else None,
        complete=len(known) == len(usage),
    )


def _usage(report: Report, say: Say) -> Iterator[str]:
    """What the run used: in all, then by model or search service."""
    if not report.usage:
        return
    by_model: dict[str, list[Usage]] = {}
    for item in report.usage:
        by_model.setdefault(item.model, []).append(item)
    yield f"## {say('usage')}"
    yield from _bullets(
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
    price = "cost" if used.complete else "cost in part"
    facts = [
        say("call" if used.calls == 1 else "calls", count=used.calls),
        say("tokens in", count=f"{used.input:,}") if tokens else "",
        say("tokens cached", count=f"{used.cached:,}") if used.cached else "",
        say("tokens out", count=f"{used.output:,}") if tokens else "",
        say("search" if used.searches == 1 else "searches", count=used.searches)
        if used.searches
        else "",
        say(price, cost=cost) if cost else say("cost unknown"),
    ]
    return _facts(facts, say)


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
        _limits(run.options, say),
        say("model", model=escape(run.options.model)) if run.options.model.strip() else "",
        say("run", run=escape(run.id)),
        say("status", status=say(f"status.{run.status}")),
        say("error", error=escape(run.error)) if run.error.strip() else "",
        made or say("created at", time=_minute(run.created)),
        say("sampled", what=_sampled(report, cited, say)),
        say("failed", count=len(failed(report, cited))),
    ]
    yield f"## {say('made')}"
    yield from _bullets(fact for fact in facts if fact)


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
