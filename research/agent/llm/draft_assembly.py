"""Drafts built from a model's text with the necessary notices, or in place of a missing text.

This module calls no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from research.agent.llm.material import MaterialListing, passage_blocks
from research.citations.model_markdown import parse_model_markdown
from research.citations.registry import cites_by_address, cites_by_title
from research.core.errors import ServiceError
from research.core.i18n import message, translator
from research.core.records import ASKS_BACK, Draft, Failure, Finding, Language, Reflection, Span
from research.models.chat import Chat
from research.models.replies import ModelReply

QUOTES_PER_QUERY = 4  # passages of a query that are quoted in place of an answer
MAX_NAMED_SOURCES = 5  # in the notice on omitted sources
MAX_TITLE_CHARS = 60  # longer titles are cut


_OUTPUT_LIMIT_FAILURE = Failure(stage="write", reason="cut off", message="the model reached its output limit")


def require_material(listing: MaterialListing, chat: Chat) -> None:
    """Check that a prompt shows any material.

    Raises:
        ServiceError: the prompt of the model has no space for any of it.
    """
    if not listing.text:
        raise ServiceError("cut off", f"the material has no room in the prompt of {chat.spec}", hint="context")


def parse_reply(reply: ModelReply, listing: MaterialListing, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Parse a model's text. It may cite the evidence of the findings by handle, address or title."""
    evidence = [item for finding in findings for item in finding.evidence]
    return parse_model_markdown(
        reply.text,
        listing.handles,
        cites_by_address(evidence),
        cites_by_title(evidence),
        is_partial=bool(reply.is_cut or reply.error),  # a handle may be cut off
    )


def build_draft(
    reply: ModelReply,
    language: Language,
    findings: Sequence[Finding],
    reflections: Sequence[Reflection],
    listing: MaterialListing,
    author: str,
) -> Draft:
    """Build a draft from a model's text, with notices on its ending, gaps and omitted material."""
    ending = ending_draft(reply, language)
    spans = [*parse_reply(reply, listing, findings), *ending.spans]
    if not any(span.references for span in spans):
        spans.insert(0, Span(kind="notice", text=message("draft.uncited", language)))
        spans += _quote_spans(findings)
    last_reflection = reflections[-1] if reflections else None
    if last_reflection and not last_reflection.sufficient and last_reflection.gap and not last_reflection.follow_ups:
        text = message("draft.gap", language, what="; ".join(last_reflection.gap))
        spans.append(Span(kind="missing", text=text))
    spans += _unattributed_spans(language, findings)
    spans += omission_notices(listing, author, language)
    failures = list(ending.failures)
    if listing.omitted_sources or listing.shortened_sources:
        failures.append(
            Failure(
                stage="write",
                reason="cut off",
                hint="context",
                message=f"{listing.omitted_count} passages had no room in the prompt of {author}, "
                f"{listing.shortened_count} were shortened",
            )
        )
    return Draft(spans=tuple(spans), author=author, failures=tuple(failures), placeholder=ending.placeholder)


def omission_notices(listing: MaterialListing, author: str, language: Language) -> tuple[Span, ...]:
    """Return a notice on sources that the prompt omitted or shortened, if there are any."""

    translate = translator(language, "draft.")
    total = f"{listing.source_count:,}"
    texts = []
    if omitted := len(listing.omitted_sources):
        titles = [" ".join(item.title.split()) or item.publisher for item in listing.omitted_sources]
        names = "; ".join(title[:MAX_TITLE_CHARS] for title in titles[:MAX_NAMED_SOURCES])
        if omitted > MAX_NAMED_SOURCES:
            names = translate("more", names=names, n=f"{omitted - MAX_NAMED_SOURCES:,}")
        texts.append(translate("missing", n=f"{omitted:,}", all=total, names=names))
    if shortened := len(listing.shortened_sources):
        n = f"{shortened:,}"
        texts.append(translate("others", n=n) if omitted else translate("partly", n=n, all=total))
    if not texts:
        return ()
    joined = message("mark.semicolon", language).join(texts)
    return (Span(kind="notice", text=translate("too long", author=author, what=joined)),)


def ending_draft(reply: ModelReply, language: Language) -> Draft:
    """Return a draft with the notice and the failure of a text that was cut off; else an empty draft."""
    if reply.error:
        notice = Span(kind="notice", text=message("draft.broken", language))
        failure = reply.error.to_failure("write")
        return Draft(spans=(notice,), author="", failures=(failure,), placeholder=True)
    if reply.is_cut:
        notice = Span(kind="notice", text=message("draft.cut", language))
        return Draft(spans=(notice,), author="", failures=(_OUTPUT_LIMIT_FAILURE,))
    return Draft(spans=(), author="")


def fallback_draft(language: Language, findings: Sequence[Finding], error: ServiceError) -> Draft:
    """Quote the findings in place of an answer that could not be written."""
    notice = Span(kind="notice", text=message("draft.stand in", language))
    return Draft(
        spans=(notice, *_quote_spans(findings), *_unattributed_spans(language, findings)),
        author=message("draft.nobody", language),
        failures=(error.to_failure("write"),),
        placeholder=True,
    )


def quotes_draft(language: Language, findings: Sequence[Finding]) -> Draft:
    """Quote the findings of a run that writes no answer."""
    spans = (*_quote_spans(findings), *_unattributed_spans(language, findings))
    return Draft(spans=spans or no_source_spans(language, findings), author=message("draft.nobody", language))


def _quote_spans(findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Return the first passages of each finding, verbatim, below its query."""
    spans: list[Span] = []
    for finding in findings:
        first = passage_blocks(finding.evidence)[:QUOTES_PER_QUERY]
        if first:
            spans.append(Span(kind="heading", text=finding.task.query))
        spans += (Span(kind="quote", text=block.text, references=block.cites) for block in first)
    return tuple(spans)


def no_source_spans(language: Language, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Return an answer without citations: a notice, and any text without sources."""
    searched = [finding for finding in findings if finding.reason != "left out"]
    has_failed = bool(searched) and all(f.has_failed for f in searched)
    is_skipped = bool(findings) and not searched
    clarifications = dict.fromkeys(f.message for f in findings if f.reason in ASKS_BACK)
    spans = [Span(kind="missing", text=text) for text in clarifications]
    if not clarifications or not all(f.reason in ASKS_BACK for f in findings):
        key = "left out" if is_skipped else "failed" if has_failed else "nothing"
        spans.append(Span(kind="missing", text=message(f"draft.{key}", language)))
    return (*spans, *_unattributed_spans(language, findings))


def _unattributed_spans(language: Language, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Return texts of a search model without any source, marked as such."""
    unattributed = [f for f in findings if f.summary and not any(span.references for span in f.summary)]
    spans: list[Span] = []
    for finding in unattributed:
        summary = "".join(span.text for span in finding.summary).strip()
        if summary:
            spans.append(Span(kind="heading", text=finding.task.query))
            clean = "".join(span.text for span in parse_model_markdown(summary, {}, {}))
            spans.append(Span(kind="text", text=clean, unsourced=True))
    if not spans:
        return ()
    spans.insert(0, Span(kind="notice", text=message("draft.no sources", language)))
    if titles := dict.fromkeys(item.title for f in unattributed for item in f.evidence):
        text = message("draft.named", language, names="; ".join(titles))
        spans.append(Span(kind="notice", text=text))
    return tuple(spans)
