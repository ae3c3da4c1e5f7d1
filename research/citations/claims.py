"""Detection of the sentences that claim something that a source could support.

Questions, lines that only announce what follows, and remarks about the answer itself claim nothing.
A sentence with a citation always counts as a claim.
"""

from __future__ import annotations

import re

from research.core.text.tokenizer import split_words

_MIN_CLAIM_WORDS = 3  # words of a claim without a figure
_ANNOUNCEMENT = re.compile(r"[:：]\s*$")
_QUESTION = re.compile(r"[?？]\s*[”’」』）)\"']*$")
_ABOUT_ANSWER = re.compile(
    r"^(?:以下|下面|下表|上表|综上|总之|总的来说|总体而言|本文|本报告|本节|如需|如果您|希望|请注意以上|需要说明的是"
    r"|in summary|in short|overall|to sum up|in conclusion|below (?:is|are)|here (?:is|are)|the following"
    r"|the table (?:below|above)|this (?:report|answer|section|overview|summary)|let me know|if you )",
    re.IGNORECASE,
)
_AS_OF = re.compile(r"^[*_（(]*(?:资料|数据|信息)截至|^[*_(]*(?:data|information) (?:is |are )?as of\b", re.I)
_NOT_FOUND = re.compile(
    r"(?:未找到|没有找到|未能找到|未提及|未说明|没有提到|未提供|无法确认|尚无(?:资料|信息|来源))"
    r"|\b(?:no (?:source|information|figure|data|evidence)s? (?:was|were|is|are|could be)\b"
    r"|(?:sources?|passages?|documents?|material)\b[^.]{0,60}\b(?:do|does|did) not (?:say|give|mention|state|report|specify)"
    r"|(?:not|nothing) (?:was )?found in the (?:sources|material))",
    re.IGNORECASE,
)


def is_claim(text: str) -> bool:
    """Return whether a sentence without a citation claims something about the world."""
    text = text.strip()
    if any(pattern.search(text) for pattern in (_QUESTION, _ANNOUNCEMENT, _NOT_FOUND, _AS_OF)):
        return False
    has_figure = re.search(r"\d", text) is not None
    if _ABOUT_ANSWER.match(text) and not has_figure:
        return False
    return has_figure or len(split_words(text)) >= _MIN_CLAIM_WORDS
