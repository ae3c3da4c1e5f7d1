"""The check stage: a model judges the sentences of an answer that the rules doubt, and those that they
support by a small margin; those without support go or are put in other words. What became of each is
kept with the answer.

With a model that does not judge, the rules alone say what is without support. The step is extra: where
there is no room for it, or nobody can be asked, the rules' judgement stands and the answer says so. Each
call is noted when it is paid for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from research.agent.nodes.budget import RunEndedError
from research.agent.nodes.context import RunContext
from research.agent.nodes.section import run_once
from research.agent.reasoner import CitationChecker, Claim, ClaimPassage
from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import EvidenceRegistry, collect_evidence
from research.citations.repair import repair_spans
from research.citations.support import (
    STATUSES_FOR_MODEL,
    CheckedSentence,
    check_support,
    cited_passages,
    group_sentences,
    group_spans,
    sentence_key,
    small_margin,
)
from research.core.i18n import translator
from research.core.records import (
    Answer,
    AnswerReview,
    EventEmitter,
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

BATCH_SIZE = 12  # sentences a call
MAX_CALLS = 8  # of each kind, at most, or as many sentences as these would have
_R = TypeVar("_R", bound=Record)

_CALL_SPECIFIC_REASONS = (
    "malformed",
    "blocked",
    "cut off",
)  # failures of a call that tell nothing of the next one


@dataclass
class _CheckState:
    """What one check works with, and what has come of it so far."""

    question: Question
    registry: EvidenceRegistry
    checker: CitationChecker
    context: RunContext
    emit: EventEmitter
    rulings: dict[str, ModelVerdict]
    failures: list[Failure]
    skip_reason: str = ""  # something was not asked


async def check_answer(
    question: Question,
    answer: Answer,
    findings: Sequence[Finding],
    context: RunContext,
    emit: EventEmitter,
) -> Answer:
    """The answer with its review, and put right where the context's `repair` is drop or rewrite; as
    it is where there is no checker."""
    checker, options, repair = context.checker, context.options, context.repair_mode
    if checker is None or answer.unwritten or not checker.is_available(options):
        return answer
    registry = collect_evidence([*question.memory_findings, *findings])
    desk = _CheckState(question, registry, checker, context, emit, {}, [])
    cited = number_citations(answer, registry)
    found = await asyncio.to_thread(check_support, cited)
    if not found.sentences:
        return answer
    asked = _select_doubtful(found.sentences, cited)
    claims = _to_claims(asked, cited) if checker.can_judge else []
    if claims:
        emit("checking", sentences=len(claims))
        await _judge_claims(claims, desk)
    unchecked = sum(claim.key not in desk.rulings for claim in claims)
    review = AnswerReview(
        author=checker.author(options) if claims else "",
        rulings=tuple(desk.rulings.values()),
        unchecked=unchecked,
    )
    answer = answer.model_copy(update={"review": review})
    if repair != "off":
        answer = await _repair_answer(answer, repair, desk)
    return _add_review_notice(answer, desk, len(claims))


def _select_doubtful(sentences: Iterable[CheckedSentence], cited: CitedAnswer) -> list[CheckedSentence]:
    """The sentences that the rules doubt, then those that they support by a small margin, the smallest
    first."""
    cites = [sentence for sentence in sentences if sentence.numbers]
    margins = [(small_margin(sentence, cited), sentence) for sentence in cites]
    narrow = [(margin, sentence) for margin, sentence in margins if margin is not None]
    narrow.sort(key=lambda at: at[0])
    return [s for s in cites if s.status in STATUSES_FOR_MODEL] + [sentence for _, sentence in narrow]


def _to_claims(sentences: Iterable[CheckedSentence], cited: CitedAnswer) -> list[Claim]:
    """Sentences with their passages; one that stands twice is asked about once."""
    out: dict[str, Claim] = {}
    for sentence in sentences:
        key = sentence_key(sentence, cited)
        nearest = (sentence.evidence, sentence.passage)
        passages = [
            ClaimPassage(
                item.evidence.id,
                item.passage.model_copy(update={"text": item.text}),
                item.context_line.strip(),
            )
            for item in cited_passages(sentence, cited)
        ]
        passages.sort(key=lambda one: (one.evidence_id, one.passage.id) != nearest)
        out.setdefault(key, Claim(key, sentence.text, tuple(passages)))
    return list(out.values())


# --- Asking


async def _judge_claims(claims: Sequence[Claim], state: _CheckState) -> None:
    """Asks about sentences, some at a time."""
    if not state.checker.can_judge:
        return

    async def ask(batch: Sequence[Claim]) -> ModelVerdicts:
        return await state.checker.judge_claims(state.question, batch, state.context.options, state.emit)

    keys = {claim.key for claim in claims}
    size = 1 if state.checker.is_single_claim_only(state.context.options) else BATCH_SIZE
    for made in await _run_batches("check", claims, ModelVerdicts, ask, state, size):
        state.failures += made.failures
        state.rulings |= {item.key: item for item in made.rulings if item.key in keys}


async def _run_batches(
    step: str,
    claims: Sequence[Claim],
    output_type: type[_R],
    ask: Callable[[Sequence[Claim]], Awaitable[_R]],
    state: _CheckState,
    batch_size: int = BATCH_SIZE,
) -> list[_R]:
    """What came of the calls that there was room for: side by side, or one after the other where each
    counts against a limit. After one that nobody could have answered no other begins."""
    most = min(len(claims), BATCH_SIZE * MAX_CALLS)
    if len(claims) > most:
        state.skip_reason = "many"
    turn = asyncio.Semaphore(1 if state.context.budget.has_call_limits else MAX_CALLS)
    out = False

    async def one(batch: Sequence[Claim]) -> _R | None:
        nonlocal out
        async with turn:
            if out:
                return None
            name = f"{step} {fingerprint(state.checker.author(state.context.options), *(c.key for c in batch))}"
            if state.context.step_results.load_result(name) is None and state.context.budget.extra_call_block_reason:
                state.skip_reason = "room"
                return None
            try:
                async with state.context.budget.writing.enter():
                    made = await run_once(name, output_type, lambda: ask(batch), state.context.step_results)
            except RunEndedError:
                state.skip_reason = "room"
                return None
        if failures := getattr(made, "failures", ()):
            state.skip_reason = "failed"
            out |= any(failure.reason not in _CALL_SPECIFIC_REASONS for failure in failures)
        return made

    batches = [claims[at : min(at + batch_size, most)] for at in range(0, most, batch_size)]
    done = await asyncio.gather(*map(one, batches))
    return [made for made in done if made is not None]


# --- Putting right


async def _repair_answer(answer: Answer, repair_mode: str, state: _CheckState) -> Answer:
    """The answer without its unsupported sentences, or with other words for those that have a passage."""
    cited = number_citations(answer, state.registry)
    found = (await asyncio.to_thread(check_support, cited)).sentences
    bad = [s for s in found if _is_unsupported(s, cited, state)]
    if not bad:
        return answer
    changes = {sentence.at: "" for sentence in bad}
    if repair_mode == "rewrite":
        changes |= await _rewrite_sentences(bad, cited, state)
    done, answer = await asyncio.to_thread(_apply_changes, answer, cited, changes)
    texts = {sentence.at: sentence for sentence in bad}
    repairs = [
        SentenceRepair(before=texts[at].text, after=changes[at], part=_part_id(texts[at], cited)) for at in sorted(done)
    ]
    written = {after for at, after in changes.items() if after and at in done}
    if written:
        answer, gone = await _judge_rewritten(answer, written, state)
        repairs = [r.model_copy(update={"after": ""}) if r.after in gone else r for r in repairs]
    assert answer.review is not None
    review = answer.review.model_copy(update={"repairs": tuple(repairs), "kept": len(changes.keys() - done)})
    return answer.model_copy(update={"review": review})


def _is_unsupported(sentence: CheckedSentence, cited: CitedAnswer, state: _CheckState) -> bool:
    ruling = state.rulings.get(sentence_key(sentence, cited))
    absent = sentence.status == "unsupported" and ruling and ruling.verdict == "absent"
    return bool(absent) or sentence.status in ("none", "differs")


def _part_id(sentence: CheckedSentence, cited: CitedAnswer) -> str:
    return cited.spans[sentence.spans[0]].span.part if sentence.spans else ""


async def _rewrite_sentences(
    sentences: Sequence[CheckedSentence], cited: CitedAnswer, state: _CheckState
) -> dict[int, str]:
    """What a model makes of the sentences that cite something, by their places."""

    async def ask(batch: Sequence[Claim]) -> RewrittenSentences:
        return await state.checker.rewrite_claims(state.question, batch, state.context.options, state.emit)

    claims = _to_claims((s for s in sentences if s.numbers), cited)
    texts: dict[str, str] = {}
    for made in await _run_batches("rewrite", claims, RewrittenSentences, ask, state):
        state.failures += made.failures
        texts |= dict(made.texts)
    places = {s.at: texts[key] for s in sentences if s.numbers and (key := sentence_key(s, cited)) in texts}
    return {at: text for at, text in places.items() if any(char.isalnum() for char in text)}


async def _judge_rewritten(answer: Answer, rewritten: set[str], state: _CheckState) -> tuple[Answer, set[str]]:
    """Judges what was rewritten; what is still without support goes. Returns those too."""
    cited = number_citations(answer, state.registry)
    mine = {_alphanumeric(text): text for text in rewritten}
    own = [s for s in (await asyncio.to_thread(check_support, cited)).sentences if _alphanumeric(s.text) in mine]
    await _judge_claims(_to_claims(_select_doubtful(own, cited), cited), state)
    assert answer.review is not None
    review = answer.review.model_copy(update={"rulings": tuple(state.rulings.values())})
    answer = answer.model_copy(update={"review": review})
    cited = number_citations(answer, state.registry)
    again = (await asyncio.to_thread(check_support, cited)).sentences
    held = {_alphanumeric(s.text) for s in again if s.status in ("supported", "quoted")}
    failed = {s.at: "" for s in again if _alphanumeric(s.text) in mine and _alphanumeric(s.text) not in held}
    if not failed:
        return answer, set()
    gone = {mine[_alphanumeric(s.text)] for s in again if s.at in failed}
    _, answer = await asyncio.to_thread(_apply_changes, answer, cited, failed)
    return answer, gone


def _alphanumeric(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _apply_changes(answer: Answer, cited: CitedAnswer, changes: dict[int, str]) -> tuple[set[int], Answer]:
    """The answer with some sentences changed, and the places of those that could be."""
    spans: list[Span] = []
    done: set[int] = set()
    at = 0
    for stretch in group_spans(cited):
        count = len(group_sentences(stretch))
        own = {place - at: new for place, new in changes.items() if at <= place < at + count}
        kept = [item.span for item in stretch.spans]
        if own and stretch.nodes:
            found = repair_spans(kept, own)
            kept = list(found.spans)
            done |= {at + place for place in found.repaired_indices}
        elif own:  # a quote that is none
            kept = []
            done |= {at + place for place in own}
        spans += kept
        at += count
    return done, answer.model_copy(update={"spans": tuple(spans)})


# --- What the answer says of it


def _add_review_notice(answer: Answer, state: _CheckState, claim_count: int) -> Answer:
    review = answer.review
    assert review is not None
    tell = translator(state.question.language, "checking.")
    failures = tuple(dict.fromkeys(state.failures))
    ruled = claim_count - review.unchecked
    lines = []
    if claim_count and len(review.rulings):
        lines.append(tell("done", author=review.author, n=ruled))
    if review.unchecked:
        lines.append(tell("unchecked", n=review.unchecked, why=tell(state.skip_reason or "quote")))
    if review.repairs:
        rewritten = sum(bool(item.after) for item in review.repairs)
        dropped = len(review.repairs) - rewritten
        lines.append(tell("repaired", dropped=dropped, rewritten=rewritten))
    state.emit(
        "checked",
        rulings=len(review.rulings),
        repairs=len(review.repairs),
        unchecked=review.unchecked,
        failures=len(failures),
    )
    if not (lines or failures):
        return answer.model_copy(update={"review": None}) if not review.rulings else answer
    notice = (Span(kind="notice", text=" ".join(lines)),) if lines else ()
    first = next((n for n, s in enumerate(answer.spans) if s.kind != "notice"), len(answer.spans))
    return answer.model_copy(
        update={
            "spans": (*answer.spans[:first], *notice, *answer.spans[first:]),
            "review": review.model_copy(update={"failures": failures}),
            "failures": tuple(dict.fromkeys((*answer.failures, *failures))),
        }
    )
