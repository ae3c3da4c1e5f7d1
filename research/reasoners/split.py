"""Two reasoners as one: reports are left to one of them, everything else to the other."""

from __future__ import annotations

from collections.abc import Sequence

from research.reasoners import OwnedReasoner, Reasoner
from research.records import Draft, Finding, Plan, Question


class Split:
    """Asks `usual`, and `reports` for whatever belongs to a report."""

    def __init__(self, usual: Reasoner, reports: Reasoner) -> None:
        self._usual, self._reports = usual, reports
        self.plan, self.reflect, self.write = usual.plan, usual.reflect, usual.write
        self.outline, self.fill = reports.outline, reports.fill
        self.reconsider, self.preface = reports.reconsider, reports.preface
        self.tones = reports.tones
        self.tabulate, self.searches, self.cells = usual.tabulate, usual.searches, usual.cells

    def of(self, owner: str) -> Reasoner:
        """The same for the runs of an owner."""
        usual, reports = self._usual, self._reports
        return Split(usual.of(owner) if isinstance(usual, OwnedReasoner) else usual, reports)

    def stand_in(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        who = self._reports if plan.outline else self._usual
        return who.stand_in(question, plan, findings)
