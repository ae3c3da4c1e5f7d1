"""Formulas leave as TeX that readers of each format draw or show, and money stays money."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import pytest
from docx import Document as read_docx
from lxml import html
from pypdf import PdfReader

from research.evidence.formulas import Formula, Formulas
from research.export.docx import report_docx
from research.export.html import report_html
from research.export.markdown import report_markdown
from research.export.pdf import report_pdf
from research.records import Report, Span
from tests.export.test_markdown import (
    BARRED,
    HOSTILE,
    TEX,
    everything,
    exported,
    numbered,
    report,
    shape,
)


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


def test_a_page_has_each_formula_where_mathjax_and_katex_look_for_it() -> None:
    made = written(PROSE)
    page: Any = html.document_fromstring(report_html(made, numbered(made)).encode())
    spans = [(node.get("class"), node.text) for node in page.find_class("math")]
    assert spans == [
        ("math display", rf"\[{tex}\]") if display else ("math inline", rf"\({tex}\)")
        for tex, display in FOUND
    ]
    assert "It costs $5 and $10." in page.text_content()


def test_other_files_show_the_source_of_a_formula() -> None:
    made = written(PROSE)
    file = read_docx(BytesIO(report_docx(made, numbered(made))))
    word = "".join(file.element.body.itertext())
    pdf = "".join(
        page.extract_text() for page in PdfReader(BytesIO(report_pdf(made, numbered(made)))).pages
    )
    for said in (re.sub(r"\s", "", word), re.sub(r"\s", "", pdf)):
        for tex, _ in FOUND:
            assert re.sub(r"\s", "", tex) in said
        assert "Itcosts$5and$10." in said


def test_formulas_in_a_quote_stay_formulas() -> None:
    markdown = exported(report("with $x_1$ of $5 and 公式$y^2$里"))
    assert ("x_1", False) in formulas(markdown) and ("y^2", False) in formulas(markdown)
    assert r"with $x_1$ of \$5 and 公式 $y^2$ 里" in markdown


@pytest.mark.parametrize("words", [*HOSTILE, "[1]", "x](https://evil.example/)", "<b>", "@3fa9"])
@pytest.mark.parametrize(
    "around", ["${}$", "$x = {}$", "$$\n{}\n$$", r"\(x^2 {}\)", r"\[x = 1 {}\]"]
)
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
    found = Formulas()
    markdown = report_markdown(written(PROSE), numbered(written(PROSE)))
    again = [p for p in found.parts(found.hidden(markdown)) if isinstance(p, Formula)]
    assert [(formula.tex, formula.display) for formula in again] == FOUND
