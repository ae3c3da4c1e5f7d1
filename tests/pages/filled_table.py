"""Tables that are filled in, written as they would be stored: small ones in both languages with a cell of
every kind, and large ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from research.agent.nodes.table import table_draft
from research.citations.registry import evidence_id
from research.core.events import parse_event
from research.core.records import (
    Answer,
    Cell,
    CellReading,
    CellValue,
    Column,
    Evidence,
    Finding,
    Grid,
    Language,
    MissingReason,
    Passage,
    PassageReference,
    Place,
    Plan,
    Row,
    Run,
    RunOptions,
    RunStatus,
    SupportStatus,
    Task,
)
from research.storage.store import Store

NOW = datetime(2026, 11, 20, 3, 4, tzinfo=UTC)
IDS: dict[str, str] = {"zh": "tablezh0-run", "en": "tableen0-run"}
ASKED = {"zh": "比较五座博物馆", "en": "Compare five museums"}


def source(n: int, title: str, text: str, **update: Any) -> Evidence:
    url = f"https://museum{n}.example.org/visit"
    return Evidence(
        id=evidence_id("web", url, title),
        kind="web",
        title=title,
        publisher=f"museum{n}.example.org",
        url=url,
        locator=title,
        retrieved=NOW,
        published=date(2026, 1 + n % 9, 1 + n % 28),
        passages=(Passage(id="p", text=text, end=len(text)),),
    ).model_copy(update=update)


def reading(item: Evidence, value: CellValue, status: SupportStatus = "quoted", quote: str = "") -> CellReading:
    text = item.passages[0].text
    cite = PassageReference(evidence=item.id, passage="p", end=len(text))
    return CellReading(value=value, quote=quote or text, references=(cite,), status=status)


def keep(
    store: Store,
    run_id: str,
    question: str,
    grid: Grid,
    cells: Sequence[Cell],
    found: Iterable[Evidence],
    language: Language = "en",
    status: RunStatus = "done",
    options: RunOptions | None = None,
) -> str:
    """Stores a table, over or under way; returns its id."""
    asked = options or RunOptions(sources=("web",))
    run = Run(
        id=run_id,
        conversation=run_id,
        owner="local",
        question=question,
        status="running",
        options=asked.model_copy(update={"table": True}),
        created=NOW - timedelta(minutes=5),
    )
    plan, task = Plan(grid=grid), Task(id="1.1", source="web", query="museums")
    assert store.add_run(run, None, "0" * 32)
    store.finish_search(
        store.start_search(run_id, task),
        run_id,
        Finding(task=task, evidence=tuple(found), started=NOW),
    )
    told: list[tuple[str, dict[str, Any]]] = [
        ("status", {"status": "running"}),
        ("question", {"text": question, "language": language}),
        ("plan", {"plan": plan.model_dump(mode="json")}),
        *(("cell", {"cell": cell.model_dump(mode="json")}) for cell in cells),
    ]
    answer = None
    if status == "done":
        draft = table_draft(grid, cells, language)
        answer = Answer(
            title=question,
            language=language,
            author=draft.author,
            spans=draft.spans,
            cells=tuple(cells),
            failures=draft.failures,
            created=NOW,
        )
        told += [("answer", {"quotes": 0, "cites": 9, "failures": 0})]
        told += [("status", {"status": "done", "error": ""})]
    store.save_outcome(run_id, plan, (), answer)
    store.append_events(run_id, [(NOW, parse_event(kind, data)) for kind, data in told], status)
    return run_id


# A small table: name, which one, ticket, opened, booking, kind, curator

_NAMES: dict[str, tuple[tuple[str, str], ...]] = {
    "zh": (
        ("故宫博物院", "北京"),
        ("陕西历史博物馆", "西安"),
        ("上海博物馆", "上海"),
        ("城市博物馆", ""),
        ("史密森尼博物馆", "华盛顿"),
    ),
    "en": (
        ("Palace Museum", "Beijing"),
        ("Shaanxi History Museum", "Xi'an"),
        ("Shanghai Museum", "Shanghai"),
        ("City Museum", ""),
        ("Smithsonian Museum", "Washington"),
    ),
}
_HEADS = {
    "zh": ("门票", "开放年份", "是否预约", "类型", "镇馆之宝"),
    "en": ("Ticket", "Opened", "Booking", "Kind", "Best-known object"),
}
_KINDS = {"zh": ("历史", "艺术"), "en": ("history", "art")}
_TOLD = {
    "zh": (
        "旺季门票为60元。",
        "淡季门票为40元。",
        "博物馆于1925年10月10日开放。",
        "参观须提前预约。",
        "馆藏以清明上河图最为著名。",
        "票价30至50元。",
        "特展票价12美元。",
        "这是一座历史博物馆。",
    ),
    "en": (
        "A ticket costs 60 yuan in the high season.",
        "A ticket costs 40 yuan in the low season.",
        "The museum opened on 10 October 1925.",
        "Visitors have to book ahead.",
        "It is best known for the scroll Along the River during the Qingming Festival.",
        "Tickets cost 30 to 50 yuan.",
        "A ticket for the special exhibition costs 12 dollars.",
        "It is a museum of history.",
    ),
}
_CHOICES = {
    "zh": ("城市博物馆（圣路易斯）", "纽约城市博物馆"),
    "en": ("City Museum, St. Louis", "Museum of the City of New York"),
}


def museums(language: Language) -> tuple[Grid, list[Cell], list[Evidence]]:
    """A table with a cell of every kind: sources differ (r1.c1), needs checking (r2.c3), a range (r2.c1),
    another currency (r5.c1), and empty for every reason."""
    heads, kinds = _HEADS[language], _KINDS[language]
    spots = ((116.397, 39.917), (108.955, 34.224), (121.475, 31.229), None, None)
    rows = tuple(
        Row(
            id=f"r{n}",
            name=name,
            qualifier=about,
            place=Place(id=f"m{n}", name=name, city=about, lng=at[0], lat=at[1], provider="offline") if at else None,
        )
        for n, ((name, about), at) in enumerate(zip(_NAMES[language], spots, strict=True), 1)
    )
    columns = (
        Column(id="c1", name=heads[0], type="number", unit="CNY"),
        Column(id="c2", name=heads[1], type="date"),
        Column(id="c3", name=heads[2], type="yes or no"),
        Column(id="c4", name=heads[3], type="choice", choices=kinds),
        Column(id="c5", name=heads[4]),
    )
    told = [
        source(n, _NAMES[language][of][0], text)
        for n, (of, text) in enumerate(zip((0, 0, 0, 0, 0, 1, 4, 0), _TOLD[language], strict=True))
    ]
    high, low, opened, booked, famous, span, dollars, history = told
    number, at_least = "number", {"unit": "CNY"}
    day = CellValue(type="date", text="1925", day=date(1925, 10, 10))
    filled: dict[tuple[str, str], tuple[CellReading, ...]] = {
        ("r1", "c1"): (
            reading(high, CellValue(type=number, text="60", number=60, **at_least)),
            reading(low, CellValue(type=number, text="40", number=40, **at_least)),
        ),
        ("r1", "c2"): (reading(opened, day, "supported"),),
        ("r1", "c3"): (reading(booked, CellValue(type="yes or no", text="book", yes=True)),),
        ("r1", "c4"): (reading(history, CellValue(type="choice", text=kinds[0], choice=kinds[0])),),
        ("r1", "c5"): (reading(famous, CellValue(type="text", text=_TOLD[language][4])),),
        ("r2", "c1"): (reading(span, CellValue(type=number, text="30-50", number=30, high=50, **at_least)),),
        ("r2", "c2"): (reading(opened, CellValue(type="date", text="1991", day=date(1991, 6, 1), precision="month")),),
        ("r2", "c3"): (reading(booked, CellValue(type="yes or no", text="book", yes=False), "unclear"),),
        ("r2", "c4"): (reading(history, CellValue(type="choice", text=kinds[1], choice=kinds[1])),),
        ("r3", "c1"): (reading(low, CellValue(type=number, text="0", number=0, **at_least)),),
        ("r3", "c2"): (reading(opened, CellValue(type="date", text="1952", day=date(1952, 1, 1), precision="year")),),
        ("r5", "c1"): (reading(dollars, CellValue(type=number, text="12", number=12, unit="USD")),),
    }
    lacks: dict[tuple[str, str], MissingReason] = {
        ("r1", "c1"): "differs",
        ("r3", "c3"): "limit",
        ("r3", "c4"): "failed",
    }
    lacks |= {("r4", column.id): "which one" for column in columns}
    cells = [
        Cell(
            row=row.id,
            column=column.id,
            readings=(readings := filled.get(key := (row.id, column.id), ())),
            missing_reason=lacks.get(key, "" if readings else "not found"),
            author="openai:gpt-fake",
            created=NOW,
            choices=_CHOICES[language] if lacks.get(key) == "which one" else (),
        )
        for row in rows
        for column in columns
    ]
    return Grid(title=ASKED[language], rows=rows, columns=columns), cells, told


def put(store: Store, language: Language) -> str:
    """Stores the small table as one that is done; returns its id."""
    return keep(store, IDS[language], ASKED[language], *museums(language), language)


# A large one


def number_of(row: int) -> int:
    return row * 37 % 211


def large(rows: int, columns: int) -> tuple[Grid, list[Cell], list[Evidence]]:
    """Numbers in every other column, those of each row `number_of`, texts in the others; each tenth cell is
    empty, each eleventh in doubt."""
    kinds = [Column(id=f"c{n}", name=f"Column {n}", type="number" if n % 2 else "text") for n in range(1, columns + 1)]
    things = [Row(id=f"r{n}", name=f"Thing {n}") for n in range(1, rows + 1)]
    found = [source(n, f"Source {n}", f"Of thing {n} much is known.") for n in range(1, rows + 1)]
    cells = []
    for n, row in enumerate(things, 1):
        for k, column in enumerate(kinds, 1):
            value = (
                CellValue(type="number", text=f"{number_of(n)}", number=number_of(n))
                if column.type == "number"
                else CellValue(type="text", text=f"Known of {n} by {k}")
            )
            at = 3 * n + 5 * k
            given = () if at % 10 == 0 else (reading(found[n - 1], value, "quoted" if at % 11 else "unclear"),)
            cells.append(
                Cell(
                    row=row.id,
                    column=column.id,
                    readings=given,
                    missing_reason="" if given else "not found",
                    created=NOW,
                )
            )
    return Grid(title="Many things", rows=tuple(things), columns=tuple(kinds)), cells, found
