"""Placement of citations in a text: behind the sentence that they support.

Each private character of planes 15 and 16 is the placeholder of one citation that was removed from
the text. What a citation refers to is not known here.
"""

from __future__ import annotations

import re

from research.core.text.sentences import split_sentences
from research.core.text.tokenizer import HAN_RANGES

_FIRST_PLACEHOLDER = 0xF0000
CITE_PLACEHOLDER = "[\U000f0000-\U0010ffff]"  # pattern of one placeholder


def cite_placeholder(index: int) -> str:
    """Return the placeholder of the citation with an index."""
    return chr(_FIRST_PLACEHOLDER + index)


def placeholder_index(placeholder: str) -> int:
    """Return the index of the citation that a placeholder stands for."""
    return ord(placeholder) - _FIRST_PLACEHOLDER


_LINE_START = re.compile(r"(?:[-+*>#]|[0-9]{1,9}[.)]|\[[ xX]\]|[ \t])*")
_SENTENCE_END = re.compile(r"[.。!！?？…][\"”’」』)）]*$")
_HAN = re.compile(f"[{HAN_RANGES}]")
_ROW_END = re.compile(rf"^([ \t>]*\|.*)\|[ \t]*({CITE_PLACEHOLDER}+)[ \t]*$", re.MULTILINE)
_SEPARATOR_BETWEEN = re.compile(rf"(?<={CITE_PLACEHOLDER})[ \t]*[,;，；、]?[ \t]*(?={CITE_PLACEHOLDER})")
_SPACE_BEFORE = re.compile(rf"(?<![ \t])[ \t]+(?={CITE_PLACEHOLDER})")
_PUNCTUATION_AFTER = re.compile(
    rf"(?<!{CITE_PLACEHOLDER})({CITE_PLACEHOLDER}+)([。．！？，、；：…]+|[.,;:!?]+(?=$|[\s{HAN_RANGES})\]}}\"'”’」』*_~|<]|{CITE_PLACEHOLDER}))",
    re.MULTILINE,
)
_DOUBLE_STOP = re.compile(rf"([。．！？.!?])({CITE_PLACEHOLDER}+)[ \t]*(?:。|\.(?!\w))")


# A verb whose subject is a citation: [1] reports that, [2]指出.
_REPORTING_VERB = re.compile(
    r" ?(?:and\b|or\b|(?:also |only |further )?(?:says?|said|states?|stated|reports?|reported|notes?|noted|shows?|showed|claims?|claimed"
    r"|finds?|found|describes?|gives?|gave|puts?|lists?|mentions?|adds?|added|argues?|suggests?|confirms?|estimates?"
    r"|explains?|writes?|wrote|indicates?|records?|agrees?|disagrees?|contradicts?|is|was|has|does)\b)"
    r"|[和与及、]|(?:还|也|则|又|均|都)?(?:指出|认为|提到|提及|称|显示|报道|表示|说明|记载|介绍|表明|写道|强调|提出|发现|分析|证实|给出|列出|补充)"
)
_EMPHASIZED_MARKS = re.compile(rf"^([ \t>+-]*)(\*\*|__|\*|_)({CITE_PLACEHOLDER}+)\2(?=[ \t])", re.MULTILINE)
# A line that begins with a citation, or in which one is the subject of a sentence.
_LEADING_MARK_LINE = re.compile(
    rf"^{_LINE_START.pattern}{CITE_PLACEHOLDER}.*$|^.*[.。!！?？…][\"”’」』)）]*[ \t]*{CITE_PLACEHOLDER}+[ \t]*(?:{_REPORTING_VERB.pattern}).*$",
    re.MULTILINE,
)
# A word whose object is the citation that follows it.
_PREPOSITION = re.compile(
    r"(?:\b(?:and|according to|see|per|cf\.|from|by|in|of|with)|根据|依据|依照|按照|按|据|参见|参阅|见|由|与|和|及)(?:\s*(?:Source|Reference|来源|文献|资料))?\s*$",
    re.I,
)


def place_citations(text: str) -> str:
    """Move citations directly behind the word or the full stop before them.

    A citation in front of a sentence moves to the end of that sentence. One behind the last bar of
    a table row moves into the last cell of the row. Commas between citations are removed, and so is
    a second full stop behind a citation.
    """
    text = _EMPHASIZED_MARKS.sub(r"\1\3", text)
    text = _LEADING_MARK_LINE.sub(lambda match: _move_to_sentence_end(match[0]), text)
    text = _ROW_END.sub(_move_into_cell, text)
    text = _SEPARATOR_BETWEEN.sub("", text)
    text = _SPACE_BEFORE.sub(lambda match: match[0] if _is_line_start(text, match.start()) else "", text)
    text = _DOUBLE_STOP.sub(r"\1\2", text)
    return _PUNCTUATION_AFTER.sub(lambda match: _move_behind_punctuation(match, text), text)


def _move_behind_punctuation(match: re.Match[str], text: str) -> str:
    """Put citations behind the punctuation that follows them, unless they are the object of a preposition."""
    preposition = _PREPOSITION.search(text[max(0, match.start() - 20) : match.start()])
    return match[0] if preposition and match[2] != "。" else f"{match[2]}{match[1]}"


def _move_to_sentence_end(line: str) -> str:
    """Move each citation in front of a sentence of a line to the end of that sentence.

    A citation that is the subject of its sentence stays, with the word "Source" put before it.
    """
    plain, places = "", []  # the line without citations, and their offsets in it
    for piece in re.split(f"({CITE_PLACEHOLDER}+)", line):
        if re.match(CITE_PLACEHOLDER, piece):
            places.append((len(plain), piece))
        else:
            plain += piece
    sentences = [(start, end) for start, end in split_sentences(plain) if re.search(r"\w", plain[start:end])]
    if not sentences:
        return line
    front = _LINE_START.match(plain)
    begin = max(sentences[0][0], front.end() if front else 0)
    begins_with_citation = places[0][0] <= begin
    ends_with_citation = places[-1][0] >= len(plain.rstrip(" \t.。!！?？"))
    moved = []
    for offset, marks in places:
        is_first = offset <= begin
        start, end = next((span for span in sentences if offset <= span[0] or is_first), (0, 0))
        is_in_front = end and (is_first or _SENTENCE_END.search(plain[:offset].rstrip()))
        word_start = max(start, begin) if is_first else start
        may_move = begins_with_citation and (is_first or not ends_with_citation)
        if is_in_front and _REPORTING_VERB.match(plain, word_start):
            moved.append((word_start, f"来源{marks}" if _HAN.match(plain, word_start) else f"Source{marks} "))
        elif is_in_front and may_move and _SENTENCE_END.search(plain[:end]):
            moved.append((end, marks))
        else:
            moved.append((offset, marks))
    if moved == places:
        return line
    result, at = "", 0
    for offset, words in sorted(moved, key=lambda place: place[0]):
        result, at = result + plain[at:offset] + words, offset
    result = re.sub(r"(?<=\S)[ \t]{2,}(?=\S)", " ", result + plain[at:])
    return result.lstrip() if places[0][0] == 0 else result


def _move_into_cell(match: re.Match[str]) -> str:
    """Move citations behind the last bar of a table row into its last cell."""
    words = re.search(r"[^|:\s-]", match[1])  # the rule under a table's header has no words
    return f"{match[1].rstrip()}{match[2]} |" if words else match[0]


def _is_line_start(text: str, offset: int) -> bool:
    """Return whether only Markdown marks, such as those of a list, precede the offset in its line."""
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return _LINE_START.fullmatch(line) is not None
