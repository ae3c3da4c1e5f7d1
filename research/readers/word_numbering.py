"""Automatic numbers of Word paragraphs, such as "3.", "3.1", "(a)" or 第三条, which a file holds as rules only.

Source: ISO/IEC 29500-1, 17.9 (numbering) and 17.18.59 (number formats).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from research.core.text.numbers import HAN_ONE_TO_NINE, ONES, RANKS, TEENS, TENS

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_LEVELS = 9
_MAX_STYLE_DEPTH = 20
_MAX_WIDTH = 9
_MAX_VALUE = 99_999  # larger numbers, which a damaged file may have, are written in digits


# Number formats

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_CARDINALS = [*ONES, *TEENS, *(word for tens in TENS for word in (tens, *(f"{tens}-{one}" for one in ONES)))]
_ORDINAL_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def _roman(number: int) -> str:
    if not 0 < number < 4_000:
        return str(number)
    text = ""
    for value, letters in _ROMAN:
        count, number = divmod(number, value)
        text += letters * count
    return text


def _letter(number: int) -> str:
    """Return a to z, then aa to zz, then aaa, as Word counts."""
    return chr(97 + (number - 1) % 26) * ((number - 1) // 26 + 1) if 0 < number <= 260 else str(number)


def _han_counting(number: int, digits: str = f"零{HAN_ONE_TO_NINE}", units: str = "十百千万") -> str:
    """Return a number in words, as 一百零一."""
    if not 0 < number <= _MAX_VALUE:
        return digits[0] if number == 0 else str(number)
    text, has_gap, figures = "", False, str(number)
    for position, figure in zip(range(len(figures) - 1, -1, -1), figures, strict=True):
        if figure == "0":
            has_gap = True
            continue
        text += (digits[0] if has_gap else "") + digits[int(figure)] + (units[position - 1] if position else "")
        has_gap = False
    return text.removeprefix("一") if text.startswith("一十") else text


def _han_digits(number: int) -> str:
    return "".join(f"〇{HAN_ONE_TO_NINE}"[int(figure)] for figure in str(max(0, number)))


def _han_counting_to_99(number: int) -> str:
    return _han_counting(number) if number < 100 else _han_digits(number)


def _member(series: str | list[str]) -> Callable[[int], str]:
    """Return a format that takes the members of a series in order, and digits after its end."""
    return lambda number: series[number - 1] if 0 < number <= len(series) else str(number)


_CIRCLED = _member("①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳㉑㉒㉓㉔㉕㉖㉗㉘㉙㉚㉛㉜㉝㉞㉟㊱㊲㊳㊴㊵㊶㊷㊸㊹㊺㊻㊼㊽㊾㊿")
_STEMS, _BRANCHES = "甲乙丙丁戊己庚辛壬癸", "子丑寅卯辰巳午未申酉戌亥"
_NUMBER_FORMATS: dict[str, Callable[[int], str]] = {
    "decimalZero": lambda n: f"{n:02d}",
    "decimalFullWidth": lambda n: "".join(chr(0xFF10 + int(figure)) for figure in str(max(0, n))),
    "decimalEnclosedCircle": _CIRCLED,
    "decimalEnclosedCircleChinese": _CIRCLED,
    "decimalEnclosedParen": _member("⑴⑵⑶⑷⑸⑹⑺⑻⑼⑽⑾⑿⒀⒁⒂⒃⒄⒅⒆⒇"),
    "decimalEnclosedFullstop": _member("⒈⒉⒊⒋⒌⒍⒎⒏⒐⒑⒒⒓⒔⒕⒖⒗⒘⒙⒚⒛"),
    "lowerLetter": _letter,
    "upperLetter": lambda n: _letter(n).upper(),
    "lowerRoman": _roman,
    "upperRoman": lambda n: _roman(n).upper(),
    "ordinal": lambda n: f"{n}{'th' if n % 100 in (11, 12, 13) else _ORDINAL_ENDINGS.get(n % 10, 'th')}",
    "cardinalText": lambda n: _member(_CARDINALS)(n).capitalize(),
    "ordinalText": lambda n: _member(list(RANKS))(n).capitalize(),
    "chineseCounting": _han_counting_to_99,
    "taiwaneseCounting": _han_counting_to_99,
    "ideographEnclosedCircle": _member("㊀㊁㊂㊃㊄㊅㊆㊇㊈㊉"),
    **dict.fromkeys(("ideographTraditional", "stems"), _member(_STEMS)),
    "ideographZodiac": _member(_BRANCHES),
    "ideographZodiacTraditional": _member([_STEMS[n % 10] + _BRANCHES[n % 12] for n in range(60)]),
    **dict.fromkeys(("chineseCountingThousand", "taiwaneseCountingThousand", "japaneseCounting"), _han_counting),
    **dict.fromkeys(("ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital"), _han_digits),
    "chineseLegalSimplified": lambda n: _han_counting(n, "零壹贰叁肆伍陆柒捌玖", "拾佰仟萬"),
    **dict.fromkeys(
        ("ideographLegalTraditional", "japaneseLegal"), lambda n: _han_counting(n, "零壹貳參肆伍陸柒捌玖", "拾佰仟萬")
    ),
    "none": lambda n: "",
}


def format_number(number: int, name: str) -> str:
    """Format a number as a Word number format says; formats of other scripts become digits."""
    return _NUMBER_FORMATS.get(name, str)(number)


# Lists


class _Level(NamedTuple):
    """The rule for the numbers of one level, 0 to 8; `restart_after` is the number of the level, from 1, after
    which they begin anew, 0 for never and None for any higher level."""

    start: int
    format: str
    width: int
    text: str
    suffix: str
    restart_after: int | None
    is_decimal_throughout: bool


class _NumberedList(NamedTuple):
    """An instance of a list; instances with one `counter_key` count on from each other."""

    counter_key: str
    levels: dict[int, _Level]
    levels_by_style: dict[str, int]
    start_overrides: dict[int, int]


def _value(parent: Any, tag: str) -> str | None:
    child = parent.find(f"{_W}{tag}")
    value: str | None = child.get(f"{_W}val") if child is not None else None
    return value


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text) else default


def _read_level(element: Any) -> _Level:
    number_format = element.find(f".//{_W}numFmt")
    name = (number_format.get(f"{_W}val") if number_format is not None else "") or "decimal"
    example = (number_format.get(f"{_W}format") if name == "custom" else "") or ""  # as "001, 002, 003, ..."
    restart, legal = _value(element, "lvlRestart"), element.find(f"{_W}isLgl")
    return _Level(
        start=_integer(_value(element, "start"), 0),
        format=name,
        width=min(len(example.split(",")[0]), _MAX_WIDTH),
        text=_value(element, "lvlText") or "",
        suffix="" if _value(element, "suff") == "nothing" else " ",
        restart_after=None if restart is None else _integer(restart, 0),
        is_decimal_throughout=legal is not None and legal.get(f"{_W}val") not in ("0", "false"),
    )


class Numbering:
    """Computes the numbers of the paragraphs of a file, which must be given in their order."""

    def __init__(self, numbering: Any | None, styles: Any) -> None:
        """Take the roots of the parts `numbering`, None if there is none, and `styles`."""
        self._styles = {style.get(f"{_W}styleId"): style for style in styles.iterchildren(f"{_W}style")}
        self._default_style = next(
            (
                key
                for key, style in self._styles.items()
                if style.get(f"{_W}type") == "paragraph" and style.get(f"{_W}default") in ("1", "true")
            ),
            None,
        )
        roots = [] if numbering is None else [numbering]
        self._abstracts = {a.get(f"{_W}abstractNumId"): a for root in roots for a in root.iterchildren(f"{_W}abstractNum")}  # fmt: skip
        self._instances = {n.get(f"{_W}numId"): n for root in roots for n in root.iterchildren(f"{_W}num")}
        self._lists: dict[str, _NumberedList | None] = {}
        self._counters: dict[str, list[int | None]] = {}
        self._used_overrides: set[tuple[str, int]] = set()

    def label(self, paragraph: Any) -> str:
        """Return the number or bullet before a paragraph with the space after it, "" if it has none."""
        list_id, level_number = self._list_and_level(paragraph)
        found = self._find_list(list_id) if list_id else None
        level = found.levels.get(level_number) if found else None
        if found is None or level is None:
            return ""
        counters = self._advance(found, list_id, level_number, level)
        if level.format == "bullet":
            text = _bullet(level.text)
        else:
            text = re.sub(
                r"%([1-9])", lambda match: self._number(found, counters, int(match[1]) - 1, level), level.text
            )
        return text + level.suffix if text.strip() else ""

    def _list_and_level(self, paragraph: Any) -> tuple[str, int]:
        """Return the id of the list of a paragraph, "" for none, and the level in it, from 0."""
        list_id, level_text = _numbering_properties(paragraph)
        stated = paragraph.find(f"{_W}pPr/{_W}pStyle")
        style_id = self._default_style if stated is None else stated.get(f"{_W}val")
        level = _integer(level_text, 0)
        for _ in range(_MAX_STYLE_DEPTH):
            style = self._styles.get(style_id)
            if style is None or (list_id is not None and level_text is not None):
                break
            style_list, style_level = _numbering_properties(style)
            if list_id is None and style_list is not None:
                list_id = style_list
                found = self._find_list(style_list)
                if level_text is None and found is not None and style_id in found.levels_by_style:
                    level = found.levels_by_style[style_id]
                    break
            if level_text is None and style_level is not None:
                level_text, level = style_level, _integer(style_level, 0)
            style_id = _value(style, "basedOn")
        return ("" if list_id in (None, "0") else str(list_id)), min(level, _LEVELS - 1)

    def _find_list(self, list_id: str) -> _NumberedList | None:
        if list_id not in self._lists:
            self._lists[list_id] = self._read_list(list_id)
        return self._lists[list_id]

    def _read_list(self, list_id: str) -> _NumberedList | None:
        instance = self._instances.get(list_id)
        abstract = self._abstracts.get(_value(instance, "abstractNumId")) if instance is not None else None
        for _ in range(_MAX_STYLE_DEPTH):  # a list style stands for the list that it names
            link = _value(abstract, "numStyleLink") if abstract is not None else None
            style = self._styles.get(link) if link else None
            if style is None:
                break
            linked = self._instances.get(_numbering_properties(style)[0])
            abstract = self._abstracts.get(_value(linked, "abstractNumId")) if linked is not None else None
        if instance is None or abstract is None:
            return None
        elements = {_integer(e.get(f"{_W}ilvl"), 0): e for e in abstract.iterchildren(f"{_W}lvl")}
        starts: dict[int, int] = {}
        for override in instance.iterchildren(f"{_W}lvlOverride"):
            number = _integer(override.get(f"{_W}ilvl"), 0)
            if (start := _value(override, "startOverride")) is not None:
                starts[number] = _integer(start, 0)
            if (replacement := override.find(f"{_W}lvl")) is not None:
                elements[number] = replacement
        return _NumberedList(
            counter_key=abstract.get(f"{_W}abstractNumId") or "",
            levels={number: _read_level(element) for number, element in elements.items()},
            levels_by_style={style: n for n, e in elements.items() if (style := _value(e, "pStyle"))},
            start_overrides=starts,
        )

    def _advance(self, found: _NumberedList, list_id: str, number: int, level: _Level) -> list[int | None]:
        """Count a paragraph of a level, and return the counters.

        Higher levels that were skipped count as one, as in Word and LibreOffice; deeper levels begin anew.
        """
        counters = self._counters.setdefault(found.counter_key, [None] * _LEVELS)
        override = found.start_overrides.get(number)
        if override is not None and (list_id, number) not in self._used_overrides:
            self._used_overrides.add((list_id, number))
            counters[number] = override
        else:
            previous = counters[number]
            counters[number] = level.start if previous is None else previous + 1
        for skipped in range(number):
            if counters[skipped] is None and skipped in found.levels:
                counters[skipped] = found.levels[skipped].start
        for deeper in range(number + 1, _LEVELS):
            restart_after = found.levels[deeper].restart_after if deeper in found.levels else None
            if restart_after is None or number < restart_after:
                counters[deeper] = None
        return counters

    @staticmethod
    def _number(found: _NumberedList, counters: list[int | None], index: int, level: _Level) -> str:
        """Return the number of the level `index` within the number of a paragraph."""
        other, value = found.levels.get(index), counters[index]
        if other is None or value is None:
            return ""
        if level.is_decimal_throughout:
            return str(value)
        return f"{value:0{other.width}d}" if other.width else format_number(value, other.format)


def _numbering_properties(element: Any) -> tuple[str | None, str | None]:
    """Return the id of the list and the level that a paragraph or style states, None if it does not."""
    properties = element.find(f"{_W}pPr/{_W}numPr")
    return (None, None) if properties is None else (_value(properties, "numId"), _value(properties, "ilvl"))


def _bullet(text: str) -> str:
    """Return a bullet; the signs of symbol fonts, which have no meaning as text, become •."""
    return "•" if text == "o" or any("\ue000" <= char <= "\uf8ff" for char in text) else text
