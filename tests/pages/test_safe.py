"""Outside text stays text, whatever is in it."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pages.shared.escaping import escape_markdown, markdown_link, web_url
from tests.tables import each_row

READER = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])
MARKS = "\\`*_{}[]()<>#+-.!|$~&:@=^\"'/\n\t 0123aAz字🎉"
HOSTILE = [
    "![x](http://127.0.0.1/q.png)",
    "!![x](http://127.0.0.1/q.png)",
    "\\![x](http://127.0.0.1/q.png)",
    "[x]: http://127.0.0.1\n[x]",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!-- x -->",
    "[x](javascript:alert(1))",
    "<https://example.org>",
    "&lt;b&gt;&#60;b&#62;&amp;",
    "$x$ and $$y$$ and \\$z\\$",
    ":red[x] :material/search: :smile: ::: note",
    "`code` ``co`de`` ```\nfence\n```",
    "    indented\n\tindented",
    "# head\n## head\nhead\n====\nhead\n----",
    "- a\n+ b\n* c\n1. d\n2) e",
    "> quote\n***\n---\n| a | b |\n|---|---|\n| 1 | 2 |",
    "*a* **b** _c_ __d__ ~~e~~ ^f^ ==g==",
    "C:\\new\\table \\\\server\\share",
    "1986. A great year",
]


def texts(markdown: str) -> str:
    """What a reader sees; fails on anything but one paragraph of text."""
    tokens = READER.parse(markdown)
    assert {token.type for token in tokens} <= {"paragraph_open", "paragraph_close", "inline"}
    children = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in children} <= {"text", "text_special"}
    return "".join(child.content for child in children)


@given(st.text(alphabet=MARKS, max_size=60) | st.text(max_size=60) | st.lists(st.sampled_from(HOSTILE)).map("\n".join))
@example("\\")
@example("\x00")
def test_no_markup_survives_and_no_text_is_lost(text: str) -> None:
    seen = texts(escape_markdown(text))
    assert seen == " ".join(text.split()).replace("\x00", "\ufffd")


@each_row("text", HOSTILE)
def test_hostile_text_is_shown_as_it_is(text: str) -> None:
    assert texts(escape_markdown(text)) == " ".join(text.split())


@each_row("text", HOSTILE)
def test_hostile_text_stays_text_inside_the_marks_of_a_page(text: str) -> None:
    """In a list, in bold, in a coloured stretch: where the pages put it."""
    html = READER.render(
        f"- **{escape_markdown(text, 160)}** — {escape_markdown(text)}  \n  :gray[{escape_markdown(text)}]"
    )
    assert set(re.findall(r"<(\w+)", html)) == {"ul", "li", "strong", "br"}


@given(st.text(alphabet=MARKS))
def test_every_mark_that_markdown_or_streamlit_reads_is_escaped(text: str) -> None:
    for mark in "`*_[]<>$:|~!#":
        assert re.search(rf"(?<!\\)(?:\\\\)*{re.escape(mark)}", escape_markdown(text)) is None


@given(st.text(max_size=300), st.integers(1, 40))
def test_a_limit_counts_the_characters_that_are_seen(text: str, limit: int) -> None:
    seen = texts(escape_markdown(text, limit))
    whole = " ".join(text.split()).replace("\x00", "\ufffd")
    assert len(seen) <= limit
    assert seen == whole or (seen.endswith("…") and whole.startswith(seen[:-1].rstrip()))


@each_row(
    "address",
    [
        "https://example.org/a_(b)?q=1&copy;=2#x",
        "http://127.0.0.1:9/<img src=x>](y) *z* `c` $a$ [d]",
        "https://例子.example/新闻 一?问=答",
        'https://example.org/"><script>alert(1)</script>',
    ],
)
@each_row("text", HOSTILE)
def test_a_link_is_one_link_with_plain_text_whatever_its_address(text: str, address: str) -> None:
    (paragraph,) = (token for token in READER.parse(markdown_link(text, address)) if token.children)
    assert paragraph.children is not None
    assert paragraph.children[0].type == "link_open"
    assert {child.type for child in paragraph.children[1:-1]} <= {"text", "text_special"}
    assert paragraph.children[-1].type == "link_close"
    target = str(paragraph.children[0].attrs["href"])
    assert target.startswith(("https://", "http://127.0.0.1:9/"))
    assert not set(target) & set('<>()[]`* "$')


@each_row(
    "address",
    ["", "javascript:alert(1)", "data:text/html,x", "//example.org", "/x", "https://", "http://[x"],
)
def test_an_address_that_is_none_of_the_web_makes_no_link(address: str) -> None:
    assert web_url(address) == ""
    assert markdown_link("a [b](c)", address) == escape_markdown("a [b](c)")
