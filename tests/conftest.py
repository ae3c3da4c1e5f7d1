"""What holds for all tests."""

import os
import sys

from hypothesis import settings

# How long an example takes says how busy the machine is.
settings.register_profile("unhurried", settings.default, deadline=None)
settings.load_profile("unhurried")

# Compiled modules are kept whatever the shell says: without them each worker, and each process that a
# test starts, compiles hundreds anew, and collecting the tests takes three times as long.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
