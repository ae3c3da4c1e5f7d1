"""Bounds on zip packages (docx, xlsx, xlsb, ods), checked before anything in them is unpacked."""

from __future__ import annotations

import zipfile
from typing import IO, Literal

MAX_ENTRIES = 20_000
MAX_COMPRESSION_RATIO = 200  # highest compression ratio of a part; workbooks were measured to reach at most 40
MIN_RATIO_CHECKED_BYTES = 16 * 1024**2  # bytes of a part, up to which any compression ratio is accepted
DOCTYPE_SEARCH_BYTES = 64 * 1024  # bytes of a part that are searched for a document type

PackageProblem = Literal["encrypted", "entries", "unpacked", "doctype"]


class PackageError(ValueError):
    """Error for a package that must not be opened."""

    def __init__(self, problem: PackageProblem) -> None:
        self.problem: PackageProblem = problem
        super().__init__(problem)


def check_package(file: IO[bytes], max_bytes: int) -> int:
    """Refuse a package that is encrypted, or that is or unpacks to more than an ordinary file
    would. Return its unpacked size in bytes, as declared in the package.

    `most` is the largest unpacked size that is accepted, in bytes. Also refused are packages with
    too many parts, a part with an extreme compression ratio, or XML with a document type.

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
            if entry.filename.endswith((".xml", ".rels")):
                with package.open(entry) as part:
                    if has_doctype(part.read(DOCTYPE_SEARCH_BYTES)):
                        raise PackageError("doctype")
    return total


def has_doctype(text: bytes) -> bool:
    """Return whether XML declares a document type, whose entities may expand without limit. Office
    programs never write one."""
    return b"<!DOCTYPE" in text.replace(b"\0", b"")  # UTF-16 as well
