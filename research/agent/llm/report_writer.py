"""Reports written by chat models: the outline, the sections and the preface."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial
from typing import Any

from pydantic import BaseModel

from research.agent.llm import report_prompts
from research.agent.llm.draft_assembly import (
    ending_draft,
    omission_notices,
    parse_reply,
    quotes_draft,
    require_material,
)
from research.agent.llm.material import MaterialListing, fit_material, has_citable_material
from research.agent.llm.model_output import Judgement, one_line
from research.agent.llm.prompts import MAX_QUERY_CHARS, shorten_conversation
from research.agent.reasoner import ReasonerInput
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.i18n import message
from research.core.records import (
    Draft,
    Failure,
    Finding,
    HeadlineTones,
    Part,
    Plan,
    Reflection,
    ReportSection,
    Span,
    Task,
    Tone,
)
from research.models.chat import Chat, ChatProvider
from research.models.prompting import Prompt, PromptBuilder
from research.models.replies import ModelReply
from research.models.token_counts import estimate_tokens
from research.sources import registry

_JSON_START = re.compile(r'\s*(?:```\w*\s*)?\{\s*"')  # the beginning of JSON, never of a section
_TEXT_REMINDER = "\n\nYour last answer was JSON. Reply with the text of the section and nothing else."
HEADLINES_PER_CALL = 60


class _QueryOutput(BaseModel):
    query: str
    source: str = ""
    search_tool: str = ""
    start_date: str = ""
    end_date: str = ""


class _SectionOutput(_QueryOutput):
    title: str
    content: str = ""


class _OutlineOutput(BaseModel):
    sections: list[_SectionOutput]


class _JudgementOutput(Judgement):
    follow_ups: tuple[_QueryOutput, ...] = ()


class _ToneOutput(BaseModel):
    number: int
    tone: Tone


class _TonesOutput(BaseModel):
    tones: list[_ToneOutput]


class ReportWriter:
    """Plans and writes reports with chat models."""

    def __init__(self, models: ChatProvider) -> None:
        self._models = models

    async def plan_report(self, inputs: ReasonerInput) -> Plan:
        """Plan the sections of a report. If no model can, the outline is empty and has a failure."""
        sources, max_sections = inputs.options.sources, inputs.options.sections
        try:
            output = await self._models.chat("plan", inputs.options).ask_json(
                report_prompts.outline_prompt(inputs.question, sources, max_sections, self._models.today),
                report_prompts.outline_schema(sources, max_sections),
                _OutlineOutput,
                "plan",
                inputs.emit,
            )
        except ServiceError as error:
            return Plan(outline=True, failures=(error.to_failure("plan"),))
        parts, tasks = [], []
        for n, section in enumerate(output.sections, 1):
            title = one_line(section.title, report_prompts.MAX_TITLE_CHARS)
            if not title:
                continue
            content = one_line(section.content, report_prompts.MAX_CONTENT_CHARS) or title
            parts.append(Part(id=f"s{n}", subject=title, text=content))
            tasks += _to_tasks([section], sources, f"s{n}", 1)
        return Plan(outline=True, parts=tuple(parts), tasks=tuple(tasks))

    async def write_section(self, inputs: ReasonerInput, section: ReportSection) -> ReportSection:
        """Write the text of a section. If no model can, keep an earlier text or quote the findings."""
        question, findings, part = inputs.question, inputs.findings, _find_part(inputs.plan, section)
        if not has_citable_material(findings):
            return section
        listing = MaterialListing()

        def build_prompt(token_budget: int) -> Prompt:
            nonlocal listing
            shortened_question = shorten_conversation(question, token_budget)
            shortened_section = report_prompts.shorten_section(section, token_budget // 2)
            prompt, listing = fit_material(
                findings,
                token_budget,
                lambda shown: report_prompts.section_prompt(
                    shortened_question, part, shortened_section, findings, shown, self._models.today
                ),
                max_chars=self._models.max_result_chars,
                cited_spans=section.spans,
            )
            require_material(listing, chat)
            return prompt

        try:
            chat = self._models.chat("write", inputs.options)
            reply = await _ask_for_prose(chat, build_prompt, inputs.emit)
        except ServiceError as error:
            failure = error.to_failure("write", query=part.subject)
            if section.spans:  # the earlier text is still valid
                return section.model_copy(update={"failures": (*section.failures, failure)})
            notice = Span(kind="notice", text=message("draft.section", question.language))
            return ReportSection(
                part=section.part,
                spans=(notice, *quotes_draft(question.language, findings).spans),
                failures=(*section.failures, failure),
            )
        spans = [*parse_reply(reply, listing, findings)]
        if not any(span.references for span in spans):
            spans.insert(0, Span(kind="notice", text=message("draft.unchecked", question.language)))
        spans += omission_notices(listing, str(chat.spec), question.language)
        ending = ending_draft(reply, question.language)
        failures = (*section.failures, *ending.failures)
        update = {"spans": (*spans, *ending.spans), "author": str(chat.spec), "failures": failures}
        return section.model_copy(update=update)

    async def reflect_on_section(self, inputs: ReasonerInput, section: ReportSection, round_: int) -> Reflection:
        """Judge what a section lacks. If no model can, no further search follows."""
        question, findings, options = inputs.question, inputs.findings, inputs.options
        if findings and all(f.has_failed for f in findings):
            return Reflection(round=round_, sufficient=False, note=message("draft.failed", question.language))
        try:
            chat = self._models.chat("reflect", options)
            listing = _cited_listing([section], findings)
            output = await chat.ask_json(
                lambda token_budget: report_prompts.section_reflection_prompt(
                    shorten_conversation(question, token_budget),
                    _find_part(inputs.plan, section),
                    report_prompts.shorten_section(section, token_budget // 2),
                    findings,
                    options.sources,
                    options.queries,
                    self._models.today,
                    listing,
                ),
                report_prompts.section_reflection_schema(options.sources, options.queries),
                _JudgementOutput,
                "reflect",
                inputs.emit,
            )
        except ServiceError as error:
            return Reflection(round=round_, sufficient=False, failures=(error.to_failure("reflect"),))
        gap = output.gap
        tasks = _to_tasks(output.follow_ups, options.sources, section.part, round_ + 1)
        return Reflection(
            round=round_,
            sufficient=output.is_sufficient,
            gap=(gap,) if gap and not output.is_sufficient else (),
            follow_ups=() if output.is_sufficient else tuple(tasks),
            note=gap,
        )

    async def write_preface(self, inputs: ReasonerInput, sections: Sequence[ReportSection]) -> Draft:
        """Write the preface. If no model can, the draft is empty and has a failure."""
        question, plan = inputs.question, inputs.plan
        no_author = "" if any(s.author for s in sections) else message("draft.nobody", question.language)
        if not any(span.references for section in sections for span in section.spans):
            return Draft(spans=(), author=no_author)
        try:
            chat = self._models.chat("write", inputs.options)
            listing = _cited_listing(sections, inputs.findings)

            def build_prompt(token_budget: int) -> Prompt:
                shortened_question, today = shorten_conversation(question, token_budget), self._models.today
                frame = report_prompts.preface_prompt(shortened_question, plan, (), listing, today)
                title_tokens = sum(estimate_tokens(part.subject) + 4 for part in plan.parts)
                share = (token_budget - frame.token_count - title_tokens) // len(sections)
                shortened = [report_prompts.shorten_section(section, share) for section in sections]
                return report_prompts.preface_prompt(shortened_question, plan, shortened, listing, today)

            reply = await chat.stream_text(build_prompt, "write", inputs.emit)
        except ServiceError as error:
            return Draft(spans=(), author=no_author, failures=(error.to_failure("write"),))
        ending = ending_draft(reply, question.language)
        spans = parse_reply(reply, listing, inputs.findings)
        return Draft(spans=(*spans, *ending.spans), author=str(chat.spec), failures=ending.failures)

    async def judge_tones(self, inputs: ReasonerInput, headlines: Sequence[str]) -> HeadlineTones:
        """Judge the tones of headlines, in parallel batches."""
        chat = self._models.chat("plan", inputs.options)
        batches = _split_batches(headlines, chat.token_budget // 2)

        async def judge_batch(batch: Sequence[str]) -> tuple[list[Tone | None], list[Failure]]:
            prompt = report_prompts.tones_prompt(inputs.question, batch, self._models.today)
            try:
                output = await chat.ask_json(
                    prompt, report_prompts.tones_schema(len(batch)), _TonesOutput, "summarise", inputs.emit
                )
            except ServiceError as error:
                return [None] * len(batch), [error.to_failure("summarise")]
            by_number = {row.number: row.tone for row in output.tones}
            return [by_number.get(n) for n in range(1, len(batch) + 1)], []

        results = await asyncio.gather(*map(judge_batch, batches))
        return HeadlineTones(
            tones=tuple(tone for tones, _ in results for tone in tones),
            author=str(chat.spec),
            failures=tuple(failure for _, failures in results for failure in failures),
        )


def _split_batches(headlines: Sequence[str], token_budget: int) -> list[list[str]]:
    """Split headlines into batches that fit the token budget."""
    batches: list[list[str]] = []
    remaining = 0
    for headline in headlines:
        cost = estimate_tokens(headline[: report_prompts.MAX_HEADLINE_CHARS]) + 4
        if not batches or len(batches[-1]) == HEADLINES_PER_CALL or cost > remaining:
            batches.append([])
            remaining = token_budget
        batches[-1].append(headline)
        remaining -= cost
    return batches


async def _ask_for_prose(chat: Chat, build_prompt: PromptBuilder, emit: EventEmitter) -> ModelReply:
    """Ask for the text of a section, and once more if the model replies with JSON.

    Raises:
        ServiceError: there is no text.
    """
    for suffix in ("", _TEXT_REMINDER):
        reply = await chat.ask_text(partial(_build_with_suffix, build_prompt, suffix), "write", emit)
        if not _JSON_START.match(reply.text):
            return reply
    raise ServiceError("malformed", f"{chat.spec} replied with JSON instead of a text")


def _build_with_suffix(build_prompt: PromptBuilder, suffix: str, token_budget: int) -> Prompt:
    return build_prompt(token_budget).with_suffix(suffix)


def _cited_listing(sections: Sequence[ReportSection], findings: Sequence[Finding]) -> MaterialListing:
    """Return a listing with the handles of what sections cite, but without any material."""
    return MaterialListing.from_findings(
        findings, 0, cited_spans=[span for section in sections for span in section.spans]
    )


def _find_part(plan: Plan, section: ReportSection) -> Part:
    return next(part for part in plan.parts if part.id == section.part)


def _to_tasks(queries: Sequence[_QueryOutput], sources: Sequence[str], part_id: str, round_: int) -> list[Task]:
    """Convert queries to tasks. The source corrects the model's tool and dates where needed."""
    tasks = []
    for n, output in enumerate(queries, 1):
        query = one_line(output.query, MAX_QUERY_CHARS)
        source = output.source if output.source in sources else registry.preferred_report_source(sources)
        if not query:
            continue
        tasks.append(
            Task(
                id=f"{round_}.{part_id}.{n}",
                round=round_,
                source=source,
                query=query,
                part=part_id,
                **(_search_options(output, tools) if (tools := registry.get_source(source).tool_descriptions) else {}),
            )
        )
    return tasks


def _search_options(query: _QueryOutput, tools: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a task for the tool and the dates that a model chose."""
    dates = (text.strip() for text in (query.start_date, query.end_date))
    invalid = ", ".join(text[:40] for text in dates if text and _parse_date(text) is None)
    return {
        "purpose": f"no date: {invalid}" if invalid else "",
        "tool": query.search_tool if query.search_tool in tools else "",
        "start": _parse_date(query.start_date),
        "end": _parse_date(query.end_date),
    }


def _parse_date(text: str) -> date | None:
    """Parse a date such as 2026-11-27; None for any other text."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None
