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

from research.agent.nodes.budget import Ended
from research.agent.nodes.context import RunContext
from research.agent.nodes.section import once
from research.agent.reasoner import Checker, Cited, Claim
from research.citations.numbering import CitedAnswer, number
from research.citations.registry import Registry, gather
from research.citations.repair import mended
from research.citations.support import (
    TO_JUDGE,
    Sentence,
    behind,
    close,
    key_of,
    said,
    stretches,
    support,
)
from research.core.i18n import speaker
from research.core.records import (
    Answer,
    Failure,
    Finding,
    Judged,
    Question,
    Record,
    Repair,
    Review,
    Rewritten,
    Rulings,
    Say,
    Span,
    fingerprint,
)

BATCH = 12  # sentences a call
CALLS = 8  # of each kind, at most, or as many sentences as these would have
_R = TypeVar("_R", bound=Record)

_ITS_OWN = (
    "malformed",
    "blocked",
    "cut off",
)  # failures of a call that tell nothing of the next one


@dataclass
class _Checking:
    """What one check works with, and what has come of it so far."""

    question: Question
    registry: Registry
    checker: Checker
    context: RunContext
    say: Say
    rulings: dict[str, Judged]
    failures: list[Failure]
    why: str = ""  # something was not asked


async def checked(
    question: Question,
    answer: Answer,
    findings: Sequence[Finding],
    context: RunContext,
    say: Say,
) -> Answer:
    """The answer with its review, and put right where the context's `repair` is drop or rewrite; as
    it is where there is no checker."""
    checker, options, repair = context.checker, context.options, context.repair
    if checker is None or answer.unwritten or not checker.can(options):
        return answer
    registry = gather([*question.remembered, *findings])
    desk = _Checking(question, registry, checker, context, say, {}, [])
    cited = number(answer, registry)
    found = await asyncio.to_thread(support, cited)
    if not found.sentences:
        return answer
    asked = _questionable(found.sentences, cited)
    claims = _claims(asked, cited) if checker.judges else []
    if claims:
        say("checking", sentences=len(claims))
        await _ruled(claims, desk)
    unchecked = sum(claim.key not in desk.rulings for claim in claims)
    review = Review(
        author=checker.author(options) if claims else "",
        rulings=tuple(desk.rulings.values()),
        unchecked=unchecked,
    )
    answer = answer.model_copy(update={"review": review})
    if repair != "off":
        answer = await _repaired(answer, repair, desk)
    return _told(answer, desk, len(claims))


def _questionable(sentences: Iterable[Sentence], cited: CitedAnswer) -> list[Sentence]:
    """The sentences that the rules doubt, then those that they support by a small margin, the smallest
    first."""
    cites = [sentence for sentence in sentences if sentence.numbers]
    margins = [(close(sentence, cited), sentence) for sentence in cites]
    narrow = [(margin, sentence) for margin, sentence in margins if margin is not None]
    narrow.sort(key=lambda at: at[0])
    return [s for s in cites if s.status in TO_JUDGE] + [sentence for _, sentence in narrow]


def _claims(sentences: Iterable[Sentence], cited: CitedAnswer) -> list[Claim]:
    """Sentences with their passages; one that stands twice is asked about once."""
    out: dict[str, Claim] = {}
    for sentence in sentences:
        key = key_of(sentence, cited)
        nearest = (sentence.evidence, sentence.passage)
        passages = [
            Cited(
                item.evidence.id,
                item.passage.model_copy(update={"text": item.text}),
                item.head.strip(),
            )
            for item in behind(sentence, cited)
        ]
        passages.sort(key=lambda one: (one.evidence, one.passage.id) != nearest)
        out.setdefault(key, Claim(key, sentence.text, tuple(passages)))
    return list(out.values())


# --- Asking


async def _ruled(claims: Sequence[Claim], desk: _Checking) -> None:
    """Asks about sentences, some at a time."""
    if not desk.checker.judges:
        return

    async def ask(batch: Sequence[Claim]) -> Rulings:
        return await desk.checker.rule(desk.question, batch, desk.context.options, desk.say)

    keys = {claim.key for claim in claims}
    size = 1 if desk.checker.single(desk.context.options) else BATCH
    for made in await _asked("check", claims, Rulings, ask, desk, size):
        desk.failures += made.failures
        desk.rulings |= {item.key: item for item in made.rulings if item.key in keys}


async def _asked(
    step: str,
    claims: Sequence[Claim],
    shape: type[_R],
    ask: Callable[[Sequence[Claim]], Awaitable[_R]],
    desk: _Checking,
    size: int = BATCH,
) -> list[_R]:
    """What came of the calls that there was room for: side by side, or one after the other where each
    counts against a limit. After one that nobody could have answered no other begins."""
    most = min(len(claims), BATCH * CALLS)
    if len(claims) > most:
        desk.why = "many"
    turn = asyncio.Semaphore(1 if desk.context.meter.counted else CALLS)
    out = False

    async def one(batch: Sequence[Claim]) -> _R | None:
        nonlocal out
        async with turn:
            if out:
                return None
            name = f"{step} {fingerprint(desk.checker.author(desk.context.options), *(c.key for c in batch))}"
            if desk.context.notes.noted(name) is None and desk.context.meter.tight:
                desk.why = "room"
                return None
            try:
                async with desk.context.meter.writing.open():
                    made = await once(name, shape, lambda: ask(batch), desk.context.notes)
            except Ended:
                desk.why = "room"
                return None
        if failures := getattr(made, "failures", ()):
            desk.why = "failed"
            out |= any(failure.reason not in _ITS_OWN for failure in failures)
        return made

    batches = [claims[at : min(at + size, most)] for at in range(0, most, size)]
    done = await asyncio.gather(*map(one, batches))
    return [made for made in done if made is not None]


# --- Putting right


async def _repaired(answer: Answer, repair: str, desk: _Checking) -> Answer:
    """The answer without its unsupported sentences, or with other words for those that have a passage."""
    cited = number(answer, desk.registry)
    found = (await asyncio.to_thread(support, cited)).sentences
    bad = [s for s in found if _unsupported(s, cited, desk)]
    if not bad:
        return answer
    changes = {sentence.at: "" for sentence in bad}
    if repair == "rewrite":
        changes |= await _in_other_words(bad, cited, desk)
    done, answer = await asyncio.to_thread(_changed, answer, cited, changes)
    texts = {sentence.at: sentence for sentence in bad}
    repairs = [
        Repair(before=texts[at].text, after=changes[at], part=_part(texts[at], cited))
        for at in sorted(done)
    ]
    written = {after for at, after in changes.items() if after and at in done}
    if written:
        answer, gone = await _judged_again(answer, written, desk)
        repairs = [r.model_copy(update={"after": ""}) if r.after in gone else r for r in repairs]
    assert answer.review is not None
    review = answer.review.model_copy(
        update={"repairs": tuple(repairs), "kept": len(changes.keys() - done)}
    )
    return answer.model_copy(update={"review": review})


def _unsupported(sentence: Sentence, cited: CitedAnswer, desk: _Checking) -> bool:
    ruling = desk.rulings.get(key_of(sentence, cited))
    absent = sentence.status == "unsupported" and ruling and ruling.verdict == "absent"
    return bool(absent) or sentence.status in ("none", "differs")


def _part(sentence: Sentence, cited: CitedAnswer) -> str:
    return cited.spans[sentence.spans[0]].span.part if sentence.spans else ""


async def _in_other_words(
    bad: Sequence[Sentence], cited: CitedAnswer, desk: _Checking
) -> dict[int, str]:
    """What a model makes of the sentences that cite something, by their places."""

    async def ask(batch: Sequence[Claim]) -> Rewritten:
        return await desk.checker.rewrite(desk.question, batch, desk.context.options, desk.say)

    claims = _claims((s for s in bad if s.numbers), cited)
    texts: dict[str, str] = {}
    for made in await _asked("rewrite", claims, Rewritten, ask, desk):
        desk.failures += made.failures
        texts |= dict(made.texts)
    places = {s.at: texts[key] for s in bad if s.numbers and (key := key_of(s, cited)) in texts}
    return {at: text for at, text in places.items() if any(char.isalnum() for char in text)}


async def _judged_again(
    answer: Answer, written: set[str], desk: _Checking
) -> tuple[Answer, set[str]]:
    """Judges what was rewritten; what is still without support goes. Returns those too."""
    cited = number(answer, desk.registry)
    mine = {_plain(text): text for text in written}
    own = [s for s in (await asyncio.to_thread(support, cited)).sentences if _plain(s.text) in mine]
    await _ruled(_claims(_questionable(own, cited), cited), desk)
    assert answer.review is not None
    review = answer.review.model_copy(update={"rulings": tuple(desk.rulings.values())})
    answer = answer.model_copy(update={"review": review})
    cited = number(answer, desk.registry)
    again = (await asyncio.to_thread(support, cited)).sentences
    held = {_plain(s.text) for s in again if s.status in ("supported", "quoted")}
    failed = {s.at: "" for s in again if _plain(s.text) in mine and _plain(s.text) not in held}
    if not failed:
        return answer, set()
    gone = {mine[_plain(s.text)] for s in again if s.at in failed}
    _, answer = await asyncio.to_thread(_changed, answer, cited, failed)
    return answer, gone


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isalnum())


def _changed(
    answer: Answer, cited: CitedAnswer, changes: dict[int, str]
) -> tuple[set[int], Answer]:
    """The answer with some sentences changed, and the places of those that could be."""
    spans: list[Span] = []
    done: set[int] = set()
    at = 0
    for stretch in stretches(cited):
        count = len(said(stretch))
        own = {place - at: new for place, new in changes.items() if at <= place < at + count}
        kept = [item.span for item in stretch.spans]
        if own and stretch.nodes:
            found = mended(kept, own)
            kept = list(found.spans)
            done |= {at + place for place in found.done}
        elif own:  # a quote that is none
            kept = []
            done |= {at + place for place in own}
        spans += kept
        at += count
    return done, answer.model_copy(update={"spans": tuple(spans)})


# --- What the answer says of it


def _told(answer: Answer, desk: _Checking, asked: int) -> Answer:
    review = answer.review
    assert review is not None
    tell = speaker(desk.question.language, "checking.")
    failures = tuple(dict.fromkeys(desk.failures))
    ruled = asked - review.unchecked
    lines = []
    if asked and len(review.rulings):
        lines.append(tell("done", author=review.author, n=ruled))
    if review.unchecked:
        lines.append(tell("unchecked", n=review.unchecked, why=tell(desk.why or "quote")))
    if review.repairs:
        rewritten = sum(bool(item.after) for item in review.repairs)
        dropped = len(review.repairs) - rewritten
        lines.append(tell("repaired", dropped=dropped, rewritten=rewritten))
    desk.say(
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
