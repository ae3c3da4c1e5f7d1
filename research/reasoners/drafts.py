"""What becomes of a model's text: an answer with all that has to be said about it, or what stands in
for one that could not be written. Asks no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from research.evidence.markup import parse
from research.i18n import message, speaker
from research.models.calls import Reply
from research.reasoners.material import Listing, pieces
from research.records import ASKS_BACK, Draft, Failure, Finding, Language, Reflection, Span
from research.trouble import Trouble

QUOTED = 4  # passages a query that stand in for an answer
SOME = 5  # sources that are named of those left out
NAMED = 60  # characters of the title of one


_CUT = Failure(stage="write", reason="cut off", message="the model reached its output limit")


def drafted(
    spans: list[Span],
    reply: Reply,
    tongue: Language,
    findings: Sequence[Finding],
    reflections: Sequence[Reflection],
    listing: Listing,
    author: str,
) -> Draft:
    """A model's text, with what has to be said about it."""
    end = ending(reply, tongue)
    spans += end.spans
    if not any(span.cites for span in spans):
        spans.insert(0, Span(kind="notice", text=message("draft.uncited", tongue)))
        spans += _quoted(findings)
    last = reflections[-1] if reflections else None
    if last and not last.sufficient and last.gap and not last.follow_ups:
        text = message("draft.gap", tongue, what="; ".join(last.gap))
        spans.append(Span(kind="missing", text=text))
    spans += _unattributed(tongue, findings)
    spans += leaving_out(listing, author, tongue)
    failures = list(end.failures)
    if listing.missing or listing.partly:
        failures.append(
            Failure(
                stage="write",
                reason="cut off",
                hint="context",
                message=f"{listing.left_out} passages had no room in the prompt of {author}, "
                f"{listing.shortened} were shortened",
            )
        )
    return Draft(
        spans=tuple(spans), author=author, failures=tuple(failures), unwritten=end.unwritten
    )


def leaving_out(listing: Listing, author: str, tongue: Language) -> tuple[Span, ...]:
    """Which sources a model was not shown, or not whole, for want of room; nothing if there are none."""

    say = speaker(tongue, "draft.")
    every = f"{listing.sources:,}"
    said = []
    if left := len(listing.missing):
        titles = [" ".join(item.title.split()) or item.publisher for item in listing.missing]
        names = "; ".join(title[:NAMED] for title in titles[:SOME])
        if left > SOME:
            names = say("more", names=names, n=f"{left - SOME:,}")
        said.append(say("missing", n=f"{left:,}", all=every, names=names))
    if partly := len(listing.partly):
        n = f"{partly:,}"
        said.append(say("others", n=n) if left else say("partly", n=n, all=every))
    if not said:
        return ()
    what = message("mark.semicolon", tongue).join(said)
    return (Span(kind="notice", text=say("too long", author=author, what=what)),)


def ending(reply: Reply, tongue: Language) -> Draft:
    """What there is to say about how a text ended; nothing if it is whole."""
    if reply.trouble:
        notice = Span(kind="notice", text=message("draft.broken", tongue))
        failure = reply.trouble.failure("write")
        return Draft(spans=(notice,), author="", failures=(failure,), unwritten=True)
    if reply.cut:
        notice = Span(kind="notice", text=message("draft.cut", tongue))
        return Draft(spans=(notice,), author="", failures=(_CUT,))
    return Draft(spans=(), author="")


def standing_in(tongue: Language, findings: Sequence[Finding], trouble: Trouble) -> Draft:
    """What was found, instead of an answer that could not be written."""
    notice = Span(kind="notice", text=message("draft.stand in", tongue))
    return Draft(
        spans=(notice, *_quoted(findings), *_unattributed(tongue, findings)),
        author=message("draft.nobody", tongue),
        failures=(trouble.failure("write"),),
        unwritten=True,
    )


def quoted(tongue: Language, findings: Sequence[Finding]) -> Draft:
    """What was found, where nobody is to write an answer."""
    spans = (*_quoted(findings), *_unattributed(tongue, findings))
    return Draft(
        spans=spans or without_sources(tongue, findings), author=message("draft.nobody", tongue)
    )


def _quoted(findings: Sequence[Finding]) -> tuple[Span, ...]:
    """The first passages of each finding, verbatim, under its query."""
    spans: list[Span] = []
    for finding in findings:
        first = pieces(finding.evidence)[:QUOTED]
        if first:
            spans.append(Span(kind="heading", text=finding.task.query))
        for piece in first:
            spans.append(Span(kind="quote", text=piece.text, cites=piece.cites))
    return tuple(spans)


def without_sources(tongue: Language, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """The answer if nothing can be cited: that it is so, and any text that came without sources."""
    tried = [finding for finding in findings if finding.reason != "left out"]
    failed = bool(tried) and all(f.reason not in (None, "empty") for f in tried)
    undone = bool(findings) and not tried
    back = dict.fromkeys(f.message for f in findings if f.reason in ASKS_BACK)
    spans = [Span(kind="missing", text=text) for text in back]
    if not back or not all(f.reason in ASKS_BACK for f in findings):
        why = "left out" if undone else "failed" if failed else "nothing"
        spans.append(Span(kind="missing", text=message(f"draft.{why}", tongue)))
    return (*spans, *_unattributed(tongue, findings))


def _unattributed(tongue: Language, findings: Sequence[Finding]) -> tuple[Span, ...]:
    """Texts of a search model that came without a source for any sentence: kept, and said to be."""
    loose = [f for f in findings if f.summary and not any(span.cites for span in f.summary)]
    spans: list[Span] = []
    for finding in loose:
        words = "".join(span.text for span in finding.summary).strip()
        if words:
            spans.append(Span(kind="heading", text=finding.task.query))
            clean = "".join(span.text for span in parse(words, {}, {}))
            spans.append(Span(kind="text", text=clean, unsourced=True))
    if not spans:
        return ()
    spans.insert(0, Span(kind="notice", text=message("draft.no sources", tongue)))
    if named := dict.fromkeys(item.title for f in loose for item in f.evidence):
        text = message("draft.named", tongue, names="; ".join(named))
        spans.append(Span(kind="notice", text=text))
    return tuple(spans)
