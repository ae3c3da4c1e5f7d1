"""The coverage stage: the news of a report put together into stories, and how they sound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from research.evidence.registry import gather, url_identity
from research.news.coverage import cover, rated
from research.reasoners import Reasoner
from research.records import Coverage, Finding, Options, Question, Say, Tones
from research.stages.budget import Ended, Meter
from research.stages.section import Notes

STEP = "tones"


async def covered(
    question: Question,
    findings: Sequence[Finding],
    reasoner: Reasoner,
    options: Options,
    meter: Meter,
    notes: Notes,
    made: datetime,
    say: Say,
) -> Coverage | None:
    """What the news among the findings come to; None if there is none. Where nobody judges the
    tones, or there is no room for it, they stay rough."""
    coverage = cover(gather(findings), made, url_identity)
    if coverage is None:
        return None
    headlines = [story.headline for story in coverage.stories]
    if (known := notes.noted(STEP)) is not None:
        tones = Tones.model_validate_json(known)
        if len(tones.tones) == len(headlines):
            return rated(coverage, tones)
    try:
        async with meter.searching.open():
            tones = await reasoner.tones(question, headlines, options, say)
    except Ended as ended:
        meter.lack(ended.why)
        return coverage
    if tones.author and not tones.failures:
        await notes.note(STEP, tones.model_dump_json())
    return rated(coverage, tones)
