"""Support of each sentence of an answer by the passages that it cites, and counts of each status.

A status is a hint with a measured accuracy, never a verdict. The comparison of a claim with a
passage is in `judge`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from research.citations.answer_tree import build_answer_tree
from research.citations.claims import is_claim
from research.citations.judge import SMALL_MARGIN, JudgeAccuracy, judge_claim, load_model, support_margin
from research.citations.markdown_parser import Node
from research.citations.numbering import CitedAnswer, NumberedSpan, is_verbatim
from research.citations.tree_sentences import find_sentences, insert_marks
from research.core.records import (
    Evidence,
    Language,
    ModelVerdict,
    Passage,
    PassageReference,
    Record,
    SupportGap,
    SupportStatus,
    Verdict,
    fingerprint,
)
from research.core.text.quotes import find_quote, normalise_quote
from research.core.text.sentences import split_sentences
from research.core.text.tokenizer import has_han

# Measured on data sets that were labelled by others.
SUPPORT_ACCURACY: dict[Language, JudgeAccuracy] = {
    "zh": load_model("zh").accuracy,
    "en": load_model("en").accuracy,
}

_ENTRY_KINDS = ("place", "database")
_SENTENCE_STOPS = "。.！!；;…"
_QUOTATION_MARKS = '“”「」"'
_MIN_QUOTE_CHARS = 6  # minimum length of a sentence with status "quoted"
_QUOTATION = re.compile(r"“([^“”]{1,400})”|「([^「」]{1,400})」|\"([^\"]{1,400})\"")
_MIN_QUOTATION_CHARS, _MIN_QUOTATION_CHARS_HAN = 24, 10  # characters of a quotation; shorter ones may be mere terms

# Statuses that a model may overrule.
STATUSES_FOR_MODEL: frozenset[SupportStatus] = frozenset({"unclear", "unsupported", "differs"})

_judge_cached = lru_cache(8192)(judge_claim)  # each export format of a report repeats the check


class CheckedSentence(Record):
    """A sentence of an answer with its support by the cited passages.

    `at` is its index among the sentences, `spans` are the indices of the answer's spans whose
    citations it has, and `numbers` are their numbers. `evidence` and `passage` identify the nearest
    passage, and `start` to `end` the relevant characters in it. If `ruled`, a model has judged the
    sentence; `reason` is the model's objection.
    """

    at: int
    text: str
    numbers: tuple[int, ...] = ()
    spans: tuple[int, ...] = ()
    status: SupportStatus
    gaps: tuple[SupportGap, ...] = ()
    evidence: str = ""
    passage: str = ""
    start: int = 0
    end: int = 0
    ruled: bool = False
    reason: str = ""

    @property
    def is_doubtful(self) -> bool:
        """True if the sentence gets a mark in the text, as it is neither quoted nor supported."""
        return self.status not in ("quoted", "supported")


class StatusCounts(NamedTuple):
    """Number of sentences in total and per status."""

    total: int
    quoted: int
    supported: int
    unclear: int
    unsupported: int
    differs: int
    none: int


class AnswerSupport(Record):
    """The sentences of an answer that claim something, in order."""

    sentences: tuple[CheckedSentence, ...] = ()

    @property
    def counts(self) -> StatusCounts:
        """Number of sentences per status."""
        statuses: list[str] = [sentence.status for sentence in self.sentences]
        return StatusCounts(len(statuses), *(statuses.count(status) for status in StatusCounts._fields[1:]))

    @property
    def doubtful_sentences(self) -> tuple[CheckedSentence, ...]:
        """The sentences that are marked in the text."""
        return tuple(sentence for sentence in self.sentences if sentence.is_doubtful)

    def sentences_citing(self, number: int) -> tuple[CheckedSentence, ...]:
        """Return the sentences that cite a source."""
        return tuple(s for s in self.sentences if number in s.numbers)


class SpanGroup(NamedTuple):
    """Answer spans that are drawn as one: a quote, or a run of Markdown with its tree.

    `first_index` is the index of the first span in the answer.
    """

    first_index: int
    spans: tuple[NumberedSpan, ...]
    nodes: tuple[Node, ...]

    @property
    def is_markdown(self) -> bool:
        """True if the spans are Markdown, and not a quote, a heading or a notice."""
        return self.spans[0].span.kind == "text"


class AnswerSentence(NamedTuple):
    """A sentence before it is judged, and the indices of the spans whose citations it has."""

    text: str
    span_indices: tuple[int, ...]
    is_quote: bool = False


def group_spans(cited: CitedAnswer) -> Iterator[SpanGroup]:
    """Group the spans of an answer: runs of Markdown with their trees, and single other spans."""
    for is_text, group in groupby(enumerate(cited.spans), lambda entry: entry[1].span.kind == "text"):
        members = list(group)
        if is_text:
            spans = tuple(item for _, item in members)
            yield SpanGroup(members[0][0], spans, tuple(build_answer_tree(spans)))
        else:
            yield from (SpanGroup(index, (item,), ()) for index, item in members)


def group_sentences(group: SpanGroup) -> list[AnswerSentence]:
    """Return the sentences of a group: those of a Markdown tree, or a quote as one sentence."""
    if group.nodes:
        first = group.first_index
        sentences = find_sentences(group.nodes)
        return [AnswerSentence(s.text, tuple(first + index for index in s.span_indices)) for s in sentences]
    single = group.spans[0]
    if single.span.kind == "quote":
        return [AnswerSentence(single.span.text, (group.first_index,), is_quote=True)]
    return []


def mark_doubtful_sentences(cited: CitedAnswer, support: AnswerSupport) -> Iterator[SpanGroup]:
    """Yield the span groups with a node `mark` behind each doubtful sentence of Markdown.

    `sentence` of that node is the index of the sentence (`CheckedSentence.at`).
    """
    doubtful = {sentence.at for sentence in support.doubtful_sentences}
    start = 0  # index of the group's first sentence
    for group in group_spans(cited):
        count = len(group_sentences(group))
        indices = [index for index in range(start, start + count) if index in doubtful]
        nodes = insert_marks(group.nodes, indices, start) if indices and group.nodes else group.nodes
        yield group._replace(nodes=tuple(nodes))
        start += count


def check_support(cited: CitedAnswer) -> AnswerSupport:
    """Judge each sentence of a numbered answer by its cited passages.

    Verdicts of a model that are stored with the answer are applied.
    """
    passages = _PassageIndex(cited)
    review = cited.answer.review
    verdicts = {item.key: item for item in review.verdicts} if review else {}
    sentences: list[CheckedSentence] = []
    candidates = (candidate for group in group_spans(cited) for candidate in group_sentences(group))
    for index, candidate in enumerate(candidates):
        if sentence := _check_sentence(index, candidate, cited.spans, passages):
            verdict = verdicts.get(sentence_key(sentence, cited)) if verdicts else None
            sentences.append(_apply_verdict(sentence, verdict) if verdict else sentence)
    return AnswerSupport(sentences=tuple(sentences))


def sentence_key(sentence: CheckedSentence, cited: CitedAnswer) -> str:
    """Return a key of a sentence and its cited passages, independent of its position."""
    cites = (cite for index in sentence.spans for cite in cited.spans[index].span.references)
    passages = dict.fromkeys(f"{cite.evidence} {cite.passage} {cite.start}" for cite in cites)
    return fingerprint(sentence.text, *passages)


_STATUS_BY_VERDICT: dict[Verdict, SupportStatus] = {
    "supported": "supported",
    "partly": "unclear",
    "contradicted": "differs",
    "absent": "unsupported",
}


def _apply_verdict(sentence: CheckedSentence, verdict: ModelVerdict) -> CheckedSentence:
    """Apply the verdict of a model to a sentence.

    "Supported" counts only with a quote. If the model denies the support that the rules found, the
    sentence becomes unclear.
    """
    if sentence.status in ("quoted", "none"):
        return sentence
    status = _STATUS_BY_VERDICT[verdict.verdict]
    if status == "supported":
        status = status if verdict.quote else sentence.status
    elif sentence.status == "supported":
        status = "unclear"
    update: dict[str, object] = {"status": status, "ruled": True}
    update |= {"gaps": ()} if status == "supported" else {"reason": verdict.reason}
    if verdict.quote:
        location = ("evidence", "passage", "start", "end")
        update |= {name: getattr(verdict, name) for name in location}
    return sentence.model_copy(update=update)


def narrow_margin(sentence: CheckedSentence, cited: CitedAnswer) -> float | None:
    """Return by how much a barely supported sentence exceeds the threshold of support.

    Return None if the sentence is not supported, or if the margin is larger than `SMALL_MARGIN`.
    """
    if sentence.status != "supported":
        return None
    texts = tuple(item.comparison_text for item in cited_excerpts(sentence, cited))
    margin = support_margin(sentence.text, _judge_cached(sentence.text, texts))
    return margin if margin <= SMALL_MARGIN else None


def cited_excerpts(sentence: CheckedSentence, cited: CitedAnswer) -> list[CitedExcerpt]:
    """Return what a sentence cites."""
    return list(_resolve_excerpts([cited.spans[index] for index in sentence.spans], _PassageIndex(cited)))


def _check_sentence(
    index: int, sentence: AnswerSentence, spans: Sequence[NumberedSpan], passages: _PassageIndex
) -> CheckedSentence | None:
    """Return the sentence with its status.

    Return None if it claims nothing, or if the program itself wrote it, such as an entry of a map or
    a row of a database.
    """
    own_spans = [spans[index] for index in sentence.span_indices]
    if own_spans and all(item.span.generated for item in own_spans):
        return None
    numbers = tuple(dict.fromkeys(number for item in own_spans for number in item.numbers))
    unsourced = any(item.unsourced for item in own_spans)
    cited = list(_resolve_excerpts(own_spans, passages))
    base = {"at": index, "text": sentence.text, "numbers": numbers, "spans": sentence.span_indices}
    if sentence.is_quote:
        if not cited:
            return CheckedSentence(**base, status="none")
        quotes = ((item, find_quote(sentence.text, item.text)) for item in cited)
        nearest, quote_range = next(((item, found) for item, found in quotes if found), (cited[0], (0, 0)))
        if nearest.evidence.kind in _ENTRY_KINDS:
            return None
        return CheckedSentence(**base, status="quoted", **nearest.locate(*quote_range))
    if not cited:
        claims = unsourced or is_claim(sentence.text)
        return CheckedSentence(**base, status="none") if claims else None
    for item in cited:
        if span_range := _find_whole_sentence(sentence.text, item.text):
            return CheckedSentence(**base, status="quoted", **item.locate(*span_range))
    assessment = _judge_cached(sentence.text, tuple(item.comparison_text for item in cited))
    nearest = cited[min(assessment.passage, len(cited) - 1)]
    gaps = (*assessment.gaps, *_find_misquotes(sentence.text, cited))
    is_doubted = unsourced or len(gaps) > len(assessment.gaps)
    status: SupportStatus = "unclear" if is_doubted and assessment.status == "supported" else assessment.status
    context_length = len(nearest.context_line)
    location = nearest.locate(assessment.start - context_length, assessment.end - context_length)
    return CheckedSentence(**base, status=status, gaps=gaps, **location)


def _find_whole_sentence(text: str, passage: str) -> tuple[int, int] | None:
    """Return the range of whole sentences of the passage that equal the text, or None.

    A part of a longer sentence does not count, because it may mean something else.
    """
    quote = normalise_quote(text).strip(_QUOTATION_MARKS).rstrip(_SENTENCE_STOPS)
    if len(quote) < _MIN_QUOTE_CHARS or not is_verbatim(quote, passage):
        return None
    spans = split_sentences(passage)
    for at, (start, _) in enumerate(spans):
        for _, end in spans[at:]:  # a sentence with line breaks may be split into several
            candidate = passage[start:end].rstrip(_SENTENCE_STOPS)
            if find_quote(quote, candidate) == (0, len(candidate)):
                return start, end
            if len(normalise_quote(candidate)) - candidate.count("-") > len(quote):
                break
    return None


def _find_misquotes(text: str, passages: Sequence[CitedExcerpt]) -> Iterator[SupportGap]:
    """Yield text in quotation marks that occurs in no cited passage of the same language."""
    for match in _QUOTATION.finditer(text):
        quote = next(filter(None, match.groups())).strip(_SENTENCE_STOPS + " ")
        han = has_han(quote)
        texts = [item.text for item in passages if has_han(item.text) == han]
        is_long = len(quote) >= (_MIN_QUOTATION_CHARS_HAN if han else _MIN_QUOTATION_CHARS)
        if is_long and texts and not any(is_verbatim(quote, passage) for passage in texts):
            yield SupportGap(kind="words", text=quote)


class CitedExcerpt(NamedTuple):
    """The cited part of a passage; `offset` is where its `text` begins in the passage."""

    evidence: Evidence
    passage: Passage
    offset: int
    text: str

    @property
    def context_line(self) -> str:
        """Titles and heading of the passage on one line, as the text may not name its subject."""
        heads = (self.evidence.title, self.passage.title, self.passage.heading)
        context = " · ".join(dict.fromkeys(head.strip() for head in heads if head.strip()))
        return f"{context}\n" if context else ""

    @property
    def comparison_text(self) -> str:
        """The text that a claim is compared with: context line and cited part."""
        return self.context_line + self.text

    def locate(self, start: int, end: int) -> dict[str, object]:
        """Return the ids of source and passage, and a range in the cited part as offsets in the passage.

        A range that ends before the cited part begins, as in the context line, becomes 0 to 0.
        """
        is_inside = end > 0
        return {
            "evidence": self.evidence.id,
            "passage": self.passage.id,
            "start": self.offset + max(0, start) if is_inside else 0,
            "end": self.offset + min(end, len(self.text)) if is_inside else 0,
        }


class _PassageIndex:
    """Passages of an answer's sources, by citation number and passage id.

    Passages are indexed once per source, because a source that is cited a thousand times can have
    as many passages.
    """

    def __init__(self, cited: CitedAnswer) -> None:
        self._sources = {source.number: source.evidence for source in cited.sources}
        self._passages: dict[int, dict[str, Passage]] = {}

    def find(self, numbers: Sequence[int], passage_id: str) -> tuple[Evidence, Passage] | None:
        """Return a passage of one of the numbered sources; the last one that has it wins."""
        for number in reversed(numbers):
            evidence = self._sources[number]
            if number not in self._passages:
                self._passages[number] = {passage.id: passage for passage in evidence.passages}
            if passage := self._passages[number].get(passage_id):
                return evidence, passage
        return None


def _resolve_excerpts(spans: Iterable[NumberedSpan], passages: _PassageIndex) -> Iterator[CitedExcerpt]:
    """Yield what spans cite, each excerpt once."""
    seen: set[PassageReference] = set()
    for item in spans:
        for cite in item.span.references:
            match = None if cite in seen else passages.find(item.numbers, cite.passage)
            if match is None:
                continue
            seen.add(cite)
            evidence, passage = match
            whole = not 0 <= cite.start < cite.end
            start, end = (0, len(passage.text)) if whole else (cite.start, cite.end)
            yield CitedExcerpt(evidence, passage, start, passage.text[start:end])
