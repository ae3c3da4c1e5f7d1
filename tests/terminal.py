"""Commands of the terminal: run in this process, which takes a tenth of the time of a new one, or in
one of their own, for what only a process shows: signals, pipes, locales, what it may import."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

from research import close_application
from research.cli import main

ROOT = Path(__file__).resolve().parent.parent
Done = subprocess.CompletedProcess[str]


def command(*args: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "research", *args]


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings of this machine, of a data folder and those given; no others."""
    inherited = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "SYSTEMROOT")}
    return inherited | {"SIGHTLINE_DATA_DIR": str(folder)} | dict(more or {})


def called(env: Mapping[str, str], *args: str, cwd: Path = ROOT) -> Done:
    """Runs a command to its end in this process. Whatever is not caught fails the test."""
    out, err = _stream(), _stream()
    close_application()  # a process of its own would know nothing of what another test has opened
    with (
        mock.patch.dict(os.environ, env, clear=True),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        _own_log(),
    ):
        try:
            code = main(args)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return subprocess.CompletedProcess(args, code, _text(out), _text(err))


def terminal(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> Done:
    """The same on a data folder. Nothing may ever look like a crash."""
    done = called(environment(folder, env), *args)
    assert "Traceback" not in done.stdout + done.stderr
    return done


def process(folder: Path, *args: str, env: Mapping[str, str] | None = None) -> Done:
    """The same in a process of its own."""
    done = subprocess.run(
        command(*args),
        cwd=ROOT,
        env=environment(folder, env),
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    kept = stream.buffer
    assert isinstance(kept, io.BytesIO)
    return kept.getvalue().decode("utf-8")


@contextlib.contextmanager
def _own_log() -> Iterator[None]:
    """Handlers and levels that a command sets end with it."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
