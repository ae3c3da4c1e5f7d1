"""A small library in two languages, and the whole way from a question to a digest of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from research.agent.extractive.reasoner import ExtractiveReasoner
from research.agent.nodes.question import clean_question
from research.agent.reasoner import ReasonerInput
from research.core.events import ignore_event
from research.core.records import Finding, Plan, Question, Reflection, RunOptions, Span
from research.sources.library.index import Library
from research.sources.library.retriever import LibraryRetriever

DOCUMENTS = {
    "zh-west-lake.md": """# 杭州西湖

西湖（West Lake）位于浙江省杭州市，湖面面积约6.4平方公里。

## 门票

西湖环湖景区免费开放，沿湖散步不需要门票。雷峰塔成人票40元。

## 交通

乘坐地铁1号线到龙翔桥站，步行即可到达西湖。
""",
    "zh-summer-palace.md": """# 颐和园

颐和园（Summer Palace）在北京市海淀区。

## 门票

颐和园旺季门票30元，淡季门票20元。

## 开放时间

颐和园旺季开放时间为6:00至20:00。
""",
    "en-summer-palace.md": """# The Summer Palace (颐和园)

The Summer Palace is a large imperial garden in Beijing.

## Getting there

Take metro line 4 to Beigongmen station; the north gate of the palace is a short walk away.

## Theatre

The theatre of the Summer Palace was built for the empress in 1895 and has three stages.
""",
    "en-kenya.md": """# Kenya

Kenya is a country in East Africa.

## Economy

Tea and cut flowers are the main exports of Kenya.
""",
    "en-wine.md": """# Windows Wine

Wine is a program that runs Windows software on other systems.

## Production use

The production release of Wine appears every two weeks. Wine production builds run on Windows.
""",
    "zh-bread.md": "# 面包\n\n做面包需要高筋面粉、酵母和水。面团需要在温暖的地方发酵。\n",
    "en-bread.md": "# Baking bread\n\nOrganic flour makes a heavier bread than white flour does.\n",
}  # fmt: skip


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    made = Library(tmp_path_factory.mktemp("reasoners") / "library.db")
    made.set_sample_enabled(False)
    added = list(made.add_files((name, text.encode()) for name, text in DOCUMENTS.items()))
    assert all(item.is_ok for item in added)
    yield made
    made.close()


@dataclass(frozen=True)
class Digested:
    """A question on its whole way: what was planned, found, reflected on and written."""

    question: Question
    plan: Plan
    findings: tuple[Finding, ...]
    reflections: tuple[Reflection, ...]
    spans: tuple[Span, ...]
    author: str

    def quotes(self, part: str = "") -> list[str]:
        return [s.text for s in self.spans if s.kind == "quote" and part in ("", s.part)]

    def kinds(self, part: str) -> list[str]:
        return [span.kind for span in self.spans if span.part == part]


async def digest(library: Library, text: str, loops: int = 3, queries: int = 10) -> Digested:
    reasoner, source = ExtractiveReasoner(library), LibraryRetriever(library)
    question = clean_question(text)
    options = RunOptions(queries=queries, loops=loops)
    plan = await planned(reasoner, text, options)
    tasks = plan.tasks if loops else ()
    findings = [await source.search(task, ignore_event) for task in tasks]
    reflections: list[Reflection] = []
    for round_ in range(1, loops):
        reflections.append(
            await reasoner.reflect(ReasonerInput(question, options, ignore_event, plan, findings), round_)
        )
        if not reflections[-1].follow_ups:
            break
        findings += [await source.search(task, ignore_event) for task in reflections[-1].follow_ups]
    draft = await reasoner.write(ReasonerInput(question, options, ignore_event, plan, findings), reflections)
    assert not draft.placeholder
    return Digested(question, plan, tuple(findings), tuple(reflections), draft.spans, draft.author)


async def planned(reasoner: ExtractiveReasoner, text: str, options: RunOptions | None = None) -> Plan:
    """The plan of a question that is not answered at once."""
    plan = await reasoner.plan(ReasonerInput(clean_question(text), options or RunOptions(), ignore_event))
    assert isinstance(plan, Plan)
    return plan
