"""WordprocessingML elements: runs of text, fields and paragraphs.

Built with lxml in linear time, because python-docx searches for every cell anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from docx.oxml.ns import qn as qualified
from lxml import etree

from research.core.text.control_chars import replace_surrogates
from research.core.text.tokenizer import detect_language

LATIN_FONT, EAST_ASIAN_FONT, MONO_FONT = "Calibri", "Microsoft YaHei", "Consolas"
_INVALID_XML_CHAR = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LETTER = re.compile("[A-Za-z]")
_HAN = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")

qn = cache(qualified)  # called for every element, with few distinct names


def element(tag: str, /, *children: Any, **attributes: object) -> Any:
    """Create a WordprocessingML element; its attributes have the same namespace."""
    created = etree.Element(qn(f"w:{tag}"), {qn(f"w:{k}"): str(v) for k, v in attributes.items()})
    created.extend(children)
    return created


def _text_elements(text: str) -> Iterator[Any]:
    """Yield the content of a run, with its line breaks."""
    for at, line in enumerate(clean_xml_text(text).replace("\t", " ").split("\n")):
        if at:
            yield element("br")
        if line:
            text_element = element("t")
            text_element.text = line
            text_element.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
            yield text_element


def text_run(text: str, *run_properties: Any) -> Any:
    """Create a run of text.

    Within Chinese text punctuation is set in the East Asian font, elsewhere in the Latin one, even
    beside a name in Han characters.
    """
    properties = list(run_properties)
    if _needs_chinese_font(text) and not any(item.tag == qn("w:rFonts") for item in properties):
        at = 1 if properties and properties[0].tag == qn("w:rStyle") else 0
        properties.insert(at, element("rFonts", hint="eastAsia"))
    return element("r", *([element("rPr", *properties)] if properties else []), *_text_elements(text))


def _needs_chinese_font(text: str) -> bool:
    return bool(_HAN.search(text)) and (detect_language(text) == "zh" or not _LETTER.search(text))


def field_char(kind: str) -> Any:
    return element("r", element("fldChar", fldCharType=kind))


def field_instruction(instruction: str) -> Any:
    text_element = element("instrText")
    text_element.text = instruction
    text_element.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return element("r", text_element)


def paragraph(style: str, runs: Iterable[Any], *paragraph_properties: Any) -> Any:
    return element("p", element("pPr", element("pStyle", val=style), *paragraph_properties), *runs)


def clean_xml_text(text: str) -> str:
    """Remove characters that XML forbids."""
    return _INVALID_XML_CHAR.sub("", replace_surrogates(text))


def copy_element(original: Any) -> Any:
    """Copy an element, which can be in one place only."""
    if len(original):
        return etree.fromstring(etree.tostring(original))
    return etree.Element(original.tag, dict(original.attrib))


def mono_fonts() -> Any:
    return element("rFonts", ascii=MONO_FONT, hAnsi=MONO_FONT, cs=MONO_FONT, eastAsia=EAST_ASIAN_FONT)
