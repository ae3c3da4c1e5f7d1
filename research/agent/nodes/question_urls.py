"""URLs in a question and in the queries made from it.

A search may open the pages that its query names. So a page that the user names must be in a query,
and no query may name a page that only a model proposed: texts that the model has read could choose
such a page and receive the user's words in its address.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from research.core.records import Question, RunOptions, Task
from research.core.urls import canonical_url, find_urls, replace_urls, url_identity
from research.sources import registry


def keep_known_urls(task: Task, question: Question) -> Task:
    """Replace each URL in a task's query by its host, unless the user typed it in some turn.

    Edited tasks stay unchanged.
    """
    if task.purpose == "edited":
        return task
    typed_urls = {url_identity(address): address for address in _typed_urls(question)}

    def known_url_or_host(address: str) -> str:
        host = urlsplit(canonical_url(address)).hostname or ""
        return typed_urls.get(url_identity(address), host)

    query = replace_urls(task.query, known_url_or_host)
    return task if query == task.query else task.model_copy(update={"query": query})


def add_question_urls(tasks: Sequence[Task], question: Question, options: RunOptions) -> list[Task]:
    """Add the URLs of the question to the web queries, if the web is searched."""
    updated = list(tasks)
    web = [name for name in options.sources if registry.get_source(name).kind == "web"]
    web_indices = [n for n, task in enumerate(updated) if task.source in web]
    present = {url_identity(a) for n in web_indices for a in find_urls(updated[n].query)}
    missing = [address for address in _current_urls(question) if url_identity(address) not in present]
    if not missing or not web:
        return updated
    if not web_indices:
        part = updated[0].part if updated else ""
        task = Task(id=f"1.{len(updated) + 1}", source=web[0], query=" ".join(missing), part=part)
        return [*updated, task]
    first = updated[web_indices[0]]
    query = " ".join([first.query, *missing])
    updated[web_indices[0]] = first.model_copy(update={"query": query})
    return updated


def _current_urls(question: Question) -> list[str]:
    """Return the URLs of this turn, and those that the rewritten question took from others."""
    typed = {url_identity(address): address for address in _typed_urls(question)}
    current = find_urls("\n".join([question.original_text, question.text, *question.additions]))
    return list(dict.fromkeys(typed[key] for key in map(url_identity, current) if key in typed))


def _typed_urls(question: Question) -> tuple[str, ...]:
    """Return the URLs that the user typed, in this turn or before."""
    memory = question.memory
    turns = (turn.question for turn in memory.turns)
    return find_urls(
        "\n".join([question.original_text or question.text, *question.additions, *memory.earlier_questions, *turns])
    )
