"""Keys stay where they belong: in the header of a request, whatever goes wrong and whoever repeats them."""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from research import close_application, report_json, report_markdown
from research.application import Application
from research.citations.numbering import number_report_answer
from research.core.errors import ServiceError, mask_secrets, register_secrets
from research.core.records import Report, RunOptions
from research.core.settings import Settings
from tests.pages.visitor import Visitor
from tests.servers.gemini import FakeGemini
from tests.servers.openai import FakeOpenAI
from tests.servers.search import FakeSearXNG, FakeTavily, nowhere
from tests.servers.site import Reply, Site, page

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "How old is the Silver Tower?"


@dataclass(frozen=True)
class Keys:
    """A key for each service, and the stretch of each that must be nowhere."""

    gemini: str
    openai: str
    tavily: str

    @property
    def traces(self) -> list[bytes]:
        """The keys as they could look: plain, in an address, in JSON, in base64, and cut."""
        out: list[bytes] = []
        for key in (self.gemini, self.openai, self.tavily):
            forms = (key, key[:14], quote(key, safe=""), json.dumps(key)[1:-1])
            out += [form.encode() for form in forms]
            out.append(base64.b64encode(key.encode())[:12])
        return out


LOOKALIKE = Keys(
    gemini="AIzaSENTINEL0123456789abcdefghijklmnop",
    openai="sk-sentinelopenai0123456789abcdef",
    tavily="tvly-sentineltavily0123456789",
)
PLAIN = Keys(
    gemini="sentinel-0123456789",
    openai='plain"openai\\key/with+signs=',
    tavily="another/sentinel+tavily=42",
)
KEYS = pytest.mark.parametrize("keys", [LOOKALIKE, PLAIN], ids=["lookalike", "plain"])


@pytest.fixture
def keys() -> Keys:
    """Those that nobody could tell from other words."""
    return PLAIN


def holds(where: str, data: str | bytes, keys: Keys) -> None:
    """Fails if there is a trace of a key."""
    found = data.encode("utf-8", "replace") if isinstance(data, str) else data
    for trace in keys.traces:
        at = found.find(trace)
        assert at < 0, f"{where}: …{found[max(0, at - 80) : at + 60]!r}…"


class Logs(logging.Handler):
    """Everything that is logged, at every level, formatted in every way a handler might."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))
        self.lines: list[str] = []
        self.names: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.names.add(record.name.partition(".")[0])
        self.lines.append(self.format(record))
        self.lines.append(f"{record.msg} {record.args} {record.stack_info}")
        if record.exc_info:
            self.lines += traceback.format_exception(*record.exc_info)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
def logs() -> Iterator[Logs]:
    """All loggers at DEBUG, those of the libraries too."""
    handler, root = Logs(), logging.getLogger()
    named = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    before = [(logger, logger.level, logger.disabled, logger.propagate) for logger in [root, *named]]
    for logger in named:
        logger.setLevel(logging.NOTSET)
        logger.disabled, logger.propagate = False, True
    root.setLevel(logging.DEBUG)
    root.addHandler(handler)
    try:
        yield handler
    finally:
        root.removeHandler(handler)
        for logger, level, disabled, propagate in before:
            logger.setLevel(level)
            logger.disabled, logger.propagate = disabled, propagate


@pytest.fixture(scope="module")
def serving() -> Iterator[FakeGemini]:
    with FakeGemini() as server:
        yield server


@pytest.fixture
def gemini(serving: FakeGemini) -> FakeGemini:
    serving.reset()
    return serving


@pytest.fixture(scope="module")
def compatible() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def openai(compatible: FakeOpenAI) -> FakeOpenAI:
    compatible.reset()
    return compatible


@pytest.fixture
def tavily() -> Iterator[FakeTavily]:
    rows = [{"title": "A", "url": "https://a.example.org/", "content": "The tower is old."}]
    with FakeTavily(results=rows) as server:
        yield server


def ask(folder: Path, keys: Keys, **settings: Any) -> Report:
    """A run to its end. All that it leaves is searched for keys, before and after the desk closes."""
    given = {
        "data_dir": folder,
        "gemini_key": SecretStr(keys.gemini),
        "openai_key": SecretStr(keys.openai),
        "tavily_key": SecretStr(keys.tavily),
        "model_attempts": 1,
        "log_level": "debug",
        **settings,
    }
    desk = Application(Settings.model_validate(given))
    try:
        run = desk.runs.start(QUESTION, options=RunOptions(sources=("web",), loops=2))
        for event in desk.runs.follow(run.id):
            holds("event", event.model_dump_json(), keys)
        report = desk.runs.report(run.id)
        assert report is not None
        for check in desk.check_connections():
            holds("check", check.model_dump_json(), keys)
        search(folder, keys)
    finally:
        desk.close()
    search(folder, keys)
    answer = number_report_answer(report)
    assert answer is not None
    holds("report", report.model_dump_json(), keys)
    holds("Markdown", report_markdown(report, answer), keys)
    holds("JSON", report_json(report, answer), keys)
    holds("settings", f"{desk.settings!r} {desk.settings.display_values()} {desk.settings}", keys)
    return report


def search(folder: Path, keys: Keys) -> None:
    """Every byte of every file."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"runs.db", "checkpoints.db"} <= {path.name for path in files}
    for path in files:
        holds(path.name, path.read_bytes(), keys)
    stored = b"".join(path.read_bytes() for path in files if path.name.startswith("runs.db"))
    assert QUESTION.encode() in stored


def sent(gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily, keys: Keys) -> None:
    """A key travels in its own header, to its own service, and nowhere else."""
    own = {"x-goog-api-key": keys.gemini, "authorization": f"Bearer {keys.openai}"}
    for call in [*gemini.log, *openai.log]:
        rest = {name: value for name, value in call.headers.items() if own.get(name) != value}
        assert len(rest) == len(call.headers) - 1
        holds("request", f"{call.path} {rest} {json.dumps(call.body)} {call.prompt}", keys)
    for asked in tavily.log:
        rest = {name: v for name, v in asked.headers.items() if v != f"Bearer {keys.tavily}"}
        holds("request", f"{asked.path} {asked.query} {rest} {json.dumps(asked.body)}", keys)


# Services that repeat a key


@pytest.mark.slow
@KEYS
@pytest.mark.parametrize("stage", ["any", "search", "write"])
def test_a_gemini_that_repeats_the_key_is_not_repeated(
    stage: str, keys: Keys, tmp_path: Path, logs: Logs,
    gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily,
) -> None:  # fmt: skip
    gemini.fail(stage, "echokey")
    tavily.status, tavily.error = 401, {"detail": {"error": f"wrong key {keys.tavily}"}}
    report = ask(
        tmp_path,
        keys,
        gemini_url=gemini.base_url,
        tavily_url=tavily.base_url,
        web_search="gemini,tavily",
    )
    assert report.answer is not None and report.answer.failures
    told = " ".join(failure.message for failure in report.answer.failures)
    assert "Bad request" in told and "•••" in told
    assert report.run.status == ("failed" if stage == "write" else "done")
    holds("log", logs.text, keys)
    sent(gemini, openai, tavily, keys)


def test_a_server_like_openais_that_repeats_the_key_is_not_repeated(
    keys: Keys, tmp_path: Path, logs: Logs,
    gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily,
) -> None:  # fmt: skip
    openai.fail("write", "echokey")
    report = ask(
        tmp_path, keys, gemini_url=gemini.base_url, openai_url=openai.base_url,
        write_model="openai:any",
    )  # fmt: skip
    assert report.run.status == "failed"
    assert "•••" in report.run.error
    assert openai.calls("write") == 2  # once more without what a server may not know
    holds("log", logs.text, keys)
    sent(gemini, openai, tavily, keys)


@pytest.mark.slow
@pytest.mark.parametrize("status", [400, 401, 403, 429, 432, 500])
def test_a_tavily_that_repeats_the_key_is_not_repeated(
    status: int, keys: Keys, tmp_path: Path, logs: Logs,
    gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily,
) -> None:  # fmt: skip
    words = f"Authorization: Bearer {keys.tavily} in ?api_key={quote(keys.tavily, safe='')}"
    tavily.status, tavily.error = status, {"detail": {"error": words}}
    report = ask(tmp_path, keys, gemini_url=gemini.base_url, tavily_url=tavily.base_url, web_search="tavily")
    assert [finding.provider for finding in report.findings] == ["tavily"] * 3
    assert "•••" in report.findings[0].message
    holds("log", logs.text, keys)
    sent(gemini, openai, tavily, keys)


# Services that are none


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["html200", "html502", "badjson", "400key", "404", "reset"])
def test_no_other_failure_shows_a_key(
    fault: str, keys: Keys, tmp_path: Path, logs: Logs,
    gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily,
) -> None:  # fmt: skip
    for server in (gemini, openai):
        server.fail("any", fault)
    tavily.fault = "html"
    report = ask(
        tmp_path, keys, gemini_url=gemini.base_url, tavily_url=tavily.base_url,
        openai_url=openai.base_url, write_model="openai:any",
    )  # fmt: skip
    assert report.answer is not None and report.answer.failures
    holds("log", logs.text, keys)
    sent(gemini, openai, tavily, keys)


@pytest.mark.slow
def test_a_wrong_address_gets_the_key_in_a_header_and_gives_it_to_nobody(
    keys: Keys, tmp_path: Path, logs: Logs
) -> None:
    with Site({"/": Reply(page("<p>Welcome</p>"))}) as site:
        url = f"http://127.0.0.1:{site.port}"
        for name, address in (
            ("there", url),
            ("nowhere", nowhere()),
            ("path", f"{url}/no/api?x=y"),
        ):
            given = {"gemini_url": address, "tavily_url": address, "openai_url": address}
            report = ask(tmp_path / name, keys, write_model="openai:any", **given)
            assert report.answer is not None and report.answer.failures
        for asked in site.requests:
            headers = {n: v for n, v in asked.headers.items() if n not in ("x-goog-api-key", "authorization")}
            holds("request", f"{asked.path} {headers}", keys)
    holds("log", logs.text, keys)


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_password_in_an_address_is_a_key_as_well(status: int, tmp_path: Path, logs: Logs, gemini: FakeGemini) -> None:
    keys = Keys(gemini="sentinel-0123456789", openai="hunter-sentinel-42", tavily="unused-" * 3)
    with FakeSearXNG(status=status) as server:
        url = server.base_url.replace("//", f"//analyst:{keys.openai}@")
        report = ask(tmp_path, keys, gemini_url=gemini.base_url, searxng_url=url, web_search="searxng")
        assert server.log and {finding.provider for finding in report.findings} == {"searxng"}
    holds("log", logs.text, keys)


def test_the_logs_were_really_on(
    tmp_path: Path, logs: Logs, gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily
) -> None:
    openai.fail("write", "echokey")
    ask(
        tmp_path, PLAIN, gemini_url=gemini.base_url, openai_url=openai.base_url,
        tavily_url=tavily.base_url, write_model="openai:any", web_search="tavily",
    )  # fmt: skip
    assert {"research", "openai", "httpcore"} <= logs.names
    assert "research.runtime.run_log INFO run " in logs.text
    assert "•••" in logs.text


# Checkpoints


def test_a_failed_run_keeps_its_checkpoints_and_they_hold_no_key(tmp_path: Path, gemini: FakeGemini) -> None:
    gemini.fail("write", "echokey")
    report = ask(tmp_path, PLAIN, gemini_url=gemini.base_url)
    assert report.run.status == "failed"
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("checkpoints.db*"))
    assert QUESTION.encode() in kept and b"AnswerNotWrittenError" in kept


# The terminal


def terminal(folder: Path, keys: Keys, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    inherited = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "SYSTEMROOT")}
    own = {
        "SIGHTLINE_DATA_DIR": str(folder),
        "SIGHTLINE_MODEL_ATTEMPTS": "1",
        "GEMINI_API_KEY": keys.gemini,
        "OPENAI_API_KEY": keys.openai,
        "TAVILY_API_KEY": keys.tavily,
        "NO_PROXY": "127.0.0.1",
    }
    return subprocess.run(
        [sys.executable, "-m", "research", *args],
        cwd=ROOT,
        env=inherited | own | env,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_no_key_reaches_a_terminal_or_its_log(
    keys: Keys, tmp_path: Path, gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily
) -> None:
    gemini.fail("plan", "echokey")
    openai.fail("write", "echokey")
    tavily.status, tavily.error = 401, {"detail": {"error": f"wrong: {keys.tavily}"}}
    env = {
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "OPENAI_BASE_URL": openai.base_url,
        "TAVILY_BASE_URL": tavily.base_url,
        "ANSWER_MODEL": "openai:any",
        "WEB_SEARCH": "tavily,gemini",
        "OPENAI_LOG": "debug",
    }
    done = terminal(tmp_path, keys, QUESTION, "--log", **env)
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert b"Bad request" in said and "•••".encode() in said
    holds("terminal", said, keys)
    other = terminal(tmp_path, keys, "check", "--log", **env)
    assert "•••".encode() in other.stdout
    holds("check", other.stdout + other.stderr, keys)
    search(tmp_path, keys)


def test_a_key_that_cannot_be_one_is_refused_without_being_shown(tmp_path: Path) -> None:
    keys = Keys(gemini="“sentinel-钥匙 0123456789”", openai="x" * 20, tavily="y" * 20)
    done = terminal(tmp_path, keys, QUESTION, "--log")
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 2
    assert "GEMINI_API_KEY" in said
    assert "sentinel" not in said and "0123456789" not in said


# The pages


@pytest.mark.slow
def test_no_page_shows_a_key(
    keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logs: Logs,
    gemini: FakeGemini, openai: FakeOpenAI, tavily: FakeTavily,
) -> None:  # fmt: skip
    gemini.fail("plan", "echokey")
    gemini.fail("check", "echokey")
    openai.fail("any", "echokey")
    tavily.status, tavily.error = 401, {"detail": {"error": f"wrong: {keys.tavily}"}}
    environment(monkeypatch, tmp_path, keys, {
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "OPENAI_BASE_URL": openai.base_url,
        "TAVILY_BASE_URL": tavily.base_url,
        "ANSWER_MODEL": "openai:any",
        "WEB_SEARCH": "tavily,gemini",
    })  # fmt: skip
    close_application()
    try:
        visitor = Visitor().ask(QUESTION).wait()
        assert "•••" in drawn(visitor)
        pages = [drawn(visitor)]
        for name in ("history", "library", "status"):
            pages.append(drawn(visitor.go(name)))
        pages.append(drawn(visitor.press("check")))
        assert "•••" in pages[-1]
        assert all(QUESTION in text for text in pages[:2])
    finally:
        close_application()
    for text in pages:
        holds("page", text, keys)
    holds("log", logs.text, keys)
    search(tmp_path, keys)


def environment(monkeypatch: pytest.MonkeyPatch, folder: Path, keys: Keys, more: Mapping[str, str]) -> None:
    own = {
        "SIGHTLINE_DATA_DIR": str(folder),
        "SIGHTLINE_MODEL_ATTEMPTS": "1",
        "GEMINI_API_KEY": keys.gemini,
        "OPENAI_API_KEY": keys.openai,
        "TAVILY_API_KEY": keys.tavily,
    }
    for name, value in {**own, **more}.items():
        monkeypatch.setenv(name, value)


def drawn(visitor: Visitor) -> str:
    """All that the page sends to the browser, the data of its tables and its session included."""
    tables = [table.value.to_string() for table in visitor.at.dataframe]
    return "\n".join([visitor.words, repr(visitor.at), json.dumps(visitor.answer), *tables])


# What conceals them


@KEYS
def test_a_message_never_has_a_key_in_it(keys: Keys) -> None:
    register_secrets([keys.gemini])
    trouble = ServiceError("refused", f"the key {keys.gemini} at ?key={quote(keys.gemini, safe='')} is wrong")
    holds("message", f"{trouble} {trouble.message} {trouble!r}", keys)
    assert "is wrong" in trouble.message
    cut = ServiceError("refused", "x" * 290 + keys.gemini)
    holds("message", cut.message, keys)


def test_what_looks_like_a_key_is_concealed_though_nobody_named_it() -> None:
    for text in (
        "https://a.example/?key=unnamed0123456&x=1",
        "Authorization: Bearer unnamed0123456",
        "'x-goog-api-key': 'unnamed0123456'",
        "AIzaunnamed0123456789012345",
        "sk-unnamed0123456789",
        "tvly-unnamed0123456",
    ):
        assert "unnamed" not in mask_secrets(f"before {text} after")
        assert mask_secrets(f"before {text} after").startswith("before ")


def test_ordinary_text_stays_as_it_is() -> None:
    text = "HTTP 400: the models task-force asked for a token count of 1,200 (see the key figures)"
    assert mask_secrets(text) == text


def test_a_traceback_with_a_key_is_shown_without_it_by_any_handler(logs: Logs) -> None:
    register_secrets(["planted-key-9876543210"])
    log = logging.getLogger("tests.keys")
    try:
        raise ValueError("planted-key-9876543210 is wrong")
    except ValueError:
        log.exception("it failed with %s", "planted-key-9876543210")
    log.error(ValueError("planted-key-9876543210"))
    assert "planted" not in logs.text
    assert "ValueError: ••• is wrong" in logs.text
    assert "it failed with •••" in logs.text
