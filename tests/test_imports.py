"""Who may import whom, and that importing costs nothing. Reads the code as it lies in the tree."""

from __future__ import annotations

import ast
import importlib.machinery
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import research
from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
NEUTRAL = {
    "records",
    "settings",
    "storage",
    "trouble",
    "deadlines",
    "tracing",
    "urls",
    "readable",
    "webpages",
    "providers",
    "domains",
    "attached",
    "toolservers.config",
}
PURE = {
    "places.coordinates",
    "data",
    "i18n",
    "mcp.sifting",
}  # import nothing of ours: anyone may use them
PROTOCOLS = {
    "reasoners",
    "sources",
    "sources.registry",
}  # these very modules: what lies below them is no protocol
WIRED = {"news", "places", "wire", "sources"}  # what talks to strangers
SERVED = {
    "library",
    "models",
    "news",
    "database",
    "places",
    "toolservers",
}  # that a source may stand for
FOLDERS = {  # what a folder may import of others, beside what everybody may
    "evidence": set(),
    "verification": {"evidence"},
    "audit": {"evidence", "verification"},
    "tables": {"evidence", "verification"},
    "report": {"evidence", "verification", "tables"},
    "library": set(),
    "models": set(),
    "news": {"verification"},
    "database": set(),
    "toolservers": set(),
    "places": {"toolservers"},
    "store": {"evidence"},
    "account": {"evidence", "report", "store", "library", "models"},
}
MODULES = sorted((ROOT / "research").rglob("*.py"))
TERMINAL = [ROOT / "research" / "__main__.py", *sorted((ROOT / "research" / "cli").rglob("*.py"))]
PAGES = sorted((ROOT / "pages").rglob("*.py"))


def dotted(file: Path) -> str:
    """research/sources/web/__init__.py is research.sources.web."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in the file it does so."""
    here = dotted(file) if file.name == "__init__.py" else dotted(file).rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = here.split(".")
                package = package[: len(package) - node.level + 1]
                base = ".".join([*package, *filter(None, [node.module])])
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield name if name.startswith("research.") and is_module(name) else base


def ours(file: Path) -> set[str]:
    """What a file imports of the engine, without the leading `research.`."""
    names = {name for name in imports(file) if name.split(".")[0] == "research"}
    return {name.removeprefix("research").removeprefix(".") or "research" for name in names}


def allowed(module: str, wanted: str) -> bool:
    """The table. Both are names without the leading `research.`."""
    top, _, rest = module.partition(".")
    target = wanted.split(".")[0]
    if module == "hanzi":
        return wanted == "data"
    if module == "wire.client" and wanted == "research":
        return True  # the version, which services are told
    if module == "i18n":
        return wanted == "records"
    if module == "records" or module in PURE:
        return False
    if module == "settings" and wanted in (
        "providers",
        "domains",
        "attached",
        "toolservers.config",
    ):
        return True
    if module == "settings" and wanted in ("sources", "sources.registry"):
        return True  # which sources there are, and what they read
    if module in NEUTRAL:
        return wanted in ("records", "data") or target == "language"
    if top == "language":
        return target == "language" or wanted in ("records", "data")
    if top == "parsing":
        return target == "parsing" or wanted in ("settings", "trouble")
    if wanted in NEUTRAL | PURE or target in ("language", "parsing"):
        return True
    if target == "wire" and top in WIRED:
        return True
    if top in FOLDERS:
        return target == top or target in FOLDERS[top]
    if top == "reasoners":
        return target in ("reasoners", "models", "tables") or wanted in (
            "sources",
            "sources.registry",
            "evidence.markup",
            "evidence.registry",
            "verification.reading",
        )
    if top == "sources":
        own = rest.split(".")[0]
        return (
            wanted in ("sources", "sources.standing", "evidence.registry")
            or target == "models"
            or (own in SERVED and target == own)
            or (bool(own) and wanted.split(".")[:2] == ["sources", own])
        )
    if top == "stages":
        return target in ("stages", "evidence", "verification", "tables") or wanted in {
            *PROTOCOLS,
            "news.coverage",
        }
    if top == "graph":
        return target == "stages" or wanted in PROTOCOLS
    if top == "mcp":  # as the pages and the terminal
        return wanted == "research" or target == "mcp"
    if top in ("runs", "served"):
        return wanted != "research" and target not in ("__main__", "cli")
    return False


# The public face is held by tests of its own.
@pytest.mark.slow
@each_row("file", [f for f in MODULES if dotted(f) != "research" and f not in TERMINAL])
def test_a_module_of_the_engine_imports_only_what_its_place_allows(file: Path) -> None:
    module = dotted(file).removeprefix("research.")
    assert {name for name in ours(file) if not allowed(module, name)} == set()


def test_the_table_tells_right_from_wrong() -> None:
    assert allowed("sources.news", "news.tools")
    assert allowed("sources.web.tavily", "sources.web")
    assert allowed("sources.web.tavily", "wire.tavily")
    assert allowed("news.tools", "wire.tavily")
    assert allowed("report.html", "evidence.citations")
    assert allowed("stages.search", "sources")
    assert allowed("database.build", "places.coordinates")
    assert not allowed("stages.search", "sources.library")
    assert not allowed("sources.news", "library.index")
    assert not allowed("sources.news", "sources.library")
    assert not allowed("news.tools", "sources.web.results")
    assert not allowed("wire.tavily", "news.tools")
    assert not allowed("library.index", "wire.plain")
    assert not allowed("evidence.registry", "report.markdown")
    assert not allowed("library.index", "evidence.registry")
    assert allowed("verification.support", "evidence.registry")
    assert allowed("news.figures", "verification.rivals")
    assert not allowed("verification.rivals", "news.figures")
    assert not allowed("evidence.registry", "verification.judge")
    assert not allowed("library.index", "verification.judge")
    assert not allowed("graph", "runs.local")
    assert not allowed("database.build", "places.offline")
    assert allowed("news.figures", "language.quantities")
    assert allowed("urls", "language.text")
    assert allowed("library.documents", "parsing.pool")
    assert not allowed("parsing.worker", "library.documents")
    assert not allowed("webpages", "parsing.pool")
    assert not allowed("language.quantities", "settings")
    assert not allowed("language.quantities", "evidence.registry")
    assert not allowed("language.text", "places.coordinates")
    assert not allowed("store.store", "runs.local")
    assert not allowed("account.preferences", "runs.personal")
    assert allowed("account.preferences", "store.store")
    assert not allowed("runs.local", "research")
    assert not allowed("records", "language.segment")
    assert allowed("language.hanzi", "data")
    assert not allowed("data", "language.hanzi")
    assert not allowed("records", "settings")
    assert allowed("mcp.server", "research")
    assert allowed("places.server", "mcp.sifting")
    assert not allowed("mcp.server", "runs.local")
    assert not allowed("places.server", "mcp.server")


@pytest.mark.slow
@each_row("file", MODULES)
def test_the_engine_knows_nothing_of_the_pages(file: Path) -> None:
    assert {name.split(".")[0] for name in imports(file)}.isdisjoint({"streamlit", "pages", "app"})


def set_(tree: ast.AST) -> list[ast.expr]:
    """What an item is put into: `x` of `x[name] = value`."""
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]


WRAPPER = "research.toolservers.tether"  # a program of its own, with the environment of its command


@pytest.mark.slow
@each_row("file", [f for f in MODULES if dotted(f) not in ("research.settings", WRAPPER)])
def test_only_the_settings_read_the_environment(file: Path) -> None:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    uses = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "environb"))
        or (isinstance(node, ast.alias) and node.name in ("environ", "getenv", "environb"))
    ]
    if dotted(file) == "research":
        defaults = [
            node.func.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setdefault"
        ]
        uses = [use for use in uses if use not in defaults]
    if dotted(file) == "research.tracing":  # it sets the name that keeps LangSmith silent
        uses = [use for use in uses if use not in set_(tree)]
    assert [ast.unparse(use) for use in uses] == []


@pytest.mark.slow
def test_pages_and_the_terminal_use_only_the_public_names() -> None:
    wrong = []
    for file in [ROOT / "app.py", *PAGES, *TERMINAL]:
        own = "research.cli" if file in TERMINAL else None
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names if a.name.startswith("research.")]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("research."):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == "research":
                names = [a.name for a in node.names if a.name not in research.__all__]
            elif isinstance(node, ast.ImportFrom) and node.level and "research" in file.parts:
                names = ["." * node.level + (node.module or "")]
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "research"
            ):
                names = [node.attr] if node.attr not in {"__version__", *research.__all__} else []
            names = [name for name in names if not own or not f"{name}.".startswith(f"{own}.")]
            wrong += [f"{file.relative_to(ROOT)}:{node.lineno}: {name}" for name in names]
    assert wrong == []


def promised() -> dict[str, tuple[str, str]]:
    """What the public face imports for those who check types: where each name lives, and as what."""
    tree = ast.parse((ROOT / "research" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and "not" not in ast.unparse(node.test))  # fmt: skip
    return {
        alias.asname or alias.name: (node.module or "", alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_public_names_are_sorted_and_complete() -> None:
    def rank(name: str) -> tuple[int, str]:
        """Constants, then classes, then the rest: the order that ruff keeps."""
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert research.__all__ == sorted(promised(), key=rank)
    assert set(research.__all__) <= set(dir(research))
    assert not hasattr(research, "Nothing")
    with pytest.raises(ImportError, match="Nothing"):
        from research import Nothing  # type: ignore[attr-defined]  # noqa: F401


@each_row("name", research.__all__)
def test_a_public_name_is_what_the_checker_of_types_takes_it_for(name: str) -> None:
    module, own = promised()[name]
    home = importlib.import_module(module)
    there = importlib.import_module("research.runs") if name == "runs" else getattr(home, own)
    assert getattr(research, name) is there


def test_no_public_name_but_that_of_a_module_hides_a_module() -> None:
    modules = {dotted(file).split(".")[1] for file in MODULES if dotted(file) != "research"}
    assert set(research.__all__) & modules == {"runs"}
    assert isinstance(research.runs, types.ModuleType)


def loads(statement: str) -> set[str]:
    """The top-level modules that a new process has loaded after a statement."""
    script = f"{statement}\nimport sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-B", "-c", script],
        env={},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


HEAVY = {"langgraph", "langchain_core", "numpy", "lxml", "httpx", "mcp", "pydantic", "streamlit"}


def test_importing_alone_loads_nothing_heavy() -> None:
    assert loads("import research") & HEAVY == set()


@pytest.mark.parametrize(
    ("statement", "needed"),
    [
        ("import research.places.server", {"httpx", "mcp", "pydantic"}),
        ("from research import Event, Run, StoreError", {"pydantic"}),
    ],
)
def test_who_needs_little_loads_neither_the_graph_nor_the_models(
    statement: str, needed: set[str]
) -> None:
    assert loads(statement) & HEAVY == needed


STRICT = "assert __import__('langgraph.checkpoint.serde._msgpack', fromlist=['x']).STRICT_MSGPACK_ENABLED"  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    ["import research.graph", "from research import runs", "import research.runs.local"],
)
def test_whoever_comes_first_the_checkpoints_are_bound_to_known_types(statement: str) -> None:
    assert "langgraph" in loads(f"{statement}\n{STRICT}")


# urllib3, which comes with langgraph, asks the system once whether it has IPv6 by binding ::1.
AUDITED = """
import os, sys
sys.path.insert(0, sys.argv[1])
FORBIDDEN = {"os.mkdir", "os.system", "sqlite3.connect", "subprocess.Popen"}
seen = []
def hook(event, args):
    if event == "open":
        wrong = isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    elif event.startswith("socket."):
        wrong = event != "socket.__new__" and (event, args[1]) != ("socket.bind", ("::1", 0))
    else:
        wrong = event in FORBIDDEN
    if wrong:
        seen.append((event, str(args)))
sys.addaudithook(hook)
before = dict(os.environ)
import research
for name in research.__all__:
    getattr(research, name)
assert "streamlit" not in sys.modules
changed = {k: v for k, v in os.environ.items() if before.get(k) != v}
assert changed == {"LANGGRAPH_STRICT_MSGPACK": "true"}, changed
assert not seen, seen
"""


@pytest.mark.slow
def test_importing_makes_no_file_prints_nothing_reaches_nobody_and_needs_no_key(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", AUDITED, str(ROOT)],
        env={"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_no_page_has_the_name_of_an_importable_module() -> None:
    own = [ROOT, ROOT / "pages", *(ROOT / "tests").rglob("")]
    elsewhere = [p for p in sys.path if Path(p or ".").resolve() not in own]
    for page in (ROOT / "pages").glob("*.py"):
        assert page.stem not in sys.stdlib_module_names
        assert importlib.machinery.PathFinder.find_spec(page.stem, elsewhere) is None, page.stem
