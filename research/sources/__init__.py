"""Where a run searches: one folder a source, with everything of that source in it.

`base` declares what a source is, `registry` lists those that there are. The names here are what a
package of another author needs for a source of its own.
"""

from research.core.records import Readiness
from research.sources.base import Dependencies, Retriever, Setting, Source, SourceStatus

__all__ = ["Dependencies", "Readiness", "Retriever", "Setting", "Source", "SourceStatus"]
