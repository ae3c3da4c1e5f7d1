"""Small models that are made to judge one claim by one document and say nothing but Yes or No.

They show no quote. So a Yes makes nothing supported: it leaves what the rules support, and a doubt of
theirs. A No leaves a doubt, and takes a support away that has no other witness.
"""

from __future__ import annotations

from collections.abc import Iterator

from research.agent.llm.prompts import HEAD
from research.agent.llm.room import excerpt
from research.agent.reasoner import Claim
from research.core.errors import Trouble
from research.core.records import Judged, Say, Verdict
from research.core.text.words import telling
from research.models.calls import Chat, Prompt
from research.models.counting import tokens
from research.models.roles import Spec

# What a model of this kind is asked with, by the name that it begins with. Its own system prompt comes
# with it. Source: https://ollama.com/library/bespoke-minicheck, as of 2026-11.
PROMPTS = {"bespoke-minicheck": "Document: {document}\nClaim: {claim}"}
SAID: dict[str, Verdict] = {"yes": "supported", "no": "absent"}


def says_only(spec: Spec) -> bool:
    """Whether a model says Yes or No and nothing else."""
    return bool(_prompt(spec))


def _prompt(spec: Spec) -> str:
    name = spec.name.lower().rpartition("/")[2]
    return next((text for begins, text in PROMPTS.items() if name.startswith(begins)), "")


async def ruled(claim: Claim, chat: Chat, say: Say) -> Judged:
    """What such a model says of a claim.

    Raises:
        Trouble: it has not answered, or something else.
    """

    def prompt(room: int) -> Prompt:
        form = _prompt(chat.spec)
        text = _line(claim.text)
        left = room - tokens(form) - tokens(text)
        return Prompt("", form.format(document=" ".join(_document(claim, left)), claim=text))

    reply = await chat.text(prompt, "check", say)
    verdict = SAID.get(reply.text.strip().rstrip(".").lower())
    if verdict is None:
        raise Trouble("malformed", f"{chat.spec} said neither Yes nor No")
    return Judged(key=claim.key, verdict=verdict)


def _document(claim: Claim, room: int) -> Iterator[str]:
    """The passages as far as there is room, each behind what it is about. Line breaks are taken out, so
    that no passage can begin a claim of its own."""
    wanted = telling(claim.text)
    for _, passage, head in claim.passages:
        about = _line(head[:HEAD])
        room -= tokens(about) + 2
        if room <= 0:
            return
        part = excerpt(_line(passage.text), room, wanted)
        room -= tokens(part)
        yield f"{about} {part}".strip()


def _line(text: str) -> str:
    return " ".join(text.split())
