"""Settings of the application: each is declared once, as a field with its environment variable.

`declaration.py` says what a declaration contains and what follows from it; `models.py`, `search.py`,
`places.py`, `database.py`, `runs.py` and `server.py` declare the settings; `configuration.py` joins them to
`Settings`; `environment.py` reads the environment.
"""

from research.core.settings.configuration import (
    ADDRESS_SETTINGS,
    CHOICES,
    CONNECTION_SETTINGS,
    DECLARED,
    SECTIONS,
    Settings,
    model_setting_name,
)
from research.core.settings.declaration import (
    FORM_SECTIONS,
    Setting,
    SettingError,
    setting_text,
    strip_credentials,
)
from research.core.settings.environment import (
    apply_choices,
    child_environment,
    load_settings,
    remove_legacy_tracing_variables,
)
from research.core.settings.models import CHECK_MODEL, REPORT_MODEL, ROLES, Role
from research.core.settings.search import WEB_PROVIDERS
from research.core.settings.server import MIN_TOKEN_CHARS

__all__ = [
    "ADDRESS_SETTINGS",
    "CHECK_MODEL",
    "CHOICES",
    "CONNECTION_SETTINGS",
    "DECLARED",
    "FORM_SECTIONS",
    "MIN_TOKEN_CHARS",
    "REPORT_MODEL",
    "ROLES",
    "SECTIONS",
    "WEB_PROVIDERS",
    "Role",
    "Setting",
    "SettingError",
    "Settings",
    "apply_choices",
    "child_environment",
    "load_settings",
    "model_setting_name",
    "remove_legacy_tracing_variables",
    "setting_text",
    "strip_credentials",
]
