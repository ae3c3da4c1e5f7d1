"""Books in EPUB format as text: chapters in reading order, under the titles of the table of contents.

Source: https://www.w3.org/TR/epub-33/ (package document, navigation document) and, for EPUB 2,
https://idpf.org/epub/20/spec/OPF_2.0_latest.htm (NCX). Entities are not expanded, references to other
files are not followed.
"""

from __future__ import annotations

import io
import posixpath
import re
import unicodedata
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urldefrag

from lxml import etree

from research.core.text.publication_dates import parse_publication_day
from research.readers.drafts import FileDraft, TextBlock, UnreadableFileError, one_line
from research.readers.markup import PageBlock, page_blocks, parse_page
from research.readers.office_files import check_container
from research.readers.scripts import flatten_scripts

_PAGE_TYPES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document")
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
# <a id="x"/> in XHTML is empty, whereas in HTML it would hold the rest of the chapter.
_EMPTY_ELEMENT = re.compile(
    rb"<(?!(?:br|hr|img|image|meta|link|col|wbr|input|area|base|source)\b)([A-Za-z][\w:]*)([^<>]*)/>"
)
_SCRIPT_RULE = re.compile(rb"\.(?P<name>[\w-]{1,80})\s*\{[^{}]{0,2000}vertical-align\s*:\s*(?P<script>super|sub)\b")
_END_BYTES = 4_096  # of a chapter, within which XHTML has its end tag
_DEPTH_PER_HEADING = 10  # levels of a chapter's own headings lie below the entry of the contents above it


class _Entry(NamedTuple):
    """An entry of the table of contents, with its depth from 1; `anchor` is the id of an element."""

    title: str
    depth: int
    anchor: str


def read_epub(data: bytes) -> FileDraft:
    """Read the chapters of a book; heading paths begin with the titles of the table of contents.

    Raises:
        UnreadableFileError: the book is refused, protected, or no chapter can be found.
    """
    check_container(data, "book", allow_doctype=True)
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        names = {*book.namelist()}
        _reject_protected(book, names)
        path = _package_path(book)
        package = _parse_xml(book.read(path))
        draft = _book_facts(package)
        manifest = {
            item.get("id"): (_resolve(path, item.get("href") or ""), item.get("media-type"), item.get("properties"))
            for item in package.iter("{*}item")
        }
        contents = _read_contents(book, names, package, manifest)
        scripts = _script_classes(book.read(name) for name in names if name.endswith(".css"))
        chapters = 0
        for reference in package.iter("{*}itemref"):
            chapter, media_type, properties = manifest.get(reference.get("idref"), ("", "", ""))
            if chapter in names and media_type in _PAGE_TYPES and "nav" not in (properties or "").split():
                chapters += 1
                page = book.read(chapter)
                _add_chapter(draft, _parse_chapter(page, scripts), contents.get(chapter, []))
                draft.is_cut |= media_type == "application/xhtml+xml" and b"</html" not in page[-_END_BYTES:].lower()
    if not chapters:
        raise UnreadableFileError("unreadable", "The book lists no chapters that are in the file; save it anew.")
    return draft


def _parse_xml(data: bytes) -> Any:
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, recover=True))


def _resolve(base: str, reference: str) -> str:
    """Return the name of a part of the book from a reference in the part `base`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), unquote(urldefrag(reference).url)))


def _package_path(book: zipfile.ZipFile) -> str:
    root = _parse_xml(book.read("META-INF/container.xml"))
    return next(file.get("full-path") or "" for file in root.iter("{*}rootfile"))


def _reject_protected(book: zipfile.ZipFile, names: set[str]) -> None:
    """Refuse books whose chapters are encrypted; encrypted fonts do no harm.

    Raises:
        UnreadableFileError: the book is protected.
    """
    if "META-INF/encryption.xml" not in names:
        return
    root = _parse_xml(book.read("META-INF/encryption.xml"))
    if any(method.get("Algorithm") not in _FONT_ALGORITHMS for method in root.iter("{*}EncryptionMethod")):
        detail = "The book is protected by digital rights management (DRM); add a copy without it."
        raise UnreadableFileError("encrypted", detail)


def _book_facts(package: Any) -> FileDraft:
    """Return a draft with the title, date and language of a book."""

    def first(name: str) -> str:
        return next((one_line(element.text or "") for element in package.iter(f"{{*}}{name}")), "")

    language = first("language").lower()[:2]
    dates = [
        element.text for element in package.iter("{http://purl.org/dc/elements/1.1/}date")
        if element.get("{http://www.idpf.org/2007/opf}event", "publication") == "publication"
    ]  # fmt: skip
    return FileDraft(
        title=first("title"),
        published=parse_publication_day(dates[0], 1) if dates else None,
        language="zh" if language == "zh" else "en" if language == "en" else None,
    )


def _read_contents(
    book: zipfile.ZipFile, names: set[str], package: Any, manifest: Mapping[str, tuple[str, str, str]]
) -> dict[str, list[_Entry]]:
    """Return the entries of the table of contents by the part of the book they refer to."""
    contents: dict[str, list[_Entry]] = {}
    navigation = next((item[0] for item in manifest.values() if "nav" in (item[2] or "").split()), "")
    if navigation in names:
        entries, path = _navigation_entries(book.read(navigation)), navigation
    else:
        spine = next(package.iter("{*}spine"), None)
        path = manifest.get(spine.get("toc") if spine is not None else "", ("", "", ""))[0]
        entries = _ncx_entries(book.read(path)) if path in names else iter(())
    for title, depth, reference in entries:
        if title := one_line(title):
            anchor = unquote(urldefrag(reference).fragment)
            contents.setdefault(_resolve(path, reference), []).append(_Entry(title, depth, anchor))
    return contents


def _navigation_entries(data: bytes) -> Iterator[tuple[str, int, str]]:
    """Yield title, depth and reference of the entries in a navigation document (EPUB 3)."""
    root = parse_page(data)
    menus = [] if root is None else [*root.iter("nav")]
    tables = [menu for menu in menus if (menu.get("epub:type") or menu.get("type")) == "toc"] or menus
    for link in tables[0].iter("a") if tables else []:
        depth = max(1, sum(1 for _ in link.iterancestors("ol", "ul")))
        yield " ".join(link.text_content().split()), depth, link.get("href") or ""


def _ncx_entries(data: bytes) -> Iterator[tuple[str, int, str]]:
    """Yield title, depth and reference of the entries in a navigation control file (EPUB 2)."""
    for point in _parse_xml(data).iter("{*}navPoint"):
        depth = 1 + sum(1 for _ in point.iterancestors("{*}navPoint"))
        content = point.find("{*}content")
        if content is not None:
            yield point.findtext("{*}navLabel/{*}text") or "", depth, content.get("src") or ""


def _script_classes(style_sheets: Iterator[bytes]) -> dict[str, str]:
    """Return "sup" or "sub" by the name of each class that raises or lowers its text."""
    return {
        rule["name"].decode("utf-8", "replace"): rule["script"].decode()[:3]
        for sheet in style_sheets
        for rule in _SCRIPT_RULE.finditer(sheet)
    }


def _parse_chapter(data: bytes, scripts: Mapping[str, str]) -> Any:
    """Parse a chapter, with superscripts, subscripts and marks of notes in plain form; None if it is empty."""
    root = parse_page(_EMPTY_ELEMENT.sub(rb"<\1\2></\1>", data))
    if root is None:
        return None
    for element in root.iter("span", "a"):
        types = f"{element.get('epub:type') or ''} {element.get('role') or ''}".split()
        names = (element.get("class") or "").split()
        script = next((scripts[name] for name in names if name in scripts), "")
        if "backlink" in types or "doc-backlink" in types:
            element.text = ""
        elif ("noteref" in types or "doc-noteref" in types) and (mark := element.text_content().strip(" []()")):
            for child in [*element]:
                element.remove(child)
            element.text = f" [{mark}]"
        elif script:
            element.tag = script
    flatten_scripts(root)
    return root


def _add_chapter(draft: FileDraft, root: Any, entries: list[_Entry]) -> None:
    """Add a part of the book; without an entry in the contents it goes on with the chapter before it."""
    if root is None:
        return
    by_anchor = {entry.anchor: entry for entry in reversed(entries) if entry.anchor}
    bodies = [*root.iter("body")] or [root]
    opening = next((entry for entry in entries if not entry.anchor), None)
    if opening is None and entries and entries[0].depth == 1:
        opening = entries[0]
    pending = opening
    blocks = (block for body in bodies for block in page_blocks(body, by_anchor))
    for block in blocks:
        if block.anchor:
            pending = by_anchor[block.anchor]
        else:
            _add_block(draft, block, pending)
            pending = None


def _add_block(draft: FileDraft, block: PageBlock, pending: _Entry | None) -> None:
    """Add a block; `pending` is the entry of the contents that begins with it, if any.

    The heading in the chapter stands for the entry if both have the same words. Otherwise the title of the
    entry is part of the heading path, though not of the text.
    """
    if pending is not None:
        _open_heading(draft, pending.depth * _DEPTH_PER_HEADING, pending.title)
    entries = [(level, title) for level, title in draft.open_headings if level % _DEPTH_PER_HEADING == 0]
    level, title = entries[-1] if entries else (0, "")
    if block.level and _is_same_title(block.text, title):
        _open_heading(draft, level, title)
        draft.blocks.append(TextBlock(block.text, draft.heading_path, is_heading=True))
    elif block.level:
        draft.add_heading(level + block.level, block.text)
    else:
        draft.add_text(block.text)


def _open_heading(draft: FileDraft, level: int, title: str) -> None:
    draft.open_headings = [*(item for item in draft.open_headings if item[0] < level), (level, title)]


def _is_same_title(first: str, second: str) -> bool:
    """Return True if two titles are equal apart from spaces, or one is the other with a number or a subtitle."""
    short, long = sorted(
        ("".join(unicodedata.normalize("NFKC", t).casefold().split()) for t in (first, second)), key=len
    )
    return short == long or (
        (len(short) > 1 or not short.isascii()) and (long.startswith(short) or long.endswith(short))
    )
