"""Word files of tests, made of raw WordprocessingML so that they hold what python-docx cannot write."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

import docx

_NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)


def word_file(body: str, *, numbering: str = "", styles: str = "") -> bytes:
    """A Word file with this body, the contents of its numbering part, and further styles."""
    plain = io.BytesIO()
    docx.Document().save(plain)
    out = io.BytesIO()
    with zipfile.ZipFile(plain) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "word/document.xml":
                data = f"<w:document {_NAMESPACES}><w:body>{body}</w:body></w:document>".encode()
            elif name == "word/numbering.xml" and numbering:
                data = f"<w:numbering {_NAMESPACES}>{numbering}</w:numbering>".encode()
            elif name == "word/styles.xml" and styles:
                data = data.replace(b"</w:styles>", f"{styles}</w:styles>".encode())
            new.writestr(name, data)
    return out.getvalue()


def run(text: str, properties: str = "") -> str:
    """A run of text with properties."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(text: str, *, list_id: int | None = None, level: int = 0, style: str = "") -> str:
    """A paragraph, perhaps in a list."""
    properties = f'<w:pStyle w:val="{style}"/>' if style else ""
    if list_id is not None:
        properties += f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'
    return f"<w:p><w:pPr>{properties}</w:pPr>{run(text)}</w:p>"


def level(number: int, number_format: str, text: str, *, start: int = 1, more: str = "") -> str:
    """The rule of a level of a list."""
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="{start}"/><w:numFmt w:val="{number_format}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def lists(abstracts: Mapping[int, Sequence[str]], instances: Mapping[int, tuple[int, str]]) -> str:
    """The numbering part of lists, given by id, and of their instances, each with its list and its overrides."""
    return "".join(
        [f'<w:abstractNum w:abstractNumId="{n}">{"".join(levels)}</w:abstractNum>' for n, levels in abstracts.items()]
        + [f'<w:num w:numId="{n}"><w:abstractNumId w:val="{a}"/>{o}</w:num>' for n, (a, o) in instances.items()]
    )
