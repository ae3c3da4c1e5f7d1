"""The page of a cited passage, sent to its box on request with the cited words marked."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable

from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from pages.library import pictures
from research import get_application
from tests.catalogue import WORDS
from tests.pages.test_library_page import upload
from tests.pages.visitor import Visitor
from tests.sources.library.test_documents import make_pdf

Visit = Callable[..., Visitor]
QUESTION = "How tall is the Aldergate lighthouse?"
PDF = ("tower.pdf", make_pdf(["Contents"], ["The Aldergate lighthouse is 41 metres tall.", "It is white."]))


def test_a_quote_from_a_pdf_has_the_address_of_its_page_until_the_document_is_gone(visit: Visit) -> None:
    visitor = upload(visit("library"), PDF)
    library = get_application().library
    library.set_sample_enabled(False)
    visitor.go("ask").ask(QUESTION).wait()
    (cite,) = visitor.blocks("quote")[0]["cites"]
    (entry,) = library.list_all()
    assert cite["quote"] == "The Aldergate lighthouse is 41 metres tall."
    text = library.document_text(entry.id)
    at = text.index(cite["quote"])
    assert cite["page"] == f"/page-pictures/{entry.id}/2/{at}-{at + len(cite['quote'])}"
    assert cite["alt"] == WORDS["answer.page_picture"][1].format(n=2)
    assert visitor.answer
    assert visitor.answer["words"]["pages"]["not kept"] == WORDS["report.no page.not kept"][1]
    client = TestClient(Starlette(routes=[pictures.PAGE_ENDPOINT]))
    got = client.get(cite["page"])
    assert got.headers["cache-control"] == "no-store"
    assert got.json()["match"] == "whole"
    head, _, data = got.json()["picture"].partition(",")
    assert head == "data:image/webp;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as shown:
        assert shown.size == (got.json()["width"], got.json()["height"])
    library.remove([entry.id])
    (cite,) = visitor.look().blocks("quote")[0]["cites"]
    assert "page" not in cite
    assert cite["pageNote"] == WORDS["report.no page.changed"][1]


def test_a_passage_without_a_page_has_no_address_and_no_note(visit: Visit) -> None:
    visitor = upload(visit("library"), ("tower.md", b"The Aldergate lighthouse is 41 metres tall."))
    get_application().library.set_sample_enabled(False)
    visitor.go("ask").ask(QUESTION).wait()
    (cite,) = visitor.blocks("quote")[0]["cites"]
    assert not {"page", "pageNote"} & {*cite}


def test_an_address_without_a_page_tells_why(visit: Visit) -> None:
    upload(visit("library"), PDF)
    library = get_application().library
    (entry,) = (entry for entry in library.list_all() if not entry.is_sample)
    client = TestClient(Starlette(routes=[pictures.PAGE_ENDPOINT]))
    assert client.get(f"/page-pictures/{entry.id}/9/0-3").json() == {"reason": "no page"}
    assert client.get("/page-pictures/999/1/0-3").json() == {"reason": "changed"}
    assert client.get(f"/page-pictures/{10**30}/1/0-3").status_code == 503
