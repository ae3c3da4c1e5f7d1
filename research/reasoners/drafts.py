"""What becomes of a model's text: an answer with all that has to be said about it, or what stands in
for one that could not be written. Asks no model.
"""

from __future__ import annotations

from collections.abc import Sequence

from research.evidence.markup import parse
from research.models.calls import Reply
from research.reasoners.material import Listing, pieces
from research.records import Draft, Failure, Finding, Language, Reflection, Span
from research.trouble import Trouble

QUOTED = 4  # passages a query that stand in for an answer
SOME = 5  # sources that are named of those left out
NAMED = 60  # characters of the title of one
NOBODY: dict[Language, str] = {
    "zh": "检索内容摘引（没有模型撰写）",
    "en": "Quotes from what was found; not written by a model",
}
NOTICES: dict[str, dict[Language, str]] = {
    "direct": {
        "zh": "模型直接作答，未经检索，没有来源。",
        "en": "Answered by the model directly, without a search; it has no sources.",
    },
    "unsearched": {
        "zh": "检索轮数设为 0：以下来自模型自身的知识，没有来源，可能过时。",
        "en": "Search rounds are set to 0: this is the model's own knowledge, without sources, "
        "and may be out of date.",
    },
    "cut": {
        "zh": "答案未写完：模型达到了输出上限。",
        "en": "The answer is incomplete: the model reached its output limit.",
    },
    "broken": {
        "zh": "答案未写完：连接中断。继续运行即可重写，无需重新检索。",
        "en": "The answer is incomplete: it broke off. Resuming the run writes it again, "
        "without another search.",
    },
    "uncited": {
        "zh": "模型的回答没有引用任何来源，无法核对。下面列出检索到的内容。",
        "en": "The model cited no source, so its text cannot be checked. What the searches found "
        "follows.",
    },
    "stand-in": {
        "zh": "模型未能写出答案。以下是检索到的内容，原样摘引；继续运行即可重写，无需重新检索。",
        "en": "The model could not write an answer. What the searches found is quoted below; "
        "resuming the run writes the answer, without another search.",
    },
    "unchecked": {
        "zh": "模型写这一节时没有引用任何来源，无法核对。",
        "en": "The model cited no source in this section, so its text cannot be checked.",
    },
    "section": {
        "zh": "模型未能写出这一节。以下是检索到的内容，原样摘引。",
        "en": "The model could not write this section. What the searches found is quoted below.",
    },
    "nothing": {
        "zh": "没有检索到可以引用的内容，因此没有作答。",
        "en": "Nothing was found that could be cited, so no answer was written.",
    },
    "failed": {
        "zh": "检索失败，因此没有作答；这不表示没有相关内容。",
        "en": "The searches failed, so no answer was written; that does not mean that nothing exists.",
    },
    "left out": {
        "zh": "没有进行搜索，因此没有作答；这不表示没有相关内容。",
        "en": "Nothing was searched, so no answer was written; that does not mean that nothing "
        "exists.",
    },
    "no sources": {
        "zh": "搜索模型给出了文字，但没有标明哪句话出自哪个来源，无法核对：",
        "en": "The search model gave a text without saying which source supports which sentence, "
        "so it cannot be checked:",
    },
    "named": {
        "zh": "搜索模型列出的来源，未说明支持哪句话：",
        "en": "Sources that the search model listed without saying what they support: ",
    },
    "too long": {
        "zh": "材料超出了 {author} 的上下文长度：",
        "en": "The material was too long for the context of {author}: ",
    },
    "missing": {
        "zh": "{all:,} 个来源中有 {n:,} 个没有用上，最不相关的先舍去（{names}）",
        "en": "{n:,} of {all:,} sources {were} left out, the least relevant first ({names})",
    },
    "others": {
        "zh": "另有 {n:,} 个只读了节选",
        "en": "only parts of {n:,} other{s} were read",
    },
    "partly": {
        "zh": "{all:,} 个来源中有 {n:,} 个只读了节选",
        "en": "only parts of {n:,} of {all:,} sources were read",
    },
    "more": {"zh": "{names}等", "en": "{names} and {n:,} more"},
    "gap": {"zh": "仍然缺少：", "en": "Still missing: "},
    "found": {"zh": "检索到的内容", "en": "What was found"},
}


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
        spans.insert(0, Span(kind="notice", text=NOTICES["uncited"][tongue]))
        spans += _quoted(tongue, findings)
    last = reflections[-1] if reflections else None
    if last and not last.sufficient and last.gap and not last.follow_ups:
        text = NOTICES["gap"][tongue] + "; ".join(last.gap)
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

    def say(key: str, n: int, **more: object) -> str:
        words = NOTICES[key][tongue]
        return words.format(
            n=n, all=listing.sources, s="s" * (n != 1), were="was" if n == 1 else "were", **more
        )

    said = []
    if left := len(listing.missing):
        titles = [" ".join(item.title.split()) or item.publisher for item in listing.missing]
        names = "; ".join(title[:NAMED] for title in titles[:SOME])
        if left > SOME:
            names = say("more", left - SOME, names=names)
        said.append(say("missing", left, names=names))
    if partly := len(listing.partly):
        said.append(say("others" if left else "partly", partly))
    if not said:
        return ()
    colon, stop = ("；", "。") if tongue == "zh" else ("; ", ".")
    text = NOTICES["too long"][tongue].format(author=author) + colon.join(said) + stop
    return (Span(kind="notice", text=text),)


def ending(reply: Reply, tongue: Language) -> Draft:
    """What there is to say about how a text ended; nothing if it is whole."""
    if reply.trouble:
        notice = Span(kind="notice", text=NOTICES["broken"][tongue])
        failure = reply.trouble.failure("write")
        return Draft(spans=(notice,), author="", failures=(failure,), unwritten=True)
    if reply.cut:
        notice = Span(kind="notice", text=NOTICES["cut"][tongue])
        return Draft(spans=(notice,), author="", failures=(_CUT,))
    return Draft(spans=(), author="")


def standing_in(tongue: Language, findings: Sequence[Finding], trouble: Trouble) -> Draft:
    """What was found, instead of an answer that could not be written."""
    notice = Span(kind="notice", text=NOTICES["stand-in"][tongue])
    return Draft(
        spans=(notice, *_quoted(tongue, findings), *_unattributed(tongue, findings)),
        author=NOBODY[tongue],
        failures=(trouble.failure("write"),),
        unwritten=True,
    )


def quoted(tongue: Language, findings: Sequence[Finding]) -> Draft:
    """What was found, where nobody is to write an answer."""
    spans = (*_quoted(tongue, findings), *_unattributed(tongue, findings))
    return Draft(spans=spans or without_sources(tongue, findings), author=NOBODY[tongue])


def _quoted(tongue: Language, findings: Sequence[Finding]) -> tuple[Span, ...]:
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
    back = dict.fromkeys(f.message for f in findings if f.reason == "unclear")
    spans = [Span(kind="missing", text=text) for text in back]
    if not back or not all(f.reason == "unclear" for f in findings):
        why = "left out" if undone else "failed" if failed else "nothing"
        spans.append(Span(kind="missing", text=NOTICES[why][tongue]))
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
    spans.insert(0, Span(kind="notice", text=NOTICES["no sources"][tongue]))
    if named := dict.fromkeys(item.title for f in loose for item in f.evidence):
        spans.append(Span(kind="notice", text=NOTICES["named"][tongue] + "; ".join(named)))
    return tuple(spans)
