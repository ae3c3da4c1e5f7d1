"""The check stage: a model judges sentences of the answer that the rules doubt or barely support.

Unsupported sentences are dropped or rewritten, and each result is stored with the answer. With a
checker that does not judge, only the rules decide. The step is optional: if the budget forbids it
or no model is available, the rules' judgement stands and the answer says so. Each call is saved
when it is paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.section import load_or_compute
from research.agent.reasoner import CitationChecker, Claim
from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import EvidenceRegistry, collect_evidence
from research.citations.repair import letters_only, repair_spans
from research.citations.support import (
    STATUSES_FOR_MODEL,
    CheckedSentence,
    check_support,
    cited_excerpts,
    group_sentences,
    group_spans,
    narrow_margin,
    sentence_key,
)
from research.core.events import CheckFinished, CheckStarted, EventEmitter
from research.core.i18n import translator
from research.core.records import (
    Answer,
    AnswerReview,
    Failure,
    Finding,
    ModelVerdict,
    ModelVerdicts,
    Question,
    Record,
    RewrittenSentences,
    SentenceRepair,
    Span,
    fingerprint,
)

BATCH_SIZE = 12  # sentences in a call
MAX_CALLS = 8  # per step; a step handles at most MAX_CALLS * BATCH_SIZE sentences
_R = TypeVar("_R", bound=Record)

_CALL_SPECIFIC_REASONS = ("malformed", "blocked", "cut off")  # failures after which other calls may succeed


@dataclass
class _CheckState:
    """The helpers of a check, and its results so far."""

    question: Question
    registry: EvidenceRegistry
    checker: CitationChecker
    context: RunContext
    emit: EventEmitter
    verdicts: dict[str, ModelVerdict]  # by the key of the sentence
    failures: list[Failure]
    skip_reason: str = ""  # why a sentence was not judged: a message id under "checking."


async def check_answer(
    question: Question,
    answer: Answer,
    findings: Sequence[Finding],
    context: RunContext,
    emit: EventEmitter,
) -> Answer:
    """Return the answer with its review, repaired if the context's `repair_mode` is drop or
    rewrite.

    Without a checker the answer stays as it is.
    """
    checker, options, repair = context.checker, context.options, context.repair_mode
    if checker is None or answer.placeholder or not checker.is_available(options):
        return answer
    registry = collect_evidence([*question.memory_findings, *findings])
    state = _CheckState(question, registry, checker, context, emit, {}, [])
    cited = number_citations(answer, registry)
    support = await asyncio.to_thread(check_support, cited)
    if not support.sentences:
        return answer
    doubtful = _select_doubtful(support.sentences, cited)
    claims = _to_claims(doubtful, cited) if checker.can_judge else []
    if claims:
        emit(CheckStarted(sentences=len(claims)))
        await _judge_claims(claims, state)
    unchecked = sum(claim.key not in state.verdicts for claim in claims)
    review = AnswerReview(
        author=checker.judging_model_name(options) if claims else "",
        verdicts=tuple(state.verdicts.values()),
        unchecked=unchecked,
    )
    answer = answer.model_copy(update={"review": review})
    if repair != "off":
        answer = await _repair_answer(answer, repair, state)
    return _add_review_notice(answer, state, len(claims))


def _select_doubtful(sentences: Iterable[CheckedSentence], cited: CitedAnswer) -> list[CheckedSentence]:
    """Return the sentences that the rules doubt, then those with a small margin, smallest first."""
    cites = [sentence for sentence in sentences if sentence.numbers]
    margins = [(narrow_margin(sentence, cited), sentence) for sentence in cites]
    narrow = [(margin, sentence) for margin, sentence in margins if margin is not None]
    narrow.sort(key=lambda pair: pair[0])
    return [s for s in cites if s.status in STATUSES_FOR_MODEL] + [sentence for _, sentence in narrow]


def _to_claims(sentences: Iterable[CheckedSentence], cited: CitedAnswer) -> list[Claim]:
    """Return sentences with what they cite; repeated sentences are included once."""
    claims: dict[str, Claim] = {}
    for sentence in sentences:
        key = sentence_key(sentence, cited)
        nearest = (sentence.evidence, sentence.passage)
        excerpts = cited_excerpts(sentence, cited)
        excerpts.sort(key=lambda excerpt: (excerpt.evidence.id, excerpt.passage.id) != nearest)
        claims.setdefault(key, Claim(key, sentence.text, tuple(excerpts)))
    return list(claims.values())


# --- Judging


async def _judge_claims(claims: Sequence[Claim], state: _CheckState) -> None:
    """Judge sentences in batches."""
    if not state.checker.can_judge:
        return

    async def ask(batch: Sequence[Claim]) -> ModelVerdicts:
        return await state.checker.judge_claims(state.question, batch, state.context.options, state.emit)

    keys = {claim.key for claim in claims}
    size = 1 if state.checker.is_limited_to_one_claim(state.context.options) else BATCH_SIZE
    for verdicts in await _run_batches("check", claims, ModelVerdicts, ask, state, size):
        state.failures += verdicts.failures
        state.verdicts |= {item.key: item for item in verdicts.verdicts if item.key in keys}


async def _run_batches(
    step: str,
    claims: Sequence[Claim],
    output_type: type[_R],
    ask: Callable[[Sequence[Claim]], Awaitable[_R]],
    state: _CheckState,
    batch_size: int = BATCH_SIZE,
) -> list[_R]:
    """Run the calls that the budget allows, in parallel, or in sequence if it limits calls.

    After a failure that would affect other calls too, no further call starts.
    """
    limit = min(len(claims), BATCH_SIZE * MAX_CALLS)
    if len(claims) > limit:
        state.skip_reason = "many"
    slots = asyncio.Semaphore(1 if state.context.budget.has_call_limits else MAX_CALLS)
    is_unavailable = False

    async def run_batch(batch: Sequence[Claim]) -> _R | None:
        nonlocal is_unavailable
        async with slots:
            if is_unavailable:
                return None
            name = f"{step} {fingerprint(state.checker.judging_model_name(state.context.options), *(c.key for c in batch))}"
            if state.context.step_results.load_result(name) is None and state.context.budget.extra_call_block_reason:
                state.skip_reason = "room"
                return None
            try:
                async with state.context.budget.writing.enter():
                    result = await load_or_compute(name, output_type, lambda: ask(batch), state.context.step_results)
            except RunEndedError:
                state.skip_reason = "room"
                return None
        if failures := getattr(result, "failures", ()):
            state.skip_reason = "failed"
            is_unavailable |= any(failure.reason not in _CALL_SPECIFIC_REASONS for failure in failures)
        return result

    batches = [claims[at : min(at + batch_size, limit)] for at in range(0, limit, batch_size)]
    results = await asyncio.gather(*map(run_batch, batches))
    return [result for result in results if result is not None]


# --- Repairing


async def _repair_answer(answer: Answer, repair_mode: str, state: _CheckState) -> Answer:
    """Drop the unsupported sentences, or rewrite those that have a passage."""
    cited = number_citations(answer, state.registry)
    sentences = (await asyncio.to_thread(check_support, cited)).sentences
    unsupported = [s for s in sentences if _is_unsupported(s, cited, state)]
    if not unsupported:
        return answer
    changes = {sentence.at: "" for sentence in unsupported}
    if repair_mode == "rewrite":
        changes |= await _rewrite_sentences(unsupported, cited, state)
    changed, answer = await asyncio.to_thread(_apply_changes, answer, cited, changes)
    by_index = {sentence.at: sentence for sentence in unsupported}
    repairs = [
        SentenceRepair(before=by_index[at].text, after=changes[at], part=_part_id(by_index[at], cited))
        for at in sorted(changed)
    ]
    rewritten = {after for at, after in changes.items() if after and at in changed}
    if rewritten:
        answer, dropped = await _judge_rewritten(answer, rewritten, state)
        repairs = [r.model_copy(update={"after": ""}) if r.after in dropped else r for r in repairs]
    assert answer.review is not None
    review = answer.review.model_copy(update={"repairs": tuple(repairs), "unremovable": len(changes.keys() - changed)})
    return answer.model_copy(update={"review": review})


def _is_unsupported(sentence: CheckedSentence, cited: CitedAnswer, state: _CheckState) -> bool:
    """Return whether a sentence is to be repaired: a doubt of the rules alone is not enough."""
    verdict = state.verdicts.get(sentence_key(sentence, cited))
    is_absent = sentence.status == "unsupported" and verdict is not None and verdict.verdict == "absent"
    return is_absent or sentence.status in ("none", "differs")


def _part_id(sentence: CheckedSentence, cited: CitedAnswer) -> str:
    """Return the id of the part that a sentence belongs to; "" if it cites nothing."""
    return cited.spans[sentence.spans[0]].span.part if sentence.spans else ""


async def _rewrite_sentences(
    sentences: Sequence[CheckedSentence], cited: CitedAnswer, state: _CheckState
) -> dict[int, str]:
    """Return the model's versions of the sentences with citations, by the index of the sentence."""

    async def ask(batch: Sequence[Claim]) -> RewrittenSentences:
        return await state.checker.rewrite_claims(state.question, batch, state.context.options, state.emit)

    claims = _to_claims((s for s in sentences if s.numbers), cited)
    texts: dict[str, str] = {}
    for rewritten in await _run_batches("rewrite", claims, RewrittenSentences, ask, state):
        state.failures += rewritten.failures
        texts |= dict(rewritten.texts)
    new_texts = {s.at: texts[key] for s in sentences if s.numbers and (key := sentence_key(s, cited)) in texts}
    return {index: text for index, text in new_texts.items() if letters_only(text)}


async def _judge_rewritten(answer: Answer, rewritten: set[str], state: _CheckState) -> tuple[Answer, set[str]]:
    """Judge the rewritten sentences, drop those without support, and return the dropped ones."""
    cited = number_citations(answer, state.registry)
    rewritten_by_key = {letters_only(text): text for text in rewritten}
    rewritten_sentences = [
        s for s in (await asyncio.to_thread(check_support, cited)).sentences if letters_only(s.text) in rewritten_by_key
    ]
    await _judge_claims(_to_claims(_select_doubtful(rewritten_sentences, cited), cited), state)
    assert answer.review is not None
    review = answer.review.model_copy(update={"verdicts": tuple(state.verdicts.values())})
    answer = answer.model_copy(update={"review": review})
    cited = number_citations(answer, state.registry)
    judged = (await asyncio.to_thread(check_support, cited)).sentences
    supported = {letters_only(s.text) for s in judged if s.status in ("supported", "quoted")}
    failed = {
        s.at: "" for s in judged if letters_only(s.text) in rewritten_by_key and letters_only(s.text) not in supported
    }
    if not failed:
        return answer, set()
    dropped = {rewritten_by_key[letters_only(s.text)] for s in judged if s.at in failed}
    _, answer = await asyncio.to_thread(_apply_changes, answer, cited, failed)
    return answer, dropped


def _apply_changes(answer: Answer, cited: CitedAnswer, changes: dict[int, str]) -> tuple[set[int], Answer]:
    """Change sentences of an answer; return the indices of those that could be changed, and the answer."""
    spans: list[Span] = []
    changed: set[int] = set()
    start = 0  # index of the group's first sentence
    for group in group_spans(cited):
        count = len(group_sentences(group))
        local_changes = {index - start: new for index, new in changes.items() if start <= index < start + count}
        kept_spans = [item.span for item in group.spans]
        if local_changes and group.nodes:
            repaired = repair_spans(kept_spans, local_changes)
            kept_spans = list(repaired.spans)
            changed |= {start + index for index in repaired.repaired_indices}
        elif local_changes:  # a quote that is not verbatim is dropped
            kept_spans = []
            changed |= {start + index for index in local_changes}
        spans += kept_spans
        start += count
    return changed, answer.model_copy(update={"spans": tuple(spans)})


# --- Notice in the answer


def _add_review_notice(answer: Answer, state: _CheckState, claim_count: int) -> Answer:
    """Add a notice and the failures of the check; drop a review without any result."""
    review = answer.review
    assert review is not None
    translate = translator(state.question.language, "checking.")
    failures = tuple(dict.fromkeys(state.failures))
    judged = claim_count - review.unchecked
    lines = []
    if claim_count and len(review.verdicts):
        lines.append(translate("done", author=review.author, n=judged))
    if review.unchecked:
        lines.append(translate("unchecked", n=review.unchecked, why=translate(state.skip_reason or "quote")))
    if review.repairs:
        rewritten = sum(bool(item.after) for item in review.repairs)
        dropped = len(review.repairs) - rewritten
        lines.append(translate("repaired", dropped=dropped, rewritten=rewritten))
    state.emit(
        CheckFinished(
            rulings=len(review.verdicts),
            repairs=len(review.repairs),
            unchecked=review.unchecked,
            failures=len(failures),
        )
    )
    if not (lines or failures):
        return answer.model_copy(update={"review": None}) if not review.verdicts else answer
    notice = (Span(kind="notice", text=" ".join(lines)),) if lines else ()
    first = next((n for n, s in enumerate(answer.spans) if s.kind != "notice"), len(answer.spans))
    return answer.model_copy(
        update={
            "spans": (*answer.spans[:first], *notice, *answer.spans[first:]),
            "review": review.model_copy(update={"failures": failures}),
            "failures": tuple(dict.fromkeys((*answer.failures, *failures))),
        }
    )
