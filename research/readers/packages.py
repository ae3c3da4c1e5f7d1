"""Limits on zip packages (docx, pptx, xlsx, xlsb, odt, ods, epub), checked before anything is unpacked."""

from __future__ import annotations

import zipfile
from typing import IO, Literal

MAX_ENTRIES = 20_000
MAX_COMPRESSION_RATIO = 200  # of one part; workbooks were measured to reach at most 40
MIN_RATIO_CHECKED_BYTES = 16 * 1024**2  # smaller parts may have any compression ratio
DOCTYPE_SEARCH_BYTES = 64 * 1024  # searched per part

PackageProblem = Literal["encrypted", "entries", "unpacked", "doctype"]


class PackageError(ValueError):
    """A package must not be opened."""

    def __init__(self, problem: PackageProblem) -> None:
        self.problem: PackageProblem = problem
        super().__init__(problem)


def check_package(file: IO[bytes], max_bytes: int, *, allow_doctype: bool = False) -> int:
    """Check a package, and return its declared unpacked size in bytes.

    Refused are encrypted packages, an unpacked size over `max_bytes`, too many parts, a part with
    an extreme compression ratio, and, unless `allow_doctype` is set, XML with a document type.

    Raises:
        PackageError: the package is refused.
        zipfile.BadZipFile: the file is no zip file.
    """
    with zipfile.ZipFile(file) as package:
        entries = package.infolist()
        if len(entries) > MAX_ENTRIES:
            raise PackageError("entries")
        if any(entry.flag_bits & 1 for entry in entries):
            raise PackageError("encrypted")
        total = sum(entry.file_size for entry in entries)
        if total > max_bytes:
            raise PackageError("unpacked")
        for entry in entries:
            if (
                entry.file_size > MIN_RATIO_CHECKED_BYTES
                and entry.file_size > MAX_COMPRESSION_RATIO * entry.compress_size
            ):
                raise PackageError("unpacked")
        for entry in entries:
            if entry.filename.endswith((".xml", ".rels")) and not allow_doctype:
                with package.open(entry) as part:
                    if has_doctype(part.read(DOCTYPE_SEARCH_BYTES)):
                        raise PackageError("doctype")
    return total


def has_doctype(text: bytes) -> bool:
    """Return True if XML declares a document type, whose entities may expand without limit.

    Office programs never write one.
    """
    return b"<!DOCTYPE" in text.replace(b"\0", b"")  # also finds it in UTF-16
