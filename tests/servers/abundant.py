"""An MCP server over stdio with any number of tools: python abundant.py TOOLS [TOOLS_OF_A_PAGE].

A call of any of them is answered with how many pages of the list were asked for.
"""

from __future__ import annotations

import json
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def page(first: int, count: int, size: int) -> dict[str, Any]:
    """The tools from one on, and where the next page begins."""
    until = min(count, first + size)
    tools = [
        {
            "name": f"tool_{n}",
            "description": "Looks something up. " * 10,
            "inputSchema": SCHEMA,
            "annotations": {"readOnlyHint": True},
        }
        for n in range(first, until)
    ]
    return {"tools": tools} | ({"nextCursor": str(until)} if until < count else {})


def main() -> None:
    count = int(sys.argv[1])
    size, pages = int(sys.argv[2]) if len(sys.argv) > 2 else count, 0
    for line in sys.stdin:
        asked = json.loads(line)
        params, result = asked.get("params") or {}, dict[str, Any]()
        match asked.get("method"):
            case "initialize":
                result = {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "abundant", "version": "0"},
                }
            case "tools/list":
                pages += 1
                result = page(int(params.get("cursor") or 0), count, size)
            case "tools/call":
                result = {"content": [{"type": "text", "text": f"{pages} pages"}]}
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


if __name__ == "__main__":
    main()
