"""The limits that the documents state are those that the code has."""

from __future__ import annotations

import tomllib
from pathlib import Path

from pages.database import files as database_page
from pages.middleware import rate_limits, upload_limits
from pages.shared import login, temporary_files
from pages.tables import form
from research import FILE_LIMITS
from research.core.settings import MIN_TOKEN_CHARS, load_settings
from research.core.tool_servers import ToolServer
from research.http import connections
from research.mcp_server import serving
from research.mcp_server.server import MAX_RESOURCES
from research.readers import duckdb_config, table_files, table_records
from research.sources.database import rewrites
from research.sources.library import trash as library_bin
from research.sources.library.ocr import PAGE_TIMEOUT_SECONDS
from research.sources.mcp_tools import session
from research.sources.mcp_tools.evidence import MAX_RESULT_CHARS
from research.sources.mcp_tools.transports import MAX_ERROR_LINES
from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["server"]
WORDS = {1: "one", 5: "five", 10: "ten", 12: "twelve"}
MB, MEGA, GIGA = 1024 * 1024, 1_000_000, 1_000_000_000


def of_field(name: str, kind: str) -> object:
    """A limit of a field of `mcp.json`."""
    return next(getattr(rule, kind) for rule in ToolServer.model_fields[name].metadata if hasattr(rule, kind))


def stated() -> dict[str, tuple[str, str]]:
    """Sentences of the documents, made of what the code has."""
    request, upload, socket = (rate_limits.RATE_LIMITS[name] for name in ("request", "upload", "socket"))
    default = ToolServer(name="x", command="x")
    return {
        "requests": (
            "security.md",
            f"a burst of {request.burst:,} requests and {request.per_second} a second sustained "
            f"(uploads {upload.burst:,} and {upload.per_second}, "
            f"new connections {socket.burst} and {socket.per_second})",
        ),
        "addresses": ("security.md", f"without a sign-in gets {WORDS[rate_limits.ADDRESS_FACTOR]} times that"),
        "largest upload": (
            "security.md",
            f"No file may have more than {CONFIG['maxUploadSize']} MB; "
            "that is for tables on the Database page.",
        ),
        "document": (
            "security.md",
            f"may have up to {FILE_LIMITS['size']} MB and {FILE_LIMITS['characters']:,} characters "
            f"of text, a file of rows for a table {form.MAX_FILE_MEGABYTES} MB.",
        ),
        "uploads together": (
            "security.md",
            f"An open page may hold up to {upload_limits.MAX_PAGE_FILES:,} files or {upload_limits.MAX_PAGE_BYTES // MEGA} MB, "
            f"a browser or person up to {upload_limits.MAX_CLIENT_FILES:,} files or "
            f"{upload_limits.MAX_CLIENT_BYTES // MEGA} MB (413)",
        ),
        "connections": (
            "security.md",
            f"less than {connections.MIN_BODY_BYTES:,} bytes of its body, arrives within {connections.CHECK_INTERVAL_SECONDS:g} "
            f"seconds are closed at the next look, {connections.CHECK_INTERVAL_SECONDS:g} seconds later; "
            f"of more than {connections.MAX_IDLE_CONNECTIONS} without a request",
        ),
        "mcp bodies": ("mcp-server.md", f"more than {serving.MAX_BODY_BYTES // MB} MB with 413"),
        "mcp sessions": (
            "mcp-server.md",
            f"without a request for {serving.SESSION_IDLE_SECONDS // 60} minutes ends, and there are at most "
            f"{serving.MAX_SESSIONS} at once",
        ),
        "mcp connections": (
            "mcp-server.md",
            f"is closed after {connections.CHECK_INTERVAL_SECONDS:g} to {2 * connections.CHECK_INTERVAL_SECONDS:g} seconds, and of more "
            f"than {connections.MAX_IDLE_CONNECTIONS} such connections the oldest at once",
        ),
        "sign-in": (
            "deployment.md",
            f"A sign-in lasts {WORDS[login.SIGN_IN_LIFETIME.total_seconds() // 3600]} hours here",
        ),
        "record of sign-outs": (
            "security.md",
            f"a hash is kept for the {WORDS[login.SIGN_IN_LIFETIME.total_seconds() // 3600]} hours",
        ),
        "all rows": (
            "deployment.md",
            "only to its own person, for an hour" if temporary_files.LIFETIME_SECONDS == 3600 else "",
        ),
        "tables": (
            "database.md",
            f"up to {table_files.MAX_FILE_BYTES // GIGA} GB and {table_records.MAX_ROWS // MEGA} million rows each; "
            f"the Database page takes up to {database_page.MAX_FILE_MEGABYTES} MB each",
        ),
        "gathered": (
            "database.md", f"A member of more than {rewrites.MAX_GATHERED_CHARS:,} characters is left as NULL",
        ),
        "duckdb": (
            "database.md",
            f"{duckdb_config.MEMORY_LIMIT[:-2]} MB of memory, {duckdb_config.SPILL_LIMIT[:-2]} GB of room for spilling",
        ),
        "shown rows": ("database.md", f"{load_settings({}).database_rows:,} rows are shown"),
        "scans": (
            "library.md",
            f"A file may have {FILE_LIMITS['pages']:,} pages, a picture {FILE_LIMITS['pixels']} "
            f"megapixels, and a page may take {WORDS[PAGE_TIMEOUT_SECONDS // 60]} minutes",
        ),
        "put back": ("zh.md", f"{library_bin.RETENTION.days} 天内可以放回"),
        "mcp.json": (
            "mcp.md",
            f"its name, at most {of_field('title', 'max_length')} characters, and what it knows, "
            f"at most {of_field('about', 'max_length')}",
        ),
        "a call": ("mcp.md", f"seconds of one call, {default.timeout:g} unless set"),
        "calls": ("mcp.md", f"in one search, {default.calls} unless set"),
        "an answer": ("mcp.md", f"Of one answer, {MAX_RESULT_CHARS:,} characters are read"),
        "complaints": ("mcp.md", f"its first {MAX_ERROR_LINES} lines"),
        "tools": ("mcp.md", f"more than {session.MAX_TOOLS:,} tools, the first {session.MAX_TOOLS:,} of"),
        "resources": ("mcp-server.md", f"The latest {MAX_RESOURCES} are listed"),
        "token": ("mcp-server.md", f"({MIN_TOKEN_CHARS} characters at least)"),
    }  # fmt: skip


def text(document: str) -> str:
    return " ".join((ROOT / "docs" / document).read_text(encoding="utf-8").split())


@each_row("name", stated())
def test_a_document_states_the_limit_of_the_code(name: str) -> None:
    document, sentence = stated()[name]
    assert sentence
    assert sentence in text(document)


def test_the_server_takes_the_largest_file_that_a_page_asks_for() -> None:
    asked = (database_page.MAX_FILE_MEGABYTES, FILE_LIMITS["size"], form.MAX_FILE_MEGABYTES)
    assert CONFIG["maxUploadSize"] == max(asked)
    assert CONFIG["maxUploadSize"] * MB <= upload_limits.MAX_PAGE_BYTES <= upload_limits.MAX_CLIENT_BYTES
