"""Which model does what in the runs of a desk, what it lacks, and what it costs."""

from __future__ import annotations

from datetime import date

from research.core.records import Record
from research.core.settings import CHECK_MODEL, REPORT_MODEL, ROLES
from research.models.prices import ModelPrice, model_price
from research.models.roles import ModelSpec, missing_setting
from research.runtime.services import Services


class ModelRole(Record):
    """A model at work: `role` is one of the roles of models, `news` for the one of reports, `check`
    for the one that judges sentences. `lacks` names the setting without which it cannot be asked;
    `price` is None if it is not known."""

    role: str
    setting: str
    model: str
    missing_setting: str = ""
    price: ModelPrice | None = None


def model_table(services: Services, day: date) -> list[ModelRole]:
    """The models that are set, in the order in which a run needs them."""
    out = []
    if services.models:
        out = [
            ModelRole(role=role, setting=setting, model=model, missing_setting=lacks, price=model_price(model, day))
            for role, setting, model, lacks in sorted(services.models.role_table(), key=lambda row: ROLES.index(row[0]))
        ]
    settings = services.settings
    reporter = services.report_models.report_spec if services.report_models else None
    if reporter:
        out.append(_model_role("news", REPORT_MODEL, reporter, services, day))
    if services.report_models and settings.check == "model":
        spec = services.report_models.check_chat(settings.options).spec
        out.append(_model_role("check", spec.setting or CHECK_MODEL, spec, services, day))
    return out


def _model_role(role: str, setting: str, spec: ModelSpec, services: Services, day: date) -> ModelRole:
    lacks = missing_setting(spec, services.settings)
    return ModelRole(
        role=role, setting=setting, model=str(spec), missing_setting=lacks, price=model_price(str(spec), day)
    )
