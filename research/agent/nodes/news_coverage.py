"""The coverage stage: the news of a report, grouped into stories and judged by tone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.report_update import expected_ids
from research.agent.reasoner import ReasonerInput
from research.citations.registry import collect_evidence
from research.core.events import EventEmitter
from research.core.records import Finding, HeadlineTones, NewsCoverage, Plan, Question, Tone, fingerprint
from research.sources.news.coverage import add_changes, apply_tones, build_coverage, warm_caches

CoverageBuilder = Callable[[Sequence[Finding]], Coroutine[Any, Any, NewsCoverage | None]]
PRECOMPUTE_DELAY_SECONDS = 0.03  # lets work that needs the finding go first
PRECOMPUTE_PAUSE_SECONDS = 0.002  # between two pieces of evidence


async def precompute_news(finding: Finding) -> None:
    """Compute the features of a finding's news while a model works, so that grouping is quick."""
    await asyncio.sleep(PRECOMPUTE_DELAY_SECONDS)
    for item in finding.evidence:
        if item.kind == "news":
            warm_caches(item)
            await asyncio.sleep(PRECOMPUTE_PAUSE_SECONDS)


class EarlyCoverage:
    """The coverage of a report, computed while the last sections are still being written.

    Its computation begins when the last section has made its last search.
    """

    def __init__(self) -> None:
        self._findings_by_part: dict[str, Sequence[Finding]] = {}
        self._task: asyncio.Task[NewsCoverage | None] | None = None

    def finish_section(self, part_id: str, findings: Sequence[Finding], plan: Plan, build: CoverageBuilder) -> None:
        """Record that a section searches no more; begin the coverage after the last one."""
        self._findings_by_part.setdefault(part_id, tuple(findings))
        if self._task is None and all(part.id in self._findings_by_part for part in plan.parts):
            self._task = asyncio.create_task(self._build_after_delay(build))

    async def _build_after_delay(self, build: CoverageBuilder) -> NewsCoverage | None:
        await asyncio.sleep(2 * PRECOMPUTE_DELAY_SECONDS)  # lets the last sections start their texts first
        return await build(self._all_findings)

    async def get_coverage(self, findings: Sequence[Finding], build: CoverageBuilder) -> NewsCoverage | None:
        """Return the coverage of the findings; build it now if it was begun with other findings."""
        if self._task and {f.task.id for f in findings} == {f.task.id for f in self._all_findings}:
            return await self._task
        self.cancel()
        return await build(findings)

    def cancel(self) -> None:
        """Cancel the computation, if it has begun."""
        if self._task:
            self._task.cancel()

    @property
    def _all_findings(self) -> list[Finding]:
        return [finding for findings in self._findings_by_part.values() for finding in findings]


async def cover_news(
    question: Question,
    findings: Sequence[Finding],
    context: RunContext,
    emit: EventEmitter,
) -> NewsCoverage | None:
    """Group the news of the findings into stories, with the changes since an earlier report.

    Return None if there is no news. Tones stay a rough count of words if no model judges them or the
    budget forbids it. Tones of the earlier report are kept.
    """
    now, earlier, step_results = context.clock(), context.earlier_report, context.step_results
    coverage = build_coverage(collect_evidence([*question.memory_findings, *findings]), now)
    if coverage is None:
        return None
    known_tones: dict[str, Tone | None] = {"": None}  # an empty headline has none
    if earlier:
        earlier_report = earlier.report
        coverage = add_changes(
            coverage,
            earlier_report,
            collect_evidence(findings),
            earlier.known_evidence,
            expected_ids(earlier_report, findings, now),
        )
        earlier_coverage = earlier_report.answer.coverage if earlier_report.answer else None
        author = earlier_coverage.author if earlier_coverage else ""
        if earlier_coverage and author:  # a headline that it could not judge is not judged again
            known_tones |= {
                story.headline: None if story.tone_from_words else story.tone for story in earlier_coverage.stories
            }
        coverage = apply_tones(
            coverage,
            HeadlineTones(tones=tuple(known_tones.get(s.headline) for s in coverage.stories), author=author),
        )
    headlines = [story.headline for story in coverage.stories if story.headline not in known_tones]
    if not headlines:
        return coverage
    step = f"tones {fingerprint(*headlines)}"  # for exactly these headlines
    if (saved := step_results.load_result(step)) is not None:
        return _add_tones(coverage, headlines, HeadlineTones.model_validate_json(saved))
    try:
        async with context.budget.searching.enter():
            tones = await context.reasoner.judge_tones(ReasonerInput(question, context.options, emit), headlines)
    except RunEndedError as ended:
        context.budget.record_skip(ended.reason)
        return coverage
    if tones.author and not tones.failures:
        await step_results.save_result(step, tones.model_dump_json())
    return _add_tones(coverage, headlines, tones)


def _add_tones(coverage: NewsCoverage, headlines: Sequence[str], tones: HeadlineTones) -> NewsCoverage:
    """Add the tones of some headlines to a coverage; the other headlines keep theirs."""
    by_headline = dict(zip(headlines, tones.tones, strict=False))
    all_tones = tuple(by_headline.get(story.headline) for story in coverage.stories)
    author = tones.author or coverage.author
    return apply_tones(coverage, tones.model_copy(update={"tones": all_tones, "author": author}))
