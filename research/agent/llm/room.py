"""What of the material is shown where there is no room for all of it, and how a long text is shortened.

The texts of a query are worth more the more of its words they have, each weighted by how rare it is
among them; those with the same keep the order of the search. One of each query is taken after the
other, what is old last of all, and none gets more than its share until all have one. Lengths are in tokens, as estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log

from research.core.text.sentences import ends as sentence_ends
from research.core.text.words import HAN
from research.models.counting import tokens

SHARES = 12  # texts, at least, that the room is divided among, if there are so many
LEAST, MOST = 150, 1_200  # tokens of a share, as far as the room allows
CUT = "[…]"  # stands where a text goes on that a prompt does not show
_BEFORE = 300  # characters before a word in which its sentence is looked for
_HITS = 40  # places of a word in a text
_WORD = re.compile(rf"[^\W{HAN}]")  # of a word that is written apart from others


@dataclass(frozen=True)
class Item:
    """A text, the group that it belongs to, and the tokens that it takes as a whole. One that is
    `old` has to make room for all others."""

    group: int
    text: str
    cost: int
    old: bool = False


def picked(
    items: Sequence[Item],
    titles: Sequence[int],
    wanted: Sequence[Mapping[str, float]],
    room: int,
) -> tuple[list[int], int]:
    """The places of the items that have room, the most useful first, and the tokens that each of them
    may take. A group that has any takes its title too; `wanted` are the words that it is asked for.
    """
    order = list(range(len(items)))
    if sum(titles[at] for at in {one.group for one in items}) + sum(i.cost for i in items) > room:
        order = _by_worth(items, wanted)
    share = max(LEAST, min(MOST, room // SHARES))
    taken: list[int] = []
    begun: set[int] = set()
    used = 0
    for n in order:
        one = items[n]
        cost = min(one.cost, share) + (0 if one.group in begun else titles[one.group])
        if used + cost <= room:
            used += cost
            begun.add(one.group)
            taken.append(n)
    return taken, level([items[n].cost for n in taken], room - sum(titles[at] for at in begun))


def level(costs: Sequence[int], room: int) -> int:
    """The most that each may take so that all of them together take no more than `room`."""
    left = room
    for n, cost in enumerate(sorted(costs)):
        if cost * (len(costs) - n) > left:
            return left // (len(costs) - n)
        left -= cost
    return max(costs, default=0)


def _by_worth(items: Sequence[Item], wanted: Sequence[Mapping[str, float]]) -> list[int]:
    worths = _worths(items, wanted)
    groups: dict[int, list[int]] = {}
    for n in sorted(range(len(items)), key=lambda n: (-worths[n], n)):
        groups.setdefault(items[n].group, []).append(n)
    ranked = [
        (items[n].old, rank, at, n) for at, group in groups.items() for rank, n in enumerate(group)
    ]
    return [n for *_, n in sorted(ranked)]


def _worths(items: Sequence[Item], wanted: Sequence[Mapping[str, float]]) -> list[float]:
    texts = [one.text.lower() for one in items]
    rare: dict[str, float] = {}
    for word in {word for words in wanted for word in words}:
        rare[word] = log(1 + len(texts) / (1 + sum(word in text for text in texts)))
    return [
        sum(
            tells * rare[word] * (1 + min(text.count(word), 9) / 10)
            for word, tells in wanted[one.group].items()
            if word in text
        )
        for one, text in zip(items, texts, strict=True)
    ]


# Shortening


def excerpt(text: str, room: int, wanted: Mapping[str, float]) -> str:
    """The stretch of a text of at most `room` tokens that has most of the wanted words, from the
    beginning of a sentence; the first of several. A text that fits is whole."""
    size = tokens(text)
    if size <= room:
        return text
    most = max(1, (room - 2 * tokens(CUT)) * len(text) // size)
    start = _best(text, most, wanted)
    while True:
        part = (f"{CUT} " if start else "") + cut(text[start:], most)
        if tokens(part) <= room or most == 1:
            return part
        most = max(1, most * 4 // 5)


def _best(text: str, most: int, wanted: Mapping[str, float]) -> int:
    """Where the stretch of `most` characters begins that has most of the wanted words."""
    lower, best, start = text.lower(), 0.0, 0
    for place in sorted({hit for word in wanted for hit in _places(word, lower)}):
        begin = _sentence(text, place)
        part = lower[begin : begin + most]
        worth = sum(tells for word, tells in wanted.items() if word in part)
        if worth > best:
            best, start = worth, begin
    return start


def _places(word: str, text: str) -> Iterator[int]:
    """Where a text has a word, the first places."""
    at = text.find(word)
    for _ in range(_HITS):
        if at < 0:
            return
        yield at
        at = text.find(word, at + len(word))


def _sentence(text: str, place: int) -> int:
    """Where the sentence begins that a place is in, if that is not far before it."""
    start = max(0, place - _BEFORE)
    ends = [*sentence_ends(text, start, place), text.rfind("\n", start, place) + 1]
    if not (end := max(ends)):
        return 0 if place <= _BEFORE else place
    rest = text[end:place]
    return end + len(rest) - len(rest.lstrip())


def cut(text: str, most: int) -> str:
    """At most `most` characters of a text and a mark of what was cut off: whole sentences, if they are
    the better half of it, else whole words where those are written apart."""
    if len(text) <= most:
        return text
    ends = [*sentence_ends(text, most // 2, most), text.rfind("\n", most // 2, most) + 1]
    kept = text[: max(ends)] if max(ends) else _whole_words(text, most)
    return f"{kept.rstrip()} {CUT}"


def _whole_words(text: str, most: int) -> str:
    if not (_WORD.match(text[most - 1]) and _WORD.match(text[most])):
        return text[:most]
    start = most
    while start and _WORD.match(text[start - 1]):
        start -= 1
    return text[:start] if text[:start].strip() else text[:most]
