"""Sightline's engine: from a question to an answer whose citations open the passages.

Importing it needs no key and no network, makes no file and prints nothing. It knows nothing of the
pages that draw it. Each public name is loaded on first use, so that a program that needs only a record
does not wait for the graph.
"""

import os
import threading

import lazy_loader

from research.core.version import VERSION

__version__ = VERSION

# Before langgraph is imported: checkpoints may then hold only types that are named as safe.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
# Libraries that import themselves in a circle break when two threads import them at once.
_loading = threading.RLock()


def __getattr__(name: str) -> object:
    """Load a public name on first use. `__init__.pyi` declares them."""
    with _loading:
        return _load(name)
