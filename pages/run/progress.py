"""What a run is doing, from its events: a view that can be built up, and the drawing of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import streamlit as st

from pages.run import steps
from pages.shared.safe import plain
from pages.shared.words import local_time, money, named, number, seconds, source_name, t, tool_name
from research import Cell, Event, Grid, Run, Step, has_message


@dataclass
class Search:
    """One query of a round and what became of it."""

    id: str
    query: str
    source: str
    why: str = ""
    state: str = "waiting"  # waiting, searching, found, or a reason
    passages: int = 0
    titles: list[str] = field(default_factory=list)
    message: str = ""
    hint: str = ""
    provider: str = ""
    seconds: float = 0.0
    reused: bool = False
    cached: str = ""  # when another run searched it
    calls: list[str] = field(default_factory=list)  # that a model has made of a source's tools
    thoughts: list[Step] = field(default_factory=list)  # of a database
    tool: str = ""  # the source's way of searching, and the days that it is limited to
    days: str = ""

    @property
    def over(self) -> bool:
        return self.state not in ("waiting", "searching")

    @property
    def made(self) -> bool:
        return self.over and self.state != "left out"


@dataclass
class Round:
    """One pass of search and reflection."""

    number: int
    searches: dict[str, Search] = field(default_factory=dict)
    started: datetime | None = None
    ended: datetime | None = None
    reflected: bool = False
    skipped: bool = False
    last: bool = True  # of the run: else the searching was ended
    sufficient: bool = False
    note: str = ""
    follow_ups: list[str] = field(default_factory=list)


@dataclass
class Chapter:
    """A section of a report on its way: what it is at (searching, writing, reflecting, done)."""

    title: str
    step: str = ""
    round: int = 0
    cites: int = 0
    searches: dict[str, Search] = field(default_factory=dict)


@dataclass
class View:
    """Everything the events of a run have told so far. `add` may be given an event twice."""

    seq: int = 0
    parts: list[tuple[str, str]] = field(default_factory=list)
    sections: dict[str, Chapter] = field(default_factory=dict)  # of a report, by their ids
    grid: Grid | None = None
    cells: dict[tuple[str, str], Cell] = field(
        default_factory=dict
    )  # of a table, by row and column
    notes: list[str] = field(default_factory=list)
    edited: bool = False
    planned: bool = False
    rounds: dict[int, Round] = field(default_factory=dict)
    writing: bool = False
    text: str = ""
    handles: dict[str, list[str]] = field(default_factory=dict)
    waiting: tuple[str, str, float, datetime] | None = None
    asked_back: str = ""
    answered: str | None = None
    instructions: list[str] = field(default_factory=list)
    heeded: int = 0  # of the instructions, by a stage
    queued: list[str] = field(default_factory=list)
    unthinking: dict[str, str] = field(default_factory=dict)  # models, with the level they refused
    undercounted: dict[str, int] = field(default_factory=dict)  # tokens that models counted
    unreadable: dict[str, list[str]] = field(default_factory=dict)  # parts of answers, by model
    unsaved: str = ""  # the reason why the report or its state is not in its file
    cites: int | None = None
    checking: int = 0  # sentences that a model is asked about
    reviewed: tuple[int, int] | None = None  # sentences that were ruled on, and put right
    tokens: int = 0
    paid: int = 0
    cost: float = 0.0
    unpriced: bool = False
    estimated: bool = False  # whether some tokens were not counted by their server
    asked: Counter[str] = field(default_factory=Counter)  # of services, by search
    first: datetime | None = None
    last: datetime | None = None
    spans: list[tuple[datetime, datetime | None]] = field(default_factory=list)

    def add(self, events: Iterable[Event]) -> View:
        for event in events:
            if event.seq <= self.seq:
                continue
            self.seq = event.seq
            self.first = self.first or event.time
            self.last = event.time
            handler = getattr(self, f"_on_{event.kind}", None)
            if handler:
                with suppress(KeyError, TypeError, ValueError, AttributeError):  # a spoilt one
                    handler(event.data, event.time)
        return self

    @property
    def searches(self) -> int:
        return sum(s.made for r in self.rounds.values() for s in r.searches.values())

    @property
    def begun(self) -> int:
        """The searches that count against a limit: each as often as it asked a service."""
        searches = [s for r in self.rounds.values() for s in r.searches.values()]
        own = [s for s in searches if (s.made or s.state == "searching") and not s.reused]
        return sum(max(1, self.asked[s.id]) for s in own)

    @property
    def typed(self) -> bool:
        """Whether what was asked is a statement to a database."""
        searches = [s for r in self.rounds.values() for s in r.searches.values()]
        return bool(searches) and all(s.tool == "sql" for s in searches)

    def elapsed(self, now: datetime) -> float:
        """Seconds that the run has worked, pauses between stop and resume left out."""
        return sum(((end or now) - start).total_seconds() for start, end in self.spans)

    def _round(self, number_: int) -> Round:
        return self.rounds.setdefault(number_, Round(number_))

    def _task(self, task: dict[str, Any]) -> Search:
        searches = self._round(task["round"]).searches
        search = searches.setdefault(
            task["id"], Search(task["id"], task["query"], task["source"], task["why"])
        )
        search.tool = task.get("tool") or ""
        search.days = " – ".join(filter(None, [task.get("start"), task.get("end")]))
        if chapter := self.sections.get(task["part"]):
            chapter.searches[task["id"]] = search
        return search

    def _on_status(self, data: dict[str, Any], time: datetime) -> None:
        self.queued = []  # what a stop has cut off has left its queue unheard
        if data["status"] == "running":
            self.spans.append((time, None))
        elif self.spans and self.spans[-1][1] is None:
            self.spans[-1] = (self.spans[-1][0], time)

    def _on_plan(self, data: dict[str, Any], _: datetime) -> None:
        plan = data["plan"]
        self.planned, self.edited = True, plan["edited"]
        self.parts = [(part["subject"], part["text"]) for part in plan["parts"]]
        self.notes = plan["notes"]
        self.grid = Grid.model_validate(plan["grid"]) if plan.get("grid") else None
        if plan.get("outline"):
            self.sections = {part["id"]: Chapter(part["subject"]) for part in plan["parts"]}
        if first := self.rounds.get(1):  # the plan as it was before it was approved
            first.searches = {n: s for n, s in first.searches.items() if s.state != "waiting"}
        for task in plan["tasks"]:
            self._task(task)

    def _on_search(self, data: dict[str, Any], time: datetime) -> None:
        search = self._task(data["task"])
        if not search.over:
            search.state = "searching"
        round_ = self._round(data["task"]["round"])
        round_.started = round_.started or time

    def _on_tool(self, data: dict[str, Any], _: datetime) -> None:
        for round_ in self.rounds.values():
            if search := round_.searches.get(data["task"]):
                if "arguments" in data:
                    said = " ".join(str(value) for value in data["arguments"].values())
                    search.calls.append(f"{data['tool']} {said}")
                else:
                    told = ("text", "sql", "rows", "seconds")
                    step = {name: data[name] for name in told if name in data}
                    search.thoughts.append(Step(kind=data["name"], **step))

    def _on_found(self, data: dict[str, Any], time: datetime) -> None:
        search = self._task(data["task"])
        search.state = data["reason"] or "found"
        search.passages, search.titles = data["passages"], data["titles"]
        search.message, search.seconds = data["message"], data["seconds"]
        search.reused, search.cached = data["reused"], data.get("cached", "")
        search.hint, search.provider = data.get("hint", ""), data.get("provider", "")
        self._round(data["task"]["round"]).ended = time

    def _on_reflection(self, data: dict[str, Any], time: datetime) -> None:
        round_ = self._round(data["round"])
        round_.reflected, round_.ended = True, time
        round_.skipped = bool(data.get("skipped"))
        round_.last = data.get("last", True)
        if round_.skipped:
            return
        round_.sufficient, round_.note = data["sufficient"], data["note"]
        round_.follow_ups = [task["query"] for task in data["follow_ups"]]
        for task in data["follow_ups"]:
            self._task(task)

    def _on_section(self, data: dict[str, Any], _: datetime) -> None:
        chapter = self.sections[data["part"]]
        chapter.step, chapter.round = data["step"], data["round"]
        chapter.cites = data.get("cites", chapter.cites)

    def _on_cell(self, data: dict[str, Any], _: datetime) -> None:
        cell = Cell.model_validate(data["cell"])
        self.cells[cell.row, cell.column] = cell

    def _on_unclear(self, data: dict[str, Any], _: datetime) -> None:
        self.asked_back = data["question"]

    def _on_clarified(self, data: dict[str, Any], _: datetime) -> None:
        self.answered = data["answer"]

    def _on_instruction(self, data: dict[str, Any], _: datetime) -> None:
        self.instructions.append(data["text"])

    def _on_heeded(self, data: dict[str, Any], _: datetime) -> None:
        self.heeded = max(self.heeded, data["count"])

    def _on_writing(self, _data: dict[str, Any], _time: datetime) -> None:
        self.writing, self.text, self.waiting = True, "", None

    def _on_drafting(self, data: dict[str, Any], _: datetime) -> None:
        self.handles, self.text = data["handles"], ""

    def _on_text(self, data: dict[str, Any], _: datetime) -> None:
        self.text = data["text"] if data.get("restart") else self.text + data["text"]
        self.waiting = None

    def _on_waiting(self, data: dict[str, Any], time: datetime) -> None:
        self.waiting = (data["what"], data["reason"], data["seconds"], time)

    def _on_queued(self, data: dict[str, Any], _: datetime) -> None:
        if not data["over"]:
            self.queued.append(data["what"])
        elif data["what"] in self.queued:
            self.queued.remove(data["what"])

    def _on_unthinking(self, data: dict[str, Any], _: datetime) -> None:
        self.unthinking[data["what"]] = data["level"]

    def _on_prompt_undercounted(self, data: dict[str, Any], _: datetime) -> None:
        self.undercounted[data["what"]] = data["tokens"]

    def _on_parts_unreadable(self, data: dict[str, Any], _: datetime) -> None:
        self.unreadable.setdefault(data["what"], []).extend(data["parts"])

    def _on_saved(self, data: dict[str, Any], _: datetime) -> None:
        self.unsaved = data["problem"]

    def _on_usage(self, data: dict[str, Any], _: datetime) -> None:
        self.tokens += data["input"] + data["output"]
        self.estimated = self.estimated or bool(data.get("estimated"))
        self.paid += data["searches"]
        self.asked[data.get("task", "")] += data["searches"]
        self.waiting = None
        if data["cost"] is None:
            self.unpriced = True
        else:
            self.cost += data["cost"]

    def _on_answer(self, data: dict[str, Any], _: datetime) -> None:
        self.cites = data.get("cites", data["quotes"])  # runs of earlier versions have quotes alone

    def _on_checking(self, data: dict[str, Any], _: datetime) -> None:
        self.checking = int(data["sentences"])

    def _on_checked(self, data: dict[str, Any], _: datetime) -> None:
        self.checking, self.waiting = 0, None
        self.reviewed = int(data["rulings"]), int(data["repairs"])


def headline(view: View, run: Run) -> str:
    """One line: what a run under way is at, or what one that is over took."""
    if not run.active:
        return summary(view, run)
    facts = [_at(view)]
    if view.searches:
        passages = sum(s.passages for r in view.rounds.values() for s in r.searches.values())
        facts.append(t("step.so_far", n=number(passages)))
    if (elapsed := math.floor(view.elapsed(datetime.now(UTC)))) > 0:
        facts.append(seconds(elapsed))
    return " · ".join(facts)


def _at(view: View) -> str:
    if view.checking:
        return t("step.checking", n=number(view.checking))
    if view.writing:
        return t("step.writing")
    if view.grid:
        cells = number(len(view.grid.rows) * len(view.grid.columns))
        return t("tables.at", done=number(len(view.cells)), cells=cells)
    if view.sections:
        done = sum(chapter.step == "done" for chapter in view.sections.values())
        return t("step.sections", done=done, all=len(view.sections))
    rounds = [r for r in view.rounds.values() if r.started]
    if not rounds:
        return t("step.planned_now" if view.planned else "step.planning")
    last = rounds[-1]
    done = sum(s.over for s in last.searches.values())
    if done == len(last.searches):
        return t("step.reflecting", n=last.number)
    return t("step.round_now", n=last.number, done=done, all=len(last.searches))


def summary(view: View, run: Run) -> str:
    """One line: rounds, searches, seconds."""
    rounds = sum(any(s.made for s in r.searches.values()) for r in view.rounds.values())
    end = datetime.now(UTC) if run.active else (view.last or run.created)
    facts = [
        *([] if view.grid else [t("run.rounds", n=number(rounds))]),
        t("run.searches", n=number(view.searches)),
        seconds(view.elapsed(end)),
    ]
    if view.tokens or view.paid:
        facts.append(spent(view))
    return " · ".join(facts)


def meters(view: View, run: Run) -> None:
    """How much of each limit of the run is used; the row is there from the first look on."""
    end = datetime.now(UTC) if run.active else (view.last or run.created)
    used = {
        "searches": view.begun,
        "tokens": view.tokens,
        "cost": view.cost,
        "seconds": view.elapsed(end),
    }
    limits = {name: getattr(run.options, name) for name in used if getattr(run.options, name)}
    if not limits:
        return
    for column, (name, limit) in zip(st.columns(4), limits.items(), strict=False):
        now = min(used[name], limit) if name == "searches" else used[name]
        words = t(f"meter.{name}", used=_brief(now, name), limit=_brief(limit, name))
        column.progress(min(1.0, now / limit), text=words)


def _brief(value: float, what: str) -> str:
    if what == "cost":
        return money(value)
    return f"{value / 1_000:.0f}k" if value >= 10_000 else number(math.floor(value))


def spent(view: View) -> str:
    """Tokens, or searches without any, and estimated money where a price is known."""
    words = (
        t("run.billed", n=number(view.paid))
        if not view.tokens
        else t("run.tokens_about", n=number(view.tokens))
        if view.estimated
        else t("run.tokens", n=number(view.tokens))
    )
    if view.unpriced and not view.cost:
        return f"{words} · {t('run.cost_unknown')}"
    cost = money(view.cost)
    return f"{words} · {t('run.cost_part' if view.unpriced else 'run.cost', cost=cost)}"


def draw(view: View, run: Run) -> None:
    """The steps of a run as a timeline: the plan, each round, the answer."""
    _draw_plan(view, run)
    if view.answered is not None:
        said = plain(view.answered) or t("step.skipped")
        st.caption(t("step.clarified", question=plain(view.asked_back), answer=said))
    for n, text in enumerate(view.instructions):
        late = not run.active and n >= view.heeded
        word = "step.unheeded" if late else "step.heeded" if n < view.heeded else "step.instructed"
        st.caption(t(word, text=plain(text)))
    for id_, chapter in view.sections.items():
        _draw_section(id_, chapter, run)
    plain_rounds = run.options.loops and not (view.sections or view.grid)
    for number_ in sorted(view.rounds) if plain_rounds else ():
        _draw_round(view.rounds[number_], run, last=number_ == max(view.rounds))
    if view.cites is not None:
        _step(run, "answer", t("step.answered", n=view.cites), ":material/task_alt:")
    elif view.writing and run.active:
        _step(run, "answer", t("step.writing"), "spinner")
    if view.reviewed:
        ruled, mended = view.reviewed
        label = t("step.checked", n=number(ruled), mended=number(mended))
        _step(run, "check", label, ":material/fact_check:")
    elif view.checking and run.active:
        _step(run, "check", t("step.checking", n=number(view.checking)), "spinner")
    if view.waiting and run.active:
        what, reason, wait, since = view.waiting
        if datetime.now(UTC) < since + timedelta(seconds=wait):
            words = plain(named("reason", reason))
            st.caption(t("step.again", what=plain(what), why=words, wait=seconds(wait)))
    for what, level in view.unthinking.items():
        st.caption(t("step.unthinking", what=plain(what), level=plain(level)))
    for what, count in view.undercounted.items():
        st.caption(t("step.undercounted", what=plain(what), n=number(count)))
    for what, parts in view.unreadable.items():
        told = plain("; ".join(dict.fromkeys(parts)))
        st.caption(t("step.unreadable", what=plain(what), parts=told))
    if view.unsaved:
        st.caption(t("step.unsaved", why=plain(view.unsaved, 300)))
    if view.queued and run.active:
        names = plain(", ".join(dict.fromkeys(view.queued)))
        st.caption(t("step.queued", what=names, n=number(len(view.queued))))


def _step(run: Run, name: str, label: str, icon: str, *, open_: bool = False) -> Any:
    return st.expander(
        label, expanded=open_, type="step", icon=icon, key=f"step_{name}_{run.id[:8]}"
    )


def _draw_plan(view: View, run: Run) -> None:
    if not view.planned:
        if run.active:
            _step(run, "plan", t("step.planning"), "spinner")
        return
    tasks = sum(len(r.searches) for n, r in view.rounds.items() if n == 1)
    if view.grid:
        size = {"rows": len(view.grid.rows), "columns": len(view.grid.columns)}
        _step(run, "plan", t("tables.planned", **size), ":material/table_view:")
        return
    label = t("step.planned", parts=len(view.parts), tasks=tasks)
    if view.edited:
        label += f" ({t('step.edited')})"
    with _step(run, "plan", label, ":material/checklist:"):
        lines = [f"- {plain(s)} — {plain(p)}" if s else f"- {plain(p)}" for s, p in view.parts]
        st.markdown("\n".join(lines))
        for note in view.notes:
            st.caption(plain(note))


def _draw_section(id_: str, chapter: Chapter, run: Run) -> None:
    """A section of a report: what it is at, and its searches."""
    over = chapter.step == "done" or not run.active
    step = chapter.step or "waiting"
    label = f"{plain(chapter.title, 80)} · {plain(named('section', step))}"
    if chapter.step == "done":
        label = f"{plain(chapter.title, 80)} · {t('section.cites', n=chapter.cites)}"
    elif chapter.round:
        label += f" · {t('section.round', n=chapter.round + 1)}"
    icon = ":material/article:" if over else "spinner"
    with _step(run, f"section_{id_}", label, icon):
        st.markdown("\n\n".join(_line(search, run) for search in chapter.searches.values()) or "–")


FOR_PEOPLE = ("unclear", "no model", "empty")  # reasons whose messages are written for people
_ICONS = {
    "found": ":green[✓]",
    "searching": "⋯",
    "waiting": "·",
    "empty": ":gray[○]",
    "left out": ":gray[–]",
}


def _draw_round(round_: Round, run: Run, *, last: bool) -> None:
    searches = list(round_.searches.values())
    done = sum(s.over for s in searches)
    passages = sum(s.passages for s in searches)
    label = t("step.round_done", n=round_.number, done=done, all=len(searches), passages=passages)
    if round_.started and round_.ended:
        label += f" · {seconds((round_.ended - round_.started).total_seconds())}"
    working = run.active and not round_.reflected
    icon = "spinner" if working else ":material/travel_explore:"
    with _step(run, f"round{round_.number}", label, icon, open_=last and run.active):
        st.markdown("\n\n".join(_line(search, run) for search in searches))
        if round_.reflected:
            st.markdown(_reflection(round_))


def _line(search: Search, run: Run) -> str:
    mark = _ICONS.get(search.state, ":red[✕]")
    text = f"{mark} **{plain(search.query, 160)}**"
    if search.why:
        why = f"why.{search.why}"
        text += f" :gray[· {t(why) if has_message(why) else plain(search.why)}]"
    lines = [text, *(f":gray[↳ {plain(call, 120)}]" for call in search.calls)]
    lines += [f":gray[↳ {thought(step)}]" for step in search.thoughts]
    return "  \n".join([*lines, _outcome(search, run)])


def thought(step: Step) -> str:
    """A step of a database in a line, with the beginning of its statement."""
    sql = plain(step.sql, 120) if step.kind in ("write", "refused") else ""
    return " · ".join(filter(None, [steps.told(step, 120), sql]))


def _outcome(search: Search, run: Run) -> str:
    where = plain(source_name(search.source))
    if search.provider:
        where += f" ({plain(source_name(search.provider))})"
    if search.tool:
        where = " · ".join(filter(None, [where, plain(tool_name(search.tool)), plain(search.days)]))
    if search.state in ("searching", "waiting"):
        state = named("step", search.state) if run.active else named("run", run.status)
        return f":gray[{where} · {state}]"
    if search.state == "found":
        titles = (
            "、".join
            if any("\u4e00" <= c <= "\u9fff" for c in "".join(search.titles))
            else ", ".join
        )
        names = titles(plain(title, 40) for title in search.titles[:3])
        names += "…" if len(search.titles) > 3 else ""
        outcome = t("step.found", n=number(search.passages), titles=names)
        if search.message:
            outcome += f" ({plain(search.message, 120)})"
    else:
        outcome = plain(named("reason", search.state))
        if search.hint:
            outcome += f" — {plain(named('hint', search.hint))}"
        if search.message and search.state in FOR_PEOPLE:
            outcome += f" ({plain(search.message, 120)})"
    end = t("step.reused") if search.reused else seconds(search.seconds)
    if search.cached:
        end = t("step.cached", time=local_time(datetime.fromisoformat(search.cached)))
    return f":gray[{where} · {outcome} · {end}]"


def _reflection(round_: Round) -> str:
    if round_.skipped:
        return f"*{t('step.reflection')}* — {t('step.last' if round_.last else 'step.ended')}"
    text = f"*{t('step.reflection')}* — {plain(round_.note)}"
    if round_.follow_ups:
        queries = "; ".join(plain(query, 80) for query in round_.follow_ups)
        text += f"  \n*{t('step.followups')}* — {queries}"
    elif not round_.sufficient:
        text += f"  \n{t('step.no_followups')}"
    return text
