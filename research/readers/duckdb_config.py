"""Settings of every DuckDB engine: limits on memory, spilling and threads, and no downloads."""

from __future__ import annotations

from typing import Any

MEMORY_LIMIT, SPILL_LIMIT, THREAD_COUNT = "400MB", "1GB", 2
ENGINE_CONFIG: dict[str, Any] = {
    "memory_limit": MEMORY_LIMIT,
    "max_temp_directory_size": SPILL_LIMIT,
    "threads": THREAD_COUNT,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "allow_persistent_secrets": False,
    "python_enable_replacements": False,  # Python variables are not tables
    "python_scan_all_frames": False,
}
