"""The graph for an Agent Server: what `langgraph.json` names.

Set `STORE_URL` to the database of the processes that serve the pages, and the keys of the models and
sources; `RUNS_URL` is theirs alone and not read here.
"""

from __future__ import annotations

from research.core import settings
from research.runtime.personal import PersonalServices
from research.runtime.services import Services, configure
from research.runtime.worker import Worker, served
from research.sources import registry


def open_worker(given: settings.Settings | None = None) -> Worker:
    """Open what the nodes work with, by the environment's settings unless others are given.

    Raises:
        StoreError: the data folder or the database cannot be used.
    """
    services = Services(given or settings.load())
    worker = Worker(services.resources, services.closing)
    worker.lender = personal = PersonalServices(services, worker)
    worker.closing = personal.closing
    return worker


configure(settings.load())
graph = served({name: source.graph_node for name, source in registry.known().items()}, open_worker)
