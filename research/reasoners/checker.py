"""The model that judges sentences of an answer, and rewrites those without support.

A ruling that rests on a quote counts only if that quote stands in a passage that the sentence cites;
without it the rules' own judgement stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from research.language.text import fold, place_of
from research.models.calls import Chat
from research.reasoners import Claim, prompts
from research.reasoners.llm import LLM
from research.reasoners.yes_or_no import ruled, says_only
from research.records import (
    Failure,
    Judged,
    Options,
    Question,
    Rewritten,
    Rulings,
    Say,
    Verdict,
)
from research.trouble import Trouble

REASON = 200  # characters that are kept
SHORTEST = 4  # characters of a quote


_T = TypeVar("_T", bound=BaseModel)


class _Loose(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Ruling(_Loose):
    number: int
    verdict: Verdict
    reason: str = ""
    quote: str = ""


class _Rulings(_Loose):
    rulings: list[object]


class _Text(_Loose):
    number: int
    text: str


class _Texts(_Loose):
    rewritten: list[object]


class ModelChecker:
    """Asks the model that is set for it; `reports` are the models of reports, where they are others."""

    def __init__(self, usual: LLM | None, reports: LLM | None, *, judges: bool = True) -> None:
        self._usual, self._reports = usual, reports
        self.judges = judges

    def author(self, options: Options) -> str:
        try:
            chat = self._chat(options)
        except Trouble:  # which is told when it is asked
            return ""
        return str(chat.spec)

    def single(self, options: Options) -> bool:
        try:
            return says_only(self._chat(options).spec)
        except Trouble:  # which is told when it is asked
            return False

    def can(self, options: Options) -> bool:
        return self._models(options) is not None

    async def rule(
        self, question: Question, claims: Sequence[Claim], options: Options, say: Say
    ) -> Rulings:
        try:
            chat = self._chat(options)
            if says_only(chat.spec):
                return Rulings(rulings=tuple([await ruled(c, chat, say) for c in claims]))
            made = await chat.json(
                lambda room: prompts.check_prompt(question, claims, room),
                prompts.check_schema(len(claims)),
                _Rulings,
                "check",
                say,
            )
        except Trouble as trouble:
            return Rulings(failures=(trouble.failure("check"),))
        rows: dict[int, _Ruling] = {}
        for row in _read(made.rulings, _Ruling):
            rows.setdefault(row.number, row)
        judged = [_judged(claim, rows[n]) for n, claim in enumerate(claims, 1) if n in rows]
        found = tuple(item for item in judged if item)
        return Rulings(rulings=found, failures=() if rows else (_nothing(chat),))

    async def rewrite(
        self, question: Question, claims: Sequence[Claim], options: Options, say: Say
    ) -> Rewritten:
        try:
            chat = self._asked(options).rewriting(options)
            made = await chat.json(
                lambda room: prompts.rewrite_prompt(claims, room),
                prompts.rewrite_schema(len(claims)),
                _Texts,
                "check",
                say,
            )
        except Trouble as trouble:
            return Rewritten(failures=(trouble.failure("check"),))
        rows = {row.number: " ".join(row.text.split()) for row in _read(made.rewritten, _Text)}
        return Rewritten(
            texts=tuple(
                (claim.key, rows[n][: prompts.SENTENCE])
                for n, claim in enumerate(claims, 1)
                if rows.get(n)
            )
        )

    def _models(self, options: Options) -> LLM | None:
        return self._reports if options.sections else self._usual

    def _chat(self, options: Options) -> Chat:
        return self._asked(options).checking(options)

    def _asked(self, options: Options) -> LLM:
        """Raises Trouble if there is no model that could be asked."""
        models = self._models(options)
        if models is None:
            raise Trouble("no key")
        return models


def _nothing(chat: Chat) -> Failure:
    return Trouble("malformed", f"{chat.spec} judged no sentence").failure("check")


def _read(rows: Sequence[object], shape: type[_T]) -> list[_T]:
    """Those rows that can be read; what is spoilt costs itself only."""
    out = []
    for row in rows:
        try:
            out.append(shape.model_validate(row))
        except ValidationError:
            continue
    return out


def _judged(claim: Claim, row: _Ruling) -> Judged | None:
    """A ruling with the place of its quote; none if it needs a quote and has none."""
    reason = " ".join(row.reason.split())[:REASON]
    if row.verdict == "absent":
        return Judged(key=claim.key, verdict=row.verdict, reason=reason)
    for evidence, passage, _ in claim.passages:
        long = len(fold(row.quote)) >= SHORTEST
        if long and (place := place_of(row.quote, passage.text)):
            start, end = place
            return Judged(
                key=claim.key,
                verdict=row.verdict,
                reason=reason,
                quote=passage.text[start:end],
                evidence=evidence,
                passage=passage.id,
                start=start,
                end=end,
            )
    return None
