"""Word files are read as a reader sees them: changes accepted, fields as results, nothing hidden or doubled.

`lease_libreoffice.docx` was written by LibreOffice 7 from a web page with lists and a table of two heading
rows; `notes_pandoc.docx` by pandoc 2 from Markdown with notes, a formula and a table.
"""

from __future__ import annotations

import io
from pathlib import Path

import docx
import pytest

from research.readers.documents import parse_document
from tests.word_files import level, lists, paragraph, run, word_file

EXAMPLES = Path(__file__).parent / "examples"


def lines(body: str, **parts: str) -> list[str]:
    return parse_document("a.docx", word_file(body, **parts)).text.splitlines()


def test_a_file_of_libreoffice_keeps_numbers_scripts_and_both_rows_of_headings() -> None:
    data = (EXAMPLES / "lease_libreoffice.docx").read_bytes()
    assert parse_document("lease.docx", data).text.splitlines() == [
        "Lease",
        "1. Term",
        "a. one year",
        "b. two years",
        "2. Rent of 10⁶ yuan and H₂O",
        "• bullet",
        "甲方删",
        "Units sold",
        "Item: Apple; Q1 units: 1; Q1 price: 2; Q2 units: 3; Q2 price: 4",
        "Item: Apple; Q1 units: 5; Q1 price: 6; Q2 units: 7; Q2 price: 8",
        "[Total row] Item: Total; Q1 units: 6; Q1 price: 8; Q2 units: 10; Q2 price: 12",
    ]


def test_a_file_of_pandoc_keeps_notes_below_their_paragraph_and_formulas() -> None:
    document = parse_document("notes.docx", (EXAMPLES / "notes_pandoc.docx").read_bytes())
    assert document.text.splitlines()[2:5] == [
        "The lake is 3.2 × 10⁶ m³ large. [1] It has CO₂. Second sentence. [2]",
        "[1] Measured in 2020.",
        "[2] Or so.",
    ]
    (first, second) = document.sections
    assert (first.heading, second.heading) == ("Intro", "Intro > Terms")
    assert "Or so." in document.text[first.start : first.end]
    assert "(a+b)/2=√(x²+1)+∑_(i=1)ⁿ x_i" in document.text
    assert document.text.splitlines()[-1] == "[Total row] Item: Total; 2022: 4; 2023: 6"


def test_a_text_box_is_read_once_after_its_paragraph() -> None:
    box = f"<w:txbxContent>{paragraph('In the box')}</w:txbxContent>"
    choice = (
        f'<mc:Choice Requires="wps"><w:drawing><wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp></w:drawing></mc:Choice>'
    )
    fallback = f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
    both = f"<w:r><mc:AlternateContent>{choice}{fallback}</mc:AlternateContent></w:r>"
    assert lines(f"<w:p>{run('Before, ')}{both}{run('after.')}</w:p>") == ["Before, after.", "In the box"]


def test_changes_are_read_as_accepted() -> None:
    body = (
        f"<w:p>{run('The fee is ')}<w:del><w:r><w:delText>500</w:delText></w:r></w:del><w:ins>{run('800')}</w:ins>"
        f"{run(' yuan.')}</w:p>"
        f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{run('First half, ')}</w:p><w:p>{run('second half.')}</w:p>"
        f"<w:p><w:pPr><w:rPr><w:moveFrom/></w:rPr></w:pPr><w:moveFrom>{run('Moved.')}</w:moveFrom></w:p>"
        f"<w:p>{run('Middle.')}</w:p><w:p><w:moveTo>{run('Moved.')}</w:moveTo></w:p>"
    )
    assert lines(body) == ["The fee is 800 yuan.", "First half, second half.", "Middle.", "Moved."]


def test_a_deleted_clause_has_no_number() -> None:
    numbering = lists({1: [level(0, "decimal", "%1.")]}, {1: (1, "")})
    number = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    deleted = f"<w:p><w:pPr>{number}<w:rPr><w:del/></w:rPr></w:pPr><w:del>{run('')}</w:del></w:p>"
    body = paragraph("a", list_id=1) + deleted + paragraph("b", list_id=1)
    assert lines(body, numbering=numbering) == ["1. a", "2. b"]


def test_hidden_text_stays_out_even_if_a_style_hides_it() -> None:
    style = (
        '<w:style w:type="character" w:styleId="Hidden"><w:name w:val="Hidden"/><w:rPr><w:vanish/></w:rPr></w:style>'
    )
    hidden = run("a secret", "<w:vanish/>") + run("another", '<w:rStyle w:val="Hidden"/>')
    shown = run(" shown", '<w:rStyle w:val="Hidden"/><w:vanish w:val="0"/>')
    assert lines(f"<w:p>{run('Visible,')}{hidden}{shown}</w:p>", styles=style) == ["Visible, shown"]


def field(*parts: str) -> str:
    begin, separate, end = (f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end"))
    instruction, result = parts
    return f"{begin}{instruction}{separate}{result}{end}"


def test_fields_show_their_results_and_not_their_codes() -> None:
    code = "<w:r><w:instrText>{}</w:instrText></w:r>".format
    nested = field(code(" IF ") + field(code(" MERGEFIELD x "), run("INNER")) + code(' = "a"'), run("result"))
    simple = f'<w:fldSimple w:instr=" REF a ">{run(" of 3.1")}</w:fldSimple>'
    assert lines(f"<w:p>{run('The ')}{nested}{simple}</w:p>") == ["The result of 3.1"]


def test_symbols_and_scripts_by_position_or_style_are_plain_characters() -> None:
    style = (
        '<w:style w:type="character" w:styleId="Up"><w:name w:val="Up"/><w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
        "</w:style>"
    )
    symbol = '<w:r><w:sym w:font="Symbol" w:char="F0B3"/></w:r>'
    box = '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>'
    unknown = '<w:r><w:sym w:font="Webdings" w:char="F04B"/></w:r>'
    private = run("\uf061", '<w:rFonts w:ascii="Symbol"/>')
    power = run("-", '<w:rStyle w:val="Up"/>') + run("5", '<w:rStyle w:val="Up"/>')
    low = run("2", '<w:position w:val="-2"/>')
    body = f"<w:p>{box}{run(' ')}{private}{symbol}{run('10')}{power}{run(' CO')}{low}{unknown}</w:p>"
    assert lines(body, styles=style) == ["☑ α≥10⁻⁵ CO₂\ufffd"]


def cell(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    filled = (entry if entry.startswith("<w:tc>") else cell(paragraph(entry)) for entry in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(filled)}</w:tr>"


def test_a_table_fills_merged_cells_and_leaves_deleted_rows_out() -> None:
    east = cell(paragraph("East"), '<w:vMerge w:val="restart"/>')
    again = cell("<w:p/>", "<w:vMerge/>")
    inner = f"<w:tbl>{row('high', '3 m')}{row('wide', '2 m')}</w:tbl>"
    table = (
        row(cell(paragraph("Table 1: Sales"), '<w:gridSpan w:val="3"/>'))
        + row("Region", "Item", "2023")
        + row(east, "A", "1")
        + row(again, "X", "9", properties="<w:del/>")
        + f"<w:sdt><w:sdtContent>{row(again, 'B', '2')}</w:sdtContent></w:sdt>"
        + row("West", cell(paragraph("C") + inner + "<w:p/>"), "5")
        + row(cell(paragraph("Total"), '<w:gridSpan w:val="2"/>'), "8")
    )
    assert lines(f"<w:tbl>{table}</w:tbl>") == [
        "Table 1: Sales",
        "Region: East; Item: A; 2023: 1",
        "Region: East; Item: B; 2023: 2",
        "Region: West; Item: C high: 3 m wide: 2 m; 2023: 5",
        "[Total row] Region: Total; 2023: 8",
    ]


def test_rows_marked_as_headings_are_headings_even_of_numbers() -> None:
    table = row("1", "2", "3", properties="<w:tblHeader/>") + row("a", "b", "c") + row("d", "e", "f")
    assert lines(f"<w:tbl>{table}</w:tbl>") == ["1: a; 2: b; 3: c", "1: d; 2: e; 3: f"]


def test_a_table_of_one_cell_is_a_frame() -> None:
    frame = cell(paragraph("Inside", style="Heading1") + f"<w:tbl>{row('Fee', '40')}{row('Phone', '87')}</w:tbl><w:p/>")
    assert lines(f"<w:tbl>{row(frame)}</w:tbl>") == ["Inside", "Fee: 40", "Phone: 87"]


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("<m:rad><m:deg>{3}</m:deg><m:e>{x}</m:e></m:rad>", "³√(x)"),
        ("<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=')'/></m:dPr><m:e>{0}</m:e><m:e>{1}</m:e></m:d>", "[0|1)"),
        ("<m:func><m:fName>{sin}</m:fName><m:e>{x}</m:e></m:func>", "sin(x)"),
        ("<m:nary><m:sub>{0}</m:sub><m:sup>{1}</m:sup><m:e>{x dx}</m:e></m:nary>", "∫₀¹ x dx"),
        ("<m:m><m:mr><m:e>{1}</m:e><m:e>{0}</m:e></m:mr><m:mr><m:e>{0}</m:e><m:e>{1}</m:e></m:mr></m:m>", "[1, 0; 0, 1]"),
        ("<m:sSub><m:e>{x}</m:e><m:sub>{n+1}</m:sub></m:sSub>", "x_(n+1)"),
    ],
)  # fmt: skip
def test_a_formula_is_one_line_of_text(formula: str, text: str) -> None:
    math = formula.replace("{", "<m:r><m:t>").replace("}", "</m:t></m:r>")
    assert lines(f"<w:p>{run('y = ')}<m:oMath>{math}</m:oMath></w:p>") == [f"y = {text}"]


def test_a_check_box_field_shows_its_state() -> None:
    box = '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="{}"/></w:checkBox></w:ffData></w:fldChar></w:r>'
    end = '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    body = f"<w:p>{box.format(1)}{end}{run(' yes ')}{box.format(0)}{end}{run(' no')}</w:p>"
    assert lines(body) == ["☒ yes ☐ no"]


def test_files_of_python_docx_have_their_lists_numbered() -> None:
    document = docx.Document()
    for text, style in (("a", "List Number"), ("b", "List Number"), ("c", "List Bullet")):
        document.add_paragraph(text, style=style)
    out = io.BytesIO()
    document.save(out)
    assert parse_document("a.docx", out.getvalue()).text.splitlines() == ["1. a", "2. b", "• c"]
