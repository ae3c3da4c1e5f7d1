"""Every word of the pages is there in both languages; tests/i18n holds the values that each takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from pages.history.filters import PERIODS, STATUS_GROUPS
from pages.run import answer
from pages.run.chart import ChartKind
from pages.run.downloads import GROUP_ICONS
from pages.shared import help_topics, tour
from pages.shared.localization import format_size
from pages.shared.place_map import BASE_MAPS, SORT_ORDERS, TRAVEL_MODE_ICONS
from pages.shared.place_text import CATEGORY_NAMES
from pages.status import personal_data, spending
from research import FILE_LIMITS
from research.accounts.preferences import KeyLocation
from research.accounts.storage_usage import StorageArea
from research.agent.nodes import budget
from research.core import records
from research.core.settings import ROLES
from research.readers.table_records import FileColumnType
from research.sources import registry
from research.sources.library.listing import SORT_FIELDS, DocumentKind
from research.sources.library.ocr import OCRFailure
from research.sources.library.prepare import AddResult
from research.sources.news.search_tools import NEWS_TOOLS
from research.sources.registry import RejectionReason
from research.storage.history import HistoryField, RunKind
from research.storage.sqlite_files import StoreProblem
from tests.catalogue import WORDS
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "pages").rglob("*.py"))
# Keys that are put together from a record's value, and the values that the record may have.
SOURCES_WITH_MESSAGES = [name for name, source in registry.sources_by_name().items() if not source.label]
FAMILIES = {
    "reason.": get_args(records.FailureReason),
    "hint.": tuple(filter(None, get_args(records.FailureHint))),
    "stage.": get_args(records.Stage),
    "role.": (*ROLES, "runs", "news", "check"),  # what a test of the connections names
    "kind.": (*get_args(records.EvidenceKind), "sample"),
    "notice.": tuple(filter(None, get_args(records.PublicationNotice))),
    "added.": ("added", "replaced", "unchanged"),
    "unread.": get_args(get_type_hints(AddResult)["outcome"])[3:],
    "remedy.": get_args(get_type_hints(AddResult)["outcome"])[3:],
    "filekind.": get_args(DocumentKind),
    "order.": SORT_FIELDS,
    "library.where_": ("all", "own", "sample"),
    "over.": (*FILE_LIMITS, "page", "time", "memory", "busy", "start"),
    "scan.": get_args(OCRFailure)[1:],
    "rows.chart_": get_args(ChartKind),
    "history.": ("kind", "state", "period"),
    "library.": ("kind", "language", "year"),
    "problem.": ("empty", "too long", "no words"),
    "trouble.": get_args(StoreProblem),
    "meter.": get_args(budget.LimitReason)[1:5],
    "run.": get_args(records.RunStatus),
    "tool.": ("usual", "sql", *NEWS_TOOLS),
    "thought.": get_args(records.DatabaseStepKind),
    "database.": ("write", "superuser"),  # what an account may do beside reading
    "tone.": get_args(records.Tone),
    "watch.": ("new", "gone", "grown", "figure"),  # kinds of changes
    "step.": ("searching", "waiting"),
    "section.": ("waiting", "searching", "writing", "reflecting", "done"),
    "standing.": get_args(records.SupportStatus),
    "meaning.": get_args(records.SupportStatus),
    "count.": ("unclear", "unsupported", "differs", "none"),
    "tables.type_": get_args(records.ColumnType),
    "tables.lack_": get_args(records.MissingReason)[1:],
    "tabled.": get_args(records.MissingReason)[1:],
    "lack.": get_args(records.SupportGapKind),
    "other.": ("figure", "date", "words"),  # of which something else may stand in the passage
    "remark.": answer.NOTE_LABELS,
    "download_group.": tuple(GROUP_ICONS),
    "type.": get_args(FileColumnType),
    "settings.key_": get_args(KeyLocation),
    "settings.provider_": ("prefix", "service", "setting", "set"),
    "history_kind.": ("all", *get_args(RunKind)),
    "history_state.": tuple(STATUS_GROUPS),
    "history_period.": PERIODS,
    "history_field.": get_args(HistoryField),
    "map.": ("geojson", "kml", "csv", "html", *CATEGORY_NAMES, *TRAVEL_MODE_ICONS),
    "map.sort.": SORT_ORDERS,
    "map.base.": BASE_MAPS,
    "group.": tuple(help_topics.TOPIC_GROUPS),
    "topic.": help_topics.TOPICS,
    "guide.": help_topics.TOPICS,
    "tour.": tuple(step + more for step in tour.STEPS for more in ("", "_text", "_alt")),
    "status.": (*get_args(records.Readiness.model_fields["state"].annotation),),
    "status.now_": ("live", "sample", "missing"),
    "status.brings_": (*SOURCES_WITH_MESSAGES, "models"),
    "card.": (*SOURCES_WITH_MESSAGES, "models"),
    "refused.": get_args(RejectionReason),
    "limit.": (
        "queries",
        "loops",
        "searches",
        "tokens",
        "money",
        "time",
        "runs_each",
        "runs_at_once",
    ),
    "spending.": (*spending.MEASURES, *spending.GROUPINGS),
    "holding.": (*get_args(StorageArea),),
    "holding.count_": ("run", "answer", "document", "file"),
    "wiped.": personal_data.DELETED_PARTS,
    "duration.": ("second", "minute", "hour"),
}


def calls() -> Iterator[tuple[str, ast.Call]]:
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node


def literals() -> dict[str, list[ast.Call]]:
    """The keys that are written out in calls of `t`."""
    found: dict[str, list[ast.Call]] = {}
    for _, call in calls():
        for wanted in call.args[:1] if call.func.id == "t" else ():
            options = [wanted.body, wanted.orelse] if isinstance(wanted, ast.IfExp) else [wanted]
            for option in options:
                if isinstance(option, ast.Constant) and isinstance(option.value, str):
                    found.setdefault(option.value, []).append(call)
    return found


@pytest.mark.slow
def test_every_word_that_a_page_asks_for_exists() -> None:
    assert sorted(key for key in literals() if key not in WORDS) == []


@each_row("family", FAMILIES)
def test_there_is_a_word_for_every_value_that_a_record_may_have(family: str) -> None:
    assert [value for value in FAMILIES[family] if family + value not in WORDS] == []


def test_sizes_are_told_in_the_unit_that_fits() -> None:
    assert [format_size(n) for n in (0, 999, 1000, 1_500_000, 2_340_000_000)] == [
        "0 B", "999 B", "1 kB", "2 MB", "2.3 GB",
    ]  # fmt: skip
