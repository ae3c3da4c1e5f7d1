"""The answer stage: what the reasoner writes, with what failed and what was sampled said beside it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from research.evidence.citations import number
from research.evidence.registry import gather
from research.reasoners import Reasoner
from research.records import Answer, Failure, Finding, Plan, Question, Span


async def compose(
    question: Question,
    plan: Plan,
    findings: Sequence[Finding],
    reasoner: Reasoner,
    made: datetime,
) -> Answer:
    """The answer of a run."""
    return _answer(
        question, await reasoner.write(question, plan, findings), findings, reasoner, made
    )


async def direct(question: Question, reasoner: Reasoner, made: datetime) -> Answer | None:
    """The answer to a question that needs no search, if the reasoner has one."""
    spans = await reasoner.route(question)
    return _answer(question, spans, (), reasoner, made) if spans else None


def _answer(
    question: Question,
    spans: tuple[Span, ...],
    findings: Sequence[Finding],
    reasoner: Reasoner,
    made: datetime,
) -> Answer:
    answer = Answer(
        title=question.text,
        language=question.language,
        author=reasoner.author(question),
        spans=spans,
        failures=failures(findings),
        made=made,
    )
    sources = number(answer, gather(findings)).sources
    return answer.model_copy(update={"sample": any(s.evidence.sample for s in sources)})


def failures(findings: Sequence[Finding]) -> tuple[Failure, ...]:
    """The look-ups that failed. One that found nothing has not failed."""
    return tuple(
        Failure(
            source=finding.task.source,
            query=finding.task.query,
            reason=finding.reason,
            message=finding.message,
        )
        for finding in findings
        if finding.reason not in (None, "empty")
    )
