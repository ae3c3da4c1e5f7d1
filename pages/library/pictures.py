"""Endpoints for pages of the library's documents, which browsers and proxies may not store.

One sends the small picture of a scanned page, the other a page as JSON, with cited words marked.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from pages.middleware.access import PAGE_PICTURES_PATH
from pages.shared.paths import base_path
from research import IMAGE_TYPE, Evidence, MissingPage, PageImage, PageText, Passage, StoreError, get_application


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


def marked_page_url(evidence: Evidence, passage: Passage, start: int, end: int) -> str | None:
    """Return the address of a passage's page with its characters `start` to `end` marked, all of them if none.

    It is "" for a passage without a page, and None if the library has another version of the document.
    """
    if evidence.kind != "library" or passage.page is None:
        return ""
    try:
        place = get_application().library.pages.locate(evidence.locator, passage)
    except StoreError:
        return ""
    if place is None:
        return None
    first, last = (start, end) if start < end else (0, len(passage.text))
    span = f"{place.start + first}-{place.start + last}"
    return f"{base_path()}{PAGE_PICTURES_PATH}{place.document_id}/{passage.page}/{span}"


def _send_page(request: Request) -> Response:
    """Send a page as JSON: its picture, its text, or the reason why there is none. Access is checked as above."""
    params = request.path_params
    try:
        view = get_application().library.pages.page(
            params["document"], params["page"], [(params["start"], params["end"])], paint_marks=True
        )
    except (OverflowError, StoreError):
        return PlainTextResponse("The library cannot be read.", 503)
    content: dict[str, Any]
    match view:
        case PageImage():
            address = f"data:{IMAGE_TYPE};base64,{b64encode(view.data).decode()}"
            content = {"picture": address, "width": view.width, "height": view.height, "match": view.match}
        case PageText():
            content = {"parts": [*view.parts]}
        case MissingPage():
            content = {"reason": view.reason}
    return JSONResponse(content, headers={"cache-control": "no-store"})


PAGE_ENDPOINT = Route(PAGE_PICTURES_PATH + "{document:int}/{page:int}/{start:int}-{end:int}", _send_page)
PICTURE_ENDPOINT = Route(PAGE_PICTURES_PATH + "{document:int}/{page:int}", _send_picture)
