"""Font families that a file requests from the reader's machine, by language.

English puts Latin fonts first: Chinese fonts have Latin letters too, but quotation marks, dashes
and dots as wide as Han characters. Chinese needs those wide marks and puts a Chinese font first.
`system-ui`, which is a Chinese font on a Chinese system, follows fonts that cover every system.
`sans-serif` is last, as browsers skip it if more names follow.
"""

from __future__ import annotations

from research.core.records import Language

_LATIN_FONTS = (
    "Inter,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Liberation Sans','Noto Sans','DejaVu Sans',system-ui"
)
_HAN_FONTS = "'PingFang SC','Hiragino Sans GB','Microsoft YaHei','Noto Sans CJK SC','Noto Sans SC','Source Han Sans SC'"


def font_families(language: Language) -> str:
    """Return a value of `font-family` without double quotation marks."""
    return f"{_HAN_FONTS},sans-serif" if language == "zh" else f"{_LATIN_FONTS},{_HAN_FONTS},sans-serif"
