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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations

from research.news.alike import Likeness, likeness
from research.news.article import Article, host
from research.news.copies import independent, near_copies, shingles
from research.news.dates import Moment
from research.news.headlines import Headline, parsed, presented, stripped
from research.news.pieces import Piece, Pieces, piece
from research.records import Record, fingerprint
from research.urls import canonical_url, url_identity

LASTS = 7  # days between two pieces, from which equal headlines are another event of the kind
ENOUGH = 0.25  # the mean chance of the pairs of two groups, from which they are one story
SURE = 0.9  # the chance of what the rules call one
LEAST = 0.02  # the chance that each pair of a story has
SOFT = frozenset({"slot"})  # reasons that a third of a story's pairs may have against them
CHECKED = 20  # headlines of each of two groups that are compared, at most
BUCKET = 60  # headlines that share a feature and are all compared; of more, neighbours only
WINDOW = 12
FEATURES = 14  # the rarest ones of a headline, by which it finds others
FEW = 30  # headlines, below which rarity says nothing


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

    headline: Headline
    members: tuple[int, ...]
    days: tuple[int, ...]  # sorted ordinals
    text: str
    key: str

    @cached_property
    def piece(self) -> Piece:
        return piece(self.headline.shown, self.text)

    @cached_property
    def grams(self) -> frozenset[int]:
        return shingles(self.text)


def _units(items: Sequence[Article]) -> list[_Unit]:
    by_address: dict[str, list[int]] = defaultdict(list)
    for at, item in enumerate(items):
        by_address[_address(item) or f"\x00{at}"].append(at)
    by_title: dict[str, list[list[int]]] = defaultdict(list)
    alone: list[list[int]] = []
    for members in by_address.values():
        head = _head(items, members).plain
        (by_title[head] if head else alone).append(members)
    units = [_unit(items, group) for group in alone]
    for same in by_title.values():
        units += [_unit(items, group) for group in _in_time(items, same)]
    return sorted(units, key=lambda unit: (unit.headline.plain, unit.days, unit.key))


def _address(item: Article) -> str:
    """The address of a piece; that of a whole site is none."""
    key = url_identity(item.url)
    return key if re.search(r"[^/:]/+[^/]|\?", key) else ""


def _head(items: Sequence[Article], members: Iterable[int]) -> Headline:
    """The headline of some items of one address: the commonest, or how the text begins."""
    titles = Counter(_titled(items[at]) for at in members)
    title, outlet = min(titles, key=lambda t: (not t[0], -titles[t], -len(t[0]), t))
    return parsed(title, outlet)


def _titled(item: Article) -> tuple[str, str]:
    title = " ".join(item.title.split())[:300]
    if title:
        return title, item.outlet
    first = re.split(r"(?<=[。！？!?])|(?<=\.)\s", " ".join(item.text[:400].split()), maxsplit=1)[0]
    return first[:120], ""


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
    return _Unit(
        _head(items, members), tuple(sorted(members)), tuple(_days(items, members)), text[:4000], min(keys)
    )  # fmt: skip


# Headlines into groups


class _Groups:
    """Complete linkage over the pairs that share rare features, the likest first."""

    def __init__(self, units: list[_Unit]) -> None:
        self._units = units
        self._pieces = Pieces([unit.piece for unit in units])
        self._known: dict[tuple[int, int], Likeness] = {}
        counts = Counter(text for unit in units for text in unit.headline.texts)
        whole = math.log(len(units) + 1)
        self._rare = {
            text: min(1.0, max(0.35, 1.25 * math.log((len(units) + 1) / n) / whole))
            for text, n in counts.items()
        } if len(units) >= FEW else {}  # fmt: skip

    def found(self) -> list[tuple[int, ...]]:
        """The groups, as places in the list of units."""
        group: dict[int, tuple[int, ...]] = {at: (at,) for at in range(len(self._units))}
        for first, second in self._pairs():
            one, other = group[first], group[second]
            if one is not other and self._fit(one, other):
                joined = tuple(sorted(one + other))
                group.update(dict.fromkeys(joined, joined))
        return sorted(set(group.values()))

    def _pairs(self) -> list[tuple[int, int]]:
        pairs = {*_candidates([unit.headline for unit in self._units]), *self._sharing()}
        scored = [(self._alike(*pair), pair) for pair in pairs]
        good = [(-like.score, pair) for like, pair in scored if like.score >= ENOUGH]
        return [pair for _, pair in sorted(good) if self._alike(*pair).against in ("", *SOFT)]

    def _sharing(self) -> Iterator[tuple[int, int]]:
        """The pairs that have two of their rarest names, figures or words of both languages in common."""
        index: dict[tuple[str, str], list[int]] = defaultdict(list)
        for at, own in enumerate(self._pieces.shared):
            for token in sorted(own, key=lambda t: (-self._pieces.rarity(t), t))[:FEATURES]:
                index[token].append(at)
        shared = Counter(
            pair
            for bucket in index.values()
            if len(bucket) <= BUCKET
            for pair in combinations(bucket, 2)
        )
        return (pair for pair, n in shared.items() if n > 1)

    def _alike(self, first: int, second: int) -> Likeness:
        pair = (first, second) if first < second else (second, first)
        if pair not in self._known:
            self._known[pair] = self._compared(*pair)
        return self._known[pair]

    def _compared(self, first: int, second: int) -> Likeness:
        """The chance that two units are one event. Where one has no text and both are in one language, the
        rules for headlines may rule it out, or say that they are one."""
        one, other = self._units[first], self._units[second]
        apart = _apart(one.days, other.days)
        if apart >= LASTS:
            return Likeness(0.0, "days")
        days = float(apart) if one.days and other.days else None
        chance = self._pieces.chance(first, second, days)
        if one.grams and other.grams and near_copies(one.grams, other.grams):
            return Likeness(max(chance, SURE))
        if one.headline.chinese != other.headline.chinese or (one.text and other.text):
            return Likeness(chance)
        like = likeness(one.headline, other.headline, lambda text: self._rare.get(text, 1.0))
        if like.against not in ("", *SOFT):
            return like
        return Likeness(max(chance, SURE)) if like.same else Likeness(chance, like.against)

    def _fit(self, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        likes = [self._alike(a, b) for a in one[:CHECKED] for b in other[:CHECKED]]
        if any(like.against and like.against not in SOFT for like in likes):
            return False
        if sum(bool(like.against) for like in likes) * 3 > len(likes):
            return False
        if min(like.score for like in likes) < LEAST:
            return False
        return sum(like.score for like in likes) >= ENOUGH * len(likes)


def _apart(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """Days between the nearest of two sorted lists; 0 where one has none."""
    if not one or not other:
        return 0
    gaps = []
    for day in one:
        at = bisect_left(other, day)
        gaps += [abs(day - near) for near in other[max(0, at - 1) : at + 1]]
    return min(gaps)


def candidates(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The pairs of one headline of each list that are worth comparing, as places in the lists."""
    heads = [parsed(title) for title in (*before, *after)]
    order = sorted(range(len(heads)), key=lambda at: heads[at].plain)
    pairs = [(order[i], order[j]) for i, j in _candidates([heads[at] for at in order])]
    size = len(before)
    crossing = [(min(pair), max(pair) - size) for pair in pairs]
    return sorted({(a, b) for a, b in crossing if a < size and b >= 0})


def _candidates(heads: list[Headline]) -> list[tuple[int, int]]:
    """The pairs worth comparing: they share at least two of their rarest features, or all there are."""
    features = [_features(head) for head in heads]
    counts = Counter(feature for found in features for feature in found)
    index: dict[str, list[int]] = defaultdict(list)
    sizes = []
    for at, found in enumerate(features):
        rarest = sorted(found, key=lambda f: (counts[f], f))[:FEATURES]
        sizes.append(len(rarest))
        for feature in rarest:
            index[feature].append(at)
    shared: Counter[tuple[int, int]] = Counter()
    for bucket in index.values():
        if len(bucket) <= BUCKET:
            shared.update(combinations(bucket, 2))
        else:  # headlines are sorted: near-copies lie near each other
            for i, first in enumerate(bucket):
                shared.update((first, second) for second in bucket[i + 1 : i + 1 + WINDOW])
    return sorted(pair for pair, n in shared.items() if _enough(n, sizes[pair[0]], sizes[pair[1]]))


def _enough(shared: int, one: int, other: int) -> bool:
    least = min(one, other)
    return shared >= min(2, least) and shared * 4 >= least


def _features(headline: Headline) -> set[str]:
    """Words that tell something; of Chinese ones the pairs of characters too, for short forms."""
    found = set()
    for token in headline.tokens:
        if token.weight < 0.4:
            continue
        found.add(token.text)
        found |= token.concepts
        if not token.text.isascii():
            found |= {token.text[i : i + 2] for i in range(len(token.text) - 1)}
    found |= {f"{q.unit} {q.value:g}" for q in headline.figures if q.value > 2}
    return found or {headline.plain}


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
    key = _address(first) or f"{parsed(first.title, first.outlet).plain}\x1f{first.outlet}"
    return "s" + fingerprint(key, str(first.published or "") if not key.strip("\x1f") else "")


def _representative(units: list[_Unit], items: Sequence[Article]) -> str:
    """The headline that is most like the others; of equals the earliest, then the first by letters."""
    told = [unit for unit in units if unit.headline.shown][:CHECKED]
    if not told:
        return ""

    def rank(unit: _Unit) -> tuple[float, int, str]:
        near = sum(likeness(unit.headline, o.headline).score * len(o.members) for o in told)
        return (-near, min(unit.days, default=10**9), unit.headline.plain)

    best = min(told, key=rank)
    titles = [_titled(items[at]) for at in best.members]
    own = [pair for pair in titles if parsed(*pair).plain == best.headline.plain]
    return presented(*min(own)) if own else stripped(best.headline.shown)
