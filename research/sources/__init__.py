"""Sources that a run can search, one package for each.

`base` defines the interface of a source and `registry` lists all sources. The names exported here
are the public interface for sources in third-party packages.
"""

from research.core.records import Readiness
from research.core.settings import Setting
from research.sources.base import Dependencies, Retriever, Source, SourceStatus

__all__ = ["Dependencies", "Readiness", "Retriever", "Setting", "Source", "SourceStatus"]
