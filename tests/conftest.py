"""What holds for all tests."""

import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

from research import trouble

# How long an example takes says how busy the machine is.
settings.register_profile("unhurried", settings.default, deadline=None)
settings.load_profile("unhurried")

# Compiled modules are kept whatever the shell says: without them each worker, and each process that a
# test starts, compiles hundreds anew, and collecting the tests takes three times as long.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def _secrets_of_one_test() -> Iterator[None]:
    """What a test had concealed is not concealed in the messages of those that follow it."""
    before = set(trouble._secrets)
    yield
    trouble._secrets.intersection_update(before)
