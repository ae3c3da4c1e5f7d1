"""The addresses of pages in a question and in the queries made from it.

A search may open the pages that its query names. So a page that the person names is named by a
query, and no query names one that only a model has thought of: that would be a page chosen by
whoever wrote the texts that the model has read, with words of ours in its address.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from research.core.records import Question, RunOptions, Task
from research.core.urls import canonical_url, find_urls, replace_urls, url_identity
from research.sources import registry


def keep_known_urls(task: Task, question: Question) -> Task:
    """A task whose query names only pages that the person has named, in this turn or before; of any
    other the host remains. What the person has edited stays."""
    if task.why == "edited":
        return task
    known = {url_identity(address): address for address in _typed_urls(question)}

    def kept(address: str) -> str:
        host = urlsplit(canonical_url(address)).hostname or ""
        return known.get(url_identity(address), host)

    query = replace_urls(task.query, kept)
    return task if query == task.query else task.model_copy(update={"query": query})


def add_question_urls(tasks: Sequence[Task], question: Question, options: RunOptions) -> list[Task]:
    """The tasks with every page that the question names in a query for the web, if that is searched."""
    out = list(tasks)
    web = [name for name in options.sources if registry.get_source(name).kind == "web"]
    places = [n for n, task in enumerate(out) if task.source in web]
    there = {url_identity(a) for n in places for a in find_urls(out[n].query)}
    missing = [address for address in _current_urls(question) if url_identity(address) not in there]
    if not missing or not web:
        return out
    if not places:
        part = out[0].part if out else ""
        task = Task(id=f"1.{len(out) + 1}", source=web[0], query=" ".join(missing), part=part)
        return [*out, task]
    first = out[places[0]]
    query = " ".join([first.query, *missing])
    out[places[0]] = first.model_copy(update={"query": query})
    return out


def _current_urls(question: Question) -> list[str]:
    """What this turn names. Of a question that was rewritten to stand alone, also what it takes from
    earlier turns."""
    typed = {url_identity(address): address for address in _typed_urls(question)}
    now = find_urls("\n".join([question.asked, question.text, *question.added]))
    return list(dict.fromkeys(typed[key] for key in map(url_identity, now) if key in typed))


def _typed_urls(question: Question) -> tuple[str, ...]:
    """What the person has typed, in this turn or before."""
    memory = question.before
    turns = (turn.question for turn in memory.turns)
    return find_urls("\n".join([question.asked or question.text, *question.added, *memory.asked, *turns]))
