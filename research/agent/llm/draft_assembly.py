"""What becomes of a model's text: an answer with all that has to be said about it, or what stands in
for one that could not be written. Asks no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from research.agent.llm.material import MaterialListing, passage_blocks
from research.citations.model_markdown import parse_model_markdown
from research.core.errors import ServiceError
from research.core.i18n import message, translator
from research.core.records import ASKS_BACK, Draft, Failure, Finding, Language, Reflection, Span
from research.models.chat import ModelReply

QUOTES_PER_QUERY = 4  # passages a query that stand in for an answer
MAX_NAMED_SOURCES = 5  # sources that are named of those left out
MAX_TITLE_CHARS = 60  # characters of the title of one


_OUTPUT_LIMIT_FAILURE = Failure(stage="write", reason="cut off", message="the model reached its output limit")


def build_draft(
    spans: list[Span],
    reply: ModelReply,
    language: Language,
    findings: Sequence[Finding],
    reflections: Sequence[Reflection],
    listing: MaterialListing,
    author: str,
) -> Draft:
    """A model's text, with what has to be said about it."""
    end = describe_ending(reply, language)
    spans += end.spans
    if not any(span.cites for span in spans):
        spans.insert(0, Span(kind="notice", text=message("draft.uncited", language)))
        spans += _quote_spans(findings)
    last = reflections[-1] if reflections else None
    if last and not last.sufficient and last.gap and not last.follow_ups:
        text = message("draft.gap", language, what="; ".join(last.gap))
        spans.append(Span(kind="missing", text=text))
    spans += _unattributed_spans(language, findings)
    spans += omission_notices(listing, author, language)
    failures = list(end.failures)
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
    return Draft(spans=tuple(spans), author=author, failures=tuple(failures), unwritten=end.unwritten)


def omission_notices(listing: MaterialListing, author: str, language: Language) -> tuple[Span, ...]:
    """Which sources a model was not shown, or not whole, for want of room; nothing if there are none."""

    say = translator(language, "draft.")
    every = f"{listing.source_count:,}"
    said = []
    if left := len(listing.omitted_sources):
        titles = [" ".join(item.title.split()) or item.publisher for item in listing.omitted_sources]
        names = "; ".join(title[:MAX_TITLE_CHARS] for title in titles[:MAX_NAMED_SOURCES])
        if left > MAX_NAMED_SOURCES:
            names = say("more", names=names, n=f"{left - MAX_NAMED_SOURCES:,}")
        said.append(say("missing", n=f"{left:,}", all=every, names=names))
    if partly := len(listing.shortened_sources):
        n = f"{partly:,}"
        said.append(say("others", n=n) if left else say("partly", n=n, all=every))
    if not said:
        return ()
    what = message("mark.semicolon", language).join(said)
    return (Span(kind="notice", text=say("too long", author=author, what=what)),)


def describe_ending(reply: ModelReply, language: Language) -> Draft:
    """What there is to say about how a text ended; nothing if it is whole."""
    if reply.error:
        notice = Span(kind="notice", text=message("draft.broken", language))
        failure = reply.error.to_failure("write")
        return Draft(spans=(notice,), author="", failures=(failure,), unwritten=True)
    if reply.is_cut:
        notice = Span(kind="notice", text=message("draft.cut", language))
        return Draft(spans=(notice,), author="", failures=(_OUTPUT_LIMIT_FAILURE,))
    return Draft(spans=(), author="")


def fallback_draft(language: Language, findings: Sequence[Finding], error: ServiceError) -> Draft:
    """What was found, instead of an answer that could not be written."""
    notice = Span(kind="notice", text=message("draft.stand in", language))
    return Draft(
        spans=(notice, *_quote_spans(findings), *_unattributed_spans(language, findings)),
        author=message("draft.nobody", language),
        failures=(error.to_failure("write"),),
        unwritten=True,
    )


def quotes_draft(language: Language, findings: Sequence[Finding]) -> Draft:
    """What was found, where nobody is to write an answer."""
    spans = (*_quote_spans(findings), *_unattributed_spans(language, findings))
    return Draft(spans=spans or no_source_spans(language, findings), author=message("draft.nobody", language))


def _quote_spans(findings: Sequence[Finding]) -> tuple[Span, ...]:
    """The first passages of each finding, verbatim, under its query."""
    spans: list[Span] = []
    for finding in findings:
        first = passage_blocks(finding.evidence)[:QUOTES_PER_QUERY]
        if first:
            spans.append(Span(kind="heading", text=finding.task.query))
        for piece in first:
            spans.append(Span(kind="quote", text=piece.text, cites=piece.cites))
    return tuple(spans)


def no_source_spans(language: Language, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """The answer if nothing can be cited: that it is so, and any text that came without sources."""
    tried = [finding for finding in findings if finding.reason != "left out"]
    failed = bool(tried) and all(f.reason not in (None, "empty") for f in tried)
    undone = bool(findings) and not tried
    back = dict.fromkeys(f.message for f in findings if f.reason in ASKS_BACK)
    spans = [Span(kind="missing", text=text) for text in back]
    if not back or not all(f.reason in ASKS_BACK for f in findings):
        why = "left out" if undone else "failed" if failed else "nothing"
        spans.append(Span(kind="missing", text=message(f"draft.{why}", language)))
    return (*spans, *_unattributed_spans(language, findings))


def _unattributed_spans(language: Language, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Texts of a search model that came without a source for any sentence: kept, and said to be."""
    loose = [f for f in findings if f.summary and not any(span.cites for span in f.summary)]
    spans: list[Span] = []
    for finding in loose:
        words = "".join(span.text for span in finding.summary).strip()
        if words:
            spans.append(Span(kind="heading", text=finding.task.query))
            clean = "".join(span.text for span in parse_model_markdown(words, {}, {}))
            spans.append(Span(kind="text", text=clean, unsourced=True))
    if not spans:
        return ()
    spans.insert(0, Span(kind="notice", text=message("draft.no sources", language)))
    if named := dict.fromkeys(item.title for f in loose for item in f.evidence):
        text = message("draft.named", language, names="; ".join(named))
        spans.append(Span(kind="notice", text=text))
    return tuple(spans)
