"""The pictures of scanned pages: sent to whoever may see the library, kept nowhere else."""

from __future__ import annotations

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pages.middleware.gate import SCANS
from research import Passage, StoreError, application


def address(document: int, page: int) -> str:
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{f'/{base}' if base else ''}{SCANS}{document}/{page}"


def of_passage(name: str, passage: Passage) -> str:
    """Where the picture of a passage's page is; "" if the library has that page no more."""
    if not (passage.ocr and passage.page):
        return ""
    try:
        found = application.desk().library.pictured(name, passage.page, passage.text)
    except StoreError:
        return ""
    return "" if found is None else address(found, passage.page)


def _send(request: Request) -> Response:
    """Answers the request for a picture; who may ask is for `pages.middleware.gate` to say."""
    try:
        wanted = request.path_params
        picture = application.desk().library.picture(wanted["document"], wanted["page"])
    except (OverflowError, StoreError):
        picture = b""
    if not picture:
        return PlainTextResponse("There is no such picture.", 404)
    return Response(picture, media_type="image/jpeg", headers={"cache-control": "no-store"})


ROUTE = Route(SCANS + "{document:int}/{page:int}", _send)
