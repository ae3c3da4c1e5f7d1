"""The coverage stage: the news of a report put together into stories, and how they sound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from research.agent.nodes.budget import Ended
from research.agent.nodes.context import RunContext
from research.agent.nodes.update import expected
from research.citations.registry import gather
from research.core.records import Coverage, Finding, Plan, Question, Say, Tone, Tones, fingerprint
from research.sources.news.coverage import compared, cover, rated
from research.sources.news.coverage import read_ahead as prepare

Begin = Callable[[Sequence[Finding]], Coroutine[Any, Any, Coverage | None]]
LATER = 0.03  # seconds until what was found is read ahead: whoever waits for it goes first
PAUSE = 0.002  # seconds between two pieces


async def read_ahead(finding: Finding) -> None:
    """Reads what was found while a model is waited for: to put it together is quick then."""
    await asyncio.sleep(LATER)
    for item in finding.evidence:
        if item.kind == "news":
            prepare(item)
            await asyncio.sleep(PAUSE)


class Early:
    """The coverage of a report, begun when the last of its sections has made its last search: nobody
    has to wait for it behind the texts."""

    def __init__(self) -> None:
        self._found: dict[str, Sequence[Finding]] = {}
        self._task: asyncio.Task[Coverage | None] | None = None

    def searched(self, part: str, findings: Sequence[Finding], plan: Plan, begin: Begin) -> None:
        """A section searches no more."""
        self._found.setdefault(part, tuple(findings))
        if self._task is None and all(part.id in self._found for part in plan.parts):
            self._task = asyncio.create_task(self._later(begin))

    async def _later(self, begin: Begin) -> Coverage | None:
        await asyncio.sleep(2 * LATER)  # the last texts are asked for first
        return await begin(self._all)

    async def coverage(self, findings: Sequence[Finding], begin: Begin) -> Coverage | None:
        """The coverage of all that was found, begun now if that is not what it was begun with."""
        if self._task and {f.task.id for f in findings} == {f.task.id for f in self._all}:
            return await self._task
        self.cancel()
        return await begin(findings)

    def cancel(self) -> None:
        if self._task:
            self._task.cancel()

    @property
    def _all(self) -> list[Finding]:
        return [finding for found in self._found.values() for finding in found]


async def covered(
    question: Question,
    findings: Sequence[Finding],
    context: RunContext,
    say: Say,
) -> Coverage | None:
    """What the news among the findings come to, and what has changed since an earlier report; None if
    there is none. Where nobody judges the tones, or there is no room for it, they stay rough.
    The earlier report's tones are kept."""
    made, earlier, notes = context.clock(), context.earlier, context.notes
    coverage = cover(gather([*question.remembered, *findings]), made)
    if coverage is None:
        return None
    told: dict[str, Tone | None] = {"": None}  # an empty headline has no tone
    if earlier:
        before = earlier.report
        coverage = compared(
            coverage,
            before,
            gather(findings),
            earlier.known,
            expected(before, findings, made),
        )
        old = before.answer.coverage if before.answer else None
        author = old.author if old else ""
        if old and author:  # what it could not judge then is not asked again
            told |= {story.headline: None if story.rough else story.tone for story in old.stories}
        coverage = rated(
            coverage,
            Tones(tones=tuple(told.get(s.headline) for s in coverage.stories), author=author),
        )
    headlines = [story.headline for story in coverage.stories if story.headline not in told]
    if not headlines:
        return coverage
    step = f"tones {fingerprint(*headlines)}"  # of these headlines and no others
    if (known := notes.noted(step)) is not None:
        return _rated(coverage, headlines, Tones.model_validate_json(known))
    try:
        async with context.meter.searching.open():
            tones = await context.reasoner.tones(question, headlines, context.options, say)
    except Ended as ended:
        context.meter.lack(ended.why)
        return coverage
    if tones.author and not tones.failures:
        await notes.note(step, tones.model_dump_json())
    return _rated(coverage, headlines, tones)


def _rated(coverage: Coverage, headlines: Sequence[str], tones: Tones) -> Coverage:
    """The coverage with the tones of some of its headlines."""
    given = dict(zip(headlines, tones.tones, strict=False))
    every = tuple(given.get(story.headline) for story in coverage.stories)
    author = tones.author or coverage.author
    return rated(coverage, tones.model_copy(update={"tones": every, "author": author}))
