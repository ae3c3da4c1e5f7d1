"""The pictures of scanned pages: sent to whoever may see the library, kept nowhere else."""

from __future__ import annotations

import streamlit as st
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pages.middleware.access import SCANS_PATH
from research import Passage, StoreError, application


def picture_url(document_id: int, page_number: int) -> str:
    base = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"{f'/{base}' if base else ''}{SCANS_PATH}{document_id}/{page_number}"


def passage_picture_url(document_name: str, passage: Passage) -> str:
    """Where the picture of a passage's page is; "" if the library has that page no more."""
    if not (passage.ocr and passage.page):
        return ""
    try:
        found = application.get_application().library.find_document_with_image(
            document_name, passage.page, passage.text
        )
    except StoreError:
        return ""
    return "" if found is None else picture_url(found, passage.page)


def _send_picture(request: Request) -> Response:
    """Answers the request for a picture; who may ask is for `pages.middleware.access` to say."""
    try:
        wanted = request.path_params
        picture = application.get_application().library.page_image(wanted["document"], wanted["page"])
    except (OverflowError, StoreError):
        picture = b""
    if not picture:
        return PlainTextResponse("There is no such picture.", 404)
    return Response(picture, media_type="image/jpeg", headers={"cache-control": "no-store"})


PICTURE_ENDPOINT = Route(SCANS_PATH + "{document:int}/{page:int}", _send_picture)
