"""The coverage stage: the news of a report put together into stories, and how they sound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.report_update import expected_ids
from research.citations.registry import collect_evidence
from research.core.records import EventEmitter, Finding, HeadlineTones, NewsCoverage, Plan, Question, Tone, fingerprint
from research.sources.news.coverage import add_changes, apply_tones, build_coverage
from research.sources.news.coverage import precompute_evidence as prepare

CoverageBuilder = Callable[[Sequence[Finding]], Coroutine[Any, Any, NewsCoverage | None]]
READ_AHEAD_DELAY_SECONDS = 0.03  # seconds until what was found is read ahead: whoever waits for it goes first
READ_AHEAD_PAUSE_SECONDS = 0.002  # seconds between two pieces


async def read_ahead(finding: Finding) -> None:
    """Reads what was found while a model is waited for: to put it together is quick then."""
    await asyncio.sleep(READ_AHEAD_DELAY_SECONDS)
    for item in finding.evidence:
        if item.kind == "news":
            prepare(item)
            await asyncio.sleep(READ_AHEAD_PAUSE_SECONDS)


class EarlyCoverage:
    """The coverage of a report, begun when the last of its sections has made its last search: nobody
    has to wait for it behind the texts."""

    def __init__(self) -> None:
        self._findings_by_part: dict[str, Sequence[Finding]] = {}
        self._task: asyncio.Task[NewsCoverage | None] | None = None

    def finish_section(self, part_id: str, findings: Sequence[Finding], plan: Plan, build: CoverageBuilder) -> None:
        """A section searches no more."""
        self._findings_by_part.setdefault(part_id, tuple(findings))
        if self._task is None and all(part.id in self._findings_by_part for part in plan.parts):
            self._task = asyncio.create_task(self._build_after_delay(build))

    async def _build_after_delay(self, build: CoverageBuilder) -> NewsCoverage | None:
        await asyncio.sleep(2 * READ_AHEAD_DELAY_SECONDS)  # the last texts are asked for first
        return await build(self._all_findings)

    async def get_coverage(self, findings: Sequence[Finding], build: CoverageBuilder) -> NewsCoverage | None:
        """The coverage of all that was found, begun now if that is not what it was begun with."""
        if self._task and {f.task.id for f in findings} == {f.task.id for f in self._all_findings}:
            return await self._task
        self.cancel()
        return await build(findings)

    def cancel(self) -> None:
        if self._task:
            self._task.cancel()

    @property
    def _all_findings(self) -> list[Finding]:
        return [finding for found in self._findings_by_part.values() for finding in found]


async def cover_news(
    question: Question,
    findings: Sequence[Finding],
    context: RunContext,
    emit: EventEmitter,
) -> NewsCoverage | None:
    """What the news among the findings come to, and what has changed since an earlier report; None if
    there is none. Where nobody judges the tones, or there is no room for it, they stay rough.
    The earlier report's tones are kept."""
    made, earlier, notes = context.clock(), context.earlier_report, context.step_results
    coverage = build_coverage(collect_evidence([*question.memory_findings, *findings]), made)
    if coverage is None:
        return None
    told: dict[str, Tone | None] = {"": None}  # an empty headline has no tone
    if earlier:
        before = earlier.report
        coverage = add_changes(
            coverage,
            before,
            collect_evidence(findings),
            earlier.known_evidence,
            expected_ids(before, findings, made),
        )
        old = before.answer.coverage if before.answer else None
        author = old.author if old else ""
        if old and author:  # what it could not judge then is not asked again
            told |= {story.headline: None if story.rough else story.tone for story in old.stories}
        coverage = apply_tones(
            coverage,
            HeadlineTones(tones=tuple(told.get(s.headline) for s in coverage.stories), author=author),
        )
    headlines = [story.headline for story in coverage.stories if story.headline not in told]
    if not headlines:
        return coverage
    step = f"tones {fingerprint(*headlines)}"  # of these headlines and no others
    if (known := notes.load_result(step)) is not None:
        return _apply_tones(coverage, headlines, HeadlineTones.model_validate_json(known))
    try:
        async with context.budget.searching.enter():
            tones = await context.reasoner.judge_tones(question, headlines, context.options, emit)
    except RunEndedError as ended:
        context.budget.record_skip(ended.reason)
        return coverage
    if tones.author and not tones.failures:
        await notes.save_result(step, tones.model_dump_json())
    return _apply_tones(coverage, headlines, tones)


def _apply_tones(coverage: NewsCoverage, headlines: Sequence[str], tones: HeadlineTones) -> NewsCoverage:
    """The coverage with the tones of some of its headlines."""
    given = dict(zip(headlines, tones.tones, strict=False))
    every = tuple(given.get(story.headline) for story in coverage.stories)
    author = tones.author or coverage.author
    return apply_tones(coverage, tones.model_copy(update={"tones": every, "author": author}))
