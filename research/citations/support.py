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
from research.core.text.sentences import split_sentences
from research.core.text.tokenizer import find_quote, has_han, normalise_quote

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

STATUSES_FOR_MODEL: frozenset[SupportStatus] = frozenset(
    {"unclear", "unsupported", "differs"}
)  # statuses that a model may overrule

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
        """True if the sentence is marked in the text."""
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
        statuses: list[str] = [sentence.status for sentence in self.sentences]
        return StatusCounts(len(statuses), *(statuses.count(status) for status in StatusCounts._fields[1:]))

    @property
    def doubtful_sentences(self) -> tuple[CheckedSentence, ...]:
        """The sentences that are marked in the text."""
        return tuple(sentence for sentence in self.sentences if sentence.is_doubtful)

    def citing(self, number: int) -> tuple[CheckedSentence, ...]:
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
        """True if the spans are Markdown written by a model."""
        return self.spans[0].span.kind == "text"


class AnswerSentence(NamedTuple):
    """A sentence before it is judged, and the indices of the spans whose citations it has."""

    text: str
    span_indices: tuple[int, ...]
    is_quote: bool = False


def group_spans(cited: CitedAnswer) -> Iterator[SpanGroup]:
    """Group the spans of an answer: runs of Markdown with their trees, and single other spans."""
    for is_text, group in groupby(enumerate(cited.spans), lambda at: at[1].span.kind == "text"):
        members = list(group)
        if is_text:
            spans = tuple(item for _, item in members)
            yield SpanGroup(members[0][0], spans, tuple(build_answer_tree(spans)))
        else:
            yield from (SpanGroup(at, (item,), ()) for at, item in members)


def group_sentences(group: SpanGroup) -> list[AnswerSentence]:
    """Return the sentences of a group: those of a Markdown tree, or a quote as one sentence."""
    if group.nodes:
        first = group.first_index
        return [AnswerSentence(p.text, tuple(first + at for at in p.span_indices)) for p in find_sentences(group.nodes)]
    single = group.spans[0]
    if single.span.kind == "quote":
        return [AnswerSentence(single.span.text, (group.first_index,), is_quote=True)]
    return []


def mark_doubtful_sentences(cited: CitedAnswer, support: AnswerSupport) -> Iterator[SpanGroup]:
    """Yield the span groups with a node `mark` behind each doubtful sentence of Markdown.

    `sentence` of that node is the index of the sentence (`CheckedSentence.at`).
    """
    doubtful = {sentence.at for sentence in support.doubtful_sentences}
    at = 0
    for group in group_spans(cited):
        count = len(group_sentences(group))
        indices = [index for index in range(at, at + count) if index in doubtful]
        nodes = insert_marks(group.nodes, indices, at) if indices and group.nodes else group.nodes
        yield group._replace(nodes=tuple(nodes))
        at += count


def check_support(cited: CitedAnswer) -> AnswerSupport:
    """Judge each sentence of a numbered answer by its cited passages.

    Rulings of a model that are stored with the answer are applied.
    """
    passages = _PassageIndex(cited)
    review = cited.answer.review
    rulings = {item.key: item for item in review.verdicts} if review else {}
    sentences: list[CheckedSentence] = []
    at = 0
    for group in group_spans(cited):
        for candidate in group_sentences(group):
            sentence = _check_sentence(at, candidate, cited.spans, passages)
            if sentence:
                ruling = rulings.get(sentence_key(sentence, cited)) if rulings else None
                sentences.append(_apply_ruling(sentence, ruling) if ruling else sentence)
            at += 1
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


def _apply_ruling(sentence: CheckedSentence, ruling: ModelVerdict) -> CheckedSentence:
    """Apply the ruling of a model to a sentence.

    "Supported" counts only with a quote. If the model denies the support that the rules found, the
    sentence becomes unclear.
    """
    if sentence.status in ("quoted", "none"):
        return sentence
    status = _STATUS_BY_VERDICT[ruling.verdict]
    if status == "supported":
        status = status if ruling.quote else sentence.status
    elif sentence.status == "supported":
        status = "unclear"
    update: dict[str, object] = {"status": status, "ruled": True}
    update |= {"gaps": ()} if status == "supported" else {"reason": ruling.reason}
    if ruling.quote:
        location = ("evidence", "passage", "start", "end")
        update |= {name: getattr(ruling, name) for name in location}
    return sentence.model_copy(update=update)


def small_margin(sentence: CheckedSentence, cited: CitedAnswer) -> float | None:
    """Return how little a supported sentence exceeds the threshold of support.

    None if the sentence is not supported or the margin is larger than `SMALL_MARGIN`.
    """
    if sentence.status != "supported":
        return None
    texts = tuple(item.comparison_text for item in cited_passages(sentence, cited))
    margin = support_margin(sentence.text, _judge_cached(sentence.text, texts))
    return margin if margin <= SMALL_MARGIN else None


def cited_passages(sentence: CheckedSentence, cited: CitedAnswer) -> list[CitedPassage]:
    """Return the passages that a sentence cites."""
    return list(_resolve_passages([cited.spans[index] for index in sentence.spans], _PassageIndex(cited)))


def _check_sentence(
    index: int, sentence: AnswerSentence, spans: Sequence[NumberedSpan], passages: _PassageIndex
) -> CheckedSentence | None:
    """Return the sentence with its status.

    None if it claims nothing, or if the program itself wrote it, such as an entry of a map or a row
    of a database.
    """
    own_spans = [spans[index] for index in sentence.span_indices]
    if own_spans and all(item.span.generated for item in own_spans):
        return None
    numbers = tuple(dict.fromkeys(number for item in own_spans for number in item.numbers))
    unsourced = any(item.unsourced for item in own_spans)
    cited = list(_resolve_passages(own_spans, passages))
    base = {"at": index, "text": sentence.text, "numbers": numbers, "spans": sentence.span_indices}
    if sentence.is_quote:
        if not cited:
            return CheckedSentence(**base, status="none")
        places = ((item, find_quote(sentence.text, item.text)) for item in cited)
        nearest, span_range = next(((item, at) for item, at in places if at), (cited[0], (0, 0)))
        if nearest.evidence.kind in _ENTRY_KINDS:
            return None
        return CheckedSentence(**base, status="quoted", **nearest.locate(*span_range))
    if not cited:
        claims = unsourced or is_claim(sentence.text)
        return CheckedSentence(**base, status="none") if claims else None
    for item in cited:
        if location := _find_whole_sentence(sentence.text, item.text):
            return CheckedSentence(**base, status="quoted", **item.locate(*location))
    ruling = _judge_cached(sentence.text, tuple(item.comparison_text for item in cited))
    nearest = cited[min(ruling.passage, len(cited) - 1)]
    gaps = (*ruling.gaps, *_find_misquotes(sentence.text, cited))
    is_doubted = unsourced or len(gaps) > len(ruling.gaps)
    status: SupportStatus = "unclear" if is_doubted and ruling.status == "supported" else ruling.status
    judged_place = nearest.locate(ruling.start - nearest.context_length, ruling.end - nearest.context_length)
    return CheckedSentence(**base, status=status, gaps=gaps, **judged_place)


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


def _find_misquotes(text: str, passages: Sequence[CitedPassage]) -> Iterator[SupportGap]:
    """Yield text in quotation marks that occurs in no cited passage of the same language."""
    for match in _QUOTATION.finditer(text):
        quote = next(filter(None, match.groups())).strip(_SENTENCE_STOPS + " ")
        han = has_han(quote)
        texts = [item.text for item in passages if has_han(item.text) == han]
        is_long = len(quote) >= (_MIN_QUOTATION_CHARS_HAN if han else _MIN_QUOTATION_CHARS)
        if is_long and texts and not any(is_verbatim(quote, passage) for passage in texts):
            yield SupportGap(kind="words", text=quote)


class CitedPassage(NamedTuple):
    """The cited part of a passage, with its offset in the passage."""

    evidence: Evidence
    passage: Passage
    offset: int
    text: str

    @property
    def context_line(self) -> str:
        """Titles and heading of the passage, which may be the only place that names its subject."""
        heads = (self.evidence.title, self.passage.title, self.passage.heading)
        context = " · ".join(dict.fromkeys(head.strip() for head in heads if head.strip()))
        return f"{context}\n" if context else ""

    @property
    def context_length(self) -> int:
        return len(self.context_line)

    @property
    def comparison_text(self) -> str:
        """The text that a claim is compared with: context line and cited part."""
        return self.context_line + self.text

    def locate(self, start: int, end: int) -> dict[str, object]:
        """Convert a range in the cited part to ids and offsets in the passage; 0 to 0 if it ends
        before it."""
        inside = end > 0
        begin = self.offset + max(0, start) if inside else 0
        stop = self.offset + min(end, len(self.text)) if inside else 0
        return {
            "evidence": self.evidence.id,
            "passage": self.passage.id,
            "start": begin,
            "end": stop,
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


def _resolve_passages(spans: Iterable[NumberedSpan], passages: _PassageIndex) -> Iterator[CitedPassage]:
    """Yield the passages that spans cite, each once."""
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
            yield CitedPassage(evidence, passage, start, passage.text[start:end])
