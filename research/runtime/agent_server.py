"""The graph for an Agent Server, named in `langgraph.json`.

Set `STORE_URL` to the database of the processes that serve the pages, and the keys of the models
and sources. `RUNS_URL` is read by those processes and not here.
"""

from __future__ import annotations

from research.core import settings
from research.runtime.owner_services import OwnerServices
from research.runtime.server_worker import ServerWorker, served_graph
from research.runtime.services import Services, register_tool_servers
from research.sources import registry


def open_worker(given_settings: settings.Settings | None = None) -> ServerWorker:
    """Open the worker that the nodes use, from the given settings or those of the environment.

    Raises:
        StoreError: the data folder or the database cannot be used.
    """
    services = Services(given_settings or registry.load_settings())
    worker = ServerWorker(services.resources, services.close)
    worker.resource_provider = owner_services = OwnerServices(services, worker)
    worker.on_close = owner_services.close_all
    return worker


register_tool_servers(registry.load_settings())
graph = served_graph({name: source.graph_node for name, source in registry.sources_by_name().items()}, open_worker)
