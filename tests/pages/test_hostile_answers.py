"""An answer that means harm, in Chromium: nothing in it acts, fetches or breaks the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from research.citations.model_markdown import parse_model_markdown
from research.citations.registry import cites_by_address
from research.core.records import Answer, Passage, PassageReference, Span
from research.storage.store import Store
from tests.pages.serving import Server
from tests.pages.test_browser import SKIPPED, Listener, Watched, fits
from tests.runtime.tampered import TEXT, answer, evidence, put

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser] + [pytest.mark.skip(reason=SKIPPED)] * bool(SKIPPED)

NARROW = {"width": 390, "height": 844}
BOMB = "<img src=x onerror=window.__pwned=1><script>window.__pwned=1</script>"
SVG = "<svg onload=window.__pwned=1><use href='{url}/use'/></svg>"
TABLE = "\n".join(
    ["|" + "|".join(f" c{at} " for at in range(40)) + "|", "|" + "---|" * 40]
    + ["|" + "|".join(f" {row}.{at} " for at in range(40)) + "|" for row in range(200)]
)
MODEL = {  # what a model writes, and words of it that a reader sees
    "images": ("![a picture]({url}/i.png) seen ![b][ref]\n\n[ref]: {url}/r.png", "a picture seen"),
    "tags": (f"{BOMB}{SVG} <iframe src='{{url}}/f'></iframe><style>*{{display:none}}</style> seen", "<img src=x"),
    "links of scripts": ("[press](javascript:window.__pwned=1) [data](data:text/html,<script>1</script>) seen", "press"),
    "entities": ("&lt;script&gt;window.__pwned=1&lt;/script&gt; seen &#106;avascript:x", "<script>"),
    "a table": (TABLE, "199.39"),
    "a long word": ("W" * 50_000 + " seen", "seen"),
    "long code": ("`" + "c" * 20_000 + "`\n\n```\n" + "d" * 20_000 + "\n```\n\nseen", "seen"),
    "overrides": ("before \u202e\u2067never closed\n\nIt costs \u202d60\u202e yuan.", "It costs 60 yuan."),
    "nesting": ("> " * 60 + "deep\n\n" + "".join("  " * n + "- n\n" for n in range(60)) + "\n\nseen", "deep"),
    "false citations": ("It rains [7], [^3], 【3†source】, [@beef] and [[@x]] seen", "It rains"),
    "link definitions": ("[1]: {url}/one 'x'\n[x]: {url}/two\n\n[x] seen", "seen"),
    "autolinks": ("<{url}/auto> {url}/bare www.evil.example seen", "seen"),
    "mathematics": ("$\\href{{javascript:window.__pwned=1}}{{x}}$ $$\\includegraphics{{ {url}/m }}$$ seen", "seen"),
    "formulas": (f"面积为 $S = a^2 {BOMB}$。\n\n$$\nx_1 = \\frac{{{{a}}}}{{{{b}}}} \\\\\n< 5\n$$\n\nIt costs $5 or $6.", "It costs $5 or $6."),
    "diagrams": ("```mermaid\ngraph TD; A[<img src='{url}/d'>] --> B; click A \"{url}/c\"\n```\n\nseen", "graph TD"),
    "colours and icons": (":red[red] :material/bug_report: :streamlit: seen", ":red[red]"),
    "marks": ("\u200b\u200d\ufeff\u2028seen\u0301" + "\u0335" * 300, "seen"),
}  # fmt: skip
TITLES = {
    "tags": f"{BOMB} title",
    "Markdown": "[title](javascript:window.__pwned=1) ![x]({url}/t.png) <{url}/a>",
    "overrides": "\u202etitle of \u2067something\u202e",
    "a long word": "T" * 5_000,
}
RUNS = {f"model{at}": name for at, name in enumerate(MODEL)}
NAMED = {f"title{at}": name for at, name in enumerate(TITLES)}


def placed(text: str, listener: Listener) -> str:
    return text.replace("{url}", listener.url).replace("{{", "{").replace("}}", "}")


def written(run_id: str, text: str) -> Answer:
    """An answer of a quote and of what a model wrote."""
    item = evidence(run_id)
    cite = PassageReference(evidence=item.id, passage="p", end=len(TEXT))
    spans = parse_model_markdown(f"{text}\n\nThe last words [@abcd].", {"abcd": cite}, cites_by_address([item]))
    return answer(run_id, spans=(Span(kind="quote", text=TEXT, references=(cite,)), *spans))


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, indexed: Path, listener: Listener) -> Iterator[Server]:
    """A server in whose store these answers stand."""
    folder = tmp_path_factory.mktemp("hostile") / "data"
    folder.mkdir()
    (folder / "library.db").write_bytes(indexed.read_bytes())
    store = Store(folder / "runs.db")
    for run_id, name in RUNS.items():
        put(store, run_id, written=written(run_id, placed(MODEL[name][0], listener)))
    for run_id, name in NAMED.items():
        title = placed(TITLES[name], listener)
        passage = Passage(id="p", text=TEXT + title, end=9, heading=title, title=title)
        item = evidence(run_id, title=title, publisher=title, passages=(passage,), sample=True)
        put(store, run_id, item, answer(run_id, title=title))
    found = Server(folder).start()
    yield found
    found.kill()


@pytest.fixture
def watched(browser: Browser, server: Server, listener: Listener) -> Iterator[Watched]:
    """A narrow browser in which nothing may have happened but the drawing of the page."""
    found = Watched(browser, server, viewport=NARROW)
    said: list[Any] = []
    found.context.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    yield found
    found.context.close()
    found.check()
    assert said == []
    assert listener.asked == []


def drawn(watched: Watched, run_id: str) -> Page:
    """The page of a run, with every passage open."""
    page = watched.open(f"/?run={run_id}")
    page.wait_for_selector(".sl-quote")
    for cite in page.locator(".sl-cite").all()[:5]:
        cite.click()
    return page


def harmless(page: Page) -> None:
    """Nothing ran, and the answer has no element that could fetch or run anything."""
    assert page.evaluate("() => window.__pwned") is None
    root = page.locator(".sl-answer")
    assert root.locator("img, script, svg, iframe, style, object, embed, video, form").count() == 0
    links = root.locator("a").evaluate_all("(all) => all.map((a) => a.href)")
    assert all(link.startswith("https://example.org/") for link in links)
    fits(page)


@pytest.mark.parametrize("run_id", RUNS, ids=[*MODEL])
def test_whatever_a_model_writes_is_words(watched: Watched, run_id: str) -> None:
    page = drawn(watched, run_id)
    shown = page.locator(".sl-answer").inner_text()
    assert MODEL[RUNS[run_id]][1] in shown
    assert "The last words" in shown
    assert page.locator(".sl-cite").all_inner_texts() == ["[1]", "[1]"]
    harmless(page)


@pytest.mark.parametrize("run_id", NAMED, ids=[*TITLES])
def test_whatever_a_source_is_called_is_words(watched: Watched, run_id: str) -> None:
    page = drawn(watched, run_id)
    assert TEXT in page.locator(".sl-passage").first.inner_text()
    harmless(page)
    page = watched.open("/history")
    fits(page)


def test_a_title_turns_no_text_round_but_its_own(watched: Watched) -> None:
    turned = next(run_id for run_id, name in NAMED.items() if name == "overrides")
    page = drawn(watched, turned)
    box = page.locator(".sl-passage").first
    title, tag = box.locator("strong").bounding_box(), box.locator(".sl-tag").bounding_box()
    assert title and tag
    assert (tag["y"], tag["x"]) > (title["y"], title["x"])
    facts = box.locator(".sl-facts a").first.bounding_box()
    assert facts and facts["x"] < NARROW["width"] / 2
