"""PDFium with the fonts that ship with the program, besides those of the system.

A PDF need not contain its fonts. Without any font that has them, PDFium loses Chinese characters that are drawn
one by one, and draws none of them. Loaded before the first document of the process is opened.
"""

from __future__ import annotations

import ctypes
import sys
from pathlib import Path

import pypdfium2
from pypdfium2 import raw

FONT_FOLDER = Path(__file__).resolve().parent.parent / "data" / "fonts"
# The folders that PDFium searches on Linux if none are named.
_SYSTEM_FOLDERS = (
    "/usr/share/fonts", "/usr/share/X11/fonts/Type1", "/usr/share/X11/fonts/TTF", "/usr/local/share/fonts",
)  # fmt: skip


def _initialise_with_fonts() -> None:
    """Initialise PDFium anew with the folders of the system and of the program."""
    folders = [folder.encode() for folder in (*_SYSTEM_FOLDERS, str(FONT_FOLDER))]
    paths = (ctypes.c_char_p * (len(folders) + 1))(*folders, None)
    config = raw.FPDF_LIBRARY_CONFIG(
        version=2,
        m_pUserFontPaths=ctypes.cast(paths, ctypes.POINTER(ctypes.POINTER(ctypes.c_char))),
        m_pIsolate=None,
        m_v8EmbedderSlot=0,
    )
    raw.FPDF_DestroyLibrary()
    raw.FPDF_InitLibraryWithConfig(config)


if sys.platform == "linux":  # other systems always have fonts
    _initialise_with_fonts()


def open_pdf(data: bytes) -> pypdfium2.PdfDocument:
    """Open a PDF.

    Raises:
        pypdfium2.PdfiumError: it is damaged, or `is_protected`.
    """
    return pypdfium2.PdfDocument(data)


def is_protected(error: pypdfium2.PdfiumError) -> bool:
    """Return True if a PDF could not be opened because of its password."""
    return error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
