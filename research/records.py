"""The former place of the records, which checkpoints written before version 0.24 name."""

from research.core.records import *  # noqa: F403
