"""Schemas of the arguments and results of the tools.

Arguments are validated here. Text from sources is passed on unchanged: it is material, never
instructions. The docstrings of the result classes are descriptions in the published JSON schemas.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from research.core.records import MAX_QUESTION_CHARS, ColumnType, FailureReason, PublicationNotice, RunStatus

MAX_SEARCH_CHARS = 200  # characters of a search query or a place name
MAX_RADIUS_METRES = 50_000
EFFORTS = {"low": (1, 1), "medium": (3, 2), "high": (5, 4)}  # queries per round, and rounds, by effort


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class _Result(BaseModel):
    model_config = ConfigDict(extra="forbid")


QuestionText = Annotated[str, Field(min_length=1, max_length=MAX_QUESTION_CHARS)]
SearchText = Annotated[str, Field(min_length=1, max_length=MAX_SEARCH_CHARS)]
NotebookName = Annotated[str, Field(min_length=1, max_length=80)]
RunId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="letters, digits, - and _; at most 64")]


class _RunArguments(_Arguments):
    sources: Annotated[
        list[str] | None,
        Field(min_length=1, max_length=20, description="where to look, such as web, library"),
    ] = None
    run_id: Annotated[
        RunId | None,
        Field(
            description="an id of your own: calling again with it resumes the run, or returns it if "
            "it is done, instead of starting another",
        ),
    ] = None


class ResearchArguments(_RunArguments):
    question: Annotated[QuestionText, Field(description="what you want to know; Chinese or English")]
    effort: Annotated[
        Literal["low", "medium", "high"] | None,
        Field(description="low: 1 query, 1 round; medium: 3 queries, 2 rounds; high: 5 and 4"),
    ] = None
    queries: Annotated[int | None, Field(ge=1, le=10, description="queries a round, instead of the effort's")] = None
    loops: Annotated[int | None, Field(ge=0, le=10, description="rounds of search, instead of the effort's")] = None
    notebook: Annotated[
        NotebookName | None,
        Field(description="quote the documents of one notebook of the library alone"),
    ] = None


class TableRowArguments(_Arguments):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    about: Annotated[str, Field(max_length=200, description="tells it from others of its name, such as a city")] = ""


class TableColumnArguments(_Arguments):
    name: Annotated[str, Field(min_length=1, max_length=120, description="a short heading")]
    question: Annotated[
        str,
        Field(max_length=500, description="what is asked of each row, if the name says too little"),
    ] = ""
    type: ColumnType = "text"
    unit: Annotated[str, Field(max_length=40, description="of numbers, such as CNY or km²")] = ""
    choices: tuple[str, ...] = ()


class TableArguments(_RunArguments):
    title: Annotated[str, Field(max_length=300)] = ""
    rows: Annotated[list[TableRowArguments], Field(min_length=1, max_length=500)]
    columns: Annotated[list[TableColumnArguments], Field(min_length=1, max_length=50)]
    based_on: Annotated[
        RunId | None,
        Field(description="an earlier table, whose cells that are asked again are kept"),
    ] = None


class ReportArguments(_Arguments):
    run_id: Annotated[RunId, Field(description="the id of a run, as list_runs and research give it")]


class LibrarySearchArguments(_Arguments):
    query: Annotated[SearchText, Field(description="words that the passages are to have")]
    limit: Annotated[int, Field(ge=1, le=20, description="passages, at most")] = 8
    notebook: Annotated[NotebookName | None, Field(description="search the documents of one notebook alone")] = None


class PlacesArguments(_Arguments):
    query: Annotated[SearchText | None, Field(description="a sentence that names the place and what is looked for")] = (
        None
    )
    near: Annotated[SearchText | None, Field(description="a place to search around; with keywords, without query")] = (
        None
    )
    keywords: Annotated[SearchText | None, Field(description="what is looked for near it")] = None
    radius: Annotated[int, Field(ge=1, le=MAX_RADIUS_METRES, description="metres around it")] = 2000


class DatabaseArguments(_Arguments):
    question: Annotated[QuestionText, Field(description="a question in words, not SQL")]
    database: Annotated[str, Field(max_length=200, description="its name, if not the usual one")] = ""
    limit: Annotated[int, Field(ge=1, le=500, description="rows, at most")] = 100


class ListRunsArguments(_Arguments):
    limit: Annotated[int, Field(ge=1, le=100, description="runs, at most")] = 20


class CitedPassage(_Result):
    """A cited passage, with the number of its source in the answer: one entry for each passage."""

    number: int
    title: str
    url: str
    notice: PublicationNotice = Field(description="a retraction or correction of the source; empty if there is none")
    passage: str


class FailedStep(_Result):
    """A step of the run that failed, while the run went on."""

    stage: str
    source: str
    query: str
    reason: FailureReason
    message: str


class RunResult(_Result):
    """The present state of a run. `answer` is Markdown with citations such as [1], empty until it is written."""

    run: str
    status: RunStatus
    question: str
    answer: str
    citations: list[CitedPassage]
    failures: list[FailedStep]


class TableResult(RunResult):
    """The run of a table. `table` has the schema `sightline-table/1`; it is null until there are cells."""

    table: dict[str, Any] | None


class LibraryPassage(_Result):
    """A passage of a document in the library. With `ocr` its text was recognised in an image."""

    document: int
    title: str
    name: str
    heading: str
    page: int | None  # the slide of a .pptx file, the cell of an .ipynb file
    last_page: int | None = None  # of a sentence over a page end
    url: str
    sample: bool
    ocr: bool  # recognised from an image of the page; may contain errors
    text: str


class LibraryResult(_Result):
    passages: list[LibraryPassage]


class FoundPlace(_Result):
    """A place on the map. `lng` and `lat` are degrees (WGS-84), `distance` is in metres."""

    name: str
    lng: float
    lat: float
    address: str
    distance: int | None
    rating: float | None
    cost: float | None
    hours: str
    phone: str
    url: str
    sample: bool


class PlacesResult(_Result):
    """The places found, best first. `note` is a remark on the search, such as a wider radius."""

    places: list[FoundPlace]
    provider: str
    note: str


class DatabaseResult(_Result):
    """The answer of a database, with the SQL statement that was run.

    `rows` are the first of `count` rows, with one value for each column; `more` is true if rows are
    left out. `coverage` is a remark on columns that are empty in some rows.
    """

    status: str
    answer: str
    sql: str
    columns: list[str]
    rows: list[list[Any]]
    count: int
    more: bool
    coverage: str


class RunSummary(_Result):
    run: str
    question: str
    status: RunStatus
    created: str
    finished: str | None
    uri: str


class RunList(_Result):
    runs: list[RunSummary]
