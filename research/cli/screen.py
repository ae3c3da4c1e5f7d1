"""What reaches the terminal: the report on standard output, all else on standard error.

Everything that comes from outside is stripped of control characters before a terminal sees it.
"""

from __future__ import annotations

import locale
import logging
import os
import re
import sys
from typing import Any, Literal

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

Tongue = Literal["zh", "en"]

_UNSAFE = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Outside text for one line: no escape sequence, no change of direction, no line break."""
    return " ".join(_UNSAFE.sub(" ", text).split())


def cut(text: str, width: int = 100) -> str:
    text = plain(text)
    return text if len(text) <= width else text[: width - 1] + "…"


class Quiet(Console):
    """A console that falls silent when nobody listens any more."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _hang_up(sys.stderr)


class Screen:
    """Standard error: a line for each thing that happens and, on a terminal, a running clock."""

    def __init__(self) -> None:
        self._console = Quiet(stderr=True, highlight=False, soft_wrap=True)
        self._clock = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._clock.add_task("working")

    def line(self, text: str, style: str = "") -> None:
        self._console.print(Text(plain(text), style))

    def step(self, at: float, text: str, style: str = "") -> None:
        """A line with the seconds since the start; its indent is kept."""
        indent = " " * (len(text) - len(text.lstrip(" ")))
        self._console.print(Text(f"{at:6.1f} s  {indent}") + Text(plain(text), style))

    def __enter__(self) -> Screen:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clock.stop()


def complain(code: int, message: object) -> int:
    Screen().line(str(message))
    return code


def _hang_up(stream: Any) -> None:
    """After a broken pipe: what is still buffered must not raise again when Python exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def safe(text: str) -> str:
    """Text of several lines without control characters; line breaks and tabs are kept."""
    return "\n".join(_UNSAFE.sub("", line) for line in text.split("\n"))


class Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return safe(super().format(record))


def put(text: str) -> None:
    try:
        sys.stdout.write(safe(text))
        sys.stdout.flush()
    except BrokenPipeError:
        _hang_up(sys.stdout)


def as_json(text: str) -> str:
    """JSON that says the same without any character that a terminal could obey."""
    lines = text.split("\n")
    return "\n".join(_UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", line) for line in lines)


def terminal_language() -> Tongue:
    """The language of the terminal."""
    return "zh" if (locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en"
