"""Registry of all sources: built-in, from installed packages, and MCP servers from the settings.

A package provides a source through an entry point of the group `sightline.sources` that refers to
its `Source`. An unusable source is rejected with a reason and does not affect the others. Texts
from packages are validated here and escaped wherever they are displayed.
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
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from research.core import i18n, settings
from research.core.records import MEMORY_SOURCE, EvidenceKind, Language
from research.core.settings import Setting, Settings
from research.sources.base import Dependencies, QueryType, ResultType, Retriever, Source, SourceStatus

log = logging.getLogger(__name__)

ENTRY_POINT_GROUP = "sightline.sources"
BUILT_IN_SOURCES = (  # in display order
    "web",
    "wikidata",
    "news",
    "papers",
    "places",
    "database",
    "library",
)
MAX_LABEL_CHARS, MAX_TEXT_CHARS = 40, 300
_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SETTING_PATTERN = re.compile(r"[A-Z][A-Z0-9_]{1,63}")


RejectionReason = Literal["broken", "none", "taken", "wrong", "server"]


class RejectedSource(NamedTuple):
    """A source that cannot be used, with a reason: `refused.REASON` in the message catalogue.

    `package` is the package that provides it or, with the reason "server", the name of the MCP
    server.
    """

    package: str
    reason: RejectionReason
    detail: str


_configured_sources: tuple[tuple[Source, ...], tuple[RejectedSource, ...]] = ((), ())


@cache
def sources_by_name() -> Mapping[str, Source]:
    """Return all sources by name: built-in, from packages by package name, then MCP servers."""
    return _load_sources()[0]


def rejected_sources() -> tuple[RejectedSource, ...]:
    """Return the sources of packages and MCP servers that cannot be used."""
    return _load_sources()[1]


def setting_declarations() -> Mapping[str, Sequence[Setting]]:
    """Return the names of all sources with the settings that each declares, for `load_settings`."""
    return {name: source.settings for name, source in sources_by_name().items()}


def load_settings(data_dir: Path | None = None) -> Settings:
    """Load the settings of the environment, with those that plug-in sources declare.

    Raises:
        SettingError: a setting is not usable.
    """
    return settings.load_settings(data_dir=data_dir, sources=setting_declarations())


def get_source(name: str) -> Source:
    """Return a source by name.

    For a source that is no longer installed, as in an old run, return a placeholder whose retriever
    cannot be built.
    """
    return sources_by_name().get(name) or Source(name=name, kind="web", prompt_phrase=name, build=_raise_not_installed)


def preferred_report_source(names: Sequence[str]) -> str:
    """Return the source that a report searches first."""
    return next((name for name in names if get_source(name).is_preferred_for_reports), names[0])


def configure(sources: Sequence[Source], rejected: Sequence[RejectedSource] = ()) -> None:
    """Replace the sources that the settings define, and those of them that cannot be used.

    Called when the application of this process is opened.
    """
    global _configured_sources
    if _configured_sources != (configured := (tuple(sources), tuple(rejected))):
        _configured_sources = configured
        clear_cache()


def clear_cache() -> None:
    """Reload all sources at the next access, since the installed packages may have changed."""
    sources_by_name.cache_clear()
    _load_sources.cache_clear()


def _raise_not_installed(dependencies: Dependencies) -> Retriever:
    raise LookupError("the package of this source is not installed")


@cache
def _load_sources() -> tuple[Mapping[str, Source], tuple[RejectedSource, ...]]:
    sources: dict[str, Source] = {name: import_module(f"research.sources.{name}").SOURCE for name in BUILT_IN_SOURCES}
    texts: dict[str, Mapping[Language, str]] = {}
    rejected: list[RejectedSource] = []
    servers, wrong = _configured_sources
    points = sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: (_package_name(p), p.name))
    for entry in chain((_load_entry_point(point, sources) for point in points), servers, wrong):
        if isinstance(entry, Source) and entry.name in sources:
            entry = RejectedSource(entry.label["en"], "taken", entry.name)
        if isinstance(entry, RejectedSource):
            why = i18n.message(f"refused.{entry.reason}", "en", name=entry.package, detail=entry.detail)
            log.warning("a source of %s is left out: %s", entry.package, why)
            rejected.append(entry)
            continue
        sources[entry.name] = entry
    for source in filter(lambda source: source.label, sources.values()):
        texts |= dict.fromkeys((f"{key}.{source.name}" for key in ("source", "report.source", "card")), source.label)
        texts[f"status.brings_{source.name}"] = source.description
    i18n.set_plugin_messages(texts)
    return sources, tuple(rejected)


def _package_name(entry_point: EntryPoint) -> str:
    return _single_line(entry_point.dist.name if entry_point.dist else entry_point.module)


def _single_line(text: object) -> str:
    """Return a text of a package on one line, without control characters and of limited length."""
    printable = "".join(c if c.isprintable() else " " for c in str(text)[: 2 * MAX_TEXT_CHARS])
    return " ".join(printable.split())[:MAX_TEXT_CHARS]


def _load_entry_point(entry_point: EntryPoint, loaded: Mapping[str, Source]) -> Source | RejectedSource:
    package = _package_name(entry_point)
    try:
        source = entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a third-party package may raise anything
        return RejectedSource(package, "broken", _single_line(f"{type(error).__name__}: {error}"))
    if not isinstance(source, Source):
        return RejectedSource(package, "none", _single_line(entry_point.value))
    try:
        problem = next(_validation_errors(source), "")
        if not problem and _is_name_taken(source, loaded):
            return RejectedSource(package, "taken", source.name)
        validated = replace(
            source,
            label={language: _single_line(text) for language, text in source.label.items()},
            description={language: _single_line(text) for language, text in source.description.items()},
            prompt_phrase=_single_line(source.prompt_phrase),
            node_name="",
            tool_descriptions={},
            is_default=_guard_is_default(source),
            is_external=True,
        )
    except Exception as error:  # noqa: BLE001 - a field may have any wrong type
        problem = _single_line(f"{type(error).__name__}: {error}")
    return RejectedSource(package, "wrong", problem) if problem else validated


def _guard_is_default(source: Source) -> Callable[[SourceStatus], bool]:
    """Wrap the source's `is_default`; an exception counts as False."""

    def is_default(status: SourceStatus) -> bool:
        try:
            return bool(source.is_default(status))
        except Exception:
            log.exception("the source %s failed when it was asked whether it is a default", source.name)
            return False

    return is_default


def _is_name_taken(source: Source, loaded: Mapping[str, Source]) -> bool:
    """Return whether the name already denotes a source, a graph node or a shipped message."""
    nodes = {other.graph_node for other in loaded.values()}
    is_known = i18n.has_shipped_message(f"source.{source.name}") or source.name in (*loaded, MEMORY_SOURCE)
    return is_known or f"{source.name}_research" in nodes


def _validation_errors(source: Source) -> Iterator[str]:
    """Yield the problems with the fields of a source."""
    if not _NAME_PATTERN.fullmatch(source.name):
        yield f"name {_single_line(repr(source.name))}: letters a to z, digits and _, at most 32"
    for field, texts, limit in (
        ("label", source.label, MAX_LABEL_CHARS),
        ("description", source.description, MAX_TEXT_CHARS),
    ):
        for language in ("zh", "en"):
            if not 0 < len(_single_line(texts.get(language, ""))) <= limit:
                yield f"{field}: one line in {language}, at most {limit} characters"
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
