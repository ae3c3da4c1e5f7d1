"""Which model does what in the runs of a desk, what it lacks, and what it costs."""

from __future__ import annotations

from datetime import date

from research.models.prices import Price, price
from research.models.roles import Spec, lacking
from research.records import Record
from research.runs.kit import Kit
from research.settings import CHECK_MODEL, REPORT_MODEL, ROLES


class ModelRole(Record):
    """A model at work: `role` is one of the roles of models, `news` for the one of reports, `check`
    for the one that judges sentences. `lacks` names the setting without which it cannot be asked;
    `price` is None if it is not known."""

    role: str
    setting: str
    model: str
    lacks: str = ""
    price: Price | None = None


def model_table(kit: Kit, day: date) -> list[ModelRole]:
    """The models that are set, in the order in which a run needs them."""
    out = []
    if kit.models:
        out = [
            ModelRole(role=role, setting=setting, model=model, lacks=lacks, price=price(model, day))
            for role, setting, model, lacks in sorted(
                kit.models.table(), key=lambda row: ROLES.index(row[0])
            )
        ]
    settings = kit.settings
    reporter = kit.reporters.reporter if kit.reporters else None
    if reporter:
        out.append(_role("news", REPORT_MODEL, reporter, kit, day))
    if kit.reporters and settings.check == "model":
        spec = kit.reporters.checking(settings.options).spec
        out.append(_role("check", spec.setting or CHECK_MODEL, spec, kit, day))
    return out


def _role(role: str, setting: str, spec: Spec, kit: Kit, day: date) -> ModelRole:
    lacks = lacking(spec, kit.settings)
    return ModelRole(
        role=role, setting=setting, model=str(spec), lacks=lacks, price=price(str(spec), day)
    )
