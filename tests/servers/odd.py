"""An MCP server over stdio that says what it is given to say: python odd.py FILE.

FILE is JSON with the `tools` that it lists and the `result`, or the `error`, of every call; what it is
called with is added to FILE.calls, a line each. No library keeps it from sending what is no right form.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def put(identity: int, **said: Any) -> None:
    message = {"jsonrpc": "2.0", "id": identity, **said}
    sys.stdout.buffer.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")
    sys.stdout.buffer.flush()


def main(file: Path) -> None:
    given = json.loads(file.read_text("utf-8"))
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, identity = message.get("method"), message.get("id")
        if identity is None:
            continue
        if method == "initialize":
            put(
                identity,
                result={
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "0"},
                },
            )
        elif method == "tools/list":
            put(identity, result={"tools": given["tools"]})
        elif method == "tools/call":
            with Path(f"{file}.calls").open("a", encoding="utf-8") as calls:
                calls.write(json.dumps(message["params"], ensure_ascii=False) + "\n")
            kind = "error" if "error" in given else "result"
            put(identity, **{kind: given[kind]})
        else:
            put(identity, result={})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
