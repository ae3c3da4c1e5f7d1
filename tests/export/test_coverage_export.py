"""What the news of a report come to, as it is exported."""

from __future__ import annotations

import json
from datetime import date

from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import collect_evidence
from research.core.records import (
    Figure,
    Language,
    NewsCoverage,
    OutletSummary,
    Picture,
    Report,
    Story,
    StoryChange,
    StoryConflict,
)
from research.export.markdown import report_markdown
from research.export.report_json import report_json
from tests.export.test_markdown import URL, links, report, section, shape
from tests.tables import each_row

DAY = date(2025, 2, 3)
HOSTILE = [
    "](javascript:alert(1)) | <script>alert(1)</script> | # x",
    "a | b\n| --- | --- |\n![x](https://evil.example/a.png)",
    "`code` **bold** [1] ~~gone~~ &copy; $x$",
    "- item\n1. one\n> quoted",
]


def covered(words: str, *, language: Language = "en", url: str = URL) -> Report:
    """A report with `words` wherever its news have text from outside."""
    made = report("Plain.", question="Q?", language=language, url=url)
    assert made.answer
    before = Figure(text=words, clause=words, outlet=words, evidence="w")
    after = before.model_copy(update={"evidence": "g"})
    coverage = NewsCoverage(
        as_of=date(2025, 3, 1),
        stories=(
            Story(
                id="s1", headline=words, evidence=("w", "g"), outlets=(words, words), independent=1,
                day=DAY, latest=date(2025, 2, 5), stale=True, tone="negative", tone_from_words=False,
            ),
            Story(id="s2", headline=words, evidence=("nowhere",)),
        ),
        outlets=(OutletSummary(name=words, items=2, stories=1, first=DAY), OutletSummary(name="", items=1, stories=1)),
        conflicts=(StoryConflict(story="s1", subject="ships waiting", unit="", figures=(before, after)),),
        days=((DAY, 2),),
        undated=1,
        author=words,
        compared_run="earlier",
        changes=(
            StoryChange(kind="new", story="s1", headline=words, evidence=("w", "nowhere")),
            StoryChange(kind="figure", story="s1", headline=words, before=before, after=after),
            StoryChange(kind="gone", story="x", headline=words),
        ),
    )  # fmt: skip
    picture = Picture(url="https://pictures.example/a.jpg", caption=words, page=URL)
    unsafe = Picture(url="javascript:alert(1)", caption=words, page="data:text/html,x")
    update = {"provider_summary": words, "pictures": (picture, unsafe), "provider": "tavily"}
    findings = (made.findings[0].model_copy(update=update), *made.findings[1:])
    answer = made.answer.model_copy(update={"coverage": coverage})
    return made.model_copy(update={"answer": answer, "findings": findings})


def numbered(made: Report) -> CitedAnswer:
    assert made.answer
    return number_citations(made.answer, collect_evidence(made.findings))


def exported(made: Report) -> str:
    return report_markdown(made, numbered(made))


def test_the_news_of_a_report_read_like_this() -> None:
    text = exported(covered("Bridge falls"))
    assert section(text, "What has changed since the last report").strip() == (
        "- New story: Bridge falls — [Plain.](https://example.org/a) (no date)\n"
        "- A figure has changed: Bridge falls: from Bridge falls (Bridge falls) "
        "to Bridge falls (Bridge falls)\n"
        "- No longer found by the same search: Bridge falls"
    )
    timeline = section(text, "Timeline")
    assert "as of 2025-03-01; the latest report is dated 2025-02-03; stale" in timeline
    assert "| Day | Headline |".replace("Headline", "Story") in timeline
    assert "2025-02-03 – 2025-02-05 (stale)" in timeline
    assert "(1 independent of 2) | negative | [1] [3] |" in timeline
    assert "| no date | Bridge falls | — | neutral (rough) | — |" in timeline
    conflicts = section(text, "Where outlets differ")
    assert "\n- ships waiting (Bridge falls)\n" in conflicts
    assert "Bridge falls (Bridge falls) [1] — “Bridge falls”" in conflicts
    assert "| unknown | 1 | 1 | no date |" in section(text, "Outlets")
    assert "not evidence" in section(text, "The search service's own summary")


def test_it_reads_as_well_in_chinese() -> None:
    text = exported(covered("桥梁坍塌", language="zh"))
    assert "桥梁坍塌" in section(text, "自上次报告以来的变化")
    assert "2 篇，其中独立 1 篇" in section(text, "时间线")
    assert "粗略" in section(text, "时间线")
    for heading in ("媒体之间的分歧", "媒体一览", "图片", "搜索服务的概述"):
        assert section(text, heading).strip()


@each_row("words", HOSTILE)
def test_nothing_in_it_acts(words: str) -> None:
    plain, hostile = exported(covered("Plain")), exported(covered(words))
    assert shape(hostile) == shape(plain)
    assert links(hostile) == links(plain)
    assert not any("javascript" in link or "data:" in link for link in links(hostile))


def test_no_picture_is_embedded() -> None:
    assert "![" not in exported(covered("A harbour"))


def test_a_report_that_updates_none_tells_of_no_changes() -> None:
    made = covered("Bridge falls")
    assert made.answer and made.answer.coverage
    first = made.answer.coverage.model_copy(update={"compared_run": "", "changes": ()})
    answer = made.answer.model_copy(update={"coverage": first})
    assert "changed" not in exported(made.model_copy(update={"answer": answer})).split("## Answer")[0]


def test_an_update_without_changes_says_so() -> None:
    made = covered("Bridge falls")
    assert made.answer and made.answer.coverage
    same = made.answer.coverage.model_copy(update={"changes": ()})
    answer = made.answer.model_copy(update={"coverage": same})
    text = exported(made.model_copy(update={"answer": answer}))
    assert section(text, "What has changed since the last report").strip() == "Nothing new was found."


def test_the_json_has_all_of_it() -> None:
    made = covered("Bridge falls")
    data = json.loads(report_json(made, numbered(made)))
    told = data["coverage"]
    assert (told["as_of"], told["newest"], told["stale"]) == ("2025-03-01", "2025-02-03", True)
    assert [change["kind"] for change in told["changes"]] == ["new", "figure", "gone"]
    assert told["conflicts"][0]["figures"][0]["evidence"] == "w"
    found = data["rounds"][0]["findings"][0]
    assert found["provider_summary"] == "Bridge falls"
    assert [picture["url"] for picture in found["pictures"]] == [
        "https://pictures.example/a.jpg", "javascript:alert(1)"
    ]  # fmt: skip


def test_an_answer_that_is_no_report_has_none() -> None:
    made = report("Plain.")
    assert json.loads(report_json(made, numbered(made)))["coverage"] is None
    assert "## Timeline" not in exported(made)
