"""The findings as shown in a prompt: passages and cited summaries, each with a handle.

A handle is a short name of a passage, valid for one call. It cannot be guessed and never occurs in
outside text, so a handle in an answer always means the passage that the program assigned to it.

If not everything fits, the most useful material is shown, and omissions are reported.
"""

from __future__ import annotations

import html
import re
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from research.agent.llm.truncation import TRUNCATION_MARK, RankedText, excerpt, select_texts, truncate
from research.citations.registry import cite_passage
from research.core.records import MEMORY_SOURCE, Evidence, Finding, Passage, PassageReference, Span, fingerprint
from research.core.text.folding import fold_text
from research.core.text.tokenizer import word_weights
from research.models.prompting import Prompt
from research.models.token_counts import estimate_tokens

MAX_SOURCE_NAME_CHARS = 160  # longer names are cut
HANDLE_TOKENS = 4  # with its brackets
_PLACEHOLDER_HANDLE = "0" * 8  # stands for a handle until handles are assigned


@dataclass(frozen=True)
class MaterialListing:
    """Material as shown in a prompt; `handles` maps each handle to its passage.

    `omitted_count` counts omitted blocks, `shortened_count` shortened ones. `omitted_sources` are
    not shown at all, `shortened_sources` only in part; `source_count` counts all sources.
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
        """List the material of findings within a token budget, each text once.

        A result of a search is limited to `max_chars` characters, unless that is 0. Findings of
        earlier turns follow the new ones and get the remaining budget.

        The text of a search model is shown as written, with a handle after each supported span.
        Otherwise the passages are listed, or with `use_summaries` an existing summary. Citations of
        `cited_spans` have handles even if they are not shown.
        """
        findings = sorted(findings, key=_is_earlier)
        groups = [_to_blocks(finding, use_summaries, max_chars) for finding in findings]
        titles = [f"### {neutralise_handles(finding.task.query)}\n" for finding in findings]
        query_words = [_query_words(finding.task.query) for finding in findings]
        blocks = list(_unique_blocks(groups))
        items = [
            RankedText(group, block.text, block.token_count + 1, _is_earlier(findings[group]))
            for group, _, block in blocks
        ]
        selected, max_tokens = select_texts(
            items, [estimate_tokens(title) + 2 for title in titles], query_words, token_budget
        )
        shown: list[tuple[int, int, MaterialBlock]] = []
        is_whole_by_key: dict[str, bool] = {}  # of the shown blocks
        for n in selected:
            group, position, block = blocks[n]
            key = block.key
            if is_too_long := items[n].token_count > max_tokens:
                block = block.shorten(max_tokens - 1, query_words[group])
                if block.token_count >= max_tokens:
                    continue  # the names of its sources already exceed the limit
            shown.append((group, position, block))
            is_whole_by_key[key] = not is_too_long
        ids = {item.id for finding in findings for item in finding.evidence}
        cited_passages = [cite for span in cited_spans for cite in span.references if cite.evidence in ids]
        other_texts = [*titles, *(span.text for span in cited_spans)]
        handles = _assign_handles([block for *_, block in shown], other_texts, cited_passages)
        texts: list[list[str]] = [[] for _ in groups]
        for group, _, block in sorted(shown, key=lambda item: item[:2]):
            texts[group].append(block.render(handles))
        omitted, shortened = _omitted_and_shortened(groups, findings, is_whole_by_key)
        return cls(
            "\n\n".join(title + "\n".join(lines) for title, lines in zip(titles, texts, strict=True) if lines),
            {handle: cite for cite, handle in handles.items()},
            len(blocks) - len(shown),
            sum(not is_whole for is_whole in is_whole_by_key.values()),
            omitted,
            shortened,
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
    """Build a prompt within a token budget, and return it with the material that it shows.

    The prompt may also show the `cited_spans` of an earlier text with their handles.
    """
    remaining = (
        token_budget
        - build_prompt(MaterialListing()).token_count
        - HANDLE_TOKENS * sum(len(span.references) for span in cited_spans)
    )
    listing = MaterialListing.from_findings(
        findings, remaining, use_summaries=use_summaries, max_chars=max_chars, cited_spans=cited_spans
    )
    return build_prompt(listing), listing


def has_citable_material(findings: Iterable[Finding]) -> bool:
    """Return whether there is anything to cite."""
    return any(block.cites for finding in findings for block in _to_blocks(finding, False, 0))


class MaterialBlock(ABC):
    """A block of material in a prompt."""

    @property
    @abstractmethod
    def key(self) -> str:
        """A fingerprint, equal for blocks with the same text, whatever their sources."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The content of the block."""

    @property
    @abstractmethod
    def cites(self) -> tuple[PassageReference, ...]:
        """The passages of the block."""

    @abstractmethod
    def render(self, handles: Mapping[PassageReference, str]) -> str:
        """Render the block with the handles of its passages."""

    @abstractmethod
    def shorten(self, token_budget: int, query_words: Mapping[str, float]) -> MaterialBlock:
        """Return the part with most of the query's words, within the budget if possible."""

    @property
    def token_count(self) -> int:
        """The estimated tokens of the rendered block."""
        return estimate_tokens(self.render(dict.fromkeys(self.cites, _PLACEHOLDER_HANDLE)))

    def merge(self, other: MaterialBlock) -> MaterialBlock:
        """Add the sources of a block with the same text, if the block can have several."""
        return self


def _unique_blocks(groups: Sequence[Sequence[MaterialBlock]]) -> Iterator[tuple[int, int, MaterialBlock]]:
    """Yield each block once, with its group and its index in the group.

    The first blocks of all groups come first, then the second ones. A passage that several findings
    contain becomes one block with all its sources.
    """
    unique: dict[str, tuple[int, int, MaterialBlock]] = {}
    for depth in range(max(map(len, groups), default=0)):
        for at, group in enumerate(groups):
            if depth < len(group):
                block = group[depth]
                entry = unique.setdefault(block.key, (at, depth, block))
                if entry[2] is not block:
                    unique[block.key] = (*entry[:2], entry[2].merge(block))
    yield from unique.values()


def _is_earlier(finding: Finding) -> bool:
    """Return whether a finding comes from earlier turns or an earlier report."""
    return finding.task.source == MEMORY_SOURCE


def _query_words(query: str) -> dict[str, float]:
    """Return the words of a query with their weights."""
    return {word: weight for word, weight in word_weights(query).items() if len(word) > 1}


def _omitted_and_shortened(
    groups: Sequence[Sequence[MaterialBlock]], findings: Sequence[Finding], is_whole_by_key: Mapping[str, bool]
) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """Return the sources that are not shown at all, and those that are shown only in part.

    `is_whole_by_key` has the keys of the shown blocks. A source whose text is shown is not omitted,
    even if it was found under another address.
    """
    states: dict[str, set[bool | None]] = {}
    for block in (block for group in groups for block in group):
        for cite in block.cites:
            states.setdefault(cite.evidence, set()).add(is_whole_by_key.get(block.key))
    sources = {item.id: item for finding in findings for item in finding.evidence}
    source_states = [(sources[key], state) for key, state in states.items() if key in sources]
    return (
        tuple(item for item, state in source_states if state == {None}),
        tuple(item for item, state in source_states if state not in ({None}, {True})),
    )


def _to_blocks(finding: Finding, use_summaries: bool, max_chars: int) -> Sequence[MaterialBlock]:
    """Return the cited text of a search model or a summary as one block, else the passages."""
    is_grounded = any(p.origin == "grounding" for e in finding.evidence for p in e.passages)
    if (is_grounded or use_summaries) and any(span.references for span in finding.summary):
        return [SummaryBlock(finding.summary, finding.evidence)]
    return passage_blocks(finding.evidence, max_chars)


def _assign_handles(
    blocks: Sequence[MaterialBlock], other_texts: Iterable[str], other_cites: Iterable[PassageReference]
) -> dict[PassageReference, str]:
    """Assign a short handle to each shown passage and to other cited ones.

    No handle occurs in the material, so text copied from there never cites anything.
    """
    taken = _find_lookalikes(
        " ".join([*other_texts, *(block.render(dict.fromkeys(block.cites, "")) for block in blocks)])
    )
    handles: dict[PassageReference, str] = {}
    for cite in (*(cite for block in blocks for cite in block.cites), *other_cites):
        if cite not in handles:
            handles[cite] = next(handle for handle in _candidate_handles(cite) if handle not in taken)
            taken.add(handles[cite])
    return handles


def _candidate_handles(cite: PassageReference) -> Iterator[str]:
    """Yield handles for a passage, the shortest first, without end."""
    for size in (4, 6):
        yield fingerprint(cite.evidence, cite.passage, digits=size)
    for n in count():
        yield fingerprint(cite.evidence, cite.passage, str(n), digits=8)


def _find_lookalikes(text: str) -> set[str]:
    """Return the strings in a text that could be read as a handle, even if disguised."""
    bare = unicodedata.normalize("NFKC", html.unescape(text)).lower()
    runs = re.findall("[0-9a-f]{4,}", re.sub(r"[^\x00-\x7f]|[*_~`\\]", "", bare))
    return {run[at : at + size] for run in runs for size in (4, 6, 8) for at in range(len(run) - size + 1)}


@dataclass(frozen=True)
class SummaryBlock(MaterialBlock):
    """A cited text of a search model, or a summary, with its sources."""

    spans: tuple[Span, ...]
    evidence: tuple[Evidence, ...]

    @property
    def key(self) -> str:
        return _text_key("written", self.text)

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def cites(self) -> tuple[PassageReference, ...]:
        return tuple(dict.fromkeys(cite for span in self.spans for cite in span.references))

    def shorten(self, token_budget: int, query_words: Mapping[str, float]) -> SummaryBlock:
        """Return the beginning, where such a text says the most."""
        for length in range(len(self.spans) - 1, 0, -1):
            shortened = replace(self, spans=(*self.spans[:length], Span(kind="text", text=f" {TRUNCATION_MARK}")))
            if shortened.token_count <= token_budget:
                return shortened
        return self

    def render(self, handles: Mapping[PassageReference, str]) -> str:
        sources = {item.id: item for item in self.evidence}
        lines = [
            f"[@{handles[cite]}] {neutralise_handles(_source_name(sources[cite.evidence]))}"
            for cite in self.cites
            if cite.evidence in sources
        ]
        text = "".join(
            neutralise_handles(span.text) + "".join(f"[@{handles[cite]}]" for cite in span.references)
            for span in self.spans
        )
        return "(as the search engine sums it up)\n" + text.strip() + "\n" + "\n".join(lines) + "\n"


@dataclass(frozen=True)
class PassageBlock(MaterialBlock):
    """One text and the sources that contain it."""

    passage_text: str
    sources: tuple[tuple[Evidence, Passage], ...]

    @property
    def text(self) -> str:
        return self.passage_text

    @property
    def key(self) -> str:
        return _text_key(self.sources[0][1].heading, self.text)

    @property
    def cites(self) -> tuple[PassageReference, ...]:
        return tuple(cite_passage(item.id, passage) for item, passage in self.sources)

    def merge(self, other: MaterialBlock) -> PassageBlock:
        sources = (*self.sources, *(other.sources if isinstance(other, PassageBlock) else ()))
        return replace(self, sources=tuple({(e.id, p.id): (e, p) for e, p in sources}.values()))

    def shorten(self, token_budget: int, query_words: Mapping[str, float]) -> PassageBlock:
        shortened = replace(self, passage_text="")
        while shortened.token_count > token_budget // 2 and len(shortened.sources) > 1:
            shortened = replace(shortened, sources=shortened.sources[: len(shortened.sources) // 2])
        text = excerpt(neutralise_handles(self.text), token_budget - shortened.token_count, query_words)
        return replace(shortened, passage_text=text)

    def render(self, handles: Mapping[PassageReference, str]) -> str:
        marks = "".join(f"[@{handles[cite]}]" for cite in self.cites)
        sources = "; ".join(dict.fromkeys(_source_name(evidence) for evidence, _ in self.sources))
        passage = self.sources[0][1]
        heading = f" · {passage.heading}" if passage.heading else ""
        return f"{marks} {neutralise_handles(sources)}{neutralise_handles(heading)}\n{neutralise_handles(self.text)}\n"


def passage_blocks(evidence: Iterable[Evidence], max_chars: int = 0) -> Sequence[PassageBlock]:
    """Return the passages in order; passages with the same text form one block.

    If `max_chars` is not 0, it limits the characters of the passages of one piece of evidence: the
    last one is cut and later ones are dropped.
    """
    sources_by_text: dict[tuple[str, str], list[tuple[Evidence, Passage]]] = {}
    for item in evidence:
        remaining = max_chars
        for passage in item.passages:
            if max_chars and remaining <= 0:
                break
            text = truncate(passage.text, remaining) if max_chars else passage.text
            remaining -= len(passage.text)
            sources_by_text.setdefault((passage.heading, text), []).append((item, passage))
    return [PassageBlock(text, tuple(sources)) for (_, text), sources in sources_by_text.items()]


_HIDDEN_CHARS = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_QUOTE_MARKS = re.compile("[“”„‟«»＂]")


def _text_key(*texts: str) -> str:
    """Return a fingerprint that ignores white space, widths, quotation marks, accents and case.

    Hidden characters are ignored, too. Copies of a page differ in such details.
    """
    composed = (_HIDDEN_CHARS.sub("", unicodedata.normalize("NFC", text)) for text in texts)
    return fingerprint(*(" ".join(_QUOTE_MARKS.sub('"', fold_text(text)).split()) for text in composed))


_NOTICE_LABELS = {
    "": "",
    "corrected": "corrected since it was published",
    "concern": "EXPRESSION OF CONCERN",
    "retracted": "RETRACTED",
}


def _source_name(evidence: Evidence) -> str:
    """Describe a source on one line: a notice on a correction, title, publisher and date."""
    paper = evidence.paper
    year = str(paper.year or "") if paper else ""
    dated = evidence.published.isoformat() if evidence.published else year or "undated"
    name = (evidence.title or evidence.publisher)[:MAX_SOURCE_NAME_CHARS]
    publisher = evidence.publisher if evidence.publisher != name else ""
    return " · ".join(filter(None, [_NOTICE_LABELS[evidence.notice], name, publisher, dated]))


def neutralise_handles(text: str) -> str:
    """Change outside text so that nothing in it looks like a handle."""
    return re.sub(r"([\[［【(（])\s*[@＠]\s*", r"\1(at) ", text)
