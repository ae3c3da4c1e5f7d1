"""The reflect stage: judge the findings and choose further searches within the limits."""

from __future__ import annotations

from collections.abc import Sequence

from research.agent.nodes.plan import limit_tasks
from research.agent.nodes.question_urls import keep_known_urls
from research.agent.reasoner import Reasoner, ReasonerInput
from research.core.events import EventEmitter
from research.core.records import Finding, Plan, Question, Reflection, RunOptions


async def reflect_on_findings(
    question: Question,
    plan: Plan,
    findings: Sequence[Finding],
    reasoner: Reasoner,
    options: RunOptions,
    round_: int,
    emit: EventEmitter,
) -> Reflection:
    """Return the reflection after a round, with follow-ups that are new and within the limits."""
    material = (*question.memory_findings, *findings)
    reflection = await reasoner.reflect(ReasonerInput(question, options, emit, plan, material), round_)
    if reflection.sufficient:
        return reflection.model_copy(update={"follow_ups": ()})
    known_keys = [finding.task.key for finding in findings]
    tasks = [keep_known_urls(task, question) for task in reflection.follow_ups]
    return reflection.model_copy(update={"follow_ups": limit_tasks(tasks, options, known_keys)})
