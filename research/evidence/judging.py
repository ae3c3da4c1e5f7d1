"""Whether the passages that a sentence cites say what it says: no model, the same every time.

Knows nothing of answers, spans or sources: one claim in plain text against texts. It is careful in
one direction: what it does not find it calls weak, and only a figure that stands there as another is
called different.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from research.evidence import polarity
from research.evidence.cues import cues
from research.evidence.lexicon import KIN
from research.evidence.naming import Name, names, present
from research.evidence.reading import Reading, Sentence, Term, is_place, read
from research.evidence.weighing import Near, akin, coverage, nearest, other_subject, replaced, worth
from research.language.quantities import Measure, agrees, dates_clash, derived, plain
from research.records import Lack, Ruling
from research.text import sentences

ENOUGH = 0.25  # of a claim's words
STANDING = 0.4  # in one sentence, so that the contrary in it is one of the claim
ALIKE = 0.5  # where a single word that is another tells
SHARED = 0.38  # and of how much of the claim's words the other figure's sentence has to have
FARTHEST = 50  # times as large: hardly a figure of the same thing
NEARER = 0.25  # by how much a figure of another sentence has to stand nearer to the claim's words than its own
CLAUSE = 2.5  # words that make a clause a statement of its own
ENOUGH_FIGURES = 0.15  # if all its figures are there, and it has some
RELATED = 0.3  # how alike the words around two figures are that speak of one thing
LONGEST_QUOTE = 1_000  # characters of a claim that is looked for word for word in a longer text
_STOPS = "。.．!！;；… "
_BEGINS = r"(?:^|(?<=[。！？!?；;\n])|(?<=[.!?]\s))[\s“‘\"'「『]*"
_CUT = re.compile(r"[a-z](?=[a-z])|\d(?=[.,]?\d)")
_ENDS = r"[”’\"'」』]*\s*(?:[。！!；;\n]|[.．](?!\d)|$)"


@dataclass(frozen=True, slots=True)
class _Found:
    """A figure of a passage, where it stands and how far its words are those of the claim's."""

    measure: Measure
    sentence: Sentence
    passage: int
    at: int
    likeness: float


def judge(claim: str, passages: Sequence[str]) -> Ruling:
    """The ruling on a claim: supported, weak or differs."""
    readings = [read(passage) for passage in passages]
    whole = _verbatim(claim, passages)
    mine = read(claim, True)
    sentence = mine.sentences[0]
    chosen = nearest(sentence, readings)
    if whole is not None:
        return _at(chosen, "supported", (), 1.0, readings, whole)
    if not chosen or not (sentence.terms or sentence.measures):
        return _at(chosen, "weak", (Lack(kind="words", text=claim.strip()),), 0.0, readings)
    ruling = _Case(claim, mine, readings, chosen).ruling()
    taken = _taken_back(claim, passages) if ruling.status == "supported" else None
    return ruling.model_copy(update={"status": "weak", "lacks": (taken,)}) if taken else ruling


def _verbatim(claim: str, passages: Sequence[str]) -> int | None:
    """The place of the passage that has the claim word for word, as a sentence of its own.

    A stretch of a longer sentence may mean something else: "smoking is legal" stands in "smoking is
    legally restricted", 门票免费 in 门票免费的说法不实.
    """
    bare = plain(claim).strip().strip(_STOPS)
    folded = [plain(passage) for passage in passages]
    for at, text in enumerate(folded):
        if text == plain(claim):
            return at
    if not bare or len(bare) > LONGEST_QUOTE:
        return None
    words = r"\s*".join(map(re.escape, bare.split()))
    whole = re.compile(rf"{_BEGINS}{words}{_ENDS}")
    return next((at for at, text in enumerate(folded) if whole.search(text)), None)


def _taken_back(claim: str, passages: Sequence[str]) -> Lack | None:
    """What a claim leaves out where it is a stretch of a longer sentence that takes it back: the rest
    of a word that it cuts, or a denial, a rumour, an end, a condition (`research.evidence.cues`)."""
    bare = plain(claim).strip().strip(_STOPS)
    if not bare or len(bare) > LONGEST_QUOTE:
        return None
    inside = re.compile(r"\s*".join(map(re.escape, bare.split())))
    for text in map(plain, passages):
        if not inside.search(text):
            continue
        for start, end in sentences(text):
            match = inside.search(text, start, end)
            if match and (_CUT.match(text, match.end() - 1) or cues(text[start:end]) - cues(bare)):
                return Lack(kind="words", text=claim.strip(), found=text[start:end])
    return None


def _at(
    chosen: Sequence[Near],
    status: str,
    lacks: tuple[Lack, ...],
    score: float,
    readings: Sequence[Reading],
    passage: int | None = None,
) -> Ruling:
    near = next((n for n in chosen if passage in (None, n.passage)), None)
    spot = (near.passage, near.sentence.start, near.sentence.end) if near else (passage or 0, 0, 0)
    return Ruling.model_validate(
        {
            "status": status,
            "lacks": lacks,
            "passage": spot[0],
            "start": spot[1],
            "end": spot[2],
            "score": round(min(1.0, max(0.0, score)), 3),
        }
    )


class Piece(Protocol):
    """Something with a place in its sentence."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class _Case:
    """One claim against its passages."""

    def __init__(
        self, text: str, claim: Reading, readings: Sequence[Reading], chosen: list[Near]
    ) -> None:
        self.text = text
        self.claim = claim
        self.sentence = claim.sentences[0]
        self.readings = readings
        self.chosen = chosen
        self.crossed = all(reading.han != claim.han for reading in readings)
        self.matched: list[tuple[int, _Found]] = []
        self.differs = False
        self.worked = 0

    def ruling(self) -> Ruling:
        lacks = [
            *self._figures(),
            *self._names(),
            *self._polarity(),
        ]
        words = self._words()
        lacks += self._missing_words(words, lacks)
        status = "differs" if self.differs else "weak" if lacks else "supported"
        figures = len(self.sentence.measures)
        score = (words * 2 + len(self.matched)) / (2 + figures)
        return _at(self.chosen, status, tuple(lacks), score, self.readings)

    # figures and dates

    def _figures(self) -> Iterator[Lack]:
        for at, measure in enumerate(self.sentence.measures):
            yield from self._figure(at, measure)

    def _figure(self, at: int, measure: Measure) -> Iterator[Lack]:
        context = self.sentence.contexts[at]
        same, others = self._candidates(measure, context)
        kind = "date" if measure.kind in _TIMES else "figure"
        said = self._said(measure)
        rival = max(others, key=lambda f: f.likeness + self._taken_for(measure, f), default=None)
        if same:
            best = max(same, key=lambda f: f.likeness)
            if again := next((f for f in others if self._twice(best, f)), None):
                rival = again
            if not again and self._base(measure, same):
                self.differs = True
                yield Lack(kind=kind, text=said)
            elif again or (rival and self._nearer(context, rival, best)):
                self.differs = True
                yield Lack(kind=kind, text=said, found=self._quoted(rival) if rival else "")
            else:
                self.matched.append((at, best))
            return
        misplaced = rival is not None and _scaled(measure, rival.measure, 1)
        if self._assembled(measure) or (not misplaced and self._derived(measure)):
            self.worked += 1
            return
        if rival and self._about_one_thing(measure, rival):
            self.differs = True
            yield Lack(kind=kind, text=said, found=self._quoted(rival))
        elif not measure.spoken:
            yield Lack(kind=kind, text=said)

    def _candidates(
        self, measure: Measure, context: dict[str, float]
    ) -> tuple[list[_Found], list[_Found]]:
        same: list[_Found] = []
        others: list[_Found] = []
        for place, reading in enumerate(self.readings):
            for sentence in reading.sentences:
                for at, other in enumerate(sentence.measures):
                    agreed = agrees(measure, other)
                    if not agreed and not _comparable(measure, other):
                        continue
                    found = _Found(other, sentence, place, at, _likeness(context, sentence.contexts[at]))  # fmt: skip
                    (same if agreed else others).append(found)
        return same, others

    def _nearer(self, context: dict[str, float], rival: _Found, best: _Found) -> bool:
        """Whether the claim speaks of what another figure is of, and not of what its own is of."""
        apart = rival.sentence is not best.sentence
        beside = not apart or _beside(rival, best)
        if beside and not best.measure.dated and not self._stated(best, rival) and self._of_other(rival, best):  # fmt: skip
            return True
        if (apart and rival.likeness < best.likeness + NEARER) or self._stated(best, rival):
            return False
        if apart and best.measure.kind and best.measure.kind == rival.measure.kind and rival.likeness >= best.likeness + 2 * NEARER:  # fmt: skip
            return True
        if best.measure.dated and any(
            agrees(mine, other)
            for mine in self.sentence.measures
            for other in best.sentence.measures
            if not mine.dated
        ):
            return False
        near = {
            key for key, weight in context.items() if weight >= (1.05 if key[0] == "@" else 0.7)
        }
        if _LISTED.search(rival.sentence.text):
            return False
        if self._former(context, rival, best):
            return True
        words = [term for term in self.sentence.terms if term.key in near]
        passage = self.readings[rival.passage].keys
        if not all(worth(term, rival.sentence) or term.key in passage for term in words):
            return False
        its = rival.sentence.contexts[rival.at]
        own = best.sentence.contexts[best.at]
        only_its = [key for key in near if its.get(key, 0) >= 0.5 and own.get(key, 0) < 0.3]
        if best.measure.dated and any(key in own and own[key] > its.get(key, 0) for key in near):
            return False
        said = {t.key for t in rival.sentence.terms if t.start < rival.measure.start}
        only_own = [key for key in near if own.get(key, 0) >= 0.5 and its.get(key, 0) < 0.3 and key not in said]  # fmt: skip
        return bool(only_its) and not only_own

    def _of_other(self, rival: _Found, best: _Found) -> bool:
        """Whether the claim's words stand with another figure of the sentence and its own figure with
        something that the claim does not speak of."""
        family = best.measure.family
        if rival.sentence is best.sentence and _MOVED.search(
            best.sentence.text[: best.measure.start]
        ):
            return False
        if sum(mine.family == family for mine in self.sentence.measures) > 1:
            return False
        mine = self.sentence.keys | self.sentence.senses
        its, own = (_stretch(found) for found in (rival, best))
        theirs = {t.key for t in its} & mine - {t.key for t in own}
        ours = {t.key for t in own} & mine - {t.key for t in its}
        foreign = [t for t in own if t.key not in mine and t.sense not in mine and t.weight >= 0.8]
        if not theirs or not foreign or self._when(best) > self._when(rival):
            return False
        later = (best.sentence.start, best.measure.start) > (
            rival.sentence.start,
            rival.measure.start,
        )
        if later and not ours:
            return len(theirs) > 1
        return any(other.key in KIN.get(key, ()) for key in theirs for other in foreign)

    def _when(self, found: _Found) -> int:
        """How many dates and spans of time of the claim stand with a figure."""
        start, end = found.sentence.stretch(found.measure)
        near = [m for m in found.sentence.measures if start <= m.start < end and m.kind in _TIMES]
        return sum(any(agrees(mine, m) for m in near) for mine in self.sentence.measures if mine.kind in _TIMES)  # fmt: skip

    def _former(self, context: dict[str, float], rival: _Found, best: _Found) -> bool:
        """Whether the claim gives as the figure what the passage gives as what it was before."""
        its, own = rival.sentence.contexts[rival.at], best.sentence.contexts[best.at]
        if rival.sentence is not best.sentence or "@from" in context or _FORMER.search(self.sentence.text):  # fmt: skip
            return False
        return "@from" in own and "@to" in its and not _BEFORE & context.keys()

    def _base(self, measure: Measure, same: Sequence[_Found]) -> bool:
        """Whether the claim gives a figure the date of what the passage only compares it with."""
        if not measure.dated or _THAN_IN.search(self.sentence.text[: measure.start]):
            return False
        if not all(_THAN_IN.search(f.sentence.text[: f.measure.start]) for f in same):
            return False
        others = [mine for mine in self.sentence.measures if not mine.dated]
        return any(agrees(mine, m) for mine in others for f in same for m in f.sentence.measures)

    def _twice(self, best: _Found, rival: _Found) -> bool:
        """Whether another figure of the claim is this one already, and the passage has one besides."""
        again = any(
            found.measure is best.measure and found.sentence is best.sentence
            for _, found in self.matched
        )
        return again and rival.sentence is best.sentence and rival.measure.kind == best.measure.kind and not best.measure.dated and not self._stated(best, rival)  # fmt: skip

    def _stated(self, best: _Found, rival: _Found) -> bool:
        """Whether the claim says this figure as well, beside the one that is asked for."""
        return any(
            agrees(mine, rival.measure) and not agrees(mine, best.measure)
            for mine in self.sentence.measures
        )

    def _assembled(self, measure: Measure) -> bool:
        """Whether a date stands in the passages in parts: the year in one place, the day in another."""
        year, month, day = measure.parts
        if not measure.dated or year is None:
            return False
        if month is None:
            earlier = any(self._derived(m) for m in self.sentence.measures if not m.dated)
            compared = earlier or _COMPARED.search(self.sentence.text[: measure.start])
            return bool(compared) and any(
                year + 1 in r.years and r.keys & _YEAR_BEFORE for r in self.readings
            )
        if not any(year in reading.years for reading in self.readings):
            return False
        for reading in self.readings:
            for sentence in reading.sentences:
                for other in sentence.measures:
                    y, m, d = other.parts
                    if other.dated and y is None and m == month and day in (None, d):
                        return True
        return False

    def _taken_for(self, measure: Measure, found: _Found) -> float:
        """How much more a figure is one that the claim has wrong if it differs by a digit or by its unit."""
        wrong = _scaled(measure, found.measure) or (
            self.crossed and _misread(measure, found.measure)
        )
        return ALIKE if wrong else 0.0

    def _derived(self, measure: Measure) -> bool:
        """Whether a figure follows from those of the sentences that the claim rests upon."""
        if coverage(self.sentence.terms, self.chosen) >= 0.95:
            return False
        place = self.chosen[0].passage
        given = [m for n in self.chosen if n.passage == place for m in n.sentence.measures]
        said = " ".join(
            match[0] for n in self.chosen[:1] for match in _REST.finditer(n.sentence.text)
        )
        return derived(measure, f"{self.sentence.text} {said}", given)

    def _about_one_thing(self, measure: Measure, rival: _Found) -> bool:
        near = coverage(self.sentence.terms, [Near(rival.passage, rival.sentence, 0)])
        if measure.spoken and measure.kind in ("", "count", "people"):
            return rival.likeness >= (0.2 if self.crossed else ALIKE)
        if _scaled(measure, rival.measure):
            return True
        sizes = sorted((abs(measure.low), abs(rival.measure.low)))
        if sizes[1] > FARTHEST * sizes[0] > 0 and near < ALIKE and rival.likeness < 2 * RELATED:
            return False
        if rival.likeness >= RELATED or (self.crossed and _misread(measure, rival.measure)):
            return True
        if measure.kind == rival.measure.kind not in ("", "count", "people", "date") and near >= ENOUGH_FIGURES and _misread(measure, rival.measure):  # fmt: skip
            return True
        return near >= SHARED or (self.crossed and near > 0.1)

    def _said(self, measure: Measure) -> str:
        return self.text[measure.start : measure.end].strip()

    def _quoted(self, found: _Found) -> str:
        start = found.sentence.start
        text = self.readings[found.passage].text
        return text[start + found.measure.start : start + found.measure.end].strip()

    # names

    def _names(self) -> Iterator[Lack]:
        for name in names(self.text):
            if any(present(name, reading) for reading in self.readings):
                continue
            if self.crossed and not self._checkable(name):
                continue
            yield Lack(kind="name", text=name.text)

    def _checkable(self, name: Name) -> bool:
        """Whether a name would be recognised in a passage of the other language; that a Chinese text
        speaks of China goes without saying."""
        if "china" in name.keys:
            return False
        return any(is_place(key) for key in name.keys) or (self.claim.han and name.text.isascii())

    # polarity

    def _polarity(self) -> Iterator[Lack]:
        if lack := next(self._turned(), None):
            yield lack

    def _turned(self) -> Iterator[Lack]:
        yield from self._opposites()
        known = frozenset(key for name in names(self.text) for key in name.keys[-1:])
        for near in self.chosen[:2]:
            if pair := polarity.reversed_roles(self.sentence, near.sentence, known):
                yield self._opposed(pair, near)
            if self._alike(near) and (pair := polarity.contrary(self.sentence, near.sentence)):
                yield self._opposed(pair, near)
        for near in self._grounds():
            said = polarity.claimed(self.sentence.text)
            firm = polarity.firmer(self.sentence, near.sentence, known)
            if firm or said > polarity.standing(self.sentence, near.sentence):
                yield Lack(kind="polarity", text=self.text.strip(), found=self._sentence(near))
        for near in self.chosen[:1] if known else ():
            rivals = frozenset(
                key for name in names(self._sentence(near)) for key in name.keys[-1:]
            )
            if (
                pair := polarity.displaced(self.sentence, known, near.sentence, rivals - known)
            ) or (pair := polarity.swapped(self.sentence, near.sentence, known)):
                yield self._opposed(pair, near)
        everything = " ".join(n.sentence.text for n in self.chosen)
        if word := polarity.sweeping(self.sentence.text, everything, figures=bool(self.matched)):
            yield Lack(kind="polarity", text=self._written(word))
        if word := polarity.causal(self.sentence.text, everything):
            yield Lack(kind="polarity", text=self._written(word))
        yield from self._exchanged(known)
        keys = frozenset[str]().union(*(n.sentence.keys for n in self.chosen))
        if term := polarity.strong(self.sentence, keys):
            yield Lack(kind="polarity", text=self.text[term.start : term.end])

    def _written(self, word: str) -> str:
        """A word as the claim writes it: big letters are read as small ones."""
        at = self.text.lower().find(word)
        found = self.text[at : at + len(word)] if at >= 0 else ""
        return found if found.lower() == word else self.text.strip()

    def _exchanged(self, known: frozenset[str]) -> Iterator[Lack]:
        """A figure that the claim gives to one name and the passage to another that the claim has too."""
        for at, best in self.matched:
            for _, other in self.matched:
                if other.sentence is not best.sentence or other.measure is best.measure or other.measure.kind != best.measure.kind or best.measure.dated:  # fmt: skip
                    continue
                mine = self.sentence.contexts[at]
                own, its = (f.sentence.contexts[f.at] for f in (best, other))
                for key in known & mine.keys():
                    if mine[key] >= 0.7 and own.get(key, 0) <= 0.5 * its.get(key, 0) >= 0.35:
                        yield Lack(kind="polarity", text=self._said(self.sentence.measures[at]), found=self._quoted(best))  # fmt: skip
                        return

    def _opposites(self) -> Iterator[Lack]:
        for clause in self.sentence.clauses:
            if best := self._clause_like(clause):
                near, theirs = best
                pair = polarity.opposite(self.sentence, clause, near.sentence, theirs)
                if pair and pair[0].key not in self.chosen[0].sentence.keys and not self._until(pair[0].key):  # fmt: skip
                    yield self._opposed(pair, near)
        if coverage(self.sentence.terms, self.chosen[:1]) >= STANDING:
            main = self.chosen[0]
            whole = (0, len(self.sentence.text))
            pair = polarity.opposite(self.sentence, whole, main.sentence, (0, len(main.sentence.text)))  # fmt: skip
            level = pair is not None and "steady" in (pair[0].key, pair[1].key) and self.matched
            if pair and not level and not self._says(pair[0].key) and not self._until(pair[0].key):
                yield self._opposed(pair, main)
        for at, found in self.matched:
            if found.measure.dated:
                continue
            mine, other = self.sentence.measures[at], found.sentence
            clause = self.sentence.clauses[self.sentence.clause(mine.start)]
            theirs = other.clauses[other.clause(found.measure.start)]
            near = Near(found.passage, other, 0)
            pair = polarity.opposite(self.sentence, clause, other, theirs)
            if pair and not self._until(pair[0].key):
                yield self._opposed(pair, near)
            ways = polarity.direction(self.sentence, mine), polarity.direction(other, found.measure)
            if ways[0] * ways[1] < 0:
                yield Lack(kind="polarity", text=self._said(mine), found=self._quoted(found))

    def _until(self, key: str) -> bool:
        """What is open until four closes at four."""
        clock = any(found.measure.kind == "clock" for _, found in self.matched)
        return clock and key in ("open", "close")

    def _says(self, key: str) -> bool:
        return any(key in near.sentence.keys for near in self.chosen)

    def _alike(self, near: Near) -> bool:
        return coverage(self.sentence.terms, [near]) >= RELATED

    def _grounds(self) -> Iterator[Near]:
        """The sentences that a claim would rest upon: the nearest, and the one of all its figures."""
        if self._alike(self.chosen[0]) and coverage(self.sentence.terms, self.chosen[:1]) >= ALIKE:
            yield self.chosen[0]
        spots = {(found.passage, found.sentence.start) for _, found in self.matched}
        if len(spots) == 1:
            found = self.matched[0][1]
            yield Near(found.passage, found.sentence, 0)

    def _clause_like(self, clause: tuple[int, int]) -> tuple[Near, tuple[int, int]] | None:
        """The clause of the chosen sentences that has most of the words of one of the claim's."""
        mine = {t.key: t.weight for t in self.sentence.inside(clause)}
        best, most = None, 0.35 * sum(mine.values())
        for near in self.chosen:
            for theirs in near.sentence.clauses:
                keys = {t.key for t in near.sentence.inside(theirs)}
                shared = sum(weight for key, weight in mine.items() if key in keys)
                if shared > most:
                    best, most = (near, theirs), shared
        return best

    def _opposed(self, pair: tuple[Piece, Piece], near: Near) -> Lack:
        mine, theirs = pair
        start = near.sentence.start
        passage = self.readings[near.passage].text
        return Lack(
            kind="polarity",
            text=self.text[mine.start : mine.end],
            found=passage[start + theirs.start : start + theirs.end],
        )

    def _sentence(self, near: Near) -> str:
        return self.readings[near.passage].text[near.sentence.start : near.sentence.end]

    # words

    def _words(self) -> float:
        terms = self.sentence.terms
        if self.crossed:
            terms = tuple(term for term in terms if term.known)
        return coverage(terms, self.chosen) if terms else float(bool(self.matched))

    def _missing_words(self, words: float, lacks: list[Lack]) -> Iterator[Lack]:
        known = len(self.matched) + self.worked
        firm = known > 0 and known == len(self.sentence.measures)
        floor = ENOUGH_FIGURES if firm else ENOUGH
        if firm and sum(term.weight for term in self.sentence.terms) <= CLAUSE and self._measured():
            floor = 0.0
        if self.crossed:
            floor += 0.0 if len(self.matched) > 1 else 0.2
        if words < floor or (self.crossed and not firm and self._unread()):
            yield Lack(kind="words", text=self.text.strip())
        elif clause := self._added():
            yield Lack(kind="words", text=self.text[slice(*clause)].strip(" ，,；;、。."))
        elif not lacks and (swap := self._swap(words)):
            mine, theirs, near = swap
            start = near.sentence.start
            text = self.readings[near.passage].text
            yield Lack(
                kind="words",
                text=self.text[mine.start : mine.end],
                found=text[start + theirs.start : start + theirs.end],
            )

    def _measured(self) -> bool:
        """Whether a matched figure has a unit, so that it is hardly the same by chance."""
        return self.worked > 0 or any(found.measure.kind not in ("", "count", "date", "ordinal") for _, found in self.matched)  # fmt: skip

    def _unread(self) -> bool:
        """Whether the claim names something that the other language cannot show."""
        return any(not present(name, r) for name in names(self.text) for r in self.readings if not self._checkable(name))  # fmt: skip

    def _added(self) -> tuple[int, int] | None:
        """A clause of some length of which the passages have nothing."""
        if self.crossed or len(self.sentence.clauses) < 2:
            return None
        for clause in self.sentence.clauses:
            terms = self.sentence.inside(clause)
            figures = any(clause[0] <= m.start < clause[1] for m in self.sentence.measures)
            if not figures and sum(t.weight for t in terms) >= CLAUSE and coverage(terms, self.chosen) < ENOUGH_FIGURES:  # fmt: skip
                return clause
        return None

    def _swap(self, words: float) -> tuple[Piece, Piece, Near] | None:
        """A thing of the claim where the passages speak of another of its sort."""
        if kin := akin(self.sentence, self.chosen):
            return kin
        if self.crossed or words < ALIKE:
            return None
        if self.matched and (lone := other_subject(self.sentence, self.chosen)):
            return lone
        return replaced(self.sentence, self.chosen)


_THAN_IN = re.compile(r"(?:\bthan(?:\sin)?|\bcompared\swith(?:\sin)?|[较比])\s?$")
_MOVED = re.compile(r"从|由|\bfrom\b")
_REST = re.compile(r"其余|剩余|剩下|\b(?:the rest|remainder|remaining)\b")
_LISTED = re.compile(r"分别|依次|\brespectively\b")
_FORMER = re.compile(r"used to|previous|former|earlier|原|此前|之前|先前")
_BEFORE = frozenset(("last-year", "before", "year-on-year"))
_YEAR_BEFORE = frozenset(("last-year", "year-on-year"))
_COMPARED = re.compile(r"(?:\bthan|\bfrom|\bover|\bwith|\bin|比|较)[^,，]{0,8}$")
_TIMES = frozenset(("date", "clock", "weekday", "quarter", "half", "decade", "century", "until"))


def _beside(one: _Found, other: _Found) -> bool:
    """Whether two figures stand in the two parts of one sentence that a semicolon divides."""
    first, second = sorted((one.sentence, other.sentence), key=lambda s: s.start)
    return one.passage == other.passage and first.text[-1:] in (";", "；") and second.start - first.end <= 1  # fmt: skip


def _stretch(found: _Found) -> list[Term]:
    start, end = found.sentence.stretch(found.measure)
    return [t for t in found.sentence.terms if start <= t.start < end and t.weight >= 0.4]


def _comparable(claim: Measure, found: Measure) -> bool:
    """Whether one might stand in the place of the other."""
    if claim.dated or found.dated:
        return claim.dated and found.dated and dates_clash(claim, found)
    if "" in (claim.kind, found.kind) and claim.kind != found.kind:
        small = claim.spoken and max(claim.bare, found.bare) > 20
        return {claim.kind, found.kind} <= {"", "count", "people"} and claim.bare >= 3 and not small
    return claim.family == found.family


def _scaled(one: Measure, other: Measure, least: int = 3) -> bool:
    """Whether two figures have the same digits, `least` or more, in units of another size."""
    digits = [f"{m.bare:.10e}".partition("e")[0].replace(".", "").strip("0") for m in (one, other)]
    return (
        not one.dated
        and digits[0] == digits[1]
        and len(digits[0]) >= least
        and not _same(one.low, other.low)
    )


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * max(abs(one), abs(other))


def _misread(one: Measure, other: Measure) -> bool:
    """Whether two numbers are of the same digits but for one, or for their order."""
    if one.dated and other.dated and None not in one.parts[1:] + other.parts[1:]:
        return (one.parts[1] == other.parts[1]) != (one.parts[2] == other.parts[2])
    first, second = (f"{measure.bare:g}".replace(".", "") for measure in (one, other))
    if len(first) != len(second) or len(first) < 2:
        return False
    return sorted(first) == sorted(second) or sum(a != b for a, b in zip(first, second, strict=True)) == 1  # fmt: skip


def _likeness(claim: dict[str, float], found: dict[str, float]) -> float:
    """How much of the words around a figure stands around another, from 0 to 1."""
    total = sum(claim.values())
    if not total:
        return 0.0
    return sum(min(weight, found.get(key, 0.0)) for key, weight in claim.items()) / total
