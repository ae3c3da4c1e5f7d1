"""Asks chat models for a report: its outline, its sections, and what stands before them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict

from research.agent.llm import briefs
from research.agent.llm.drafts import ending, leaving_out, quoted
from research.agent.llm.judgement import Judgement
from research.agent.llm.material import Listing, citable, fitted
from research.agent.llm.prompts import QUERY, briefer
from research.citations.markup import parse
from research.citations.registry import addresses, titles
from research.core.errors import Trouble
from research.core.i18n import message
from research.core.records import (
    Draft,
    Failure,
    Finding,
    Options,
    Part,
    Plan,
    Question,
    Reflection,
    Say,
    Section,
    Span,
    Task,
    Tone,
    Tones,
)
from research.core.settings import Role
from research.models.calls import Chat, Prompt, Reply, Sized
from research.models.counting import tokens
from research.sources import registry

_OBJECT = re.compile(r'\s*(?:```\w*\s*)?\{\s*"')  # how JSON begins, and no section does
_TEXT = "\n\nYour last answer was JSON. Reply with the text of the section and nothing else."
BATCH = 60  # headlines that are judged by one call


class _Json(BaseModel):
    """What a model was asked for; what it adds is not looked at."""

    model_config = ConfigDict(extra="ignore")


class _Query(_Json):
    query: str
    source: str = ""
    search_tool: str = ""
    start_date: str = ""
    end_date: str = ""


class _Chapter(_Query):
    title: str
    content: str = ""


class _Outline(_Json):
    sections: list[_Chapter]


class _Judgement(Judgement, _Json):
    follow_ups: list[_Query] = []


class _Tone(_Json):
    number: int
    tone: Tone


class _Tones(_Json):
    tones: list[_Tone]


class _Models(Protocol):
    def chat(self, role: Role, options: Options | None = None) -> Chat: ...

    @property
    def today(self) -> date: ...

    @property
    def most(self) -> int: ...


class Editor:
    """Models as an editor."""

    def __init__(self, models: _Models) -> None:
        self._models = models

    async def outline(self, question: Question, options: Options, say: Say) -> Plan:
        """The sections of a report; without a model there is one, the question itself."""
        sources, most = options.sources, options.sections
        try:
            made = await self._models.chat("plan", options).json(
                briefs.outline_prompt(question, sources, most, self._models.today),
                briefs.outline_schema(sources, most),
                _Outline,
                "plan",
                say,
            )
        except Trouble as trouble:
            return Plan(outline=True, failures=(trouble.failure("plan"),))
        parts, tasks = [], []
        for n, chapter in enumerate(made.sections, 1):
            title = _line(chapter.title, briefs.TITLE)
            if not title:
                continue
            content = _line(chapter.content, briefs.CONTENT) or title
            parts.append(Part(id=f"s{n}", subject=title, text=content))
            tasks += _tasks([chapter], sources, f"s{n}", 1)
        return Plan(outline=True, parts=tuple(parts), tasks=tuple(tasks))

    async def fill(
        self,
        question: Question,
        plan: Plan,
        section: Section,
        findings: Sequence[Finding],
        options: Options,
        say: Say,
    ) -> Section:
        """The section with its text; without a model it stays as it is, and says why."""
        part = _part(plan, section)
        if not citable(findings):
            return section
        listing = Listing()

        def made(room: int) -> Prompt:
            nonlocal listing
            asked, before = briefer(question, room), briefs.shorter(section, room // 2)
            prompt, listing = fitted(
                findings,
                room,
                lambda shown: briefs.section_prompt(
                    asked, part, before, findings, shown, self._models.today
                ),
                most=self._models.most,
                written=section.spans,
            )
            if not listing.text:
                message = f"the material has no room in the prompt of {chat.spec}"
                raise Trouble("cut off", message, hint="context")
            return prompt

        try:
            chat = self._models.chat("write", options)
            reply = await _prose(chat, made, say)
        except Trouble as trouble:
            failure = trouble.failure("write", query=part.subject)
            if section.spans:  # what it said before is still right
                return section.model_copy(update={"failures": (*section.failures, failure)})
            notice = Span(kind="notice", text=message("draft.section", question.language))
            return Section(
                part=section.part,
                spans=(notice, *quoted(question.language, findings).spans),
                failures=(*section.failures, failure),
            )
        gathered = [item for found in findings for item in found.evidence]
        names = addresses(gathered), titles(gathered)
        spans = [*parse(reply.text, listing.handles, *names, partial=reply.cut)]
        if not any(span.cites for span in spans):
            spans.insert(0, Span(kind="notice", text=message("draft.unchecked", question.language)))
        spans += leaving_out(listing, str(chat.spec), question.language)
        return section.model_copy(
            update={
                "spans": (*spans, *ending(reply, question.language).spans),
                "author": str(chat.spec),
                "failures": (*section.failures, *ending(reply, question.language).failures),
            }
        )

    async def reconsider(
        self,
        question: Question,
        plan: Plan,
        section: Section,
        findings: Sequence[Finding],
        options: Options,
        round_: int,
        say: Say,
    ) -> Reflection:
        """What a section lacks; without a model nothing more is looked up for it."""
        if findings and all(f.reason not in (None, "empty") for f in findings):
            return Reflection(
                round=round_, sufficient=False, note=message("draft.failed", question.language)
            )
        try:
            chat = self._models.chat("reflect", options)
            listing = _named([section], findings)
            made = await chat.json(
                lambda room: briefs.reconsider_prompt(
                    briefer(question, room), _part(plan, section),
                    briefs.shorter(section, room // 2), findings, options.sources,
                    options.queries, self._models.today, listing,
                ),
                briefs.reconsider_schema(options.sources, options.queries),
                _Judgement,
                "reflect",
                say,
            )  # fmt: skip
        except Trouble as trouble:
            return Reflection(
                round=round_, sufficient=False, failures=(trouble.failure("reflect"),)
            )
        gap = _line(made.knowledge_gap, 600)
        tasks = _tasks(made.follow_ups, options.sources, section.part, round_ + 1)
        return Reflection(
            round=round_,
            sufficient=made.is_sufficient,
            gap=(gap,) if gap and not made.is_sufficient else (),
            follow_ups=() if made.is_sufficient else tuple(tasks),
            note=gap,
        )

    async def preface(
        self,
        question: Question,
        plan: Plan,
        sections: Sequence[Section],
        findings: Sequence[Finding],
        options: Options,
        say: Say,
    ) -> Draft:
        """What stands before the sections; without a model nothing does, and the report says so."""
        nobody = (
            "" if any(s.author for s in sections) else message("draft.nobody", question.language)
        )
        if not any(span.cites for section in sections for span in section.spans):
            return Draft(spans=(), author=nobody)
        try:
            chat = self._models.chat("write", options)
            listing = _named(sections, findings)

            def made(room: int) -> Prompt:
                asked, today = briefer(question, room), self._models.today
                left = room - briefs.preface_prompt(asked, plan, (), listing, today).size
                titles = sum(tokens(part.subject) + 4 for part in plan.parts)
                share = (left - titles) // len(sections)
                short = [briefs.shorter(section, share) for section in sections]
                return briefs.preface_prompt(asked, plan, short, listing, today)

            reply = await chat.stream(made, "write", say)
        except Trouble as trouble:
            return Draft(spans=(), author=nobody, failures=(trouble.failure("write"),))
        gathered = [item for found in findings for item in found.evidence]
        names = addresses(gathered), titles(gathered)
        end = ending(reply, question.language)
        spans = parse(reply.text, listing.handles, *names, partial=bool(reply.cut or reply.trouble))
        return Draft(spans=(*spans, *end.spans), author=str(chat.spec), failures=end.failures)

    async def tones(
        self, question: Question, headlines: Sequence[str], options: Options, say: Say
    ) -> Tones:
        """How headlines sound, judged some at a time side by side."""
        chat = self._models.chat("plan", options)
        batches = _batches(headlines, chat.room // 2)

        async def judged(batch: Sequence[str]) -> tuple[list[Tone | None], list[Failure]]:
            prompt = briefs.tones_prompt(question, batch, self._models.today)
            try:
                made = await chat.json(
                    prompt, briefs.tones_schema(len(batch)), _Tones, "summarise", say
                )
            except Trouble as trouble:
                return [None] * len(batch), [trouble.failure("summarise")]
            given = {row.number: row.tone for row in made.tones}
            return [given.get(n) for n in range(1, len(batch) + 1)], []

        done = await asyncio.gather(*map(judged, batches))
        return Tones(
            tones=tuple(tone for tones, _ in done for tone in tones),
            author=str(chat.spec),
            failures=tuple(failure for _, failures in done for failure in failures),
        )


def _batches(headlines: Sequence[str], room: int) -> list[list[str]]:
    """Headlines some at a time, as many as have room in so many tokens."""
    batches: list[list[str]] = []
    left = 0
    for headline in headlines:
        cost = tokens(headline[: briefs.HEADLINE]) + 4
        if not batches or len(batches[-1]) == BATCH or cost > left:
            batches.append([])
            left = room
        batches[-1].append(headline)
        left -= cost
    return batches


async def _prose(chat: Chat, make: Sized, say: Say) -> Reply:
    """The text of a section; a model that replies with JSON instead is asked once more.

    Raises:
        Trouble: there is none.
    """
    for more in ("", _TEXT):
        reply = await chat.text(lambda room, more=more: make(room).more(more), "write", say)  # type: ignore[misc]
        if not _OBJECT.match(reply.text):
            return reply
    raise Trouble("malformed", f"{chat.spec} replied with JSON instead of a text")


def _named(sections: Sequence[Section], findings: Sequence[Finding]) -> Listing:
    """Handles of what sections cite, without its text."""
    return Listing.of(findings, 0, written=[span for one in sections for span in one.spans])


def _part(plan: Plan, section: Section) -> Part:
    return next(part for part in plan.parts if part.id == section.part)


def _line(text: str, most: int) -> str:
    return " ".join(text.split())[:most]


def _tasks(queries: Sequence[_Query], sources: Sequence[str], part: str, round_: int) -> list[Task]:
    """Queries as tasks. A tool and dates are passed on as the model gave them: the source holds them
    to what there is."""
    tasks = []
    for n, asked in enumerate(queries, 1):
        query = _line(asked.query, QUERY)
        source = asked.source if asked.source in sources else registry.of_reports(sources)
        if not query:
            continue
        tasks.append(
            Task(
                id=f"{round_}.{part}.{n}",
                round=round_,
                source=source,
                query=query,
                part=part,
                **(_way(asked, tools) if (tools := registry.of(source).tools) else {}),
            )
        )
    return tasks


def _way(asked: _Query, tools: Mapping[str, str]) -> dict[str, Any]:
    told = (text.strip() for text in (asked.start_date, asked.end_date))
    wrong = ", ".join(text[:40] for text in told if text and _date(text) is None)
    return {
        "why": f"no date: {wrong}" if wrong else "",
        "tool": asked.search_tool if asked.search_tool in tools else "",
        "start": _date(asked.start_date),
        "end": _date(asked.end_date),
    }


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None
