"""An answer is cut into sentences once, and marks stand where those end."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from research.citations.answer_tree import build_answer_tree
from research.citations.markdown_parser import Node
from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import NumberedSpan
from research.citations.tree_sentences import TreeSentence, find_sentences, insert_marks
from research.core.records import PassageReference

HANDLES = {f"ab{n}0": PassageReference(evidence=f"e{n}", passage=f"p{n}") for n in range(4)}


def grown(text: str) -> list[Node]:
    spans = parse_model_markdown(text, HANDLES, {})
    return build_answer_tree([NumberedSpan(span=s, numbers=(1,) if s.references else ()) for s in spans])


def without_marks(nodes: list[Node]) -> list[Node]:
    """The same tree without marks, neighbouring strings as one."""
    out: list[Node] = []
    for node in nodes:
        if isinstance(node, dict):
            if node["t"] == "mark":
                continue
            node = {**node, "c": without_marks(node["c"])} if "c" in node else node
        if isinstance(node, str) and out and isinstance(out[-1], str):
            out[-1] += node
        elif node != "":
            out.append(node)
    return out


def marks(nodes: list[Node]) -> list[int]:
    found = []
    for node in nodes:
        if isinstance(node, dict):
            found += [node["sentence"]] if node["t"] == "mark" else marks(node.get("c", []))
    return found


def test_sentences_have_the_citations_that_stand_in_them_and_right_behind_them() -> None:
    found = find_sentences(grown("门票60元[@ab00]。周一闭馆[@ab10][@ab20]。没有来源的一句。"))
    assert found == [
        TreeSentence("门票60元。", (0,)),
        TreeSentence("周一闭馆。", (1,)),
        TreeSentence("没有来源的一句。", ()),
    ]


def test_english_sentences_are_cut_as_people_cut_them() -> None:
    found = find_sentences(grown("Dr. Smith paid 3.5 euros, e.g. for tea [@ab00]. It rained [@ab10]."))
    assert [piece.text for piece in found] == [
        "Dr. Smith paid 3.5 euros, e.g. for tea.",
        "It rained.",
    ]
    assert [piece.span_indices for piece in found] == [(0,), (1,)]


def test_a_row_of_a_table_is_one_sentence_and_its_head_is_none() -> None:
    nodes = grown("| What | How much |\n|---|---|\n| Ticket | 60 yuan [@ab00] |\n| Other | |")
    assert find_sentences(nodes) == [TreeSentence("Ticket · 60 yuan", (0,)), TreeSentence("Other", ())]
    table: Any = insert_marks(nodes, [0, 1])[0]
    assert [marks(row["c"]) for row in table["c"]] == [[], [0], [1]]
    assert table["c"][1]["c"][1]["c"][-1] == {"t": "mark", "sentence": 0}


def test_a_formula_is_part_of_its_sentence_and_by_itself_none() -> None:
    found = find_sentences(grown("It is $a^2$ of [@ab00]\n\n$$\nb = 2\n$$\n\nThat is \\(c = 3\\). It rained."))
    assert [piece.text for piece in found] == ["It is a^2 of", "That is c = 3.", "It rained."]


def test_headings_and_code_have_no_sentences() -> None:
    assert find_sentences(grown("# A heading. Of two.\n\n```\ncode. more.\n```\n\n---")) == []


def test_items_of_nested_lists_are_sentences_each() -> None:
    found = find_sentences(grown("- First item\n  - Inner one [@ab00]\n  - Inner two\n- Last"))
    assert [piece.text for piece in found] == ["First item", "Inner one", "Inner two", "Last"]


def test_a_mark_stands_behind_the_citations_of_its_sentence_and_outside_the_next_emphasis() -> None:
    nodes = grown("Short one [@ab00]. **Bold start** goes on [@ab10].")
    paragraph: Any = insert_marks(nodes, [7], first_index=7)[0]
    kinds = [node if isinstance(node, str) else node["t"] for node in paragraph["c"]]
    assert kinds == ["Short one.", "cite", "mark", " ", "strong", " goes on.", "cite"]
    assert marks([paragraph]) == [7]


PARTS = [
    "One sentence. ", "两句话。", "A question? ", "**bold** ", "*e* ", "[@ab00]", "[@ab10] ", "[@zz99]",
    "\n\n", "\n- ", "\n1. ", "\n> ", "| a | b |\n|---|---|\n| c. d. | e [@ab00] |\n\n", "`code. x` ",
    "\n```\nx. y\n```\n", "3.5 ", "e.g. ", "\n## h\n\n", "<br>", "…", "！", "\n---\n", "“quoted. ” ",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=25), st.integers(0, 50))
def test_marks_change_nothing_else_and_each_sentence_can_bear_one(parts: list[str], first: int) -> None:
    nodes = grown("".join(parts))
    count = len(find_sentences(nodes))
    found = insert_marks(nodes, range(first, first + count), first)
    assert sorted(marks(found)) == list(range(first, first + count))
    assert without_marks(found) == without_marks(nodes)
    assert find_sentences(found) == find_sentences(nodes)


def test_a_row_is_a_sentence_but_quotations_in_its_cells_are_their_own() -> None:
    rows = "| | Fee | Season |\n|---|---|---|\n| **A** | “It is 5 yuan.” [ab00] “Free on Mondays.” [ab10] | none |\n"
    assert find_sentences(grown(rows)) == [
        TreeSentence("“It is 5 yuan.”", (0,)),
        TreeSentence("“Free on Mondays.”", (1,)),
    ]
    rows = "| | Fee |\n|---|---|\n| A | It costs 5. [ab00] “It is 5 yuan.” [ab10] |\n| B | 5 of “x” yuan [ab20] |\n"
    told = [piece.text for piece in find_sentences(grown(rows))]
    assert told == ["It costs 5.", "“It is 5 yuan.”", "B · 5 of “x” yuan"]
