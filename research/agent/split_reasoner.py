"""A reasoner that uses one reasoner for reports and another for everything else."""

from __future__ import annotations

from collections.abc import Sequence

from research.agent.reasoner import OwnedReasoner, Reasoner
from research.core.records import Draft, Finding, Plan, Question


class SplitReasoner:
    """Delegates the steps of reports to `reports`, and all other steps to `default`.

    The methods that only delegate are those of the two reasoners.
    """

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

    def for_owner(self, owner: str) -> Reasoner:
        """Return the reasoner for the runs of an owner."""
        default, reports = self._default, self._reports
        return SplitReasoner(default.for_owner(owner) if isinstance(default, OwnedReasoner) else default, reports)

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        reasoner = self._reports if plan.outline else self._default
        return reasoner.quote_findings(question, plan, findings)
