"""Small models that judge one claim by one document and answer only Yes or No.

They give no quote. So a Yes never makes a claim supported: it leaves the status that the rules gave
it. A No makes a claim unsupported, or unclear if the rules found it supported.
"""

from __future__ import annotations

from collections.abc import Iterator

from research.agent.llm.model_output import one_line
from research.agent.llm.prompts import MAX_HEADING_CHARS
from research.agent.llm.truncation import excerpt
from research.agent.reasoner import Claim
from research.core.errors import ServiceError
from research.core.events import EventEmitter
from research.core.records import ModelVerdict, Verdict
from research.core.text.tokenizer import word_weights
from research.models.chat import Chat
from research.models.prompting import Prompt
from research.models.roles import ModelSpec
from research.models.token_counts import estimate_tokens

# Prompts by prefix of the model's name. The model adds its own system prompt.
# Source: https://ollama.com/library/bespoke-minicheck, as of 2026-11.
PROMPT_TEMPLATES = {"bespoke-minicheck": "Document: {document}\nClaim: {claim}"}
VERDICT_WORDS: dict[str, Verdict] = {"yes": "supported", "no": "absent"}


def is_yes_no_model(spec: ModelSpec) -> bool:
    """Return whether a model answers only Yes or No."""
    return bool(_prompt_template(spec))


def _prompt_template(spec: ModelSpec) -> str:
    """Return the prompt of a model; "" if it is not one of these models."""
    name = spec.name.lower().rpartition("/")[2]
    return next((text for prefix, text in PROMPT_TEMPLATES.items() if name.startswith(prefix)), "")


async def judge_yes_no(claim: Claim, chat: Chat, emit: EventEmitter) -> ModelVerdict:
    """Let a model that answers only Yes or No judge a claim.

    Raises:
        ServiceError: the model did not answer, or answered neither Yes nor No.
    """

    def prompt(token_budget: int) -> Prompt:
        template = _prompt_template(chat.spec)
        text = one_line(claim.text)
        remaining = token_budget - estimate_tokens(template) - estimate_tokens(text)
        return Prompt("", template.format(document=" ".join(_document_parts(claim, remaining)), claim=text))

    reply = await chat.ask_text(prompt, "check", emit)
    verdict = VERDICT_WORDS.get(reply.text.strip().rstrip(".").lower())
    if verdict is None:
        raise ServiceError("malformed", f"{chat.spec} said neither Yes nor No")
    return ModelVerdict(key=claim.key, verdict=verdict)


def _document_parts(claim: Claim, token_budget: int) -> Iterator[str]:
    """Yield the cited excerpts that fit the budget, each after the titles of its source.

    Line breaks are removed, so that no passage can imitate the line of a claim.
    """
    query_words = word_weights(claim.text)
    for cited in claim.excerpts:
        short_heading = one_line(cited.context_line.strip()[:MAX_HEADING_CHARS])
        token_budget -= estimate_tokens(short_heading) + 2
        if token_budget <= 0:
            return
        part = excerpt(one_line(cited.text), token_budget, query_words)
        token_budget -= estimate_tokens(part)
        yield f"{short_heading} {part}".strip()
