"""The HTML document of every page: Streamlit's own with our title, icon, styles and scripts."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import streamlit

from pages.middleware.access import refusal
from pages.shared.paths import ASSETS_FOLDER, base_path

STYLES = ("shell/fonts.css", "shell/shell.css")
SCRIPTS = ("shell/zh.js", "shell/shell.js", "shell/keys.js")
ICON, LOGO = "icon.svg", "logo.svg"
# Streamlit modules that every page needs, and that the browser would fetch one after another.
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
ROOT_ELEMENT = b'<div id="root"></div>'  # identifies Streamlit's document
# Shown until Streamlit's code is loaded; its first drawing replaces the content.
PLACEHOLDER_HTML = '<div id="root"><div class="sl-first"><img src="{logo}" alt="Sightline"></div></div>'
# The address of the server: the folder of the page's address. Without it, Streamlit's client first
# tries a path below the page (/library/_stcore/health) and logs a failure.
BACKEND_URL_SCRIPT = '<script>window.__streamlit = { BACKEND_BASE_URL: new URL(".", location).href };</script>'
NO_SCRIPT_HTML = "<p>Sightline 需要浏览器启用 JavaScript。</p><p>Sightline needs JavaScript in the browser.</p>"


def versioned_url(file_name: str) -> str:
    """Return the URL of a file under assets, with a version that changes with its content."""
    version = hashlib.sha256((ASSETS_FOLDER / file_name).read_bytes()).hexdigest()[:12]
    return f"./assets/{file_name}?v={version}"


@cache
def preload_urls() -> tuple[str, ...]:
    """Return the addresses of the preloaded modules, whose names contain a hash of the release."""
    folder = Path(streamlit.__file__).parent / "static" / "static" / "js"
    pattern = re.compile(rf"(?:{PRELOADED_MODULES})(?:\.esm)?\.[\w-]+\.js")
    return tuple(f"./static/js/{file.name}" for file in sorted(folder.glob("*.js")) if pattern.fullmatch(file.name))


def customize_document(document: bytes) -> bytes:
    """Put title, icon, styles and scripts into Streamlit's document; return others unchanged."""
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
    # Streamlit's default font is not used.
    text = re.sub(r'<link\s+rel="preload"[^>]*SourceSans[^>]*>', "", text)
    text = text.replace(ROOT_ELEMENT.decode(), PLACEHOLDER_HTML.format(logo=versioned_url(LOGO)), 1)
    start, end = text.find("<noscript>"), text.find("</noscript>")
    if 0 <= start < end:
        text = text[: start + len("<noscript>")] + NO_SCRIPT_HTML + text[end:]
    return text.replace("</head>", f"{head}</head>", 1).encode("utf-8")


def flatten_path(path: str) -> str:
    """Return the redirect target for a nested path: its parts joined by "-"; "" for a flat path.

    No page has a nested path, and the relative file addresses in the document would not resolve
    there.
    """
    names = [name for name in path.removeprefix(base_path()).split("/") if name]
    return quote(f"{base_path()}/{'-'.join(names)}") if len(names) > 1 else ""


class DocumentMiddleware:
    """Customizes the HTML documents of pages and redirects nested paths."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_get = scope["type"] == "http" and scope["method"] == "GET"
        if not is_get or any(part in scope["path"] for part in EXCLUDED_PATHS):
            await self.app(scope, receive, send)
            return
        # The body is rewritten, so it must arrive whole and uncompressed. A conditional request
        # would let the browser reuse a document with outdated file addresses.
        dropped = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")
        scope = scope | {"headers": [(k, v) for k, v in scope["headers"] if k not in dropped]}
        starts: list[Any] = []  # the start of the response, once it has come
        body = bytearray()

        async def collect_and_send(message: Any) -> None:
            if message["type"] == "http.response.start":
                starts.append(message)
                if not _is_html(message):
                    await send(message)
            elif not starts or not _is_html(starts[0]):
                await send(message)
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if message.get("more_body"):
                    return
                if target := flatten_path(scope["path"]):
                    query = scope["query_string"].decode("latin-1")
                    location = f"{target}?{query}" if query else target
                    await refusal(307, "", location=location)(scope, receive, send)
                else:
                    await _send_document(send, starts[0], customize_document(bytes(body)))

        await self.app(scope, receive, collect_and_send)


def _is_html(start: Any) -> bool:
    return any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in start["headers"])


async def _send_document(send: Any, start: Any, body: bytes) -> None:
    dropped = (b"content-length", b"etag", b"last-modified", b"accept-ranges")
    headers = [(k, v) for k, v in start["headers"] if k.lower() not in dropped]
    headers.append((b"content-length", str(len(body)).encode()))
    await send(start | {"headers": headers})
    await send({"type": "http.response.body", "body": body})
