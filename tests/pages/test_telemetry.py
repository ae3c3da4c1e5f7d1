"""Nobody is told that the desk is used: not by a setting, not by a file of the page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from streamlit import config

from pages.middleware.document import customize_document
from pages.middleware.headers import CSP, MAP_CSP
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
SET = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
ASSETS = sorted(file for file in (ROOT / "pages" / "assets").rglob("*") if file.suffix in (".js", ".css", ".svg"))
OWN = ROOT / "pages" / "assets" / "leaflet"  # of others, and asks for nothing by itself
# What a browser fetches by itself; an address in a comment, a licence or a namespace is none.
FETCHED = re.compile(r"""(?i)(?:@import\s+|url\(\s*|fetch\(\s*|import\(\s*|src\s*=\s*)['"]?(?:https?:)?//""")


def test_streamlit_sends_no_usage_and_no_errors() -> None:
    assert SET["browser"]["gatherUsageStats"] is False
    assert SET["client"]["showErrorDetails"] == "none"
    assert SET["client"]["showErrorLinks"] is False
    assert not SET["server"].get("enableAgentApi", False)
    assert SET["server"]["address"] == "127.0.0.1"  # else the start asks a stranger for its own


def test_every_switch_of_streamlit_that_tells_others_is_known() -> None:
    telling = {
        name
        for name in config._config_options_template
        if re.search(r"(?i)usage|stats|telemetry|metrics|analytics|sentry|tracking", name)
    }
    asked_for = {"server.enableExpensiveMemoryStats", "server.unsafeMetricsUserAttributes"}
    assert telling - asked_for == {"browser.gatherUsageStats"}  # those wait to be asked by somebody
    assert not {name.removeprefix("server.") for name in asked_for} & set(SET["server"])


@pytest.mark.parametrize("policy", [CSP, MAP_CSP])
def test_a_page_may_ask_no_stranger(policy: str) -> None:
    assert not re.search(r"https?:|\*", policy)
    assert {"default-src 'self'", "form-action 'self'"} <= set(policy.split("; "))


@each_row("file", ASSETS)
def test_no_file_of_the_page_asks_a_stranger(file: Path) -> None:
    if OWN not in file.parents:
        assert not FETCHED.search(file.read_text(encoding="utf-8"))


def test_the_document_asks_no_stranger() -> None:
    import streamlit

    page = customize_document((Path(streamlit.__file__).parent / "static" / "index.html").read_bytes())
    links = re.findall(rb"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["'](?:https?:)?//""", page)
    assert links == []
