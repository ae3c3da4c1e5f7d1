r"""Rich Text Format files as text: paragraphs, headings, tables, footnotes, superscripts.

Source: Microsoft, Rich Text Format Specification 1.9.1. A file is groups in braces, control words and text;
a group that begins with \* or with the name of a destination holds no text of the document.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby

from research.readers.drafts import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    FileDraft,
    UnreadableFileError,
    one_line,
    title_line,
    too_deep_error,
    too_long_error,
)
from research.readers.office_files import usable_title
from research.readers.scripts import lowered_text, raised_text
from research.readers.table_text import table_lines

_TOKEN = re.compile(
    rb"\\(?:'(?P<byte>[0-9a-fA-F]{2})|(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,10})? ?|(?P<symbol>[^a-zA-Z]))"
    rb"|(?P<brace>[{}])|(?P<text>[^\\{}\r\n]+)|[\r\n]+"
)
_KEPT_DESTINATIONS = ("", "footnote", "title", "style")
_HIDDEN_DESTINATIONS = frozenset(
    [
        "annotation",
        "atnauthor",
        "atnid",
        "atnref",
        "atntime",
        "bkmkend",
        "bkmkstart",
        "colortbl",
        "datafield",
        "fldinst",
        "filetbl",
        "footer",
        "footerf",
        "footerl",
        "footerr",
        "ftncn",
        "ftnsep",
        "ftnsepc",
        "aftncn",
        "aftnsep",
        "aftnsepc",
        "header",
        "headerf",
        "headerl",
        "headerr",
        "latentstyles",
        "listtable",
        "listtext",
        "nonshppict",
        "object",
        "objdata",
        "pict",
        "pntext",
        "private",
        "revtbl",
        "shprslt",
        "tc",
        "themedata",
        "xe",
    ]
)
_OPEN_DESTINATIONS = frozenset(["fonttbl", "footnote", "info", "shpinst", "shppict", "shptxt", "stylesheet", "title"])
_TEXT_WORDS = {
    "line": "\n", "page": "\n", "column": "\n", "tab": "\t", "nestcell": "\t", "nestrow": "\n", "emdash": "—",
    "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ",
    "enspace": " ", "qmspace": " ",
}  # fmt: skip
_SYMBOLS = {"~": "\u00a0", "_": "-", "\\": "\\", "{": "{", "}": "}"}
# Code pages by the number of a font's character set (\fcharset).
_CHARSET_CODECS = {
    128: "cp932", 129: "cp949", 134: "gb18030", 136: "cp950", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip


_Runs = list[tuple[str, str]]  # pieces of text, each with "super", "sub" or ""


@dataclass(frozen=True, slots=True)
class _State:
    """The state that a group inherits and restores at its end.

    Text is kept of the destinations "" (the document), "footnote", "title" and "style".
    """

    destination: str = ""
    codec: str = ""  # of the font; "" is that of the document
    stand_ins: int = 1  # characters after a Unicode one for programs without Unicode
    script: str = ""
    is_hidden: bool = False


@dataclass(slots=True)
class _Paragraph:
    """The properties of the current paragraph, or of a style that is being declared."""

    style: int = 0
    level: int | None = None  # of its heading, from 0
    is_in_table: bool = False


@dataclass(slots=True)
class _Reader:
    """Collects the content of a file in a draft; its methods follow the tokens."""

    draft: FileDraft = field(default_factory=FileDraft)
    codec: str = "cp1252"
    fonts: dict[int, str] = field(default_factory=dict)
    style_levels: dict[int, int] = field(default_factory=dict)  # of headings, from 1; 0 is the title
    notes: list[str] = field(default_factory=list)
    state: _State = field(default_factory=_State)
    stack: list[_State] = field(default_factory=list)
    paragraph: _Paragraph = field(default_factory=_Paragraph)
    runs: dict[str, _Runs] = field(default_factory=dict)  # by destination
    cells: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    has_header: bool = False
    bytes_to_decode: bytearray = field(default_factory=bytearray)
    characters_to_skip: int = 0
    character_count: int = 0
    font: int = 0
    is_optional: bool = False  # the group begins with \\*

    # Text

    def add_text(self, text: str) -> None:
        self.decode_bytes()
        skipped = min(self.characters_to_skip, len(text))
        self.characters_to_skip -= skipped
        text = text[skipped:]
        if text and not self.state.is_hidden and self.state.destination in _KEPT_DESTINATIONS:
            self.character_count += len(text)
            if self.character_count > MAX_CHARACTERS:
                raise too_long_error()
            self.runs.setdefault(self.state.destination, []).append((self.state.script, text))

    def add_byte(self, value: int) -> None:
        if self.characters_to_skip:
            self.characters_to_skip -= 1
        else:
            self.bytes_to_decode.append(value)

    def decode_bytes(self) -> None:
        """Add the collected bytes, which may form characters of several bytes."""
        if self.bytes_to_decode:
            text = self.bytes_to_decode.decode(self.state.codec or self.codec, "replace")
            self.bytes_to_decode.clear()
            self.add_text(text)

    def take_text(self, destination: str = "") -> str:
        """Return and forget the text of a destination, with superscripts in plain form."""
        self.decode_bytes()
        text = ""
        for script, group in groupby(self.runs.pop(destination, []), key=lambda run: run[0]):
            piece = "".join(run[1] for run in group)
            if script == "super":
                piece = raised_text(piece, text[-40:])
            text += lowered_text(piece) if script == "sub" else piece
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    # Groups

    def open_group(self) -> None:
        self.decode_bytes()
        if len(self.stack) >= MAX_DEPTH:
            raise too_deep_error()
        self.stack.append(self.state)
        if self.state.destination == "stylesheet":
            self.state = replace(self.state, destination="style")
            self.paragraph = _Paragraph()

    def close_group(self) -> None:
        self.decode_bytes()
        former = self.stack.pop() if self.stack else _State()
        destination, self.state = self.state.destination, former
        if destination == former.destination:
            return
        text = one_line(self.take_text(destination), MAX_CHARACTERS) if destination else ""
        if destination == "footnote" and text:
            self.notes.append(f"[{len(self.notes) + 1}] {text}")
            self.add_text(f" [{len(self.notes)}]")
        elif destination == "title":
            self.draft.title = usable_title(text)
        elif destination == "style":
            name = text.rstrip(";").strip().casefold()
            match = re.fullmatch(r"(?:heading|标题)\s*(\d)", name)
            level = 0 if name in ("title", "标题") else int(match[1]) if match else self.paragraph.level
            if level is not None:
                self.style_levels[self.paragraph.style] = level
            self.paragraph = _Paragraph()

    def open_destination(self, word: str) -> None:
        if self.state.destination in ("hidden", "title", "footnote") and word not in _HIDDEN_DESTINATIONS:
            return
        if word == "title" and self.state.destination != "info":
            return
        name = "" if word == "shptxt" else "hidden" if word in _HIDDEN_DESTINATIONS else word
        self.state = replace(self.state, destination=name, script="")

    # Blocks

    def end_paragraph(self) -> None:
        if self.paragraph.is_in_table or self.state.destination:
            self.add_text("\n")
            return
        self.end_table()
        text = self.take_text()
        level = self.paragraph.level
        if level is None:
            level = self.style_levels.get(self.paragraph.style)
        if level == 0 and not self.draft.blocks and text.strip():
            self.draft.title = one_line(text)
            self.draft.add_heading(0, text)
            self.draft.open_headings = []
        elif level is not None and level <= 9:
            self.draft.add_heading(max(1, level), text)
        else:
            self.draft.add_text(text.strip(" "))

    def end_cell(self) -> None:
        self.cells.append(self.take_text().strip())

    def end_row(self) -> None:
        self.rows.append(self.cells)
        self.cells = []

    def end_table(self) -> None:
        if self.rows:
            self.draft.add_text("\n".join(table_lines(self.rows, int(self.has_header))))
        self.rows, self.has_header = [], False

    # Control words

    def apply(self, word: str, number: int | None) -> None:
        """Apply a control word with its number, None if it has none."""
        self.decode_bytes()
        if self.is_optional and word not in _OPEN_DESTINATIONS:
            self.state = replace(self.state, destination="hidden")
        elif word in _HIDDEN_DESTINATIONS or word in _OPEN_DESTINATIONS:
            self.open_destination(word)
        elif word in _TEXT_WORDS:
            self.add_text(_TEXT_WORDS[word])
        elif word in _BLOCK_WORDS:
            if self.state.destination in _KEPT_DESTINATIONS:
                _BLOCK_WORDS[word](self)
        elif word == "u":
            self.characters_to_skip = 0
            self.add_text(chr((number or 0) % 0x10000))
            self.characters_to_skip = self.state.stand_ins
        else:
            self._set_property(word, number)
        self.is_optional = False

    def _set_property(self, word: str, number: int | None) -> None:
        is_on = number != 0
        if word in ("super", "sub", "nosupersub", "plain", "up", "dn"):
            script = {"super": "super", "sub": "sub", "up": "super" if is_on else "", "dn": "sub" if is_on else ""}
            is_hidden = self.state.is_hidden and word != "plain"
            self.state = replace(self.state, script=script.get(word, "") if is_on else "", is_hidden=is_hidden)
        elif word in ("v", "deleted"):
            self.state = replace(self.state, is_hidden=is_on)
        elif word == "pard":
            self.paragraph = _Paragraph()
        elif word == "intbl":
            self.paragraph.is_in_table = True
        elif word == "trhdr":
            self.has_header = True
        elif word == "s":
            self.paragraph.style = number or 0
        elif word == "outlinelevel" and number is not None and number < 9:
            self.paragraph.level = number + 1
        elif word == "uc":
            self.state = replace(self.state, stand_ins=min(max(number or 0, 0), 9))
        else:
            self._set_codec(word, number)

    def _set_codec(self, word: str, number: int | None) -> None:
        if word == "f" and number is not None:
            self.font = number
            self.state = replace(self.state, codec=self.fonts.get(number, ""))
        elif word == "fcharset" and self.state.destination == "fonttbl":
            self.fonts[self.font] = _CHARSET_CODECS.get(number or 0, "")
        elif word in ("ansicpg", "mac", "pc", "pca"):
            name = {"mac": "mac_roman", "pc": "cp437", "pca": "cp850"}.get(word, f"cp{number}")
            with suppress(LookupError):
                self.codec = codecs.lookup("gb18030" if number == 936 else name).name


_BLOCK_WORDS: dict[str, Callable[[_Reader], None]] = {
    "par": _Reader.end_paragraph,
    "sect": _Reader.end_paragraph,
    "cell": _Reader.end_cell,
    "row": _Reader.end_row,
}


def read_rtf(data: bytes) -> FileDraft:
    """Read the paragraphs, headings and tables of an RTF file, then its notes.

    Raises:
        UnreadableFileError: the file is no RTF, nested too deep or too long.
    """
    if not data.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{\\rtf"):
        raise UnreadableFileError(
            "unreadable", "This is no RTF file, whatever its name says; save it anew as RTF or DOCX."
        )
    reader = _Reader()
    position = 0
    while match := _TOKEN.match(data, position):
        position = match.end()
        if match["word"]:
            word, number = match["word"].decode(), int(match["number"]) if match["number"] else None
            if word == "bin":  # followed by this many bytes of any kind
                position += max(0, number or 0)
            else:
                reader.apply(word, number)
        elif match["byte"]:
            reader.add_byte(int(match["byte"], 16))
        elif match["text"]:
            for value in match["text"]:
                reader.add_byte(value)
        elif match["brace"]:
            reader.open_group() if match["brace"] == b"{" else reader.close_group()
        elif match["symbol"] == b"*":
            reader.is_optional = True
        elif match["symbol"]:
            reader.add_text(_SYMBOLS.get(match["symbol"].decode("latin-1"), ""))
    reader.draft.is_cut = bool(reader.stack)  # the last brace closes the first
    reader.end_row() if reader.cells else None
    reader.paragraph.is_in_table = False
    reader.end_paragraph()
    for note in reader.notes:
        reader.draft.add_text(note)
    top = reader.draft.blocks[0].text if reader.draft.blocks else ""
    reader.draft.title = reader.draft.title or title_line(top)
    return reader.draft
