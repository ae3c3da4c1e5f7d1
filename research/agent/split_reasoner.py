"""Two reasoners as one: reports are left to one of them, everything else to the other."""

from __future__ import annotations

from collections.abc import Sequence

from research.agent.reasoner import OwnedReasoner, Reasoner
from research.core.records import Draft, Finding, Plan, Question


class SplitReasoner:
    """Asks `usual`, and `reports` for whatever belongs to a report."""

    def __init__(self, default: Reasoner, reports: Reasoner) -> None:
        self._default, self._reports = default, reports
        self.plan, self.reflect, self.write = default.plan, default.reflect, default.write
        self.plan_report, self.write_section = reports.plan_report, reports.write_section
        self.reflect_on_section, self.write_preface = reports.reflect_on_section, reports.write_preface
        self.judge_tones = reports.judge_tones
        self.plan_table, self.cell_tasks, self.extract_cells = (
            default.plan_table,
            default.cell_tasks,
            default.extract_cells,
        )

    def of(self, owner: str) -> Reasoner:
        """The same for the runs of an owner."""
        usual, reports = self._default, self._reports
        return SplitReasoner(usual.of(owner) if isinstance(usual, OwnedReasoner) else usual, reports)

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        who = self._reports if plan.outline else self._default
        return who.quote_findings(question, plan, findings)
