"""Amap's own npm server, made to ask the fake Amap instead of the real one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from tests.servers.amap import FakeAmap

PACKAGE = "@amap/amap-maps-mcp-server"
KEY = "sentinelamap0123456789abcdef0123"
_PATCH = Path(__file__).with_name("redirect.cjs")


def lacking() -> str:
    """Why Amap's npm server cannot be run here; "" if it can."""
    if os.environ.get("SIGHTLINE_NODE_TESTS") != "1":
        return "set SIGHTLINE_NODE_TESTS=1 to run Amap's npm server"
    return "" if shutil.which("npx") else "Node.js with npx is not installed"


def environment(fake: FakeAmap, folder: Path) -> dict[str, str]:
    """What the server has to be started with; `folder` is to outlive it.

    The port stands in the patch itself: of all variables the app hands down few more than
    NODE_OPTIONS.
    """
    patch = folder / "redirect.cjs"
    port = urlsplit(fake.base_url).port
    patch.write_text(_PATCH.read_text(encoding="utf-8").replace("PORT,", f"{port},"), "utf-8")
    quoted = str(patch).replace("\\", "\\\\").replace('"', '\\"')
    return {"NODE_OPTIONS": f'--require "{quoted}"', "AMAP_MAPS_API_KEY": KEY}
