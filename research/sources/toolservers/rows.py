"""What tools say in records and tables, as lines of which each is one row.

A line has all that belongs to its row, with the names of the fields, so that no value is read as one of
another row: `name: Copper Tower; finished: 1924`. Records are found in JSON (structured content, a
text that is JSON or holds some, lines of JSON) and in Python's form of it, in tables of Markdown, of
terminals and of separated values within a text, and where a text has the same fields again and again.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple

DEEP = 8  # levels of JSON
MOST = 5_000  # rows of one value
TRIES = 20  # places of a text at which JSON is looked for in vain
PROSE = 2_000  # lines behind which no table of separated values is looked for
LOOKED_AT = 20  # rows by which a table is told from prose
WRAPPED = 50  # lines of a cell
LONG = 60  # lines of a record of fields in a text
SHORT = 60  # characters of a text in a list that stand on one line with the others
# Names that say only that records follow.
_WRAPPERS = frozenset(
    {"content", "data", "docs", "documents", "entries", "hits", "items", "list", "output", "page", "records",
     "response", "result", "results", "rows", "value", "values"}
)  # fmt: skip
_NOTHING = ("[]", "{}", "null", "None", '""')
_LABELS = ("name", "title", "label", "id", "名称", "标题", "名字", "姓名")
_HEADINGS = ("columns", "headers", "header", "fields")
_AXES = ("time", "date", "day", "month", "year", "timestamp", "datetime", "index", *_LABELS)
_OPENS = re.compile(r"^[ \t]*(?=[\[{])", re.M)
_FENCE_BEFORE, _FENCE_AFTER = re.compile(r"```\w*\s*\Z"), re.compile(r"\s*```[ \t]*(?=\n|\Z)")
_LINE = re.compile(".*")
_RULE = re.compile(r"\s*[|+]?\s*:?-+:?\s*(?:[|+]\s*:?-+:?\s*)*[|+]?\s*")
_BORDER = re.compile(r"\s*\+[-+]{2,}\+\s*")
_BOXES = str.maketrans("│┃║─━═" + "┌┬┐├┼┤└┴┘╔╦╗╠╬╣╚╩╝┏┳┓┣╋┫┗┻┛╒╤╕╞╪╡╘╧╛", "|||---" + "+" * 36)
_TIGHT = re.compile(r"[^\W\d][\w.-]*")  # a heading that no prose has beside another
_SEPARATE = re.compile(r"\s*[-=*_]{3,}\s*")
_FIELD = re.compile(r"\s*(?:[-*•]\s+)?\**([^\W\d][^:：|*]{0,40})\**(?::\**(?:\s+|$)|：\**\s*)(.*)$")
# Python's form of records, and in it: texts, dates and other objects, constants, tuples.
_PYTHON_STARTS = re.compile(r"[\[(]\s*[{\[(]\s*['\"]|\{\s*'")
_PYTHON = re.compile(
    r"""(?P<text>'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?)
    |(?:datetime\.)?(?:date|datetime)\((?P<day>\d{1,4}(?:,\s?\d{1,6}){2,6})[^()]{0,60}\)
    |\b(?:Decimal|UUID)\((?P<inner>'[^'\\\n]{0,60}')\)
    |\b(?P<word>None|True|False)\b
    |(?P<end>,?\s*[)\]}])|(?P<tuple>\()""",
    re.X,
)
_PYTHON_WORDS = {"None": "null", "True": "true", "False": "false"}
_NUMERIC = re.compile(r"\W{0,2}\d[\d.,:/\s-]*\W{0,2}\w{0,3}")


class Line(NamedTuple):
    """A line of text; a row stands for itself, other lines for the text that they are part of."""

    text: str
    is_row: bool = False


def read_text(text: str) -> list[Line]:
    """Return a text as lines, its records and tables as rows."""
    if text.lstrip()[:1] == '"' and isinstance(inner := parse_json(text), str):  # JSON in JSON
        text = inner
    if text.strip() in _NOTHING:
        return []
    lines: list[Line] = []
    for part in _parts(text):
        lines += _prose(part) if isinstance(part, str) else read_value(part)
    return lines


def read_value(value: Any) -> list[Line]:
    """Return a value of JSON as lines, its records as rows."""
    found: list[Line] = []
    for line in _value(value, (), 0):
        found.append(line)
        if len(found) == MOST:
            break
    return found


# JSON


def parse_json(text: str) -> Any:
    """Return the value that a text is as JSON, or the text if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _parts(text: str) -> Iterator[Any]:
    """The prose of a text as strings, and the objects and lists of JSON between."""
    decoder, at, failures = json.JSONDecoder(), 0, 0
    pythonic = False  # whether Python's form was looked for
    for opening in _OPENS.finditer(text):
        if opening.start() < at or failures == TRIES:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.end())
        except (ValueError, RecursionError):
            failures += 1
            value = None if pythonic else _python(text[opening.end() :])
            pythonic = pythonic or bool(_PYTHON_STARTS.match(text, opening.end()))
            if value is None:
                continue
            end = len(text)
        rest = _LINE.match(text, end)[0]  # type: ignore[index]
        if not value or rest.strip(" \t\r,`"):  # as in [1] Smith et al.
            failures += 1
            continue
        yield _FENCE_BEFORE.sub("", text[at : opening.start()])
        yield value
        at = end + len(rest) - len(rest.lstrip(" \t\r,"))
        if fence := _FENCE_AFTER.match(text, at):
            at = fence.end()
    yield text[at:]


def _python(text: str) -> Any:
    """The records that a text is as Python writes them, as servers of databases do; None if it is none."""
    if not _PYTHON_STARTS.match(text):
        return None
    try:
        return json.loads(_PYTHON.sub(_from_python, text.strip()))
    except (ValueError, RecursionError, SyntaxError):
        return None


def _from_python(match: re.Match[str]) -> str:
    """A part of Python's form as JSON."""
    if said := match["text"] or match["inner"]:
        return json.dumps(ast.literal_eval(said))
    if match["day"]:
        day = [f"{int(part):02}" for part in match["day"].split(",")]
        time = ":".join(day[3:6])
        return json.dumps("-".join(day[:3]) + (f" {time}" if time else ""))
    if match["word"]:
        return _PYTHON_WORDS[match["word"]]
    return "[" if match["tuple"] else match["end"].strip(", \n").replace(")", "]")


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _said(value: Any) -> str:
    """A scalar on one line; "" for nothing."""
    if value is None:
        return ""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)


def _opened(value: Any) -> Any:
    """The object or list that a text is as JSON, what is said of a value that is told with its type
    ({"type": "number", "number": 40}) or as rich text, also of those in a list; anything else as it is."""
    value = _bare(value)
    return [*map(_bare, value)] if isinstance(value, list) else value


def _bare(value: Any) -> Any:
    while isinstance(value, dict):
        if isinstance(value.get("plain_text"), str):
            return value["plain_text"]
        kind = value.get("type")
        if not isinstance(kind, str) or kind not in value or kind == "type":
            return value
        value = value[kind]
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        found = parse_json(value)
        return found if found else value
    return value


def _value(
    value: Any, path: tuple[str, ...], depth: int, headings: Sequence[str] = ()
) -> Iterator[Line]:
    value = _opened(value)
    if depth > DEEP:
        return
    if isinstance(value, dict):
        yield from _record(value, path, depth)
    elif not isinstance(value, list):
        if text := _said(value):
            yield Line(f"{_prefix(path, ': ')}{text}")
    elif value and all(map(_is_scalar, value)):
        yield from _scalars(value, path)
    elif _is_grid(value):
        yield from _grid(value, path, headings)
    else:
        for item in value:
            yield from _value(item, path, depth + 1)


def _scalars(values: Sequence[Any], path: tuple[str, ...]) -> Iterator[Line]:
    """Short ones on one line, sentences on lines of their own."""
    texts = [text for value in values if (text := _said(value))]
    if _are_words(texts):
        yield Line(_prefix(path, ": ") + ", ".join(texts))
    else:
        yield from map(Line, texts)


def _is_grid(value: Sequence[Any]) -> bool:
    return len(value) > 0 and all(
        isinstance(row, list) and row and all(map(_is_scalar, row)) for row in value
    )


def _grid(
    rows: Sequence[Sequence[Any]], path: tuple[str, ...], headings: Sequence[str]
) -> Iterator[Line]:
    """Lists in a list. Without headings the first row is that, if it is all words and others are not."""
    widths = {len(row) for row in rows}
    if not headings and len(rows) > 1 and len(widths) == 1:
        words = all(isinstance(cell, str) and cell.strip() for cell in rows[0])
        if words and any(isinstance(cell, int | float) for row in rows[1:] for cell in row):
            headings, rows = [str(cell) for cell in rows[0]], rows[1:]
    for row in rows:
        yield Line(_prefix(path, " — ") + _labelled(headings, [_said(cell) for cell in row]), True)


def _labelled(names: Sequence[str], cells: Sequence[str]) -> str:
    """A row as one line, `name: cell; name: cell`, empty cells left out."""
    return "; ".join(
        f"{names[n]}: {cell}" if n < len(names) and names[n] else cell
        for n, cell in enumerate(cells)
        if cell
    )


def _record(record: Mapping[str, Any], path: tuple[str, ...], depth: int) -> Iterator[Line]:
    """An object as a row; the records within it are rows of their own, after what names it."""
    if columns := _columns(record):
        names, rows = columns
        for row in rows:
            yield Line(_prefix(path, " — ") + _labelled(names, row), True)
        return
    if _is_index(record):
        for name, inner in record.items():
            yield from _record(inner, (*path, name), depth + 1)
        return
    cells: list[str] = []
    nested: list[tuple[str, Any]] = []
    _gather(record, "", depth, cells, nested)
    if cells:
        yield Line(_prefix(path, " — ") + "; ".join(cells), True)
    label = next((text for name in _LABELS if _is_scalar(v := record.get(name)) and (text := _said(v))), "")  # fmt: skip
    inside = (*path, label[:SHORT]) if label else path
    headings = next((_headings(record[name]) for name in _HEADINGS if name in record), ())
    for name, inner in nested:
        if name.lower() not in _HEADINGS or not headings:
            yield from _value(inner, (*inside, name), depth + 1, headings)


def _gather(
    record: Mapping[str, Any], before: str, depth: int, cells: list[str], nested: list[tuple[str, Any]]
) -> None:  # fmt: skip
    """Puts the values of an object and of the objects within it into cells, and what holds records of
    its own aside."""
    for key, value in record.items():
        name, value = f"{before}{key}", _opened(value)
        if isinstance(value, dict):
            if depth < DEEP and not _is_index(value) and not _columns(value):
                _gather(value, f"{name}.", depth + 1, cells, nested)
            else:
                nested.append((name, value))
        elif not isinstance(value, list):
            if text := _said(value):
                cells.append(f"{name}: {text}")
        elif texts := _listed(value):
            if (not before and key.lower() in _HEADINGS) or not _are_words(texts):
                nested.append((name, value))
            else:
                cells.append(f"{name}: {', '.join(texts)}")
        elif value:
            nested.append((name, value))


def _listed(values: Sequence[Any]) -> list[str]:
    """Scalars, or objects with one text each, as texts; none if there is anything else."""
    bare = [_only_text(value) for value in values]
    return [text for v in bare if (text := _said(v))] if all(map(_is_scalar, bare)) else []


def _only_text(value: Any) -> Any:
    """The text of an object that has nothing else, as an author has a name; anything else as it is."""
    only = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    return only if isinstance(only, str) else value


def _are_words(texts: Sequence[str]) -> bool:
    """Whether texts of a list can stand on one line: none is long, none a sentence."""
    return all(len(text) <= SHORT and text[-1] not in ".!?。！？" for text in texts)


def _is_index(record: Mapping[str, Any]) -> bool:
    """Whether an object has records by their names: all are objects, and have fields in common."""
    inner = [value for value in map(_opened, record.values()) if isinstance(value, dict)]
    if len(inner) < 2 or len(inner) < len(record):
        return False
    return bool(set(inner[0]).intersection(*inner[1:]))


def _columns(record: Mapping[str, Any]) -> tuple[list[str], list[list[str]]] | None:
    """The names and rows of an object of columns, one of which names the rows: hourly weather."""
    values = [*record.values()]
    size = len(values[0]) if values and isinstance(values[0], list) else 0
    even = size > 1 and len(values) > 1 and all(
        isinstance(v, list) and len(v) == size and all(map(_is_scalar, v)) for v in values
    )  # fmt: skip
    if not even or not any(str(name).lower() in _AXES for name in record):
        return None
    return [*map(str, record)], [[_said(v[n]) for v in values] for n in range(size)]


def _headings(value: Any) -> list[str]:
    """The names of columns, which may be objects that have one."""
    items = value if isinstance(value, list) else []
    return [str(i.get("name") or i.get("title") or "") if isinstance(i, dict) else str(i) for i in items]  # fmt: skip


def _prefix(path: Sequence[str], mark: str) -> str:
    """What a row stands under, as far as it says anything."""
    kept = [" ".join(str(name).split()) for name in path if str(name).lower() not in _WRAPPERS]
    return ", ".join(filter(None, kept)) + mark if any(kept) else ""


# Tables in a text


def _prose(text: str) -> Iterator[Line]:
    """The lines of a text, the rows of its tables with the names of their columns."""
    if "│" in text or "┃" in text or "║" in text:
        text = text.translate(_BOXES)
    lines, at, failures = text.split("\n"), 0, 0
    while at < len(lines):
        rows, size = _markdown(lines, at)
        if not rows and failures < PROSE:
            rows, size = _separated(lines, at)
            if not rows:
                rows, size = _fields(lines, at)
        if rows:
            yield from (Line(row, True) for row in rows)
            at += size
        else:
            if not _BORDER.fullmatch(lines[at]):
                yield Line(lines[at])
            at, failures = at + 1, failures + 1


def _markdown(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """The rows of the table of Markdown, or of a terminal, that begins at a line, and its length in
    lines; no rows if none does."""
    if "|" not in lines[at]:
        return [], 0
    names = _cells(lines[at])
    first = at + 1
    for line in lines[at + 1 : at + 3]:
        first += 1
        if _RULE.fullmatch(line):
            break
        if "|" not in line:  # a line of types may stand below the names
            return [], 0
    else:
        return [], 0
    if len(_cells(lines[first - 1].replace("+", "|"))) != len(names):
        return [], 0
    body = [*takewhile(lambda line: "|" in line, lines[first:])]
    cells = [_cells(line) for line in body if not _RULE.fullmatch(line)]
    return [_labelled(names, row) for row in cells], first - at + len(body)


def _fields(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """The records that begin at a line, each with the same fields on lines of their own (Name: Copper
    Tower) and maybe a heading, and their length in lines; no rows if there are not two."""
    found: list[tuple[str, dict[str, str]]] = []
    ends: list[int] = []
    gap, last = True, ""
    for n, line in enumerate(islice(lines, at, None), 1):
        if not line.strip() or _SEPARATE.fullmatch(line):
            if n == 1:
                return [], 0
            gap = True
            continue
        field = _FIELD.match(line)
        fields = found[-1][1] if found else {}
        if field and (field[2] or not gap):
            if gap or field[1] == next(iter(fields), ""):
                if not _goes_on(found):
                    break
                found.append(("", {}))
                ends.append(n)
            last = field[1]
            found[-1][1].setdefault(last, (field[2] or "").strip())
        elif gap and len(line) <= SHORT * 2:
            if not _goes_on(found):
                break
            found.append((line.strip(" #*:："), {}))
            ends.append(n)
        elif last and not gap and line[:1].isspace():
            found[-1][1][last] += " " + line.strip()
        else:
            break
        gap = False
        ends[-1] = n
        if len(fields) > LONG:
            break
    if found and not _goes_on(found):
        found.pop()
    if len(found) < 2:
        return [], 0
    rows = [
        (f"{head} — " if head else "") + _labelled([*fields], [*fields.values()])
        for head, fields in found
    ]
    return rows, ends[len(found) - 1]


def _goes_on(found: Sequence[tuple[str, Mapping[str, str]]]) -> bool:
    """Whether the last record has two fields, and two that the first has."""
    return not found or len(found[0][1].keys() & found[-1][1].keys()) > 1


def _cells(line: str) -> list[str]:
    bare = line.strip().removeprefix("|").removesuffix("|")
    return [" ".join(cell.replace("\\|", "|").split()) for cell in re.split(r"(?<!\\)\|", bare)]


def _separated(lines: Sequence[str], at: int) -> tuple[list[str], int]:
    """The rows of the table of separated values that begins at a line, and its length in lines: rows of
    as many cells as there are names, in one column of which all are figures, or a text of nothing else."""
    for mark in ("\t", ";", "|", ",", "  "):
        if mark not in lines[at].strip():
            continue
        names = _split(lines[at], mark)
        if len(names) < 2 or not all(map(_is_heading, names)) or len({*names}) < len(names):
            continue
        rows: list[list[str]] = []
        figures = set(range(len(names)))  # the columns in which all are figures
        tight = all(map(_TIGHT.fullmatch, names)) and not any(map(str.strip, lines[:at]))
        size = 1
        while at + size < len(lines):
            line, taken = _whole(lines, at + size)
            row = _split(line, mark)
            if len(row) != len(names):
                tight = tight and not line.strip()
                break
            if len(rows) < LOOKED_AT:
                figures = {n for n in figures if _NUMERIC.fullmatch(row[n])}
                tight = tight and f"{mark} " not in line
            if not figures and not tight:
                break
            rows.append(row)
            size += taken
        if rows and (figures or (tight and len(rows) > 1)):
            return [_labelled(names, row) for row in rows], size
    return [], 0


def _whole(lines: Sequence[str], at: int) -> tuple[str, int]:
    """A line with those behind it into which a cell in quotes runs on, and how many these are."""
    taken = 1
    if lines[at].count('"') % 2:
        for n, line in enumerate(lines[at + 1 : at + WRAPPED], 2):
            if line.count('"') % 2:
                taken = n
                break
    return "\n".join(lines[at : at + taken]), taken


def _split(line: str, mark: str) -> list[str]:
    if mark == "  ":
        return re.split(r"\s{2,}", line.strip())
    if '"' not in line:
        return [cell.strip() for cell in line.split(mark)]
    try:
        return [
            cell.strip() for cell in next(csv.reader(line.splitlines(True), delimiter=mark), [])
        ]
    except csv.Error:
        return []


def _is_heading(cell: str) -> bool:
    return 0 < len(cell) <= 40 and cell[-1] not in ".!?:。！？：" and not _NUMERIC.fullmatch(cell)
