"""Types that a person chooses for a column, and values that are not of the type of their column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

from research.core.records import Record
from research.readers.column_formats import MISSING_WORDS, ColumnFormat, ValueKind, convert, detect_format

ColumnChoice = Literal[
    "text", "integer", "number", "number-point", "number-comma", "date", "date-dmy", "date-mdy", "datetime", "boolean"
]  # fmt: skip
COLUMN_CHOICES: tuple[ColumnChoice, ...] = get_args(ColumnChoice)
MAX_EXAMPLES = 3
MAX_EXAMPLE_CHARS = 40
MAX_ODD_SHARE = 0.2  # of the values; with more, a column is one of texts
MIN_VALUES = 5  # fewer values say nothing about the type of their column
_FIRST_VALUES = 20  # values by which a column is judged before all are
_MARKS = {"point": ".", "comma": ","}


class OddValues(Record):
    """Values that are not of the type of the others in their column.

    `type` is that of the others, `count` the number of such values among `total` that are not empty.
    """

    type: ValueKind
    count: int
    total: int
    examples: tuple[str, ...] = ()


def make_odd_values(kind: ValueKind, values: Sequence[str], count: int, total: int) -> OddValues:
    """Describe odd values, of which the first are given."""
    examples = (" ".join(value.split()) for value in dict.fromkeys(values))
    return OddValues(
        type=kind,
        count=count,
        total=total,
        examples=tuple(text[:MAX_EXAMPLE_CHARS] for text in examples)[:MAX_EXAMPLES],
    )


def choose_format(choice: ColumnChoice, detected: ColumnFormat, values: Sequence[str]) -> ColumnFormat:
    """Return the form in which a column is read whose type a person has chosen.

    What the choice leaves open, such as the unit, is as detected, or as in most of the values.
    """
    name, _, variant = choice.partition("-")
    kind = next(kind for kind in get_args(ValueKind) if kind == name)
    if kind == "text":
        return ColumnFormat()
    update: dict[str, object] = {"kind": kind, "reason": "", "is_plain": False, "is_doubtful": False}
    if _family(detected.kind) != _family(kind):
        detected = _most_frequent_form(kind, values)
    if variant in _MARKS:
        update["decimal_mark"] = _MARKS[variant]
    elif variant:
        update["date_order"] = variant
    return detected.model_copy(update=update)


def _family(kind: ValueKind) -> str:
    return "number" if kind == "integer" else kind


def _most_frequent_form(kind: ValueKind, values: Sequence[str]) -> ColumnFormat:
    """Return the unit, decimal mark and date order of most of the values that are of a kind."""
    forms = [(value, detect_format([value])) for value in values]
    alike = [(value, form) for value, form in forms if _family(form.kind) == _family(kind)]
    units = Counter(form.unit for _, form in alike)
    marks = Counter(form.decimal_mark for value, form in alike if not form.is_doubtful and re.search(r"[.,]", value))
    orders = Counter(form.date_order for _, form in alike if form.date_order)
    return ColumnFormat(
        kind=kind,
        is_plain=False,
        unit=max(units, key=units.__getitem__, default=""),
        decimal_mark=max(marks, key=marks.__getitem__, default="."),
        date_order=max(orders, key=orders.__getitem__, default=""),
    )


def find_odd_values(values: Sequence[str]) -> OddValues | None:
    """Return the values that keep a column from being one of numbers or dates; None if it is one of texts."""
    present = [text for value in values if (text := value.strip()) and text.casefold() not in MISSING_WORDS]
    if len(present) < MIN_VALUES:
        return None
    kinds = Counter(_apparent_kind(value) for value in present[:_FIRST_VALUES])
    kind = max(kinds, key=kinds.__getitem__)
    if kind not in ("number", "date") or kinds[kind] < min(len(present), _FIRST_VALUES) / 2:
        return None
    form = _most_frequent_form("number" if kind == "number" else "date", present)
    if kind == "date" and not form.date_order and all(convert(value, form) is None for value in present):
        form = form.model_copy(update={"date_order": "dmy"})  # both orders are possible: either will do
    odd = [value for value in present if convert(value, form) is None]
    if not odd or len(odd) > MAX_ODD_SHARE * len(present):
        return None
    return make_odd_values(form.kind, odd, len(odd), len(present))


def _apparent_kind(value: str) -> str:
    """Return the kind of a value by itself, as far as it can be told."""
    form = detect_format([value])
    return "date" if form.reason == "day or month first" else _family(form.kind)
