"""A small graph for Agent Servers to serve: what it does is asked for in its input, and what it did
is in a file by the name of its run, in the folder that SIGHTLINE_DATA_DIR names.
"""

from __future__ import annotations

import asyncio
import operator
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send, interrupt

from research.core.records import Task

BRANCHES = ("a", "b", "c")


class State(TypedDict, total=False):
    """What is known so far. `asked` is words: fail, wait, approve, blocking."""

    asked: str
    tasks: list[Task]
    found: Annotated[list[str], operator.add]
    seen: str
    answer: str


@dataclass(frozen=True)
class Context:
    """Whose run it is."""

    run: str = ""


def _note(run: str, line: str) -> None:
    folder = Path(os.environ["SIGHTLINE_DATA_DIR"])
    with (folder / f"{run}.txt").open("a", encoding="utf-8") as file:
        file.write(f"{line} {os.getpid()}\n")


def _there(run: str, what: str) -> bool:
    return (Path(os.environ["SIGHTLINE_DATA_DIR"]) / f"{run}.{what}").exists()


async def _plan(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    run = runtime.context.run
    _note(run, f"plan as {__name__} with {type(runtime.context).__module__}")
    runtime.stream_writer({"kind": "planned", "data": {"branches": list(BRANCHES)}})
    if "blocking" in state["asked"]:
        with sqlite3.connect(":memory:") as database:
            database.execute("select 1")
    return {"tasks": [Task(id=name, source="web", query=name) for name in BRANCHES]}


async def _approve(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    _note(runtime.context.run, "approve")
    if "approve" in state["asked"] and not _there(runtime.context.run, "approved"):
        interrupt("the plan")
    return {}


async def _fan_out(state: State) -> list[Send]:
    return [Send("search", task) for task in state["tasks"]]


async def _search(task: Task, runtime: Runtime[Context]) -> dict[str, Any]:
    run = runtime.context.run
    _note(run, f"begin {task.id} {type(task).__module__}.{type(task).__name__}")
    runtime.stream_writer({"kind": "search", "data": {"task": task.id}})
    try:
        if task.id == "c":
            while _there(run, "wait"):  # noqa: ASYNC110 - a test removes the file
                await asyncio.sleep(0.02)
            if _there(run, "broken"):
                raise RuntimeError("sentinel-secret of the branch")
    except asyncio.CancelledError:
        _note(run, f"cancelled {task.id}")
        raise
    _note(run, f"end {task.id}")
    return {"found": [task.id]}


async def _answer(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    _note(runtime.context.run, "answer")
    runtime.stream_writer({"kind": "answer", "data": {"found": sorted(state["found"])}})
    kinds = {type(task).__name__ for task in state["tasks"]}
    return {"answer": " ".join(sorted(state["found"])), "seen": " ".join(sorted(kinds))}


class Served(CompiledStateGraph[Any, Any, Any, Any]):
    """A graph whose copies, which the servers make, know the types that it may find in a state."""

    def copy(self, update: dict[str, Any] | None = None) -> Served:
        made = super().copy(update)
        made._serde_allowlist = self._serde_allowlist
        return made


_graph = StateGraph(State, context_schema=Context)
_graph.add_node("plan", _plan)
_graph.add_node("approve", _approve)
_graph.add_node("search", _search, input_schema=Task)
_graph.add_node("finish", _answer)
_graph.add_edge(START, "plan")
_graph.add_edge("plan", "approve")
_graph.add_conditional_edges("approve", _fan_out, ["search"])
_graph.add_edge("search", "finish")
_graph.add_edge("finish", END)
graph = _graph.compile()
graph.__class__ = Served
