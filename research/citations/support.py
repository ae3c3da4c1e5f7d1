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
from research.citations.judge import MARGIN, Accuracy, judge, margin, model
from research.citations.marking import marked, pieces
from research.citations.markup import Node, answer_tree
from research.citations.numbering import CitedAnswer, NumberedSpan, verbatim
from research.core.records import (
    Cite,
    Evidence,
    Judged,
    Lack,
    Language,
    Passage,
    Record,
    Status,
    Verdict,
    fingerprint,
)
from research.core.text.sentences import sentences
from research.core.text.words import fold, has_han, place_of

# On labels that others made.
SUPPORT_ACCURACY: dict[Language, Accuracy] = {
    "zh": model("zh").accuracy,
    "en": model("en").accuracy,
}

_ENTRIES = ("place", "database")
_STOPS = "。.！!；;…"
_MARKS = '“”「」"'
_SHORTEST = 6  # characters of a sentence that is called a quote
_QUOTATION = re.compile(r"“([^“”]{1,400})”|「([^「」]{1,400})」|\"([^\"]{1,400})\"")
_QUOTED, _QUOTED_HAN = 24, 10  # characters of a quotation; shorter ones may be mere terms

TO_JUDGE: frozenset[Status] = frozenset(
    {"unclear", "unsupported", "differs"}
)  # what a model may rule on

_judge = lru_cache(8192)(judge)  # every format of one report asks again


class Sentence(Record):
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
    status: Status
    lacks: tuple[Lack, ...] = ()
    evidence: str = ""
    passage: str = ""
    start: int = 0
    end: int = 0
    ruled: bool = False
    reason: str = ""

    @property
    def doubtful(self) -> bool:
        """Whether it is marked in the text."""
        return self.status not in ("quoted", "supported")


class Counts(NamedTuple):
    """How many sentences have which status, and how many there are."""

    total: int
    quoted: int
    supported: int
    unclear: int
    unsupported: int
    differs: int
    none: int


class Support(Record):
    """The sentences of an answer that claim something, in order."""

    sentences: tuple[Sentence, ...] = ()

    @property
    def counts(self) -> Counts:
        found: list[str] = [sentence.status for sentence in self.sentences]
        return Counts(len(found), *(found.count(way) for way in Counts._fields[1:]))

    @property
    def doubtful(self) -> tuple[Sentence, ...]:
        """The sentences that are marked in the text."""
        return tuple(sentence for sentence in self.sentences if sentence.doubtful)

    def of(self, number: int) -> tuple[Sentence, ...]:
        """Every sentence that uses a source."""
        return tuple(s for s in self.sentences if number in s.numbers)


class Stretch(NamedTuple):
    """Answer spans that are drawn as one: a quote, or a run of Markdown with its tree. `first` is the
    place of the first of them."""

    first: int
    spans: tuple[NumberedSpan, ...]
    nodes: tuple[Node, ...]

    @property
    def written(self) -> bool:
        """Whether it is Markdown that a model wrote."""
        return self.spans[0].span.kind == "text"


class Said(NamedTuple):
    """A sentence before it is judged: its text and the spans whose citations it has."""

    text: str
    spans: tuple[int, ...]
    quoted: bool = False


def stretches(cited: CitedAnswer) -> Iterator[Stretch]:
    """The answer as it is drawn: runs of Markdown with their trees, and single other spans."""
    for written, group in groupby(enumerate(cited.spans), lambda at: at[1].span.kind == "text"):
        found = list(group)
        if written:
            spans = tuple(item for _, item in found)
            yield Stretch(found[0][0], spans, tuple(answer_tree(spans)))
        else:
            yield from (Stretch(at, (item,), ()) for at, item in found)


def said(stretch: Stretch) -> list[Said]:
    """The sentences of a stretch: of Markdown each that the tree has, of a quote itself."""
    if stretch.nodes:
        first = stretch.first
        return [Said(p.text, tuple(first + at for at in p.cites)) for p in pieces(stretch.nodes)]
    only = stretch.spans[0]
    if only.span.kind == "quote":
        return [Said(only.span.text, (stretch.first,), quoted=True)]
    return []


def answer_stretches(cited: CitedAnswer, found: Support) -> Iterator[Stretch]:
    """The answer as it is drawn, with a node `mark` behind each doubtful sentence of its Markdown,
    whose `sentence` is the place of that sentence (`Sentence.at`)."""
    chosen = {sentence.at for sentence in found.doubtful}
    at = 0
    for stretch in stretches(cited):
        count = len(said(stretch))
        own = [place for place in range(at, at + count) if place in chosen]
        nodes = marked(stretch.nodes, own, at) if own and stretch.nodes else stretch.nodes
        yield stretch._replace(nodes=tuple(nodes))
        at += count


def support(cited: CitedAnswer) -> Support:
    """Judges each sentence of a numbered answer by the passages that it cites."""
    known = _Known(cited)
    review = cited.answer.review
    ruled = {item.key: item for item in review.rulings} if review else {}
    found: list[Sentence] = []
    at = 0
    for stretch in stretches(cited):
        for one in said(stretch):
            sentence = _judged(at, one, cited.spans, known)
            if sentence:
                ruling = ruled.get(key_of(sentence, cited)) if ruled else None
                found.append(_ruled(sentence, ruling) if ruling else sentence)
            at += 1
    return Support(sentences=tuple(found))


def key_of(sentence: Sentence, cited: CitedAnswer) -> str:
    """Names a sentence with the passages that it cites, wherever it stands."""
    cites = (cite for place in sentence.spans for cite in cited.spans[place].span.cites)
    known = dict.fromkeys(f"{cite.evidence} {cite.passage} {cite.start}" for cite in cites)
    return fingerprint(sentence.text, *known)


_RULED: dict[Verdict, Status] = {
    "supported": "supported",
    "partly": "unclear",
    "contradicted": "differs",
    "absent": "unsupported",
}


def _ruled(sentence: Sentence, ruling: Judged) -> Sentence:
    """A sentence as a model has ruled. Its support counts with a quote alone; a support of the rules that
    it denies is in doubt, and no more."""
    if sentence.status in ("quoted", "none"):
        return sentence
    status = _RULED[ruling.verdict]
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


def close(sentence: Sentence, cited: CitedAnswer) -> float | None:
    """How little the probability of a supported sentence lies above the threshold; None if that is no
    small margin, or if it is not supported."""
    if sentence.status != "supported":
        return None
    told = tuple(item.read for item in behind(sentence, cited))
    above = margin(sentence.text, _judge(sentence.text, told))
    return above if above <= MARGIN else None


def behind(sentence: Sentence, cited: CitedAnswer) -> list[Behind]:
    """The passages behind a sentence."""
    return list(_behind([cited.spans[place] for place in sentence.spans], _Known(cited)))


def _judged(at: int, one: Said, spans: Sequence[NumberedSpan], known: _Known) -> Sentence | None:
    """The sentence with its status; none if it claims nothing, or is what this program has put into
    words, such as an entry of a map or a row of a database."""
    own = [spans[place] for place in one.spans]
    if own and all(item.span.made for item in own):
        return None
    numbers = tuple(dict.fromkeys(number for item in own for number in item.numbers))
    unsourced = any(item.unsourced for item in own)
    behind = list(_behind(own, known))
    base = {"at": at, "text": one.text, "numbers": numbers, "spans": one.spans}
    if one.quoted:
        if not behind:
            return Sentence(**base, status="none")
        places = ((item, place_of(one.text, item.text)) for item in behind)
        nearest, where = next(((item, at) for item, at in places if at), (behind[0], (0, 0)))
        if nearest.evidence.kind in _ENTRIES:
            return None
        return Sentence(**base, status="quoted", **nearest.place(*where))
    if not behind:
        claims = unsourced or is_claim(one.text)
        return Sentence(**base, status="none") if claims else None
    for item in behind:
        if found := _whole(one.text, item.text):
            return Sentence(**base, status="quoted", **item.place(*found))
    ruling = _judge(one.text, tuple(item.read for item in behind))
    nearest = behind[min(ruling.passage, len(behind) - 1)]
    lacks = (*ruling.lacks, *_misquoted(one.text, behind))
    doubted = unsourced or len(lacks) > len(ruling.lacks)
    status: Status = "unclear" if doubted and ruling.status == "supported" else ruling.status
    place = nearest.place(ruling.start - nearest.lead, ruling.end - nearest.lead)
    return Sentence(**base, status=status, lacks=lacks, **place)


def _whole(text: str, passage: str) -> tuple[int, int] | None:
    """Where the passage says this and no more; a part of a longer sentence may mean something else."""
    wanted = fold(text).strip(_MARKS).rstrip(_STOPS)
    if len(wanted) < _SHORTEST or not verbatim(wanted, passage):
        return None
    spans = sentences(passage)
    for at, (start, _) in enumerate(spans):
        for _, end in spans[at:]:  # where lines are broken, a sentence may be several
            said = passage[start:end].rstrip(_STOPS)
            if place_of(wanted, said) == (0, len(said)):
                return start, end
            if len(fold(said)) - said.count("-") > len(wanted):
                break
    return None


def _misquoted(text: str, behind: Sequence[Behind]) -> Iterator[Lack]:
    """What stands between quotation marks and in no cited passage of that language."""
    for match in _QUOTATION.finditer(text):
        quote = next(filter(None, match.groups())).strip(_STOPS + " ")
        han = has_han(quote)
        told = [item.text for item in behind if has_han(item.text) == han]
        long = len(quote) >= (_QUOTED_HAN if han else _QUOTED)
        if long and told and not any(verbatim(quote, passage) for passage in told):
            yield Lack(kind="words", text=quote)


class Behind(NamedTuple):
    """A passage behind a sentence: what of it is meant, and where that begins in it."""

    evidence: Evidence
    passage: Passage
    offset: int
    text: str

    @property
    def head(self) -> str:
        """What the passage is about: it may name its subject nowhere else."""
        heads = (self.evidence.title, self.passage.title, self.passage.heading)
        told = " · ".join(dict.fromkeys(head.strip() for head in heads if head.strip()))
        return f"{told}\n" if told else ""

    @property
    def lead(self) -> int:
        return len(self.head)

    @property
    def read(self) -> str:
        """What a claim is compared with."""
        return self.head + self.text

    def place(self, start: int, end: int) -> dict[str, object]:
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


class _Known:
    """The sources of an answer by number, each with its passages by id, which one that is cited a
    thousand times has a thousand of."""

    def __init__(self, cited: CitedAnswer) -> None:
        self._sources = {source.number: source.evidence for source in cited.sources}
        self._passages: dict[int, dict[str, Passage]] = {}

    def passage(self, numbers: Sequence[int], wanted: str) -> tuple[Evidence, Passage] | None:
        """A passage of one of some sources; the last counts where several have it."""
        for number in reversed(numbers):
            evidence = self._sources[number]
            if number not in self._passages:
                self._passages[number] = {passage.id: passage for passage in evidence.passages}
            if passage := self._passages[number].get(wanted):
                return evidence, passage
        return None


def _behind(spans: Iterable[NumberedSpan], known: _Known) -> Iterator[Behind]:
    """The passages that spans cite, each once."""
    seen: set[Cite] = set()
    for item in spans:
        for cite in item.span.cites:
            found = None if cite in seen else known.passage(item.numbers, cite.passage)
            if found is None:
                continue
            seen.add(cite)
            evidence, passage = found
            whole = not 0 <= cite.start < cite.end
            start, end = (0, len(passage.text)) if whole else (cite.start, cite.end)
            yield Behind(evidence, passage, start, passage.text[start:end])
