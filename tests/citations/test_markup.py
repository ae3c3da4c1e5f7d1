"""Nothing that a model writes becomes a citation, a link or markup unless it was gathered."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from research.citations.answer_tree import build_answer_tree
from research.citations.markdown_parser import Node
from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import NumberedSpan
from research.core.records import PassageReference, Span
from tests.tables import each_row

A, B = PassageReference(evidence="a", passage="p", end=9), PassageReference(evidence="b", passage="q")
HANDLES = {"3fa9": A, "77aa": B, "12345678": B}
URLS = {
    "example.org/a": A,
    "www.example.org/a": A,
    "zh.example.org/wiki/%E6%95%85%E5%AE%AB": B,
    "example.org/x_(y)": B,
}
BAD = "https://evil.example/x"

Short = tuple[str, str]


def short(text: str, *, partial: bool = False) -> list[Short]:
    """Spans as (text, citations): a and b for the sources, ? for the mark that there is none."""
    spans = parse_model_markdown(text, HANDLES, URLS, is_partial=partial)
    assert {span.kind for span in spans} <= {"text"}
    return [(s.text, "".join(c.evidence for c in s.references) + "?" * s.unsourced) for s in spans]


def numbered(spans: tuple[Span, ...]) -> list[NumberedSpan]:
    numbers = {"a": 1, "b": 2}
    return [
        NumberedSpan(
            span=span,
            numbers=tuple(numbers[cite.evidence] for cite in span.references),
            unsourced=span.unsourced,
        )
        for span in spans
    ]


def drawn(text: str) -> list[Node]:
    return build_answer_tree(numbered(parse_model_markdown(text, HANDLES, URLS)))


def brief(nodes: list[Node]) -> str:
    """A tree on one line: <p>words{1}</p>, a citation as the place of its span."""
    out = ""
    for node in nodes:
        if isinstance(node, str):
            out += node
        elif node["t"] == "cite":
            out += f"{{{node['span']}}}"
        else:
            facts = "".join(f" {k}={node[k]}" for k in ("level", "start", "align") if k in node)
            out += f"<{node['t']}{facts}>{brief(node['c'])}</{node['t']}>"
    return out


def walk(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, dict):
            yield from walk(node.get("c", []))


# --- From text to spans


@each_row(
    ("text", "spans"),
    [
        ("建立 [@3fa9]，后来。", [("建立，", "a"), ("后来。", "")]),
        ("建于1925年[@3fa9]。", [("建于1925年。", "a")]),
        ("It opened in 1925 [@3fa9]. Then", [("It opened in 1925.", "a"), (" Then", "")]),
        ("x [@3fa9][@77aa] y", [("x", "ab"), (" y", "")]),
        ("x [@3fa9], [@77aa].", [("x.", "ab")]),
        ("x [@3fa9, @77aa]", [("x", "ab")]),
        ("x [@3fa9; 77aa]", [("x", "ab")]),
        ("x [@77aa@3fa9 @77aa]", [("x", "ba")]),
        ("x【@3fa9】y（@77aa）z (@3fa9)", [("x", "a"), ("y", "b"), ("z", "a")]),
        ("x [@3FA9] ［＠77AA］", [("x", "ab")]),
        ("x [@12345678]", [("x", "b")]),
        ("x [^@3fa9] y [3fa9] z @3fa9, w", [("x", "a"), (" y", "a"), (" z,", "a"), (" w", "")]),
        ("Really! [@3fa9]", [("Really!", "a")]),
        ("Great![@3fa9]", [("Great!", "a")]),
        ("over。[@3fa9]。Next", [("over。", "a"), ("Next", "")]),
        ("\\[@3fa9\\] `[@77aa]`", [("", "ab")]),
        ("$$x_1 % see [@3fa9]\n= 2$$", [("$$x_1 % see", "a"), ("\n= 2$$", "")]),
        ("[@3fa9] At the start", [("", "a"), (" At the start", "")]),
        ("## Head [@3fa9]\n\nText", [("## Head", "a"), ("\n\nText", "")]),
        ("- [@3fa9] one\n- two [@77aa]", [("- ", "a"), (" one\n- two", "b")]),
        ("**bold [@3fa9]** on", [("**bold", "a"), ("** on", "")]),
        ("no citation", [("no citation", "")]),
        ("", []),
    ],
)
def test_a_handle_ends_the_stretch_that_it_supports(text: str, spans: list[Short]) -> None:
    assert short(text) == spans


PRETENDED = [
    "[@beef]", "（@beef）", "【@beef】", "[@beef; c0de]", "[@smith2020]", "[12]", "[1, 2]", "[1-3]",
    "[^3]", "[^note]", "【4】", "【4†source】", "【4:0†L1-L9】", "［５］", "[id/9-9]", "[来源3]",
    "[source 2]", "\\[7\\]", "[**7**]", "[&#49;]", "[1\u200b]", "![3]", "[1\n]",
]  # fmt: skip


@each_row("marker", PRETENDED)
def test_what_only_pretends_to_be_a_citation_goes_and_leaves_a_mark(marker: str) -> None:
    marked = "x!" if marker.startswith("!") else "x"
    assert short(f"x{marker} y") == [(marked, "?"), (" y", "")]
    assert short(f"x{marker}[@3fa9] y") == [(marked, "a?"), (" y", "")]


@each_row(
    "text",
    [
        "`a[1]` and `[2]`",
        "x\n\n```\na[1] = [2]\n```",
        "~~~py\nx = [1, 2]",
        "- a\n\n  ```\n  [1]\n  ```",
        "财税[2016]36号",
        "- [ ] to do\n- [x] done",
        "(1) one, 2) two, f(3)",
        "[note] and [a, b] and 【重点】",
        "me@cafe.org, @face and [face]",
        "a [x][y] [z]",
        "`@dead` <b>x</b> <!-- y --> &#91;",
    ],
)
def test_what_is_no_citation_stays_as_it_is(text: str) -> None:
    assert short(text) == [(text, "")]


@each_row(
    ("text", "spans"),
    [
        ("see [the page](https://example.org/a).", [("see the page.", "a")]),
        (
            "see [the page](http://EXAMPLE.org/a/#top 'title') now",
            [("see the page", "a"), (" now", "")],
        ),
        ("<https://example.org/a> x", [("", "a"), (" x", "")]),
        ("见https://example.org/a。另", [("见。", "a"), ("另", "")]),
        ("见https://zh.example.org/wiki/故宫。", [("见。", "b")]),
        ("x (https://example.org/x_(y)) y", [("x", "b"), (" y", "")]),
        ("www.example.org/a, y", [(",", "a"), (" y", "")]),
        ("[**bold** [@77aa]](https://example.org/a)", [("**bold**", "ba")]),
        ("x [[1]](https://example.org/a)", [("x", "a")]),
        ("x [@3fa9](https://evil.example/)", [("x", "a")]),
        ("x [@beef](https://example.org/a)", [("x", "a")]),
        ("[56](https://example.org/a) groups", [("56", "a"), (" groups", "")]),
        ("Built in 1925 [1](https://example.org/a).", [("Built in 1925.", "a")]),
        ("建于1925年[1](https://example.org/a)，后扩建", [("建于1925年，", "a"), ("后扩建", "")]),
        (f"[text]({BAD}) on", [("text", "?"), (" on", "")]),
        (f"[text](<{BAD}>)", [("text", "?")]),
        (f"[{BAD}]({BAD})", [("", "?")]),
        (f"x {BAD}的y", [("x", "?"), ("的y", "")]),
        (f"x <{BAD}> y", [("x", "?"), (" y", "")]),
        (f"x **{BAD}**", [("x **", "?"), ("**", "")]),
        ("[text](javascript:alert(1)) [t](/there)", [("text", "?"), (" t", "?")]),
        ("![alt text](https://evil.example/a.png) y", [("alt text y", "")]),
        ("[![alt](https://evil.example/a.png)](https://example.org/a)", [("alt", "a")]),
        (f"[ref]: {BAD} 'title'", [("[ref]:", "?"), (" 'title'", "")]),
        (f"[1]: {BAD}\n[2]: https://example.org/a", [("", "?"), ("\n", "a")]),
    ],
)
def test_an_address_cites_what_was_gathered_and_else_goes(text: str, spans: list[Short]) -> None:
    assert short(text) == spans


def test_a_citation_behind_a_row_is_put_into_its_last_cell() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 | [@3fa9]\n| 3 | 4 [@77aa] |"
    assert short(text) == [("| a | b |\n|---|---|\n| 1 | 2", "a"), (" |\n| 3 | 4", "b"), (" |", "")]


def test_a_citation_behind_a_closing_fence_does_not_keep_it_open() -> None:
    assert short("```\n[1]\n``` [@3fa9]\n\nx [2]") == [("```\n[1]\n```\n", "a"), ("\n\nx", "?")]


def test_the_text_of_the_spans_is_the_markdown_without_its_citations() -> None:
    text = "# T\n\n1. *one* [@3fa9]\n2. `two`\n\n> three [@beef]\n\n---\nfour ~~five~~ [@77aa]"
    plain = re.sub(r" \[@\w+\]", "", text)
    assert "".join(words for words, _ in short(text)) == plain


@each_row("info", ["", "markdown", "md", "Markdown"])
def test_a_fence_around_the_whole_answer_goes(info: str) -> None:
    text = f"```{info}\n# Title\n\n```py\nx[1]\n```\n\nText [@3fa9]\n```\n"
    assert short(text) == [("# Title\n\n```py\nx[1]\n```\n\nText", "a")]


@pytest.mark.parametrize("text", ["```py\nx\n```", "```\na\n```\n\ntext\n\n```\nb\n```", "text\n\n```md\nb\n```"])
def test_other_fences_stay(text: str) -> None:
    assert short(text) == [(text, "")]


def test_private_and_broken_characters_are_taken_out_first() -> None:
    text = "a\ue000\U000f0000b\U00100000 [\U000f0001@3fa9] \ud83d\r\nc"
    assert short(text) == [("ab", "a"), (" \ufffd\nc", "")]


# Text that is still being written

WHOLE = (
    "## 门票\n\n**旺季：**60元[@3fa9]，见[官网](https://example.org/a)和https://example.org/a 。\n\n"
    "- one (@77aa)\n- two【@3fa9】 `x`\n\n| a | b |\n|---|---|\n| 1 | 2 [@77aa] |\n\n1. end![@3fa9]\n"
)


def test_no_half_of_a_citation_or_a_link_is_ever_seen() -> None:
    for end in range(len(WHOLE)):
        spans = short(WHOLE[:end], partial=True)
        text = "".join(words for words, _ in spans)
        assert not re.search(r"[@\[\]【】]|http|\(@", text), WHOLE[:end]
        assert "?" not in "".join(marks for _, marks in spans), WHOLE[:end]
        assert text.count("**") % 2 == 0


def test_a_table_shows_from_its_second_line_on() -> None:
    assert short("x\n\n| a | b |", partial=True) == [("x", "")]
    assert short("x\n\n| a | b |\n|--", partial=True) == [("x", "")]
    assert "|" in short("x\n\n| a | b |\n|---|---|\n", partial=True)[0][0]


def test_the_text_as_a_whole_reads_the_same_once_it_is_written() -> None:
    assert short(WHOLE, partial=True) == short(WHOLE)
    assert short("x [@3f") == [("x [@3f", "")]
    assert short("x [@3fa9]", partial=True) == [("x", "a")]
    assert short("```\nf(**a", partial=True) == [("```\nf(**a", "")]


# --- From spans to a tree


@each_row(
    ("text", "nodes"),
    [
        ("a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e</code></p>"),
        ("**门票：**60元", "<p><strong>门票：</strong>60元</p>"),
        ("是**“故宫”**的", "<p>是<strong>“故宫”</strong>的</p>"),
        ("**故宫。**[@3fa9]下", "<p><strong>故宫。</strong>{0}下</p>"),
        ("snake_case_name 2 * 3 * 4", "<p>snake_case_name 2 * 3 * 4</p>"),
        ("# A\n\n### B\n\n## C", "<h level=3>A</h><h level=5>B</h><h level=4>C</h>"),
        ("#### A [@3fa9]", "<h level=3>A{0}</h>"),
        ("- a [@3fa9]\n- b\n  1. c", "<ul><li>a{0}</li><li>b<ol><li>c</li></ol></li></ul>"),
        ("3. a\n\n4. b", "<ol start=3><li><p>a</p></li><li><p>b</p></li></ol>"),
        (
            "| a | b |\n|:-:|--:|\n| **x [@3fa9]** | [@77aa] |",
            "<table><tr><th align=center>a</th><th align=right>b</th></tr>"
            "<tr><td align=center><strong>x{0}</strong></td><td align=right>{1}</td></tr></table>",
        ),
        ("> quoted [@3fa9]\n\nx", "<blockquote><p>quoted{0}</p></blockquote><p>x</p>"),
        ("```py\na [@3fa9]\n```\nx", "<pre>a\n</pre><p>{0}</p><p>x</p>"),
        ("`code`[@3fa9] x", "<p><code>code</code>{0} x</p>"),
        ("text\n---\nmore", "<p>text</p><hr></hr><p>more</p>"),
        ("text\n===", "<p>text ===</p>"),
        ("    not code", "<p>not code</p>"),
        ("a  \nb<br>c", "<p>a<br></br>b<br></br>c</p>"),
        ("汉\n字\nand\nso", "<p>汉字 and so</p>"),
        ("<b>x</b> <!-- y -->", "<p><b>x</b> <!-- y --></p>"),
        ("a &amp; b &lt; c &copy d", "<p>a & b < c &copy d</p>"),
        ("[a]: /b 'c'\n\n[a]", "<p>[a]: /b 'c'</p><p>[a]</p>"),
        ("x [1\u2060] y", "<p>x{0} y</p>"),
    ],
)
def test_markdown_becomes_a_tree(text: str, nodes: str) -> None:
    assert brief(drawn(text)) == nodes


def span(text: str, *numbers: int, unsourced: bool = False, part: str = "") -> NumberedSpan:
    made = Span(kind="text", text=text, part=part)
    return NumberedSpan(span=made, numbers=numbers, unsourced=unsourced)


def test_only_spans_with_a_number_or_a_mark_have_a_citation() -> None:
    spans = [span("a ", 1), span("b "), span("c", unsourced=True), span("d", 2, unsourced=True)]
    assert brief(build_answer_tree(spans)) == "<p>a {0}b c{2}d{3}</p>"


def test_text_for_another_part_begins_a_paragraph() -> None:
    assert brief(build_answer_tree([span("a", part="1"), span("b", part="2")])) == "<p>a</p><p>b</p>"


@each_row(
    ("spans", "nodes"),
    [
        ([span("[a]: http://x", 1), span("\n\nb")], "<p>[a]: http://x{0}</p><p>b</p>"),
        ([span("[a](http://x", 1), span(") b")], "<p>a b{0}</p>"),
        ([span("![a](http://x"), span(")", 1)], "<p>!a{1}</p>"),
        ([span("<!-- a", 1), span(" -->\n\nb")], "<p><!-- a{0} --></p><p>b</p>"),
        ([span("```a", 1), span("\nb", 2), span("\n```\nc")], "<pre>b\n</pre><p>{0}{1}</p><p>c</p>"),
        ([span("| a |\n|---|\n| b | c", 1), span(" |\n\nd")],
         "<table><tr><th>a</th></tr><tr><td>b{0}</td></tr></table><p>d</p>"),
        ([span("| a |\n|---|\n| b | c", 1), span(" |\n| d", 2), span(" |")],
         "<table><tr><th>a</th></tr><tr><td>b{0}</td></tr><tr><td>d{1}</td></tr></table>"),
        ([span("\\[*1*\\] [**2]**", 1)], "<p><em></em> <strong></strong>{0}</p>"),
        ([span("`a", 1), span("b` c")], "<p><code>ab</code>{0} c</p>"),
        ([span("$$x_1 % see", 1), span("\n= 2$$")], "<p>$$x_1 % see{0} = 2$$</p>"),
        ([span("a &#983040; b", 1)], "<p>a  b{0}</p>"),
        ([span("&#91;1&#93; \\[2\\] [3", 1), span("]")], "<p>  [3{0}]</p>"),
    ],
)  # fmt: skip
def test_no_markdown_swallows_or_forges_a_citation(spans: list[NumberedSpan], nodes: str) -> None:
    assert brief(build_answer_tree(spans)) == nodes


@each_row("turn", [*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"])
def test_nothing_turns_the_direction_of_other_text(turn: str) -> None:
    for written in (turn, f"&#{ord(turn)};", f"&#x{ord(turn):x};"):
        nodes = drawn(f"It costs {written}60 yuan[@3fa9] `a{turn}b` today.\n\n```\n{turn}c\n```\n")
        assert brief(nodes) == "<p>It costs 60 yuan{0} <code>ab</code> today.</p><pre>c\n</pre>"
    assert brief(drawn("שלום\u200f\u200e [@3fa9]")) == "<p>שלום\u200f\u200e{0}</p>"


@each_row("holder", ["> ", "- ", "1. ", "> - "])
def test_what_follows_a_deep_nesting_is_not_lost(holder: str) -> None:
    for deep in (holder * 300 + "deep", "".join(" " * 2 * n + "- n\n" for n in range(300))):
        shown = brief(drawn(f"{deep}\n\n```\ncode\n```\n\n# The end [@3fa9]"))
        assert "<pre>code\n</pre>" in shown
        assert "The end{0}" in shown
    code = f"{' ' * 30}- x: 1\n"
    assert brief(drawn(f"```\n{code}```\n\n{holder * 99}a")).startswith(f"<pre>{code}</pre>")


@each_row("holder", ["> ", "- ", "1. ", "> - "])
def test_the_words_of_a_deep_nesting_are_not_lost(holder: str) -> None:
    lines = [holder * n + f"w{n}w [@3fa9]\n\n" for n in range(1, 46)]
    shown = brief(drawn("".join(lines)))
    assert re.findall(r"w(\d+)w\{", shown) == [str(n) for n in range(1, 46)]


# --- Anything

PIECES = [
    "[@3fa9]", "[@beef]", "(@77aa)", "@3fa9", "[12]", "【4†x】", "[^3]", "id/0-1", "&#91;1&#93;",
    "`", "```", "\n```\n", "~~~", "**", "*", "_", "~~", "[", "]", "(", ")", "!", "![", "](", "\\",
    BAD, "https://example.org/a", "www.", "<b>", "<!--", "-->", "<br>", "<https://x.y/>", "&lt;",
    "\n", "\n\n", "\r", "\n- ", "\n1. ", "\n   ", "\n    ", "\n> ", "\n# ", "\n---\n", "---", "\n|",
    "| a | b |\n|---|---|\n| c | d |", "|", "[a]: http://x", "[a]", "a", "宫", "。", ": ", " ", "\t",
    "\u3000", "“", "”", "\U000f0000", "&#983040;", "\ue000", "\ud83d", "\0", "1", "#", "$",
    "\n[1] https://example.org/a\n", "\n\nSources:\n", "\n[2]: ", "¹", "(Source 1)", "来源1", "[1] ", "<sup>1</sup>",
    "\n| 1 | https://example.org/a |", ". ", "A", "[S1]", "\n[^1]: ", "<a href='", "According to [1], ", "(Li, 2020)",
    "$x^2$", "\\(a_1", "\\)", "\\[", "\\]", "$$", "\n$$\n", "x_1 = ",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=14).map("".join)
TAGS = {
    *("p", "h", "ul", "ol", "li", "table", "tr", "th", "td", "pre", "blockquote", "hr", "math"),
    *("em", "strong", "s", "code", "br", "cite"),
}
PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff\ud800-\udfff]")


def sound(spans: list[NumberedSpan]) -> None:
    """The tree has known nodes only, harmless strings, and every citation once."""
    nodes = build_answer_tree(spans)
    json.dumps(nodes).encode()
    places = []
    for node in walk(nodes):
        if isinstance(node, str):
            assert not PRIVATE.search(node)
            continue
        assert node["t"] in TAGS
        assert set(node) <= {"t", "c", "span", "level", "start", "align", "display", "language"}
        assert 3 <= node.get("level", 3) <= 6
        assert node.get("align", "left") in ("left", "center", "right")
        assert isinstance(node.get("start", 1), int)
        places += [node["span"]] if node["t"] == "cite" else []
    assert sorted(places) == [at for at, s in enumerate(spans) if s.numbers or s.unsourced]
    shown: list[Any] = [n for n in prose(nodes) if isinstance(n, str)]
    assert not any(re.search(r"\[\d{1,3}\]|【\d+】", text) for text in shown)


def prose(nodes: list[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, dict) and node["t"] not in ("code", "pre"):
            yield from prose(node.get("c", []))


@pytest.mark.slow
@given(TEXT)
@settings(max_examples=300, deadline=None)
@example("[1[^3]2]")
@example("[[[1]1]1]")
@example("![[@3fa9]](x)")
@example("**[@3fa9]**[12]`[@beef]`")
def test_any_text_has_only_citations_that_were_gathered(text: str) -> None:
    for ways in ({}, {"is_partial": True}, {"is_partial": True, "is_list_pending": True}):
        spans = parse_model_markdown(text, HANDLES, URLS, **ways)
        assert {cite for s in spans for cite in s.references} <= {A, B}
        assert all(s.text or s.references or s.unsourced for s in spans)
        assert not any(PRIVATE.search(s.text) for s in spans)
        sound(numbered(spans))


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            lambda text, n, unsourced: span(text, *n, unsourced=unsourced),
            TEXT,
            st.sampled_from([(), (1,), (1, 2)]),
            st.booleans(),
        ),
        max_size=5,
    )
)
@settings(max_examples=300, deadline=None)
@example([span("\\(a_1%", 1), span("\\)")])
def test_any_spans_keep_every_citation(spans: list[NumberedSpan]) -> None:
    sound(spans)


REPEATED = [
    " " * 40_000, "\n" * 20_000, "[" * 20_000, "[](" * 8_000, "[@3fa9]" * 3_000, "(@3fa9" * 5_000,
    "`" * 9_000, "a` " * 9_000, "> " * 9_000, "**a" * 9_000, "| " * 9_000 + "[@3fa9]",
    "【]" * 9_000, "[" * 9_000 + "1" + "]" * 9_000, "\\[*1*\\] a" * 4_000, "\\[" * 5_000 + "1\\]" * 5_000,
]  # fmt: skip


@pytest.mark.slow
@each_row("text", REPEATED)
def test_a_model_that_repeats_itself_holds_nobody_up(text: str) -> None:
    began = time.process_time()
    build_answer_tree(numbered(parse_model_markdown(f"x{text}", HANDLES, URLS)))
    parse_model_markdown(f"x{text}", HANDLES, URLS, is_partial=True)
    assert time.process_time() - began < 3
