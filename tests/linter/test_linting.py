"""The citations of other people's reports: what is sound stays unmarked, what is not is found."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from research import lint_markdown
from research.core.text.tokenizer import has_han
from research.linter.flaw_kinds import SEVERITY_BY_KIND, flaw_message
from tests.catalogue import LANGUAGES
from tests.growth import assert_linear
from tests.tables import each_row

HERE = Path(__file__).parent
CLEAN = sorted((HERE / "clean").glob("*.md"))
STYLES = sorted((HERE / "styles").glob("*.md"))
PLANTED = sorted((HERE / "planted").glob("*.md"))
LABELS = json.loads((HERE / "planted" / "labels.json").read_text(encoding="utf-8"))
NUMBERED = [path for path in CLEAN if path.name.startswith("numbered_")]
DEFECTS = {kind for kind, severity in SEVERITY_BY_KIND.items() if severity != "info"} - {"inconsistent"}


def defects(text: str) -> list[tuple[str, int]]:
    found = lint_markdown(text).flaws
    return sorted((flaw.kind, flaw.line) for flaw in found if flaw.severity != "info")


def kinds(text: str) -> set[str]:
    return {kind for kind, _ in defects(text)}


@each_row("path", CLEAN)
def test_a_sound_report_of_another_style_has_no_defect(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert 25 <= text.count("\n") <= 80
    assert defects(text) == []
    found = lint_markdown(text)
    assert found.styles and found.citations >= 5 and 0 < found.cited <= found.sentences


def test_there_are_thirty_sound_reports_in_many_styles() -> None:
    styles = {lint_markdown(path.read_text(encoding="utf-8")).styles[0] for path in CLEAN}
    assert len(CLEAN) == 30
    assert styles >= {"numbered", "footnotes", "links", "author-year", "superscripts", "brackets"}
    assert styles >= {"keys", "references"}


@each_row("path", STYLES)
def test_nor_has_one_after_the_habits_of_another_program(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert defects(text) == []
    assert lint_markdown(text).citations


ADDRESSED = [path for path in STYLES if "https://" in path.read_text(encoding="utf-8")]


@each_row("path", ADDRESSED)
def test_an_address_of_nobodys_is_found_in_each_of_these_styles(path: Path) -> None:
    text = re.sub(r"https://[\w.-]+", "https://www.example.org", path.read_text(encoding="utf-8"))
    assert "placeholder" in kinds(text)


@each_row("path", PLANTED)
def test_each_planted_defect_is_found_at_its_line_and_nothing_else(path: Path) -> None:
    planted = [(item["kind"], item["line"]) for item in LABELS if item["file"] == path.name]
    assert planted
    assert defects(path.read_text(encoding="utf-8")) == sorted(planted)


def test_every_kind_of_defect_is_planted_at_least_twice() -> None:
    planted = [item["kind"] for item in LABELS]
    assert {kind for kind in DEFECTS if planted.count(kind) < 2} == set()
    assert {item["file"] for item in LABELS} == {path.name for path in PLANTED}


def test_each_kind_is_explained_in_both_languages() -> None:
    for kind in SEVERITY_BY_KIND:
        chinese, english = (flaw_message(kind, "[1]", "[2]", language) for language in LANGUAGES)
        assert has_han(chinese) and not has_han(english), kind
    text = "# A\n\nIt grew by 4 % [7].\n\n## Sources\n\n1. A, https://a.org/1\n"
    assert "[7]" in lint_markdown(text, "zh").flaws[0].message
    assert has_han(lint_markdown(text, "zh").flaws[0].message)


PLACEHOLDERS = [
    "https://example.com/a", "http://www.example.org", "https://a.example.net/x", "https://a.example/x", "https://a.test",
    "https://a.invalid/", "https://…", "https://.../a", "https://url", "https://xxx/", "https://www.xxx.com/a",
    "https://your-site.com/a", "https://[url]", "URL", "link", "INSERT_URL_HERE", "source_1", "…", "链接", "此处插入链接",
    "https://a.org/{{slug}}", "https://a.org/{article_id}", "https://a.org/%7Bslug%7D", "https://insert-link-here.com",
]  # fmt: skip
UNUSABLE = [
    "htps://a.org", "htttps://a.org", "hxxps://a.org", "ttps://a.org", "http:/a.org", "https//a.org", "https://a",
    "https://a..org/x", "https://a.org/cut…", "https://a.org/.../x", "https://a.org/?id=...", "https://u:p@a.org",
    "javascript:alert(1)", "data:text/html,x", "file:///C:/a", "ftp://a.org/x",
]  # fmt: skip
USABLE = [
    "https://link.springer.com/a", "https://url.spec.whatwg.org/", "https://www.linkedin.com/in/a", "https://source.android.com",
    "https://xxx.lanl.gov/abs/1", "https://domain.com/a", "https://examples.com/", "https://test.de/", "https://none.io",
    "https://ui.adsabs.harvard.edu/abs/2019ApJ...887...53F/abstract", "https://a.org/compare/v1...v2",
    "https://a.org/#:~:text=a...", "https://a.org/?q=a...b", "sourcecode.html", "address-book", "https://a.org/{8A1F03C2-77BE-4E7E-9A52-0D1B6F0C1A11}", "https://www.here.com/a", "https://your-life.org", "doi:10.1000/182", "File:Foo.png",
]  # fmt: skip


@each_row("url", [*PLACEHOLDERS, *UNUSABLE, *USABLE])
def test_an_address_is_nobodys_or_unusable_by_its_host_and_not_by_how_it_begins(url: str) -> None:
    kind = "placeholder" if url in PLACEHOLDERS else "bad-address"
    expected: set[str] = set() if url in USABLE else {kind}
    assert kinds(f"# T\n\nIt grew [by 4 %]({url}).\n") == expected


def test_an_address_in_pointed_brackets_is_looked_at_too() -> None:
    assert kinds("# T\n\nIt grew by 4 %, see <https://example.com/a>.\n") == {"placeholder"}


GLUED = ["OpenAI", "YouTube", "iPhone", "mRNA", "pH", "xAI", "DeepSeek发布新模型", "中国", "_Nature_", "**bold**", "GPT-4o", "C++", "CO₂"]  # fmt: skip


@each_row("word", GLUED)
def test_a_number_right_behind_a_word_is_a_citation_whatever_the_word(word: str) -> None:
    listed = "## Sources\n\n1. A, https://a.org/1\n2. B, https://a.org/2\n"
    assert defects(f"# T\n\nIt grew [1]. {word}[2] agrees.\n\n{listed}") == []
    assert kinds(f"# T\n\nIt grew [1] [2]. {word}[9] agrees.\n\n{listed}") == {"dangling"}


@each_row("word", ["x", "rows", "user_names", "sys.argv", "数组a"])
def test_a_number_behind_the_name_of_an_array_is_one_only_if_a_source_has_it(word: str) -> None:
    listed = "## Sources\n\n1. A, https://a.org/1\n2. B, https://a.org/2\n"
    assert defects(f"# T\n\nIt grew [1]. {word}[2] agrees.\n\n{listed}") == []
    assert defects(f"# T\n\nIt grew [1] [2]. {word}[9] agrees.\n\n{listed}") == []


@pytest.mark.parametrize("said", ["Baker (2011) found the contrary.", "Baker et al. (2011) differ."])
def test_an_author_of_whom_something_is_told_needs_a_source(said: str) -> None:
    listed = "## References\n\nAble, A. (2020). One. https://a.org/1\n\nCole, C. (2021). Two. https://a.org/2\n"
    text = f"# T\n\nIt grew (Able, 2020; Cole, 2021). {{}}\n\n{listed}"
    assert kinds(text.format(said)) == {"dangling"}
    assert defects(text.format("The Great Recession (2009) ended it. Kyoto (2005) hosted it.")) == []


@pytest.mark.parametrize("entry", ["[A](https://a.org/{0})", "A, https://a.org/{0}", "A - <https://a.org/{0}>"])
def test_numbered_addresses_at_the_end_are_a_list_without_a_heading(entry: str) -> None:
    listed = "".join(f"{n}. {entry.format(n)}\n" for n in (1, 2))
    assert defects(f"# T\n\nIt grew [1] and fell [2].\n\n{listed}") == []
    assert kinds(f"# T\n\nIt grew [1] and fell [2][7].\n\n{listed}") == {"dangling"}
    assert defects(f"# T\n\nIt grew. To go on, read:\n\n{listed}") == []


def test_a_link_of_a_second_list_is_listed() -> None:
    text = "# T\n\nIt grew ([A](https://a.org/1)) and fell ([B](https://b.org/2)).\n\n## References\n\n- [A](https://a.org/1)\n\n{}"
    assert kinds(text.format("## Sources\n\n1. [B](https://b.org/2)\n")) == set()
    assert kinds(text.format("")) == {"unlisted"}


SOUND = [
    "The array a[0] and rows[12] hold it [1].",
    "- [ ] to do\n- [x] done [1]",
    "In [2020] the quote said \"it [sic] grew\" [1].",
    "Values lie in the interval [0, 1] or the range [3, 9] [1].",
    "Run `x[9]` first [1].\n\n```\ny[8]\n```",
    "The formula $x_{[7]} = y^2$ holds [1].",
    "![figure [9]](a.png) shows it [1].",
    "【概述】 A heading in brackets [1].\n\n【9月】 Another.",
    "See [the table](#table) and [[Note]] [1].",
    "| a | b |\n|---|---|\n| 1 | two [1] |",
    "An area of 40 m² and 10<sup>9</sup> cells [1].",
    "It goes with L³.³⁷ and FL³.³⁷, 12 hm², 3 Nm³, ¹³C, <sup>235</sup>U, sin⁴θ, |ψ|⁴, (a+b)⁹ and x₁⁷ [1].",
    "Mail me@a.org, or see version 1.2.3 [1].",
    "<!-- [5] --> It is hidden [1].",
]  # fmt: skip


@each_row("words", SOUND)
def test_what_only_looks_like_a_citation_is_none(words: str) -> None:
    assert defects(f"# T\n\n{words}\n\n## Sources\n\n1. Title. https://a.org/1\n") == []


HEADINGS = [
    "## References", "## Sources", "**Sources**", "Sources:", "# Works cited", "## Bibliography",
    "### 7. References", "## 📚 Sources", "## 来源", "## 参考资料", "## 参考文献", "## 引用", "## 资料来源",
    "## 七、参考文献", "**参考资料：**", "## References / 参考文献", "References\n----------", "<h2>References</h2>",
]  # fmt: skip
ENTRIES = [
    "{n}. Title {n} — https://a.org/{n}", "[{n}] Title {n}, https://a.org/{n}", "[{n}]: https://a.org/{n}",
    "- [{n}] Title {n} <https://a.org/{n}>", "* **[{n}]** [Title {n}](https://a.org/{n})",
    "{n}) [Title {n}](https://a.org/{n})", "【{n}】标题{n} https://a.org/{n}", "［{n}］标题{n} https://a.org/{n}",
    "| {n} | Title {n} | https://a.org/{n} |", "[{n}](https://a.org/{n}) Title {n}", "<sup>{n}</sup> Title https://a.org/{n}",
    "{n}、标题{n}，https://a.org/{n}", "[[{n}]](https://a.org/{n}) Title {n}", r"\[{n}\] Title {n} https://a.org/{n}",
    "{n}. [https://a.org/{n}](https://a.org/{n})", "- {n}. Title {n}: https://a.org/{n}",
]  # fmt: skip


@each_row("entry", ENTRIES)
@each_row("heading", HEADINGS)
def test_a_list_is_known_by_its_heading_and_its_numbers(heading: str, entry: str) -> None:
    gap = "\n" if entry.startswith(("|", "-", "*")) else "\n\n"
    listed = gap.join(entry.format(n=n) for n in (1, 2, 3))
    body = "# T\n\nOne [1]. Two [2].\n\nThree [3]."
    assert defects(f"{body}\n\n{heading}\n\n{listed}\n") == []
    assert kinds(f"{body} Four [4].\n\n{heading}\n\n{listed}\n") == {"dangling"}
    assert kinds(f"{body.replace(' [2]', '')}\n\n{heading}\n\n{listed}\n") == {"unused"}


CITES = ["[{}]", "【{}】", "［{}］", "〔{}〕", "<sup>{}</sup>", "<sup>[{}]</sup>", "[[{}]]", "[^{}]", r"\[{}\]", "[Source {}]", "[来源{}]", "^[{}]^", "[[{}]](#s)"]  # fmt: skip


@each_row("cite", CITES)
def test_a_number_is_a_citation_however_it_is_dressed(cite: str) -> None:
    listed = "## Sources\n\n1. A, https://a.org/1\n2. B, https://a.org/2\n"
    one, two, lost = (cite.format(number) for number in (1, 2, 9))
    assert defects(f"# T\n\nIt grew{one}. It fell.{two}\n\n{listed}") == []
    assert kinds(f"# T\n\nIt grew{one}. It fell.{two} It rose{lost}.\n\n{listed}") == {"dangling"}


@given(st.text(alphabet=st.sampled_from("[]()^@1290a【】†#|-*`$<>:/. \n\\!年。http"), max_size=300))
@settings(max_examples=300)
def test_no_text_that_resembles_citations_makes_it_fail(text: str) -> None:
    sensible(text)


@given(st.text(max_size=200))
def test_nor_does_any_other(text: str) -> None:
    sensible(text)


def sensible(text: str) -> None:
    """What is found lies within the text, and no more sentences cite than there are."""
    found = lint_markdown(text)
    assert all(1 <= flaw.line <= len(text.splitlines()) + 1 for flaw in found.flaws)
    assert found.cited <= found.sentences


@given(st.data())
@settings(max_examples=100)
def test_a_number_without_a_source_is_found_wherever_it_is_put(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from(NUMBERED)).read_text(encoding="utf-8").split("\n")
    listed = re.compile(r"#+ .*(?:Sources|References|Bibliography|来源|参考)|Citations:|---$")
    end = next(n for n, line in enumerate(lines) if listed.match(line))
    open_code = [n for n, line in enumerate(lines) if line.startswith("```")]
    places = [
        n for n, line in enumerate(lines[:end])
        if re.search(r"\w[.。]?$", line.rstrip()) and not (open_code and open_code[0] <= n <= open_code[1])
    ]  # fmt: skip
    at = data.draw(st.sampled_from(places))
    lines[at] = lines[at].rstrip() + " [99]"
    assert ("dangling", at + 1) in defects("\n".join(lines))


HOSTILE = [
    "[" * 1000, "](" * 500, "[a](" * 250, "`" * 7 + " ``` " * 100, "<sup>" * 200, "![" * 500, "(" * 1000,
    "$x" * 500, "[^1]" * 250, "【" * 1000, "@a;" * 300, "(A, " * 250, "\\[" * 500, "<!--" * 250, "a_b*" * 250,
    "[1]" * 333, "| " * 500, "> " * 500, "# Sources\n1. x\n" * 60, "[1]: x\n" * 140, "- [1] x\n" * 120,
    "[[b]" * 250, "https://a" * 110, "(Smith, 2020; " * 70, "x² " * 330, "[a][b]" * 160, "<script>" * 120,
    "\n\n" * 500, "2020 " * 200, "[@a](" * 200,
]  # fmt: skip


@pytest.mark.slow
@each_row("piece", HOSTILE)
def test_time_grows_with_the_length_of_a_hostile_text_and_no_faster(piece: str) -> None:
    assert_linear(lambda times: partial(lint_markdown, piece * times), 5)
