"""What leaves the house reads back as what went in: numbers, sources, and outside text as text."""

import json
import re
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

from research.citations.answer_tree import build_answer_tree
from research.citations.numbering import CitedAnswer, NumberedSpan, check_numbering, number_citations
from research.citations.registry import collect_evidence, evidence_id
from research.citations.support import SUPPORT_ACCURACY
from research.core.records import (
    Answer,
    Evidence,
    Failure,
    Finding,
    Language,
    Part,
    Passage,
    PassageReference,
    Place,
    Plan,
    Reflection,
    Report,
    Run,
    RunOptions,
    RunStatus,
    SearchArea,
    Span,
    Task,
    Usage,
)
from research.core.text.quotes import normalise_quote
from research.core.urls import url_identity
from research.export.markdown import answer_markdown, escape_markdown, render_spans, report_markdown
from research.export.places_markdown import MAX_PLACES
from research.export.report_facts import export_file_name
from research.export.report_json import report_json
from tests.tables import each_row

NOW = datetime(2025, 3, 1, 8, 5, tzinfo=UTC)
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def knows_formulas() -> MarkdownIt:
    """A reader to which a dollar opens a formula.

    Whether a backslash stands before the first character of a paragraph its plugin looks up at the
    paragraph's end, so each begins with a space here.
    """
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    reader.use(dollarmath_plugin, double_inline=True)

    def indented(state: StateCore) -> None:
        for token in state.tokens:
            if token.type == "inline":
                token.content = f" {token.content}"

    reader.core.ruler.before("inline", "indented", indented)
    return reader


TEX = knows_formulas()
URL = "https://example.org/a"
LINKS = {URL, "https://redirect.example/g"}

HOSTILE = [
    "![x](https://evil.example/?q=1)",
    "!![x](https://evil.example/)",
    "[x](javascript:alert(1))",
    "]( https://evil.example/ )",
    "](https://evil.example/)",
    "x](https://evil.example/ 'y')[z",
    "[1]: https://evil.example/",
    "[1] [2]",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<!-- hidden",
    "<https://evil.example/>",
    "javascript:alert(1)",
    "www.evil.example",
    "`code` ``` ~~~",
    "$x$ $$y$$",
    "a | b | c",
    "|---|---|",
    "# heading #",
    "> quote",
    "- item",
    "+",
    "1. item",
    "2) item",
    "---",
    "===",
    "***",
    "**bold** __bold__ *i* _i_ ~~s~~",
    "&lt;b&gt; &#60; &copy",
    "\\",
    "\\](https://evil.example/)",
    "left\u202eright\u2066\u200f",
    "🏯👨\u200d👩\u200d👧 emoji",
    "\0\x01\x1b[31m",
    "{x} {0} %s",
    "“nested” ‘quotes’ 「引」",
]

BARRED = {"image", "html_inline", "html_block", "code_block"}
PARAGRAPH = ("paragraph_open", "paragraph_close")

# --- Escaping


def flat(text: str) -> str:
    """What a text has to read as, on one line."""
    words = re.sub("[\u202a-\u202e\u2066-\u2069]", "", text)
    return re.sub("[\0\ue100-\uf8ff]", "\ufffd", " ".join(words.split()))


def plain(tokens: list[Token]) -> str:
    """The text of inline tokens; fails on anything but text."""
    assert all(token.type == "text" for token in tokens), [token.type for token in tokens]
    return "".join(token.content for token in tokens)


def inline(markdown: str, *kinds: str) -> list[Token]:
    """The inline tokens of a document that has this one block and no other."""
    tokens = MARKDOWN.parse(markdown)
    assert [token.type for token in tokens if token.type != "inline"] == list(kinds), markdown
    children = next(token for token in tokens if token.type == "inline").children or []
    return [token for token in children if token.content or token.type != "text"]


ACTIVE = st.text(st.sampled_from(list("\\`*_[]<>#|$~!&;:/+-=.()1ax \t\n\"'{}@^宫\u3000\u202e")))
PIECES = st.lists(st.sampled_from([*HOSTILE, "\n", " ", "a", "&", "_", "宫"]), max_size=5)
TEXT = st.one_of(ACTIVE, st.text(), PIECES.map("".join))


@pytest.mark.slow
@given(TEXT)
@settings(max_examples=500)
@example("a_b_c __init__ _x_")
@example("\u202e # heading")
@example("1234567890. x")
@example("    code")
@example("<1@1>")
@example("a <1@b.example> <")
def test_escaped_text_reads_as_itself(text: str) -> None:
    if not flat(text):
        assert escape_markdown(text) == ""
        return
    assert plain(inline(escape_markdown(text), *PARAGRAPH)) == flat(text)
    heading = inline(f"## {escape_markdown(text)}", "heading_open", "heading_close")
    assert plain(heading) == flat(text)
    item = ("bullet_list_open", "list_item_open", "paragraph_open")
    ends = ("paragraph_close", "list_item_close", "bullet_list_close")
    assert plain(inline(f"- {escape_markdown(text)}", *item, *ends)) == flat(text)
    bold = inline(f"**{escape_markdown(text)}**", *PARAGRAPH)
    assert [bold[0].type, bold[-1].type] == ["strong_open", "strong_close"]
    assert plain(bold[1:-1]) == flat(text)
    link = inline(f"“x” [{escape_markdown(text)}]({URL})", *PARAGRAPH)
    assert [link[1].type, link[-1].type] == ["link_open", "link_close"]
    assert plain(link[2:-1]) == flat(text)


@given(TEXT, TEXT, st.sampled_from([" ", "; ", "；", " · ", "，", "”"]))
@example("R&copy", "x", "; ")
@example("<1", "@b>", ";")
def test_escaped_texts_side_by_side_stay_text(left: str, right: str, between: str) -> None:
    if flat(left):
        joined = inline(f"{escape_markdown(left)}{between}{escape_markdown(right)}", *PARAGRAPH)
        assert plain(joined) == f"{flat(left)}{between}{flat(right)}".strip()


@given(TEXT, TEXT)
def test_escaped_text_stays_in_its_table_cell(left: str, right: str) -> None:
    tokens = MARKDOWN.parse(f"| {escape_markdown(left)} | {escape_markdown(right)} |\n|---|---|\n")
    cells = [token.children or [] for token in tokens if token.type == "inline"]
    assert [plain(cell) for cell in cells] == [flat(left), flat(right)]


@each_row(
    "sentence",
    [
        "故宫（紫禁城）占地72万平方米，开放于1925年：门票60元，学生50%优惠，即¥30。",
        "「免费」不免票？《指南》第3版、2024-05-01；电话 010-8500-7421！",
        "The Palace Museum (opened in 1925) drew 17.6 million visitors, 5% more: a record!",
        "It's 3.5 km from Tian'anmen; see http://example.org/a?b=1 - or ask: “why?”",
        "R&D at AT&T, x < 3 and y > 4, C# and snake_case, -5 °C, +86 10.",
    ],
)
def test_ordinary_sentences_need_no_escape(sentence: str) -> None:
    assert escape_markdown(sentence) == sentence


def test_what_hides_or_marks_text_in_obsidian_is_escaped() -> None:
    assert escape_markdown("80%% of it %%hidden%% and ==marked==; 5% = x") == (
        "80\\%\\% of it \\%\\%hidden\\%\\% and \\=\\=marked\\=\\=; 5% = x"
    )


def test_a_tilde_is_escaped_because_github_strikes_out_between_two() -> None:
    assert escape_markdown("3~5天，10~20元") == "3\\~5天，10\\~20元"


def test_half_a_surrogate_pair_cannot_break_the_file() -> None:
    assert escape_markdown("a\ud83d") == "a\ufffd"


# --- A report


def cite(evidence: str, passage: str) -> PassageReference:
    return PassageReference(evidence=evidence, passage=passage)


def run(question: str, status: RunStatus = "done", **more: Any) -> Run:
    return Run(
        id="3f2a-9b1c-77",
        conversation="secret-conversation",
        owner="secret-owner",
        question=question,
        options=RunOptions(queries=3, loops=2, sources=("library", "web")),
        status=status,
        created=NOW,
        **more,
    )


def report(
    words: str,
    *,
    url: str = URL,
    language: Language = "en",
    question: str = "",
    prose: str | None = None,
) -> Report:
    """A report of every feature, with `words` wherever text comes from outside.

    Where a model writes Markdown it is `prose`, if that is given.
    """
    prose = words if prose is None else prose
    passage = Passage(id="p", text=f"Before. {words} After.", heading=words, page=3, title=words)
    web = Evidence(
        id="w",
        kind="web",
        title=words,
        publisher=words,
        url=url,
        retrieved=NOW,
        passages=(passage,),
    )
    said = Passage(id="g", origin="grounding", text=words)
    grounded = Evidence(
        id="g",
        kind="web",
        title=words,
        publisher=words,
        url="https://redirect.example/g",
        retrieved=NOW,
        url_expires=True,
        passages=(said,),
    )
    book = Evidence(
        id="d", kind="library", title=words, locator="d", sample=True, published=date(2024, 5, 1),
        retrieved=NOW, passages=(passage,),
    )  # fmt: skip
    tasks = [
        Task(id=str(n), round=n, source=source, query=words, purpose=words)
        for n, source in [(1, "library"), (2, words), (1, "web")]
    ]
    beside = Failure(stage="summarise", source=words, reason="cut off", message=words)
    findings = (
        Finding(
            task=tasks[0],
            evidence=(web, book, grounded),
            started=NOW,
            seconds=0.42,
            reused=True,
            provider=words,
            provider_queries=(words, words),
            message=words,
            summary=(Span(kind="text", text="Summed up.", references=(cite("g", "g"),)),),
            suggestions="<b>suggested</b>",
            failures=(beside,),
        ),
        Finding(task=tasks[1], reason="timeout", hint="location", message=words, started=NOW, seconds=30),
    )
    both = (cite("w", "p"), cite("d", "p"))
    spans = (
        Span(kind="notice", text=words),
        Span(kind="heading", text=words),
        Span(kind="quote", text=words, references=both),
        Span(kind="quote", text=words + "altered", references=both),
        Span(kind="missing", text=words),
        Span(kind="text", text=prose, references=(*both[1:], cite("g", "g"))),
        Span(kind="text", text=prose, references=(cite("invented", "p"),)),
    )
    failures = (
        Failure(source=words, query=words, reason="timeout", message=words),
        Failure(stage="reflect", source=words, reason="refused", hint="key", message=words),
    )
    answer = Answer(
        title=words,
        language=language,
        author=words,
        spans=spans,
        failures=failures,
        suggestions=("<b>suggested</b>",),
        created=NOW,
    )
    plan = Plan(
        parts=(Part(id="1", subject=words, text=words),),
        tasks=(tasks[0], tasks[2].model_copy(update={"id": "9"})),
        edited=True,
        notes=(words,),
    )
    follow_up = tasks[1]
    reflection = Reflection(round=1, sufficient=False, gap=(words,), follow_ups=(follow_up,), note=words)
    usage = (
        Usage(stage="plan", model="m:a", input=1200, cached=200, output=30, cost=0.001),
        Usage(stage="write", model="m:a", input=8800, output=970, cost=0.02),
        Usage(stage="search", model=words, searches=2),
    )
    return Report(
        run=run(question or words, error=words),
        plan=plan,
        findings=findings,
        reflections=(reflection,),
        answer=answer,
        usage=usage,
    )


def numbered(made: Report) -> CitedAnswer:
    assert made.answer
    return number_citations(made.answer, collect_evidence(made.findings))


def exported(made: Report) -> str:
    return report_markdown(made, numbered(made))


def unmarked(made: Report) -> str:
    """The answer without what is said of its support."""
    return answer_markdown(numbered(made))


def section(markdown: str, heading: str) -> str:
    """What stands between a heading of the second level and the next."""
    parts = re.split(r"^## (.*)$", markdown, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[heading]


def numbers_in(markdown: str) -> list[int]:
    return [int(found) for found in re.findall(r"(?<!\\)\[(\d+)\]", markdown)]


def uncoded(markdown: str) -> str:
    """Markdown without the code in it."""
    blocks = re.sub(r"^(?:[ >*+]|\d+[.)])*(`{3,})\n.*?^[ >]*\1$", "", markdown, flags=re.M | re.S)
    return re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", blocks)


def everything(markdown: str, reader: MarkdownIt = MARKDOWN) -> list[Token]:
    tokens = reader.parse(markdown)
    return [item for token in tokens for item in (token, *(token.children or []))]


def shape(markdown: str) -> list[str]:
    """The structure of a document without its words."""
    return [token.type for token in everything(markdown) if token.content or token.type != "text"]


def links(markdown: str) -> set[Any]:
    return {token.attrs["href"] for token in everything(markdown) if token.type == "link_open"}


def test_a_report_in_english_reads_like_this() -> None:
    made = report("Opened in 1925.", question="When did the museum open?\nAnd why?")
    assert exported(made) == ENGLISH.replace("PERCENT", f"{SUPPORT_ACCURACY['en'].balanced * 100:.0f}")
    assert check_numbering(numbered(made)) == []


ENGLISH = """\
# When did the museum open? And why?

## Question

When did the museum open?

And why?

## Answer

**Opened in 1925.**

1 of 3 sentences supported, 1 unclear, 1 without a source. This is an automatic hint, not a verdict: its balanced \
accuracy on claims labelled by others is PERCENT% (50% is chance).

> Opened in 1925.

### Opened in 1925.

- “Opened in 1925.” [1] [2] — Opened in 1925. · Opened in 1925. · p. 3; Opened in 1925. · \
Opened in 1925. · p. 3
- “Opened in 1925.altered” (no source)
- Opened in 1925.

Opened in 1925. [2] [3] Opened in 1925. (no source)

## Sources

1. [Opened in 1925.](https://example.org/a) — web page, Opened in 1925., retrieved 2025-03-01
2. Opened in 1925. — document, dated 2024-05-01, sample data
3. [Opened in 1925.](https://redirect.example/g) — web page, Opened in 1925., retrieved 2025-03-01, \
the link expires after about 30 days
   - “Opened in 1925.” — the search model's wording, not the page's

## Failed steps

- Opened in 1925. did not answer in time. Try again; if this happens often, the time limits can be raised on \
the server. (“Opened in 1925.”)
- reflection: Opened in 1925. refused the key. Check the key in Settings.

## Plan and rounds

The plan was edited by hand.

Parts of the question:

- “Opened in 1925.” — Opened in 1925.

Opened in 1925.

### Round 1

- “Opened in 1925.” — library (Opened in 1925.); why: Opened in 1925.; 3 passages; \
Opened in 1925.; 0.4 s; reused
  - Queries run: “Opened in 1925.”; “Opened in 1925.”
  - Also failed: summarising what was found — Opened in 1925.; cut off at the length limit
- “Opened in 1925.” — web; why: Opened in 1925.; not run

Reflection: there are gaps.

Opened in 1925.

- Gap: Opened in 1925.
- Follow-up: “Opened in 1925.” — Opened in 1925.; why: Opened in 1925.

### Round 2

- “Opened in 1925.” — Opened in 1925.; why: Opened in 1925.; no answer in time; \
the service is not available in this region; 30.0 s

## Usage

- In all: 3 calls; 10,000 tokens in; of these 200 cached; 1,000 tokens out; 2 searches; \
about 0.0210 US dollars (estimate; some prices are unknown)
- m:a: 2 calls; 10,000 tokens in; of these 200 cached; 1,000 tokens out; \
about 0.0210 US dollars (estimate)
- Opened in 1925.: 1 call; 2 searches; cost unknown

## How this was made

- Author: Opened in 1925.
- Options: queries 3; max. rounds 2; sources library, web
- Models and services: m:a, Opened in 1925.
- Run: 3f2a-9b1c-77
- Run status: done
- Error: Opened in 1925.
- Completed: 2025-03-01 08:05 UTC
- Sample data: sources 2
- Failures: 2
"""


def test_a_report_in_chinese_has_chinese_headings_and_words() -> None:
    markdown = exported(report("开放于1925年。", language="zh"))
    headings = re.findall(r"^## (.*)$", markdown, flags=re.M)
    assert headings == [
        "问题", "答案", "来源", "失败的步骤", "计划与各轮搜索", "用量", "生成说明",
    ]  # fmt: skip
    assert "- “开放于1925年。” [1] [2] — 开放于1925年。 · 开放于1925年。 · 第 3 页；" in markdown
    assert "- 开放于1925年。" in markdown
    assert "（无来源）" in markdown
    assert "链接约 30 天后失效" in markdown
    assert "   - “开放于1925年。” — 搜索模型的概述，非原文" in markdown
    assert "- 反思：开放于1925年。拒绝了密钥，请在设置中检查。" in markdown
    assert "（估算，部分价格未知）" in section(markdown, "用量")


@pytest.mark.parametrize(
    ("language", "line"),
    [("en", "- Not found in the sources searched."), ("zh", "- 所查资料中未找到。")],
)
def test_a_part_without_an_answer_says_so_in_one_sentence(language: Language, line: str) -> None:
    made = report("x", language=language)
    for text in ("", line.removeprefix("- ")):
        assert made.answer
        answer = made.answer.model_copy(update={"spans": (Span(kind="missing", text=text),)})
        lines = exported(made.model_copy(update={"answer": answer})).splitlines()
        assert line in lines


def answered(made: Report, *spans: Span, **more: Any) -> Report:
    """The report with another answer."""
    assert made.answer
    update = {"spans": spans, "title": "", **more}
    return made.model_copy(update={"answer": made.answer.model_copy(update=update)})


def text(words: str, *cites: str, unsourced: bool = False, part: str = "") -> Span:
    """A stretch of Markdown that cites sources by their ids, all of which have a passage p."""
    pointed = tuple(cite(name, "p") for name in cites)
    return Span(kind="text", text=words, references=pointed, part=part, unsourced=unsourced)


def test_text_flows_on_unless_a_paragraph_or_its_part_ends() -> None:
    spans = [
        text("甲。"),
        text("乙。", "w"),
        text("(丙)\n\n丁"),
        text("\n戊"),
        text("己", part="2"),
    ]
    paragraphs = unmarked(answered(report("x", language="zh"), *spans)).split("\n\n")
    assert paragraphs == ["甲。乙。 [1] (丙)", "丁戊", "己"]


def test_what_a_model_wrote_keeps_its_shape_below_the_headings_of_the_report() -> None:
    spans = [
        text("# Tickets\n\n**High season:** 60 yuan", "w", "d"),
        text(" (adults), `a|b`\n\n- one", "d"),
        text("\n- two\n  1. three", unsourced=True),
        text("\n\n| Month | Price |\n|:--|--:|\n| April | 60", "w"),
        text(" |\n| `x\\|y` | *40* |\n\n> said\n\n```py\nprice[1] = 60\n```\n\n## Closed\n\n---\n2025\\. End."),
    ]  # fmt: skip
    made = answered(report("x"), *spans)
    markdown = unmarked(made)
    assert markdown == WRITTEN
    kinds = [token.type for token in MARKDOWN.parse(markdown)]
    for kind, times in {"table_open": 1, "tr_open": 3, "bullet_list_open": 1, "fence": 1}.items():
        assert kinds.count(kind) == times
    assert "ordered_list_open" in kinds
    assert json.loads(report_json(made, numbered(made)))["answer"] == markdown


WRITTEN = """\
### Tickets

**High season:** 60 yuan [1] [2] (adults), `a|b`

* one [2]
* two
  1. three (no source)

| Month | Price |
| :--- | ---: |
| April | 60 [1] |
| `x\\|y` | *40* |

> said

```py
price[1] = 60
```

#### Closed

---

2025\\. End."""


@each_row(
    ("spans", "markdown"),
    [
        ([text("a", "w"), text("(b)")], "a [1] (b)"),
        ([text("a", "w"), text(": b")], "a [1] : b"),
        ([text("", "w"), text(": https://evil.example/")], "[1] : https://evil.example/"),
        ([text("**a", "w"), text("**(b)")], "**a [1]**(b)"),
        ([text("**a **b", "w"), text("**(c)**")], "**a b [1] (c)**"),
        ([text("!", "w")], "! [1]"),
        ([text("[", "w"), text("](b)")], "[1]"),
        ([text("*", "w"), text("a*")], "*[1] a*"),
        ([text("**门票：**60元**“故宫”**", "w")], "**门票：** 60元 **“故宫”** [1]"),
        ([text("a<br># b<br>1. c", "w")], "a\n\n\\# b\n\n1\\. c [1]"),
        ([text("# a #", "w"), text(" #")], "### a \\# [1]"),
        ([text("* * x\n* y")], "* + x\n* y"),
        ([text("- a\n\n+ b")], "* a\n\n+ b"),
        ([text("`` a`b ``")], "``a`b``"),
        ([text("[2024] &#91;1&#93;")], "\\[2024\\]"),
    ],
)  # fmt: skip
def test_citations_and_text_do_not_act_on_each_other(spans: list[Span], markdown: str) -> None:
    made = answered(report("x"), *spans)
    assert unmarked(made) == markdown


def test_an_answer_that_could_not_be_written_is_marked_for_programs() -> None:
    made = answered(report("x"), text("a"), placeholder=True)
    assert json.loads(report_json(made, numbered(made)))["placeholder"] is True


def test_without_usage_there_is_no_section_of_it() -> None:
    made = report("x").model_copy(update={"usage": ()})
    assert "## Usage" not in exported(made)
    usage = json.loads(report_json(made, numbered(made)))["usage"]
    assert usage["calls"] == []
    assert (usage["total"]["cost"], usage["total"]["complete"]) == (0, True)


def test_a_price_that_nobody_knows_is_unknown_and_not_free() -> None:
    used = Usage(stage="write", model="local:model", input=10, output=1)
    made = report("x").model_copy(update={"usage": (used,)})
    assert "In all: 1 call; 10 tokens in; 1 tokens out; cost unknown" in exported(made)
    total = json.loads(report_json(made, numbered(made)))["usage"]["total"]
    assert (total["cost"], total["complete"]) == (None, False)


@pytest.mark.parametrize(("language", "words"), [
    ("en", "In all: 2 calls; 20 tokens in; 2 tokens out; tokens of 1 call estimated from the length "
     "of the text, because the server did not report them; about 0.2000 US dollars (estimate)"),
    ("zh", "合计：2 次调用；输入 20 token；输出 2 token；其中 1 次调用的服务器未返回 token 数，"
     "按文本长度估算；约 0.2000 美元（估算）"),
])  # fmt: skip
def test_tokens_that_nobody_has_counted_are_marked_and_the_total_is_not_complete(
    language: Language, words: str
) -> None:
    used = Usage(stage="write", model="m", input=10, output=1, cost=0.1)
    both = used, used.model_copy(update={"estimated": True})
    made = report("x", language=language).model_copy(update={"usage": both})
    assert words in exported(made)
    told = json.loads(report_json(made, numbered(made)))["usage"]
    assert [call["estimated"] for call in told["calls"]] == [False, True]
    assert (told["total"]["estimated"], told["total"]["complete"]) == (1, False)


def test_a_long_question_is_cut_in_the_title_and_whole_below() -> None:
    question = "why " * 100
    markdown = exported(report("x", question=question))
    title = markdown.partition("\n")[0]
    assert len(title) <= 82
    assert title.endswith("why…")
    assert section(markdown, "Question").strip() == question.strip()


@each_row("status", ["stopped", "failed", "interrupted", "running"])
def test_a_run_without_an_answer_exports_its_plan_and_what_it_found(status: RunStatus) -> None:
    whole = report("Found *this*.", question="When did it open?")
    made = whole.model_copy(update={"answer": None, "run": run("When did it open?", status, error="No <disk>")})
    markdown = report_markdown(made, None)
    assert f"There is no answer. The run's status is: {status}." in markdown
    assert "  - [Found \\*this\\*.](https://example.org/a) — web page" in markdown
    assert "- Found \\*this\\*. did not answer in time." in markdown
    assert "Found \\*this\\*. stopped at its length limit" in markdown
    assert "; the search model's wording, not the page's" in markdown
    assert "- Error: No <disk>" in markdown.replace("\\", "")
    assert "Author" not in markdown
    assert links(markdown) == LINKS
    data = json.loads(report_json(made, None))
    assert (data["answer"], data["blocks"], data["sources"]) == ("", [], [])
    assert (data["author"], data["created"]) == (None, None)
    assert data["run"]["status"] == status
    assert [failure["stage"] for failure in data["failures"]] == ["summarise", "search"]
    assert len(data["evidence"]) == 3


def test_a_look_up_that_found_nothing_is_told_but_has_not_failed() -> None:
    task = Task(id="1", source="library", query="q")
    empty = Finding(task=task, reason="empty", started=NOW)
    markdown = report_markdown(Report(run=run("?", "stopped"), findings=(empty,)), None)
    assert "- “q” — library; nothing found; 0.0 s" in markdown
    assert "Failures: 0" in markdown


def test_a_title_that_is_the_question_is_not_repeated() -> None:
    assert "**" not in exported(report("When did it open?"))


def test_a_run_that_was_only_queued_exports_too() -> None:
    made = Report(run=run("", "queued"))
    assert report_markdown(made, None).startswith("# Untitled\n")
    assert "No plan was made." in report_markdown(made, None)
    assert json.loads(report_json(made, None))["plan"] is None


@each_row("text", HOSTILE)
def test_hostile_text_changes_no_structure_and_reads_as_itself(text: str) -> None:
    benign, hostile = exported(report("plain")), exported(report(text, prose="plain"))
    assert shape(hostile) == shape(benign)
    assert links(hostile) == LINKS
    read = ["".join(c.content for c in t.children or []) for t in MARKDOWN.parse(hostile)]
    assert any(flat(text) == line for line in read)
    assert numbers_in(section(hostile, "Answer")) == numbers_in(section(benign, "Answer"))
    unanswered = report(text).model_copy(update={"answer": None})
    assert links(report_markdown(unanswered, None)) == LINKS


@each_row("text", HOSTILE)
def test_what_a_model_wrote_can_be_no_link_no_image_and_no_tag(text: str) -> None:
    markdown = exported(report("plain", prose=text))
    assert not BARRED & set(shape(markdown))
    assert links(markdown) == LINKS
    answer = uncoded(section(markdown, "Answer"))
    assert sorted(numbers_in(answer)) == [1, 2, 2, 3]
    assert answer.count("(no source)") == 2
    made = report("plain", prose=text)
    assert json.loads(report_json(made, numbered(made)))["blocks"][-1]["text"] == text


@each_row(
    ("url", "linked"),
    [
        ("javascript:alert(1)", None),
        ("data:text/html,<script>", None),
        ("https://user:pw@evil.example/", None),
        ("https://example.org/a) b", True),
        ("https://example.org/a)[x](https://evil.example/)", True),
        ("https://example.org/<script>", True),
        ("https://example.org/a\\)", True),
        ("https://example.org/*a*_b_`c`|$d$", True),
        ("https://example.org/?a=1&copy;=2&lt;", True),
        ("https://example.org/故宫(北京)", True),
        ("https://example.org/\u202egpj.exe", True),
    ],
)
def test_an_address_can_only_be_the_link_that_it_is(url: str, linked: bool | None) -> None:
    markdown = exported(report("plain", url=url))
    found = links(markdown)
    if linked is None:
        assert found == LINKS - {URL}
        return
    assert shape(markdown) == shape(exported(report("plain")))
    found -= LINKS - {URL}
    assert len(found) == 1
    source = numbered(report("plain", url=url)).sources[0].evidence
    same = found.pop().replace("%28", "(").replace("%29", ")").replace("%3B", ";")
    for code, char in [("%5B", "["), ("%5D", "]"), ("%2A", "*")]:
        same = same.replace(code, char)
    assert url_identity(same) == url_identity(source.url)


FIELDS = [
    "schema", "language", "run", "question", "title", "author", "created", "sample", "placeholder",
    "suggestions", "answer", "blocks", "support", "sources", "evidence", "coverage", "review", "conflicts", "notes", "plan", "clarification", "instructions", "rounds", "failures", "usage",
]  # fmt: skip
EVIDENCE = [
    "id", "kind", "title", "publisher", "url", "further_url", "locator", "published", "published_at", "retrieved", "sample", "domain_status",
    "url_expires", "notice", "place", "paper", "passages",
]  # fmt: skip


def test_the_json_has_what_the_report_has_and_no_owner() -> None:
    made = report("开放于1925年。")
    exported_json = report_json(made, numbered(made))
    assert "开放于1925年。" in exported_json
    assert "secret" not in exported_json
    assert "suggested" not in exported_json
    data = json.loads(exported_json)
    assert data["schema"] == "sightline-report/8"
    assert list(data) == FIELDS
    assert [item["id"] for item in data["evidence"]] == [item["id"] for item in data["sources"]]
    assert list(data["evidence"][0]) == EVIDENCE
    assert list(data["sources"][0]) == ["number", *EVIDENCE[:-1], "times", "passages"]
    assert data["sources"][1]["published"] == "2024-05-01"
    assert [item["url_expires"] for item in data["sources"]] == [False, False, True]
    assert data["sources"][2]["passages"][0]["origin"] == "grounding"
    assert data["answer"].splitlines()[-1].endswith(" [2] [3] 开放于1925年。 (no source)")
    assert data["created"] == "2025-03-01T08:05:00+00:00"
    assert data["suggestions"] == 1
    assert [failure["stage"] for failure in data["failures"]] == ["search", "reflect"]
    assert data["usage"]["total"] == {
        "calls": 3, "input": 10_000, "cached": 200, "output": 1_000, "searches": 2, "cost": 0.021,
        "unpriced": 1, "estimated": 0, "complete": False,
    }  # fmt: skip


def test_the_json_says_of_every_piece_what_it_cites() -> None:
    made = report("开放于1925年。")
    data = json.loads(report_json(made, numbered(made)))
    quote, altered, _, cited, invented = data["blocks"][2:]
    assert quote["quotes"] == [{"number": n, "passage": "p", "heading": "开放于1925年。", "page": 3} for n in (1, 2)]
    ids = [source["id"] for source in data["sources"]]
    assert quote["citations"] == [
        {"number": n, "evidence": ids[n - 1], "passage": "p", "start": 0, "end": 0} for n in (1, 2)
    ]
    assert (altered["citations"], altered["unsourced"]) == ([], True)
    assert [(c["number"], c["passage"]) for c in cited["citations"]] == [(2, "p"), (3, "g")]
    assert (cited["quotes"], cited["unsourced"]) == ([], False)
    assert (invented["citations"], invented["unsourced"]) == ([], True)


def test_the_json_tells_every_round_with_what_each_search_did() -> None:
    made = report("x")
    data = json.loads(report_json(made, numbered(made)))
    assert [item["round"] for item in data["rounds"]] == [1, 2]
    first, second = (item["findings"][0] for item in data["rounds"])
    ids = [item["id"] for item in data["evidence"]]
    assert (first["provider"], first["provider_queries"], first["passages"]) == ("x", ["x", "x"], 3)
    assert first["evidence"] == ids
    (summed,) = first["summary"]
    assert summed["text"] == "Summed up."
    assert summed["citations"] == [{"evidence": ids[2], "passage": "g", "start": 0, "end": 0}]
    assert first["failures"][0]["stage"] == "summarise"
    assert (second["reason"], second["hint"], second["message"]) == ("timeout", "location", "x")
    assert data["rounds"][0]["not_run"][0]["id"] == "9"
    assert data["rounds"][0]["reflections"][0]["gap"] == ["x"]


def test_half_a_surrogate_pair_breaks_neither_format() -> None:
    made = report("a\ud83d")
    exported(made).encode()
    json.loads(report_json(made, numbered(made)).encode())


def test_a_file_name_comes_from_time_and_run_alone() -> None:
    made = report("../../etc/passwd")
    assert export_file_name(made, "md") == "sightline-20250301-0805-3f2a9b1c.md"
    assert export_file_name(made, ".json") == "sightline-20250301-0805-3f2a9b1c.json"
    east = NOW.astimezone(timezone(timedelta(hours=8)))
    odd = Report(run=made.run.model_copy(update={"id": "../é", "created": east}))
    assert export_file_name(odd, "md") == "sightline-20250301-0805-run.md"


# --- Places

LAKE = SearchArea(name="西湖", lng=120.148, lat=30.2425, radius=2000)
STATION = SearchArea(name="杭州东站", lng=120.2126, lat=30.2907)
PALACE = Place(
    id="B000A8UIN8", name="故宫博物院", lng=116.397029, lat=39.917839, provider="amap",
    category="sight", type="风景名胜;博物馆", address="景山前街4号", district="东城区",
    city="北京市", distance=1234, rating=4.9, cost=60.0, hours="08:30-17:00",
)  # fmt: skip
BARE = Place(id="o1", name="湖畔小馆", lng=-0.0, lat=0.5, provider="offline", sample=True)


def poi(place: Place) -> Evidence:
    url = f"https://www.amap.com/place/{place.id}" if place.provider == "amap" else ""
    publisher = {"amap": "高德地图", "offline": "Sightline 离线示例"}[place.provider]
    text = f"{place.name}：博物馆；地址：{place.address}"
    return Evidence(
        id=place.id, kind="place", title=place.name, publisher=publisher, url=url,
        locator=f"{place.provider}:{place.id}", retrieved=NOW, sample=place.sample, place=place,
        passages=(Passage(id="p", text=text, end=len(text)),),
    )  # fmt: skip


def surveyed(
    *found: tuple[SearchArea | None, list[Place]],
    cites: tuple[str, ...] = (),
    language: Language = "zh",
) -> Report:
    """A report of a search for places around each centre, whose answer cites some of them."""
    findings = tuple(
        Finding(
            task=Task(id=str(at), source="places", query="附近的博物馆"),
            evidence=tuple(poi(place) for place in places),
            started=NOW,
            provider="amap",
            search_area=centre,
        )
        for at, (centre, places) in enumerate(found)
    )
    spans = tuple(text("可去。", name) for name in cites)
    answer = Answer(title="", language=language, author="digest", spans=spans, created=NOW)
    return Report(run=run("附近？"), findings=findings, answer=answer)


def table(markdown: str) -> list[list[str]]:
    """What the cells of the only table of a document read as, the head included."""
    tokens = MARKDOWN.parse(markdown)
    assert [token.type for token in tokens].count("table_open") == 1
    rows: list[list[str]] = []
    for before, token in pairwise(tokens):
        if token.type == "tr_open":
            rows.append([])
        if before.type in ("th_open", "td_open"):
            rows[-1].append("".join(child.content for child in token.children or []))
    assert {len(row) for row in rows} == {9}
    return rows


def test_places_are_a_table_with_the_cited_ones_first() -> None:
    made = surveyed((LAKE, [BARE, PALACE]), cites=(PALACE.id,))
    markdown = exported(made)
    assert section(markdown, "地点") == CHINESE_PLACES
    assert table(markdown)[1:] == [
        ["[1]", "故宫博物院", "景点", "北京市 东城区 景山前街4号", "1.2 公里", "4.9", "60",
         "08:30-17:00", "39.917839, 116.397029"],
        ["—", "湖畔小馆 · 示例数据", "", "", "", "", "", "", "0.500000, 0.000000"],
    ]  # fmt: skip
    headings = re.findall(r"^## (.*)$", markdown, flags=re.M)
    assert headings[2:5] == ["来源", "地点", "计划与各轮搜索"]


CHINESE_PLACES = """

- 搜索中心：西湖，30.242500, 120.148000，半径 2.0 公里

| 来源 | 名称 | 类别 | 地址 | 距离 | 评分（满分 5） | 人均（元） | 营业时间 | 坐标（WGS-84：纬度，经度） |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| [1] | [故宫博物院](https://www.amap.com/place/B000A8UIN8) | 景点 | 北京市 东城区 景山前街4号 \
| 1.2 公里 | 4.9 | 60 | 08:30-17:00 | 39.917839, 116.397029 |
| — | 湖畔小馆 · 示例数据 |  |  |  |  |  |  | 0.500000, 0.000000 |

"""


def test_places_in_english_have_english_words() -> None:
    near = PALACE.model_copy(update={"distance": 820, "cost": 45.5, "category": "unheard-of"})
    markdown = exported(surveyed((LAKE, [near]), language="en"))
    head, row = table(markdown)
    assert head == [
        "Source", "Name", "Category", "Address", "Distance", "Rating (of 5)", "Yuan per person",
        "Hours", "Coordinates (WGS-84: lat, lng)",
    ]  # fmt: skip
    assert (row[0], row[2], row[4], row[6]) == ("—", "unheard-of", "820 m", "45.5")
    assert "- Searched around: 西湖, 30.242500, 120.148000, radius 2.0 km" in markdown


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("zh", "半径 2.0 公里（500 米内没有找到，已扩大）"),
        ("en", "radius 2.0 km (widened: nothing within 500 m)"),
    ],
)
def test_a_search_that_was_widened_tells_both_radii(language: Language, words: str) -> None:
    wider = LAKE.model_copy(update={"requested_radius": 500})
    assert words in exported(surveyed((wider, [PALACE]), language=language))


def test_where_there_are_several_centres_a_distance_says_from_which() -> None:
    other = PALACE.model_copy(update={"id": "B0FFFAB6J2", "distance": 90})
    again = PALACE.model_copy(update={"distance": 5})
    made = surveyed((LAKE, [PALACE]), (STATION, [other, again]), (None, [BARE]))
    markdown = exported(made)
    assert [row[4] for row in table(markdown)[1:]] == ["1.2 公里 · 西湖", "90 米 · 杭州东站", ""]
    assert "- 搜索中心：杭州东站，30.290700, 120.212600\n" in markdown


def test_a_report_without_places_has_no_section_of_them() -> None:
    assert "## Places" not in exported(report("x"))
    assert "## 地点" not in exported(surveyed((LAKE, [])))


def test_a_place_among_the_sources_says_whose_it_is_and_when_it_was_looked_up() -> None:
    made = surveyed((LAKE, [PALACE, BARE]), cites=(PALACE.id, BARE.id))
    assert section(exported(made), "来源").split("\n")[2:4] == [
        "1. [故宫博物院](https://www.amap.com/place/B000A8UIN8) — POI 高德地图，查询于 2025-03-01",
        "2. 湖畔小馆 — 离线示例地点，查询于 2025-03-01",
    ]
    way = poi(BARE).model_copy(update={"place": None, "title": "步行"})
    finding = made.findings[0].model_copy(update={"evidence": (way,)})
    listed = report_markdown(made.model_copy(update={"findings": (finding,), "answer": None}), None)
    assert "  - 步行 — Sightline 离线示例，查询于 2025-03-01，示例数据\n" in listed


def test_places_are_listed_without_an_answer_too() -> None:
    made = surveyed((LAKE, [PALACE, BARE])).model_copy(update={"answer": None})
    assert [row[0] for row in table(report_markdown(made, None))[1:]] == ["—", "—"]


@pytest.mark.slow
def test_of_very_many_places_it_says_how_many_more_there_are() -> None:
    places = [PALACE.model_copy(update={"id": f"B{n:09}"}) for n in range(MAX_PLACES + 3)]
    cites = tuple(place.id for place in places[-2:])
    markdown = exported(surveyed((LAKE, places), cites=cites))
    numbers = [row[0] for row in table(markdown)[1:]]
    assert numbers == ["[1]", "[2]", *["—"] * (MAX_PLACES - 2)]
    assert "\n\n另有 3 处未列出。\n\n" in markdown
    assert "未列出" not in exported(surveyed((LAKE, places[:MAX_PLACES]), cites=cites[:0]))


def named(words: str) -> Report:
    """Places with outside text wherever there can be any."""
    fields = ("name", "category", "type", "address", "district", "city", "hours", "phone")
    place = PALACE.model_copy(update=dict.fromkeys(fields, words))
    centre = LAKE.model_copy(update={"name": words})
    return surveyed((centre, [place, BARE]), (LAKE, []), cites=(PALACE.id,), language="en")


@each_row("words", HOSTILE)
def test_a_hostile_place_breaks_no_table_and_reads_as_itself(words: str) -> None:
    benign, hostile = exported(named("plain")), exported(named(words))
    assert shape(hostile) == shape(benign)
    assert links(hostile) == links(benign) == {"https://www.amap.com/place/B000A8UIN8"}
    row = table(hostile)[1]
    assert (row[0], row[1], row[2], row[3]) == ("[1]", flat(words), flat(words), flat(words))
    assert row[7] == flat(words)


@pytest.mark.slow
@given(TEXT)
@settings(max_examples=200, deadline=None)
def test_whatever_a_place_is_called_the_table_has_its_rows(words: str) -> None:
    rows = table(exported(named(words)))
    assert [row[0] for row in rows] == ["Source", "[1]", "—"]
    assert rows[1][1] == (flat(words) or "https://www.amap.com/place/B000A8UIN8")
    assert [row[8] for row in rows[1:]] == ["39.917839, 116.397029", "0.500000, 0.000000"]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), 181.0])
def test_a_place_that_is_nowhere_has_no_coordinates_and_breaks_no_file(wrong: float) -> None:
    figures = dict.fromkeys(("lng", "rating", "cost"), wrong)
    lost = PALACE.model_copy(update=figures)
    centre = LAKE.model_copy(update={"lng": wrong})
    made = surveyed((centre, [lost]))
    assert table(exported(made))[1][8] == "—"
    assert "- 搜索中心：西湖，—，半径 2.0 公里" in exported(made)

    def refused(name: str) -> None:
        raise AssertionError(f"JSON has no {name}")

    data = json.loads(report_json(made, numbered(made)), parse_constant=refused)
    (item,) = data["evidence"]
    assert item["place"]["lng"] == (181 if wrong == 181 else None)
    assert item["place"]["lat"] == 39.917839


def test_the_json_has_the_places_and_what_was_searched_around() -> None:
    made = surveyed((LAKE, [PALACE]), (None, []), cites=(PALACE.id,))
    data = json.loads(report_json(made, numbered(made)))
    (cited,), (found,) = data["sources"], data["evidence"]
    assert Place.model_validate(cited["place"]) == Place.model_validate(found["place"]) == PALACE
    near, nowhere = (finding["search_area"] for finding in data["rounds"][0]["findings"])
    assert (SearchArea.model_validate(near), nowhere) == (LAKE, None)
    other = report("x")
    assert {item["place"] for item in json.loads(report_json(other, None))["evidence"]} == {None}


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("zh", "- 需要说得更具体：哪座城市的附近？（“附近？”）"),
        (
            "en",
            "- Be more specific: 哪座城市的附近？ (“附近？”)",
        ),
    ],
)
def test_a_question_that_is_asked_back_reads_as_one(language: Language, line: str) -> None:
    failure = Failure(source="places", query="附近？", reason="unclear", message="哪座城市的附近？")
    made = answered(report("x", language=language), failures=(failure,))
    assert line in exported(made).splitlines()


# --- Any report

PAGES = [
    "https://example.org/{n}",
    "http://example.org/{n}",
    "https://EXAMPLE.org/{n}/",
    "https://example.org:443/{n}?utm_source=x#part",
    "http://example.org/{n}#top",
]
PASSAGES = ["It said: “Opened in 1925.” Then [1] rained.", "Opened in 1925.", "开放于 1925 年。"]


@st.composite
def sources(draw: st.DrawFn) -> Evidence:
    """A page in one of its spellings or a document, under its id or a wrong one."""
    n = draw(st.integers(0, 3))
    page = draw(st.sampled_from([*PAGES, ""]))
    url = page.format(n=n)
    picked = draw(st.lists(st.sampled_from(range(len(PASSAGES))), max_size=4))
    key = f"{'page' if url else 'document'}-{n}"
    right = evidence_id("web", url, key)
    return Evidence(
        id=draw(st.sampled_from([right, f"wrong-{key}", f"wrong-{key}-{page}"])),
        kind="web",
        title=draw(st.sampled_from(["Plain", "", *HOSTILE])),
        url=url,
        locator=key,
        sample=draw(st.booleans()),
        retrieved=NOW,
        passages=tuple(
            Passage(id=f"{key}-{at}", text=PASSAGES[at], heading=draw(st.sampled_from(HOSTILE))) for at in picked
        ),
    )


@st.composite
def reports(draw: st.DrawFn) -> Report:
    found = draw(st.lists(st.lists(sources(), max_size=3), max_size=4))
    findings = tuple(
        Finding(task=Task(id=str(at), source="web", query="q"), evidence=tuple(items), started=NOW)
        for at, items in enumerate(found)
    )
    known = [(item.id, p.id) for items in found for item in items for p in item.passages]
    invented = [("invented", "page-0-0"), ("", ""), *((item, "invented") for item, _ in known[:2])]
    invented += [(item, passage) for item, _ in known[:1] for _, passage in known[-1:]]
    cites = st.sampled_from([*known, *known, *invented]).map(lambda pair: cite(*pair))
    texts = st.sampled_from([*PASSAGES, "Opened\nin 1925", "“Opened in 1925.”", "Altered", ""])
    kinds = st.sampled_from(["quote", "quote", "text", "text", "heading", "missing", "notice"])
    span = st.builds(
        Span,
        kind=kinds,
        text=texts | st.sampled_from(HOSTILE),
        cites=st.lists(cites, max_size=4).map(tuple),
        part=st.sampled_from(["", "1"]),
        unsourced=st.sampled_from([False, False, True]),
    )
    spans = tuple(draw(st.lists(span, max_size=10)))
    answer = Answer(title="", language="en", author="digest", spans=spans, created=NOW)
    return Report(run=run("When?"), findings=findings, answer=answer)


def true_sources(span: Span, findings: tuple[Finding, ...]) -> set[str]:
    """What a span may rightly cite, worked out from the findings without the registry."""
    pairs = {(cite.evidence, cite.passage) for cite in span.references}
    owners = {i.id: url_identity(i.url) or i.locator for f in findings for i in f.evidence}
    held = {
        (url_identity(item.url) or item.locator, passage.id): passage
        for finding in findings
        for item in finding.evidence
        for passage in item.passages
    }
    found = set()
    for evidence, passage_id in pairs:
        owner = owners.get(evidence, "")
        passage = held.get((owner, passage_id))
        quoted = passage and normalise_quote(span.text) and normalise_quote(span.text) in normalise_quote(passage.text)
        if passage and (span.kind != "quote" or quoted):
            found.add(owner)
    return found


@pytest.mark.slow
@given(reports())
@settings(max_examples=300, deadline=None)
def test_every_number_of_any_report_stands_for_one_true_source(made: Report) -> None:
    cited = numbered(made)
    assert check_numbering(cited) == []
    owners = [url_identity(s.evidence.url) or s.evidence.locator for s in cited.sources]
    assert len(set(owners)) == len(owners)
    for item in cited.spans:
        true = true_sources(item.span, made.findings)
        untrue = item.span.kind == "quote" and item.span.unsourced
        assert {owners[n - 1] for n in item.numbers} == (set() if untrue else true)
        assert item.unsourced or not item.span.unsourced
    used = [n for item in cited.spans for n in item.numbers]
    assert list(dict.fromkeys(used)) == list(range(1, len(owners) + 1))

    markdown = report_markdown(made, cited)
    assert markdown.endswith("\n")
    assert sorted(numbers_in(uncoded(section(markdown, "Answer")))) == sorted(used)
    listed = [int(n) for n in re.findall(r"^(\d+)\. ", section(markdown, "Sources"), flags=re.M)]
    assert listed == list(range(1, len(owners) + 1))
    assert {url_identity(link) for link in links(markdown)} == {
        url_identity(s.evidence.url) for s in cited.sources if s.evidence.url
    }
    assert not BARRED & set(shape(markdown))

    data = json.loads(report_json(made, cited))
    cites = [[c["number"] for c in item["citations"]] for item in data["blocks"]]
    assert [n for numbers in cites for n in dict.fromkeys(numbers)] == used
    assert {item["id"] for item in data["sources"]} <= {item["id"] for item in data["evidence"]}
    assert [source["number"] for source in data["sources"]] == listed
    assert [source["url"] for source in data["sources"]] == [s.evidence.url for s in cited.sources]
    assert all(source["passages"] for source in data["sources"])


# --- Anything that a model may write

MODEL = st.lists(
    st.sampled_from([*HOSTILE, *PASSAGES, "\n", "\n\n", "\n- ", "\n  ", "**", "*", "`", "[", "](", "|"])
    | st.sampled_from(["\n1. ", "\n> ", "\n# ", "```\n", "\n```\n", "<br>", ":", "(", "“", "宫", "[1]"])
    | st.sampled_from(["$", "$x_1$", "$$", "\n$$\n", "\\(a^2", "\\)", "\\[", "\\]", " = b", "5", "n"])
    | st.text(max_size=3),
    max_size=8,
).map("".join)


def rendered(markdown: str) -> str:
    """What a strict renderer that knows formulas shows, without white space and the marks of emphasis."""
    words = [token.content for token in everything(markdown, TEX) if token.type != "inline"]
    return squeezed("".join(words))


def squeezed(words: str) -> str:
    return re.sub(r"[\s\0\ufffd*~]", "", words)


def shown(nodes: list[Any], marks: list[str]) -> str:
    """What the tree has to show."""
    out = ""
    for node in nodes:
        if isinstance(node, str):
            out += node
        else:
            out += marks[node["span"]] if node["t"] == "cite" else shown(node["c"], marks)
    return out


@pytest.mark.slow
@given(st.lists(st.tuples(MODEL, st.sampled_from([(), (1,), (1, 2)])), min_size=1, max_size=4))
@settings(max_examples=400, deadline=None)
@example([("**a **b", (1,)), ("**(c)**", ())])
@example([("$x_1$\\", ())])
@example([("<*1*@1>", ())])
@example([("<1", (1,)), ("@1>", ())])
def test_whatever_a_model_writes_a_strict_renderer_shows_as_its_tree(
    pieces: list[tuple[str, tuple[int, ...]]],
) -> None:
    spans = [NumberedSpan(span=text(words), numbers=numbers) for words, numbers in pieces]
    marks = ["".join(f" [{n}]" for n in item.numbers) for item in spans]
    written = render_spans(spans, lambda item: marks[spans.index(item)])
    kinds = set(shape(written))
    assert not (BARRED | {"link_open"}) & kinds
    assert rendered(written) == squeezed(shown(build_answer_tree(spans), marks))
    headings = [token.tag for token in MARKDOWN.parse(written) if token.type == "heading_open"]
    assert not {"h1", "h2"} & set(headings)
