"""Items of news into stories: one event, told by one outlet or many.

Two levels: one address is one item; items that tell of one event, in one language or two, are one
story. Groups are joined if the mean chance of their pairs is enough and none of them is out of the
question, so that no chain of similar pieces unites two events. The result does not depend on the order
of the items. Knows no clock and no source.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations, product
from typing import TypeVar

from research.core.records import Record, fingerprint
from research.core.text.copies import near_copies, shingles
from research.core.text.published import Moment
from research.core.text.sentences import ends
from research.core.urls import canonical_url, url_identity
from research.sources.news.article import Article, host
from research.sources.news.copies import READ, independent
from research.sources.news.pieces import Piece, Pieces, kind, piece
from research.sources.news.titles import key, presented, stripped

LASTS = 7  # days between two pieces, from which they are of two events of the kind
ENOUGH = 0.25  # the mean chance of the pairs of two groups, from which they are one story
SURE = 0.9  # the chance of two pieces of which one is a copy
LEAST = 0.02  # the chance that each pair of a story has
BARE = 0.1  # the same for two pieces of one language of which one has no text
CHECKED = 20  # headlines of each of two groups that are compared, at most
BUCKET = 60  # pieces that share a word and are all compared; of more, neighbours only
WINDOW = 12
FEATURES = 14  # the rarest words of a piece, by which it finds others

T = TypeVar("T")


class Story(Record):
    """One event as it was told.

    `items` are its pieces, one for each address, the earliest first; `indexes` their places in the
    list that was grouped, those of a repeated address included. `independent` counts the pieces that
    are no copies: of each agency, each outlet and each text only one.
    """

    id: str
    headline: str
    items: tuple[Article, ...]
    indexes: tuple[int, ...] = ()
    outlets: tuple[str, ...] = ()
    independent: int = 1
    earliest: Moment | None = None
    latest: Moment | None = None


def stories(items: Sequence[Article]) -> tuple[Story, ...]:
    """The stories of some items, the latest first and those without a date last."""
    units = _units(items)
    groups = _Groups(units).found()
    made = [_story([units[at] for at in group], items) for group in groups]
    return tuple(sorted(made, key=_rank))


def _rank(story: Story) -> tuple[float, int, str, str]:
    latest = story.latest.at.timestamp() if story.latest else -math.inf
    return (-latest, -len(story.items), story.headline, story.id)


# One address, one headline


@dataclass(frozen=True)
class _Unit:
    """What is one beyond doubt: items of one address, or of one headline at one time."""

    shown: str
    key: tuple[str, str]
    members: tuple[int, ...]
    days: tuple[int, ...]  # sorted ordinals
    text: str

    @cached_property
    def piece(self) -> Piece:
        return piece(self.shown, self.text)

    @cached_property
    def grams(self) -> frozenset[int]:
        return shingles(self.text[:READ])


def _units(items: Sequence[Article]) -> list[_Unit]:
    by_address: dict[str, list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        by_address[_address(item) or f"\x00{at}"].append(at)
    by_title: dict[str, list[list[int]]] = defaultdict(list)
    alone: list[list[int]] = []
    for members in by_address.values():
        head = key(_head(items, members))
        (by_title[head] if head else alone).append(members)
    units = [_unit(items, group) for group in alone]
    for same in by_title.values():
        units += [_unit(items, group) for group in _in_time(items, same)]
    return sorted(units, key=lambda unit: (unit.key[0], unit.days, unit.key))


def _address(item: Article) -> str:
    """The address of a piece; that of a whole site is none."""
    own = url_identity(item.url)
    return own if re.search(r"[^/:]/+[^/]|\?", own) else ""


def _head(items: Sequence[Article], members: Iterable[int]) -> str:
    """The headline of some items of one address: the commonest, or how the text begins."""
    titles = Counter(_titled(items[at]) for at in members)
    title, outlet = min(titles, key=lambda t: (not t[0], -titles[t], -len(t[0]), t))
    return stripped(title, outlet)


def _titled(item: Article) -> tuple[str, str]:
    title = " ".join(item.title.split())[:300]
    if title:
        return title, item.outlet
    text = " ".join(item.text[:400].split())
    return text[: next(ends(text, 0, 120), 120)], ""


def _in_time(items: Sequence[Article], groups: list[list[int]]) -> Iterator[list[int]]:
    """Groups of one headline, parted where days pass: a forecast is issued anew every week."""
    dated = sorted((d[0], min(g), g) for g in groups if (d := _days(items, g)))
    undated = [at for group in groups if not _days(items, group) for at in group]
    current = undated
    last: int | None = None
    for day, _, group in dated:
        if last is not None and day - last >= LASTS:
            yield current
            current = []
        current = current + group
        last = max(_days(items, current))
    if current:
        yield current


def _days(items: Sequence[Article], members: Iterable[int]) -> list[int]:
    return sorted(p.toordinal() for at in members if (p := items[at].published))


def _unit(items: Sequence[Article], members: list[int]) -> _Unit:
    text = max((items[at].text for at in members), key=lambda t: (len(t), t))
    keys = (f"{items[at].url}\x1f{items[at].outlet}\x1f{items[at].title}" for at in members)
    shown = _head(items, members)
    return _Unit(
        shown,
        (key(shown), min(keys)),
        tuple(sorted(members)),
        tuple(_days(items, members)),
        text[:4000],
    )


# Pieces into groups


class _Groups:
    """Average linkage over the pairs that share rare words, the likest first."""

    def __init__(self, units: list[_Unit]) -> None:
        self._units = units
        self._pieces = Pieces([unit.piece for unit in units])
        self._known: dict[tuple[int, int], float] = {}

    def found(self) -> list[tuple[int, ...]]:
        """The groups, as places in the list of units."""
        group: dict[int, tuple[int, ...]] = {at: (at,) for at in range(len(self._units))}
        for first, second in self._likest():
            one, other = group[first], group[second]
            if one is not other and self._fit(one, other):
                joined = tuple(sorted(one + other))
                group.update(dict.fromkeys(joined, joined))
        return sorted(set(group.values()))

    def _likest(self) -> list[tuple[int, int]]:
        scored = [(-self._chance(*pair), pair) for pair in self._sharing()]
        return [pair for chance, pair in sorted(scored) if -chance >= ENOUGH]

    def _sharing(self) -> list[tuple[int, int]]:
        """The pairs worth comparing: they have two of their rarest words, names or figures in common."""
        titles = _sharing([unit.piece.title for unit in self._units], self._pieces.rare)
        return sorted({*titles, *_sharing(self._pieces.shared, self._pieces.rarity)})

    def _chance(self, first: int, second: int) -> float:
        pair = (first, second) if first < second else (second, first)
        if pair not in self._known:
            self._known[pair] = self._compared(*pair)
        return self._known[pair]

    def _compared(self, first: int, second: int) -> float:
        """The chance that two units are one event."""
        one, other = self._units[first], self._units[second]
        apart = _apart(one.days, other.days)
        if apart >= LASTS:
            return 0.0
        days = float(apart) if one.days and other.days else None
        chance = self._pieces.chance(first, second, days)
        if one.grams and other.grams and near_copies(one.grams, other.grams):
            return max(chance, SURE)
        return 0.0 if chance < BARE and kind(one.piece, other.piece) == "titles" else chance

    def _fit(self, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        chances = []
        for a, b in product(one[:CHECKED], other[:CHECKED]):
            chances.append(self._chance(a, b))
            if chances[-1] < LEAST:
                return False
        return sum(chances) >= ENOUGH * len(chances)


def _apart(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Days between the nearest of two sorted lists; 0 where one has none."""
    if not one or not other:
        return 0
    gaps = []
    for day in one:
        at = bisect_left(other, day)
        gaps += [abs(day - near) for near in other[max(0, at - 1) : at + 1]]
    return min(gaps)


def _sharing(
    spelt: Sequence[Iterable[T]], rarity: Callable[[T], float]
) -> Iterator[tuple[int, int]]:
    """The pairs that have two of their rarest words in common, or one where there is but one."""
    index: dict[T, list[int]] = defaultdict(list)
    sizes = []
    for at, own in enumerate(spelt):
        rarest = sorted(own, key=lambda word: (-rarity(word), word))[:FEATURES]
        sizes.append(len(rarest))
        for word in rarest:
            index[word].append(at)
    shared: Counter[tuple[int, int]] = Counter()
    for bucket in index.values():
        if len(bucket) <= BUCKET:
            shared.update(combinations(bucket, 2))
        else:  # units are sorted by their headlines: near-copies lie near each other
            for i, first in enumerate(bucket):
                shared.update((first, second) for second in bucket[i + 1 : i + 1 + WINDOW])
    return (pair for pair, n in shared.items() if n >= min(2, sizes[pair[0]], sizes[pair[1]]))


# A story of its units


def _story(units: list[_Unit], items: Sequence[Article]) -> Story:
    indexes = sorted(at for unit in units for at in unit.members)
    merged = _merged([items[at] for at in indexes])
    dated = [item.moment for item in merged if item.moment]
    names = {outlet_of(item): None for item in merged}
    return Story(
        id=_id(merged),
        headline=_representative(units, items),
        items=tuple(merged),
        indexes=tuple(indexes),
        outlets=tuple(name for name in names if name),
        independent=independent(merged, [outlet_of(item) for item in merged]),
        earliest=min(dated, default=None),
        latest=max(dated, default=None),
    )


def outlet_of(item: Article) -> str:
    """Who published an item: its outlet, or the host of its address."""
    if item.outlet.strip():
        return " ".join(item.outlet.split())
    return host(canonical_url(item.url))


def _merged(items: Sequence[Article]) -> list[Article]:
    """One item for each address, with what any of them knows; the earliest first."""
    groups: dict[str, list[Article]] = defaultdict(list)
    for at, item in enumerate(items):
        groups[_address(item) or f"\x00{at}"].append(item)
    made = [_one(group) if len(group) > 1 else group[0] for group in groups.values()]
    return sorted(
        made, key=lambda item: (_when(item), item.url, item.outlet, item.title, item.text)
    )


def _one(same: list[Article]) -> Article:
    dated = sorted((item for item in same if item.published), key=lambda i: (_when(i), i.published_text))  # fmt: skip
    first = dated[0] if dated else max(same, key=lambda i: i.published_text)

    def longest(name: str) -> str:
        return str(max((getattr(item, name) for item in same), key=lambda s: (len(s), s)))

    return Article(
        **{name: longest(name) for name in ("title", "outlet", "text", "image", "provider")},
        url=min(item.url for item in same),
        published=first.published,
        day_only=first.day_only,
        published_text=first.published_text,
        outside=all(item.outside for item in same),
        seen=min((item.seen for item in same if item.seen), default=None),
        score=max((item.score for item in same if item.score is not None), default=None),
        refs=tuple(dict.fromkeys(ref for item in same for ref in item.refs)),
    )


_NEVER = datetime.max.replace(tzinfo=UTC)


def _when(item: Article) -> tuple[datetime, bool]:
    return (item.published or _NEVER, item.day_only)


def _id(merged: Sequence[Article]) -> str:
    """Made of the earliest item, which later ones do not replace."""
    first = min(merged, key=lambda i: (_when(i), _address(i), i.title, i.outlet))
    own = _address(first) or f"{key(stripped(first.title, first.outlet))}\x1f{first.outlet}"
    return "s" + fingerprint(own, str(first.published or "") if not own.strip("\x1f") else "")


def _representative(units: list[_Unit], items: Sequence[Article]) -> str:
    """The headline that is most like the others; of equals the earliest, then the first by letters."""
    told = [unit for unit in units if unit.shown][:CHECKED]
    if not told:
        return ""

    def rank(unit: _Unit) -> tuple[float, int, str]:
        near = sum(_alike(unit.piece.title, o.piece.title) * len(o.members) for o in told)
        return (-near, min(unit.days, default=10**9), unit.key[0])

    best = min(told, key=rank)
    titles = [_titled(items[at]) for at in best.members]
    own = [pair for pair in titles if key(stripped(*pair)) == best.key[0]]
    return presented(*min(own)) if own else best.shown


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one & other else 0.0
