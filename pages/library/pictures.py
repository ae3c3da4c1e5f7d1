"""Endpoint for pictures of scanned pages, which browsers and proxies may not store."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from pages.middleware.access import PAGE_PICTURES_PATH
from pages.shared.paths import base_path
from research import Passage, StoreError, get_application


def picture_url(document_id: int, page_number: int) -> str:
    return f"{base_path()}{PAGE_PICTURES_PATH}{document_id}/{page_number}"


def passage_picture_url(document_name: str, passage: Passage) -> str:
    """Return the address of the page picture of an OCR passage, or "" if it is not available."""
    if not (passage.ocr and passage.page):
        return ""
    try:
        document_id = get_application().library.find_document_with_image(document_name, passage.page, passage.text)
    except StoreError:
        return ""
    return "" if document_id is None else picture_url(document_id, passage.page)


def _send_picture(request: Request) -> Response:
    """Send a page picture as JPEG, or 404. `pages.middleware.access` checks the permission."""
    try:
        params = request.path_params
        picture = get_application().library.page_image(params["document"], params["page"])
    except (OverflowError, StoreError):
        picture = b""
    if not picture:
        return PlainTextResponse("There is no such picture.", 404)
    return Response(picture, media_type="image/jpeg", headers={"cache-control": "no-store"})


PICTURE_ENDPOINT = Route(PAGE_PICTURES_PATH + "{document:int}/{page:int}", _send_picture)
