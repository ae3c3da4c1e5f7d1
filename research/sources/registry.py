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
from research.core.records import MEMORY_SOURCE, EvidenceKind, Language
from research.sources.base import Dependencies, QueryType, ResultType, Retriever, Setting, Source, SourceStatus

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "sightline.sources"
BUILT_IN_SOURCES = (
    "web",
    "wikidata",
    "news",
    "papers",
    "places",
    "database",
    "library",
)  # in the order in which they are offered
MAX_LABEL_CHARS, MAX_TEXT_CHARS = 40, 300  # characters
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SETTING_PATTERN = re.compile(r"[A-Z][A-Z0-9_]{1,63}")


RejectionReason = Literal["broken", "none", "taken", "wrong", "server"]


class RejectedSource(NamedTuple):
    """A source that is not there, and why: `refused.WHY` in the catalogue. `package` is what would
    have brought it; of a server of tools (`server`), its name."""

    package: str
    reason: RejectionReason
    detail: str


_configured_sources: tuple[tuple[Source, ...], tuple[RejectedSource, ...]] = ((), ())


@cache
def sources_by_name() -> Mapping[str, Source]:
    """All sources by name: ours, then those of packages by their names, then servers of tools."""
    return _load_sources()[0]


def rejected_sources() -> tuple[RejectedSource, ...]:
    """The sources of packages, and the servers of tools, that cannot be used."""
    return _load_sources()[1]


def get_source(name: str) -> Source:
    """A source by name. One that is gone, as in a run of before, is an ordinary one of that name."""
    return sources_by_name().get(name) or Source(name=name, kind="web", prompt_phrase=name, build=_raise_not_installed)


def preferred_report_source(names: Sequence[str]) -> str:
    """The one of some sources in which a report looks first."""
    return next((name for name in names if get_source(name).is_preferred_for_reports), names[0])


def configure(sources: Sequence[Source], rejected: Sequence[RejectedSource] = ()) -> None:
    """Takes in the sources that the settings name, instead of those named before, with those of them
    that cannot be used. For whoever opens the desk of this process."""
    global _configured_sources
    if _configured_sources != (told := (tuple(sources), tuple(rejected))):
        _configured_sources = told
        clear_cache()


def clear_cache() -> None:
    """Looks anew when somebody asks next: what is installed has changed."""
    sources_by_name.cache_clear()
    _load_sources.cache_clear()


def _raise_not_installed(dependencies: Dependencies) -> Retriever:
    raise LookupError("the package of this source is not installed")


@cache
def _load_sources() -> tuple[Mapping[str, Source], tuple[RejectedSource, ...]]:
    there: dict[str, Source] = {name: import_module(f"research.sources.{name}").SOURCE for name in BUILT_IN_SOURCES}
    texts: dict[str, Mapping[Language, str]] = {}
    out: list[RejectedSource] = []
    servers, wrong = _configured_sources
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: (_package_name(p), p.name))
    for made in chain((_load_entry_point(point, there) for point in points), servers, wrong):
        if isinstance(made, Source) and made.name in there:
            made = RejectedSource(made.label["en"], "taken", made.name)
        if isinstance(made, RejectedSource):
            why = i18n.message(f"refused.{made.reason}", "en", name=made.package, detail=made.detail)
            log.warning("a source of %s is left out: %s", made.package, why)
            out.append(made)
            continue
        there[made.name] = made
        for key in ("source", "report.source", "card"):
            texts[f"{key}.{made.name}"] = made.label
        texts[f"status.brings_{made.name}"] = made.description
    i18n.set_plugin_messages(texts)
    return there, tuple(out)


def _package_name(entry_point: EntryPoint) -> str:
    return _single_line(entry_point.dist.name if entry_point.dist else entry_point.module)


def _single_line(text: object) -> str:
    """Text of a package in a line."""
    shown = "".join(c if c.isprintable() else " " for c in str(text)[: 2 * MAX_TEXT_CHARS])
    return " ".join(shown.split())[:MAX_TEXT_CHARS]


def _load_entry_point(entry_point: EntryPoint, loaded: Mapping[str, Source]) -> Source | RejectedSource:
    package = _package_name(entry_point)
    try:
        made = entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever comes of a package of others
        return RejectedSource(package, "broken", _single_line(f"{type(error).__name__}: {error}"))
    if not isinstance(made, Source):
        return RejectedSource(package, "none", _single_line(entry_point.value))
    try:
        wrong = next(_validation_errors(made), "")
        if not wrong and _is_name_taken(made, loaded):
            return RejectedSource(package, "taken", made.name)
        found = replace(
            made,
            label={tongue: _single_line(text) for tongue, text in made.label.items()},
            description={tongue: _single_line(text) for tongue, text in made.description.items()},
            prompt_phrase=_single_line(made.prompt_phrase), node_name="", tool_descriptions={}, is_default=_guard_is_default(made), is_external=True,
        )  # fmt: skip
    except Exception as error:  # noqa: BLE001 - a field is not what it has to be
        wrong = _single_line(f"{type(error).__name__}: {error}")
    return RejectedSource(package, "wrong", wrong) if wrong else found


def _guard_is_default(source: Source) -> Callable[[SourceStatus], bool]:
    """Whether it is usual, as it says itself; where that fails, it is not."""

    def usual(standing: SourceStatus) -> bool:
        try:
            return bool(source.is_default(standing))
        except Exception:
            log.exception("the source %s does not know whether it is usual", source.name)
            return False

    return usual


def _is_name_taken(source: Source, loaded: Mapping[str, Source]) -> bool:
    """Whether a name means something already: a source, a node, or a service that is searched."""
    nodes = {one.graph_node for one in loaded.values()}
    named = i18n.has_shipped_message(f"source.{source.name}") or source.name in (*loaded, MEMORY_SOURCE)
    return named or f"{source.name}_research" in nodes


def _validation_errors(source: Source) -> Iterator[str]:
    """What is wrong with the fields of a source."""
    if not _NAME_PATTERN.fullmatch(source.name):
        yield f"name {_single_line(repr(source.name))}: letters a to z, digits and _, at most 32"
    for field, texts, most in (("label", source.label, MAX_LABEL_CHARS), ("description", source.description, MAX_TEXT_CHARS)):
        for tongue in ("zh", "en"):
            if not 0 < len(_single_line(texts.get(tongue, ""))) <= most:
                yield f"{field}: one line in {tongue}, at most {most} characters"
    if not 0 < len(source.prompt_phrase) <= MAX_TEXT_CHARS:
        yield f"prompt_phrase: at most {MAX_TEXT_CHARS} characters"
    for field, value, words in (
        ("kind", source.kind, get_args(EvidenceKind)),
        ("query_type", source.query_type, get_args(QueryType)),
        ("result_type", source.result_type, get_args(ResultType)),
    ):
        if value not in words:
            yield f"{field}: one of {', '.join(words)}"
    if not re.fullmatch(r"[a-z0-9_]{1,40}", source.icon):
        yield "icon: the name of a Material symbol"
    for setting in source.settings:
        if not isinstance(setting, Setting) or not _SETTING_PATTERN.fullmatch(setting.name):
            yield "settings: names in capitals"
    if len(source.test_query) > MAX_TEXT_CHARS:
        yield f"test_query: at most {MAX_TEXT_CHARS} characters"
    if not callable(source.build) or not callable(source.is_default):
        yield "build and is_default: functions"
