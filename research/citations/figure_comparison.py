"""Comparison of figures for the same quantity in different texts.

The caller decides which figures are of one thing (see `mention_comparison`); doubtful pairs are not
compared. No figure is assumed to be the true one: all of them are reported.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations

from research.citations.mentions import Mention, find_mentions
from research.citations.tokenization import tokenize_text
from research.core.text.quantities import Measure, are_compatible, fold_text
from research.core.text.quotes import normalise_quote
from research.core.text.tokenizer import STOP_WORDS, has_han

MAX_TEXT_CHARS = 4_000  # the rest of a text is not read
NEAREST_WORDS = 6  # words around a figure, of which two compared figures must share one
MAX_FIGURES_PER_WORD = 60  # further figures with the word are not compared
MAX_SUBJECT_CHARS = 80  # of the description of a group
MAX_CLAUSE_CHARS = 200  # of a displayed sentence

_TRIMMED_CHARS = " ,，:：、-–—.。;；"


@dataclass(frozen=True)
class FigureOrigin:
    """The text that a figure is from; figures with the same `source_id` are not compared.

    `title` is the title of the source and `heading` that of the passage. `place_names` are the
    names of the map place that the text describes, if it describes one.
    """

    source_id: str
    title: str = ""
    heading: str = ""
    published: date | None = None
    place_names: tuple[str, ...] = ()

    @cached_property
    def title_words(self) -> frozenset[str]:
        """Words of title and heading, without stop words."""
        return tokenize_text(f"{strip_site_name(self.title)} {self.heading}", True).vocabulary - STOP_WORDS

    @cached_property
    def title_tokens(self) -> tuple[str, ...]:
        """Words of the title in order, without stop words."""
        return tuple(word for word in tokenize_text(strip_site_name(self.title), True).tokens if word not in STOP_WORDS)

    def names_similar_thing(self, other: FigureOrigin) -> bool:
        """Return whether the titles name different things of one sort: Toy Museum, Rail Museum.

        Such titles have the same ending and each a word that the other lacks.
        """
        tokens, other_tokens = self.title_tokens, other.title_tokens
        ending_length = 2 if tokens and has_han(tokens[-1]) else 1
        return bool(
            tokens[-ending_length:] == other_tokens[-ending_length:]
            and {*tokens} - {*other_tokens}
            and {*other_tokens} - {*tokens}
        )


@dataclass(frozen=True, eq=False)
class SourcedFigure:
    """A figure in a text; `position` orders figures independently of the order of the input."""

    origin: FigureOrigin
    text: str
    mention: Mention
    position: tuple[str | int, ...]

    @property
    def measure(self) -> Measure:
        return self.mention.measure

    @cached_property
    def sort_key(self) -> tuple[float, ...]:
        """Key that orders figures of one thing by value, then by date."""
        return self.measure.low, *(part or 0 for part in self.measure.date_parts)

    @cached_property
    def context_words(self) -> frozenset[str]:
        """The nearest words and the qualifiers of the figure."""
        return frozenset((*self.mention.nearest_words(NEAREST_WORDS), *self.mention.qualifiers))

    @cached_property
    def folded_text(self) -> str:
        return fold_text(self.text)

    def mentions_place(self, place_names: Sequence[str]) -> bool:
        """Return whether the sentence, its title or its heading contains one of the names."""
        around = normalise_quote(f"{self.origin.title} {self.origin.heading} {self.mention.sentence.original}")
        return any(name and normalise_quote(name) in around for name in place_names)

    @property
    def clause(self) -> str:
        """The sentence, cut to `MAX_CLAUSE_CHARS` characters around the figure."""
        shown = self.mention.sentence.original
        start = max(0, self.measure.start - MAX_CLAUSE_CHARS // 2) if len(shown) > MAX_CLAUSE_CHARS else 0
        end = start + MAX_CLAUSE_CHARS
        text = " ".join(shown[start:end].split())
        return f"{'…' if start else ''}{text}{'…' if end < len(shown) else ''}"


SimilarityFunction = Callable[[SourcedFigure, SourcedFigure], float]  # 0 if the figures are not of one thing


def find_figures(origin: FigureOrigin, text: str, position: tuple[str | int, ...]) -> Iterator[SourcedFigure]:
    """Yield the figures in the first `MAX_TEXT_CHARS` characters of a text."""
    for n, mention in enumerate(find_mentions(text[:MAX_TEXT_CHARS])):
        yield SourcedFigure(origin, text, mention, (*position, n))


def strip_site_name(title: str) -> str:
    """Remove the name of the site from a title, which usually follows a dash or a bar."""
    return re.split(r"\s[-–—]\s|[|_｜]|——", title)[0]


def group_disagreements(
    figures: Iterable[SourcedFigure], similarity: SimilarityFunction
) -> Iterator[list[SourcedFigure]]:
    """Yield groups of figures of one thing that do not all agree.

    Rounding and unit conversion count as agreement. If a source gives several figures of one thing,
    none of them is used. The order depends only on the figures themselves.
    """
    kinds: dict[tuple[str, str], list[SourcedFigure]] = defaultdict(list)
    for figure in figures:
        kinds[figure.mention.comparison_key].append(figure)
    for figures_of_kind in kinds.values():
        figures_of_kind.sort(key=lambda figure: figure.position)
        for group in _connected_groups(figures_of_kind, similarity):
            candidates = _one_per_source(group)
            if any(not are_compatible(a.measure, b.measure) for a, b in combinations(candidates, 2)):
                yield candidates


def _connected_groups(figures: Sequence[SourcedFigure], similarity: SimilarityFunction) -> list[list[SourcedFigure]]:
    """Return the connected components of figures of one kind that contain a disagreement.

    Two figures are linked if each is the most similar figure of its source to the other.
    """
    parents = list(range(len(figures)))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = index = parents[parents[index]]
        return index

    scores = {pair: score for pair in _candidate_pairs(figures) if (score := similarity(*(figures[at] for at in pair)))}
    best: dict[tuple[int, str], float] = defaultdict(float)
    sources = [figure.origin.source_id for figure in figures]
    for (a, b), score in scores.items():
        for key in ((a, sources[b]), (b, sources[a])):
            best[key] = max(best[key], score)
    pairs = [(a, b) for (a, b), score in scores.items() if best[a, sources[b]] == score == best[b, sources[a]]]
    conflicting = {at for a, b in pairs if not are_compatible(figures[a].measure, figures[b].measure) for at in (a, b)}
    for a, b in pairs:
        if a in conflicting or b in conflicting:
            parents[root(a)] = root(b)
    groups: dict[int, list[SourcedFigure]] = defaultdict(list)
    for at, figure in enumerate(figures):
        groups[root(at)].append(figure)
    return [group for group in groups.values() if len(group) > 1]


def _candidate_pairs(figures: Sequence[SourcedFigure]) -> list[tuple[int, int]]:
    """Return the index pairs of figures of different sources that share a context word."""
    indices_by_word: dict[str, list[int]] = defaultdict(list)
    for at, figure in enumerate(figures):
        for word in figure.context_words:
            if len(indices_by_word[word]) < MAX_FIGURES_PER_WORD:
                indices_by_word[word].append(at)
    return sorted(
        {
            pair
            for indices in indices_by_word.values()
            for pair in combinations(indices, 2)
            if figures[pair[0]].origin.source_id != figures[pair[1]].origin.source_id
        }
    )


def _one_per_source(group: Sequence[SourcedFigure]) -> list[SourcedFigure]:
    """Keep one figure for each source, and none of a source whose figures contradict each other."""
    by_source: dict[str, list[SourcedFigure]] = defaultdict(list)
    for figure in group:
        by_source[figure.origin.source_id].append(figure)
    return [
        members[0]
        for members in by_source.values()
        if all(are_compatible(members[0].measure, other.measure) for other in members)
    ]


def describe_subject(group: Sequence[SourcedFigure]) -> str:
    """Describe what the figures measure: the shortest sentence without its figure.

    A long sentence is cut around the figure; the title is prepended if the sentence contains no
    name.
    """
    first = min(group, key=lambda figure: (len(figure.mention.sentence.original), figure.position))
    sentence, m = first.mention.sentence.original, first.measure
    start = max(0, m.start - MAX_SUBJECT_CHARS // 2) if len(sentence) > MAX_SUBJECT_CHARS else 0
    before = sentence[start : m.start]
    splits_word = start and sentence[start - 1 : start + 1].isalnum() and sentence[start].isascii()
    if splits_word and " " in before:  # avoid a partial word
        before = before[before.index(" ") :]
    parts = (" ".join(part.split()).strip(_TRIMMED_CHARS) for part in (before, sentence[m.end :]))
    context = " … ".join(filter(None, parts))
    title = "" if first.mention.sentence.names else " ".join(strip_site_name(first.origin.title).split())
    return " · ".join(filter(None, (title, context)))[:MAX_SUBJECT_CHARS].strip() or first.mention.text
