"""Providers of the resources with which the runs of an owner are executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from research.core.records import RunOptions
from research.runtime.active_run import RunResources


class ResourceProvider(Protocol):
    """Provides the resources of owners with settings of their own."""

    def open_resources(self, owner: str) -> AbstractContextManager[RunResources]:
        """Return the resources of an owner, kept open inside the context."""

    def default_options(self, owner: str) -> RunOptions:
        """Return the options for a run of an owner that specifies none."""

    def close_unused(self) -> None:
        """Close unused resources after a run has ended. Called on the loop."""

    def session_keys(self, owner: str) -> dict[str, str]:
        """Return the keys of an owner that are only in the memory of this process."""

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Set an owner's session keys to those in the memory of another process."""


class SharedResources:
    """Provides the same resources for all owners."""

    def __init__(self, resources: RunResources, default_options: Callable[[], RunOptions] | None = None) -> None:
        self._resources, self._default_options = resources, default_options

    def open_resources(self, owner: str) -> AbstractContextManager[RunResources]:
        return nullcontext(self._resources)

    def default_options(self, owner: str) -> RunOptions:
        return self._default_options() if self._default_options else self._resources.settings.options

    def close_unused(self) -> None:
        """Do nothing: the resources are used until the end."""

    def session_keys(self, owner: str) -> dict[str, str]:
        return {}

    def set_session_keys(self, owner: str, keys: Mapping[str, str]) -> None:
        """Do nothing: owners have no keys of their own."""
