"""Runs whose answers a model checks: a step of their own, which is never paid for twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from research.agent.llm.citation_checker import ModelCitationChecker
from research.agent.llm.reasoner import ModelReasoner
from research.agent.nodes.check import BATCH_SIZE
from research.agent.reasoner import ReasonerInput
from research.citations.numbering import number_report_answer
from research.citations.support import check_support
from research.core.records import (
    Answer,
    Draft,
    Finding,
    PassageReference,
    Reflection,
    ReportSection,
    RunOptions,
    Span,
)
from research.core.settings import Settings
from research.models.clients import ModelClients
from research.runtime.local_run_manager import LocalRunManager
from tests.fakes import AUTHOR, ScriptedReasoner, ScriptedSource, resources, until
from tests.runtime.conftest import QUESTION, WEB, over, report
from tests.servers.gemini import FakeGemini

DOUBTS = tuple(f"Banker {chr(65 + n)}ark financed a marble staircase." for n in range(BATCH_SIZE + 1))


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest.fixture
def opened() -> Iterator[list[LocalRunManager]]:
    made: list[LocalRunManager] = []
    yield made
    for runs in made:
        runs.close()


class Writer(ScriptedReasoner):
    """Writes sentences that cite the first passage, whatever it says."""

    def __init__(self, *texts: str) -> None:
        super().__init__(["a"], sufficient=True)
        self.texts = texts

    def _spans(self, findings: Sequence[Finding]) -> tuple[Span, ...]:
        item = findings[0].evidence[0]
        cite = PassageReference(evidence=item.id, passage=item.passages[0].id)
        return tuple(Span(kind="text", text=f"- {t}\n", references=(cite,)) for t in self.texts)

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        self.written.append((inputs.plan, tuple(inputs.findings)))
        return Draft(spans=self._spans(inputs.findings), author=AUTHOR)

    async def write_section(self, inputs: ReasonerInput, section: ReportSection) -> ReportSection:
        return section.model_copy(update={"spans": self._spans(inputs.findings), "author": AUTHOR})


def start(
    folder: Path,
    gemini: FakeGemini,
    opened: list[LocalRunManager],
    reasoner: ScriptedReasoner,
    repair: str,
) -> LocalRunManager:
    settings = Settings(
        data_dir=folder, gemini_key=SecretStr("k"), gemini_url=gemini.base_url, model_attempts=1,
        check="model", repair=repair,
    )  # fmt: skip
    clients, source = ModelClients(settings), ScriptedSource()
    llm = ModelReasoner(clients, lambda: datetime.now(UTC))
    opened.append(
        LocalRunManager(
            resources(settings, reasoner, {source.name: source}, checker=ModelCitationChecker(llm, llm)),
            on_close=clients.close,
        )
    )
    return opened[-1]


def finished(runs: LocalRunManager, run_id: str) -> Answer:
    assert over(runs, run_id) == "done"
    answer = report(runs, run_id).answer
    assert answer
    return answer


def test_the_rulings_and_the_repairs_are_kept_with_the_answer(
    tmp_path: Path, gemini: FakeGemini, opened: list[LocalRunManager]
) -> None:
    gemini.brain.judge = lambda s, p: (
        {"verdict": "absent"} if "Aark" in s else {"verdict": "supported", "quote": p[0][:30]}
    )
    runs = start(tmp_path, gemini, opened, Writer(*DOUBTS[:2]), "drop")
    run = runs.start(QUESTION, options=WEB)
    answer = finished(runs, run.id)
    assert answer.review and [r.before for r in answer.review.repairs] == [DOUBTS[0]]
    assert "Aark" not in "".join(s.text for s in answer.spans if s.kind == "text")
    known = number_report_answer(report(runs, run.id))
    assert known and [(s.status, s.ruled) for s in check_support(known).sentences] == [("supported", True)]
    kinds = [event.kind for event in runs.events(run.id)]
    expected = ["writing_started", "answer_written", "check_started", "usage", "check_finished"]
    assert [k for k in kinds if k in expected] == expected
    assert [usage.stage for usage in report(runs, run.id).usage] == ["check"]


def test_a_run_that_goes_on_repeats_no_call_and_writes_nothing_again(
    tmp_path: Path, gemini: FakeGemini, opened: list[LocalRunManager]
) -> None:
    gemini.fail("rule", "hang", matching=DOUBTS[-1])
    runs = start(tmp_path, gemini, opened, Writer(*DOUBTS), "off")
    run = runs.start(QUESTION, options=WEB)
    until(lambda: gemini.calls("rule") == 2 and report(runs, run.id).usage)
    runs.close()
    gemini.fail("rule", "ok")
    before = gemini.calls("rule")
    second = Writer(*DOUBTS)
    later = start(tmp_path, gemini, opened, second, "off")
    assert later.resume(run.id)
    answer = finished(later, run.id)
    assert gemini.calls("rule") == before + 1
    assert second.written == []
    assert answer.review and len(answer.review.verdicts) == len(DOUBTS)


def test_the_sections_of_a_report_are_checked_too(
    tmp_path: Path, gemini: FakeGemini, opened: list[LocalRunManager]
) -> None:
    gemini.brain.judge = lambda s, p: {"verdict": "absent"}
    runs = start(tmp_path, gemini, opened, Writer(DOUBTS[0]), "drop")
    run = runs.start(QUESTION, options=RunOptions(sections=2, reflections=0, sources=("web",)))
    answer = finished(runs, run.id)
    assert answer.review
    assert {r.part for r in answer.review.repairs if r.before == DOUBTS[0]} == {"", "s1"}
    text = "".join(s.text for s in answer.spans if s.kind == "text")
    assert "Aark" not in text and "## About a" not in text


def test_rules_alone_ask_nobody(tmp_path: Path, gemini: FakeGemini, opened: list[LocalRunManager]) -> None:
    opened.append(
        LocalRunManager(resources(Settings(data_dir=tmp_path), Writer(*DOUBTS[:2]), {"web": ScriptedSource()}))
    )
    run = opened[-1].start(QUESTION, options=WEB)
    answer = finished(opened[-1], run.id)
    assert answer.review is None
    assert gemini.calls() == 0
