"""What `fastmcp`'s client makes of the server. Run by a Python of its own, which has fastmcp and,
with it, a newer SDK: that one asks with the newest protocol first.

    python tests/mcp_server/fastmcp_client.py QUESTION SERVER SLOW

prints what it got as JSON. The servers are JSON: `command`, `args` and `env` of a process, or `url` and
`headers`. At the slow one it begins a run "left", and cancels the call while it searches.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def transport(server: str) -> Any:
    found = json.loads(server)
    if "url" in found:
        return StreamableHttpTransport(**found)
    return StdioTransport(**found | {"log_file": Path(found["log_file"])})


async def main() -> None:
    question, server, slow = sys.argv[1:]
    heard: list[str | None] = []
    begun = asyncio.Event()
    got: dict[str, Any] = {}

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)
        begun.set()

    asked = {"question": question, "effort": "low", "run_id": "fast"}
    async with Client(transport(server)) as client:
        got["tools"] = sorted(tool.name for tool in await client.list_tools())
        got["templates"] = [one.uri_template for one in await client.list_resource_templates()]
        result = await client.call_tool("research", asked, progress_handler=hear)
        got["report"] = result.structured_content
        got["heard"] = list(heard)
        refused = await client.call_tool("report", {"run_id": "none"}, raise_on_error=False)
        got["refused"] = [refused.is_error, refused.content[0].text]
        (content,) = await client.read_resource("sightline://runs/fast")
        got["resource"] = content.text
    begun.clear()
    async with Client(transport(slow)) as client:
        asked = {"question": question, "run_id": "left"}
        call = asyncio.create_task(client.call_tool("research", asked, progress_handler=hear))
        await asyncio.wait_for(begun.wait(), 60)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        for _ in range(300):
            runs = (await client.call_tool("list_runs", {})).structured_content["runs"]
            got["left"] = {one["run"]: one["status"] for one in runs}.get("left")
            if got["left"] not in ("queued", "running"):
                break
            await asyncio.sleep(0.1)
    print(json.dumps(got))


asyncio.run(main())
