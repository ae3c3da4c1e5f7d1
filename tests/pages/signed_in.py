"""A server in this process with people who have signed in, asked by HTTP and websockets as a browser does.

`python -m tests.pages.signed_in SECRETS` prints, as JSON, what each of them gets. Its cookies are
made by Streamlit itself, with the secret of the file.
"""

from __future__ import annotations

import json
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

from streamlit import config
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    generate_xsrf_token_string,
)

SECRETS = Path(sys.argv[1])
config.set_option("secrets.files", [str(SECRETS)])

from starlette.testclient import TestClient  # noqa: E402 - what is imported looks for secrets
from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: E402
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402

from app import app  # noqa: E402
from pages.shared import login  # noqa: E402
from pages.shared.temporary_files import TEMPORARY_FILES  # noqa: E402
from research import RunOptions, get_application  # noqa: E402

ORIGIN = "http://localhost"
QUESTION = "What does a ticket to the Palace Museum cost?"


def secret() -> str:
    try:
        return str(tomllib.loads(SECRETS.read_text(encoding="utf-8"))["auth"]["cookie_secret"])
    except (OSError, ValueError, LookupError, TypeError):
        return "x" * 43


def claims(subject: str, hours: float = 0) -> dict[str, Any]:
    issued = int(time.time() - 3600 * hours)
    return {
        "is_logged_in": True, "origin": ORIGIN, "iss": "http://idp", "sub": subject, "iat": issued,
        "name": subject, "provider": "default",
    }  # fmt: skip


def cookie(subject: str, *, hours: float = 0, key: str = "") -> str:
    signed = create_signed_value(key or secret(), "_streamlit_user", json.dumps(claims(subject, hours)))
    return f"_streamlit_user={signed.decode()}"


def owner(subject: str) -> str:
    from datetime import UTC, datetime

    return login.identify_visitor(claims(subject), datetime.now(UTC)).owner


def look(client: TestClient, cookies: str, page: str = "", query: str = "") -> dict[str, Any]:
    """What a page tells a browser, and which files it offers."""
    token = generate_xsrf_token_string()
    headers = {
        "host": "localhost",
        "origin": ORIGIN,
        "cookie": "; ".join(filter(None, [cookies, f"_streamlit_xsrf={token}"])),
    }
    told: dict[str, Any] = {"words": [], "files": [], "hidden": None, "buttons": []}
    with client.websocket_connect("/_stcore/stream", subprotocols=["streamlit", token], headers=headers) as socket:
        asked = BackMsg()
        asked.rerun_script.page_name, asked.rerun_script.query_string = page, query
        socket.send_bytes(asked.SerializeToString())
        while True:
            message = ForwardMsg.FromString(socket.receive_bytes())
            element = message.delta.new_element
            kind = element.WhichOneof("type")
            if message.HasField("navigation"):
                told["hidden"] = message.navigation.position == message.navigation.HIDDEN
            if message.HasField("script_finished"):
                # The files of a session are kept as long as it lasts.
                told["seen"] = {
                    who: client.get(told["files"][0], headers={"cookie": sent}).status_code
                    for who, sent in BROWSERS.items()
                    if told["files"]
                }
                return told
            if kind == "download_button" and element.download_button.url:
                told["files"].append(element.download_button.url)
            elif kind == "button":
                told["buttons"].append(element.button.id.rsplit("-", 1)[-1])
            elif kind in ("heading", "alert", "markdown", "text"):
                told["words"].append(getattr(element, kind).body)


BROWSERS = {
    "ann": cookie("ann"),
    "bob": cookie("bob"),
    "nobody": "",
    "forged": cookie("ann", key="y" * 43),
    "garbled": "_streamlit_user=abc",
    "chunks": "_streamlit_user=chunks-9",
    "old": cookie("ann", hours=13),
}


def main() -> None:
    told: dict[str, Any] = {}
    with TestClient(app, base_url=ORIGIN) as client:
        whose = owner("ann") if login.read_config().is_required else login.LOCAL_OWNER
        run = get_application().runs.start(QUESTION, options=RunOptions(loops=1, sources=("library",)), owner=whose)
        for _ in get_application().runs.follow(run.id, owner=whose):
            pass
        told["ann"] = look(client, cookie("ann"), query=f"run={run.id}")
        told["bob"] = look(client, cookie("bob"), query=f"run={run.id}")
        told["unknown"] = look(client, cookie("bob"), query=f"run={'0' * 32}")
        told["nobody"] = look(client, "", query=f"run={run.id}")
        told["forged"] = look(client, BROWSERS["forged"], query=f"run={run.id}")
        told["old"] = look(client, BROWSERS["old"], query=f"run={run.id}")
        paths = {
            "metrics": "/_stcore/metrics", "health": "/_stcore/health", "logo": "/assets/logo.svg",
            "file": "/media/" + "0" * 32 + ".md", "front": "/",
            "scan": "/page-pictures/1/1",
        }  # fmt: skip
        told["paths"] = {
            who: {name: client.get(path, headers={"cookie": sent}).status_code for name, path in paths.items()}
            for who, sent in BROWSERS.items()
        }
        address, _ = TEMPORARY_FILES.create(lambda path: path.write_text("a,b"), "报告.csv", whose)
        told["export"] = {
            who: client.get(address, headers={"cookie": sent}).status_code for who, sent in BROWSERS.items()
        }
        fetched = client.get(address, headers={"cookie": BROWSERS["ann"]})
        told["fetched"] = [fetched.text, dict(fetched.headers)]
        told["no_export"] = client.get(address[:-1], headers={"cookie": BROWSERS["ann"]}).status_code
        told["upload"] = {
            who: client.put("/_stcore/upload_file/x/y", headers={"cookie": sent}, files={"f": b"x"}).text
            for who, sent in BROWSERS.items()
        }
        if SECRETS.exists():
            SECRETS.write_text("", encoding="utf-8")
            end = time.monotonic() + 20
            while login.read_config().is_required and not login.read_config().problem and time.monotonic() < end:
                time.sleep(0.1)
            told["emptied"] = look(client, cookie("ann"), query=f"run={run.id}")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
