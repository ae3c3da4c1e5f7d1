"""Pages of the library's documents, to be shown with cited words marked.

PDF and image files are kept as originals and drawn from them. Of a scanned page without an original there is
the small image that was stored when it was read. Other formats with pages, such as slides, have their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from research.core.page_views import DEFAULT_WIDTH_PIXELS, CitedText, MissingPage, PageImage, PageText, PageView
from research.core.records import Evidence, EvidenceKind, Passage
from research.readers.page_images import PageRenderError, is_rendered, render_page
from research.storage.sqlite_files import SQLiteFile

EVIDENCE_KIND: EvidenceKind = "library"
MAX_CACHED_PAGES = 24
Spans = Sequence[tuple[int, int]]


class StoredVersion(NamedTuple):
    """The version of a document in the library; the default is that of none."""

    sha256: str = ""
    has_original: bool = False
    has_waiting_pages: bool = False  # scanned pages that were not read


class TextLocation(NamedTuple):
    """A place in the text of a document, in characters."""

    document_id: int
    start: int


def stored_version(db: SQLiteFile, name: str) -> StoredVersion:
    """Return the version of the document of this name."""
    rows: list[Any] = db.read(
        "select sha256, exists(select 1 from original where document=d.id), "
        "exists(select 1 from scan_page where document=d.id and state='waiting') from document d where name=?",
        (name,),
    )
    return StoredVersion(*rows[0]) if rows else StoredVersion()


class DocumentPages:
    """Finds and draws pages of the documents in one library file. Safe for several threads."""

    def __init__(self, db: SQLiteFile) -> None:
        self._db = db
        self._render = lru_cache(MAX_CACHED_PAGES)(self._render_uncached)

    def clear_cache(self) -> None:
        """Forget all drawn pages, so that none outlives its document."""
        self._render.cache_clear()

    def original(self, document_id: int) -> bytes:
        """Return the file of a document, or b"" if it was not kept."""
        data: bytes = self._db.read_value("select data from original where document=?", (document_id,))
        return data or b""

    def locate(self, name: str, passage: Passage) -> TextLocation | None:
        """Return the place of a passage in the document of this name; None if that version is not there."""
        rows: list[Any] = self._db.read(
            "select id, case when substr(text, ?1 + 1, length(?2)) = ?2 then ?1 else instr(text, ?2) - 1 end "
            "from document where name=?3",
            (passage.start, passage.text, name),
        )
        return TextLocation(*rows[0]) if rows and rows[0][1] >= 0 else None

    def cited_page(
        self,
        evidence: Evidence,
        texts: Sequence[CitedText],
        *,
        page: int | None = None,
        width_px: int = DEFAULT_WIDTH_PIXELS,
        paint_marks: bool = False,
    ) -> PageView:
        """Return the page of the first text with all texts marked that are on it.

        `page` is another page, on which a text may go on.

        Raises:
            StoreError: the library cannot be read.
        """
        if evidence.kind != EVIDENCE_KIND:
            return MissingPage("no document")
        number = page or texts[0].passage.page
        if number is None:
            return MissingPage("no pages")
        located = [(self.locate(evidence.locator, text.passage), text) for text in texts]
        first = located[0][0]
        if first is None:
            return MissingPage("changed")
        spans = [
            (place.start + start, place.start + end)
            for place, text in located
            if place is not None
            for start, end in text.spans or ((0, len(text.passage.text)),)
        ]
        return self.page(first.document_id, number, spans, width_px=width_px, paint_marks=paint_marks)

    def page(
        self,
        document_id: int,
        page: int,
        spans: Spans,
        *,
        width_px: int = DEFAULT_WIDTH_PIXELS,
        paint_marks: bool = False,
    ) -> PageView:
        """Return a page with spans of the document's text marked.

        Raises:
            StoreError: the library cannot be read.
        """
        rows: list[Any] = self._db.read("select name, sha256 from document where id=?", (document_id,))
        if not rows:
            return MissingPage("changed")
        name, sha256 = rows[0]
        if not is_rendered(name):
            return self._page_text(document_id, page, spans)
        quotes = tuple(self._read_text(document_id, start, end) for start, end in spans)
        contexts = tuple(self._passage_around(document_id, start) for start, _ in spans)
        try:
            return self._render(document_id, sha256, name, page, quotes, contexts, width_px, paint_marks)
        except PageRenderError as error:
            return MissingPage(error.fault)
        except LookupError:
            return MissingPage("not kept")

    def _render_uncached(
        self,
        document_id: int,
        _sha256: str,  # part of the cache key: an id may be used again
        name: str,
        page: int,
        quotes: tuple[str, ...],
        contexts: tuple[str, ...],
        width_px: int,
        paint_marks: bool,
    ) -> PageImage:
        """Draw a page.

        Raises:
            PageRenderError: it cannot be drawn.
            LookupError: the file was not kept.
        """
        options: dict[str, Any] = {"contexts": contexts, "width_px": width_px, "paint_marks": paint_marks}
        if data := self.original(document_id):
            return render_page(data, name, page, quotes, **options)
        preview = self._db.read_value("select picture from scan_page where document=? and page=?", (document_id, page))
        if not preview:
            raise LookupError("the original was not kept")
        return replace(render_page(preview, "page.jpg", 1, quotes, **options), page=page)

    def _page_text(self, document_id: int, page: int, spans: Spans) -> PageText | MissingPage:
        """Return the text of a page, with the parts of the spans that are on it."""
        rows: list[Any] = self._db.read(
            "select min(start), max(finish) from passage where document=? and page=?", (document_id, page)
        )
        first, last = rows[0]
        if first is None:
            return MissingPage("no pages")
        cut = [(max(start, first) - first, min(end, last) - first) for start, end in spans]
        text = self._read_text(document_id, first, last)
        return PageText(page, text, tuple((start, end) for start, end in cut if start < end))

    def _read_text(self, document_id: int, start: int, end: int) -> str:
        return str(
            self._db.read_value(
                "select substr(text, ?+1, ?) from document where id=?", (start, end - start, document_id)
            )
            or ""
        )

    def _passage_around(self, document_id: int, at: int) -> str:
        rows: list[Any] = self._db.read(
            "select start, finish from passage where document=? and start<=? and finish>? limit 1",
            (document_id, at, at),
        )
        return self._read_text(document_id, *rows[0]) if rows else ""
