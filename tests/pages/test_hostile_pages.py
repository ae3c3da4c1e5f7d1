"""Texts that mean harm, wherever strangers may write, on every page in Chromium and both languages:
nothing acts, nothing is fetched, no element comes of them, and all of them are shown."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from research import Library
from research.citations.model_markdown import parse_model_markdown
from research.citations.registry import cites_by_address, evidence_id
from research.core.events import parse_event
from research.core.records import (
    Answer,
    Cell,
    CellReading,
    CellValue,
    Column,
    Evidence,
    Failure,
    Finding,
    Grid,
    NewsCoverage,
    OutletSummary,
    Part,
    Passage,
    PassageReference,
    Place,
    Plan,
    QueryResult,
    Reflection,
    Row,
    Run,
    RunOptions,
    Span,
    Story,
    Task,
)
from research.storage.store import Store
from tests.hostile import ADDRESSES, TEXTS, planted, seen
from tests.pages.filled_table import keep as keep_table
from tests.pages.serving import Server, settled
from tests.pages.test_browser import SKIPPED, Listener, Watched
from tests.runtime.tampered import NOW

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)

SLOW = 60_000  # milliseconds that a page of so many texts may take
TITLE = 18  # characters that are looked for of a title that is cut
SHOWN = 10  # texts, at least, of the conversations that the history shows at once
CALM = "What is calm?"


def item(n: int, text: str, kind: str = "web", **update: Any) -> Evidence:
    """A source of which everything that is text is the text."""
    url = f"https://example.org/{kind}/{n}" if n % 3 else ADDRESSES[n % len(ADDRESSES)]
    passage = Passage(id="p", text=text, end=len(text), heading=text, title=text)
    return Evidence(
        id=evidence_id(kind, url, f"{kind} {n}"), kind=kind, title=text, publisher=text, url=url,  # type: ignore[arg-type]
        locator=f"{kind} {n}", retrieved=NOW, published=date(2026, 1, 1 + n % 28), passages=(passage,),
    ).model_copy(update=update)  # fmt: skip


def spot(n: int, text: str) -> Place:
    wild = dict.fromkeys(("name", "category", "type", "address", "hours", "phone", "district"), text)
    return Place(id=f"p{n}", lng=116 + n / 500, lat=39 + n / 500, provider="amap",
                 photos=(ADDRESSES[n % len(ADDRESSES)],), **wild)  # type: ignore[arg-type]  # fmt: skip


def keep(store: Store, run_id: str, texts: list[str], findings: list[Finding], spans: list[Span],
         **more: Any) -> None:  # fmt: skip
    """A run that is done, with findings and an answer, and with the texts in all that it tells."""
    options = RunOptions(sources=more.pop("sources", ("web",)))
    run = Run(id=run_id, conversation=run_id, owner="local", question=more.pop("question", CALM),
              options=options, status="running", created=NOW)  # fmt: skip
    tasks = tuple(one.task for one in findings)
    failures = tuple(Failure(stage="search", source=text, query=text, reason="refused", message=text) for text in texts)
    plan = Plan(parts=(Part(id="p1", subject="calm", text=CALM),), tasks=tasks)
    thought = Reflection(round=1, sufficient=False, gap=tuple(texts[:40]), note="\n".join(texts))
    answer = Answer(title=CALM, language="en", author="Scripted", spans=tuple(spans), created=NOW,
                    failures=failures, **more)  # fmt: skip
    assert store.add_run(run, None, "0" * 32)
    for finding in findings:
        store.finish_search(store.start_search(run_id, finding.task), run_id, finding)
    told: list[tuple[str, dict[str, Any]]] = [
        ("status", {"status": "running"}),
        ("question", {"text": run.question, "language": "en"}),
        ("plan", {"plan": plan.model_dump(mode="json")}),
    ]
    for finding in findings:
        task = finding.task.model_dump(mode="json")
        told += [
            ("search", {"task": task}),
            ("found", {"task": task, "passages": 1, "titles": texts, "reason": None, "hint": "",
                       "provider": "", "message": "", "seconds": 0.1, "reused": False, "cached": ""}),
        ]  # fmt: skip
    told += [
        ("reflection", thought.model_dump(mode="json")),
        ("writing", {}),
        ("answer", {"quotes": 1, "cites": 2, "failures": len(failures)}),
        ("status", {"status": "done", "error": ""}),
    ]
    store.save_outcome(run_id, plan, (thought,), answer)
    store.append_events(run_id, [(NOW, parse_event(kind, data)) for kind, data in told], "done")


def plant(folder: Path, url: str) -> None:
    """Fills a data folder with the texts."""
    texts = [planted(text, url) for text in TEXTS]
    store = Store(folder / "runs.db")
    for n, text in enumerate(texts):
        run = Run(id=f"question{n}", conversation=f"question{n}", owner="local", question=text[:1900],
                  options=RunOptions(), status="stopped", created=NOW)  # fmt: skip
        assert store.add_run(run, None, "0" * 32)
        store.append_events(run.id, [(NOW, parse_event("status", {"status": "stopped", "error": text}))], "stopped")
        store.update_conversation(run.id, "local", title=texts[(n + 57) % len(texts)][:200])
    found = [item(n, text, "news" if n % 2 else "web") for n, text in enumerate(texts)]
    spans: list[Span] = []
    for text, one in zip(texts, found, strict=True):
        cite = PassageReference(evidence=one.id, passage="p", end=len(text))
        if len(text) < 2000:
            spans += parse_model_markdown(f"{text}\n\nSo it says [@abcd].\n\n", {"abcd": cite}, cites_by_address([one]))
    findings = [
        Finding(task=Task(id=f"1.{n}", source="web", query=text[:400], part="p1", purpose=text[:200]),
                evidence=(one,), started=NOW)
        for n, (text, one) in enumerate(zip(texts, found, strict=True))
    ]  # fmt: skip
    outlets = tuple(OutletSummary(name=text, items=1, stories=1) for text in texts)
    stories = tuple(
        Story(id=f"s{n}", headline=text, evidence=(one.id,), outlets=(text,), day=one.published,
              latest=one.published)
        for n, (text, one) in enumerate(zip(texts, found, strict=True))
    )  # fmt: skip
    news = NewsCoverage(as_of=NOW.date(), stories=stories, outlets=outlets, author=texts[0])
    keep(store, "answers", texts, findings, spans, coverage=news)
    places = tuple(item(n, text, "place", place=spot(n, text)) for n, text in enumerate(texts))
    there = Finding(task=Task(id="1.1", source="places", query=CALM), evidence=places, started=NOW)
    keep(store, "places", texts[:5], [there], [Span(kind="text", text="Many.")], sources=("places",))
    rows = QueryResult(sql="select '" + texts[0] + "' -- " + texts[1], names=tuple(texts[:6]), types=("text",) * 6,
                rows=tuple(tuple(texts[(n + k) % len(texts)] for k in range(6)) for n in range(len(texts))))  # fmt: skip
    asked = Finding(task=Task(id="1.1", source="database", query=CALM), rows=rows, started=NOW)
    keep(store, "rows", texts[:5], [asked], [Span(kind="text", text="Rows.")], sources=("database",))
    table(store, texts)
    store.close()
    library = Library(folder / "library.db")
    names = [f"{text[:80]}.md" for text in texts]
    outcomes = library.add_files((name, f"# {text}\n\n{text}".encode()) for name, text in zip(names, texts, strict=True))  # fmt: skip
    assert sum(one.is_ok for one in outcomes) > len(texts) / 2
    library.close()


def table(store: Store, texts: list[str]) -> None:
    """A table whose every name, question, unit, choice, value, quote and reason is one of the texts; in
    the first cell sources differ, the last row is one of several."""
    columns = (
        *(Column(id=f"c{n}", name=text[:100], question=text[:400]) for n, text in enumerate(texts[:4])),
        Column(id="number", name=texts[5][:100], type="number", unit=texts[6][:40]),
        Column(id="choice", name=texts[7][:100], type="choice", choices=tuple(texts[:20])),
    )
    lines = tuple(Row(id=f"r{n}", name=text[:200], qualifier=texts[n - 1][:200]) for n, text in enumerate(texts))
    found = [item(n, text) for n, text in enumerate(texts)]
    cells = []
    for n, line in enumerate(lines):
        for k, column in enumerate(columns):
            text = texts[(n + k) % len(texts)]
            value = CellValue(type=column.type, text=text, choice=text if column.type == "choice" else "",
                          number=float(n) if column.type == "number" else None, unit=text[:40])  # fmt: skip
            cite = PassageReference(evidence=found[n].id, passage="p", end=len(text))
            said = CellReading(value=value, quote=text, references=(cite,), status="unclear" if k % 2 else "quoted")
            cells.append(
                Cell(row=line.id, column=column.id, readings=(said, said), missing_reason="differs", created=NOW)
            )
    cells[-1] = Cell(row=lines[-1].id, column="choice", missing_reason="which one", message=texts[0], choices=tuple(texts[:20]), created=NOW)  # fmt: skip
    keep_table(
        store,
        "table000-run",
        CALM,
        Grid(title=texts[0][:200], rows=lines, columns=columns),
        cells,
        found,
    )


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path, listener: Listener) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("hostile") / "data"
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    plant(folder, listener.url)
    found = Server(folder).start()
    yield found
    found.kill()


PAGES = ("?run=answers", "?run=places", "database?run=rows", "tables?run=table000-run", "tables", "places", "history", "library", "news",
         "status", "?run=question0")  # fmt: skip


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_no_text_acts_on_any_page_and_all_are_shown(
    browser: Browser, server: Server, listener: Listener, lang: str
) -> None:
    watched = Watched(browser, server)
    watched.context.set_default_timeout(SLOW)
    said: list[str] = []
    watched.context.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    opened: dict[str, str] = {}
    wrong: list[str] = []
    for path in PAGES:
        page = watched.open(f"/{path}{'&' if '?' in path else '?'}lang={lang}")
        opened[path] = words(page)
        wrong += [f"{path}: {one}" for one in acting(page, server)]
        page.close()
    watched.context.close()
    assert not wrong, "\n".join(wrong[:40])
    watched.check()
    assert said == []
    assert listener.asked == []
    texts = [planted(text, listener.url) for text in TEXTS]
    assert missing(texts, opened["?run=answers"], 30) == []
    # The history shows the latest at once, and cuts titles.
    assert len(missing(texts, opened["history"], TITLE)) <= len(texts) - SHOWN


def test_no_text_of_a_cell_acts_where_its_evidence_is_shown(
    browser: Browser, server: Server, listener: Listener
) -> None:
    watched = Watched(browser, server, viewport={"width": 1280, "height": 900})
    watched.context.set_default_timeout(SLOW)
    page = watched.open("/tables?run=table000-run&lang=en")
    canvas = page.locator(".st-key-grid_table000 canvas").first
    for n in range(12):  # down the first column of values
        box = canvas.bounding_box()
        assert box
        page.mouse.click(box["x"] + 240, box["y"] + 52 + 35 * n)
        settled(page)
        assert page.locator(".st-key-cell").count() == 1
        assert not [*acting(page, server)]
    for summary in page.locator("[data-testid=stExpander] summary").all():
        summary.click()
        settled(page)
    wrong = [*acting(page, server)]
    watched.context.close()
    assert not wrong, "\n".join(wrong[:40])
    watched.check()
    assert listener.asked == []


def missing(texts: list[str], shown: str, most: int) -> list[str]:
    return [text[:60] for text in texts if seen(text, most) not in shown]


def words(page: Page) -> str:
    """What the page says, without spaces."""
    text: str = page.evaluate("() => document.body.textContent")
    return seen(text, 2 * len(text))


ODD = "script, object, embed, base, meta, link, .katex, math, video, form:not([data-testid]):not(.vega-bindings)"


def acting(page: Page, server: Server) -> Iterator[str]:
    """Whatever on the page comes of a text and is more than words."""
    own = urlsplit(server.url).netloc
    for frame in page.frames:
        if frame.evaluate("() => window.__pwned") is not None:
            yield f"something ran in {frame.url}"
        if urlsplit(frame.url).netloc not in ("", own):
            yield f"a frame of {frame.url}"
    area = page.get_by_test_id("stMain")
    yield from area.locator(ODD).evaluate_all("(all) => all.map((a) => a.outerHTML.slice(0, 200))")
    for title in area.locator("iframe").evaluate_all("(all) => all.map((a) => a.title)"):
        if title != "streamlit_folium.st_folium":
            yield f"a frame called {title}"
    for source in area.locator("img").evaluate_all("(all) => all.map((a) => a.src)"):
        if urlsplit(source).scheme not in ("data", "blob") and urlsplit(source).netloc != own:
            yield f"a picture of {source}"
    links = area.locator("a[href]").evaluate_all("(all) => all.map((a) => [a.href, a.textContent])")
    for link, text in links:
        parts = urlsplit(link)
        # The browser's part of Streamlit makes a link of an address that stands in a text. It leads
        # where it says.
        honest = unquote(link).rstrip("/").endswith(text.strip().rstrip("/")) and bool(text.strip())
        known = parts.netloc in (own, "example.org")
        if parts.scheme not in ("http", "https") or not (known or honest):
            yield f"a link to {link[:200]} called {text[:80]}"
