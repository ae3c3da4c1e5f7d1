"""Whether two headlines tell of one event: how much they share, and what rules it out.

Shares count by what a word tells (its part of speech, its rarity in the collection at hand). Ruled out
are other figures of the same unit, opposite events, other places, names and dates in the same slot.
Knows pairs only; `research.news.stories` makes groups of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz.distance import Indel, Opcode

from research.news import words
from research.news.counts import clash
from research.news.headlines import Headline, Token

THRESHOLD = 0.48  # of the share of what is told, 0 to 1, from which two headlines are one story
_TURNS = frozenset({"cancel", "deny"})  # they turn the meaning of what follows
TOLL = frozenset({"die", "hurt", "missing", "rescue", "leave"})
Weigh = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Likeness:
    """`score` from 0 to 1; `against` says what makes them different stories, "" if nothing does."""

    score: float
    against: str = ""

    @property
    def same(self) -> bool:
        return not self.against and self.score >= THRESHOLD


def usual(_: str) -> float:
    """The weight of a word where there is no collection to judge its rarity by."""
    return 1.0


def likeness(one: Headline, other: Headline, weigh: Weigh = usual) -> Likeness:
    """Compares two headlines; the order does not matter."""
    if not one.plain or not other.plain:
        return Likeness(0.0, "no headline")
    if one.plain == other.plain:
        return Likeness(1.0)
    if (one.plain, one.shown) > (other.plain, other.shown):
        one, other = other, one
    if _figures_clash(one, other):
        return Likeness(0.0, "figures")
    mine = [covered(token, other) for token in one.tokens]
    theirs = [covered(token, one) for token in other.tokens]
    score = _score(one, other, mine, theirs, weigh)
    if score < THRESHOLD - 0.2:
        return Likeness(score)
    return Likeness(score, against(one, other, mine, theirs))


def _score(
    one: Headline, other: Headline, mine: list[float], theirs: list[float], weigh: Weigh
) -> float:
    left, right = _share(one.tokens, mine, weigh), _share(other.tokens, theirs, weigh)
    figures = _figures(one, other)
    letters = Indel.normalized_similarity(one.plain, other.plain)
    low, high = min(left, right), max(left, right)
    shared = 0.55 * low + 0.45 * high
    told = min(one.weight, other.weight)
    if told < 1.5:  # too little is said: only nearly the same words are the same
        return letters
    return min(1.0, max(0.9 * letters if letters > 0.6 else 0.0, shared) + figures)


def _share(tokens: tuple[Token, ...], cover: list[float], weigh: Weigh) -> float:
    whole = sum(token.weight * weigh(token.text) for token in tokens)
    part = sum(t.weight * weigh(t.text) * share for t, share in zip(tokens, cover, strict=True))
    return part / whole if whole else 0.0


def _figures(one: Headline, other: Headline) -> float:
    """What it adds that both have the same telling figure."""
    mine = {(q.unit, q.value) for q in one.figures if q.value > 2}
    theirs = {(q.unit, q.value) for q in other.figures if q.value > 2}
    return min(0.2, 0.1 * len(mine & theirs))


def covered(token: Token, other: Headline) -> float:
    """How far another headline says what a word says, 0 to 1."""
    if token.text in other.texts:
        return 1.0
    han = token.text >= "\u2e80"
    if han and token.text in other.plain:
        return 1.0
    if token.kind == "place":
        near = any(t.kind == "place" and words.related(token.text, t.text) for t in other.tokens)
        return 0.9 if near else 0.0
    if token.concepts & other.concepts:
        return 0.85
    if han:
        return _partly(token, other)
    if token.text in other.initials:
        return 0.8
    return 0.8 if len(token.text) > 3 and _kin(token.text, other.texts) else 0.0


def _partly(token: Token, other: Headline) -> float:
    """A short form (国图 of 国家图书馆), or characters in common (闭馆, 馆)."""
    text = token.text
    letters = sum([char in other.characters for char in text]) / len(text)
    if not letters:
        return 0.0
    if len(text) == 2:
        at = other.plain.find(text[0]) if letters == 1 else -1
        if at >= 0 and text[1] in other.plain[at + 2 : at + 5]:
            return 0.8
    elif any(len(t) == 2 and t[0] == text[0] and t[1] in text[1:] for t in other.texts):
        return 0.8
    if token.kind in ("name", "place"):
        return 1.0 if any(len(t) > 1 and t in text for t in other.texts if t >= "\u2e80") else 0.0
    there = sum([text[i : i + 2] in other.plain for i in range(len(text) - 1)]) / max(
        1, len(text) - 1
    )
    return max(there, 0.5 * letters if letters >= 0.5 else 0.0)


@lru_cache(50_000)
def _prefix(one: str, other: str) -> bool:
    size = min(len(one), len(other))
    if size == 4:
        return one[:4] == other[:4] and abs(len(one) - len(other)) <= 3
    return size > 4 and one[: max(5, size - 1)] == other[: max(5, size - 1)]


def _kin(text: str, texts: frozenset[str]) -> bool:
    """Whether another word begins the same: announce and announcement, Berlin and Berlinale."""
    return any(_prefix(text, word) for word in texts)


# What rules it out


def against(one: Headline, other: Headline, mine: list[float], theirs: list[float]) -> str:
    """Why two headlines that share words are of different events, or ""."""
    if _contests(one, other):
        return "roles"
    if _opposite(one, other):
        return "opposite"
    if _denies(one, other) or _denies(other, one) or _ends(one, other, mine, theirs):
        return "negation"
    if _counter(one, other):
        return "counterpart"
    if _names(one, other, mine, theirs):
        return "names"
    if _slot(one, other, mine, theirs):
        return "slot"
    return ""


def _figures_clash(one: Headline, other: Headline) -> bool:
    """Whether both have figures of a unit that cannot be the same. The number of victims may: it grows
    while an event is told."""
    if one.units.isdisjoint(other.units):
        return False
    toll = bool(one.concepts & other.concepts & TOLL)
    return bool(clash(one.figures, other.figures) - ({"people"} if toll else set()))


def _opposite(one: Headline, other: Headline) -> bool:
    mine, theirs = one.concepts - other.concepts, other.concepts - one.concepts
    # To cancel a closure is to open, so that only what is said of the cancelling itself counts.
    turned = bool(one.concepts & _TURNS) != bool(other.concepts & _TURNS)
    for first in mine:
        for second in theirs:
            pair = frozenset((first, second))
            if turned and not pair & _TURNS:
                continue
            if pair in words.OPPOSED and not (pair == {"win", "lose"} and _roles(one, other) > 0):
                return True
    return _turned(one, other)


def _turned(one: Headline, other: Headline) -> bool:
    """Whether both rise and fall are in both, but of other things: oil up and output down is not oil
    down and output up."""
    for pair in ({"rise", "fall"}, {"open", "close"}, {"win", "lose"}):
        if not (pair <= one.concepts and pair <= other.concepts):
            continue
        shared = [t.text for t in one.tokens if not t.concepts and t.text in other.texts]
        ways = [(_next(one, text, pair), _next(other, text, pair)) for text in shared]
        told = [a == b for a, b in ways if a and b]
        if told and not any(told):
            return True
    return False


def _next(headline: Headline, text: str, pair: set[str]) -> str:
    """Which of two concepts follows a word first."""
    texts = [token.text for token in headline.tokens]
    for token in headline.tokens[texts.index(text) + 1 :]:
        if len(found := token.concepts & pair) == 1:
            return min(found)
    return ""


def _roles(one: Headline, other: Headline) -> int:
    """Of two headlines with a winner and a loser: 1 if both have the same winner, -1 if not, 0 if it
    cannot be told."""
    shared = [t.text for t in one.tokens if t.text in other.texts and not t.concepts]
    if len(shared) < 2:
        return 0
    order = [t.text for t in other.tokens if t.text in shared]
    swapped = order[0] != shared[0]
    flips = _lost(one) != _lost(other)
    return 1 if swapped == flips else -1


def _lost(headline: Headline) -> bool:
    """Whether the one named first is the loser."""
    passive = "被" in headline.shown or re.search(r"\bby\b", headline.shown) is not None
    return ("lose" in headline.concepts and "win" not in headline.concepts) != passive


def _contests(one: Headline, other: Headline) -> bool:
    both = all(h.concepts & {"win", "lose"} for h in (one, other))
    names = sum(t.kind in ("name", "place", "noun", "loose") for t in one.tokens) > 1
    scored = any(q.unit == "score" for q in (*one.figures, *other.figures))
    return both and names and scored and _roles(one, other) < 0


def _denies(one: Headline, other: Headline) -> bool:
    """Whether one negates what the other says plainly."""
    if not one.negated or other.negated:
        return False
    return any(
        word in other.texts
        if word.isascii()
        else any(word[i : i + 2] in other.plain for i in range(len(word) - 1))
        for word in one.negated
    )


def _ends(one: Headline, other: Headline, mine: list[float], theirs: list[float]) -> bool:
    """Whether one says the other, and that it ends, is cancelled or is denied."""
    turn = (one.concepts ^ other.concepts) & {"cancel", "deny", "end"}
    return bool(turn) and all(
        cover >= 0.5 or token.concepts & turn or token.weight <= 0.3
        for headline, covers in ((one, mine), (other, theirs))
        for token, cover in zip(headline.tokens, covers, strict=True)
    )


def _counter(one: Headline, other: Headline) -> bool:
    mine, theirs = one.counters - other.counters, other.counters - one.counters
    return any(words.COUNTERS[word] & theirs for word in mine)


def _names(one: Headline, other: Headline, mine: list[float], theirs: list[float]) -> bool:
    """Whether both name something of a kind, and nothing of it is the same."""
    for kinds in (("name",), ("place",)):
        left = [(t, c) for t, c in zip(one.tokens, mine, strict=True) if t.kind in kinds]
        right = [(t, c) for t, c in zip(other.tokens, theirs, strict=True) if t.kind in kinds]
        if left and right and not any(c for _, c in left) and not any(c for _, c in right):
            return True
        if any(c for _, c in left):  # the same person may be told of by two places
            break
    quoted = one.quoted and other.quoted
    if quoted and not any(a in other.plain for a in one.quoted):
        return not any(b in one.plain for b in other.quoted)
    return False


def _slot(one: Headline, other: Headline, mine: list[float], theirs: list[float]) -> bool:
    """Whether the headlines are one sentence in which something is replaced by something else.

    Names that replace each other always tell two events apart; other things only in a sentence that
    is mostly the same, because they have synonyms; any words if nothing else differs.
    """
    left = [(t, c) for t, c in zip(one.tokens, mine, strict=True) if t.weight > 0.3]
    right = [(t, c) for t, c in zip(other.tokens, theirs, strict=True) if t.weight > 0.3]
    codes = Indel.opcodes([_key(t, c) for t, c in left], [_key(t, c) for t, c in right])
    equal = sum(t.weight for code in codes if code.tag == "equal" for t, _ in left[code.src_start : code.src_end])  # fmt: skip
    least = min(sum(t.weight for t, _ in left), sum(t.weight for t, _ in right))
    blocks = [(left[a:b], right[c:d]) for (a, b), (c, d) in _changes(codes)]
    replaced = [(a, b) for a, b in blocks if a and b]
    added = sum(t.weight for a, b in blocks if not (a and b) for t, _ in a + b)
    alone = len(replaced) == 1 and equal >= 0.7 and added <= 0.3 * equal
    for before, after in replaced:
        gone, come = [t for t, c in before if c < 0.5], [t for t, c in after if c < 0.5]
        size = max(len(before), len(after))
        if size > 3 or not gone or not come or _aside(before, after, left, right):
            continue
        if any(_akin(a, b) for a in gone for b in come):
            continue
        kinds = [{t.kind for t in side} for side in (gone, come)]
        named = all(kind & _NAMES for kind in kinds) and equal >= 0.4 * least
        things = (
            all(kind & _THINGS for kind in kinds) and equal >= (0.5 if one.chinese else 0.6) * least
        )
        framed = (
            before[0] is not left[0] and after[-1] is not right[-1] and before[-1] is not left[-1]
        )
        whole = len(gone) == len(before) and len(come) == len(after)
        if (
            (alone and size <= 2 and (_alike(kinds) or (framed and whole)))
            or named
            or (things and size <= (2 if one.chinese else 1))
        ):
            return True
    return False


def _alike(kinds: list[set[str]]) -> bool:
    """Whether things stand for things, or doings for doings."""
    return bool(kinds[0] & _THINGS) == bool(kinds[1] & _THINGS)


_NAMES = frozenset({"name", "place", "loose"})  # unknown Chinese names are loose characters
_THINGS = frozenset({"name", "place", "noun", "loose"})
_Cover = tuple[Token, float]


def _aside(
    before: list[_Cover], after: list[_Cover], left: list[_Cover], right: list[_Cover]
) -> bool:
    """Whether what differs is all of a further clause of both headlines: other details."""
    return all(
        block[0][0].clause > 0
        and {id(t) for t, _ in block} >= {id(t) for t, _ in whole if t.clause >= block[0][0].clause}
        for block, whole in ((before, left), (after, right))
    )


def _changes(codes: Iterable[Opcode]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The stretches that differ, those that touch each other as one."""
    out: list[tuple[tuple[int, int], tuple[int, int]]] = []
    joins = False
    for code in codes:
        if code.tag != "equal":
            here = ((code.src_start, code.src_end), (code.dest_start, code.dest_end))
            if joins:
                here = ((out[-1][0][0], here[0][1]), (out[-1][1][0], here[1][1]))
                out.pop()
            out.append(here)
        joins = code.tag != "equal"
    return out


def _key(token: Token, cover: float) -> str:
    """Words that say the same, other than by their letters, are equal in a sentence too."""
    if cover >= 0.8 and token.concepts:
        return min(token.concepts)
    return token.text


def _akin(one: Token, other: Token) -> bool:
    """Whether two words may mean one thing, as far as it can be seen.

    Chinese words that share more than their last character (景区, 景点) are taken for synonyms, those
    that share how they end alone (巴西队, 泰国队) for two of a class. Names are akin only if one is in
    the other.
    """
    if one.concepts & other.concepts:
        return True
    if one.text.isascii() or other.text.isascii():
        return _kin(one.text, frozenset({other.text}))
    if "place" in (one.kind, other.kind):
        return words.related(one.text, other.text) or (
            one.kind != other.kind and one.text[0] == other.text[0]
        )
    if one.kind == other.kind == "name":
        return one.text in other.text or other.text in one.text
    return bool(set(one.text) & set(other.text)) and not _class(one.text, other.text)


def _class(one: str, other: str) -> bool:
    """Whether two words share nothing but how they end: 欧洲央行, 英国央行."""
    size = 0
    while size < min(len(one), len(other)) and one[-1 - size] == other[-1 - size]:
        size += 1
    return size > 0 and not set(one[: len(one) - size]) & set(other[: len(other) - size])
