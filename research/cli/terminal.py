"""Terminal output: the report on standard output, everything else on standard error.

Control characters are removed from all outside text before it reaches a terminal.
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

import research

Language = Literal["zh", "en"]

_CONTROL_CHARS = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def clean_line(text: str) -> str:
    """Clean outside text for one line: no escape sequences, direction controls or line breaks."""
    return " ".join(_CONTROL_CHARS.sub(" ", text).split())


def shorten(text: str, max_chars: int = 100) -> str:
    """Clean outside text for one line and cut it at a length."""
    text = clean_line(text)
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


class PipeSafeConsole(Console):
    """Console that prints nothing more once the pipe to its reader is closed."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        _discard_output(sys.stderr)


class ProgressDisplay:
    """Progress on standard error: one line per event and, on a terminal, a running clock."""

    def __init__(self) -> None:
        self._console = PipeSafeConsole(stderr=True, highlight=False, soft_wrap=True)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("working")

    def print_line(self, text: str, style: str = "") -> None:
        """Print outside text as one line, in a style of rich."""
        self._console.print(Text(clean_line(text), style))

    def print_step(self, seconds: float, text: str, style: str = "") -> None:
        """Print a line with the seconds since the start, keeping its indent."""
        indent = " " * (len(text) - len(text.lstrip(" ")))
        self._console.print(Text(f"{seconds:6.1f} s  {indent}") + Text(clean_line(text), style))

    def __enter__(self) -> ProgressDisplay:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()


def print_message(code: int, message: object) -> int:
    """Print a message to standard error and return the exit code that belongs to it."""
    ProgressDisplay().print_line(str(message))
    return code


def _discard_output(stream: Any) -> None:
    """Redirect a broken pipe to the null device, so that flushing its buffer at exit raises no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def clean_text(text: str) -> str:
    """Remove control characters from a text of several lines, keeping line breaks and tabs."""
    return "\n".join(_CONTROL_CHARS.sub("", line) for line in text.split("\n"))


class CleanFormatter(logging.Formatter):
    """Formats log records without control characters."""

    def format(self, record: logging.LogRecord) -> str:
        return clean_text(super().format(record))


def print_output(text: str) -> None:
    """Print a text of several lines to the standard output, without control characters."""
    try:
        sys.stdout.write(clean_text(text))
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output(sys.stdout)


def print_reading(table: research.FileTable) -> None:
    """Print to standard error how a table was read from a file: one line of decisions, then the doubts."""
    for line in research.reading_lines(table, terminal_language()):
        sys.stderr.write(f"  {clean_line(line)}\n")


def escape_json(text: str) -> str:
    """Escape control characters in JSON without changing its meaning."""
    lines = text.split("\n")
    return "\n".join(_CONTROL_CHARS.sub(lambda m: f"\\u{ord(m[0]):04x}", line) for line in lines)


def terminal_language() -> Language:
    """Return the language of the terminal's locale: "zh" or "en"."""
    return "zh" if (locale.getlocale()[0] or "").lower().startswith(("zh", "chinese")) else "en"
