"""Small models that are made to judge one claim by one document and say nothing but Yes or No.

They show no quote. So a Yes makes nothing supported: it leaves what the rules support, and a doubt of
theirs. A No leaves a doubt, and takes a support away that has no other witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from research.agent.llm.prompts import MAX_HEADING_CHARS
from research.agent.llm.truncation import excerpt
from research.agent.reasoner import Claim
from research.core.errors import ServiceError
from research.core.records import EventEmitter, ModelVerdict, Verdict
from research.core.text.tokenizer import word_weights
from research.models.chat import Chat, Prompt
from research.models.roles import ModelSpec
from research.models.token_counts import estimate_tokens

# What a model of this kind is asked with, by the name that it begins with. Its own system prompt comes
# with it. Source: https://ollama.com/library/bespoke-minicheck, as of 2026-11.
PROMPT_TEMPLATES = {"bespoke-minicheck": "Document: {document}\nClaim: {claim}"}
VERDICT_WORDS: dict[str, Verdict] = {"yes": "supported", "no": "absent"}


def is_yes_no_model(spec: ModelSpec) -> bool:
    """Whether a model says Yes or No and nothing else."""
    return bool(_prompt_template(spec))


def _prompt_template(spec: ModelSpec) -> str:
    name = spec.name.lower().rpartition("/")[2]
    return next((text for begins, text in PROMPT_TEMPLATES.items() if name.startswith(begins)), "")


async def judge_claim(claim: Claim, chat: Chat, emit: EventEmitter) -> ModelVerdict:
    """What such a model says of a claim.

    Raises:
        Trouble: it has not answered, or something else.
    """

    def prompt(room: int) -> Prompt:
        form = _prompt_template(chat.spec)
        text = _one_line(claim.text)
        left = room - estimate_tokens(form) - estimate_tokens(text)
        return Prompt("", form.format(document=" ".join(_document_parts(claim, left)), claim=text))

    reply = await chat.ask_text(prompt, "check", emit)
    verdict = VERDICT_WORDS.get(reply.text.strip().rstrip(".").lower())
    if verdict is None:
        raise ServiceError("malformed", f"{chat.spec} said neither Yes nor No")
    return ModelVerdict(key=claim.key, verdict=verdict)


def _document_parts(claim: Claim, token_budget: int) -> Iterator[str]:
    """The passages as far as there is room, each behind what it is about. Line breaks are taken out, so
    that no passage can begin a claim of its own."""
    wanted = word_weights(claim.text)
    for _, passage, head in claim.passages:
        about = _one_line(head[:MAX_HEADING_CHARS])
        token_budget -= estimate_tokens(about) + 2
        if token_budget <= 0:
            return
        part = excerpt(_one_line(passage.text), token_budget, wanted)
        token_budget -= estimate_tokens(part)
        yield f"{about} {part}".strip()


def _one_line(text: str) -> str:
    return " ".join(text.split())
