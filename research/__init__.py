"""Sightline's engine: from a question to an answer whose citations open the passages.

Importing it needs no key and no network, makes no file and prints nothing. It does not depend on
the pages that show its results. Each public name is loaded on first use, so that a program that
only needs a record does not import the graph.
"""

import os
import threading

import lazy_loader

from research.core.version import VERSION

__version__ = VERSION

# langgraph reads this when imported; checkpoints may then hold only types listed as safe.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# Libraries with circular imports fail if two threads import them at the same time.
_loading = threading.RLock()


def __getattr__(name: str) -> object:
    """Load a public name on first use. `__init__.pyi` declares them."""
    with _loading:
        return _load(name)
