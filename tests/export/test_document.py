"""The tree of a report says what its Markdown says."""

import re
from datetime import UTC, datetime
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from research.citations.markdown_parser import Node
from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import EvidenceRegistry
from research.core.records import Answer, Evidence, Passage, PassageReference, Report, Run, RunOptions
from research.export.document import build_document, plain_text
from research.export.markdown import escape_markdown

NOW = datetime(2025, 3, 1, tzinfo=UTC)


def made(text: str, title: str = "A title", url: str = "https://example.org/a") -> tuple[Report, CitedAnswer]:  # fmt: skip
    registry = EvidenceRegistry()
    passage = Passage(id="p1", text="It says so.", end=11)
    item = registry.add(Evidence(id="x", kind="web", title=title, url=url, retrieved=NOW, passages=(passage,)))
    spans = parse_model_markdown(text, {"ab00": PassageReference(evidence=item.id, passage="p1", end=11)}, {})
    answer = Answer(title="", language="en", author="model", spans=spans, created=NOW)
    run = Run(
        id="r1", conversation="c", owner="o", question="Why [1]?", options=RunOptions(), status="done",
        created=NOW,
    )  # fmt: skip
    return Report(run=run, answer=answer, evidence=(item,)), number_citations(answer, registry)


def every(nodes: list[Node], kind: str) -> list[Any]:
    out = []
    for node in nodes:
        if isinstance(node, dict):
            out += [node] if node["t"] == kind else []
            out += every(node.get("c", []), kind)
    return out


def test_citations_are_citations_and_brackets_of_others_are_text() -> None:
    report, cited = made("It is so [@ab00]. An index `a[1]`.", title="Part [1] of 2")
    found = build_document(report, cited)
    assert [node["number"] for node in every(found.nodes, "cite")] == [1]
    assert found.title == "Why [1]?"
    (sources,) = (node for node in found.nodes if isinstance(node, dict) and node.get("role"))
    assert sources["role"] == "sources"
    assert plain_text(sources["c"]).startswith("Part [1] of 2 — ")
    assert every(found.nodes, "code")[0]["c"] == ["a[1]"]


def test_blocks_keep_their_shape() -> None:
    text = "## Head\n\n- one\n  - two\n\n3. three\n\n| a | b |\n|:-:|---|\n| c | d |\n\n```\nx < y\n```\n\n~~old~~ *new* **bold**"
    nodes = build_document(*made(text)).nodes
    assert {"t": "pre", "language": "", "c": ["x < y\n"]} in nodes
    assert every(nodes, "th")[0]["align"] == "center"
    assert [plain_text(node["c"]) for node in every(nodes, "strong")] == ["bold"]
    assert any(node.get("start") == 3 for node in every(nodes, "ol"))
    ids = [node["id"] for node in every(nodes, "h")]
    assert len(ids) == len(set(ids))


def test_only_web_addresses_are_links() -> None:
    report, cited = made("So [@ab00].", url="javascript:alert(1)")
    assert every(build_document(report, cited).nodes, "a") == []
    assert [a["href"] for a in every(build_document(*made("So [@ab00].")).nodes, "a")] == ["https://example.org/a"]


def test_a_run_without_an_answer_has_a_document() -> None:
    report, _ = made("")
    assert build_document(report.model_copy(update={"answer": None}), None).nodes


@given(st.text(max_size=60))
@example("\ue100")
def test_text_from_outside_comes_back_as_it_was(title: str) -> None:
    report, cited = made("So [@ab00].", title=title)
    (sources,) = (n for n in build_document(report, cited).nodes if isinstance(n, dict) and n.get("role"))
    shown = re.sub(r"\\(.)", r"\1", escape_markdown(title))  # what cannot be rendered is told apart there
    assert plain_text(sources["c"]).startswith(shown or "https://example.org/a")
