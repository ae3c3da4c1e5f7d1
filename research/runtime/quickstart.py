"""The graph under the input and output names of the Gemini quickstart's clients.

Clients send `messages` and, in the input or the configuration, the number of first queries and of
rounds and the models. All of it is untrusted: it is validated here, and the operator's limits take
precedence. No name stands for a key, an address or a file.

Source: https://github.com/google-gemini/gemini-fullstack-langgraph-quickstart
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from research.agent.nodes.question import QuestionError, clean_question_text
from research.agent.nodes.turn_memory import memory_from_client
from research.agent.state import GraphState, append_items
from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import EvidenceRegistry
from research.core.events import LimitApplied
from research.core.records import Evidence, Finding, Memory, Plan, Report, Run, RunOptions
from research.core.settings import Role, SettingError, Settings
from research.core.urls import canonical_url
from research.export.markdown import message_markdown
from research.export.markdown_escaping import escape_keeping_formulas, markdown_link
from research.models.lifecycle import describe_change, shut_down_models
from research.models.roles import has_usable_model, parse_spec, role_models

MAX_COUNT = 10  # queries of a round, and rounds
MAX_REPORTED_COUNT = 10**9  # larger counts are reported as this one, because not every format holds them
MODEL_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,119}")
MAX_LABEL_CHARS = 80  # characters of a source title
MAX_PASSAGES = 8  # passages of one search that are shown
MAX_PASSAGE_CHARS = 600  # characters of each passage
_T = TypeVar("_T")


class RequestError(ValueError):
    """A client's request is invalid; the message names the field and what was expected."""


class QuickstartSource(TypedDict):
    """A source in the format of the quickstart. Both addresses are equal: none is shortened."""

    label: str
    short_url: str
    value: str


def merge_unique(existing: Sequence[_T], new: Sequence[_T] | None) -> list[_T]:
    """Append the items that are not in the list yet; None clears it.

    Sources are compared by address.
    """
    merged: dict[Any, _T] = {}
    for item in (*existing, *new) if new is not None else ():
        merged.setdefault(item["value"] if isinstance(item, dict) else item, item)
    return list(merged.values())


def add_conversation_messages(existing: Any, new: Any) -> list[AnyMessage]:
    """Append messages to a conversation; a message with a known id replaces the earlier one.

    Raises:
        RequestError: one of them is not a message.
    """
    try:
        return cast("list[AnyMessage]", add_messages(existing, new))
    except (ValueError, TypeError, LookupError, AttributeError, NotImplementedError) as error:
        detail = str(error).partition("\n")[0][:200]
        raise RequestError(f'"messages" has something that is no message: {detail}') from None


class QuickstartInput(TypedDict, total=False):
    """The keys of the input; others are ignored."""

    asked: str | None
    messages: Annotated[list[AnyMessage], add_conversation_messages]
    initial_search_query_count: int
    max_research_loops: int
    reasoning_model: str


class QuickstartState(GraphState, QuickstartInput, total=False):
    """The state of a thread. `messages` accumulate; everything else belongs to the latest turn."""

    query_list: list[str]
    search_query: Annotated[list[str], merge_unique]
    web_research_result: Annotated[list[str], append_items]
    amap_research_result: Annotated[list[str], append_items]
    sources_gathered: Annotated[list[QuickstartSource], merge_unique]
    is_sufficient: bool
    knowledge_gap: str
    follow_up_queries: list[str]
    research_loop_count: int
    number_of_ran_queries: int


NEW_TURN_STATE: dict[str, Any] = {  # clears everything of the previous turn
    "asked": None, "plan": None, "answer": None, "unchecked": False, "findings": None,
    "sections": None, "cells": None, "reflections": None, "search_query": None,
    "web_research_result": None, "amap_research_result": None, "sources_gathered": None,
    "query_list": [], "is_sufficient": False, "knowledge_gap": "", "follow_up_queries": [],
    "research_loop_count": 0, "number_of_ran_queries": 0,
}  # fmt: skip


@dataclass(frozen=True)
class QuickstartRequest:
    """A question with its options. `limits` are the requested values that were replaced by others."""

    question: str
    options: RunOptions
    limits: tuple[LimitApplied, ...] = ()
    message: HumanMessage | None = None  # the question's message, if it came outside `messages`


def read_request(
    state: Mapping[str, Any],
    configuration: Mapping[str, Any],
    default_options: RunOptions,
    settings: Settings,
) -> QuickstartRequest:
    """Parse the request of a client from the input of a turn and its configuration.

    A field of the input takes precedence over the field of the configuration for the same count or
    model. `default_options` are the options of a run that specifies none.

    Raises:
        RequestError: a value is invalid.
    """
    question, message = _read_question(state)
    limits: list[LimitApplied] = []
    configured = {name: value for name, value in configuration.items() if value is not None}
    counts = (
        ("queries", 1, "NUMBER_OF_INITIAL_QUERIES", "initial_search_query_count", "number_of_initial_queries"),
        ("loops", 0, "MAX_RESEARCH_LOOPS", "max_research_loops", "max_research_loops"),
    )
    update: dict[str, Any] = {"approve": False, "clarify": False}  # nobody is there to answer
    for option, minimum, setting, input_name, name in counts:
        if state.get(input_name) is not None:
            name, count = input_name, _read_count(input_name, state[input_name], minimum)
        elif name in configured:
            count = _read_count(name, configured[name], minimum)
        else:
            continue
        maximum = min(MAX_COUNT, getattr(settings, option) if setting in settings.operator_limits else MAX_COUNT)
        if count > maximum:
            limits.append(LimitApplied(name=name, asked=min(count, MAX_REPORTED_COUNT), used=maximum))
        update[option] = min(count, maximum)
    models: dict[Role, str] = {}
    for role, name, model in _read_models(state, configured):
        model_name, reason = _choose_model(role, name, model, settings)
        if reason:
            limits.append(LimitApplied(name=name, asked=model, used=model_name, why=reason))
        else:
            models[role] = model_name
    update["models"] = tuple(models.items())
    return QuickstartRequest(question, default_options.model_copy(update=update), tuple(limits), message)


# --- The question


def _read_question(state: Mapping[str, Any]) -> tuple[str, HumanMessage | None]:
    """Return the question, and a message for it if it came outside `messages`."""
    given_question, messages = state.get("asked"), state.get("messages") or []
    if not isinstance(given_question, str | None):
        raise RequestError(f'"asked" must be a text, not {type(given_question).__name__}.')
    if given_question:
        text, name = given_question, "asked"
    else:
        human_messages = [message for message in messages if isinstance(message, HumanMessage)]
        if not human_messages:
            raise RequestError('The input has no question: "messages" needs one of a person.')
        text, name = _message_text(human_messages[-1]), "messages"
    try:
        question = clean_question_text(text)
    except QuestionError as error:
        raise RequestError(f'"{name}" has no question that can be researched. {error}') from None
    return question, HumanMessage(question) if given_question else None


def memory_from_messages(messages: Sequence[BaseMessage]) -> Memory:
    """Build the memory of the turns before the last human message."""
    turns: list[tuple[str, str]] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            turns.append((_message_text(message), ""))
        elif isinstance(message, AIMessage) and turns:
            turns[-1] = (turns[-1][0], _message_text(message))
    return memory_from_client([(question, answer) for question, answer in turns[:-1] if question.strip()])


def _message_text(message: BaseMessage) -> str:
    """Return the text of a message, without pictures and other parts."""
    parts = [message.content] if isinstance(message.content, str) else message.content
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


# --- Limits and models


def _read_count(name: str, value: object, minimum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestError(f'"{name}" must be a whole number, not {type(value).__name__}.')
    if value < minimum:
        raise RequestError(f'"{name}" is {_format_count(value)}; it must be at least {minimum}.')
    return value


def _read_models(state: Mapping[str, Any], configured: Mapping[str, Any]) -> Iterable[tuple[Role, str, str]]:
    """Yield the models that a client names: role, field name and model name."""
    shared = {"reasoning_model": value} if (value := state.get("reasoning_model")) else {}
    values = {**configured, **shared}
    names: dict[Role, Sequence[str]] = {
        "plan": ("query_generator_model",),
        "reflect": (*shared, "reflection_model", "reasoning_model"),
        "write": (*shared, "answer_model"),
    }
    for role, fields in names.items():
        if name := next((name for name in fields if values.get(name) not in (None, "")), None):
            value = values[name]
            if not isinstance(value, str):
                raise RequestError(f'"{name}" must be the name of a model, not {type(value).__name__}.')
            if not MODEL_NAME.fullmatch(value.strip()):
                raise RequestError(f'"{name}" is no name of a model.')
            yield role, name, value.strip()


def _choose_model(role: Role, name: str, requested: str, settings: Settings) -> tuple[str, str]:
    """Return the model of a role as `provider:name`, and why it is not the requested one, or "".

    Raises:
        RequestError: the model belongs to another provider.
    """
    if not has_usable_model(settings):
        return "", "no model is set: answers are quotes"
    configured = role_models(settings)[role]
    if settings.model(role):
        return str(configured), "the operator has chosen the model"
    try:
        spec = parse_spec(requested, name, settings.providers)
    except SettingError as error:
        raise RequestError(str(error)) from None
    if spec.provider != configured.provider:
        raise RequestError(
            f'"{name}" is {requested}, which is a model of {spec.provider}; name one of {configured.provider}, '
            "or leave it out."
        )
    if spec.provider == "gemini":
        if not re.fullmatch(r"[\w.-]+", spec.name, re.ASCII):
            raise RequestError(f'"{name}" is no name of a model.')
        if spec.name in shut_down_models():
            return str(configured), describe_change(spec.name)
    return str(spec), ""


def _format_count(value: int) -> str:
    """Format a count of any length briefly; a float could not hold one of more than 300 digits."""
    return str(value) if abs(value) < 10**9 else f"{value:.0e}" if abs(value) < 10**300 else "huge"


# --- Output for clients


def add_quickstart_names(name: str, run: Run, state: Any, update: dict[str, Any]) -> dict[str, Any]:
    """Return the update of a node with the quickstart's fields added."""
    if name == "generate_query":
        return {**update, **_plan_update(update.get("plan"))}
    if name == "reflection":
        return {**update, **_reflection_update(state, update)}
    if update.get("answer"):
        return {**update, **_answer_update(run, state, update)}
    if findings := update.get("findings"):
        return {**update, **_findings_update(findings)}
    return update


def _plan_update(plan: Plan | None) -> dict[str, Any]:
    queries = list(dict.fromkeys(task.query for task in plan.tasks)) if plan else []
    return {"query_list": queries, "search_query": queries}


def _findings_update(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return queries, texts and sources of finished searches; a failed one has no text."""
    items = list(findings)
    texts = [(finding.task.source == "places", _finding_text(finding)) for finding in items]
    return {
        "search_query": [finding.task.query for finding in items],
        "web_research_result": [text for is_place, text in texts if text and not is_place],
        "amap_research_result": [text for is_place, text in texts if text and is_place],
        "sources_gathered": [_to_source(item) for finding in items for item in finding.evidence],
    }


def _reflection_update(state: Mapping[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the judgement of a reflection. Without one, the research counts as ended."""
    reflection = next(iter(update.get("reflections", ())), None)
    return {
        "is_sufficient": bool(reflection and reflection.sufficient),
        "knowledge_gap": "\n".join(reflection.gap) if reflection else "",
        "follow_up_queries": [task.query for task in reflection.follow_ups] if reflection else [],
        "research_loop_count": state["round"],
        "number_of_ran_queries": len(merge_unique(state.get("search_query", ()), ())),
    }


def _answer_update(run: Run, state: Mapping[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer as a message and its cited sources.

    The message of a later node has the same id and replaces it.
    """
    findings = (*state.get("findings", ()), *update.get("findings", ()))
    found_evidence = (item for finding in findings for item in finding.evidence)
    registry = EvidenceRegistry((*state["question"].memory.evidence, *found_evidence))
    report = Report(
        run=run,
        plan=state.get("plan"),
        findings=findings,
        reflections=tuple(state.get("reflections", ())),
        answer=update["answer"],
        evidence=tuple(registry),
    )
    cited = number_citations(update["answer"], registry)
    message = AIMessage(message_markdown(report, cited), id=f"answer-{run.id}")
    return {
        "messages": [message],
        "sources_gathered": _cited_sources(cited),
        "research_loop_count": state.get("round", 0) if findings else 0,
    }


def _cited_sources(cited: CitedAnswer) -> list[QuickstartSource]:
    return merge_unique([_to_source(source.evidence) for source in cited.sources], ())


def _to_source(evidence: Evidence) -> QuickstartSource:
    title = " ".join(evidence.title.split())
    name = evidence.locator if evidence.kind == "library" else ""
    address = canonical_url(evidence.url) or name or evidence.id
    return QuickstartSource(
        label=title[:MAX_LABEL_CHARS] or address[:MAX_LABEL_CHARS], short_url=address, value=address
    )


def _finding_text(finding: Finding) -> str:
    """Return a finding as Markdown: the model's summary with its sources, else its passages."""
    by_id = {item.id: item for item in finding.evidence}
    if finding.summary:
        lines = []
        for span in finding.summary:
            items = dict.fromkeys(cite.evidence for cite in span.references if cite.evidence in by_id)
            lines.append(
                escape_keeping_formulas(span.text)
                + "".join(f" ({_link_to(by_id[evidence_id])})" for evidence_id in items)
            )
        return "\n\n".join(lines)
    pairs = [(item, passage) for item in finding.evidence for passage in item.passages]
    return "\n".join(
        f"- {escape_keeping_formulas(passage.text[:MAX_PASSAGE_CHARS])} ({_link_to(item)})"
        for item, passage in pairs[:MAX_PASSAGES]
    )


def _link_to(evidence: Evidence) -> str:
    return markdown_link(evidence.title or evidence.locator, evidence.url)
