"""The reflect stage: judge what was found, and choose what to look up next, within the limits."""

from __future__ import annotations

from collections.abc import Sequence

from research.agent.nodes.addresses import held
from research.agent.nodes.plan import within
from research.agent.reasoner import Reasoner
from research.core.records import Finding, Options, Plan, Question, Reflection, Say


async def judge(
    question: Question,
    plan: Plan,
    findings: Sequence[Finding],
    reasoner: Reasoner,
    options: Options,
    round_: int,
    say: Say,
) -> Reflection:
    """The reflection after a round, with follow-ups that are new and within the limits."""
    material = (*question.remembered, *findings)
    reflection = await reasoner.reflect(question, plan, material, options, round_, say)
    if reflection.sufficient:
        return reflection.model_copy(update={"follow_ups": ()})
    known = [finding.task.key for finding in findings]
    tasks = [held(task, question) for task in reflection.follow_ups]
    return reflection.model_copy(update={"follow_ups": within(tasks, options, known)})
