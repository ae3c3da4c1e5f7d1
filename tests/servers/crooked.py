"""An MCP server over stdio that goes wrong: python crooked.py MODE.

It speaks just enough of the protocol, without any library: what a library would keep it from
sending is what it is for. The modes are the names in MODES.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

MODES = (
    "good", "silent", "exits", "junk", "bytes", "flood", "html", "list", "error", "empty", "blocks",
    "sleepy", "dies",
)  # fmt: skip
TOOL = "maps_text_search"
HTML = "<html><head><title>502 Bad Gateway</title></head></html>"
NOTHING: dict[str, Any] = {"suggestion": {"keywords": [], "ciytes": []}, "pois": []}
PLACE: dict[str, Any] = {
    "id": "B000000001", "name": "无名公园", "address": [], "typecode": "110101", "photos": [],
    "location": "116.407387,39.904179", "rating": [], "cost": [], "opentime2": [],
}  # fmt: skip
TEXTS = {
    "html": HTML,
    "list": "[]",
    "error": '{"error": "INVALID_USER_KEY"}',
    "empty": json.dumps({"pois": [PLACE]}, ensure_ascii=False),
}
INITIALIZED = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "crooked", "version": "0"},
}


def put(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def answer(identity: int, result: dict[str, Any]) -> None:
    said = {"jsonrpc": "2.0", "id": identity, "result": result}
    put(json.dumps(said, ensure_ascii=False).encode() + b"\n")


def called(identity: int, mode: str, calls: int) -> None:
    """The answer to a call of the tool, after or instead of what the mode says."""
    if mode == "junk":
        put("正在查询…\nnot json\n{}\n".encode())
    elif mode == "bytes":
        put(b"\xff\xfe\x80\n")
    elif mode == "flood":
        put(b"x" * 100 + b"\n" + b"y" * 1_000_000 + b"\n")
    elif mode == "sleepy" and calls == 1:
        time.sleep(1_000)
    elif mode == "dies":
        sys.exit(1)
    text = TEXTS.get(mode, json.dumps(NOTHING))
    parts = [text[:9], text[9:]] if mode == "blocks" else [text]
    content = [{"type": "text", "text": part} for part in parts]
    answer(identity, {"content": content, "isError": False})


def main(mode: str) -> None:
    if mode == "silent":
        time.sleep(1_000)
    if mode == "exits":
        sys.exit("AMAP_MAPS_API_KEY environment variable is not set")
    calls = 0
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method = message.get("method")
        if method == "initialize":
            answer(message["id"], INITIALIZED)
        elif method == "ping":
            answer(message["id"], {})
        elif method == "tools/list":
            schema = {"type": "object", "properties": {"keywords": {"type": "string"}}}
            answer(message["id"], {"tools": [{"name": TOOL, "inputSchema": schema}]})
        elif method == "tools/call":
            calls += 1
            called(message["id"], mode, calls)


if __name__ == "__main__":
    main(sys.argv[1])
