"""The plan stage: what the reasoner proposes, held to the run's limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import count
from typing import Any

from research.agent.nodes.question import clean_question
from research.agent.nodes.question_urls import add_question_urls, keep_known_urls
from research.agent.reasoner import Reasoner
from research.core.i18n import message
from research.core.records import Draft, EventEmitter, Part, Plan, Question, Report, RunOptions, Task
from research.sources import registry


async def make_plan(question: Question, reasoner: Reasoner, options: RunOptions, emit: EventEmitter) -> Plan | Draft:
    """The plan of a run, or the whole answer to a question that needs no search.

    A plan is never without a task, so that no run ends without an answer.
    """
    if options.table:
        table = await reasoner.plan_table(question, options, emit)
        return table if table.grid else _limit_plan(table, question, options)
    if options.sections:
        return _limit_outline(await reasoner.plan_report(question, options, emit), question, options)
    plan = await reasoner.plan(question, options, emit)
    return plan if isinstance(plan, Draft) else _limit_plan(plan, question, options)


def _limit_outline(plan: Plan, question: Question, options: RunOptions) -> Plan:
    """An outline within its limits: each section has a task, and no two have the same."""
    parts, notes = list(plan.parts), list(plan.notes)
    if len(parts) > options.sections:
        more = len(parts) - options.sections
        notes.append(message("planning.sections", question.language, n=more))
        parts = parts[: options.sections]
    parts = parts or [Part(id="s1", subject=question.text, text=question.text)]
    tasks = [task for task in _unique_tasks(plan.tasks) if task.source in options.sources]
    tasks = [keep_known_urls(task, question) for task in tasks]
    source = registry.preferred_report_source(options.sources)
    for part in parts:
        if not any(task.part == part.id for task in tasks):
            words = dict.fromkeys([question.text, part.subject])
            query, number = " ".join(words), f"1.{len(tasks) + 1}"
            tasks.append(Task(id=number, source=source, query=query, part=part.id))
    sorted_ = [task for part in parts for task in tasks if task.part == part.id]
    tasks = add_question_urls(sorted_, question, options)
    update = {"parts": tuple(parts), "tasks": tuple(tasks), "notes": tuple(notes), "outline": True}
    return plan.model_copy(update=update)


def standalone_question(question: Question, plan: Plan) -> Question:
    """The question as the plan has rewritten it to stand alone."""
    if not plan.question or plan.question == question.text:
        return question
    return question.model_copy(update={"text": plan.question, "asked": question.text})


def plan_from_question(question: Question, options: RunOptions) -> Plan:
    """The plan that searches the question itself, in each source."""
    return _limit_plan(Plan(), question, options)


def empty_plan(question: Question) -> Plan:
    """The plan of a run that has to end before there is one: nothing will be searched."""
    return Plan(parts=(Part(id="p1", subject="", text=question.text),))


def continuation_plan(report: Report, rounds: int) -> Plan:
    """The plan of a run that goes on where a finished one ended: what that one has found, as its
    first round, so that it begins with a judgement of it."""
    found = [f.task for f in report.findings if f.reason in (None, "empty")]
    tasks = [task.model_copy(update={"id": f"1.{n}", "round": 1}) for n, task in enumerate(_unique_tasks(found), 1)]
    old, question = report.plan or Plan(), clean_question(report.run.question)
    note = message("planning.carried", question.language, n=len(tasks), rounds=rounds)
    parts = old.parts or empty_plan(question).parts
    return Plan(parts=parts, tasks=tuple(tasks), edited=old.edited, notes=(note,))


def _limit_plan(plan: Plan, question: Question, options: RunOptions) -> Plan:
    if plan.recalled and question.before.evidence:
        return plan.model_copy(update={"tasks": ()})
    question = standalone_question(question, plan)
    tasks = limit_tasks([keep_known_urls(task, question) for task in plan.tasks], options, known_keys=())
    notes = list(plan.notes)
    if len(tasks) < len(plan.tasks):
        more = len(plan.tasks) - len(tasks)
        notes.append(message("planning.cut", question.language, n=more))
    if not tasks:
        # A map and a database know nothing of most questions: whoever plans has to want them.
        general = [name for name in options.sources if registry.get_source(name).query_type == "words"]
        tasks = tuple(
            Task(id=f"1.{n}", source=source, query=question.text)
            for n, source in enumerate(general or options.sources, 1)
        )
        notes.append(message("planning.own words", question.language))
    parts = plan.parts or (Part(id="p1", subject="", text=question.text),)
    tasks = tuple(add_question_urls(tasks, question, options))
    update = {"parts": parts, "tasks": tasks, "notes": tuple(notes), "recalled": False}
    return plan.model_copy(update=update)


PlanRow = tuple[str, str, str, str]  # subject, part, query, source
DatedPlanRow = tuple[str, str, str, str, str, date | None, date | None]  # the same, tool, first and last day


def build_edited_plan(rows: Iterable[PlanRow | DatedPlanRow], original: Plan) -> Plan:
    """A plan from what the analyst edited: rows of subject, part, query and source, which may go on
    with a way of searching (a tool, the first and the last day).

    Rows without a query are left out. A task that the original has keeps its way of searching,
    unless its row tells one, and the names that its hits must mention; a new one must mention its
    subject, unless the original was without names. Where the original's tasks serve its parts as a
    whole, so do rows that name none, and the parts stay. The rows of an outline are sections: see
    `_edited_outline`.
    """
    if original.outline:
        return _build_edited_outline(rows, original)
    whole = has_shared_tasks(original)
    parts: list[Part] = []
    tasks: list[Task] = []
    names = {p.subject: t.subject for p in original.parts for t in original.tasks if t.part == p.id}
    known = {(task.query, task.source): task for task in original.tasks}
    strict = not original.tasks or any(task.subject for task in original.tasks)
    for subject, text, query, source, *way in rows:
        subject, text, query = subject.strip(), text.strip(), query.strip()
        if not query:
            continue
        part = next((p for p in parts if (p.subject, p.text) == (subject, text)), None)
        if part is None and not (whole and subject == text == ""):
            taken = len(original.parts) if whole else 0
            part = Part(id=f"p{taken + len(parts) + 1}", subject=subject, text=text or query)
            parts.append(part)
        required = names.get(subject, (subject,) if subject and strict else ())
        task = Task(
            id=f"1.{len(tasks) + 1}",
            source=source,
            query=query,
            part=part.id if part else "",
            subject=required,
            why="edited",
        )
        tasks.append(_set_search_options(task, way, known.get((query, source))))
    if whole:
        parts = [*original.parts, *parts]
    if _is_unchanged(parts, tasks, original):
        return original
    return Plan(parts=tuple(parts), tasks=tuple(_unique_tasks(tasks)), edited=True)


def _set_search_options(task: Task, search_options: Sequence[Any], original_task: Task | None) -> Task:
    """A task with the way of searching of its row, else with that of the original's same query."""
    if search_options:
        tool, start, end = search_options
    elif original_task:
        tool, start, end = original_task.tool, original_task.start, original_task.end
    else:
        return task
    return task.model_copy(update={"tool": tool, "start": start, "end": end})


def _build_edited_outline(rows: Iterable[PlanRow | DatedPlanRow], original: Plan) -> Plan:
    """The outline of rows: those of one title are one section, with as many queries as rows.

    A row without a title belongs to the section of the row above. A section whose title the original
    has keeps its id. The first text of a section is its content. One that has no query searches its
    title, so that no section is without a task; a row that is empty is left out.
    """
    ids = {part.subject: part.id for part in reversed(original.parts)}
    free = (id_ for n in count(1) if (id_ := f"s{n}") not in ids.values())
    known = {(task.part, task.query, task.source): task for task in original.tasks}
    names = {task.part: task.subject for task in original.tasks}
    texts: dict[str, str] = {}
    made: dict[str, list[Task]] = {}
    last = ""
    for title, text, query, source, *way in rows:
        text, query = text.strip(), query.strip()
        last = title = " ".join(title.split()) or last or " ".join((query or text).split())
        if not title:
            continue
        texts[title] = texts.get(title) or text
        part = ids.get(title) or ids.setdefault(title, next(free))
        same = known.get((part, query, source))
        task = Task(id="", source=source, query=query, part=part, subject=names.get(part, ()))
        task = _set_search_options(task.model_copy(update={"why": same.why if same else "edited"}), way, same)
        made.setdefault(title, []).append(task)
    tasks: list[Task] = []
    for title, wanted in made.items():
        asked = [task for task in wanted if task.query]
        tasks += asked or [wanted[0].model_copy(update={"query": title})]
    numbered = [task.model_copy(update={"id": f"1.{n}"}) for n, task in enumerate(_unique_by_section(tasks), 1)]
    parts = [Part(id=ids[title], subject=title, text=text or title) for title, text in texts.items()]
    if _is_same_outline(parts, numbered, original):
        return original
    return Plan(parts=tuple(parts), tasks=tuple(numbered), edited=True, outline=True)


def _unique_by_section(tasks: Iterable[Task]) -> list[Task]:
    """Each section's tasks, none of them twice; another section may have the same."""
    kept: dict[tuple[str, str], Task] = {}
    for task in tasks:
        kept.setdefault((task.part, task.key), task)
    return list(kept.values())


def _is_same_outline(parts: Sequence[Part], tasks: Sequence[Task], original: Plan) -> bool:
    keys = [(task.part, task.query, task.key) for task in tasks]
    return tuple(parts) == original.parts and sorted(keys) == sorted(
        (task.part, task.query, task.key) for task in original.tasks
    )


def has_shared_tasks(plan: Plan) -> bool:
    """Whether the tasks belong to no part of their own, as where a model has planned."""
    return bool(plan.tasks) and not any(task.part for task in plan.tasks)


def _is_unchanged(parts: Sequence[Part], tasks: Sequence[Task], original: Plan) -> bool:
    """Whether nothing was changed: then the original stays, with what it does not show."""
    asked = [(part.subject, part.text) for part in parts]
    return asked == [(part.subject, part.text) for part in original.parts] and {
        _search_key(task) for task in tasks
    } == {_search_key(task) for task in original.tasks}


def _search_key(task: Task) -> tuple[object, ...]:
    return task.query, task.source, task.tool, task.start, task.end


def _unique_tasks(tasks: Iterable[Task]) -> list[Task]:
    return list({task.key: task for task in reversed(list(tasks))}.values())[::-1]


def limit_tasks(tasks: Sequence[Task], options: RunOptions, known_keys: Iterable[str]) -> tuple[Task, ...]:
    """Tasks for chosen sources only, none that ran already, at most `queries` a source, of
    one that is local more (`Source.most`)."""
    seen = set(known_keys)
    count: dict[str, int] = {}
    kept: list[Task] = []
    for task in tasks:
        if task.source not in options.sources or task.key in seen:
            continue
        if count.get(task.source, 0) >= registry.get_source(task.source).max_queries(options.queries):
            continue
        seen.add(task.key)
        count[task.source] = count.get(task.source, 0) + 1
        kept.append(task)
    return tuple(kept)
