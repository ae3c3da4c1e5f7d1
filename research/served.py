"""The graph for an Agent Server: what `langgraph.json` names.

Set `STORE_URL` to the database of the processes that serve the pages, and the keys of the models and
sources; `RUNS_URL` is theirs alone and not read here.
"""

from __future__ import annotations

from research import settings
from research.runs.kit import Kit
from research.runs.kits import Kits
from research.runs.worker import Worker, served
from research.sources import registry


def _opened() -> Worker:
    kit = Kit(settings.load())
    worker = Worker(kit.means, kit.closing)
    worker.lender = kits = Kits(kit, worker)
    worker.closing = kits.closing
    return worker


graph = served({name: source.graph_node for name, source in registry.known().items()}, _opened)
