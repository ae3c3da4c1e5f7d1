"""The plan stage: the reasoner's plan, restricted to the run's limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import count
from typing import Any

from research.agent.nodes.question import clean_question
from research.agent.nodes.question_urls import add_question_urls, keep_known_urls
from research.agent.reasoner import Reasoner, ReasonerInput
from research.core.events import EventEmitter
from research.core.i18n import message
from research.core.records import Draft, Part, Plan, Question, Report, RunOptions, Task
from research.sources import registry


async def make_plan(question: Question, reasoner: Reasoner, options: RunOptions, emit: EventEmitter) -> Plan | Draft:
    """Return the plan of a run, or the whole answer to a question that needs no search.

    A plan always has a task, so that no run ends without an answer.
    """
    inputs = ReasonerInput(question, options, emit)
    if options.table:
        table = await reasoner.plan_table(inputs)
        return table if table.grid else _limit_plan(table, question, options)
    if options.sections:
        return _limit_outline(await reasoner.plan_report(inputs), question, options)
    plan = await reasoner.plan(inputs)
    return plan if isinstance(plan, Draft) else _limit_plan(plan, question, options)


def _limit_outline(plan: Plan, question: Question, options: RunOptions) -> Plan:
    """Restrict an outline to its limits. Each section has a task, and no two share one."""
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
    """Return the question as the plan has rewritten it to stand alone."""
    if not plan.question or plan.question == question.text:
        return question
    return question.model_copy(update={"text": plan.question, "original_text": question.text})


def plan_from_question(question: Question, options: RunOptions) -> Plan:
    """Plan to search the question itself in each source."""
    return _limit_plan(Plan(), question, options)


def empty_plan(question: Question) -> Plan:
    """Return a plan without searches, for a run that ends before it is planned."""
    return Plan(parts=(Part(id="p1", subject="", text=question.text),))


def continuation_plan(report: Report, rounds: int) -> Plan:
    """Plan a run that continues a finished one, with the searches of that one as its first round.

    The new run therefore begins with a reflection on their findings.
    """
    earlier_tasks = [f.task for f in report.findings if not f.has_failed]
    tasks = [
        task.model_copy(update={"id": f"1.{n}", "round": 1}) for n, task in enumerate(_unique_tasks(earlier_tasks), 1)
    ]
    earlier_plan, question = report.plan or Plan(), clean_question(report.run.question)
    note = message("planning.carried", question.language, n=len(tasks), rounds=rounds)
    parts = earlier_plan.parts or empty_plan(question).parts
    return Plan(parts=parts, tasks=tuple(tasks), edited=earlier_plan.edited, notes=(note,))


def _limit_plan(plan: Plan, question: Question, options: RunOptions) -> Plan:
    if plan.from_memory and question.memory.evidence:
        return plan.model_copy(update={"tasks": ()})
    question = standalone_question(question, plan)
    tasks = limit_tasks([keep_known_urls(task, question) for task in plan.tasks], options, known_keys=())
    notes = list(plan.notes)
    if len(tasks) < len(plan.tasks):
        dropped = len(plan.tasks) - len(tasks)
        notes.append(message("planning.cut", question.language, n=dropped))
    if not tasks:
        # Maps and databases have nothing on most questions, so they are searched only if planned.
        general = [name for name in options.sources if registry.get_source(name).query_type == "words"]
        tasks = tuple(
            Task(id=f"1.{n}", source=source, query=question.text)
            for n, source in enumerate(general or options.sources, 1)
        )
        notes.append(message("planning.own words", question.language))
    parts = plan.parts or (Part(id="p1", subject="", text=question.text),)
    tasks = tuple(add_question_urls(tasks, question, options))
    update = {"parts": parts, "tasks": tasks, "notes": tuple(notes), "from_memory": False}
    return plan.model_copy(update=update)


PlanRow = tuple[str, str, str, str]  # subject, part, query, source
DatedPlanRow = tuple[str, str, str, str, str, date | None, date | None]  # …, tool, first, last day


def build_edited_plan(rows: Iterable[PlanRow | DatedPlanRow], original: Plan) -> Plan:
    """Build a plan from edited rows: subject, part, query, source, optionally tool, first and last
    day.

    Rows without a query are dropped. A task of the original plan keeps its search options, unless
    the row has some, and the names that its results must mention. A new task requires its subject,
    unless the original had no names. If the tasks of the original serve its parts as a whole, so do
    rows without a part, and its parts stay. The rows of an outline are sections: see
    `_build_edited_outline`.
    """
    if original.outline:
        return _build_edited_outline(rows, original)
    is_shared = has_shared_tasks(original)
    parts: list[Part] = []
    tasks: list[Task] = []
    names_by_subject = {p.subject: t.subject for p in original.parts for t in original.tasks if t.part == p.id}
    original_tasks = {(task.query, task.source): task for task in original.tasks}
    requires_names = not original.tasks or any(task.subject for task in original.tasks)
    for subject, text, query, source, *search_options in rows:
        subject, text, query = subject.strip(), text.strip(), query.strip()
        if not query:
            continue
        part = next((p for p in parts if (p.subject, p.text) == (subject, text)), None)
        if part is None and not (is_shared and subject == text == ""):
            original_count = len(original.parts) if is_shared else 0
            part = Part(id=f"p{original_count + len(parts) + 1}", subject=subject, text=text or query)
            parts.append(part)
        required_names = names_by_subject.get(subject, (subject,) if subject and requires_names else ())
        task = Task(
            id=f"1.{len(tasks) + 1}",
            source=source,
            query=query,
            part=part.id if part else "",
            subject=required_names,
            purpose="edited",
        )
        tasks.append(_set_search_options(task, search_options, original_tasks.get((query, source))))
    if is_shared:
        parts = [*original.parts, *parts]
    if _is_unchanged(parts, tasks, original):
        return original
    return Plan(parts=tuple(parts), tasks=tuple(_unique_tasks(tasks)), edited=True)


def _set_search_options(task: Task, search_options: Sequence[Any], original_task: Task | None) -> Task:
    """Return a task with its row's search options, else those of the original task."""
    if search_options:
        tool, start, end = search_options
    elif original_task:
        tool, start, end = original_task.tool, original_task.start, original_task.end
    else:
        return task
    return task.model_copy(update={"tool": tool, "start": start, "end": end})


def _build_edited_outline(rows: Iterable[PlanRow | DatedPlanRow], original: Plan) -> Plan:
    """Build an outline from rows: rows with the same title form a section, each with one query.

    A row without a title belongs to the section of the row above. A section with an original title
    keeps its id. The first text of a section is its content. A section without a query searches its
    title, so that each has a task. Empty rows are dropped.
    """
    ids = {part.subject: part.id for part in reversed(original.parts)}
    free_ids = (id_ for n in count(1) if (id_ := f"s{n}") not in ids.values())
    original_tasks = {(task.part, task.query, task.source): task for task in original.tasks}
    names_by_part = {task.part: task.subject for task in original.tasks}
    texts: dict[str, str] = {}
    tasks_by_title: dict[str, list[Task]] = {}
    last_title = ""
    for title, text, query, source, *search_options in rows:
        text, query = text.strip(), query.strip()
        last_title = title = " ".join(title.split()) or last_title or " ".join((query or text).split())
        if not title:
            continue
        texts[title] = texts.get(title) or text
        part = ids.get(title) or ids.setdefault(title, next(free_ids))
        original_task = original_tasks.get((part, query, source))
        task = Task(id="", source=source, query=query, part=part, subject=names_by_part.get(part, ()))
        task = _set_search_options(
            task.model_copy(update={"purpose": original_task.purpose if original_task else "edited"}),
            search_options,
            original_task,
        )
        tasks_by_title.setdefault(title, []).append(task)
    tasks: list[Task] = []
    for title, section_tasks in tasks_by_title.items():
        with_query = [task for task in section_tasks if task.query]
        tasks += with_query or [section_tasks[0].model_copy(update={"query": title})]
    numbered = [task.model_copy(update={"id": f"1.{n}"}) for n, task in enumerate(_unique_by_section(tasks), 1)]
    parts = [Part(id=ids[title], subject=title, text=text or title) for title, text in texts.items()]
    if _is_same_outline(parts, numbered, original):
        return original
    return Plan(parts=tuple(parts), tasks=tuple(numbered), edited=True, outline=True)


def _unique_by_section(tasks: Iterable[Task]) -> list[Task]:
    """Drop repeated tasks within each section; different sections may have the same one."""
    unique: dict[tuple[str, str], Task] = {}
    for task in tasks:
        unique.setdefault((task.part, task.key), task)
    return list(unique.values())


def _is_same_outline(parts: Sequence[Part], tasks: Sequence[Task], original: Plan) -> bool:
    keys = [(task.part, task.query, task.key) for task in tasks]
    return tuple(parts) == original.parts and sorted(keys) == sorted(
        (task.part, task.query, task.key) for task in original.tasks
    )


def has_shared_tasks(plan: Plan) -> bool:
    """Return whether the tasks of a plan serve all its parts together, as in the plans of models."""
    return bool(plan.tasks) and not any(task.part for task in plan.tasks)


def _is_unchanged(parts: Sequence[Part], tasks: Sequence[Task], original: Plan) -> bool:
    """Return whether the edited plan equals the original one, which has additional fields."""
    has_same_parts = [(p.subject, p.text) for p in parts] == [(p.subject, p.text) for p in original.parts]
    return has_same_parts and set(map(_edited_fields, tasks)) == set(map(_edited_fields, original.tasks))


def _edited_fields(task: Task) -> tuple[object, ...]:
    """Return the fields of a task that a user can edit."""
    return task.query, task.source, task.tool, task.start, task.end


def _unique_tasks(tasks: Iterable[Task]) -> list[Task]:
    """Keep the first of equal tasks, at the position of the last one."""
    return list({task.key: task for task in reversed(list(tasks))}.values())[::-1]


def limit_tasks(tasks: Sequence[Task], options: RunOptions, known_keys: Iterable[str]) -> tuple[Task, ...]:
    """Return the new tasks of the run's sources, at most `options.queries` for each source.

    A local source may have more (`Source.max_queries`). Tasks in `known_keys` are dropped.
    """
    seen = set(known_keys)
    counts: Counter[str] = Counter()
    limited: list[Task] = []
    for task in tasks:
        if task.source not in options.sources or task.key in seen:
            continue
        if counts[task.source] >= registry.get_source(task.source).max_queries(options.queries):
            continue
        seen.add(task.key)
        counts[task.source] += 1
        limited.append(task)
    return tuple(limited)
