"""Interface between a run and its sources: `Source` declares a source, `Retriever` searches it.

Sources do not import one another. A built-in source is a package in this directory that defines
`SOURCE` in its `__init__.py`, which must not import anything heavy; a third-party package does the
same. See `research/sources/registry.py` and docs/adding-a-source.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from research.core.events import EventEmitter
from research.core.records import EvidenceKind, Finding, Language, Readiness, Task
from research.core.settings import Setting, Settings

QueryType = Literal[
    "words",  # keywords for each part of a question
    "place",  # a question, or a part of it, but only if it looks for places
    "question",  # a whole question in plain words, if the retriever can answer it (`SupportsQuestionCheck`)
]
ResultType = Literal[
    "quotes",  # sentences of the passages that match a part of the question
    "places",  # every piece of evidence, best first
    "rows",  # the finding's summary and the passages of its rows
]
OPEN_SOURCES_SETTING = "SIGHTLINE_OPEN_SOURCES"  # enables the sources that need no key
SEARCH_TIMEOUT_FRACTION = 0.95  # of the search deadline; a search ends in this time, so that it keeps its results
LOCAL_QUERY_FACTOR = 4  # a source on this machine costs nothing, so it gets this many times more queries


def configured_readiness(is_configured: bool, setting: str, detail: str = "") -> Readiness:
    """Return that a source is live, with a detail, or that a setting is missing."""
    return Readiness(state="live", detail=detail) if is_configured else Readiness(state="missing", detail=setting)


class StepResults(Protocol):
    """Storage for the results of a run's steps, which outlives the process."""

    def load_result(self, step: str) -> str | None:
        """Return the stored result of a step as JSON, or None."""

    async def save_result(self, step: str, text: str) -> None:
        """Store the result of a step."""


# Set for each run, so that a later process can resume a long search; None outside of a run.
STEP_RESULTS: ContextVar[StepResults | None] = ContextVar("step_results", default=None)


class Retriever(Protocol):
    """Search interface of a source.

    An expected failure is a finding with a reason, or a `ServiceError`. Any other exception is a
    bug; the search stage converts it to a finding with the reason `internal` and continues with the
    other searches.

    A retriever may also have the coroutines `close()` and `warm()`, which run on the event loop of
    the runs, and may implement `SupportsOwners`, `SupportsSelection` and `SupportsQuestionCheck`.
    """

    @property
    def max_sequential_calls(self) -> int:
        """Number of sequential requests in one search. The deadline of a search is multiplied by
        it."""

    def readiness(self) -> Readiness:
        """Return the current state of the source, without using the network."""

    async def search(self, task: Task, emit: EventEmitter) -> Finding:
        """Search for one task. The finding contains that task."""


@runtime_checkable
class SupportsOwners(Protocol):
    """A retriever whose results depend on the owner of the run."""

    def for_owner(self, owner: str) -> Retriever:
        """Return the retriever for the runs of an owner."""


@runtime_checkable
class SupportsSelection(Protocol):
    """A retriever for several items, such as databases, of which a run may select one."""

    def select(self, name: str) -> Retriever:
        """Return the retriever for one item. Its search reports an unknown name."""


@runtime_checkable
class SupportsQuestionCheck(Protocol):
    """A retriever that can check in advance whether it can answer a question without a model."""

    async def can_answer(self, question: str) -> bool:
        """Return whether the question can be answered by rules, without a model."""


@dataclass(frozen=True)
class Dependencies:
    """Objects that retrievers are built from.

    Fields that only some built-in sources use are typed as `Any`, so that this module need not
    import them.
    """

    settings: Settings
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    model_tasks: Any = None  # `summarise` and `explore` of research.agent.llm.reasoner; None without a model
    model_clients: Any = None  # research.models.clients.ModelClients
    page_reader: Any = None  # research.sources.web.page_reader.PageReader; None if reading pages is turned off
    library: Any = None  # research.sources.library.index.Library
    list_notebooks: Callable[[str], Mapping[str, Sequence[str]]] = lambda owner: {}  # an owner's documents by notebook
    maps: Any = None  # research.sources.places.map_services.MapServices
    get_database: Any = None  # function of a name and an owner that returns a DatabaseService
    get_tool_session: Any = None  # function of a source name that returns a ToolServerSession
    parse_place_query: Callable[[str], Any] = lambda query: None  # returns a PlaceQuery, or None


class SourceStatus(NamedTuple):
    """State of a source when the default sources of a question are chosen; `state` is as in `Readiness`."""

    state: Literal["live", "sample", "offline", "missing"]
    has_model: bool  # a model is available for planning
    no_remote_default: bool  # no remote source with the query type "words" is a default


def never_default(status: SourceStatus) -> bool:
    """Return False: the source is searched only if a user selects it."""
    return False


@dataclass(frozen=True, kw_only=True)
class Source:
    """Declaration of a source, used for planning, searching and display.

    `name` matches [a-z][a-z0-9_]* and is used in settings, plans and stored runs. `prompt_phrase`
    completes "at most 3 search queries for". `label` (at most 40 characters) and `description` (a
    sentence on its contents) are in both languages; the first built-in sources have their texts in the
    message catalogue instead (`source.NAME`, `report.source.NAME`, `card.NAME`, `status.brings_NAME`).
    """

    name: str
    kind: EvidenceKind
    prompt_phrase: str
    build: Callable[[Dependencies], Retriever]
    label: Mapping[Language, str] = field(default_factory=dict)
    description: Mapping[Language, str] = field(default_factory=dict)
    icon: str = "extension"  # a Material symbol
    settings: tuple[Setting, ...] = ()
    is_default: Callable[[SourceStatus], bool] = never_default  # for questions that name no source
    query_type: QueryType = "words"  # the form of queries that are made without a model
    result_type: ResultType = "quotes"  # the part of its findings that an answer without a model uses
    is_local: bool = False  # no query leaves this machine
    is_paid: bool = False  # queries may cost money
    is_cacheable: bool = False  # other runs of the owner reuse its findings for SIGHTLINE_CACHE_HOURS
    is_preferred_for_reports: bool = False  # a report searches this source first
    tool_descriptions: Mapping[str, str] = field(default_factory=dict)  # for the model, by tool name
    test_query: str = ""  # a query with results, for the connection test; "" skips the test
    setup_commands: tuple[str, str] = ("", "")  # shell commands that enable it: with a key, and without one
    node_name: str = ""  # name of its graph node; "" means NAME_research
    is_external: bool = False  # from a third-party package, or a server in `mcp.json`

    @property
    def graph_node(self) -> str:
        """Name of the source's node in the graph."""
        return self.node_name or f"{self.name}_research"

    def max_queries(self, query_limit: int) -> int:
        """Return the maximum number of queries per round; a local source may get more than
        `query_limit`."""
        return query_limit * (LOCAL_QUERY_FACTOR if self.is_local else 1)
