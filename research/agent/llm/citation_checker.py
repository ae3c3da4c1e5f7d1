"""The citation checker that judges sentences of an answer with a model, and rewrites them.

A ruling that needs a quote counts only if the quote occurs in a passage that the sentence cites;
else the judgement of the rules stands.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from research.agent.llm import prompts
from research.agent.llm.model_output import one_line, parse_rows
from research.agent.llm.reasoner import ModelReasoner
from research.agent.llm.yes_no_models import is_yes_no_model, judge_yes_no
from research.agent.reasoner import Claim
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import (
    ModelVerdict,
    ModelVerdicts,
    Question,
    RewrittenSentences,
    RunOptions,
    Verdict,
)
from research.core.text.quotes import find_quote, normalise_quote
from research.models.roles import ModelSpec

MAX_REASON_CHARS = 200  # longer reasons are cut
MIN_QUOTE_CHARS = 4  # shorter quotes are ignored


class _VerdictOutput(BaseModel):
    number: int
    verdict: Verdict
    reason: str = ""
    quote: str = ""


class _VerdictsOutput(BaseModel):
    rulings: list[object]


class _RewriteOutput(BaseModel):
    number: int
    text: str


class _RewritesOutput(BaseModel):
    rewritten: list[object]


class ModelCitationChecker:
    """Judges and rewrites sentences with chat models: of `reports` for a report, else of `default`.

    A setting may name a model for judging (`ModelReasoner.check_chat`).
    """

    def __init__(self, default: ModelReasoner | None, reports: ModelReasoner | None, *, can_judge: bool = True) -> None:
        self._default, self._reports = default, reports
        self.can_judge = can_judge

    def judging_model_name(self, options: RunOptions) -> str:
        return str(self._judging_model(options) or "")

    def is_limited_to_one_claim(self, options: RunOptions) -> bool:
        model = self._judging_model(options)
        return model is not None and is_yes_no_model(model)

    def is_available(self, options: RunOptions) -> bool:
        return self._reasoner_for(options) is not None

    async def judge_claims(
        self, question: Question, claims: Sequence[Claim], options: RunOptions, emit: EventEmitter
    ) -> ModelVerdicts:
        try:
            chat = self._require_reasoner(options).check_chat(options)
            if is_yes_no_model(chat.spec):
                return ModelVerdicts(verdicts=tuple([await judge_yes_no(c, chat, emit) for c in claims]))
            output = await chat.ask_json(
                lambda token_budget: prompts.check_prompt(question, claims, token_budget),
                prompts.check_schema(len(claims)),
                _VerdictsOutput,
                "check",
                emit,
            )
        except ServiceError as error:
            return ModelVerdicts(failures=(error.to_failure("check"),))
        rows: dict[int, _VerdictOutput] = {}
        for row in parse_rows(output.rulings, _VerdictOutput):
            rows.setdefault(row.number, row)
        judged = [_to_verdict(claim, rows[n]) for n, claim in enumerate(claims, 1) if n in rows]
        verdicts = tuple(item for item in judged if item)
        no_judgement = ServiceError("malformed", f"{chat.spec} judged no sentence")
        return ModelVerdicts(verdicts=verdicts, failures=() if rows else (no_judgement.to_failure("check"),))

    async def rewrite_claims(
        self, question: Question, claims: Sequence[Claim], options: RunOptions, emit: EventEmitter
    ) -> RewrittenSentences:
        try:
            chat = self._require_reasoner(options).rewrite_chat(options)
            output = await chat.ask_json(
                lambda token_budget: prompts.rewrite_prompt(claims, token_budget),
                prompts.rewrite_schema(len(claims)),
                _RewritesOutput,
                "check",
                emit,
            )
        except ServiceError as error:
            return RewrittenSentences(failures=(error.to_failure("check"),))
        rows = {
            row.number: one_line(row.text, prompts.MAX_SENTENCE_CHARS)
            for row in parse_rows(output.rewritten, _RewriteOutput)
        }
        texts = tuple((claim.key, rows[n]) for n, claim in enumerate(claims, 1) if rows.get(n))
        return RewrittenSentences(texts=texts)

    def _reasoner_for(self, options: RunOptions) -> ModelReasoner | None:
        return self._reports if options.sections else self._default

    def _judging_model(self, options: RunOptions) -> ModelSpec | None:
        try:
            return self._require_reasoner(options).check_chat(options).spec
        except ServiceError:  # the error is raised again, and reported, by the call
            return None

    def _require_reasoner(self, options: RunOptions) -> ModelReasoner:
        """Return the reasoner whose models check a run.

        Raises:
            ServiceError: there is no model with a key.
        """
        reasoner = self._reasoner_for(options)
        if reasoner is None:
            raise ServiceError("no key")
        return reasoner


def _to_verdict(claim: Claim, output: _VerdictOutput) -> ModelVerdict | None:
    """Convert the model's output to a verdict with the position of its quote.

    Return None if the verdict needs a quote and the claim's excerpts do not contain it.
    """
    reason = one_line(output.reason, MAX_REASON_CHARS)
    if output.verdict == "absent":
        return ModelVerdict(key=claim.key, verdict=output.verdict, reason=reason)
    if len(normalise_quote(output.quote)) < MIN_QUOTE_CHARS:
        return None
    for excerpt in claim.excerpts:
        if span := find_quote(output.quote, excerpt.text):
            start, end = span
            return ModelVerdict(
                key=claim.key,
                verdict=output.verdict,
                reason=reason,
                quote=excerpt.text[start:end],
                **excerpt.locate(start, end),
            )
    return None
