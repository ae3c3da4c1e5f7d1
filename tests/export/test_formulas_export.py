"""Formulas leave as TeX that readers of each format draw or show, and money stays money."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import pytest
from docx import Document as read_docx
from lxml import html
from pypdf import PdfReader

from research.citations.formulas import Formula, FormulaStore
from research.core.records import Report, Span
from research.export.document import ReportDocument
from research.export.docx import document_docx, report_docx
from research.export.formula_tree import FormulaElement, formula_mathml, parse_formula
from research.export.html import report_html
from research.export.markdown import report_markdown
from research.export.markdown_escaping import markdown_link
from research.export.pdf import document_pdf, report_pdf
from tests.export.test_markdown import (
    BARRED,
    HOSTILE,
    MARKDOWN,
    NOW,
    TEX,
    everything,
    exported,
    numbered,
    report,
    shape,
)
from tests.export.test_pdf import tagged
from tests.tables import each_row

OMML = "http://schemas.openxmlformats.org/officeDocument/2006/math"
KNOWN = {
    "math", "semantics", "annotation", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt",
    "mroot", "msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd",
}  # fmt: skip


def written(prose: str) -> Report:
    """A report whose answer is this and no more."""
    made = report("plain")
    assert made.answer
    answer = made.answer.model_copy(update={"spans": (Span(kind="text", text=prose),)})
    return made.model_copy(update={"answer": answer})


def formulas(markdown: str) -> list[tuple[str, bool]]:
    """What a reader of Markdown that knows dollars takes for formulas."""
    found = [token for token in everything(markdown, TEX) if token.type.startswith("math_")]
    return [(token.content.strip(), token.type != "math_inline") for token in found]


PROSE = r"""The energy is $E = mc^2$, so \(p = \frac{a}{b}\,c\) holds for 5 \% of $n$ cases. It costs $5 and $10.

$$
\begin{aligned}
a &= b \\
  &= c\,d
\end{aligned}
$$

\[ x \in [0, 1] \]

- 面积为$S_1*S_2$平方米，价格为$30或$40。
- $$y_i = 1$$

> $$
> z = 2
> $$

| $|x|$ | cost |
|---|---|
| $a_1$ | \$5 |
"""
FOUND = [
    ("E = mc^2", False),
    (r"p = \frac{a}{b}\,c", False),
    ("n", False),
    ("\\begin{aligned}\na &= b \\\\\n&= c\\,d\n\\end{aligned}", True),
    (r"x \in [0, 1]", True),
    ("S_1*S_2", False),
    ("y_i = 1", True),
    ("z = 2", True),
    (r"\vert x\vert", False),
    ("a_1", False),
]


def test_a_reader_of_markdown_finds_each_formula_and_no_money() -> None:
    markdown = exported(written(PROSE))
    assert formulas(markdown) == FOUND
    assert r"It costs \$5 and \$10." in markdown
    assert r"面积为 $S_1*S_2$ 平方米，价格为\$30或\$40" in markdown
    assert r"5 % of $n$ cases" in markdown
    assert "\\\\$" not in markdown and "\\\\," not in markdown
    assert not BARRED & set(shape(markdown))


def nodes(page: Any, name: str) -> list[Any]:
    return list(page.iter(name))


def test_a_page_draws_each_formula_and_keeps_its_source() -> None:
    made = written(PROSE)
    page: Any = html.document_fromstring(report_html(made, numbered(made)).encode())
    found = nodes(page, "math")
    assert [(node.findtext(".//annotation"), node.get("display") == "block") for node in found] == FOUND
    assert [node.tag for node in found[1].iter("mfrac", "mi", "mspace")] == ["mi", "mfrac", "mi", "mi", "mspace", "mi"]  # fmt: skip
    assert len(nodes(found[3], "mtr")) == 2
    assert not page.find_class("math")
    assert "It costs $5 and $10." in page.text_content()


def test_a_formula_that_cannot_be_read_shows_its_source() -> None:
    made = written(r"So $\unheard{x}_1$ and $$y = \unheard{2}$$")
    page: Any = html.document_fromstring(report_html(made, numbered(made)).encode())
    assert [(node.tag, node.text) for node in page.find_class("math")] == [
        ("code", r"\unheard{x}_1"),
        ("code", r"y = \unheard{2}"),
    ]
    assert r"\unheard{x}_1" in pdf(made) and r"\unheard{x}_1" in word(made)


def pdf(made: Report) -> str:
    pages = PdfReader(BytesIO(report_pdf(made, numbered(made)))).pages
    return "".join(page.extract_text() for page in pages)


def word(made: Report) -> str:
    return "".join(read_docx(BytesIO(report_docx(made, numbered(made)))).element.body.itertext())


def test_a_word_file_has_formulas_that_can_be_edited() -> None:
    made = written(PROSE)
    body = read_docx(BytesIO(report_docx(made, numbered(made)))).element.body
    found = list(body.iter(f"{{{OMML}}}oMath"))
    assert len(found) == len(FOUND)
    alone = [node.getparent().tag == f"{{{OMML}}}oMathPara" for node in found]
    assert alone == [display for _, display in FOUND]
    assert ["".join(node.itertext()) for node in found[:3]] == ["E=mc2", "p=ab c", "n"]
    assert [node.tag.partition("}")[2] for node in found[1]] == ["r", "r", "f", "r", "r"]
    assert len(list(found[3].iter(f"{{{OMML}}}mr"))) == 2
    assert "It costs $5 and $10." in word(made)


def test_a_pdf_has_formulas_that_are_set_and_are_read_aloud() -> None:
    made = written(PROSE)
    reader = PdfReader(BytesIO(report_pdf(made, numbered(made))))
    said = re.sub(r"\s", "", "".join(page.extract_text() for page in reader.pages))
    assert "𝐸=𝑚𝑐2" in said and "Itcosts$5and$10." in said
    assert not re.search(r"\\(?:frac|begin|in|,)", said)
    told = [str(n["/Alt"]) for n in tagged(reader.root_object["/StructTreeRoot"]) if "/Alt" in n]
    assert told[:3] == ["E = mc²", "p = a/b c", "n"]


def test_formulas_of_the_question_the_title_and_headings_are_formulas() -> None:
    made = written("x")
    assert made.answer
    spans = (
        Span(kind="heading", text=r"On $x_1\,y$"),
        Span(kind="notice", text=r"Note $n^2$"),
        Span(kind="missing", text=r"No $m_0$ was found."),
    )
    answer = made.answer.model_copy(update={"title": r"The $\alpha_s$ of $5", "spans": spans})
    run = made.run.model_copy(update={"question": "Why is $E=mc^2$ so?\nAnd $$a\n= b^2$$ for $5?"})
    made = made.model_copy(update={"answer": answer, "run": run})
    markdown = exported(made)
    for line in (
        "# Why is $E=mc^2$ so? And $a = b^2$ for \\$5?", "Why is $E=mc^2$ so?", "And $a = b^2$ for \\$5?",
        r"**The $\alpha_s$ of \$5**", r"### On $x_1\,y$", r"> Note $n^2$", r"- No $m_0$ was found.",
    ):  # fmt: skip
        assert line in markdown.split("\n"), line
    page: Any = html.document_fromstring(report_html(made, numbered(made)).encode())
    assert page.findtext(".//title") == "Why is E = mc² so? And a = b² for $5?"
    assert len(nodes(page, "math")) == 8
    outline = PdfReader(BytesIO(report_pdf(made, numbered(made)))).outline
    assert "On x₁ y" in str(outline)
    assert "Onx1y" in re.sub(r"\s", "", word(made))


@pytest.mark.parametrize("reader", [MARKDOWN, TEX])
def test_the_title_of_a_source_may_have_formulas(reader: Any) -> None:
    told = [
        ("On $x_1$ and $5", r"[On $x_1$ and \$5](https://example.org/a)"),
        ("On $[0,1)$", r"[On \$\[0,1)\$](https://example.org/a)"),
        ("$x_1](https://evil.example)$", ""),
    ]
    for title, line in told:
        written = markdown_link(title, "https://example.org/a", keep_formulas=True)
        assert not line or written == line
        hrefs = [t.attrs["href"] for t in everything(written, reader) if t.type == "link_open"]
        assert hrefs == ["https://example.org/a"]


@each_row("name", ["equation", "align", "gather*", "multline"])
def test_an_environment_without_dollars_is_a_formula(name: str) -> None:
    markdown = exported(written(rf"Then \begin{{{name}}} a &= b^2 \\ c &= d \end{{{name}}} holds."))
    ((tex, display),) = formulas(markdown)
    assert display and r"a &= b^2 \\ c &= d" in tex
    assert "equation" not in tex and "align}" not in tex.replace("aligned", "")
    assert parse_formula(tex, is_display=True)


BOMBS = {
    "braces": "{" * 1400 + "x" + "}" * 1400, "fractions": r"\frac" * 500, "roots": r"\sqrt{" * 400 + "x",
    "cells": r"\begin{matrix}" + "a&" * 1400 + r"\end{matrix}", "primes": "x" + "'" * 2900,
    "rows": "a" + r"\\" * 1400, "long": "x+" * 1499, "environments": r"\begin{aligned}" * 190,
    "tags": r"\tag{" * 500, "brackets": r"\left(" * 400 + r"\right)" * 20, "sums": r"\sum_1^2" * 350,
    "spaces": r"\hspace{9999999em}" * 100, "accents": r"\hat" * 700 + "x",
}  # fmt: skip
EVIL = [
    r"\href{javascript:alert(1)}{x}", r"\class{evil}{x}", r"\style{position:fixed}{x}", r"\text{<img src=x>}",
    r"\text{</math><script>alert(1)</script>}", r"\cssId{a}{b}", r"\color{red;background:url(//e)}{x}", "\x00\x0b\ufffe",
    r"\unicode{x3c}script", r"\mathchoice{a}{b}{c}{d}", r"\text{&lt;b&gt;}", r"\mbox{\u202e}", "a\ud800b",
    r"\input{/etc/passwd}", r"\def\x{\x\x}\x", r"\char`<", "#sys.inputs", '"); #panic()', r"\#image(1)",
]  # fmt: skip


@pytest.mark.slow
@each_row("tex", [*BOMBS.values(), *EVIL])
@each_row("display", [True, False])
def test_no_tex_acts_or_breaks_a_file(tex: str, display: bool) -> None:
    """The tree is taken as if the Markdown had let all of it through."""
    node = {"t": "math", "display": display, "c": [tex]}
    told = ReportDocument("T", "en", [{"t": "p", "c": ["x ", node, " y"]}], NOW)
    drawn = formula_mathml(tex, is_display=display)
    if drawn:
        root: Any = html.fragment_fromstring(drawn)
        for element in root.iter():
            assert element.tag in KNOWN
            assert {*element.attrib} <= {"display", "encoding", "width", "fence", "stretchy", "form",
                                         "accent", "mathvariant", "style"}  # fmt: skip
            assert element.get("style", "text-align:left").startswith("text-align:")
    found = parse_formula(tex, is_display=display)
    assert found is None or count(found) <= 2_000
    assert PdfReader(BytesIO(document_pdf(told))).pages
    assert read_docx(BytesIO(document_docx(told))).paragraphs


def count(element: FormulaElement) -> int:
    return 1 + sum(map(count, element.children))


def test_formulas_in_a_quote_stay_formulas() -> None:
    markdown = exported(report("with $x_1$ of $5 and 公式$y^2$里"))
    assert ("x_1", False) in formulas(markdown) and ("y^2", False) in formulas(markdown)
    assert r"with $x_1$ of \$5 and 公式 $y^2$ 里" in markdown


@pytest.mark.slow
@each_row("words", [*HOSTILE, "[1]", "x](https://evil.example/)", "<b>", "@3fa9"])
@each_row("around", ["${}$", "$x = {}$", "$$\n{}\n$$", r"\(x^2 {}\)", r"\[x = 1 {}\]"])
def test_nothing_acts_from_within_a_formula(around: str, words: str) -> None:
    markdown = exported(report("plain", prose=f"A. {around.replace('{}', words)} B."))
    assert not BARRED & set(shape(markdown))
    plain = exported(report("plain", prose="A. B."))
    linked = [token.attrs["href"] for token in everything(markdown) if token.type == "link_open"]
    assert linked == [t.attrs["href"] for t in everything(plain) if t.type == "link_open"]


def test_lines_that_would_begin_a_block_are_joined_to_those_above() -> None:
    markdown = exported(written("$$\na\n- b\n= c\n# d^2\n$$"))
    assert ("a - b = c # d^2", True) in formulas(markdown)


def test_what_is_read_back_is_what_was_written() -> None:
    found = FormulaStore()
    markdown = report_markdown(written(PROSE), numbered(written(PROSE)))
    again = [p for p in found.split(found.hide(markdown)) if isinstance(p, Formula)]
    assert [(formula.tex, formula.is_display) for formula in again] == FOUND
