"""What was found as a prompt shows it: passages and cited summaries, each with a handle.

A handle is a short name for one passage that exists for one call only. Nobody can guess it, and
outside text never has one in it: so a handle in an answer means what the program gave it for.

Where there is no room for all of it, the most useful is shown, and what is left out is told.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Protocol

from research.agent.llm.room import CUT, Item, cut, excerpt, picked
from research.core.records import MEMORY, Cite, Evidence, Finding, Passage, Span, fingerprint
from research.core.text.folding import plain as plain_text
from research.core.text.words import telling
from research.models.calls import Prompt
from research.models.counting import tokens

NAME = 160  # characters of what a source is called
HANDLE = 4  # tokens of a handle in its brackets


@dataclass(frozen=True)
class Listing:
    """Material as a prompt shows it: `handles` says which passage each handle means.

    `left_out` counts the pieces that have no room, `shortened` those of which a part is shown.
    `missing` are the sources of which nothing is, `partly` those of which not all is, and `sources`
    is how many there are.
    """

    text: str = ""
    handles: dict[str, Cite] = field(default_factory=dict)
    left_out: int = 0
    shortened: int = 0
    missing: tuple[Evidence, ...] = ()
    partly: tuple[Evidence, ...] = ()
    sources: int = 0

    @classmethod
    def of(
        cls,
        findings: Sequence[Finding],
        room: int,
        *,
        brief: bool = False,
        most: int = 0,
        written: Sequence[Span] = (),
    ) -> Listing:
        """The material of findings within `room` tokens, each text once, and of what a result
        of a search says no more than `most` characters, if that is not 0. What earlier turns have
        found stands behind what is new, and gets the room that this leaves.

        What a search model wrote stands as it wrote it, a handle behind each supported stretch. Of
        anything else the passages are listed; with `brief` a summary, where there is one, stands
        for them. What a text that is `written` already cites has handles whether it is shown or not.
        """
        findings = sorted(findings, key=_is_old)
        groups = [_blocks(finding, brief, most) for finding in findings]
        titles = [f"### {plain(finding.task.query)}\n" for finding in findings]
        wanted = [_telling(finding.task.query) for finding in findings]
        blocks = list(_unlike(groups))
        old = {at for at, finding in enumerate(findings) if _is_old(finding)}
        items = [Item(at, block.text, block.size + 1, at in old) for at, _, block in blocks]
        kept, level = picked(items, [tokens(title) + 2 for title in titles], wanted, room)
        shown: list[tuple[int, int, Block]] = []
        told: dict[str, bool] = {}  # the keys of what is shown, and whether all of it is
        for n in kept:
            at, place, block = blocks[n]
            if short := items[n].cost > level:
                block = block.shortened(level - 1, wanted[at])
                if block.size >= level:
                    continue  # its sources alone are too long to be named
            shown.append((at, place, block))
            told[blocks[n][2].key] = not short
        ids = {item.id for finding in findings for item in finding.evidence}
        also = [cite for span in written for cite in span.cites if cite.evidence in ids]
        beside = [*titles, *(span.text for span in written)]
        names = _names([block for *_, block in shown], beside, also)
        texts: list[list[str]] = [[] for _ in groups]
        for at, _, block in sorted(shown, key=lambda one: one[:2]):
            texts[at].append(block.shown(names))
        missing, partly = _lacking(groups, findings, told)
        return cls(
            "\n\n".join(
                title + "\n".join(some) for title, some in zip(titles, texts, strict=True) if some
            ),
            {name: cite for cite, name in names.items()},
            len(blocks) - len(shown),
            sum(not whole for whole in told.values()),
            missing,
            partly,
            len({cite.evidence for group in groups for block in group for cite in block.cites}),
        )


def fitted(
    findings: Sequence[Finding],
    room: int,
    make: Callable[[Listing], Prompt],
    *,
    brief: bool = False,
    most: int = 0,
    written: Sequence[Span] = (),
) -> tuple[Prompt, Listing]:
    """A prompt of at most `room` tokens, and the material that it has room for. It may also show a text
    that is `written`, with its handles."""
    left = room - make(Listing()).size - HANDLE * sum(len(span.cites) for span in written)
    listing = Listing.of(findings, left, brief=brief, most=most, written=written)
    return make(listing), listing


def citable(findings: Iterable[Finding]) -> bool:
    """Whether there is anything to cite."""
    return any(block.cites for finding in findings for block in _blocks(finding, False, 0))


class Block(Protocol):
    """A stretch of material."""

    @property
    def key(self) -> str:
        """Equal for blocks with the same text, whatever its sources."""

    @property
    def text(self) -> str:
        """What it says."""

    @property
    def size(self) -> int:
        """The tokens that it takes."""

    @property
    def cites(self) -> tuple[Cite, ...]:
        """The passages that it is about."""

    def united(self, other: Block) -> Block:
        """The block with the sources of another that has the same text, where it can have several."""

    def shown(self, names: Mapping[Cite, str]) -> str:
        """The block, with the handles of its passages."""

    def shortened(self, room: int, wanted: Mapping[str, float]) -> Block:
        """The part of it that has most of the wanted words, in `room` tokens if that can be."""


def _unlike(groups: Sequence[Sequence[Block]]) -> Iterator[tuple[int, int, Block]]:
    """Each text once, with its group and its place: the first of every group, then the second. A
    passage that several findings have is shown with the sources of all of them."""
    found: dict[str, tuple[int, int, Block]] = {}
    for depth in range(max(map(len, groups), default=0)):
        for at, group in enumerate(groups):
            if depth < len(group):
                block = group[depth]
                known = found.setdefault(block.key, (at, depth, block))
                if known[2] is not block:
                    found[block.key] = (*known[:2], known[2].united(block))
    yield from found.values()


def _is_old(finding: Finding) -> bool:
    """Return whether a finding comes from earlier turns or an earlier report."""
    return finding.task.source == MEMORY


def _telling(query: str) -> dict[str, float]:
    """The words of a query and how much each tells."""
    return {word: tells for word, tells in telling(query).items() if len(word) > 1}


def _lacking(
    groups: Sequence[Sequence[Block]], findings: Sequence[Finding], shown: Mapping[str, bool]
) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    """The sources of which nothing is shown, and those of which not all is. `shown` says of the keys
    of what is shown whether it is the whole. A source whose text is shown is not missing, under
    whichever address it was found."""
    fates: dict[str, set[bool | None]] = {}
    for block in (block for group in groups for block in group):
        for cite in block.cites:
            fates.setdefault(cite.evidence, set()).add(shown.get(block.key))
    sources = {item.id: item for finding in findings for item in finding.evidence}
    known = [(sources[key], fate) for key, fate in fates.items() if key in sources]
    return (
        tuple(item for item, fate in known if fate == {None}),
        tuple(item for item, fate in known if fate not in ({None}, {True})),
    )


def _blocks(finding: Finding, brief: bool, most: int) -> Sequence[Block]:
    grounded = any(p.origin == "grounding" for e in finding.evidence for p in e.passages)
    if (grounded or brief) and any(span.cites for span in finding.summary):
        return [Written(finding.summary, finding.evidence)]
    return pieces(finding.evidence, most)


def _names(blocks: Sequence[Block], beside: Iterable[str], also: Iterable[Cite]) -> dict[Cite, str]:
    """A short handle for each passage that is shown, and for some others. None of them occurs in the material itself: whatever is
    copied from there, into whatever brackets, cites nothing.
    """
    taken = _lookalikes(" ".join([*beside, *(block.shown(_Nameless()) for block in blocks)]))
    names: dict[Cite, str] = {}
    for cite in (*(cite for block in blocks for cite in block.cites), *also):
        if cite not in names:
            names[cite] = next(name for name in _candidates(cite) if name not in taken)
            taken.add(names[cite])
    return names


class _Nameless(dict[Cite, str]):
    """No passage has a name yet; one may be as long as `name`."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __missing__(self, cite: Cite) -> str:
        return self.name


_UNNAMED = _Nameless("0" * 8)


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
        return _key("written", self.text)

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)

    @property
    def size(self) -> int:
        return tokens(self.shown(_UNNAMED))

    @property
    def cites(self) -> tuple[Cite, ...]:
        return tuple(dict.fromkeys(cite for span in self.spans for cite in span.cites))

    def united(self, other: Block) -> Written:
        """Itself: each of its sentences names its own sources, which are as good as those of a copy."""
        return self

    def shortened(self, room: int, wanted: Mapping[str, float]) -> Written:
        """Its beginning, which is where such a text says the most."""
        for kept in range(len(self.spans) - 1, 0, -1):
            short = replace(self, spans=(*self.spans[:kept], Span(kind="text", text=f" {CUT}")))
            if short.size <= room:
                return short
        return self

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
class Attributed:
    """One text and the sources that it is attributed to."""

    text: str
    sources: tuple[tuple[Evidence, Passage], ...]

    @property
    def key(self) -> str:
        return _key(self.sources[0][1].heading, self.text)

    @property
    def cites(self) -> tuple[Cite, ...]:
        return tuple(
            Cite(evidence=item.id, passage=passage.id, end=len(passage.text))
            for item, passage in self.sources
        )

    @property
    def size(self) -> int:
        return tokens(self.shown(_UNNAMED))

    def united(self, other: Block) -> Attributed:
        sources = (*self.sources, *(other.sources if isinstance(other, Attributed) else ()))
        return replace(self, sources=tuple({(e.id, p.id): (e, p) for e, p in sources}.values()))

    def shortened(self, room: int, wanted: Mapping[str, float]) -> Attributed:
        short = replace(self, text="")
        while short.size > room // 2 and len(short.sources) > 1:  # the names of copies are many
            short = replace(short, sources=short.sources[: len(short.sources) // 2])
        return replace(short, text=excerpt(plain(self.text), room - short.size, wanted))

    def shown(self, names: Mapping[Cite, str]) -> str:
        marks = "".join(f"[@{names[cite]}]" for cite in self.cites)
        sources = "; ".join(dict.fromkeys(_named(evidence) for evidence, _ in self.sources))
        passage = self.sources[0][1]
        heading = f" · {passage.heading}" if passage.heading else ""
        return f"{marks} {plain(sources)}{plain(heading)}\n{plain(self.text)}\n"


def pieces(evidence: Iterable[Evidence], most: int = 0) -> Sequence[Attributed]:
    """The passages in order; those with the same text are one piece. With `most`, the passages of one
    piece of evidence have no more characters together: the last is cut, those after it are left out.
    """
    found: dict[tuple[str, str], list[tuple[Evidence, Passage]]] = {}
    for item in evidence:
        left = most
        for passage in item.passages:
            if most and left <= 0:
                break
            text = cut(passage.text, left) if most else passage.text
            left -= len(passage.text)
            found.setdefault((passage.heading, text), []).append((item, passage))
    return [Attributed(text, tuple(sources)) for (_, text), sources in found.items()]


_HIDDEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]+")
_QUOTES = re.compile("[“”„‟«»＂]")


def _key(*texts: str) -> str:
    """Equal for texts that differ in white space, widths, quotation marks, accents, case or hidden
    characters alone, as copies of one page do."""
    composed = (_HIDDEN.sub("", unicodedata.normalize("NFC", text)) for text in texts)
    return fingerprint(*(" ".join(_QUOTES.sub('"', plain_text(text)).split()) for text in composed))


_NOTICES = {
    "": "",
    "corrected": "corrected since it was published",
    "concern": "EXPRESSION OF CONCERN",
    "retracted": "RETRACTED",
}


def _named(evidence: Evidence) -> str:
    paper = evidence.paper
    year = str(paper.year or "") if paper else ""
    dated = evidence.published.isoformat() if evidence.published else year or "undated"
    name = (evidence.title or evidence.publisher)[:NAME]
    publisher = evidence.publisher if evidence.publisher != name else ""
    return " · ".join(filter(None, [_NOTICES[evidence.notice], name, publisher, dated]))


def plain(text: str) -> str:
    """Outside text in which nothing looks like a handle."""
    return re.sub(r"([\[［【(（])\s*[@＠]\s*", r"\1(at) ", text)
