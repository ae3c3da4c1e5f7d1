"""The fonts of the reader's machine that a file asks for, by the language that it is in.

Latin fonts come first for English: one for Chinese has letters as well, but quotation marks, dashes
and dots as wide as Han characters. Chinese wants them that wide, so there a Chinese font comes first.
`system-ui`, which is a Chinese font on a Chinese system, stands behind those that any system has one
of; `sans-serif` stands last, as browsers pass over it where more names follow.
"""

from __future__ import annotations

from research.core.records import Language

_LATIN_FONTS = (
    "Inter,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans','Noto Sans','DejaVu Sans',system-ui"
)
_HAN_FONTS = "'PingFang SC','Hiragino Sans GB','Microsoft YaHei','Noto Sans CJK SC','Noto Sans SC','Source Han Sans SC'"


def font_families(language: Language) -> str:
    """A value of `font-family`, without double quotation marks."""
    return f"{_HAN_FONTS},sans-serif" if language == "zh" else f"{_LATIN_FONTS},{_HAN_FONTS},sans-serif"
