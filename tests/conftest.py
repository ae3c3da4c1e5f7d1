"""What holds for all tests."""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("unhurried", settings.default, deadline=None)
settings.load_profile("unhurried")

# Compiled modules are kept whatever the shell says: without them each worker, and each process that a
# test starts, compiles hundreds anew, and collecting the tests takes three times as long.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# Keys, addresses and proxies of whoever runs the tests reach none of them, and nor do their runs.
_KEPT = re.compile(
    "PATH|HOME|TE?MP|TMPDIR|SYSTEMROOT|TERM|TZ|LANG|LC_[A-Z]+|VIRTUAL_ENV|CHROMIUM|FONTCONFIG_[A-Z]+"
    "|(PY|PIP_|COV)[A-Z_]*|SIGHTLINE_[A-Z]+_(TESTS|VENV)|SIGHTLINE_SCREENSHOTS"
)
for _name in [*os.environ]:
    if not _KEPT.fullmatch(_name):
        del os.environ[_name]
_folder = tempfile.TemporaryDirectory(prefix="sightline-tests-", ignore_cleanup_errors=True)
os.environ["SIGHTLINE_DATA_DIR"] = _folder.name


class _Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture(autouse=True)
def no_text_lacks_a_value() -> Iterator[None]:
    """Fail a test in which a text was written without a value that it takes."""
    kept = _Kept()
    log = logging.getLogger("research.core.i18n")
    log.addHandler(kept)
    yield
    log.removeHandler(kept)
    assert kept.lines == []
