"""A visitor of the pages without a browser: finds things by key and reads them as words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from markdown_it import MarkdownIt
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from pages.shared import tour

ROUTER = Path(__file__).resolve().parents[2] / "pages" / "router.py"
_MARKDOWN = MarkdownIt("commonmark", {"html": True})


class Visitor:
    """One browser session. What it reads is English unless `lang` says otherwise.

    `secrets` are Streamlit's, `user` what the sign-in service says of who it is; whoever is `new` is
    met by the tour.
    """

    def __init__(
        self,
        page: str = "",
        *,
        locale: str = "en-US",
        secrets: dict[str, Any] | None = None,
        user: dict[str, Any] | None = None,
        new: bool = False,
        **query: str,
    ) -> None:
        self.at = AppTest.from_file(str(ROUTER), default_timeout=30)
        self.at.context = {"locale": locale}
        self.at.secrets = secrets or {}
        self.at.user = user or {}
        if not new:
            self.at.session_state[tour.DECIDED_KEY] = True
        for name, value in query.items():
            self.at.query_params[name] = value
        if page:
            self.turn(page)
        self.look()

    def look(self) -> Visitor:
        """Draws the page anew, as a poll does. A page never shows a traceback."""
        self.at.run()
        assert [problem.message for problem in self.at.exception] == []
        return self

    def turn(self, page: str) -> None:
        """The next look is at this page. `AppTest.switch_page` takes a page that was not drawn yet to
        have its file's name as its path, and all scripts of pages have the same name."""
        self.at._page_hash = calc_hash("" if page == "ask" else page)

    def go(self, page: str) -> Visitor:
        self.turn(page)
        return self.look()

    def press(self, key: str) -> Visitor:
        self.at.button(key=key).click()
        return self.look()

    def ask(self, question: str, button: str = "start") -> Visitor:
        self.at.text_area(key="question").set_value(question)
        return self.press(button)

    def wait(self) -> Visitor:
        """Polls until the run is over."""
        return self._poll(lambda: not any(key.startswith("stop_") for key in self.buttons))

    def until(self, words: str) -> Visitor:
        """Polls until the page says so."""
        return self._poll(lambda: words in self.words)

    def _poll(self, reached: Callable[[], bool]) -> Visitor:
        deadline = time.monotonic() + 60
        while not reached():
            assert time.monotonic() < deadline, self.words
            time.sleep(0.05)
            self.look()
        return self

    @property
    def run_id(self) -> str:
        value = self.at.query_params.get("run", "")
        return value[0] if isinstance(value, list) else value

    @property
    def buttons(self) -> list[str]:
        return [button.key or "" for button in self.at.button]

    @property
    def question(self) -> str:
        """What the question box holds."""
        return self.at.text_area(key="question").value or ""

    @property
    def errors(self) -> list[str]:
        return [shown(error.value) for error in self.at.error]

    @property
    def words(self) -> str:
        """Everything that is written on the page."""
        kinds = ("title", "header", "subheader", "markdown", "caption", "info", "warning")
        found = [item.value for kind in kinds for item in getattr(self.at, kind)]
        found += [block.label for block in self.at.expander]
        found += [item.value for kind in ("error", "success") for item in getattr(self.at, kind)]
        found += [link.proto.label for link in self.at.get("page_link")]
        return "\n".join([*map(shown, found), *(item.value for item in self.at.text)])

    @property
    def answer(self) -> dict[str, Any] | None:
        """What the answer component draws, if there is an answer."""
        found = self.at.get("bidi_component")
        return json.loads(found[0].proto.json) if found else None

    def blocks(self, kind: str) -> list[dict[str, Any]]:
        answer = self.answer
        assert answer is not None
        return [block for block in answer["blocks"] if block["kind"] == kind]

    def table(self, column: str) -> pd.DataFrame:
        """The first table that has such a column."""
        return next(t.value for t in self.at.dataframe if column in t.value.columns)


def shown(markdown: str) -> str:
    """What a reader sees of a Markdown text, without its marks."""
    tokens = [child for token in _MARKDOWN.parse(markdown) for child in token.children or [token]]
    return " ".join(token.content for token in tokens if token.content)
