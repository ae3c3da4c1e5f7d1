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

from research.citations.claims import is_claim
from research.citations.judge import SMALL_MARGIN, JudgeAccuracy, judge_claim, load_model, support_margin
from research.citations.model_markdown import Node, build_answer_tree
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

# On labels that others made.
SUPPORT_ACCURACY: dict[Language, JudgeAccuracy] = {
    "zh": load_model("zh").accuracy,
    "en": load_model("en").accuracy,
}

_ENTRY_KINDS = ("place", "database")
_SENTENCE_STOPS = "。.！!；;…"
_QUOTATION_MARKS = '“”「」"'
_MIN_QUOTE_CHARS = 6  # characters of a sentence that is called a quote
_QUOTATION = re.compile(r"“([^“”]{1,400})”|「([^「」]{1,400})」|\"([^\"]{1,400})\"")
_MIN_QUOTATION_CHARS, _MIN_QUOTATION_CHARS_HAN = 24, 10  # characters of a quotation; shorter ones may be mere terms

STATUSES_FOR_MODEL: frozenset[SupportStatus] = frozenset(
    {"unclear", "unsupported", "differs"}
)  # what a model may rule on

_judge_cached = lru_cache(8192)(judge_claim)  # every format of one report asks again


class CheckedSentence(Record):
    """A sentence of an answer and what stands behind it.

    `at` is its place among the sentences, `spans` the places of the answer's spans whose citations it
    has, `numbers` those citations. `evidence` and `passage` name the passage that comes nearest, and
    `start` to `end` the stretch of it. `ruled` says that a model has judged it, and `reason` what it holds
    against it.
    """

    at: int
    text: str
    numbers: tuple[int, ...] = ()
    spans: tuple[int, ...] = ()
    status: SupportStatus
    lacks: tuple[SupportGap, ...] = ()
    evidence: str = ""
    passage: str = ""
    start: int = 0
    end: int = 0
    ruled: bool = False
    reason: str = ""

    @property
    def is_doubtful(self) -> bool:
        """Whether it is marked in the text."""
        return self.status not in ("quoted", "supported")


class StatusCounts(NamedTuple):
    """How many sentences have which status, and how many there are."""

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
        found: list[str] = [sentence.status for sentence in self.sentences]
        return StatusCounts(len(found), *(found.count(way) for way in StatusCounts._fields[1:]))

    @property
    def doubtful_sentences(self) -> tuple[CheckedSentence, ...]:
        """The sentences that are marked in the text."""
        return tuple(sentence for sentence in self.sentences if sentence.is_doubtful)

    def citing(self, number: int) -> tuple[CheckedSentence, ...]:
        """Every sentence that uses a source."""
        return tuple(s for s in self.sentences if number in s.numbers)


class SpanGroup(NamedTuple):
    """Answer spans that are drawn as one: a quote, or a run of Markdown with its tree. `first` is the
    place of the first of them."""

    first_index: int
    spans: tuple[NumberedSpan, ...]
    nodes: tuple[Node, ...]

    @property
    def is_markdown(self) -> bool:
        """Whether it is Markdown that a model wrote."""
        return self.spans[0].span.kind == "text"


class AnswerSentence(NamedTuple):
    """A sentence before it is judged: its text and the spans whose citations it has."""

    text: str
    span_indices: tuple[int, ...]
    is_quote: bool = False


def group_spans(cited: CitedAnswer) -> Iterator[SpanGroup]:
    """The answer as it is drawn: runs of Markdown with their trees, and single other spans."""
    for written, group in groupby(enumerate(cited.spans), lambda at: at[1].span.kind == "text"):
        found = list(group)
        if written:
            spans = tuple(item for _, item in found)
            yield SpanGroup(found[0][0], spans, tuple(build_answer_tree(spans)))
        else:
            yield from (SpanGroup(at, (item,), ()) for at, item in found)


def group_sentences(group: SpanGroup) -> list[AnswerSentence]:
    """The sentences of a stretch: of Markdown each that the tree has, of a quote itself."""
    if group.nodes:
        first = group.first_index
        return [AnswerSentence(p.text, tuple(first + at for at in p.span_indices)) for p in find_sentences(group.nodes)]
    only = group.spans[0]
    if only.span.kind == "quote":
        return [AnswerSentence(only.span.text, (group.first_index,), is_quote=True)]
    return []


def mark_doubtful_sentences(cited: CitedAnswer, support: AnswerSupport) -> Iterator[SpanGroup]:
    """The answer as it is drawn, with a node `mark` behind each doubtful sentence of its Markdown,
    whose `sentence` is the place of that sentence (`Sentence.at`)."""
    chosen = {sentence.at for sentence in support.doubtful_sentences}
    at = 0
    for stretch in group_spans(cited):
        count = len(group_sentences(stretch))
        own = [place for place in range(at, at + count) if place in chosen]
        nodes = insert_marks(stretch.nodes, own, at) if own and stretch.nodes else stretch.nodes
        yield stretch._replace(nodes=tuple(nodes))
        at += count


def check_support(cited: CitedAnswer) -> AnswerSupport:
    """Judges each sentence of a numbered answer by the passages that it cites."""
    known = _PassageIndex(cited)
    review = cited.answer.review
    ruled = {item.key: item for item in review.rulings} if review else {}
    found: list[CheckedSentence] = []
    at = 0
    for stretch in group_spans(cited):
        for one in group_sentences(stretch):
            sentence = _check_sentence(at, one, cited.spans, known)
            if sentence:
                ruling = ruled.get(sentence_key(sentence, cited)) if ruled else None
                found.append(_apply_ruling(sentence, ruling) if ruling else sentence)
            at += 1
    return AnswerSupport(sentences=tuple(found))


def sentence_key(sentence: CheckedSentence, cited: CitedAnswer) -> str:
    """Names a sentence with the passages that it cites, wherever it stands."""
    cites = (cite for place in sentence.spans for cite in cited.spans[place].span.cites)
    known = dict.fromkeys(f"{cite.evidence} {cite.passage} {cite.start}" for cite in cites)
    return fingerprint(sentence.text, *known)


_STATUS_BY_VERDICT: dict[Verdict, SupportStatus] = {
    "supported": "supported",
    "partly": "unclear",
    "contradicted": "differs",
    "absent": "unsupported",
}


def _apply_ruling(sentence: CheckedSentence, ruling: ModelVerdict) -> CheckedSentence:
    """A sentence as a model has ruled. Its support counts with a quote alone; a support of the rules that
    it denies is in doubt, and no more."""
    if sentence.status in ("quoted", "none"):
        return sentence
    status = _STATUS_BY_VERDICT[ruling.verdict]
    if status == "supported":
        status = status if ruling.quote else sentence.status
    elif sentence.status == "supported":
        status = "unclear"
    update: dict[str, object] = {"status": status, "ruled": True}
    update |= {"lacks": ()} if status == "supported" else {"reason": ruling.reason}
    if ruling.quote:
        place = ("evidence", "passage", "start", "end")
        update |= {name: getattr(ruling, name) for name in place}
    return sentence.model_copy(update=update)


def small_margin(sentence: CheckedSentence, cited: CitedAnswer) -> float | None:
    """How little the probability of a supported sentence lies above the threshold; None if that is no
    small margin, or if it is not supported."""
    if sentence.status != "supported":
        return None
    told = tuple(item.comparison_text for item in cited_passages(sentence, cited))
    above = support_margin(sentence.text, _judge_cached(sentence.text, told))
    return above if above <= SMALL_MARGIN else None


def cited_passages(sentence: CheckedSentence, cited: CitedAnswer) -> list[CitedPassage]:
    """The passages behind a sentence."""
    return list(_resolve_passages([cited.spans[place] for place in sentence.spans], _PassageIndex(cited)))


def _check_sentence(
    index: int, sentence: AnswerSentence, spans: Sequence[NumberedSpan], passages: _PassageIndex
) -> CheckedSentence | None:
    """The sentence with its status; none if it claims nothing, or is what this program has put into
    words, such as an entry of a map or a row of a database."""
    own = [spans[place] for place in sentence.span_indices]
    if own and all(item.span.made for item in own):
        return None
    numbers = tuple(dict.fromkeys(number for item in own for number in item.numbers))
    unsourced = any(item.unsourced for item in own)
    behind = list(_resolve_passages(own, passages))
    base = {"at": index, "text": sentence.text, "numbers": numbers, "spans": sentence.span_indices}
    if sentence.is_quote:
        if not behind:
            return CheckedSentence(**base, status="none")
        places = ((item, find_quote(sentence.text, item.text)) for item in behind)
        nearest, where = next(((item, at) for item, at in places if at), (behind[0], (0, 0)))
        if nearest.evidence.kind in _ENTRY_KINDS:
            return None
        return CheckedSentence(**base, status="quoted", **nearest.locate(*where))
    if not behind:
        claims = unsourced or is_claim(sentence.text)
        return CheckedSentence(**base, status="none") if claims else None
    for item in behind:
        if found := _find_whole_sentence(sentence.text, item.text):
            return CheckedSentence(**base, status="quoted", **item.locate(*found))
    ruling = _judge_cached(sentence.text, tuple(item.comparison_text for item in behind))
    nearest = behind[min(ruling.passage, len(behind) - 1)]
    lacks = (*ruling.lacks, *_find_misquotes(sentence.text, behind))
    doubted = unsourced or len(lacks) > len(ruling.lacks)
    status: SupportStatus = "unclear" if doubted and ruling.status == "supported" else ruling.status
    place = nearest.locate(ruling.start - nearest.context_length, ruling.end - nearest.context_length)
    return CheckedSentence(**base, status=status, lacks=lacks, **place)


def _find_whole_sentence(text: str, passage: str) -> tuple[int, int] | None:
    """Where the passage says this and no more; a part of a longer sentence may mean something else."""
    wanted = normalise_quote(text).strip(_QUOTATION_MARKS).rstrip(_SENTENCE_STOPS)
    if len(wanted) < _MIN_QUOTE_CHARS or not is_verbatim(wanted, passage):
        return None
    spans = split_sentences(passage)
    for at, (start, _) in enumerate(spans):
        for _, end in spans[at:]:  # where lines are broken, a sentence may be several
            said = passage[start:end].rstrip(_SENTENCE_STOPS)
            if find_quote(wanted, said) == (0, len(said)):
                return start, end
            if len(normalise_quote(said)) - said.count("-") > len(wanted):
                break
    return None


def _find_misquotes(text: str, passages: Sequence[CitedPassage]) -> Iterator[SupportGap]:
    """What stands between quotation marks and in no cited passage of that language."""
    for match in _QUOTATION.finditer(text):
        quote = next(filter(None, match.groups())).strip(_SENTENCE_STOPS + " ")
        han = has_han(quote)
        told = [item.text for item in passages if has_han(item.text) == han]
        long = len(quote) >= (_MIN_QUOTATION_CHARS_HAN if han else _MIN_QUOTATION_CHARS)
        if long and told and not any(is_verbatim(quote, passage) for passage in told):
            yield SupportGap(kind="words", text=quote)


class CitedPassage(NamedTuple):
    """A passage behind a sentence: what of it is meant, and where that begins in it."""

    evidence: Evidence
    passage: Passage
    offset: int
    text: str

    @property
    def context_line(self) -> str:
        """What the passage is about: it may name its subject nowhere else."""
        heads = (self.evidence.title, self.passage.title, self.passage.heading)
        told = " · ".join(dict.fromkeys(head.strip() for head in heads if head.strip()))
        return f"{told}\n" if told else ""

    @property
    def context_length(self) -> int:
        return len(self.context_line)

    @property
    def comparison_text(self) -> str:
        """What a claim is compared with."""
        return self.context_line + self.text

    def locate(self, start: int, end: int) -> dict[str, object]:
        """Where a stretch of the text is; nothing of it if it lies before the text."""
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
    """The sources of an answer by number, each with its passages by id, which one that is cited a
    thousand times has a thousand of."""

    def __init__(self, cited: CitedAnswer) -> None:
        self._sources = {source.number: source.evidence for source in cited.sources}
        self._passages: dict[int, dict[str, Passage]] = {}

    def find(self, numbers: Sequence[int], passage_id: str) -> tuple[Evidence, Passage] | None:
        """A passage of one of some sources; the last counts where several have it."""
        for number in reversed(numbers):
            evidence = self._sources[number]
            if number not in self._passages:
                self._passages[number] = {passage.id: passage for passage in evidence.passages}
            if passage := self._passages[number].get(passage_id):
                return evidence, passage
        return None


def _resolve_passages(spans: Iterable[NumberedSpan], passages: _PassageIndex) -> Iterator[CitedPassage]:
    """The passages that spans cite, each once."""
    seen: set[PassageReference] = set()
    for item in spans:
        for cite in item.span.cites:
            found = None if cite in seen else passages.find(item.numbers, cite.passage)
            if found is None:
                continue
            seen.add(cite)
            evidence, passage = found
            whole = not 0 <= cite.start < cite.end
            start, end = (0, len(passage.text)) if whole else (cite.start, cite.end)
            yield CitedPassage(evidence, passage, start, passage.text[start:end])
