"""Roles of the models in use, with missing settings and prices."""

from __future__ import annotations

from datetime import date

from research.core.records import Record
from research.core.settings import CHECK_MODEL, REPORT_MODEL, ROLES
from research.models.prices import ModelPrice, model_price
from research.models.roles import ModelSpec, missing_setting
from research.runtime.services import Services


class ModelRole(Record):
    """A model in use.

    `role` is a role of runs, `news` for the model of reports or `check` for the one that judges
    sentences. `missing_setting` is the setting it needs to be called, "" if none is missing;
    `price` is None if unknown.
    """

    role: str
    setting: str
    model: str
    missing_setting: str = ""
    price: ModelPrice | None = None


def list_model_roles(services: Services, day: date) -> list[ModelRole]:
    """List the configured models, in the order in which a run needs them."""
    rows = []
    if services.models:
        rows = [
            ModelRole(role=role, setting=setting, model=model, missing_setting=missing, price=model_price(model, day))
            for role, setting, model, missing in sorted(
                services.models.role_table(), key=lambda row: ROLES.index(row[0])
            )
        ]
    settings = services.settings
    reporter = services.report_models.report_spec if services.report_models else None
    if reporter:
        rows.append(_model_role("news", REPORT_MODEL, reporter, services, day))
    if services.report_models and settings.check == "model":
        spec = services.report_models.check_chat(settings.options).spec
        rows.append(_model_role("check", spec.setting or CHECK_MODEL, spec, services, day))
    return rows


def _model_role(role: str, setting: str, spec: ModelSpec, services: Services, day: date) -> ModelRole:
    missing = missing_setting(spec, services.settings)
    return ModelRole(
        role=role, setting=setting, model=str(spec), missing_setting=missing, price=model_price(str(spec), day)
    )
