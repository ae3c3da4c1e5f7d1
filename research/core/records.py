"""The immutable records of the application.

A record knows nothing of storage, display or the graph. Offsets are characters, times are UTC,
dates are real dates or ``None``. Records are pydantic models, so that they survive JSON and the
graph's checkpoints unchanged (tuples stay tuples).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

Date = date  # alias for classes with a field named date
Language = Literal["zh", "en"]
EvidenceKind = Literal["library", "web", "news", "place", "database", "paper"]
TravelMode = Literal["walking", "bicycling", "driving", "transit", "straight"]
PublicationNotice = Literal[
    "",
    "corrected",  # an error in it has been corrected elsewhere
    "concern",  # an expression of concern: its reliability is under investigation
    "retracted",  # in whole or in part, or withdrawn or removed
]
FailureReason = Literal[
    "no key",  # the source needs a key that is not set
    "refused",  # the key or the request was turned down
    "redirected",  # it redirects to another address, which is not followed
    "too many redirects",  # it redirects again and again, perhaps in a circle
    "not found",  # nothing exists at the address
    "too large",  # it exceeds the size limit
    "quota",  # the allowance is used up
    "timeout",  # no answer within the deadline
    "unreachable",  # no connection
    "blocked",  # the content or this client is blocked
    "empty",  # it answered without results
    "malformed",  # it answered something that cannot be read
    "unavailable",  # it answered that it cannot serve now
    "cut off",  # it reached its own limit of output
    "unclear",  # the question is ambiguous; the message asks back
    "no model",  # only a model can turn the query into a search; the message names alternatives
    "left out",  # not done or cut off: the run reached a limit, or its search was ended
    "internal",  # a bug of ours; the log has the details
]
RunStatus = Literal["queued", "running", "waiting", "done", "stopped", "interrupted", "failed"]
SpanKind = Literal["heading", "quote", "text", "missing", "notice"]
Tone = Literal["positive", "neutral", "negative"]
Stage = Literal["plan", "search", "summarise", "reflect", "write", "check"]
SupportStatus = Literal["quoted", "supported", "unclear", "unsupported", "differs", "none"]
Verdict = Literal["supported", "partly", "contradicted", "absent"]
SupportGapKind = Literal["figure", "date", "words", "language"]
DatabaseStepKind = Literal[
    "tables",  # those shown to a model, if not all
    "understand",  # interpretation of the question, and its author
    "link",  # values of the database that match names of the question
    "write",  # a statement and its rationale
    "refused",  # by the guard or the engine; the reason goes back to the statement's author
    "run",  # rows
    "judge",  # whether the rows answer the question
    "supplement",  # cells that were NULL and have been filled
    "missing",  # cells that stay NULL
]
FailureHint = Literal[
    "",
    "key",  # the key is wrong or missing
    "billing",  # the account has no credit, or the key no billing, and the request needs it
    "minute",  # too many requests in a short time; more are possible soon
    "day",  # the quota of the day is used up
    "location",  # the service refuses this region
    "model",  # the model does not exist (any more)
    "context",  # the input is too long for the model
    "endpoint",  # the address answers, but it is not this service
    "dns",  # the name of the server cannot be looked up
    "tls",  # the certificate of the server cannot be verified
    "package",  # a package that this needs is not installed
]

# Reasons whose message asks the user for something: nothing has failed.
ASKS_BACK: frozenset[FailureReason] = frozenset(("unclear", "no model"))
MEMORY_SOURCE = "memory"  # source name of evidence from earlier turns
MAX_QUESTION_CHARS = 2_000  # longer text belongs in the library


def fingerprint(*parts: str, digits: int = 12) -> str:
    """Return a short stable id of some strings in order, as `digits` hexadecimal digits."""
    digest = hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16)
    return digest.hexdigest()[:digits]


def normalise_query(query: str) -> str:
    """Normalise a query for comparison: NFKC, case-folded, only words and single spaces."""
    folded = unicodedata.normalize("NFKC", query).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()


class CheckedCopy(BaseModel):
    """Base of models whose copies can only be given values for their fields."""

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values. Raises TypeError for a name that is no field."""
        if update and (unknown := update.keys() - type(self).model_fields.keys()):
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        return super().model_copy(update=update, deep=deep)


class Record(CheckedCopy):
    """Base of all records: frozen, without extra fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Passage(Record):
    """A piece of a source.

    With the origin `source`, `text` is verbatim: the document's text from `start` to `end`. With
    the origin `grounding` it is a sentence of a search model that cites the source as support; the
    source may word it differently.
    """

    id: str
    origin: Literal["source", "grounding"] = "source"
    text: str
    start: int = 0
    end: int = 0
    heading: str = ""
    page: int | None = None
    title: str = ""
    made: bool = False  # generated by rules from the source's data, as a sentence
    ocr: bool = False  # recognised from an image of the page; may have errors


# Attribution to show with places of a provider, and its licence page.
ATTRIBUTIONS = {"osm": ("© OpenStreetMap contributors, ODbL", "https://www.openstreetmap.org/copyright")}


class Place(Record):
    """A point with a name. `lng` and `lat` are WGS-84 degrees, whatever the provider's system.

    The texts are the provider's own; the fields `*_en` hold English translations.
    """

    id: str
    name: str
    lng: float
    lat: float
    provider: str  # amap, offline, osm
    category: str = ""  # food, sight, family, shop, hotel, transport, culture, other
    type: str = ""  # the provider's own category
    address: str = ""
    district: str = ""
    city: str = ""
    distance: int | None = None  # metres from the centre of the search
    rating: float | None = None  # out of 5
    cost: float | None = None  # yuan per person
    hours: str = ""
    phone: str = ""
    photos: tuple[str, ...] = ()
    sample: bool = False
    name_en: str = ""
    type_en: str = ""
    address_en: str = ""

    @property
    def attribution(self) -> str:
        """The attribution and licence URL to show wherever the place is displayed or exported; ""
        if none is required."""
        return " ".join(ATTRIBUTIONS.get(self.provider, ()))


class SearchArea(Record):
    """The area of a place search: a centre in WGS-84 degrees and a radius in metres.

    A radius of 0 means an area searched as a whole, such as a city. `asked` is the requested radius
    if nothing was within it and `radius` was widened, else 0.
    """

    name: str
    lng: float
    lat: float
    radius: int = 0
    asked: int = 0


class Route(Record):
    """A route between two places, given by name.

    `line` are WGS-84 points, longitude first. With `direct` it is a straight line, because the map
    service returned no geometry. Unknown values are None.
    """

    origin: str
    destination: str
    means: TravelMode
    metres: int | None = None
    seconds: int | None = None
    line: tuple[tuple[float, float], ...] = ()
    direct: bool = False
    steps: tuple[str, ...] = ()


class DistanceMatrix(Record):
    """Distances between places: rows are origins, columns destinations.

    None on the diagonal and where the distance is unknown; `failure` is the reason why nothing was
    measured.
    """

    names: tuple[str, ...]
    means: TravelMode = "straight"
    metres: tuple[tuple[int | None, ...], ...] = ()
    seconds: tuple[tuple[int | None, ...], ...] = ()
    failure: Failure | None = None


class Author(Record):
    """An author as catalogued: family and given names, or a single `name` where these are not
    separated, as for a group."""

    family: str = ""
    given: str = ""
    name: str = ""

    @property
    def display_name(self) -> str:
        """Full name, given name first."""
        return self.name or f"{self.given} {self.family}".strip()


class Paper(Record):
    """Catalogue data of a scholarly work beside its title and address.

    `cited` counts the works that cite it according to `counted` (openalex, crossref); None if
    unknown.
    """

    authors: tuple[Author, ...] = ()
    year: int | None = None
    venue: str = ""  # the journal, the proceedings or the archive that it stands in
    doi: str = ""  # without https://doi.org/
    cited: int | None = None
    counted: str = ""


class Evidence(Record):
    """Something that can be cited. Each canonical URL or document has one evidence id."""

    id: str
    kind: EvidenceKind
    title: str
    publisher: str = ""
    url: str = ""
    also: str = ""  # an address for further reading; the passages are not from it
    locator: str = ""
    language: str = ""
    retrieved: datetime
    published: date | None = None
    moment: datetime | None = None  # time of publication, if more than the day is known
    standing: Literal["", "preferred", "warned"] = ""  # by the domain lists
    sample: bool = False
    expires: bool = False  # its address is a redirect that expires after some weeks
    opening: str = ""  # its first words, which show its subject
    passages: tuple[Passage, ...] = ()
    place: Place | None = None
    way: Route | None = None
    paper: Paper | None = None
    notice: PublicationNotice = ""  # status since publication


class RecordedPlace(Record):
    """A place and the runs that found it, the newest first; none if it was looked up separately."""

    place: Place
    url: str = ""
    retrieved: datetime
    runs: tuple[str, ...] = ()  # ids
    questions: tuple[str, ...] = ()


class Itinerary(Record):
    """Places in the order of a day, and the route from each to the next. `failure` is the reason
    why some routes had to be straight lines."""

    places: tuple[Place, ...]
    legs: tuple[Route, ...] = ()
    failure: Failure | None = None


class Turn(Record):
    """An earlier turn of a conversation: its self-contained question and its shortened answer."""

    question: str
    answer: str = ""


class Memory(Record):
    """The bounded context of earlier turns.

    `turns` are the last ones in order, `asked` the questions before them; `evidence` is what the
    last answers cite, reduced to the cited passages.
    """

    turns: tuple[Turn, ...] = ()
    asked: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Question(Record):
    """The research question; `language` is that of the answer.

    `text` is self-contained. If it had to be rewritten for that, `asked` is the original input.
    """

    text: str
    language: Language
    asked: str = ""
    before: Memory = Memory()
    added: tuple[str, ...] = ()  # clarifications and instructions added during the run

    @property
    def memory_findings(self) -> tuple[Finding, ...]:
        """The evidence of earlier turns as a finding, which is read, cited and checked as usual."""
        if not self.before.evidence:
            return ()
        last = self.before.turns[-1].question if self.before.turns else self.text
        task = Task(id="0.1", round=0, source=MEMORY_SOURCE, query=last)
        started = max(item.retrieved for item in self.before.evidence)
        return (Finding(task=task, evidence=self.before.evidence, started=started),)


class Part(Record):
    """One aspect of the question, about `subject`."""

    id: str
    subject: str
    text: str


class Task(Record):
    """One query for one source. Each result has to mention one of the names in `subject`.

    `tool` is a search mode of the source, "" its default; `start` and `end` limit such a mode to
    the days from the first to the last. `language` is that of the report and of messages about the
    search; None means that of the query.
    """

    id: str
    round: int = 1
    source: str
    query: str
    part: str = ""
    subject: tuple[str, ...] = ()
    why: str = ""
    tool: str = ""
    start: date | None = None
    end: date | None = None
    language: Language | None = None

    @property
    def key(self) -> str:
        """A key that is equal for tasks with the same result, even if the default tool is named."""
        subjects = sorted(normalise_query(name) for name in self.subject)
        tool = "" if self.tool == "basic_search_news" else self.tool
        filters = [f"tool={tool}", f"days={self.start}..{self.end}"]  # no subject contains these characters
        more = filters if tool or self.start or self.end else []
        return fingerprint(self.source, normalise_query(self.query), *subjects, *more)


class PassageReference(Record):
    """A reference to a stretch of a passage of a registered piece of evidence."""

    evidence: str
    passage: str
    start: int = 0
    end: int = 0


class Span(Record):
    """A stretch of the answer. A `quote` is verbatim from a source; `part` is the id of its part.

    The text of `text` spans is Markdown: consecutive ones form one document, and a span ends where
    its citations stand.
    """

    kind: SpanKind
    text: str
    cites: tuple[PassageReference, ...] = ()
    part: str = ""
    unsourced: bool = False  # it cites a source that does not exist
    made: bool = False  # generated by rules from the rows, places or statements it cites


class SupportGap(Record):
    """Something that a claim states and its passage does not. `text` is in the claim's words;
    `found` is the passage's differing statement, if any."""

    kind: SupportGapKind
    text: str
    found: str = ""


class SupportAssessment(Record):
    """Assessment of a claim against its cited passages: a hint, never a verdict.

    `passage` is the index of the closest passage, `start` to `end` its closest sentence; `score` (0
    to 1) is the probability that the passages support the claim.
    """

    status: SupportStatus
    lacks: tuple[SupportGap, ...] = ()
    passage: int = 0
    start: int = 0
    end: int = 0
    score: float = 0.0


class Failure(Record):
    """A failed step, as the answer lists it."""

    stage: Stage = "search"
    source: str = ""
    query: str = ""
    reason: FailureReason
    hint: FailureHint = ""
    message: str = ""


class Clarification(Record):
    """A question to the user about an ambiguous question, before any search. `answer` is "" if it
    was skipped, None while it is open."""

    question: str
    choices: tuple[str, ...] = ()
    answer: str | None = None


class Plan(Record):
    """The research plan: the parts of the question and the first round's tasks.

    `question` is the question rewritten to be self-contained, if it was not; with `recalled`, the
    conversation's own evidence answers it and nothing is searched.
    """

    question: str = ""
    recalled: bool = False
    parts: tuple[Part, ...] = ()
    tasks: tuple[Task, ...] = ()
    edited: bool = False
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    outline: bool = False  # the parts are sections of a report, each researched separately
    grid: Grid | None = None  # a table, each row of which is researched separately
    unclear: Clarification | None = None  # what the user should clarify for a better plan


ColumnType = Literal["text", "number", "date", "yes or no", "choice"]
MissingReason = Literal[
    "",
    "not found",  # no source has it
    "differs",  # sources differ; `readings` has each value
    "which one",  # the row's name is ambiguous; `choices` lists the candidates
    "limit",  # the run reached a limit, or its search was ended
    "failed",  # the search or the model failed
]


class Column(Record):
    """A column of a table. `question` explains a name that is not self-explanatory; `unit` is that
    of its numbers, "" for the most common one among sources; `choices` are the permitted values of
    a choice. `sources` limits the search; () leaves the sources to the run."""

    id: str
    name: str
    question: str = ""
    type: ColumnType = "text"
    unit: str = ""
    choices: tuple[str, ...] = ()
    hint: str = ""
    sources: tuple[str, ...] = ()

    @property
    def full_question(self) -> str:
        """The question with its hint, in words."""
        return " ".join(filter(None, (self.question or self.name, self.hint)))


class Row(Record):
    """A row of a table. `about` distinguishes rows of the same name, for example by city."""

    id: str
    name: str
    about: str = ""
    place: Place | None = None

    @property
    def full_name(self) -> str:
        """Name with the distinguishing part."""
        return f"{self.name} {self.about}".strip()


class Grid(Record):
    """A requested table of rows and columns. Results from before `since` are searched again."""

    title: str = ""
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    since: datetime | None = None


class CellValue(Record):
    """The value of a cell, by type. `text` is its wording in the source.

    A number is `number` `unit`s, up to `high` for a range; `bound` qualifies it ("" means exact). A
    date is `day` with the given `precision`.
    """

    type: ColumnType
    text: str
    number: float | None = None
    high: float | None = None
    unit: str = ""
    bound: Literal["", "about", "least", "most"] = ""
    day: Date | None = None
    precision: Literal["day", "month", "year"] = "day"
    yes: bool | None = None
    choice: str = ""


class CellReading(Record):
    """The value of a cell according to one source, or several that agree, with the verbatim
    sentence in the first cited passage and how well the passages support it."""

    value: CellValue
    quote: str
    cites: tuple[PassageReference, ...]
    status: SupportStatus = "quoted"


class Cell(Record):
    """One cell of a table with its own evidence.

    `readings` has the best first, and more than one only if sources differ. Without any, `lack` is
    the reason and `message` explains it.
    """

    row: str
    column: str
    readings: tuple[CellReading, ...] = ()
    lack: MissingReason = ""
    message: str = ""
    choices: tuple[str, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()
    made: datetime | None = None

    @property
    def value(self) -> CellValue | None:
        """The best value; None if the cell is empty."""
        return self.readings[0].value if self.readings else None


class ReportSection(Record):
    """A section of a report after the last of its rounds.

    `part` is the id of the part of the plan that it covers, `gap` lists what is still missing.
    """

    part: str
    spans: tuple[Span, ...] = ()
    rounds: int = 0  # of reflection
    gap: tuple[str, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()
    kept: bool = False  # copied from the previous report, since nothing new was found


class Picture(Record):
    """A picture that a search found: its address, caption and page."""

    url: str
    caption: str = ""
    page: str = ""


class DatabaseStep(Record):
    """A step from a question to the rows of a database. `sql` is the statement that was run, if
    any, `rows` the number of rows it returned, `seconds` its duration."""

    kind: DatabaseStepKind
    text: str = ""
    sql: str = ""
    rows: int | None = None
    seconds: float = 0.0


class ColumnCoverage(Record):
    """Number of rows in which the columns of a filter, aggregate or ranking are not NULL: `known`
    of `rows`, None if they could not be counted. With `part`, the rows are those of a subquery."""

    columns: tuple[str, ...]
    known: int | None
    rows: int = 0
    part: bool = False


class QueryResult(Record):
    """The result of a statement: `names` of the columns, values as JSON types.

    `types` are derived from the values: integer, number, text, boolean, date, datetime, bytes,
    empty.
    """

    sql: str  # as executed
    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...] = ()
    truncated: bool = False  # more rows existed
    cut: int = 0  # number of shortened cells
    seconds: float = 0.0
    missed: tuple[str, ...] = ()  # filters that match no value, with similar values
    coverage: tuple[ColumnCoverage, ...] = ()  # of columns that are NULL in some rows
    most: int | None = None  # the statement's own LIMIT; the one in `sql` may be ours
    headings: dict[str, dict[Language, str]] = Field(default_factory=dict)  # display names of columns


class Finding(Record):
    """The result of one task, or the reason why it has none.

    `summary` is a model's cited text about the query; `asked` are the queries that the search
    engine ran for it; `suggestions` is HTML that the engine's terms require with the answer. `lead`
    is the search service's own text about the query, which has no citations and is no evidence.
    `outside` are ids of evidence published outside the requested days, `undated` those without a
    known date.
    """

    task: Task
    evidence: tuple[Evidence, ...] = ()
    reason: FailureReason | None = None
    hint: FailureHint = ""
    message: str = ""
    started: datetime
    seconds: float = 0.0
    reused: bool = False
    cached: bool = False  # reused from another run: `started` is the time of that search
    provider: str = ""
    summary: tuple[Span, ...] = ()
    asked: tuple[str, ...] = ()
    suggestions: str = ""
    centre: SearchArea | None = None  # of a search for places
    along: tuple[SearchArea, ...] = ()  # of a search for places along a route
    lead: str = ""
    pictures: tuple[Picture, ...] = ()
    outside: tuple[str, ...] = ()  # ids
    undated: tuple[str, ...] = ()  # ids
    meant: str = ""  # the database question as interpreted
    rows: QueryResult | None = None  # of a database
    steps: tuple[DatabaseStep, ...] = ()  # that led to the rows
    failures: tuple[Failure, ...] = ()  # additional failures: another provider, a page, a summary

    @property
    def has_failed(self) -> bool:
        """True if the search failed. One without a result has not."""
        return self.reason not in (None, "empty")

    @property
    def passage_count(self) -> int:
        return sum(len(item.passages) for item in self.evidence)

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(item.place for item in self.evidence if item.place)


class Reflection(Record):
    """The judgement after a round: what is missing and what to search next."""

    round: int
    sufficient: bool
    gap: tuple[str, ...] = ()
    follow_ups: tuple[Task, ...] = ()
    note: str = ""
    failures: tuple[Failure, ...] = ()


class Draft(Record):
    """The answer that a reasoner has written: spans, author and failures.

    `unwritten`: the spans are a stand-in for a failed answer. The run has then failed, and resuming
    it writes again.
    """

    spans: tuple[Span, ...]
    author: str
    failures: tuple[Failure, ...] = ()
    unwritten: bool = False


class Usage(Record):
    """Usage of a paid call, by the provider's own count, or `estimated` without one.

    `input` includes the `cached` tokens, `output` the thinking tokens. `cost` is an estimate in US
    dollars; None if the price is unknown.
    """

    stage: Stage
    model: str  # "gemini:gemini-3.8-flash"; for a search service just its name
    calls: int = 1
    input: int = 0
    cached: int = 0
    output: int = 0
    searches: int = 0
    cost: float | None = None
    estimated: bool = False  # whether tokens were estimated from the text's length
    task: str = ""  # id of the task it was used for


class Story(Record):
    """One event in the news: `evidence` are its pieces, one for each address, the earliest first.

    `independent` counts the pieces that are not copies of each other. `day` is the first date of
    publication, `latest` the last; both are None if no piece is dated. It is `stale` after a week
    without a new piece. The tone is `rough` if it was counted from words, because no model has
    judged it.
    """

    id: str
    headline: str
    evidence: tuple[str, ...]
    outlets: tuple[str, ...] = ()
    independent: int = 1
    day: date | None = None
    latest: date | None = None
    stale: bool = False
    tone: Tone = "neutral"
    rough: bool = True


class OutletSummary(Record):
    """The coverage by one outlet: pieces, their stories, the first day."""

    name: str  # "" if unknown
    items: int
    stories: int
    first: date | None = None


class Figure(Record):
    """A figure in a piece of evidence, with the words around it."""

    text: str
    clause: str
    outlet: str
    evidence: str


class StoryConflict(Record):
    """Figures for the same thing that cannot all be true; `story` is the id of their story."""

    story: str
    subject: str
    unit: str
    figures: tuple[Figure, ...]


class CitedFigure(Record):
    """A figure in a source, with its sentence. `number` is that of its citation, `date` the day of
    publication; `copies` counts the other sources with the same text."""

    text: str
    clause: str
    evidence: str
    number: int | None = None
    date: Date | None = None
    copies: int = 0


class FigureDisagreement(Record):
    """Figures of different sources for the same thing that cannot all be true."""

    subject: str
    unit: str
    figures: tuple[CitedFigure, ...]


class StoryChange(Record):
    """A difference to the previous report.

    A story is `new`, has `grown` by new pieces, or is `gone`: the search that found it was repeated
    and no longer does. A `figure` of a story has changed from `before` to `after`.
    """

    kind: Literal["new", "grown", "gone", "figure"]
    story: str  # its id
    headline: str
    evidence: tuple[str, ...] = ()  # ids of the new pieces, or of those that are gone
    before: Figure | None = None
    after: Figure | None = None


class NewsCoverage(Record):
    """The news of a run, grouped into stories, the latest first.

    Ages count from `as_of`; `days` has the number of pieces for each day of publication. `author`
    has judged the tones, "" if words were counted. `changes` are relative to the report of the run
    `compared`.
    """

    as_of: date
    stories: tuple[Story, ...] = ()
    outlets: tuple[OutletSummary, ...] = ()
    conflicts: tuple[StoryConflict, ...] = ()
    days: tuple[tuple[date, int], ...] = ()
    undated: int = 0  # pieces
    author: str = ""
    compared: str = ""
    changes: tuple[StoryChange, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def latest_day(self) -> date | None:
        """Day of the latest piece."""
        return self.days[-1][0] if self.days else None

    @property
    def is_stale(self) -> bool:
        """True if there are dated stories and all of them are stale."""
        dated = [story for story in self.stories if story.latest]
        return bool(dated) and all(story.stale for story in dated)


class HeadlineTones(Record):
    """Tones of headlines in their order; None where the model gave none."""

    tones: tuple[Tone | None, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()


class ModelVerdict(Record):
    """A model's verdict on a cited sentence.

    `key` identifies the sentence and its citations (see `research.citations.support.sentence_key`);
    `quote` is verbatim in a passage, from `start` to `end`. Without a quote, "supported" is an
    opinion that supports nothing.
    """

    key: str
    verdict: Verdict
    reason: str = ""
    quote: str = ""
    evidence: str = ""
    passage: str = ""
    start: int = 0
    end: int = 0


class ModelVerdicts(Record):
    """A model's verdicts on some sentences; those without a usable verdict are left out."""

    rulings: tuple[ModelVerdict, ...] = ()
    failures: tuple[Failure, ...] = ()


class RewrittenSentences(Record):
    """Sentences rewritten by a model, each with the key of the original."""

    texts: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = ()


class SentenceRepair(Record):
    """An unsupported sentence before and after its repair; "" if it was dropped."""

    before: str
    after: str = ""
    part: str = ""


class AnswerReview(Record):
    """Review of the sentences that the rules are unsure of: the verdicts of `author`, a model, and
    the repairs. `unchecked` counts the sentences without a usable verdict, `kept` those that could
    not be taken out."""

    author: str = ""
    rulings: tuple[ModelVerdict, ...] = ()
    repairs: tuple[SentenceRepair, ...] = ()
    unchecked: int = 0
    kept: int = 0
    failures: tuple[Failure, ...] = ()


class Answer(Record):
    """The cited text before numbering: only ids of the evidence registry become numbers."""

    title: str
    language: Language
    author: str
    spans: tuple[Span, ...] = ()
    failures: tuple[Failure, ...] = ()
    sample: bool = False
    unwritten: bool = False
    suggestions: tuple[str, ...] = ()
    coverage: NewsCoverage | None = None  # of a report
    cells: tuple[Cell, ...] = ()  # of a table
    review: AnswerReview | None = None
    made: datetime

    @property
    def quote_count(self) -> int:
        return sum(span.kind == "quote" for span in self.spans)

    @property
    def cited_span_count(self) -> int:
        """Number of spans with citations."""
        return sum(bool(span.cites) for span in self.spans)


class RunOptions(Record):
    """The limits of one run. `loops` counts search rounds, the first included; 0 searches nothing.

    For `searches`, `tokens`, `cost` (US dollars) and `seconds` (of work), 0 means no limit.
    """

    queries: int = Field(default=3, ge=1, le=10)
    sections: int = Field(default=0, ge=0, le=12)  # maximum for a report; 0 writes an answer, not a report
    reflections: int = Field(default=2, ge=0, le=10)  # of each section
    table: bool = False  # write a table whose every cell is cited
    loops: int = Field(default=2, ge=0, le=10)
    sources: tuple[str, ...] = ("library",)
    model: str = ""  # replaces the configured models for reflecting and writing
    models: tuple[tuple[str, str], ...] = ()  # overrides for single roles, as (role, model)
    searches: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    approve: bool = False  # require approval of the plan before any search
    clarify: bool = False  # ask back once about an ambiguous question
    updates: str = ""  # id of the run whose report this one updates
    database: str = Field(default="", max_length=200)  # name of the database to query; "" is the default
    notebook: str = Field(default="", max_length=80)  # the library quotes only its documents

    def model_for(self, role: str) -> str:
        """Return the model chosen for a role in this run; "" for the configured one."""
        both = self.model.strip() if role in ("reflect", "write") else ""
        return both or dict(self.models).get(role, "")

    def selection_for(self, source: str) -> str:
        """Return the database or notebook that a source searches; "" for the default, or all."""
        return {"database": self.database, "library": self.notebook}.get(source, "")


class RunEstimate(Record):
    """Expected usage of a run, shown before it starts. `cost` is None if a price is unknown; `runs`
    counts the earlier runs that it is based on."""

    searches: int
    tokens: int
    cost: float | None
    seconds: float
    runs: int = 0


class Instruction(Record):
    """A user's instruction to a run in progress; `heeded` once a stage has read it."""

    text: str
    time: datetime
    heeded: bool = False


class Remark(Record):
    """A user's note on their answer, or on a `passage` of its `evidence`, both by id. It is
    private: no stage reads it."""

    evidence: str = ""
    passage: str = ""
    text: str
    made: datetime  # time of the last edit


class Run(Record):
    """One question and its processing. A waiting run needs an approval or a clarification."""

    id: str
    conversation: str
    owner: str
    question: str
    options: RunOptions
    status: RunStatus
    created: datetime
    finished: datetime | None = None
    error: str = ""
    based_on: str = ""
    follows: str = ""  # the run that this one's question follows up

    @property
    def is_active(self) -> bool:
        """True while the run is queued or running."""
        return self.status in ("queued", "running")

    @property
    def is_resumable(self) -> bool:
        """True if the run ended early and can be continued."""
        return self.status in ("stopped", "interrupted", "failed")


class Conversation(Record):
    """A series of runs. Its title is the first question unless the user has renamed it."""

    id: str
    title: str
    pinned: bool = False
    turns: int
    created: datetime
    updated: datetime
    latest: str  # the id of its last run


class WatchedTopic(Record):
    """A topic whose report is updated from time to time.

    `latest` is the last run with a written report, `changed` whether it reported anything new; None
    before the second one. If the run cannot be read, only the id and the topic are known.
    """

    id: str
    topic: str
    created: datetime | None = None
    latest: str = ""
    updated: datetime | None = None
    changed: bool | None = None


class Report(Record):
    """Everything about one run that pages display and exports write."""

    run: Run
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()
    reflections: tuple[Reflection, ...] = ()
    answer: Answer | None = None
    evidence: tuple[Evidence, ...] = ()
    usage: tuple[Usage, ...] = ()
    clarification: Clarification | None = None
    instructions: tuple[Instruction, ...] = ()
    remarks: tuple[Remark, ...] = ()  # the answer's first, then by time

    @property
    def is_awaiting_clarification(self) -> bool:
        """True while the run waits for the user's clarification."""
        clarification = self.clarification
        return self.run.status == "waiting" and clarification is not None and clarification.answer is None


class Readiness(Record):
    """Availability of a source: live, offline, limited to sample data, or missing a requirement,
    which `detail` names.

    `withheld` names the tools of a server that cannot be offered to any model.
    """

    state: Literal["live", "offline", "sample", "missing"]
    detail: str = ""
    withheld: str = ""


class ConnectionCheck(Record):
    """Result of a connection test: `name` is a role (plan, write) or a search provider."""

    name: str
    setting: str = ""
    model: str = ""
    seconds: float = 0.0
    failure: Failure | None = None
    warning: str = ""
