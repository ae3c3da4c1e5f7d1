"""What was found as a prompt shows it: passages and cited summaries, each with a handle.

A handle is a short name for one passage that exists for one call only. Nobody can guess it, and
outside text never has one in it: so a handle in an answer means what the program gave it for.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from research.records import Cite, Evidence, Finding, Passage, Span, fingerprint
from research.text import HAN

CUT = "[…]"  # stands where a text goes on that a prompt does not show
_END = re.compile(  # of a sentence: a dot ends one behind a word, not behind a number or an initial
    r"(?:[。！？!?…]+|(?<=[^\W\d_]{3})\.(?=[\s\"”’)]))[”’』」）)】》\"']*|\n"
)
_WORD = re.compile(rf"[^\W{HAN}]")  # of a word that is written apart from others


@dataclass(frozen=True)
class Listing:
    """Material as a prompt shows it: `handles` says which passage each handle means."""

    text: str
    handles: dict[str, Cite]
    left_out: int = 0

    @classmethod
    def of(
        cls, findings: Sequence[Finding], room: int, *, brief: bool = False, most: int = 0
    ) -> Listing:
        """The material of findings within `room` characters, each passage once, and of what a result
        of a search says no more than `most` characters, if that is not 0.

        What a search model wrote stands as it wrote it, a handle behind each supported stretch. Of
        anything else the passages are listed; with `brief` a summary, where there is one, stands
        for them. What has no room is left out, the last passages of each finding first.
        """
        groups = [_blocks(finding, brief, most) for finding in findings]
        titles = [f"### {plain(finding.task.query)}\n" for finding in findings]
        names = _names([block for group in groups for block in group], titles)
        kept: list[list[str]] = [[] for _ in groups]
        handles: dict[str, Cite] = {}
        seen: set[str] = set()
        left_out = used = 0
        for depth in range(max(map(len, groups), default=0)):
            for at, group in enumerate(groups):
                if depth >= len(group) or group[depth].key in seen:
                    continue
                block = group[depth]
                text = block.shown(names)
                seen.add(block.key)
                cost = len(text) + 1 + (0 if kept[at] else len(titles[at]) + 2)
                if used + cost > room:
                    left_out += 1
                    continue
                used += cost
                kept[at].append(text)
                handles.update({names[cite]: cite for cite in block.cites})
        blocks = [
            title + "\n".join(texts) for title, texts in zip(titles, kept, strict=True) if texts
        ]
        return cls("\n\n".join(blocks), handles, left_out)


class Block(Protocol):
    """A stretch of material that is shown whole or not at all."""

    @property
    def key(self) -> str:
        """Equal for blocks that show the same."""

    @property
    def cites(self) -> tuple[Cite, ...]:
        """The passages that it is about."""

    def shown(self, names: Mapping[Cite, str]) -> str:
        """The block, with the handles of its passages."""


def _blocks(finding: Finding, brief: bool, most: int) -> Sequence[Block]:
    grounded = any(p.origin == "grounding" for e in finding.evidence for p in e.passages)
    if (grounded or brief) and any(span.cites for span in finding.summary):
        return [Written(finding.summary, finding.evidence)]
    return pieces(finding.evidence, most)


def _names(blocks: Sequence[Block], titles: Iterable[str]) -> dict[Cite, str]:
    """A short handle for each passage. None of them occurs in the material itself: whatever is
    copied from there, into whatever brackets, cites nothing.
    """
    taken = _lookalikes(" ".join([*titles, *(block.shown(_Nameless()) for block in blocks)]))
    names: dict[Cite, str] = {}
    for cite in (cite for block in blocks for cite in block.cites):
        if cite not in names:
            names[cite] = next(name for name in _candidates(cite) if name not in taken)
            taken.add(names[cite])
    return names


class _Nameless(dict[Cite, str]):
    """No passage has a name yet."""

    def __missing__(self, cite: Cite) -> str:
        return ""


def _candidates(cite: Cite) -> Iterator[str]:
    for size in (4, 6):
        yield fingerprint(cite.evidence, cite.passage, size=size)
    for n in count():
        yield fingerprint(cite.evidence, cite.passage, str(n), size=8)


def _lookalikes(text: str) -> set[str]:
    """Whatever in a text could be read as a handle, in any width, dress or disguise."""
    bare = unicodedata.normalize("NFKC", html.unescape(text)).lower()
    runs = re.findall("[0-9a-f]{4,}", re.sub(r"[^\x00-\x7f]|[*_~`\\]", "", bare))
    return {
        run[at : at + size]
        for run in runs
        for size in (4, 6, 8)
        for at in range(len(run) - size + 1)
    }


@dataclass(frozen=True)
class Written:
    """A cited text of a search model, or a summary, and its sources."""

    spans: tuple[Span, ...]
    evidence: tuple[Evidence, ...]

    @property
    def key(self) -> str:
        return fingerprint("written", *(span.text for span in self.spans))

    @property
    def cites(self) -> tuple[Cite, ...]:
        return tuple(dict.fromkeys(cite for span in self.spans for cite in span.cites))

    def shown(self, names: Mapping[Cite, str]) -> str:
        sources = {item.id: item for item in self.evidence}
        lines = [
            f"[@{names[cite]}] {plain(_named(sources[cite.evidence]))}"
            for cite in self.cites
            if cite.evidence in sources
        ]
        text = "".join(
            plain(span.text) + "".join(f"[@{names[cite]}]" for cite in span.cites)
            for span in self.spans
        )
        return "(as the search engine sums it up)\n" + text.strip() + "\n" + "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Piece:
    """One text and the sources that it is attributed to."""

    text: str
    sources: tuple[tuple[Evidence, Passage], ...]

    @property
    def key(self) -> str:
        return fingerprint(self.text, *(f"{e.id}/{p.id}" for e, p in self.sources))

    @property
    def cites(self) -> tuple[Cite, ...]:
        return tuple(
            Cite(evidence=item.id, passage=passage.id, end=len(passage.text))
            for item, passage in self.sources
        )

    def shown(self, names: Mapping[Cite, str]) -> str:
        marks = "".join(f"[@{names[cite]}]" for cite in self.cites)
        sources = "; ".join(dict.fromkeys(_named(evidence) for evidence, _ in self.sources))
        passage = self.sources[0][1]
        heading = f" · {passage.heading}" if passage.heading else ""
        return f"{marks} {plain(sources)}{plain(heading)}\n{plain(self.text)}\n"


def pieces(evidence: Iterable[Evidence], most: int = 0) -> Sequence[Piece]:
    """The passages in order; those with the same text are one piece. With `most`, the passages of one
    piece of evidence have no more characters together: the last is cut, those after it are left out.
    """
    found: dict[str, list[tuple[Evidence, Passage]]] = {}
    for item in evidence:
        left = most
        for passage in item.passages:
            if most and left <= 0:
                break
            text = cut(passage.text, left) if most else passage.text
            left -= len(passage.text)
            found.setdefault(text, []).append((item, passage))
    return [Piece(text, tuple(sources)) for text, sources in found.items()]


def cut(text: str, most: int) -> str:
    """At most `most` characters of a text and a mark of what was cut off: whole sentences, if they are
    the better half of it, else whole words where those are written apart."""
    if len(text) <= most:
        return text
    ends = [end.end() for end in _END.finditer(text, most // 2, most + 1) if end.end() <= most]
    kept = text[: ends[-1]] if ends else _whole_words(text, most)
    return f"{kept.rstrip()} {CUT}"


def _whole_words(text: str, most: int) -> str:
    if not (_WORD.match(text[most - 1]) and _WORD.match(text[most])):
        return text[:most]
    start = most
    while start and _WORD.match(text[start - 1]):
        start -= 1
    return text[:start] if text[:start].strip() else text[:most]


def _named(evidence: Evidence) -> str:
    dated = evidence.published.isoformat() if evidence.published else "undated"
    name = evidence.title or evidence.publisher
    publisher = evidence.publisher if evidence.publisher != name else ""
    return " · ".join(filter(None, [name, publisher, dated]))


def plain(text: str) -> str:
    """Outside text in which nothing looks like a handle."""
    return re.sub(r"([\[［【(（])\s*[@＠]\s*", r"\1(at) ", text)
