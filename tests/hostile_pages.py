"""Web pages over which parsers spend minutes, and a clock that notices when a thread stands still."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


def crowded(count: int, form: str = "a{}=1") -> str:
    """An element with so many attributes."""
    return f"<div {' '.join(form.format(n) for n in range(count))}>text of the page</div>"


def _filled(unit: str, size: int) -> str:
    return unit * max(1, size // len(unit))


def shapes(size: int) -> dict[str, str]:
    """Pages of about `size` characters by the name of what is odd about them."""
    count = size // 10
    return {
        "attributes": crowded(count),
        "attributes without values": crowded(count, "x{}"),
        "attributes in quotes": crowded(count, 'a{}=">"'),
        "attributes side by side": "<div " + "".join(f'a{n}="1"' for n in range(count)) + ">text</div>",
        "attributes of the page": "".join(f"<html a{n}=1>" for n in range(count)) + "text",
        "elements with many": _filled(crowded(190), size),
        "deep": "<div>" * count + "text" + "</div>" * count,
        "unclosed": _filled("<p><b><i>x", size),
        "nested lists": _filled("<ul><li>x", size),
        "nested tables": _filled("<table><tr><td>x", size),
        "one attribute": f"<p title='{'x' * size}'>text</p>",
        "many classes": f"<p class='{_filled('comment ', size)}'>text</p>",
        "comment": f"<p>text</p><!--{'x' * size}-->",
        "open comments": "<p>text</p>" + _filled("<!--", size),
        "open scripts": "<p>text</p>" + _filled("<script>", size),
        "brackets": "<p>text " + _filled("<", size),
        "entities": "<p>text " + _filled("&amp;", size),
        "wrong entities": "<p>text " + _filled("&foo", size),
        "rows": "<table>" + _filled("<tr><td>a</td><td>b</td></tr>", size) + "</table>",
        "one row": "<table><tr>" + _filled("<td>a</td>", size) + "</tr></table>",
        "bases": "<head>" + _filled("<base href=http://a/>", size) + "</head><p>text",
        "metas": "<head>" + _filled("<meta name=date content=2020-01-01>", size) + "</head><p>text",
        "data": "<script type='application/ld+json'>" + "[" * size + "</script><p>text",
        "no spaces": f"<article><p>{'x' * size}</p></article>",
        "no spaces in Chinese": f"<article><p>{'中' * (size // 3)}</p></article>",
        "dates": "<article><p>" + _filled("2020-01-01 ", size) + "</p></article>",
        "breaks": _filled("<br>", size) + "text",
        "paragraphs": _filled("<p id=x>x</p>", size),
        "links": "<p>" + _filled("<a href=/x>x</a>", size) + "</p>",
        "readings": "<p>" + _filled("<ruby>漢<rt>かん</rt></ruby>", size) + "</p>",
        "readings in readings": _filled("<ruby>" * 200 + "x" + "</ruby>" * 200, size),
        "wrong ends": "<div>" * 200 + _filled("</b></p>", size) + "text",
    }


@contextmanager
def ticking() -> Iterator[list[float]]:
    """Counts in a thread; the one item of the list is the longest time in seconds that it stood still."""
    longest, over = [0.0], threading.Event()

    def tick() -> None:
        last = time.monotonic()
        while not over.wait(0.005):
            now = time.monotonic()
            longest[0], last = max(longest[0], now - last), now

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield longest
    finally:
        over.set()
        thread.join()
