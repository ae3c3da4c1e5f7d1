"""The HTML document that every page lives in: Streamlit's own, with the product's title, style and
script put into it before the browser draws anything."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import streamlit
import streamlit as st

from pages.middleware.access import send_refusal
from pages.shared.paths import ASSETS_FOLDER

STYLES = ("shell/fonts.css", "shell/shell.css")
SCRIPTS = ("shell/zh.js", "shell/shell.js", "shell/keys.js")
ICON, LOGO = "icon.svg", "logo.svg"
# Modules of Streamlit's that every page needs, and that its document would fetch one after another.
PRELOADED_MODULES = (
    "ButtonGroup|Button|TextArea|PageLink|WidgetLabel|WidgetLabelHelpIcon|WidgetLabelHelpIconInline"
    "|useBasicWidgetState|useTextInputAutoExpand|useUpdateUiValue|InputInstructions|ErrorOutline"
    "|inputUtils|requiredField|styled-components"
)
EXCLUDED_PATHS = (
    "/assets/",
    "/static/",
    "/media/",
    "/component/",
    "/_stcore/",
    "/oauth2callback",
    "/auth/",
)
ROOT_ELEMENT = b'<div id="root"></div>'  # what marks Streamlit's document among all that is served
# What is painted until Streamlit's code has come; it is replaced with the first that Streamlit draws.
PLACEHOLDER_HTML = '<div id="root"><div class="sl-first"><img src="{logo}" alt="Sightline"></div></div>'
# Where the server is, as the document's own files say it: in the folder of the page's address. Else
# Streamlit's client looks beside the page first (/library/_stcore/health), and logs that it fails.
BACKEND_URL_SCRIPT = '<script>window.__streamlit = { BACKEND_BASE_URL: new URL(".", location).href };</script>'
NO_SCRIPT_HTML = "<p>Sightline 需要浏览器启用 JavaScript。</p><p>Sightline needs JavaScript in the browser.</p>"


def versioned_url(file_name: str) -> str:
    """The address of a file under assets, which changes when the file does."""
    mark = hashlib.sha256((ASSETS_FOLDER / file_name).read_bytes()).hexdigest()[:12]
    return f"./assets/{file_name}?v={mark}"


@cache
def preload_urls() -> tuple[str, ...]:
    """Their addresses; their names end in marks that another version of Streamlit changes."""
    folder = Path(streamlit.__file__).parent / "static" / "static" / "js"
    wanted = re.compile(rf"(?:{PRELOADED_MODULES})(?:\.esm)?\.[\w-]+\.js")
    return tuple(f"./static/js/{file.name}" for file in sorted(folder.glob("*.js")) if wanted.fullmatch(file.name))


def customize_document(document: bytes) -> bytes:
    """Streamlit's document with the product's title, icon, style and script."""
    if ROOT_ELEMENT not in document:
        return document
    text = document.decode("utf-8")
    head = "".join(
        [
            BACKEND_URL_SCRIPT,
            *(f'<link rel="stylesheet" href="{versioned_url(name)}">' for name in STYLES),
            *(f'<script defer src="{versioned_url(name)}"></script>' for name in SCRIPTS),
            *(f'<link rel="modulepreload" crossorigin href="{name}">' for name in preload_urls() if name not in text),
            f'<link rel="icon" type="image/svg+xml" href="{versioned_url(ICON)}">',
        ]
    )
    text = text.replace("<title>Streamlit</title>", "<title>Sightline</title>")
    text = text.replace('<link rel="shortcut icon" href="./favicon.png" />', "")
    text = re.sub(r'<link\s+rel="preload"[^>]*SourceSans[^>]*>', "", text)  # another is used
    text = text.replace(ROOT_ELEMENT.decode(), PLACEHOLDER_HTML.format(logo=versioned_url(LOGO)), 1)
    start, end = text.find("<noscript>"), text.find("</noscript>")
    if 0 <= start < end:
        text = text[: start + len("<noscript>")] + NO_SCRIPT_HTML + text[end:]
    return text.replace("</head>", f"{head}</head>", 1).encode("utf-8")


def flatten_path(path: str) -> str:
    """Where a path leads that lies in another, as no page does: the document names its files relative
    to itself, and would find none of them. "" if it does not."""
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    names = [name for name in path.strip("/").removeprefix(base).split("/") if name]
    return quote("/".join(["", *filter(None, [base, "-".join(names)])])) if len(names) > 1 else ""


class DocumentMiddleware:
    """Dresses the documents of pages; everything else passes untouched."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        wanted = scope["type"] == "http" and scope["method"] == "GET"
        if not wanted or any(part in scope["path"] for part in EXCLUDED_PATHS):
            await self.app(scope, receive, send)
            return
        # What comes is changed, so it must come as it is, and whole; the address of a file that
        # was kept by a browser is in it, so it is not kept.
        left = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
        scope = scope | {"headers": [(k, v) for k, v in scope["headers"] if k not in left]}
        held: list[Any] = []
        body = bytearray()

        async def gathered(message: Any) -> None:
            if message["type"] == "http.response.start":
                held.append(message)
                if not _is_html(message):
                    await send(message)
            elif not held or not _is_html(held[0]):
                await send(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if message.get("more_body"):
                    return
                if other := flatten_path(scope["path"]):
                    query = scope["query_string"]
                    there = other.encode() + (b"?" + query if query else b"")
                    await send_refusal(send, 307, b"", (b"location", there))
                else:
                    await _send_document(send, held[0], customize_document(bytes(body)))

        await self.app(scope, receive, gathered)


def _is_html(start: Any) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in start["headers"])


async def _send_document(send: Any, start: Any, body: bytes) -> None:
    dropped = (b"content-length", b"etag", b"last-modified", b"accept-ranges")
    headers = [(k, v) for k, v in start["headers"] if k.lower() not in dropped]
    headers.append((b"content-length", str(len(body)).encode()))
    await send(start | {"headers": headers})
    await send({"type": "http.response.body", "body": body})
