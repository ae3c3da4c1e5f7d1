"""Attachments of mails, which are documents of their own, named "path of the mail/name of the file"."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from research.readers.documents import is_accepted
from research.readers.mail import MAX_ATTACHED_DEPTH, MAX_ATTACHMENTS
from research.sources.library.document_pages import StoredVersion
from research.sources.library.ingestion import safe_name, select_files
from research.sources.library.listing import document_kind
from research.sources.library.prepare import AddResult, MissingOriginal, PreparedDocument, ReadFile, prepare_document

Prepare = Callable[[str, bytes], ReadFile]


def prepare_with_attachments(
    name: str, data: bytes, prepare: Prepare, has_rejected: Callable[[str], bool], *, include_pictures: bool
) -> Iterator[ReadFile]:
    """Yield a prepared file, then the files attached to it, and those attached to these.

    The attachments of an unchanged mail are read again if some could not be read (`has_rejected`). Without
    `include_pictures`, pictures count as files whose format cannot be read.
    """
    remaining = MAX_ATTACHMENTS
    pending = [(name, data, 0)]
    while pending:
        name, data, depth = pending.pop(0)
        item = prepare(name, data) if remaining >= 0 else _too_many_attachments(name)
        if depth > MAX_ATTACHED_DEPTH and document_kind(name) == "mail":
            item = _attached_too_deep(name)
        is_retried = isinstance(item, AddResult) and item.outcome == "unchanged" and has_rejected(name)
        mail = prepare_document(name, data, StoredVersion()) if is_retried else item
        if isinstance(mail, PreparedDocument) and mail.document.attachments:
            readable, skipped = _name_attachments(mail, include_pictures=include_pictures)
            remaining -= len(readable)
            pending += [(attached, content, depth + 1) for attached, content in readable]
            if isinstance(item, PreparedDocument):
                item = replace(item, attachments=tuple(attached for attached, _ in readable))
            if not isinstance(item, MissingOriginal):
                item = replace(item, skipped_attachments=skipped)
        yield replace(item, is_attachment=depth > 0)


def _attached_too_deep(name: str) -> AddResult:
    detail = f"Mails are attached to each other more than {MAX_ATTACHED_DEPTH} deep; save this one on its own."
    return AddResult(name, "unreadable", detail=detail, limit="attached")


def _too_many_attachments(name: str) -> AddResult:
    detail = f"The mails attached to each other hold more than {MAX_ATTACHMENTS} files; save this one on its own."
    return AddResult(name, "too large", detail=detail, limit="attachments")


def _name_attachments(
    mail: PreparedDocument, *, include_pictures: bool
) -> tuple[list[tuple[str, bytes]], tuple[str, ...]]:
    """Return the attachments that can be read, under their names as documents, and the names of the others."""
    files = mail.document.attachments
    accepted = {
        index: name
        for index, name in select_files([(safe_name(file.name).rsplit("/", 1)[-1], 0) for file in files])
        if is_accepted(name, include_pictures=include_pictures)
    }
    readable = [(f"{mail.document.name}/{name}", files[index].data) for index, name in accepted.items()]
    return readable, tuple(file.name for index, file in enumerate(files) if index not in accepted)
