"""Files on their way into the library, in the background: how far, which one, and what became of them.

Whoever looks sees the same numbers, as often as wanted: the page that began it may be gone.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from research.readers.documents import MAX_BYTES, accepted, walk
from research.sources.library.prepare import Added
from research.storage.files import StoreError

if TYPE_CHECKING:
    from research.sources.library.index import Library

MAX_FILES = 10_000  # at once
MAX_TOTAL = 2 * 1024**3  # bytes at once
LONG = 150  # characters of a part of a name
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_IGNORED = {"thumbs.db", "desktop.ini", "__macosx"}
Files = Sequence[tuple[str, int, Callable[[], bytes]]]
State = Literal["waiting", "reading", "done", "stopped", "failed"]


class Intake:
    """One lot of files. `done` of `total` are behind it; `name` is at work; `outcomes` says what
    became of them; `left_out` counts files of a folder that are of no kind that can be read."""

    def __init__(
        self, library: Library, who: str, files: Files = (), paths: Sequence[Path] = ()
    ) -> None:
        self.who = who
        names = offered([(name, size) for name, size, _ in files])
        taken = too_much([files[place][1] for place, _ in names])
        self.total = len(names)
        self.begun = 0
        self.name = ""
        self.left_out = 0
        self.outcomes: Counter[str] = Counter()
        self.state: State = "waiting"
        self.trouble: StoreError | None = None
        self.dismissed = False
        self._library, self._paths = library, paths
        self._files = [(name, files[place][2]) for place, name in names[:taken]]
        self._over = [name for _, name in names[taken:]]
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def active(self) -> bool:
        return self.state in ("waiting", "reading")

    @property
    def stopping(self) -> bool:
        return self.active and self._stop.is_set()

    @property
    def done(self) -> int:
        return self.outcomes.total()

    @property
    def unread(self) -> int:
        """Files that were given and could not be read."""
        good = sum(self.outcomes[outcome] for outcome in ("added", "replaced", "unchanged"))
        return self.outcomes.total() - good

    def begin(self, turn: threading.Lock) -> None:
        """Starts; the lots of a library follow one another."""
        # A thread that does not keep the program from ending: what is stored is whole at any time.
        self._thread = threading.Thread(
            target=self._run, args=(turn,), name="library-intake", daemon=True
        )
        self._thread.start()

    def cancel(self) -> None:
        """Ends after the file at work; what was added stays."""
        self._stop.set()

    def end(self, patience: float = 20.0) -> None:
        """Cancels, and waits until nothing is written any more."""
        self.cancel()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(patience)

    def wait(self, seconds: float) -> bool:
        """Whether it is over within that time."""
        if self._thread is not None:
            self._thread.join(seconds)
        return not self.active

    def dismiss(self) -> None:
        """Puts what it came to away."""
        self.dismissed = not self.active

    def _run(self, turn: threading.Lock) -> None:
        try:
            with turn:
                if not self._stop.is_set():
                    self.state = "reading"
                    for item in self._added():
                        self.outcomes[item.outcome] += 1
            self.state = "stopped" if self._stop.is_set() and self.done < self.total else "done"
        except StoreError as error:
            self.trouble = error
        finally:
            if self.active:
                self.state = "failed"
            self.name, self._files = "", []

    def _added(self) -> Iterator[Added]:
        if self._paths:
            able = self._library.reading.able
            self.left_out = sum(_others(path, pictures=able) for path in self._paths)
            files = [
                file
                for path in self._paths
                for file in (walk(path, pictures=able) if path.is_dir() else (path,))
            ]
            self.total = len(files)
            yield from self._library.add_paths(files, who=self.who, reading=self._reading)
            return
        yield from self._library.add(self._contents(), who=self.who, reading=self._reading)
        yield from self._library.note([_over(name) for name in self._over], self.who)

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        for name, content in self._files:
            if self._stop.is_set():
                return
            yield name, content()

    def _reading(self, name: str) -> bool:
        if self._stop.is_set():
            return False
        self.name = name.replace("\\", "/").rsplit("/", 1)[-1]
        self.begun += 1
        return True


def _over(name: str) -> Added:
    limit = f"{MAX_FILES:,} files or {MAX_TOTAL // 1024**3} GiB"
    return Added(name, "too many", detail=f"No more than {limit} can be added at once.")


def offered(files: Sequence[tuple[str, int]]) -> list[tuple[int, str]]:
    """Of files given as name and size, the place and the name of each that is to be read.

    Names become paths below nothing: no drive, no way up, no sign that is not seen. What systems
    leave in folders is passed over; two files of one name are told apart.
    """
    out: list[tuple[int, str]] = []
    taken: set[str] = set()
    for place, (given, _) in enumerate(files):
        name = safe_name(given)
        parts = name.split("/")
        if any(part.lower() in _IGNORED or part.startswith((".", "~$")) for part in parts):
            continue
        stem, dot, suffix = name.rpartition(".")
        one, n = name, 1
        while one in taken:
            n += 1
            one = f"{stem} ({n}).{suffix}" if dot else f"{name} ({n})"
        taken.add(one)
        out.append((place, one))
    return out


def too_much(sizes: Sequence[int]) -> int:
    """How many of the files, in order, can be taken at once."""
    total = 0
    for n, size in enumerate(sizes):
        total += min(size, MAX_BYTES)
        if n >= MAX_FILES or total > MAX_TOTAL:
            return n
    return len(sizes)


def safe_name(given: str) -> str:
    """A name as a relative path whose every sign is seen."""
    text = given.encode("utf-8", "replace").decode().replace("\\", "/")
    parts = [_UNSEEN.sub("", part).strip() for part in text.split("/")]
    parts = [part for part in parts if part not in ("", ".", "..")]
    if len(parts) > 1 and re.fullmatch(r"[A-Za-z]:", parts[0]):
        parts = parts[1:]
    return "/".join(_short(part) for part in parts[-12:]) or "untitled"


def _short(part: str) -> str:
    """A part of a name, cut before its suffix."""
    if len(part) <= LONG:
        return part
    stem, dot, suffix = part.rpartition(".")
    if not dot or len(suffix) > 10:
        return part[:LONG]
    return f"{stem[: LONG - len(suffix) - 2]}….{suffix}"


def _others(folder: Path, *, pictures: bool) -> int:
    """The files below a folder that are of no kind that can be read; hidden ones do not count."""
    count = 0
    for _, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        count += sum(
            not name.startswith((".", "~$")) and not accepted(name, pictures=pictures)
            for name in names
        )
    return count
