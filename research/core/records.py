"""The nouns of the house, frozen.

Every record is an immutable value: it knows nothing of storage, of drawing or of the graph. Offsets
are characters, times are UTC, dates are real dates or ``None``. Records are pydantic models, so
that they survive JSON and the graph's checkpoints unchanged (tuples stay tuples).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from datetime import date, datetime
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

Date = date  # where a field has that name
Language = Literal["zh", "en"]
EvidenceKind = Literal["library", "web", "news", "place", "database", "paper"]
TravelMode = Literal["walking", "bicycling", "driving", "transit", "straight"]  # of getting somewhere
PublicationNotice = Literal[
    "",
    "corrected",  # what was wrong in it has been put right elsewhere
    "concern",  # an expression of concern: whether it can be relied on is being looked into
    "retracted",  # in whole or in part, also if it was withdrawn or removed
]
FailureReason = Literal[
    "no key",  # the source needs a key that is not set
    "refused",  # the key or the request was turned down
    "redirected",  # it sends on to another address, where nothing of ours is taken
    "too many redirects",  # it sends on and on, perhaps in a circle
    "not found",  # nothing lies at the address
    "too large",  # it is longer than what is read
    "quota",  # the allowance is used up
    "timeout",  # no answer within the deadline
    "unreachable",  # no connection
    "blocked",  # the content or this client is barred
    "empty",  # it answered: there is nothing
    "malformed",  # it answered something that cannot be read
    "unavailable",  # it answered that it cannot serve now
    "cut off",  # it reached its own limit of output
    "unclear",  # it has to be said more exactly what is meant; the message asks
    "no model",  # only a model can turn the query into a search; the message says what else can be done
    "left out",  # not done, or cut off: a limit of the run was reached, or its searching was ended
    "internal",  # our own fault; the log has the details
]
RunStatus = Literal["queued", "running", "waiting", "done", "stopped", "interrupted", "failed"]
SpanKind = Literal["heading", "quote", "text", "missing", "notice"]
Tone = Literal["positive", "neutral", "negative"]
Stage = Literal["plan", "search", "summarise", "reflect", "write", "check"]
SupportStatus = Literal["quoted", "supported", "unclear", "unsupported", "differs", "none"]
Verdict = Literal["supported", "partly", "contradicted", "absent"]
SupportGapKind = Literal["figure", "date", "words", "language"]
DatabaseStepKind = Literal[
    "tables",  # those that a model is told of, where they are not all
    "understand",  # what is asked for, and who has understood it
    "link",  # names of the question as the database has them
    "write",  # a statement and why it is written so
    "refused",  # by the guard or the engine; the reason goes back to whoever wrote it
    "run",  # rows
    "judge",  # whether they are what was asked for
    "supplement",  # cells that were NULL and are not any more
    "missing",  # what stays NULL
]
FailureHint = Literal[
    "",
    "key",  # the key is wrong or missing
    "billing",  # the account has no money, or the key no billing, and this needs it
    "minute",  # too many requests in a short time; more are possible soon
    "day",  # the quota of the day is used up
    "location",  # the service refuses this region
    "model",  # the model is not there (any more)
    "context",  # the input is too long for the model
    "endpoint",  # the address answers, but it is not this service
    "dns",  # the name of the server cannot be looked up
    "tls",  # the certificate of the server cannot be verified
    "package",  # a package that this needs is not installed
]

# Reasons whose message tells the person what to do: nothing has failed.
ASKS_BACK: frozenset[FailureReason] = frozenset(("unclear", "no model"))
MEMORY_SOURCE = "memory"  # the source of what earlier turns have found
MAX_QUESTION_CHARS = 2_000  # characters; longer text belongs into the library


def fingerprint(*parts: str, digits: int = 12) -> str:
    """A short stable id (hex, `size` digits) of some strings; order matters."""
    digest = hashlib.blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16)
    return digest.hexdigest()[:digits]


def normalise_query(query: str) -> str:
    """A query as it is compared: NFKC, case-folded, punctuation and white space collapsed."""
    folded = unicodedata.normalize("NFKC", query).casefold()
    return re.sub(r"[\W_]+", " ", folded).strip()


class Record(BaseModel):
    """Base of all records: frozen, strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EventEmitter(Protocol):
    """How a stage, a reasoner or a source tells what happens while it happens."""

    def __call__(self, kind: str, /, **data: Any) -> None:
        """`data` has to survive JSON. Kinds: text, waiting, queued (for a turn of our
        own), tool, usage and those of the graph."""


def ignore_event(kind: str, /, **data: Any) -> None:
    """A `Say` that nobody hears."""


class Passage(Record):
    """A piece of a source. With the origin `source`, `text` is verbatim: the document's text from
    `start` to `end`. With the origin `grounding` it is a sentence of a search model that names the
    source as what supports it; the source may say it in other words.
    """

    id: str
    origin: Literal["source", "grounding"] = "source"
    text: str
    start: int = 0
    end: int = 0
    heading: str = ""
    page: int | None = None
    title: str = ""
    made: bool = False  # by rules, of the source's data: a statement in words
    ocr: bool = False  # read from the picture of its page: may have mistakes


# What has to be said wherever places of a provider are shown, and the page on their licence.
ATTRIBUTIONS = {"osm": ("© OpenStreetMap contributors, ODbL", "https://www.openstreetmap.org/copyright")}


class Place(Record):
    """A point with a name. `lng` and `lat` are WGS-84 degrees, whatever system it came in. Its texts are
    the provider's own; `english` says beside them what they mean."""

    id: str
    name: str
    lng: float
    lat: float
    provider: str  # amap, offline, osm
    category: str = ""  # food, sight, family, shop, hotel, transport, culture, other
    type: str = ""  # the provider's own words for what it is
    address: str = ""
    district: str = ""
    city: str = ""
    distance: int | None = None  # metres from the centre that was searched around
    rating: float | None = None  # of 5
    cost: float | None = None  # yuan a person
    hours: str = ""
    phone: str = ""
    photos: tuple[str, ...] = ()
    sample: bool = False
    name_en: str = ""
    type_en: str = ""
    address_en: str = ""

    @property
    def attribution(self) -> str:
        """Who has to be named where it is shown or exported, and where its licence is; "" for nobody."""
        return " ".join(ATTRIBUTIONS.get(self.provider, ()))


class SearchArea(Record):
    """What was searched around: a point in WGS-84 degrees and a radius in metres, 0 for an area that
    was searched as a whole, such as a city. `asked` is the radius that was asked for where nothing
    was within it and `radius` is wider, else 0."""

    name: str
    lng: float
    lat: float
    radius: int = 0
    asked: int = 0


class Route(Record):
    """The way between two places, by their names.

    `line` are WGS-84 points, longitude first; it leads straight from end to end with `direct`, where
    the map service gave no line of its own. What is not known is None.
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
    """How far some places are from one another: the row is where a way begins, the column where it
    ends. None on the diagonal, and where nobody knows; `failure` says why nothing was measured."""

    names: tuple[str, ...]
    means: TravelMode = "straight"
    metres: tuple[tuple[int | None, ...], ...] = ()
    seconds: tuple[tuple[int | None, ...], ...] = ()
    failure: Failure | None = None


class Author(Record):
    """Who has written something, as a catalogue gives it: a family name and given names, or a whole
    `name` where nobody knows which is which, as of a group."""

    family: str = ""
    given: str = ""
    name: str = ""

    @property
    def display_name(self) -> str:
        return self.name or f"{self.given} {self.family}".strip()


class Paper(Record):
    """What catalogues know of a scholarly work beside its title and address. `cited` counts the works
    that cite it, as `counted` (openalex, crossref) has it; None if nobody has counted."""

    authors: tuple[Author, ...] = ()
    year: int | None = None
    venue: str = ""  # the journal, the proceedings or the archive that it stands in
    doi: str = ""  # without https://doi.org/
    cited: int | None = None
    counted: str = ""


class Evidence(Record):
    """Something that can be cited. One canonical URL (or one document) is one evidence id."""

    id: str
    kind: EvidenceKind
    title: str
    publisher: str = ""
    url: str = ""
    also: str = ""  # an address where more is to be read; the words are not from there
    locator: str = ""
    language: str = ""
    retrieved: datetime
    published: date | None = None
    moment: datetime | None = None  # of its publication, if more than the day is known
    standing: Literal["", "preferred", "warned"] = ""  # by the lists of domains
    sample: bool = False
    expires: bool = False  # its address is a redirect that works for some weeks only
    opening: str = ""  # how it begins, which tells what it is about
    passages: tuple[Passage, ...] = ()
    place: Place | None = None
    way: Route | None = None
    paper: Paper | None = None
    notice: PublicationNotice = ""  # what has become of it since it was published


class RecordedPlace(Record):
    """A place and the runs that found it, the newest first; none if it was looked up by itself."""

    place: Place
    url: str = ""
    retrieved: datetime
    runs: tuple[str, ...] = ()  # ids
    questions: tuple[str, ...] = ()


class Itinerary(Record):
    """Places in the order of a day, and the way from each to the next. `failure` says why some ways
    are straight lines, if they had to be."""

    places: tuple[Place, ...]
    legs: tuple[Route, ...] = ()
    failure: Failure | None = None


class Turn(Record):
    """An earlier turn of a conversation: what it asked, so that it stands alone, and how it was
    answered, shortened."""

    question: str
    answer: str = ""


class Memory(Record):
    """What a turn knows of those before it: bounded, whichever turn it is.

    `turns` are the last ones, the latest last, `asked` the questions before them; `evidence` is what
    the last answers cite, with the cited passages alone.
    """

    turns: tuple[Turn, ...] = ()
    asked: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()


class Question(Record):
    """What is researched; `language` decides the language of the answer.

    `text` stands alone. If it had to be rewritten for that, `asked` is what was typed.
    """

    text: str
    language: Language
    asked: str = ""
    before: Memory = Memory()
    added: tuple[str, ...] = ()  # what its person has said since

    @property
    def memory_findings(self) -> tuple[Finding, ...]:
        """The evidence of earlier turns as a finding: it is read, cited and checked as any is."""
        if not self.before.evidence:
            return ()
        last = self.before.turns[-1].question if self.before.turns else self.text
        task = Task(id="0.1", round=0, source=MEMORY_SOURCE, query=last)
        started = max(item.retrieved for item in self.before.evidence)
        return (Finding(task=task, evidence=self.before.evidence, started=started),)


class Part(Record):
    """One thing the question wants to know about `subject`."""

    id: str
    subject: str
    text: str


class Task(Record):
    """One query for one source. `subject` lists names, one of which every hit has to mention.

    `tool` is a way of searching that the source has, "" its usual one; `start` and `end` are the
    first and the last day that such a way is limited to. `language` is that of the report: what is said
    of the search is said in it, or, where it is not known, in the language of the query.
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
        """Equal for tasks that would bring back the same. The usual tool may be named or not."""
        subjects = sorted(normalise_query(name) for name in self.subject)
        tool = "" if self.tool == "basic_search_news" else self.tool
        way = [f"tool={tool}", f"days={self.start}..{self.end}"]  # no name has such signs
        more = way if tool or self.start or self.end else []
        return fingerprint(self.source, normalise_query(self.query), *subjects, *more)


class PassageReference(Record):
    """Points at a stretch of a passage of a registered piece of evidence."""

    evidence: str
    passage: str
    start: int = 0
    end: int = 0


class Span(Record):
    """A stretch of the answer. `quote` text is verbatim from outside; `part` is the part it serves.

    The text of `text` spans is Markdown: put together, those that follow each other are one
    document, and a span ends where its citations stand.
    """

    kind: SpanKind
    text: str
    cites: tuple[PassageReference, ...] = ()
    part: str = ""
    unsourced: bool = False  # it claims a source that does not exist
    made: bool = False  # by rules, of the rows, places or statements that it cites


class SupportGap(Record):
    """What a claim says and its passage does not: in the claim's own words, and what stands there
    instead, if anything does."""

    kind: SupportGapKind
    text: str
    found: str = ""


class SupportAssessment(Record):
    """How a claim stands to the passages that it cites: a hint, never a verdict.

    `passage` is the place of the one that comes nearest, `start` to `end` its sentence that does;
    `score` (0 to 1) is the probability that the passages support it.
    """

    status: SupportStatus
    lacks: tuple[SupportGap, ...] = ()
    passage: int = 0
    start: int = 0
    end: int = 0
    score: float = 0.0


class Failure(Record):
    """Something that failed on the way, as the answer lists it."""

    stage: Stage = "search"
    source: str = ""
    query: str = ""
    reason: FailureReason
    hint: FailureHint = ""
    message: str = ""


class Clarification(Record):
    """What is asked back before anything is searched, since the question can be meant in different
    ways. `answer` is "" if it was skipped, None as long as nobody has answered."""

    question: str
    choices: tuple[str, ...] = ()
    answer: str | None = None


class Plan(Record):
    """What to look up: the parts of the question and the first round's tasks.

    `question` is the question rewritten to stand alone, if it did not; `recalled` says that the
    conversation's own evidence answers it, and nothing is searched.
    """

    question: str = ""
    recalled: bool = False
    parts: tuple[Part, ...] = ()
    tasks: tuple[Task, ...] = ()
    edited: bool = False
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    outline: bool = False  # its parts are the sections of a report, each worked on by itself
    grid: Grid | None = None  # a table, each row of which is worked on by itself
    unclear: Clarification | None = None  # what would have to be known to plan better


ColumnType = Literal["text", "number", "date", "yes or no", "choice"]
MissingReason = Literal[
    "",
    "not found",  # it was looked for, and nothing says it
    "differs",  # sources say different things; the readings have each
    "which one",  # several things have the row's name; `choices` tells them apart
    "limit",  # a limit of the run was reached, or its searching was ended
    "failed",  # what should have told it failed
]


class Column(Record):
    """What a table asks of each of its rows. `question` says in a sentence what its name does not;
    `unit` is that of its numbers, "" for the one that most sources use; `choices` are the values of a
    choice. `sources` limits where it is looked for, () leaves that to the run."""

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
        """What is asked, in words."""
        return " ".join(filter(None, (self.question or self.name, self.hint)))


class Row(Record):
    """What a table asks about. `about` tells it from others of its name, as a city does."""

    id: str
    name: str
    about: str = ""
    place: Place | None = None

    @property
    def full_name(self) -> str:
        return f"{self.name} {self.about}".strip()


class Grid(Record):
    """A table that is asked for: each column of each row is a cell. What was found before `since` is looked
    for anew."""

    title: str = ""
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    since: datetime | None = None


class CellValue(Record):
    """What a cell says, by type. `text` are the words that say it, as the source has them.

    A number is `number` `unit`s, up to `high` where it is a range; `bound` says that it is about, at least
    or at most that ("" exactly). A date is `day` as precise as `precision` says.
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
    """What one source, or several that agree, say in a cell: the value, the sentence as it stands in the
    first passage cited, and how far the passages bear it out."""

    value: CellValue
    quote: str
    cites: tuple[PassageReference, ...]
    status: SupportStatus = "quoted"


class Cell(Record):
    """One small question with its own evidence. `readings` has the best first, and more than one only where
    sources differ; without one, `lack` says why there is none and `message` tells it in words."""

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
        return self.readings[0].value if self.readings else None


class ReportSection(Record):
    """A section of a report: its text as it stands after the last of its rounds.

    `part` is the id of the part of the plan that it fills, `gap` what it still lacks.
    """

    part: str
    spans: tuple[Span, ...] = ()
    rounds: int = 0  # of reflection
    gap: tuple[str, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()
    kept: bool = False  # from the report before, to which nothing new was found


class Picture(Record):
    """A picture that a search found: its address, what is said of it, and the page it belongs to."""

    url: str
    caption: str = ""
    page: str = ""


class DatabaseStep(Record):
    """A step on the way from a question to rows of a database; `sql` is the text that was run, if one
    was, `rows` how many it found, `seconds` how long that took."""

    kind: DatabaseStepKind
    text: str = ""
    sql: str = ""
    rows: int | None = None
    seconds: float = 0.0


class ColumnCoverage(Record):
    """For how many rows columns are known that a statement filters, aggregates or ranks by: `known`
    of the `rows` that it looks at, None where it could not be counted. `part`: the rows are those of a
    subquery."""

    columns: tuple[str, ...]
    known: int | None
    rows: int = 0
    part: bool = False


class QueryResult(Record):
    """What a statement has found: `names` of the columns, values as JSON knows them.

    `types` are told by the values: integer, number, text, boolean, date, datetime, bytes, empty.
    """

    sql: str  # as it was run
    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    types: tuple[str, ...] = ()
    truncated: bool = False  # there were more
    cut: int = 0  # cells that were shortened
    seconds: float = 0.0
    missed: tuple[str, ...] = ()  # filters that can find nothing, and what is there instead
    coverage: tuple[ColumnCoverage, ...] = ()  # of columns that are unknown in some rows
    most: int | None = None  # the statement's own LIMIT; the one in its text may be ours
    headings: dict[str, dict[Language, str]] = Field(default_factory=dict)  # of columns, for people


class Finding(Record):
    """What one task brought back, or the reason why it brought back nothing.

    `summary` is what a model wrote about this query, cited; `asked` are the queries that the search
    engine ran for it; `suggestions` is HTML that the engine's terms want shown with the answer.
    `lead` is what the search service itself wrote about the query: its own text, which cites
    nothing and is no evidence. `outside` names the evidence that was published on other days than
    those asked for, `undated` that of which nobody knows.
    """

    task: Task
    evidence: tuple[Evidence, ...] = ()
    reason: FailureReason | None = None
    hint: FailureHint = ""
    message: str = ""
    started: datetime
    seconds: float = 0.0
    reused: bool = False
    cached: bool = False  # reused from another run: `started` tells when it was searched
    provider: str = ""
    summary: tuple[Span, ...] = ()
    asked: tuple[str, ...] = ()
    suggestions: str = ""
    centre: SearchArea | None = None  # of a search for places
    along: tuple[SearchArea, ...] = ()  # of a search for places along a way, by name of nothing
    lead: str = ""
    pictures: tuple[Picture, ...] = ()
    outside: tuple[str, ...] = ()  # ids
    undated: tuple[str, ...] = ()  # ids
    meant: str = ""  # what a database was asked for, as it was understood
    rows: QueryResult | None = None  # of a database
    steps: tuple[DatabaseStep, ...] = ()  # on the way to them
    failures: tuple[Failure, ...] = ()  # what failed beside it: another provider, a page, a summary

    @property
    def passage_count(self) -> int:
        return sum(len(item.passages) for item in self.evidence)

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(item.place for item in self.evidence if item.place)


class Reflection(Record):
    """The judgement after a round: what is missing and what to look up next."""

    round: int
    sufficient: bool
    gap: tuple[str, ...] = ()
    follow_ups: tuple[Task, ...] = ()
    note: str = ""
    failures: tuple[Failure, ...] = ()


class Draft(Record):
    """What a reasoner has written: an answer's spans, who wrote them, what failed on the way.

    `unwritten` is set if what is there only stands in for an answer that failed: the run has failed
    then, and going on with it tries to write again.
    """

    spans: tuple[Span, ...]
    author: str
    failures: tuple[Failure, ...] = ()
    unwritten: bool = False


class Usage(Record):
    """What a paid call used, by the provider's own count, or `estimated` where it gave none.

    `input` includes what was `cached`, `output` what the model thought. `cost` is an estimate in US
    dollars; None if the price is not known.
    """

    stage: Stage
    model: str  # "gemini:gemini-3.8-flash"; of a search service its name alone
    calls: int = 1
    input: int = 0
    cached: int = 0
    output: int = 0
    searches: int = 0
    cost: float | None = None
    estimated: bool = False  # whether tokens were taken from the length of the text
    task: str = ""  # the id of the search that it was used for


class Story(Record):
    """One event in the news: `evidence` are its pieces, one for each address, the earliest first.

    `independent` counts the pieces that are no copies of each other. `day` is when it was first told,
    `latest` when last; both are None if no piece is dated. It is `stale` if nothing was told of it
    for a week. The tone is `rough` if words were counted because no model has judged it.
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
    """What one outlet has published: pieces, the stories they belong to, the first day."""

    name: str  # "" if unknown
    items: int
    stories: int
    first: date | None = None


class Figure(Record):
    """A figure as one piece of evidence gives it, and the words around it."""

    text: str
    clause: str
    outlet: str
    evidence: str


class StoryConflict(Record):
    """Figures for one thing that cannot all be true; `story` is the id of the story they are of."""

    story: str
    subject: str
    unit: str
    figures: tuple[Figure, ...]


class CitedFigure(Record):
    """A figure as one source gives it, and the sentence that gives it. `number` is that of its
    citation, `date` the day of publication; `copies` counts the other sources with the same text."""

    text: str
    clause: str
    evidence: str
    number: int | None = None
    date: Date | None = None
    copies: int = 0


class FigureDisagreement(Record):
    """Figures of different sources for one thing that cannot all be true."""

    subject: str
    unit: str
    figures: tuple[CitedFigure, ...]


class StoryChange(Record):
    """What is otherwise than in the report before.

    A story is `new`, has `grown` by pieces that were not known, or is `gone`: the search that had found
    it was made again and finds it no more. A `figure` of a story was one and is another.
    """

    kind: Literal["new", "grown", "gone", "figure"]
    story: str  # its id
    headline: str
    evidence: tuple[str, ...] = ()  # ids: of the pieces that are new, or of those that are gone
    before: Figure | None = None
    after: Figure | None = None


class NewsCoverage(Record):
    """What the news of a run come to when they are put together: stories, the latest first.

    Ages count from `as_of`; `days` has how many pieces were published on each day that had any.
    `author` has judged the tones, "" if nobody did and words were counted. `changes` are those since
    the report of the run `compared`.
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
        """The day of the latest piece."""
        return self.days[-1][0] if self.days else None

    @property
    def is_stale(self) -> bool:
        """Whether every story that has a day is."""
        dated = [story for story in self.stories if story.latest]
        return bool(dated) and all(story.stale for story in dated)


class HeadlineTones(Record):
    """How headlines sound, in their order; None where whoever judged them said nothing."""

    tones: tuple[Tone | None, ...] = ()
    author: str = ""
    failures: tuple[Failure, ...] = ()


class ModelVerdict(Record):
    """What a model has ruled of a cited sentence. `key` names the sentence with what it cites (see
    `research.citations.support.sentence_key`); `quote` is verbatim in a passage, `start` to `end` of it. Without
    one, "supported" is an opinion that supports nothing."""

    key: str
    verdict: Verdict
    reason: str = ""
    quote: str = ""
    evidence: str = ""
    passage: str = ""
    start: int = 0
    end: int = 0


class ModelVerdicts(Record):
    """What a model has ruled of some sentences; of those it said nothing usable of, nothing."""

    rulings: tuple[ModelVerdict, ...] = ()
    failures: tuple[Failure, ...] = ()


class RewrittenSentences(Record):
    """Sentences as a model has rewritten them, each with the key of what it was."""

    texts: tuple[tuple[str, str], ...] = ()
    failures: tuple[Failure, ...] = ()


class SentenceRepair(Record):
    """A sentence without support as it was, and as it is; "" if it was dropped."""

    before: str
    after: str = ""
    part: str = ""


class AnswerReview(Record):
    """What became of the sentences of an answer that the rules are not sure of: how `author`, a model, has ruled, and what was
    put right. `unchecked` counts the sentences that got no usable ruling, `kept` those that
    could not be taken out."""

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
        """How many stretches of the answer cite something."""
        return sum(bool(span.cites) for span in self.spans)


class RunOptions(Record):
    """The limits of one run. `loops` counts rounds of search, the first included; 0 searches nothing.

    Of `searches`, `tokens`, `cost` (US dollars) and `seconds` (of work) 0 is no limit.
    """

    queries: int = Field(default=3, ge=1, le=10)
    sections: int = Field(default=0, ge=0, le=12)  # of a report, at most; 0 is an answer, no report
    reflections: int = Field(default=2, ge=0, le=10)  # of each section
    table: bool = False  # things by what is asked of each, every cell cited
    loops: int = Field(default=2, ge=0, le=10)
    sources: tuple[str, ...] = ("library",)
    model: str = ""  # reflects and writes instead of the models that are set; "" leaves them
    models: tuple[tuple[str, str], ...] = ()  # the same of single roles, each with its model
    searches: int = Field(default=0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    approve: bool = False  # the plan, before anything is searched
    clarify: bool = False  # a question that can be meant in different ways is asked back, once
    updates: str = ""  # the id of a run whose report this one brings up to date
    database: str = Field(default="", max_length=200)  # that is asked; "" is the usual one
    notebook: str = Field(default="", max_length=80)  # whose documents alone the library quotes

    def model_for(self, role: str) -> str:
        """The model that a role has in this run alone; "" if it has the one that is set."""
        both = self.model.strip() if role in ("reflect", "write") else ""
        return both or dict(self.models).get(role, "")

    def selection_for(self, source: str) -> str:
        """Which of the things that a source stands for is searched; "" for the usual one, or all."""
        return {"database": self.database, "library": self.notebook}.get(source, "")


class RunEstimate(Record):
    """What a run is likely to use, told before it starts. `cost` is None where a price is not known;
    `runs` are the earlier ones that it draws on."""

    searches: int
    tokens: int
    cost: float | None
    seconds: float
    runs: int = 0


class Instruction(Record):
    """What a person said to a run under way; `heeded` once a stage has read it."""

    text: str
    time: datetime
    heeded: bool = False


class Remark(Record):
    """What somebody has noted of an answer of theirs, or of a `passage` of its `evidence`, both by id.
    It is theirs: no stage reads it."""

    evidence: str = ""
    passage: str = ""
    text: str
    made: datetime  # when it was written last


class Run(Record):
    """One turn: a question on its way to an answer. One that is waiting needs its plan approved."""

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
    follows: str = ""  # the run whose answer this one's question continues

    @property
    def is_active(self) -> bool:
        return self.status in ("queued", "running")

    @property
    def is_resumable(self) -> bool:
        return self.status in ("stopped", "interrupted", "failed")


class Conversation(Record):
    """A series of runs. Its title is its first question unless the analyst gave it another."""

    id: str
    title: str
    pinned: bool = False
    turns: int
    created: datetime
    updated: datetime
    latest: str  # the id of its last run


class WatchedTopic(Record):
    """A topic whose report is brought up to date from time to time.

    `latest` is the last run whose report is written, `changed` whether that one has told of
    anything new; None before there was a second one. Of a watch whose run cannot be read only the id
    and the topic are known.
    """

    id: str
    topic: str
    created: datetime | None = None
    latest: str = ""
    updated: datetime | None = None
    changed: bool | None = None


class Report(Record):
    """Everything one run has to show: what pages draw and exports write."""

    run: Run
    plan: Plan | None = None
    findings: tuple[Finding, ...] = ()
    reflections: tuple[Reflection, ...] = ()
    answer: Answer | None = None
    evidence: tuple[Evidence, ...] = ()
    usage: tuple[Usage, ...] = ()
    clarification: Clarification | None = None
    instructions: tuple[Instruction, ...] = ()
    remarks: tuple[Remark, ...] = ()  # that of the answer first, then the earliest

    @property
    def is_awaiting_clarification(self) -> bool:
        """Whether the run waits for its person to say what is meant."""
        asked = self.clarification
        return self.run.status == "waiting" and asked is not None and asked.answer is None


class Event(Record):
    """One line of live progress. `seq` starts at 1 and has no gaps within a run."""

    run: str
    seq: int
    time: datetime
    kind: str
    data: dict[str, Any] = {}


class Readiness(Record):
    """State of a source: live, offline, limited to sample data or missing a requirement, with the
    detail of what to add.

    `withheld` names the tools of a server that cannot be offered to any model.
    """

    state: Literal["live", "offline", "sample", "missing"]
    detail: str = ""
    withheld: str = ""


class ConnectionCheck(Record):
    """What a test connection has shown: `name` is a role (plan, write) or a search provider."""

    name: str
    setting: str = ""
    model: str = ""
    seconds: float = 0.0
    failure: Failure | None = None
    warning: str = ""
