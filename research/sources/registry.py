"""Which sources there are: ours, those that installed packages bring, and the servers of tools that
the settings name.

A package brings one with an entry point of the group `sightline.sources`, which leads to its
`Source`. One that cannot be used is refused with a reason, and all others are there. What a package
says of itself is held to a form here and escaped wherever it is drawn.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from itertools import chain
from typing import Literal, NamedTuple, get_args

from research.core import i18n
from research.core.records import MEMORY, EvidenceKind, Language
from research.sources.base import Asked, Retriever, Setting, Source, Standing, Supplies, Told

log = logging.getLogger(__name__)

GROUP = "sightline.sources"
OURS = (
    "web",
    "wikidata",
    "news",
    "papers",
    "places",
    "database",
    "library",
)  # in the order in which they are offered
LABEL, TEXT = 40, 300  # characters
_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SETTING = re.compile(r"[A-Z][A-Z0-9_]{1,63}")


Why = Literal["broken", "none", "taken", "wrong", "server"]


class Refused(NamedTuple):
    """A source that is not there, and why: `refused.WHY` in the catalogue. `package` is what would
    have brought it; of a server of tools (`server`), its name."""

    package: str
    why: Why
    detail: str


_configured: tuple[tuple[Source, ...], tuple[Refused, ...]] = ((), ())


@cache
def known() -> Mapping[str, Source]:
    """All sources by name: ours, then those of packages by their names, then servers of tools."""
    return _found()[0]


def refused() -> tuple[Refused, ...]:
    """The sources of packages, and the servers of tools, that cannot be used."""
    return _found()[1]


def of(name: str) -> Source:
    """A source by name. One that is gone, as in a run of before, is an ordinary one of that name."""
    return known().get(name) or Source(name=name, kind="web", prompt=name, build=_gone)


def of_reports(names: Sequence[str]) -> str:
    """The one of some sources in which a report looks first."""
    return next((name for name in names if of(name).reports), names[0])


def configure(sources: Sequence[Source], refused: Sequence[Refused] = ()) -> None:
    """Takes in the sources that the settings name, instead of those named before, with those of them
    that cannot be used. For whoever opens the desk of this process."""
    global _configured
    if _configured != (told := (tuple(sources), tuple(refused))):
        _configured = told
        forget()


def forget() -> None:
    """Looks anew when somebody asks next: what is installed has changed."""
    known.cache_clear()
    _found.cache_clear()


def _gone(supplies: Supplies) -> Retriever:
    raise LookupError("the package of this source is not installed")


@cache
def _found() -> tuple[Mapping[str, Source], tuple[Refused, ...]]:
    there: dict[str, Source] = {
        name: import_module(f"research.sources.{name}").SOURCE for name in OURS
    }
    texts: dict[str, Mapping[Language, str]] = {}
    out: list[Refused] = []
    servers, wrong = _configured
    points = sorted(entry_points(group=GROUP), key=lambda p: (_package(p), p.name))
    for made in chain((_loaded(point, there) for point in points), servers, wrong):
        if isinstance(made, Source) and made.name in there:
            made = Refused(made.label["en"], "taken", made.name)
        if isinstance(made, Refused):
            why = i18n.message(f"refused.{made.why}", "en", name=made.package, detail=made.detail)
            log.warning("a source of %s is left out: %s", made.package, why)
            out.append(made)
            continue
        there[made.name] = made
        for key in ("source", "report.source", "card"):
            texts[f"{key}.{made.name}"] = made.label
        texts[f"status.brings_{made.name}"] = made.about
    i18n.bring(texts)
    return there, tuple(out)


def _package(point: EntryPoint) -> str:
    return _line(point.dist.name if point.dist else point.module)


def _line(text: object) -> str:
    """Text of a package in a line."""
    shown = "".join(c if c.isprintable() else " " for c in str(text)[: 2 * TEXT])
    return " ".join(shown.split())[:TEXT]


def _loaded(point: EntryPoint, there: Mapping[str, Source]) -> Source | Refused:
    package = _package(point)
    try:
        made = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever comes of a package of others
        return Refused(package, "broken", _line(f"{type(error).__name__}: {error}"))
    if not isinstance(made, Source):
        return Refused(package, "none", _line(point.value))
    try:
        wrong = next(_faults(made), "")
        if not wrong and _taken(made, there):
            return Refused(package, "taken", made.name)
        found = replace(
            made,
            label={tongue: _line(text) for tongue, text in made.label.items()},
            about={tongue: _line(text) for tongue, text in made.about.items()},
            prompt=_line(made.prompt), node="", tools={}, usual=_guarded(made), foreign=True,
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - a field is not what it has to be
        wrong = _line(f"{type(error).__name__}: {error}")
    return Refused(package, "wrong", wrong) if wrong else found


def _guarded(source: Source) -> Callable[[Standing], bool]:
    """Whether it is usual, as it says itself; where that fails, it is not."""

    def usual(standing: Standing) -> bool:
        try:
            return bool(source.usual(standing))
        except Exception:
            log.exception("the source %s does not know whether it is usual", source.name)
            return False

    return usual


def _taken(source: Source, there: Mapping[str, Source]) -> bool:
    """Whether a name means something already: a source, a node, or a service that is searched."""
    nodes = {one.graph_node for one in there.values()}
    named = i18n.shipped(f"source.{source.name}") or source.name in (*there, MEMORY)
    return named or f"{source.name}_research" in nodes


def _faults(source: Source) -> Iterator[str]:
    """What is wrong with the fields of a source."""
    if not _NAME.fullmatch(source.name):
        yield f"name {_line(repr(source.name))}: letters a to z, digits and _, at most 32"
    for field, texts, most in (("label", source.label, LABEL), ("about", source.about, TEXT)):
        for tongue in ("zh", "en"):
            if not 0 < len(_line(texts.get(tongue, ""))) <= most:
                yield f"{field}: one line in {tongue}, at most {most} characters"
    if not 0 < len(source.prompt) <= TEXT:
        yield f"prompt: at most {TEXT} characters"
    for field, value, words in (
        ("kind", source.kind, get_args(EvidenceKind)),
        ("asked", source.asked, get_args(Asked)),
        ("told", source.told, get_args(Told)),
    ):
        if value not in words:
            yield f"{field}: one of {', '.join(words)}"
    if not re.fullmatch(r"[a-z0-9_]{1,40}", source.icon):
        yield "icon: the name of a Material symbol"
    for setting in source.settings:
        if not isinstance(setting, Setting) or not _SETTING.fullmatch(setting.name):
            yield "settings: names in capitals"
    if len(source.probe) > TEXT:
        yield f"probe: at most {TEXT} characters"
    if not callable(source.build) or not callable(source.usual):
        yield "build and usual: functions"
