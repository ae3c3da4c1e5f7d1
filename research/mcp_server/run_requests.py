"""Runs of the tools `research` and `research_table`, from the arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from research.core.records import Column, Grid, Row, Run, RunOptions
from research.mcp_server import schemas
from research.mcp_server.results import ToolCallError

if TYPE_CHECKING:
    from research import Application


def start_run(application: Application, arguments: schemas.ResearchArguments | schemas.TableArguments) -> Run:
    """Start the run of a call, or return the run that has its id.

    Raises:
        ToolCallError: there is no such source or notebook.
    """
    run_id = arguments.run_id or ""
    if isinstance(arguments, schemas.ResearchArguments):
        return application.runs.start(arguments.question, options=_run_options(application, arguments), run_id=run_id)
    return application.start_table(
        grid=_to_grid(arguments),
        options=_run_options(application, arguments),
        run_id=run_id,
        based_on=arguments.based_on or "",
    )


def _to_grid(arguments: schemas.TableArguments) -> Grid:
    rows = (Row(id=f"r{n}", name=r.name, qualifier=r.about) for n, r in enumerate(arguments.rows, 1))
    columns = (Column(id=f"c{n}", **c.model_dump()) for n, c in enumerate(arguments.columns, 1))
    return Grid(title=arguments.title, rows=tuple(rows), columns=tuple(columns))


def is_same_question(
    application: Application, run: Run, arguments: schemas.ResearchArguments | schemas.TableArguments
) -> bool:
    """Return whether a run has the question or the table of a call."""
    if isinstance(arguments, schemas.ResearchArguments):
        return not run.options.table and run.question == arguments.question
    report = application.runs.report(run.id)
    plan = report.plan if report else None
    return run.options.table and (plan is None or plan.grid == _to_grid(arguments))


def _run_options(application: Application, arguments: schemas.ResearchArguments | schemas.TableArguments) -> RunOptions:
    """Return the options of a run: the default options with those of the call.

    Approval of the plan and clarifying questions are off, because no person is present.

    Raises:
        ToolCallError: there is no such source or notebook.
    """
    services = application.services_for()
    queries, loops, notebook = None, None, None
    if isinstance(arguments, schemas.ResearchArguments):
        notebook = arguments.notebook
        queries, loops = schemas.EFFORTS.get(arguments.effort or "", (None, None))
        queries = arguments.queries or queries
        loops = loops if arguments.loops is None else arguments.loops
    if unknown := sorted(set(arguments.sources or ()) - set(services.sources)):
        available = ", ".join(services.sources)
        raise ToolCallError(f"There is no source {unknown[0]!r}; there are: {available}.")
    if notebook:
        notebook_documents(application, notebook)
        if "library" not in (arguments.sources or services.default_options().sources):
            raise ToolCallError("The library is not among the sources, so no notebook can be quoted.")
    chosen = {
        "notebook": notebook,
        "queries": queries,
        "loops": loops,
        "sources": tuple(dict.fromkeys(arguments.sources)) if arguments.sources else None,
        "approve": False,
        "clarify": False,
    }
    update = {name: value for name, value in chosen.items() if value is not None}
    return services.default_options().model_copy(update=update)


def notebook_documents(application: Application, notebook: str) -> Sequence[str]:
    """Return the names of the documents of a notebook.

    Raises:
        ToolCallError: there is no such notebook.
    """
    known = application.store.notebooks("local")
    if notebook not in known:
        available = ", ".join(known) or "there are none"
        raise ToolCallError(f"There is no notebook {notebook!r}; there are: {available}.")
    return known[notebook]
