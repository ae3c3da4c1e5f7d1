"""The tables of docs/settings.md and docs/exports.md, generated from the declarations of the settings, the
providers and the export formats.

`python -m tests.document_tables` brings them up to date; the text around them stays as it is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from research.core import settings
from research.core.providers import search_services, shipped_providers
from research.core.settings.declaration import SettingField, declared_fields
from research.export.formats import EXPORT_FORMATS, Content

DOCS = Path(__file__).resolve().parent.parent / "docs"
BEGIN, END = "<!-- settings -->\n", "<!-- end of settings -->"
SEARCHES, SEARCHES_END = "<!-- searches -->\n", "<!-- end of searches -->"
FORMATS, FORMATS_END = "<!-- formats -->\n", "<!-- end of formats -->"
SERVERS, SERVERS_END = "<!-- providers -->\n", "<!-- end of providers -->"
CONTENTS: dict[Content, str] = {
    "report": "the report",
    "sources": "its sources",
    "places": "places and routes",
    "answer tables": "tables of an answer",
    "table": "a table that was asked for",
    "rows": "rows of a database, a file for each result",
    "everything": "all of it",
}
Row = tuple[str, str, str, str, str]  # setting, default, values, page, meaning


def rows(text: str) -> Iterator[tuple[str, Row]]:
    """The rows of the table, each with its setting; "" where a row is none, as that of an area."""
    for line in text.partition(BEGIN)[2].partition(END)[0].splitlines()[2:]:
        cells = tuple(cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|"))  # fmt: skip
        assert len(cells) == 5, line
        named = re.fullmatch(r"`([A-Z_]+)`", cells[0])
        yield named[1] if named else "", cells


def default_text(setting: SettingField) -> str:
    """The value in force where nothing is set, as Markdown."""
    if setting.variable.default_text:
        return setting.variable.default_text
    shown = setting.display_text(setting.default)
    return shown if not shown or re.fullmatch(r"\d+(?: s)?", shown) else f"`{shown}`"


def permitted_values(setting: SettingField) -> str:
    """The permitted values, as Markdown."""
    if setting.variable.values_text:
        return setting.variable.values_text
    if setting.kind == "switch":
        return "`on`, `off`"
    if setting.choices:
        return ", ".join(f"`{choice}`" for choice in setting.choices)
    return setting.kind if setting.low is None else f"{setting.low:,} to {setting.high:,}"


def settings_rows(setting: SettingField) -> Iterator[Row]:
    """The row of a setting, and one for each other name that it may have."""
    variable, values = setting.variable, permitted_values(setting)
    page = "✓" if variable.form else ""
    yield f"`{variable.name}`", default_text(setting), values, page, variable.help
    for name in variable.other_names:
        yield f"`{name}`", "", values, "", f"The same, if `{variable.name}` is not set."


def settings_table() -> list[str]:
    """The table of the settings, a part for each section."""
    lines = ["| setting | default | values | page | meaning |", "|---|---|---|---|---|"]
    for section in settings.SECTIONS:
        table = [(f"**{section.section_title}**", "", "", "", section.section_note)]
        table += [row for setting in declared_fields(section).values() for row in settings_rows(setting)]
        lines += [re.sub(r" +", " ", f"| {' | '.join(cells)} |") for cells in table]
    return lines


def written(text: str) -> str:
    """docs/settings.md with its tables as the code has them."""
    text = _between(text, SERVERS, SERVERS_END, servers())
    text = _between(text, SEARCHES, SEARCHES_END, web_searches())
    return _between(text, BEGIN, END, settings_table())


def with_formats(text: str) -> str:
    """docs/exports.md with its table as the code has it."""
    return _between(text, FORMATS, FORMATS_END, formats_table())


def formats_table() -> list[str]:
    """The table of the export formats, a row for each content."""
    lines = ["| what | formats, by the end of the file name |", "|---|---|"]
    for content, described in CONTENTS.items():
        formats = [f"{one.label.en} `{one.suffix}`" for one in EXPORT_FORMATS if one.content == content]
        lines.append(f"| {described} | {', '.join(formats)} |")
    return lines


def servers() -> list[str]:
    """The table of the providers of models."""
    lines = ["| provider | service | key | address | asked at |", "|---|---|---|---|---|"]
    for name, one in shipped_providers().items():
        key = f"`{one.key_setting}`" + (" (optional)" if one.is_key_optional else "") if one.key_setting else ""
        url = f"`{one.url}`" if one.url else "Google's" if one.protocol == "gemini" else f"`…{one.path}`"
        lines.append(f"| `{name}` | {one.title} | {key} | `{one.url_setting}` | {url} |")
    return lines


def web_searches() -> list[str]:
    """The table of the search services that take a key."""
    lines = ["| name | service | key | address | asked at |", "|---|---|---|---|---|"]
    for name, one in search_services().items():
        lines.append(f"| `{name}` | {one.title} | `{one.key_setting}` | `{one.url_setting}` | `{one.url}` |")
    return lines


def _between(text: str, begin: str, end: str, lines: list[str]) -> str:
    before, _, rest = text.partition(begin)
    body = "\n".join(lines)
    return f"{before}{begin}{body}\n{end}{rest.partition(end)[2]}"


def main() -> int:
    for name, update in (("settings.md", written), ("exports.md", with_formats)):
        file = DOCS / name
        file.write_text(update(file.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
