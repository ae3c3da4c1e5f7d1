"""What was found as a prompt shows it: passages and cited summaries, each with a handle.

A handle is a short name for one passage that exists for one call only. Nobody can guess it, and
outside text never has one in it: so a handle in an answer means what the program gave it for.

Where there is no room for all of it, the most useful is shown, and what is left out is told.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from research.agent.llm.truncation import TRUNCATION_MARK, RankedText, excerpt, select_texts, truncate
from research.core.records import MEMORY_SOURCE, Evidence, Finding, Passage, PassageReference, Span, fingerprint
from research.core.text.folding import fold_text as plain_text
from research.core.text.tokenizer import word_weights
from research.models.chat import Prompt
from research.models.token_counts import estimate_tokens

MAX_SOURCE_NAME_CHARS = 160  # characters of what a source is called
HANDLE_TOKENS = 4  # tokens of a handle in its brackets


@dataclass(frozen=True)
class MaterialListing:
    """Material as a prompt shows it: `handles` says which passage each handle means.

    `left_out` counts the pieces that have no room, `shortened` those of which a part is shown.
    `missing` are the sources of which nothing is, `partly` those of which not all is, and `sources`
    is how many there are.
    """

    text: str = ""
    handles: dict[str, PassageReference] = field(default_factory=dict)
    omitted_count: int = 0
    shortened_count: int = 0
    omitted_sources: tuple[Evidence, ...] = ()
    shortened_sources: tuple[Evidence, ...] = ()
    source_count: int = 0

    @classmethod
    def from_findings(
        cls,
        findings: Sequence[Finding],
        token_budget: int,
        *,
        use_summaries: bool = False,
        max_chars: int = 0,
        cited_spans: Sequence[Span] = (),
    ) -> MaterialListing:
        """The material of findings within `room` tokens, each text once, and of what a result
        of a search says no more than `most` characters, if that is not 0. What earlier turns have
        found stands behind what is new, and gets the room that this leaves.

        What a search model wrote stands as it wrote it, a handle behind each supported stretch. Of
        anything else the passages are listed; with `brief` a summary, where there is one, stands
        for them. What a text that is `written` already cites has handles whether it is shown or not.
        """
        findings = sorted(findings, key=_is_old)
        groups = [_to_blocks(finding, use_summaries, max_chars) for finding in findings]
        titles = [f"### {neutralise_handles(finding.task.query)}\n" for finding in findings]
        wanted = [_query_words(finding.task.query) for finding in findings]
        blocks = list(_unique_blocks(groups))
        old = {at for at, finding in enumerate(findings) if _is_old(finding)}
        items = [RankedText(at, block.text, block.token_count + 1, at in old) for at, _, block in blocks]
        kept, level = select_texts(items, [estimate_tokens(title) + 2 for title in titles], wanted, token_budget)
        shown: list[tuple[int, int, MaterialBlock]] = []
        told: dict[str, bool] = {}  # the keys of what is shown, and whether all of it is
        for n in kept:
            at, place, block = blocks[n]
            if short := items[n].token_count > level:
                block = block.shorten(level - 1, wanted[at])
                if block.token_count >= level:
                    continue  # its sources alone are too long to be named
            shown.append((at, place, block))
            told[blocks[n][2].key] = not short
        ids = {item.id for finding in findings for item in finding.evidence}
        also = [cite for span in cited_spans for cite in span.cites if cite.evidence in ids]
        beside = [*titles, *(span.text for span in cited_spans)]
        names = _assign_handles([block for *_, block in shown], beside, also)
        texts: list[list[str]] = [[] for _ in groups]
        for at, _, block in sorted(shown, key=lambda one: one[:2]):
            texts[at].append(block.render(names))
        missing, partly = _omitted_and_shortened(groups, findings, told)
        return cls(
            "\n\n".join(title + "\n".join(some) for title, some in zip(titles, texts, strict=True) if some),
            {name: cite for cite, name in names.items()},
            len(blocks) - len(shown),
            sum(not whole for whole in told.values()),
            missing,
            partly,
            len({cite.evidence for group in groups for block in group for cite in block.cites}),
        )


def fit_material(
    findings: Sequence[Finding],
    token_budget: int,
    build_prompt: Callable[[MaterialListing], Prompt],
    *,
    use_summaries: bool = False,
    max_chars: int = 0,
    cited_spans: Sequence[Span] = (),
) -> tuple[Prompt, MaterialListing]:
    """A prompt of at most `room` tokens, and the material that it has room for. It may also show a text
    that is `written`, with its handles."""
    left = (
        token_budget
        - build_prompt(MaterialListing()).token_count
        - HANDLE_TOKENS * sum(len(span.cites) for span in cited_spans)
    )
    listing = MaterialListing.from_findings(
        findings, left, use_summaries=use_summaries, max_chars=max_chars, cited_spans=cited_spans
    )
    return build_prompt(listing), listing


def has_citable_material(findings: Iterable[Finding]) -> bool:
    """Whether there is anything to cite."""
    return any(block.cites for finding in findings for block in _to_blocks(finding, False, 0))


class MaterialBlock(Protocol):
    """A stretch of material."""

    @property
    def key(self) -> str:
        """Equal for blocks with the same text, whatever its sources."""

    @property
    def text(self) -> str:
        """What it says."""

    @property
    def token_count(self) -> int:
        """The tokens that it takes."""

    @property
    def cites(self) -> tuple[PassageReference, ...]:
        """The passages that it is about."""

    def merge(self, other: MaterialBlock) -> MaterialBlock:
        """The block with the sources of another that has the same text, where it can have several."""

    def render(self, handles: Mapping[PassageReference, str]) -> str:
        """The block, with the handles of its passages."""

    def shorten(self, token_budget: int, query_words: Mapping[str, float]) -> MaterialBlock:
        """The part of it that has most of the wanted words, in `room` tokens if that can be."""


def _unique_blocks(groups: Sequence[Sequence[MaterialBlock]]) -> Iterator[tuple[int, int, MaterialBlock]]:
    """Each text once, with its group and its place: the first of every group, then the second. A
    passage that several findings have is shown with the sources of all of them."""
    found: dict[str, tuple[int, int, MaterialBlock]] = {}
    for depth in range(max(map(len, groups), default=0)):
        for at, group in enumerate(groups):
            if depth < len(group):
                block = group[depth]
                known = found.setdefault(block.key, (at, depth, block))
                if known[2] is not block:
                    found[block.key] = (*known[:2], known[2].merge(block))
    yield from found.values()


def _is_old(finding: Finding) -> bool:
    """Return whether a finding comes from earlier turns or an earlier report."""
    return finding.task.source == MEMORY_SOURCE


def _query_words(query: str) -> dict[str, float]:
    """The words of a query and how much each tells."""
    return {word: tells for word, tells in word_weights(query).items() if len(word) > 1}


def _omitted_and_shortened(
    groups: Sequence[Sequence[MaterialBlock]], findings: Sequence[Finding], shown: Mapping[str, bool]
) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """The sources of which nothing is shown, and those of which not all is. `shown` says of the keys
    of what is shown whether it is the whole. A source whose text is shown is not missing, under
    whichever address it was found."""
    fates: dict[str, set[bool | None]] = {}
    for block in (block for group in groups for block in group):
        for cite in block.cites:
            fates.setdefault(cite.evidence, set()).add(shown.get(block.key))
    sources = {item.id: item for finding in findings for item in finding.evidence}
    known = [(sources[key], fate) for key, fate in fates.items() if key in sources]
    return (
        tuple(item for item, fate in known if fate == {None}),
        tuple(item for item, fate in known if fate not in ({None}, {True})),
    )


def _to_blocks(finding: Finding, use_summaries: bool, max_chars: int) -> Sequence[MaterialBlock]:
    grounded = any(p.origin == "grounding" for e in finding.evidence for p in e.passages)
    if (grounded or use_summaries) and any(span.cites for span in finding.summary):
        return [SummaryBlock(finding.summary, finding.evidence)]
    return passage_blocks(finding.evidence, max_chars)


def _assign_handles(
    blocks: Sequence[MaterialBlock], other_texts: Iterable[str], other_cites: Iterable[PassageReference]
) -> dict[PassageReference, str]:
    """A short handle for each passage that is shown, and for some others. None of them occurs in the material itself: whatever is
    copied from there, into whatever brackets, cites nothing.
    """
    taken = _find_lookalikes(" ".join([*other_texts, *(block.render(_PlaceholderHandles()) for block in blocks)]))
    names: dict[PassageReference, str] = {}
    for cite in (*(cite for block in blocks for cite in block.cites), *other_cites):
        if cite not in names:
            names[cite] = next(name for name in _candidate_handles(cite) if name not in taken)
            taken.add(names[cite])
    return names


class _PlaceholderHandles(dict[PassageReference, str]):
    """No passage has a name yet; one may be as long as `name`."""

    def __init__(self, handle: str = "") -> None:
        self.handle = handle

    def __missing__(self, cite: PassageReference) -> str:
        return self.handle


_PLACEHOLDER_HANDLES = _PlaceholderHandles("0" * 8)


def _candidate_handles(cite: PassageReference) -> Iterator[str]:
    for size in (4, 6):
        yield fingerprint(cite.evidence, cite.passage, digits=size)
    for n in count():
        yield fingerprint(cite.evidence, cite.passage, str(n), digits=8)


def _find_lookalikes(text: str) -> set[str]:
    """Whatever in a text could be read as a handle, in any width, dress or disguise."""
    bare = unicodedata.normalize("NFKC", html.unescape(text)).lower()
    runs = re.findall("[0-9a-f]{4,}", re.sub(r"[^\x00-\x7f]|[*_~`\\]", "", bare))
    return {run[at : at + size] for run in runs for size in (4, 6, 8) for at in range(len(run) - size + 1)}


@dataclass(frozen=True)
class SummaryBlock:
    """A cited text of a search model, or a summary, and its sources."""

    spans: tuple[Span, ...]
    evidence: tuple[Evidence, ...]

    @property
    def key(self) -> str:
        return _text_key("written", self.text)

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def token_count(self) -> int:
        return estimate_tokens(self.render(_PLACEHOLDER_HANDLES))

    @property
    def cites(self) -> tuple[PassageReference, ...]:
        return tuple(dict.fromkeys(cite for span in self.spans for cite in span.cites))

    def merge(self, other: MaterialBlock) -> SummaryBlock:
        """Itself: each of its sentences names its own sources, which are as good as those of a copy."""
        return self

    def shorten(self, token_budget: int, query_words: Mapping[str, float]) -> SummaryBlock:
        """Its beginning, which is where such a text says the most."""
        for kept in range(len(self.spans) - 1, 0, -1):
            short = replace(self, spans=(*self.spans[:kept], Span(kind="text", text=f" {TRUNCATION_MARK}")))
            if short.token_count <= token_budget:
                return short
        return self

    def render(self, handles: Mapping[PassageReference, str]) -> str:
        sources = {item.id: item for item in self.evidence}
        lines = [
            f"[@{handles[cite]}] {neutralise_handles(_source_name(sources[cite.evidence]))}"
            for cite in self.cites
            if cite.evidence in sources
        ]
        text = "".join(
            neutralise_handles(span.text) + "".join(f"[@{handles[cite]}]" for cite in span.cites) for span in self.spans
        )
        return "(as the search engine sums it up)\n" + text.strip() + "\n" + "\n".join(lines) + "\n"


@dataclass(frozen=True)
class PassageBlock:
    """One text and the sources that it is attributed to."""

    text: str
    sources: tuple[tuple[Evidence, Passage], ...]

    @property
    def key(self) -> str:
        return _text_key(self.sources[0][1].heading, self.text)

    @property
    def cites(self) -> tuple[PassageReference, ...]:
        return tuple(
            PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
            for item, passage in self.sources
        )

    @property
    def token_count(self) -> int:
        return estimate_tokens(self.render(_PLACEHOLDER_HANDLES))

    def merge(self, other: MaterialBlock) -> PassageBlock:
        sources = (*self.sources, *(other.sources if isinstance(other, PassageBlock) else ()))
        return replace(self, sources=tuple({(e.id, p.id): (e, p) for e, p in sources}.values()))

    def shorten(self, token_budget: int, query_words: Mapping[str, float]) -> PassageBlock:
        short = replace(self, text="")
        while short.token_count > token_budget // 2 and len(short.sources) > 1:  # the names of copies are many
            short = replace(short, sources=short.sources[: len(short.sources) // 2])
        return replace(
            short, text=excerpt(neutralise_handles(self.text), token_budget - short.token_count, query_words)
        )

    def render(self, handles: Mapping[PassageReference, str]) -> str:
        marks = "".join(f"[@{handles[cite]}]" for cite in self.cites)
        sources = "; ".join(dict.fromkeys(_source_name(evidence) for evidence, _ in self.sources))
        passage = self.sources[0][1]
        heading = f" · {passage.heading}" if passage.heading else ""
        return f"{marks} {neutralise_handles(sources)}{neutralise_handles(heading)}\n{neutralise_handles(self.text)}\n"


def passage_blocks(evidence: Iterable[Evidence], max_chars: int = 0) -> Sequence[PassageBlock]:
    """The passages in order; those with the same text are one piece. With `most`, the passages of one
    piece of evidence have no more characters together: the last is cut, those after it are left out.
    """
    found: dict[tuple[str, str], list[tuple[Evidence, Passage]]] = {}
    for item in evidence:
        left = max_chars
        for passage in item.passages:
            if max_chars and left <= 0:
                break
            text = truncate(passage.text, left) if max_chars else passage.text
            left -= len(passage.text)
            found.setdefault((passage.heading, text), []).append((item, passage))
    return [PassageBlock(text, tuple(sources)) for (_, text), sources in found.items()]


_HIDDEN_CHARS = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_QUOTE_MARKS = re.compile("[“”„‟«»＂]")


def _text_key(*texts: str) -> str:
    """Equal for texts that differ in white space, widths, quotation marks, accents, case or hidden
    characters alone, as copies of one page do."""
    composed = (_HIDDEN_CHARS.sub("", unicodedata.normalize("NFC", text)) for text in texts)
    return fingerprint(*(" ".join(_QUOTE_MARKS.sub('"', plain_text(text)).split()) for text in composed))


_NOTICE_LABELS = {
    "": "",
    "corrected": "corrected since it was published",
    "concern": "EXPRESSION OF CONCERN",
    "retracted": "RETRACTED",
}


def _source_name(evidence: Evidence) -> str:
    paper = evidence.paper
    year = str(paper.year or "") if paper else ""
    dated = evidence.published.isoformat() if evidence.published else year or "undated"
    name = (evidence.title or evidence.publisher)[:MAX_SOURCE_NAME_CHARS]
    publisher = evidence.publisher if evidence.publisher != name else ""
    return " · ".join(filter(None, [_NOTICE_LABELS[evidence.notice], name, publisher, dated]))


def neutralise_handles(text: str) -> str:
    """Outside text in which nothing looks like a handle."""
    return re.sub(r"([\[［【(（])\s*[@＠]\s*", r"\1(at) ", text)
