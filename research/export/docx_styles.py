"""Page, styles and list definitions of a Word file."""

from __future__ import annotations

from typing import Any

from docx.enum.style import WD_STYLE_TYPE
from docx.shared import Cm, Pt, RGBColor

from research.export.docx_xml import (
    EAST_ASIAN_FONT,
    LATIN_FONT,
    MONO_FONT,
    element,
    field_char,
    field_instruction,
    qn,
    text_run,
)

TEXT_WIDTH_TWIPS = 9_412  # twentieths of a point: the text width of A4
MAX_LIST_LEVEL = 8  # Word has nine list levels
LIST_INDENT_TWIPS = 360  # twentieths of a point per level
COMPLEX_SCRIPT_FONT = "Arial"  # Arabic, Hebrew; Word finds fonts for other scripts itself
_TEXT_COLOR, _MUTED_COLOR, _LINK_COLOR = RGBColor(0x1F, 0x23, 0x28), RGBColor(0x65, 0x6D, 0x76), "1A56A0"
_BULLET_CHARS = "•◦"
_BULLET_LIST, _NUMBERED_LIST = 0, 1  # kinds of lists


def set_up_page(file: Any, title: str) -> None:
    """Set A4 with the title above each page but the first, and the page number below."""
    section = file.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.2)
    section.top_margin, section.bottom_margin = Cm(2.4), Cm(2.2)
    section.header_distance = section.footer_distance = Cm(1.2)
    section.different_first_page_header_footer = True
    section.header.paragraphs[0]._p.append(text_run(title))
    for footer in (section.footer, section.first_page_footer):
        paragraph = footer.paragraphs[0]
        paragraph.alignment = 1
        for part in (
            field_char("begin"),
            field_instruction(" PAGE "),
            field_char("separate"),
            text_run("1"),
            field_char("end"),
        ):
            paragraph._p.append(part)


def set_up_styles(file: Any, is_chinese: bool) -> None:
    styles = file.styles
    defaults = styles.element.find(qn("w:docDefaults"))
    for fonts in defaults.iter(qn("w:rFonts")):
        fonts.attrib.clear()
        for kind, name in (
            ("ascii", LATIN_FONT),
            ("hAnsi", LATIN_FONT),
            ("cs", COMPLEX_SCRIPT_FONT),
            ("eastAsia", EAST_ASIAN_FONT),
        ):
            fonts.set(qn(f"w:{kind}"), name)
    for languages in defaults.iter(qn("w:lang")):
        languages.set(qn("w:val"), "en-US")
        languages.set(qn("w:eastAsia"), "zh-CN")
    _set_style(file, "Normal", 10.5, after=6, line=1.5 if is_chinese else 1.3)
    _set_style(file, "Title", 22, after=4, before=20, is_bold=True, line=1.3)
    _remove_title_rule(styles["Title"])
    for level, (size, before) in enumerate(((15.5, 22), (12.5, 14), (11, 10), (10.5, 8)), 1):
        _set_style(file, f"Heading {level}", size, after=4, before=before, is_bold=True, line=1.3)
        styles[f"Heading {level}"].font.italic = False
    for name in ("List Bullet", "List Number", "List Continue"):
        _set_style(file, name, 10.5, after=3, line=1.35 if is_chinese else 1.25)
        properties = styles[name].element.pPr
        for tag in ("w:numPr", "w:ind", "w:contextualSpacing"):
            for old in properties.findall(qn(tag)):
                properties.remove(old)
    _set_style(file, "Quote", 10.5, after=6, left=14)
    styles["Quote"].font.italic = False
    styles["Quote"].font.color.rgb = RGBColor(0x4B, 0x53, 0x5D)
    _add_border(styles["Quote"])
    _set_style(file, "Byline", 9.5, after=18, is_muted=True)
    _set_style(file, "Contents Title", 12.5, after=6, before=12, is_bold=True)
    _set_style(file, "toc 1", 10.5, after=2, before=4, is_bold=True)
    _set_style(file, "toc 2", 9.5, after=1, left=14, is_muted=True)
    for level in (1, 2):
        _insert_property(
            styles[f"toc {level}"], element("tabs", element("tab", val="right", leader="dot", pos=TEXT_WIDTH_TWIPS))
        )
    _set_style(file, "Code", 9, after=8, before=4, line=1.15)
    _add_shading(styles["Code"])
    _set_style(file, "Cell", 9, line=1.2)
    _set_style(file, "Small Cell", 8, line=1.15)
    _set_style(file, "After Table", 5, line=1.0)
    _set_style(file, "Picture", 10.5, after=6, before=4)
    _set_style(file, "Header", 8, is_muted=True)
    _set_style(file, "Footer", 8, is_muted=True)
    link = styles.add_style("Hyperlink", WD_STYLE_TYPE.CHARACTER, builtin=True)
    cite = styles.add_style("Citation", WD_STYLE_TYPE.CHARACTER)
    for style in (link, cite):
        style.font.color.rgb = RGBColor.from_string(_LINK_COLOR)
    cite.font.superscript = True


def _set_style(
    file: Any,
    name: str,
    size: float,
    *,
    after: float = 0,
    before: float = 0,
    left: float = 0,
    line: float = 0,
    is_bold: bool = False,
    is_muted: bool = False,
) -> None:
    """Set or add a paragraph style, with the fonts of the file instead of those of the theme."""
    styles = file.styles
    if name not in styles:
        style = styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH, builtin=name.startswith("toc"))
        style.base_style = styles["Normal"]
    style = styles[name]
    style.font.size, style.font.bold = Pt(size), is_bold
    run_properties = style.element.get_or_add_rPr()
    for old in run_properties.findall(qn("w:szCs")):
        run_properties.remove(old)
    run_properties.find(qn("w:sz")).addnext(
        element("szCs", val=int(2 * size))
    )  # size of complex scripts: Arabic, Hebrew, Thai
    style.font.color.rgb = _MUTED_COLOR if is_muted else _TEXT_COLOR
    style.font.name = LATIN_FONT
    fonts = style.element.rPr.rFonts
    fonts.attrib.clear()
    for kind, font in (
        ("ascii", LATIN_FONT),
        ("hAnsi", LATIN_FONT),
        ("eastAsia", EAST_ASIAN_FONT),
        ("cs", COMPLEX_SCRIPT_FONT),
    ):
        fonts.set(qn(f"w:{kind}"), font)
    paragraph = style.paragraph_format
    paragraph.space_after, paragraph.space_before = Pt(after), Pt(before)
    if left:
        paragraph.left_indent = Pt(left)
    if line:
        paragraph.line_spacing = line
    paragraph.widow_control = True


def _remove_title_rule(style: Any) -> None:
    """Remove the rule that the template has below the title."""
    for old in style.element.pPr.findall(qn("w:pBdr")):
        style.element.pPr.remove(old)


def _add_border(style: Any) -> None:
    line = element("pBdr", element("left", val="single", sz=18, space=8, color="D0D7DE"))
    _insert_property(style, line)


def _add_shading(style: Any) -> None:
    _insert_property(style, element("shd", val="clear", color="auto", fill="F4F6F8"))
    style.font.name = MONO_FONT


def _insert_property(style: Any, added: Any) -> None:
    """Insert a property where the schema expects borders and shading: before the spacing."""
    properties = style.element.get_or_add_pPr()
    later = [child for child in properties if child.tag in _LATER_PROPERTIES]
    at = list(properties).index(later[0]) if later else len(properties)
    properties.insert(at, added)


_LATER_PROPERTIES = frozenset(qn(f"w:{tag}") for tag in ("spacing", "ind", "contextualSpacing", "jc", "outlineLvl"))


# Lists


class ListDefinitions:
    """List definitions of a file. Each numbered list counts separately."""

    bullet_id = 1

    def __init__(self) -> None:
        self._numbered_lists: list[tuple[int, int]] = []  # depth and start

    def add_numbered(self, depth: int, start: int) -> int:
        """Add a numbered list and return its numbering id."""
        self._numbered_lists.append((depth, start))
        return self.bullet_id + len(self._numbered_lists)

    def write(self, numbering: Any) -> None:
        """Replace the list definitions of the template."""
        for old in list(numbering):
            numbering.remove(old)
        numbering.append(_abstract_list(_BULLET_LIST))
        numbering.append(_abstract_list(_NUMBERED_LIST))
        numbering.append(element("num", element("abstractNumId", val=_BULLET_LIST), numId=self.bullet_id))
        for key, (depth, start) in enumerate(self._numbered_lists, self.bullet_id + 1):
            override = element("lvlOverride", element("startOverride", val=start), ilvl=depth)
            numbering.append(element("num", element("abstractNumId", val=_NUMBERED_LIST), override, numId=key))


def _abstract_list(kind: int) -> Any:
    definition = element("abstractNum", element("multiLevelType", val="multilevel"), abstractNumId=kind)
    for level in range(MAX_LIST_LEVEL + 1):
        marker = f"%{level + 1}." if kind == _NUMBERED_LIST else _BULLET_CHARS[level % len(_BULLET_CHARS)]
        hanging = LIST_INDENT_TWIPS if kind == _BULLET_LIST else LIST_INDENT_TWIPS + 60
        definition.append(
            element(
                "lvl",
                element("start", val=1),
                element("numFmt", val="decimal" if kind == _NUMBERED_LIST else "bullet"),
                element("lvlText", val=marker),
                element("lvlJc", val="left"),
                element("pPr", element("ind", left=LIST_INDENT_TWIPS * (level + 1) + 60, hanging=hanging)),
                ilvl=level,
            )
        )
    return definition
