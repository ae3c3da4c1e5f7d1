"""Who may import whom, and that importing costs nothing. Reads the code as it lies in the tree."""

from __future__ import annotations

import ast
import importlib.machinery
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import research
from tests.tables import each_row

ROOT = Path(__file__).resolve().parent.parent
# What each package may import beside itself and `data`, as docs/architecture.md tells.
MAY_IMPORT: dict[str, set[str]] = {
    "data": set(),
    "core": set(),
    "http": {"core"},
    "models": {"core", "http"},
    "readers": {"core"},
    "citations": {"core"},
    "storage": {"core", "citations"},
    "linter": {"core", "citations"},
    "tables": {"core", "citations", "readers"},
    "export": {"core", "citations", "tables"},
    "sources": {"core"},
    "sources.*": {"core", "http", "models", "readers", "storage", "citations", "sources"},
    "agent": {"core", "sources", "citations", "tables", "models", "storage"},
    "accounts": {"core", "citations", "storage", "models", "sources.library", "export"},
    "watch": {"core", "storage", "agent", "runtime"},
    "runtime": {
        "core", "http", "readers", "storage", "models", "agent", "sources", "sources.*", "citations",
        "tables", "export", "accounts", "watch",
    },
    "application": {
        "core", "storage", "models", "agent", "sources", "sources.*", "tables", "accounts", "runtime",
        "watch",
    },
    "mcp_server": {"core", ""},
}  # fmt: skip
# Single modules that import more than their package may.
EXCEPTIONS = {
    ("sources.places", "sources.mcp_tools"),  # Amap's map is a server of tools
    ("agent", "sources.places.questions"),  # rules that read a question, and need no map
    ("agent.nodes.news_coverage", "sources.news.coverage"),  # stories of a report, from records alone
    ("agent.nodes.report_update", "sources.news.search_tools"),  # how far back each tool looks
    ("records", "core.records"),
    ("storage.checkpoint_saver", "records"),  # the former names of the records, which checkpoints hold
    ("runtime.news_reports", "application"),
    ("runtime.worker_process", "application"),
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


def package(module: str) -> str:
    """The package that a module belongs to: of a source its own folder, else the first one."""
    parts = module.split(".")
    if parts[0] == "sources" and len(parts) > 1 and (ROOT / "research" / "sources" / parts[1]).is_dir():
        return f"sources.{parts[1]}"
    return parts[0]


def allowed(module: str, target: str) -> bool:
    """Both are names without the leading `research.`; "" is the public names."""
    own, other = package(module), package(target) if target != "research" else ""
    if other in (own, "data"):
        return True
    if any(f"{module}.".startswith(f"{a}.") and f"{target}.".startswith(f"{b}.") for a, b in EXCEPTIONS):
        return True
    may = MAY_IMPORT.get("sources.*" if own.startswith("sources.") else own, set())
    return other in may or (other.startswith("sources.") and "sources.*" in may)


# Modules that import each other, which each should be one module or have a third one below them.
CIRCLES = {
    frozenset({"storage.checkpoint_saver", "storage.checkpoints"}),
}


def circles(imported: dict[str, set[str]]) -> set[frozenset[str]]:
    """The largest groups of modules of which each one reaches every other one by imports."""
    reached = {module: {module} for module in imported}
    changed = True
    while changed:
        changed = False
        for module, names in imported.items():
            new = set().union(*(reached[name] for name in names)) - reached[module]
            reached[module] |= new
            changed = changed or bool(new)
    groups = (frozenset(name for name in reached[module] if module in reached[name]) for module in imported)
    return {group for group in groups if len(group) > 1}


@pytest.mark.slow
def test_no_modules_import_each_other_even_inside_functions() -> None:
    names = {dotted(file).removeprefix("research."): ours(file) for file in MODULES if dotted(file) != "research"}
    found = circles({module: imported & names.keys() - {module} for module, imported in names.items()})
    assert found == CIRCLES


def test_a_circle_is_found_over_several_modules() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}) == {frozenset("abc")}


# The public face is held by tests of its own.
@pytest.mark.slow
@each_row("file", [f for f in MODULES if dotted(f) != "research" and f not in TERMINAL])
def test_a_module_of_the_engine_imports_only_what_its_place_allows(file: Path) -> None:
    module = dotted(file).removeprefix("research.")
    assert {name for name in ours(file) if not allowed(module, name)} == set()


@pytest.mark.parametrize(
    ("module", "target", "may"),
    [
        ("sources.news.feeds", "http.bodies", True),
        ("sources.news.feeds", "sources.base", True),
        ("sources.news.feeds", "sources.web.results", False),
        ("sources.places.amap_sessions", "sources.mcp_tools.session", True),
        ("sources.mcp_tools.session", "sources.places.amap_sessions", False),
        ("sources.base", "sources.news.feeds", False),
        ("core.text.numbers", "data", True),
        ("core.text.numbers", "http.bodies", False),
        ("core.records", "sources.registry", False),
        ("citations.support", "storage.store", False),
        ("export.html", "citations.numbering", True),
        ("export.html", "agent.graph", False),
        ("agent.nodes.search", "sources.registry", True),
        ("agent.nodes.search", "sources.library.index", False),
        ("agent.llm.prompts", "models.chat", True),
        ("storage.store", "runtime.local_run_manager", False),
        ("runtime.local_run_manager", "agent.graph", True),
        ("runtime.local_run_manager", "research", False),
        ("mcp_server.server", "research", True),
        ("mcp_server.server", "runtime.local_run_manager", False),
    ],
)  # fmt: skip
def test_the_table_tells_right_from_wrong(module: str, target: str, may: bool) -> None:
    assert allowed(module, target) is may


@pytest.mark.slow
@each_row("file", MODULES)
def test_the_engine_knows_nothing_of_the_pages(file: Path) -> None:
    assert {name.split(".")[0] for name in imports(file)}.isdisjoint({"streamlit", "pages", "app"})


def set_(tree: ast.AST) -> list[ast.expr]:
    """What an item is put into: `x` of `x[name] = value`."""
    return [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    ]


WRAPPER = "research.sources.mcp_tools.supervisor"  # a program of its own, with the environment of its command


@pytest.mark.slow
@each_row("file", [f for f in MODULES if dotted(f) not in ("research.core.settings.environment", WRAPPER)])
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
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault"
        ]
        uses = [use for use in uses if use not in defaults]
    if dotted(file) == "research.core.tracing":  # it sets the name that keeps LangSmith silent
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
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "research":
                names = [node.attr] if node.attr not in {"__version__", *research.__all__} else []
            names = [name for name in names if not own or not f"{name}.".startswith(f"{own}.")]
            wrong += [f"{file.relative_to(ROOT)}:{node.lineno}: {name}" for name in names]
    assert wrong == []


def declared() -> list[tuple[str, str]]:
    """The public names in the stub, each with its module."""
    stub = ast.parse((ROOT / "research" / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return [(alias.name, node.module or "") for node in imports for alias in node.names]


def test_the_public_names_are_those_of_the_stub_each_declared_once() -> None:
    names = [name for name, _ in declared()]
    assert sorted(names) == sorted(set(names)) == sorted(research.__all__)
    assert set(names) <= set(dir(research))
    assert not hasattr(research, "Nothing")
    with pytest.raises(ImportError, match="Nothing"):
        from research import Nothing  # type: ignore[attr-defined]  # noqa: F401


@each_row("name", research.__all__)
def test_a_public_name_is_what_its_module_has_under_that_name(name: str) -> None:
    module = importlib.import_module(f"research.{dict(declared())[name]}".rstrip("."))
    assert getattr(research, name) is getattr(module, name)


def test_no_public_name_hides_a_module() -> None:
    modules = {dotted(file).split(".")[1] for file in MODULES if dotted(file) != "research"}
    assert not set(research.__all__) & modules


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
        ("import research.sources.places.server", {"httpx", "mcp", "pydantic"}),
        ("from research import Event, Run, StoreError", {"pydantic"}),
    ],
)
def test_who_needs_little_loads_neither_the_graph_nor_the_models(statement: str, needed: set[str]) -> None:
    assert loads(statement) & HEAVY == needed


STRICT = "assert __import__('langgraph.checkpoint.serde._msgpack', fromlist=['x']).STRICT_MSGPACK_ENABLED"  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "import research.agent.graph",
        "from research import Application",
        "import research.runtime.local_run_manager",
    ],
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
