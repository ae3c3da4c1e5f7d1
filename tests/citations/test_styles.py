"""Citations in other styles than handles: what a list in the text explains is a citation, all else goes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from research.citations.answer_tree import build_answer_tree
from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import NumberedSpan
from research.citations.tree_sentences import find_sentences
from research.core.records import PassageReference
from tests.growth import assert_linear
from tests.tables import each_row

A, B, C = (PassageReference(evidence=name, passage="p", end=9) for name in "abc")
HANDLES = {"3fa9": A, "77aa": B}
URLS = {"example.org/a": A, "example.org/b": B, "example.org/c": C}
TITLES = {"tower guide": A, "故宫博物院官网": B}
ONE, TWO = "https://example.org/a", "https://example.org/b"
LIST = f"\n\n[1] {ONE}\n[2] {TWO}\n"
RAW = re.compile(r"[\[\]［］【】〔〕†^⁽⁾¹²³]|https?:|\(\s*\)|（\s*）|(?i:source|cite|ref)|来源\d?|<sup|\d\.\s*$")


def short(text: str, **more: bool) -> str:
    """The text with its citations: a and b for the sources, ? for the mark that there is none."""
    spans = parse_model_markdown(text, HANDLES, URLS, TITLES, **more)
    marks = ("".join(c.evidence for c in s.references) + "?" * s.unsourced for s in spans)
    return "".join(s.text + f"<{m}>" * bool(m) for s, m in zip(spans, marks, strict=True))


# Marks and lists, as models write them. Each text says two things, with the first and the second source.
STYLES = {
    "numbers": f"It is tall [1]. It is old [2].\n\nSources:\n[1] Tower {ONE}\n[2] {TWO}",
    "definitions": f'It is tall [1]. It is old [2].\n\n[1]: {ONE}\n[2]: <{TWO}> "B"',
    "definitions under a heading": f"It is tall [1]. It is old [2].\n\n## References\n\n[1]: {ONE}\n[2]: {TWO}",
    "number, colon, title": f"It is tall [1]. It is old [2].\n\n[1]: Tower - {ONE}\n[2]: Bridge - {TWO}",
    "glued": f"It is tall.[1] It is old.[2]\n\n1. {ONE}\n2. {TWO}",
    "spaced": f"It is tall. [1] It is old. [2]\n\n**References**\n\n1. Tower – Site. {ONE}. Accessed 5 May 2024.\n2. {TWO}",
    "escaped and dressed": f"It is tall \\[1\\]. It is old [**2**].{LIST}",
    "pages": f"It is tall [1, p. 3]. It is old [2, pp. 4-5].{LIST}",
    "places": f"It is tall [1: 12]. It is old [see 2].{LIST}",
    "footnotes": f"It is tall[^1]. It is old[^b].\n\n[^1]: Tower, {ONE}\n[^b]: {TWO}",
    "footnotes with carets": f"It is tall[^1^]. It is old[^2^].\n\n[^1^]: {ONE}\n[^2^]: {TWO}",
    "carets": f"It is tall^1^. It is old ^2^.\n\n^1^ {ONE}\n^2^ {TWO}",
    "superscripts": f"It is tall.¹ It is old².\n\n¹ {ONE}\n² {TWO}",
    "tags": f"It is tall<sup>1</sup>. It is old<sup>[2]</sup>.\n\n1. {ONE}\n2. {TWO}",
    "tagged links": f'It is tall<sup><a href="#r1">1</a></sup>. It is old <a href="{TWO}">[2]</a>.{LIST}',
    "words in round brackets": f"It is tall (Source 1). It is old (see source 2).\n\nSource 1: {ONE}\nSource 2: {TWO}",
    "citation": f"It is tall [citation:1]. It is old [citation:2].\n\n[citation:1] {ONE}\n[citation:2] {TWO}",
    "labels": f"It is tall [S1]. It is old [S2].\n\n[S1] Tower {ONE}\n[S2] {TWO}",
    "labels and numbers": f"It is tall [S1]. It is old [doc_2].\n\n1. {ONE}\n2. {TWO}",
    "labels of a search": f"It is tall [web:1]. It is old [web:2].\n\n## Sources\n[web:1] {ONE}\n[web:2] {TWO}",
    "daggers": f"It is tall【1†source】. It is old【2:0†L1-L9】.\n\n[1] {ONE}\n[2] {TWO}",
    "circles": f"It is tall①. It is old②.\n\n① {ONE}\n② {TWO}",
    "links": f"It is tall [1]({ONE}). It is old [[2]]({TWO}).",
    "bare addresses": f"It is tall [{ONE}]. It is old ({TWO}).",
    "handles listed": "It is tall [1]. It is old [2].\n\n[1] [@3fa9] Tower\n[2]: @77aa",
    "titles listed": "It is tall [1]. It is old [2].\n\n## Sources\n1. Tower Guide, 2024-01-02\n2. 《故宫博物院官网》",
    "a list without numbers": f"It is tall [1]. It is old [2].\n\n**Sources**\n- {ONE}\n- [B]({TWO})",
    "a table": f"It is tall [1]. It is old [2].\n\n## Sources\n\n| # | URL |\n|---|---|\n| 1 | {ONE} |\n| 2 | {TWO} |",
    "one line": f"It is tall [1]. It is old [2].\n\nSources: [1] Tower {ONE} [2] {TWO}",
    "two lines each": f"It is tall [1]. It is old [2].\n\n[1] Tower\n{ONE}\n\n[2] Bridge\n    {TWO}",
    "names and years": f"It is tall (Smith, 2020). It is old (Jones & Li, 2019).\n\n## References\n\nSmith, A. (2020). {ONE}\n\nJones, B., & Li, C. (2019). {TWO}",
    "before the sentence": f"[1] It is tall. [2] It is old.{LIST}",
    "before the line": f"[1] It is tall.\n[2] It is old.{LIST}",
    "handles before": "[@3fa9] It is tall. [@77aa] It is old.",
    "handles and numbers": f"It is tall [@3fa9]. It is old [2].{LIST}",
    "handles with more": "It is tall [@3fa9, p. 3]. It is old (see @77aa).",
    "handles, spaced": "It is tall [ @ 3fa9 ]. It is old 〔＠77aa〕.",
    "handles, raised": "It is tall<sup>[@3fa9]</sup>. It is old ([@77aa]).",
    "handles and their list": "It is tall [@3fa9]. It is old [@77aa].\n\nSources:\n- [@3fa9] Tower\n- [@77aa] Bridge",
    "handles in one line": "It is tall [@3fa9]. It is old [@77aa].\n\nSources: [@3fa9], [@77aa]",
    "addresses of chat exports": f"It is tall [1]. It is old [2].\n\n1. {ONE}/?utm_source=chatgpt.com\n2. www.example.org/b",
    "cite with a colon": f"[cite_start]It is tall [cite: 1]. It is old [cite: 2].\n\n1. {ONE}\n2. {TWO}",
    "lines of daggers": f"It is tall【1†L3-L7】. It is old【2†L9-L12】.\n\n1. {ONE}\n2. {TWO}",
    "underscores": f"It is tall [web_1]. It is old [web-2].\n\n[web_1]: {ONE}\n[web_2]: {TWO}",
    "footnotes without notes": f"It is tall [^1^]. It is old [2].{LIST}",
    "tagged links in brackets": f'It is tall [<a href="{ONE}">1</a>]. It is old<sup>[<a href="{TWO}">2</a>]</sup>.',
    "raised brackets": f"It is tall.⁽¹⁾ It is old.⁽²⁾{LIST}",
    "tags of references": f"It is tall<ref>1</ref>. It is old<ref name=\"b\">{TWO}</ref>.\n\n1. {ONE}",
    "tokens around": f"It is tall [REF]1[/REF]. It is old [REF]2[/REF].\n\n1. {ONE}\n2. {TWO}",
    "raised by TeX": f"It is tall$^{{[1]}}$. It is old$^{{[2]}}$.{LIST}",
    "twice in brackets": f"It is tall [[1]]. It is old [[2]].{LIST}",
    "number links with words behind": f"It is tall.[1]({ONE}) It is old.[2]({TWO})",
    "a line each": f"It is tall.\nSource: {ONE}\n\nIt is old.\n*Source: [Bridge]({TWO})*",
    "credits with links": f"It is tall (source: [Tower]({ONE})). It is old. (Sources: {TWO})",
}  # fmt: skip
CHINESE = {
    "numbers": f"塔高330米[1]。塔龄百年[2]。\n\n参考来源：\n[1] 官网，{ONE}（访问日期：2024年5月6日）\n[2] 维基，{TWO}",
    "wide": f"塔高330米［１］。塔龄百年〔2〕。\n\n［１］{ONE}\n［２］{TWO}",
    "lenticular": f"塔高330米【1】。塔龄百年【2】。\n\n参考资料\n1. 官网 {ONE}\n2. {TWO}",
    "words": f"塔高330米（来源1）。塔龄百年（见来源2）。\n\n来源1：{ONE}\n来源2：{TWO}",
    "other words": f"塔高330米（参考资料1）。塔龄百年（资料来源：2）。{LIST}",
    "in square brackets": f"塔高330米[来源1]。塔龄百年[来源：2]。{LIST}",
    "pages": f"塔高330米[1，第3页]。塔龄百年[2：第4页]。{LIST}",
    "standard": f"塔高330米[1]。塔龄百年[2]。\n\n参考文献：\n[1] 官网[EB/OL]. (2024-01-02)[2024-05-06]. {ONE}.\n[2] 维基[EB/OL]. {TWO}.",
    "traditional": f"塔高330米[1]。塔龄百年[2]。\n\n參考資料\n[1] 官網 {ONE}\n[2] {TWO}",
    "carets": f"塔高330米【^1^】。塔龄百年【^2^】。\n\n【^1^】：{ONE}\n【^2^】：{TWO}",
    "raised by TeX": f"塔高330米$^{{[1]}}$。塔龄百年$^{{[2]}}$。\n\n1. {ONE}\n2. {TWO}",
    "round brackets": f"塔高330米（1）。塔龄百年（2）。{LIST}",
    "notes": f"塔高330米（注1）。塔龄百年（注2）。\n\n注1：{ONE}\n注2：{TWO}",
    "a line each": f"塔高330米。\n（来源：{ONE}）\n\n塔龄百年。\n**来源：** [桥]({TWO})",
    "credits with links": f"塔高330米（来源：[塔]({ONE})）。塔龄百年。（来源：[桥]({TWO})）",
    "superscripts": f"塔高330米¹。塔龄百年。²\n\n¹ {ONE}\n² {TWO}",
    "before": f"[1]塔高330米。[2]塔龄百年。{LIST}",
    "one line": f"塔高330米[1]。塔龄百年[2]。\n\n参考：[1] 官网 {ONE}；[2] 维基 {TWO}",
    "introduced": f"塔高330米[1]。塔龄百年[2]。\n\n以上内容参考了以下资料：\n1. {ONE}\n2. {TWO}",
    "handles": "塔高330米【@3fa9】。塔龄百年（来源：＠77aa）。",
    "titles": "塔高330米（来源：Tower Guide）。塔龄百年（来源：故宫博物院官网）。",
}


@each_row("text", STYLES.values())
def test_a_mark_that_a_list_explains_is_a_citation_and_the_list_goes(text: str) -> None:
    plain = short(text).replace(" (Smith, 2020)", "").replace(" (Jones & Li, 2019)", "")
    assert " ".join(plain.split()) == "It is tall.<a> It is old.<b>"


@each_row("text", CHINESE.values())
def test_so_is_one_in_chinese(text: str) -> None:
    assert "".join(short(text).split()) == "塔高330米。<a>塔龄百年。<b>"


@each_row(
    ("marks", "cites"),
    [
        ("[1,2]", "ab"), ("[1-3]", "abc"), ("[1–3]", "abc"), ("[1][3]", "ac"), ("[1]–[3]", "abc"),
        ("[1、2]", "ab"), ("[2；1]", "ba"), ("[^1][^2]", "ab"), ("¹,²", "ab"), ("<sup>1,3</sup>", "ac"),
        ("(Sources 1 and 3)", "ac"), ("（来源1、来源2）", "ab"), ("(Source 2; Source 1)", "ba"), ("[S1, S2]", "ab"),
        ("[1], [2]", "ab"), ("([1], [2])", "ab"), ("[1] [@77aa]", "ab"), ("[1][9]", "a?"), ("[7]", "?"),
        ("[1-9]", "abc?"), ("[cite: 1, 3]", "ac"), ("$^{[1,2]}$", "ab"), ("[[1, 2]]", "ab"), ("【1†L3】【2†L9】", "ab"),
    ],
)  # fmt: skip
def test_a_mark_may_point_to_several_sources(marks: str, cites: str) -> None:
    text = f"It is tall {marks}.{LIST}[3] https://example.org/c\n"
    assert short(text) == f"It is tall.<{cites}>"


UNEXPLAINED = [
    "[1]", "[1, 2]", "[1-3]", "[1, p. 3]", "[^1]", "[^note]", "【1】", "【3†source】", "［１］", "^1^", ".¹", "<sup>1</sup>",
    "(Source 1)", "（来源1）", "[来源1]", "[citation:1]", "[S1]", "[web:1]", "[doc_3]", "[source:2]", "\\cite{smith2020}",
    "citeturn0search1", ":contentReference[oaicite:1]{index=1}", "[citation needed]", "[@beef]", "[@beef, p. 3]",
    "[https://evil.example/x]", "[1](https://evil.example/x)",
    '<a href="https://evil.example/x">1</a>',
]  # fmt: skip


@each_row("mark", UNEXPLAINED)
def test_a_mark_that_nothing_explains_goes_and_leaves_its_sentence_without_a_source(
    mark: str,
) -> None:
    for text in (
        f"The tower is tall{mark}. It is old [@3fa9].",
        f"The tower is tall{mark}. It is old [@3fa9].\n\n[1] https://evil.example/x\n[2] Made up\n",
    ):
        shown = short(text)
        assert re.match(r"The tower is tall\.?<\?>\.? It is old\.<a>", shown), shown
        assert "evil" not in shown


@each_row("mark", ["[1, 2]", "[1-2]", "[cite: 1, 2]", "【1†L3】【2†L9】", "$^{[1,2]}$"])
def test_a_list_without_a_heading_is_found_by_marks_of_several_sources(mark: str) -> None:
    assert short(f"It is tall{mark}.\n\n1. {ONE}\n2. {TWO}") == "It is tall.<ab>"


def test_a_line_with_a_source_is_of_the_item_above_it_and_an_invented_one_goes() -> None:
    text = f"- Tall\n  - Source: {ONE}\n- Old\n  - Source: https://evil.example/x"
    assert short(text) == "- Tall<a>\n- Old<?>"
    marked = "It is open [1].\n\nTall.\nSource: {}\n\nOld.\nSource: {}\n\nSo.{}"
    assert short(marked.format(ONE, TWO, LIST)) == "It is open.<a>\n\nTall.<a>\n\nOld.<b>\n\nSo."
    assert short(f"It is tall [1].\nSource: {ONE}") == "It is tall.<a>"
    assert short("塔高（注1）。\n\n注1：不含天线。") == "塔高（注1）。\n\n注1：不含天线。"


@each_row(
    ("mark", "cites"),
    [
        ("【@3fa9†source】", "a"), ("[@3fa9†L1-L3]", "a"), ("[@3fa9^]", "a"), ("[@3fa9.]", "a"), ("[citation: 3fa9]", "a"),
        ("[@3fa9 and @77aa]", "ab"), ("[@3fa9 和 @77aa]", "ab"), ('[@3fa9: "tall"]', "a"), ("[@3fa9 - Some page]", "a"),
        ("[Tower Guide @3fa9]", "a"), ("[@3fa9 Tower Guide]", "a"), ("$^{[@3fa9, @77aa]}$", "ab"), ("\\cite{3fa9}", "a"),
        ("\\citep{@3fa9, 77aa}", "ab"), ("<cite>[@3fa9]</cite>", "a"), ("<citation>@3fa9</citation>", "a"),
        ("【@beef†source】", "?"), ("[@3fa9 and @beef]", "a?"), ("\\cite{beef}", "?"),
    ],
)  # fmt: skip
def test_a_handle_in_any_dress_is_a_citation_and_leaves_nothing_of_it(mark: str, cites: str) -> None:
    assert short(f"It is tall{mark}. It is red.") == f"It is tall.<{cites}> It is red."
    assert short(f"It is tall {mark}.") == f"It is tall.<{cites}>"


def test_words_beside_a_handle_that_say_something_stay() -> None:
    assert short("So [@3fa9 says that it is tall].") == "So [<a> says that it is tall]."


def test_only_what_was_gathered_resolves_a_mark() -> None:
    evil = "It is tall [1]. It is old [2].\n\n## Sources\n1. https://evil.example/a\n"
    assert short(f"{evil}2. {TWO}\n") == "It is tall.<?> It is old.<b>"
    assert short("It is tall [1].\n\n## References\n1. Smith. The Tower. Nature 2020.") == ("It is tall.<?>")
    assert short(f"It is tall [1].\n\n[1] {ONE}\n[1] {TWO}\n") == "It is tall.<?>"
    assert short("It is tall [1].\n\n## Sources\n1. Tower Guide to Rome\n") == "It is tall.<?>"


def test_each_section_has_the_list_below_it() -> None:
    text = f"## A\n\nTall [1].\n\nSources:\n[1] {ONE}\n\n## B\n\nOld [1].\n\nSources:\n[1] {TWO}\n"
    assert re.sub(r"\n+", "|", short(text)) == "## A|Tall.<a>|## B|Old.<b>"


@each_row(
    "text",
    [
        "Area 100 m², 10⁶ people, E=mc², 5 kg², x³, Ca²⁺, 3 × 10³ kg/m³, a² + b² = c², R², CO₂.",
        "占地100平方米²，二氧化碳CO₂，10⁶人。",
        "财税[2016]36号 and [1999] and [2020] UKSC 5.",
        "He sayed [sic] that [emphasis added] it is.",
        "- [ ] to do\n- [x] done",
        "There are (1) one and (2) two ways; 资料3份，文献2篇；步骤①打开。",
        "Use `a[1]` and `b[2][0]`.",
        "So:\n\n```\na[1] = [2]¹\n```",
        "$x_1 = [0, 1]$ and $$a_{[0,1]} = b^2$$",
        "Sources disagree on it. 来源很多。",
        "So \\(f([1,2])\\), \\[ x \\in [1, 2] \\] and $[0,1]$ and E = mc².",
        "Open from [2020-01-01] to [2020-12-31].",
        f"So:\n\n```\n[1] {ONE} [2] {TWO}\nSource: {ONE}\n```",
        "（1）先买票。步骤（1）是买票，（2）是排队。",
        "Use `[cite: 1]`, `[REF]1[/REF]` and ``$^{[1]}$``.",
    ],
)
def test_what_is_no_mark_stays_beside_a_list_too(text: str) -> None:
    assert short(text) == text
    assert short(f"{text}\n\nIt is tall [1].{LIST}") == f"{text}\n\nIt is tall.<a>"


def test_an_index_or_an_interval_without_ticks_is_shown_as_code() -> None:
    text = f"So arr[0] and rows[3], 区间[0, 1] and the interval [3, 7] are tall [1].{LIST}"
    assert short(text) == ("So arr`[0]` and rows`[3]`, 区间`[0, 1]` and the interval `[3, 7]` are tall.<a>")
    text = f"设x∈[1, 2]，矩阵[1, 2; 2, 1]很小[1]。{LIST}"
    assert short(text) == "设x∈`[1, 2]`，矩阵`[1, 2; 2, 1]`很小。<a>"


def test_a_number_that_is_a_link_may_be_what_a_sentence_counts() -> None:
    assert short(f"It has [3]({ONE}) floors. 有[5]({TWO})个门。") == "It has 3<a> floors. 有5<b>个门。"
    assert short(f"Tall [1]({ONE}) and old [2]({TWO}) too.") == "Tall<a> and old<b> too."


def test_numbered_paragraphs_without_sources_keep_their_numbers() -> None:
    text = "第一条规定如下 [@3fa9]：\n[1] 本条例适用于北京。\n[2] 前款除外。"
    assert short(text) == "第一条规定如下：<a>\n(1) 本条例适用于北京。\n(2) 前款除外。"


@each_row(
    "text",
    [
        "Two lakes feed it [@3fa9].\n\n## Sources\n\n- Lake Victoria, the largest [@3fa9]\n- Lake Tana [@77aa]",
        f"Pages on it:\n\n1. [The tower]({ONE}) tells of its height.\n2. [The bridge]({TWO}) tells of 1889.",
        f"塔很高。\n\n参考来源：\n1. {ONE}\n2. {TWO}",
        f"It is tall [@3fa9].\n\n## Further reading\n\n- [B]({TWO})",
    ],
)  # fmt: skip
def test_a_list_that_is_the_answer_stays(text: str) -> None:
    assert short(text).count("<a>") >= 1 and "<b>" in short(text)


@each_row("heading", ["Notes:", "## Footnotes", "注释：", "**备注**"])
def test_remarks_below_a_heading_of_notes_are_part_of_the_answer(heading: str) -> None:
    remarks = f"{heading}\n1. Except on public holidays.\n2. Up to 12 years."
    text = f"It is closed on Mondays [1]. It is free for children [2].\n\n{remarks}"
    assert short(text) == f"It is closed on Mondays.<?> It is free for children.<?>\n\n{remarks}"
    assert short(f"It is tall [1].\n\n{remarks}\n\n## Sources\n1. {ONE}\n") == (f"It is tall.<a>\n\n{remarks}")
    listed = f"It is tall [1].\n\n{heading}\n1. {ONE}\n"
    assert short(listed) == "It is tall.<a>"


def test_what_stands_behind_the_list_stays() -> None:
    behind = "All prices as of 2024."
    assert short(f"It is tall [1].{LIST}{behind}\n") == f"It is tall.<a>\n\n{behind}"
    ended = short(f"It is tall [1].\n\n## Sources\n1. {ONE}\n\n## In short\n\nIt is tall [1].")
    assert re.sub(r"\n+", "|", ended) == "It is tall.<a>|## In short|It is tall.<a>"
    assert short("It is tall[^1].\n\n[^1]: Only in summer.") == ("It is tall.<?>\n\nOnly in summer.<?>")


@each_row(
    ("text", "spans"),
    [
        ("According to [1], it is tall.", "According to<a>, it is tall."),
        ("According to [1] and [2], it is tall.", "According to<a> and<b>, it is tall."),
        ("根据[1]，塔高。", "根据<a>，塔高。"),
        ("It is tall. [1] reports that it is old.", "It is tall. Source<a> reports that it is old."),
        ("[1] and [2] agree that it is old.", "Source<a> and<b> agree that it is old."),
        ("塔高。[1]指出，塔龄百年。", "塔高。来源<a>指出，塔龄百年。"),
        ("According to Source 2, it is tall.", "According to Source<b>, it is tall."),
        ("- [1] It is tall.\n- [2] It is old.", "- It is tall.<a>\n- It is old.<b>"),
        ("**[1]** It is tall.", "It is tall.<a>"),
        ("[1][2] It is tall. It is open.\n\nIt is old [2].", "It is tall.<ab> It is open.\n\nIt is old.<b>"),
    ],
)  # fmt: skip
def test_a_citation_before_its_sentence_belongs_to_it(text: str, spans: str) -> None:
    assert short(text + LIST) == spans


def sentences_of(text: str) -> list[tuple[str, str]]:
    spans = parse_model_markdown(text, HANDLES, URLS, TITLES)
    items = [NumberedSpan(span=s, numbers=(1,) * bool(s.references), unsourced=s.unsourced) for s in spans]
    marks = ["".join(c.evidence for c in s.references) for s in spans]
    return [(p.text, "".join(marks[at] for at in p.span_indices)) for p in find_sentences(build_answer_tree(items))]


def test_the_check_reads_each_citation_with_the_sentence_that_it_belongs_to() -> None:
    text = f"[1] It is 330 m tall. [2] It opened in 1889.\n\nIt is red. [2] notes that it is open.{LIST}"
    assert sentences_of(text) == [
        ("It is 330 m tall.", "a"),
        ("It opened in 1889.", "b"),
        ("It is red.", ""),
        ("Source notes that it is open.", "b"),
    ]


# While it is written


@pytest.mark.slow
@each_row("text", [*STYLES.values(), *CHINESE.values()])
def test_no_mark_and_no_list_is_seen_while_an_answer_is_written(text: str) -> None:
    for end in range(len(text)):
        shown = short(text[:end], is_partial=True, is_list_pending=True)
        assert "?" not in shown, text[:end]
        words = re.sub(r"<[ab]+>|\(?(?:Smith|Jones)[^)]*\)?", "", shown)
        assert not RAW.search(words), (text[:end], words)


def test_a_draft_says_that_an_invented_handle_has_no_source_and_nothing_yet_of_a_number() -> None:
    assert short("It is tall [@beef]. It", is_partial=True, is_list_pending=True) == "It is tall.<?> It"
    assert short("It is tall [1]. It", is_partial=True, is_list_pending=True) == "It is tall. It"
    assert short("It is tall [1]. It", is_partial=True) == "It is tall.<?> It"


# Any size

REPEATED = [
    "[1] A. ", "来源1", "(Source 1)", "a¹ ", "[1] x.\n", "[1]: https://example.org/a\n", "<sup>1</sup>", "(see ",
    "- [1] a https://x.example/y\n", "Sources:\n[1] https://example.org/a\n\n", "《[1]》", "^1", "[^1]: x\n", "[S1] ",
    "<a href='https://x.example/'>1</a>", "(Smith, 2020) ", "[1](", "Sources: ", "$^{[1]}$", "[cite: 1", "[REF]1", "[[1]]",
    "[@3fa9: ", "[@3fa9 and ", "\\cite{3fa9,", "<cite>@3fa9", "[Tower Guide @3fa9 ", "<ref>1</ref>", "<ref>", "a\nSource: https://x.example/y\n", "(source: [b](https://x.example/y) ", "¹ https://x.example/y\n",
]  # fmt: skip


@pytest.mark.slow
@each_row("piece", REPEATED)
def test_the_time_grows_with_the_length_of_a_text_and_no_faster(piece: str) -> None:
    def work(size: int) -> Callable[[], object]:
        text = f"{piece * (size * 40)}\n\n{LIST}"
        return lambda: parse_model_markdown(text, HANDLES, URLS, TITLES)

    assert_linear(work, 4)
