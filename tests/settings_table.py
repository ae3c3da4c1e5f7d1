"""The table of docs/settings.md: what the code decides in it is written from the code.

`python -m tests.settings_table` rewrites the defaults, the values that are permitted and the marks of
what each person may choose. Meanings, and cells about which the code says nothing, stay as they are.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from research.core import settings
from research.core.providers import search_services, shipped_providers
from research.models import roles

FILE = Path(__file__).resolve().parent.parent / "docs" / "settings.md"
BEGIN, END = "<!-- settings -->\n", "<!-- end of settings -->"
SEARCHES, SEARCHES_END = "<!-- searches -->\n", "<!-- end of searches -->"
SERVERS, SERVERS_END = "<!-- providers -->\n", "<!-- end of providers -->"
Row = tuple[str, str, str, str, str]  # setting, default, values, page, meaning


def rows(text: str) -> Iterator[tuple[str, Row]]:
    """The rows of the table, each with its setting; "" where a row is none, as that of an area."""
    for line in text.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]:
        cells = tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))  # fmt: skip
        assert len(cells) == 5, line
        named = re.fullmatch(r"`([A-Z_]+)`", cells[0])
        yield named[1] if named else "", cells


def defaults() -> dict[str, str]:
    """What is in force where nothing is set, as Markdown; of addresses and paths only fixed ones."""
    with tempfile.TemporaryDirectory() as folder:
        shown = dict(settings.load_settings({}, data_dir=Path(folder)).display_values())
    shown |= {settings.model_setting_name(role): model for role, model in roles.DEFAULT_MODELS.items()}
    del shown["SIGHTLINE_DATA_DIR"]
    plain = re.compile(r"\d+(?: s)?")
    return {k: v if plain.fullmatch(v) else f"`{v}`" for k, v in shown.items() if v}


def values() -> dict[str, str]:
    """What the readers of `research.core.settings` permit, as Markdown, for those that can say so."""
    found: dict[str, str] = {}

    def numbers(env: Any, name: str, default: float, low: float, high: float) -> str:
        return f"{low:,} to {high:,}"

    def words(env: Any, name: str, known: tuple[str, ...], more: str = "") -> str:
        return ", ".join(f"`{word}`" for word in known) + (", address" if more else "")

    told: dict[str, Callable[..., str]] = {
        "_number": numbers,
        "_whole": numbers,
        "_one": words,
        "_switch": lambda env, name, default: "`on`, `off`",
        "_address": lambda env, name, default="": "address",
        "_key": lambda env, *names: "key",
    }

    def listening(reader: str) -> Callable[..., Any]:
        read = getattr(settings, reader)

        def listen(env: Any, *args: Any) -> Any:
            for name in args if reader == "_key" else args[:1]:
                found.setdefault(name, told[reader](env, *args))
            return read(env, *args)

        return listen

    with tempfile.TemporaryDirectory() as folder, patch.multiple(
        settings, **{reader: listening(reader) for reader in told}
    ):  # fmt: skip
        settings.load_settings({}, data_dir=Path(folder))
    return found


def written(text: str) -> str:
    """The document with its table as the code has it; a setting that it lacks comes last."""
    default, permitted = defaults(), values()
    chosen = {*settings.CHOICES, *settings.KEYS}
    table = list(rows(text))
    known = {name for name, _ in table}
    apart = {
        name for one in (*shipped_providers().values(), *search_services().values()) for name in (one.key, one.address)
    } - known
    told = [name for name, _ in settings.load_settings({}).display_values() if name not in apart]
    told.append("GOOGLE_API_KEY")
    table = [row for row in table if not row[0] or row[0] in told]
    table += [(name, (f"`{name}`", "", "", "", "")) for name in told if name not in known]
    lines = ["| setting | default | values | page | meaning |", "|---|---|---|---|---|"]
    for name, (first, usual, range_, _, meaning) in table:
        if name:
            usual, range_ = default.get(name, usual), permitted.get(name, range_)
        cells = (first, usual, range_, "✓" if name in chosen else "", meaning)
        lines.append(re.sub(r" +", " ", f"| {' | '.join(cells)} |"))
    text = _between(text, SERVERS, SERVERS_END, servers())
    text = _between(text, SEARCHES, SEARCHES_END, web_searches())
    return _between(text, BEGIN, END, lines)


def servers() -> list[str]:
    """The table of the providers of models."""
    lines = ["| provider | service | key | address | asked at |", "|---|---|---|---|---|"]
    for name, one in shipped_providers().items():
        key = f"`{one.key}`" + (" (optional)" if one.keyless else "") if one.key else ""
        url = f"`{one.url}`" if one.url else "Google's" if one.wire == "gemini" else f"`…{one.path}`"
        lines.append(f"| `{name}` | {one.title} | {key} | `{one.address}` | {url} |")
    return lines


def web_searches() -> list[str]:
    """The table of the search services that take a key."""
    lines = ["| name | service | key | address | asked at |", "|---|---|---|---|---|"]
    for name, one in search_services().items():
        lines.append(f"| `{name}` | {one.title} | `{one.key}` | `{one.address}` | `{one.url}` |")
    return lines


def _between(text: str, begin: str, end: str, lines: list[str]) -> str:
    before, _, rest = text.partition(begin)
    body = "\n".join(lines)
    return f"{before}{begin}{body}\n{end}{rest.partition(end)[2]}"


def main() -> int:
    FILE.write_text(written(FILE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
