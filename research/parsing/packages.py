"""Bounds on zip packages (docx, xlsx, xlsb, ods), checked before anything in them is unpacked."""

from __future__ import annotations

import zipfile
from typing import IO, Literal

ENTRIES = 20_000
RATIO = 200  # bytes of a part for each byte that it is packed to; workbooks were measured to have 40 at most
SMALL = 16 * 1024**2  # bytes of a part that may be packed in any way
HEAD = 64 * 1024  # bytes of a part in which a document type is looked for

PackageProblem = Literal["encrypted", "entries", "unpacked", "doctype"]


class PackageError(ValueError):
    """A package that is not opened."""

    def __init__(self, problem: PackageProblem) -> None:
        self.problem: PackageProblem = problem
        super().__init__(problem)


def check_package(file: IO[bytes], most: int) -> int:
    """Refuses a package that is locked, or unpacks to more than `most` bytes or to far more than an honest
    one would; returns the bytes that it unpacks to, as far as it says itself.

    Raises:
        PackageError: it is refused.
        zipfile.BadZipFile: it is no zip file.
    """
    with zipfile.ZipFile(file) as package:
        entries = package.infolist()
        if len(entries) > ENTRIES:
            raise PackageError("entries")
        if any(entry.flag_bits & 1 for entry in entries):
            raise PackageError("encrypted")
        total = sum(entry.file_size for entry in entries)
        if total > most:
            raise PackageError("unpacked")
        for entry in entries:
            if entry.file_size > SMALL and entry.file_size > RATIO * entry.compress_size:
                raise PackageError("unpacked")
        for entry in entries:
            if entry.filename.endswith((".xml", ".rels")):
                with package.open(entry) as part:
                    if has_doctype(part.read(HEAD)):
                        raise PackageError("doctype")
    return total


def has_doctype(text: bytes) -> bool:
    """Whether XML declares a document type, whose entities may grow without end; no office program writes one."""
    return b"<!DOCTYPE" in text.replace(b"\0", b"")  # UTF-16 as well
