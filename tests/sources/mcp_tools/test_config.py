"""The file of the servers of tools: what is taken of it, what is refused, and what nobody sees."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from research.core import settings
from research.core.errors import ServiceError, register_secrets
from research.core.settings import SettingError, Settings
from research.sources import registry
from tests.tables import each_row

KEY = "sentinel-mcp-0123456789"


def loaded(folder: Path, servers: object, **env: str) -> Settings:
    text = servers if isinstance(servers, str) else json.dumps({"mcpServers": servers})
    (folder / "mcp.json").write_text(text, encoding="utf-8")
    return settings.load_settings(env, data_dir=folder, sources=registry.setting_declarations())


def test_the_form_of_other_clients_is_read(tmp_path: Path) -> None:
    found = loaded(
        tmp_path,
        {
            "files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}, "type": "stdio"},
            "Web Search": {
                "url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"},
                "type": "http", "title": "The web", "tools": ["find"], "timeout": 5, "alwaysAllow": [],
                "search": {"tool": "find", "argument": "q", "arguments": {"n": 3}},
            },
            "off": {"command": "npx", "disabled": True},
        },
        TOKEN=KEY,
    )  # fmt: skip
    files, web = found.servers
    assert (files.command, files.args, files.tools, files.source_name) == ("npx", ("-y", "x"), None, "mcp_files")  # fmt: skip
    assert files.env["A"].get_secret_value() == "1"
    assert (web.source_name, web.label, web.tools, web.timeout) == ("mcp_web_search", "The web", ("find",), 5)  # fmt: skip
    assert web.headers["Authorization"].get_secret_value() == f"Bearer {KEY}"
    assert web.search and dict(web.search.arguments) == {"n": 3}
    assert found.invalid_servers == ()


def test_without_a_file_there_is_no_server_and_another_may_be_named(tmp_path: Path) -> None:
    assert settings.load_settings({}, data_dir=tmp_path).servers == ()
    other = tmp_path / "other.json"
    other.write_text('{"mcpServers": {"a": {"command": "b"}}}', encoding="utf-8")
    loaded(tmp_path, {"c": {"command": "d"}})
    found = settings.load_settings({"SIGHTLINE_MCP_CONFIG": str(other)}, data_dir=tmp_path)
    assert [one.name for one in found.servers] == ["a"]
    assert dict(found.display_values())["SIGHTLINE_MCP_CONFIG"] == str(other)
    assert settings.load_settings({"SIGHTLINE_MCP_CONFIG": "off"}, data_dir=tmp_path).servers == ()
    with pytest.raises(SettingError, match="is not there"):
        settings.load_settings({"SIGHTLINE_MCP_CONFIG": str(tmp_path / "no.json")}, data_dir=tmp_path)


@each_row(
    ("text", "told"),
    [
        ('{"mcpServers": {\n"a": }}', "line 2, column 6"),
        ("[]", 'no object "mcpServers"'),
        ('{"servers": {}}', 'no object "mcpServers"'),
        ('{"mcpServers": []}', 'no object "mcpServers"'),
        ("[" * 100_000, "mcp.json"),
        (json.dumps({"mcpServers": {f"s{n}": {} for n in range(51)}}), "at most 50"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_place(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="SIGHTLINE_MCP_CONFIG=off") as caught:
        loaded(tmp_path, text)
    assert told in str(caught.value) and "mcp.json" in str(caught.value)


def test_a_file_of_other_bytes_is_told(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingError, match="is not UTF-8"):
        settings.load_settings({}, data_dir=tmp_path)


WRONG: list[tuple[Any, str]] = [
    ([], "its entry is no object"),
    ({}, "it needs command or url, and not both"),
    ({"command": "a", "url": "https://a.example"}, "it needs command or url, and not both"),
    ({"url": "ftp://a.example"}, "url must be an address"),
    ({"url": "http://[::1"}, "url must be an address"),
    ({"command": "a", "type": "http"}, "type http does not go with command"),
    ({"url": "https://a.example", "type": "stdio"}, "type stdio does not go with url"),
    ({"url": "https://a.example", "type": "sse"}, "type: "),
    ({"command": 3}, "command: "),
    ({"command": "a", "args": [{}]}, "args.0: "),
    ({"command": "a", "env": {"A": KEY, "B": [KEY]}}, "env.B: "),
    ({"command": "a", "env": {"B": "${GONE_FROM_HERE}"}}, "env.B: the variable GONE_FROM_HERE is not set"),
    ({"command": "a", "tools": [""]}, "tools.0: "),
    ({"command": "a", "search": {"tool": "x"}}, "search.argument: "),
    ({"command": "a", "timeout": 0}, "timeout: "),
    ({"command": "a", "title": "x" * 41}, "title: "),
]  # fmt: skip


@each_row(("entry", "told"), WRONG)
def test_a_server_that_is_wrong_costs_itself_alone(entry: Any, told: str, tmp_path: Path) -> None:
    found = loaded(tmp_path, {"bad": entry, "good": {"command": "b"}})
    assert [one.name for one in found.servers] == ["good"]
    ((name, why),) = found.invalid_servers
    assert name == "bad" and why.startswith(told)
    assert KEY not in why


def test_names_that_come_to_the_same_source_are_one(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"a b": {"command": "x"}, "A.b": {"command": "y"}, "<b>": {"command": "z"}})  # fmt: skip
    assert [one.name for one in found.servers] == ["a b"]
    assert [name for name, _ in found.invalid_servers] == ["A.b", "<b>"]


def test_secrets_are_shown_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    entry = {
        "env": {"API_KEY": "literal-key-1", "PLAIN": "${TOKEN}", "TZ": "Europe/Berlin"}, "command": "a"
    }  # fmt: skip
    far = {
        "url": "https://me:pass-word-2@a.example",
        "headers": {"Authorization": "Bearer header-3"},
    }
    found = loaded(tmp_path, {"a": entry, "b": far}, TOKEN=KEY)
    kept = {KEY, "literal-key-1", "pass-word-2", "header-3"}
    assert kept <= {*found.secrets}
    assert "Europe/Berlin" not in found.secrets
    everything = f"{found!r} {found.display_values()} {found.servers!r} {found.servers}"
    assert not [word for word in kept if word in everything]
    register_secrets(found.secrets)
    caplog.set_level(logging.INFO)
    logging.getLogger("x").info("got %s", " ".join(kept))
    assert not [word for word in kept if word in caplog.text + str(ServiceError("refused", " ".join(kept)))]


def test_what_a_person_chooses_takes_no_server_and_names_none(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"a": {"command": "x"}})
    (tmp_path / "mcp.json").write_text("broken since", encoding="utf-8")
    theirs = settings.apply_choices(found, {"MAX_RESEARCH_LOOPS": "1"})
    assert theirs.servers == found.servers
    for name in ("SIGHTLINE_MCP_CONFIG",):
        with pytest.raises(SettingError, match="cannot be chosen by a person"):
            settings.apply_choices(found, {name: "/tmp/x.json"})


def test_its_source_can_be_named_among_the_usual_ones(tmp_path: Path) -> None:
    found = loaded(tmp_path, {"a": {"command": "x"}}, SIGHTLINE_SOURCES="mcp_a,web")
    assert found.default_sources == "mcp_a,web"
    with pytest.raises(SettingError, match="there is no 'mcp_b'"):
        loaded(tmp_path, {"a": {"command": "x"}}, SIGHTLINE_SOURCES="mcp_b")
