"""The same quantity with different figures in different texts.

Precision before recall: `mentions` decides whether two figures are of one thing, and where it is not sure
nothing is told. It knows no truth: all figures are told.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations

from research.citations.mentions import Mention, find_mentions, is_consistent
from research.citations.tokenization import tokenize_text
from research.core.text.quantities import Measure, fold_text
from research.core.text.tokenizer import STOP_WORDS, has_han, normalise_quote

MAX_TEXT_CHARS = 4_000  # characters of a text
NEAREST_WORDS = 6  # words around a figure, one of which another has to have around it to be compared
MAX_FIGURES_PER_WORD = 60  # figures with such a word, of which no more are compared
MAX_SUBJECT_CHARS = 80  # characters
MAX_CLAUSE_CHARS = 200  # characters of a sentence that is shown

_TRIMMED_CHARS = " ,，:：、-–—.。;；"


@dataclass(frozen=True)
class FigureOrigin:
    """Where a text is from: figures of one `source` are not compared. `title` is the source's, `heading` that of the
    part of it that the text is; `place` has the names of the one place of a map that it is about, if it is."""

    source_id: str
    title: str = ""
    heading: str = ""
    published: date | None = None
    place_names: tuple[str, ...] = ()

    @cached_property
    def title_words(self) -> frozenset[str]:
        """The words of title and heading."""
        return tokenize_text(f"{strip_site_name(self.title)} {self.heading}", True).vocabulary - STOP_WORDS

    @cached_property
    def title_tokens(self) -> tuple[str, ...]:
        """The words of the title in their order."""
        return tuple(word for word in tokenize_text(strip_site_name(self.title), True).tokens if word not in STOP_WORDS)

    def is_sibling(self, other: FigureOrigin) -> bool:
        """Return whether the titles name different things of one sort, with the same ending: Toy
        Museum, Rail Museum."""
        mine, its = self.title_tokens, other.title_tokens
        last = 2 if mine and has_han(mine[-1]) else 1
        return bool(mine[-last:] == its[-last:] and {*mine} - {*its} and {*its} - {*mine})


@dataclass(frozen=True, eq=False)
class SourcedFigure:
    """A figure as a text gives it; `order` is its place among others, settled by nothing but itself."""

    origin: FigureOrigin
    text: str
    mention: Mention
    position: tuple[str | int, ...]

    @property
    def measure(self) -> Measure:
        return self.mention.measure

    @cached_property
    def sort_key(self) -> tuple[float, ...]:
        """Sorts figures of one thing."""
        return self.measure.low, *(part or 0 for part in self.measure.date_parts)

    @cached_property
    def context_words(self) -> frozenset[str]:
        """What stands next to it, and what narrows it."""
        return frozenset((*self.mention.nearest_words(NEAREST_WORDS), *self.mention.qualifiers))

    @cached_property
    def folded_text(self) -> str:
        return fold_text(self.text)

    def mentions_place(self, place_names: Sequence[str]) -> bool:
        """Return whether the sentence, its title or its heading contains one of the names of a
        place."""
        around = normalise_quote(f"{self.origin.title} {self.origin.heading} {self.mention.sentence.original}")
        return any(name and normalise_quote(name) in around for name in place_names)

    @property
    def clause(self) -> str:
        """A sentence, or as much of a long one as stands around its figure."""
        shown = self.mention.sentence.original
        start = max(0, self.measure.start - MAX_CLAUSE_CHARS // 2) if len(shown) > MAX_CLAUSE_CHARS else 0
        end = start + MAX_CLAUSE_CHARS
        text = " ".join(shown[start:end].split())
        return f"{'…' if start else ''}{text}{'…' if end < len(shown) else ''}"


SimilarityFunction = Callable[[SourcedFigure, SourcedFigure], float]  # 0 where two figures are not of one thing


def find_figures(origin: FigureOrigin, text: str, position: tuple[str | int, ...]) -> Iterator[SourcedFigure]:
    """The figures of a text."""
    for n, mention in enumerate(find_mentions(text[:MAX_TEXT_CHARS])):
        yield SourcedFigure(origin, text, mention, (*position, n))


def strip_site_name(title: str) -> str:
    """A title without the name of its site, which mostly follows a dash or a line."""
    return re.split(r"\s[-–—]\s|[|_｜]|——", title)[0]


def group_disagreements(
    figures: Iterable[SourcedFigure], similarity: SimilarityFunction
) -> Iterator[list[SourcedFigure]]:
    """Figures of one thing that do not all agree; in an order that is that of nothing but themselves.

    Rounding and conversion are agreement. A source that gives several figures of one thing counts with
    none of them.
    """
    kinds: dict[tuple[str, str], list[SourcedFigure]] = defaultdict(list)
    for one in figures:
        kinds[one.mention.comparison_key].append(one)
    for same in kinds.values():
        same.sort(key=lambda one: one.position)
        for group in _connected_groups(same, similarity):
            kept = _one_per_source(group)
            if any(not is_consistent(a.measure, b.measure) for a, b in combinations(kept, 2)):
                yield kept


def _connected_groups(figures: Sequence[SourcedFigure], similarity: SimilarityFunction) -> list[list[SourcedFigure]]:
    """The figures of one kind that differ from another of the same thing, and those that agree with them:
    connected components. Of several figures of a source only the one that is most alike is of one thing with
    another's."""
    home = list(range(len(figures)))

    def root(at: int) -> int:
        while home[at] != at:
            home[at] = at = home[home[at]]
        return at

    scores = {pair: score for pair in _candidate_pairs(figures) if (score := similarity(*(figures[at] for at in pair)))}
    best: dict[tuple[int, str], float] = defaultdict(float)
    sources = [one.origin.source_id for one in figures]
    for (a, b), score in scores.items():
        for key in ((a, sources[b]), (b, sources[a])):
            best[key] = max(best[key], score)
    pairs = [(a, b) for (a, b), score in scores.items() if best[a, sources[b]] == score == best[b, sources[a]]]
    torn = {at for a, b in pairs if not is_consistent(figures[a].measure, figures[b].measure) for at in (a, b)}
    for a, b in pairs:
        if a in torn or b in torn:
            home[root(a)] = root(b)
    groups: dict[int, list[SourcedFigure]] = defaultdict(list)
    for at, one in enumerate(figures):
        groups[root(at)].append(one)
    return [group for group in groups.values() if len(group) > 1]


def _candidate_pairs(figures: Sequence[SourcedFigure]) -> list[tuple[int, int]]:
    """The places of figures of different sources that have one of their nearest words in common."""
    with_word: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(figures):
        for word in one.context_words:
            if len(with_word[word]) < MAX_FIGURES_PER_WORD:
                with_word[word].append(at)
    return sorted(
        {
            pair
            for places in with_word.values()
            for pair in combinations(places, 2)
            if figures[pair[0]].origin.source_id != figures[pair[1]].origin.source_id
        }
    )


def _one_per_source(group: Sequence[SourcedFigure]) -> list[SourcedFigure]:
    """One figure for each source; none of a source that gives several."""
    mine: dict[str, list[SourcedFigure]] = defaultdict(list)
    for one in group:
        mine[one.origin.source_id].append(one)
    return [own[0] for own in mine.values() if all(is_consistent(own[0].measure, other.measure) for other in own)]


def describe_subject(group: Sequence[SourcedFigure]) -> str:
    """What the figures are of: the shortest sentence without its figure, or of a long one what stands
    around it; under its title, if it names nothing."""
    first = min(group, key=lambda one: (len(one.mention.sentence.original), one.position))
    shown, m = first.mention.sentence.original, first.measure
    start = max(0, m.start - MAX_SUBJECT_CHARS // 2) if len(shown) > MAX_SUBJECT_CHARS else 0
    before = shown[start : m.start]
    cut = start and shown[start - 1 : start + 1].isalnum() and shown[start].isascii()
    if cut and " " in before:  # no part of a word
        before = before[before.index(" ") :]
    parts = (" ".join(part.split()).strip(_TRIMMED_CHARS) for part in (before, shown[m.end :]))
    told = " … ".join(filter(None, parts))
    head = "" if first.mention.sentence.names else " ".join(strip_site_name(first.origin.title).split())
    return " · ".join(filter(None, (head, told)))[:MAX_SUBJECT_CHARS].strip() or first.mention.text
