"""Formulas are told from money, from escaped brackets and from whatever could act or cite."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from research.citations.formulas import Formula, FormulaStore
from research.export.markdown_escaping import escape_markdown
from tests.growth import assert_linear
from tests.tables import each_row

FORMULAS = [
    r"$E = mc^2$", "$x$", "$n$th", "$k$-means", "成本$x$元", r"$\alpha$", r"$\sqrt[3]{x}$", r"$f(x) = \sin x$", "$a, b$",
    r"$3 \times 4$", "$p<0.05$", "$n!$", "$P(A|B)$", "$|x|$", r"$x\,dx$", r"$\$5$", r"$95\%$", "$100$", r"$\{a, b\}$",
    "$-1$", "$x'$", "$x^*$", r"$\text{cost} = 5$", "$利润 = 收入 - 成本$", r"$\frac{收入}{成本}$", "$speed = distance / time$",
    r"$O(n \log n)$", r"$$\frac{a}{b}$$", "$$a + b$$", "$$\n\\begin{aligned}\na &= b \\\\\nc &= d\n\\end{aligned}\n$$",
    r"\(a^2 + b^2\)", r"\(n\)", r"\(\Delta\)", r"\[x \in [0, 1]\]", "\\[\nx = 1\n\\]", r"（$x$）", "**$x$**", "| $x$ |",
]  # fmt: skip


@each_row("text", FORMULAS)
def test_a_formula_is_found_and_can_be_shown_as_it_was_written(text: str) -> None:
    found = FormulaStore()
    hidden = found.hide(text)
    (formula,) = [part for part in found.split(hidden) if isinstance(part, Formula)]
    assert formula.is_display == (formula.source_text[:2] in ("$$", "\\["))
    assert formula.tex in text.replace("p<0.05", "p<0.05")
    assert found.restore(hidden) == text


OTHERS = [
    "$5 and $10", "costs $5–$10", "US$5, HK$10", "$5-$10", "$5/$10", "between $5 and 10$", "$AAPL and $TSLA", "$HOME:$PATH",
    "PATH=$A:$B", r"\$5 and \$6", "$$ - $$$", "price $$ and $$", "$5 million in 2020, up from 3$", "$5元，合计10$", "$ x$", "$x $",
    "a $3m/US$4m b", "$my_var/$other_var", "($5)/($10)", "$5 (or $6)", "$1.5B$1", "between $5 = low and 10$ = high", "A$5bn, NZ$6bn",
    r"\[1\]", r"\[2, 3\]", r"\[sic\]", r"\(see below\)", r"\(2020\)", r"- \[x\] done", r"a\\(b\\)", "$x\n\ny$", "$$x\n\ny$$", "$", "$$",
    "$[1]$", "$x[1]$", r"$\text{see [1]}$", "$x [@ab12]$", "$[a](https://evil.example/)$", "$<br>$", r"$\href{https://evil.example/}{y}$",
    r"$\def\x{y} = 1$", r"$\htmlClass{a}{b} = 1$", "$`a`$", "$x = 【1】$", "$a = \u202eb$", r"$x\$",
]  # fmt: skip


@each_row("text", OTHERS)
def test_what_is_money_or_could_act_is_no_formula(text: str) -> None:
    assert FormulaStore().hide(text) == text


def test_a_formula_behind_an_amount_of_money_is_found() -> None:
    found = FormulaStore()
    parts = [p if isinstance(p, str) else p.tex for p in found.split(found.hide("$5元，合计$x$。"))]
    assert parts == ["$5元，合计", "x", "。"]


@each_row(
    ("written", "tex"),
    [
        ("$a<b$", "a< b"),  # never a tag
        ("$a &lt; b$", "a < b"),
        ("$$\nx = 1 % one\n  + 2\n$$", "x = 1 + 2"),  # what follows a comment may stand in its line
        ("> $$\n> x = 1\n> + 2\n> $$", "x = 1\n+ 2"),
    ],
)
def test_tex_is_kept_but_for_what_could_be_a_tag_and_for_what_lines_add(written: str, tex: str) -> None:
    found = FormulaStore()
    (formula,) = [p for p in found.split(found.hide(written)) if isinstance(p, Formula)]
    assert formula.tex == tex


@given(st.text(st.sampled_from("$\\[]()ab1 =+^_{}<>|*`@&;\n%元。")))
def test_whatever_is_hidden_comes_back(text: str) -> None:
    found = FormulaStore()
    assert found.restore(found.hide(text)) == text


@each_row("piece", ["$x", "\\[", "\\(", "$$", "$\n", "\\[a\n", "{$}", "$$a", "$a b "])
def test_time_grows_with_the_length_of_a_hostile_text_and_no_faster(piece: str) -> None:
    assert_linear(lambda times: partial(FormulaStore().hide, piece * times), 2_000)


@each_row("text", ["\ue100", "a \ue100 b $x^2$ \uf8ff", "\ue101\ue100 costs $5"])
def test_a_private_character_of_the_text_is_no_formula_and_breaks_nothing(text: str) -> None:
    found = FormulaStore()
    parts = list(found.split(found.hide(text)))
    assert [part.tex for part in parts if not isinstance(part, str)] == ["x^2"] * ("x^2" in text)
    assert "\ufffd" in "".join(part for part in parts if isinstance(part, str))
    assert [part for part in FormulaStore().split(text) if not isinstance(part, str)] == []
    assert "\ufffd" in escape_markdown(text) and FormulaStore().restore(text) == text
