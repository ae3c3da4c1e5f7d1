"""The reasoner that calls chat models: one to plan, one to reflect, one to write.

A model's failure is recorded and never replaced by an invention: without a plan the question itself
is searched, without a reflection the round is the last, and without a text the findings are quoted.
Citations of a model are looked up among the handles that it received.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from pydantic import model_validator

from research.agent.llm import prompts
from research.agent.llm.draft_assembly import (
    build_draft,
    ending_draft,
    fallback_draft,
    no_source_spans,
    parse_reply,
    quotes_draft,
    require_material,
)
from research.agent.llm.explore import ToolLoop
from research.agent.llm.material import MaterialListing, fit_material, has_citable_material
from research.agent.llm.model_output import Judgement, OutputWithLists, has_nonempty_list, one_line
from research.agent.llm.report_writer import ReportWriter
from research.agent.llm.table_extractor import TableExtractor
from research.agent.llm.yes_no_models import is_yes_no_model
from research.agent.reasoner import ReasonerInput
from research.citations.model_markdown import parse_model_markdown
from research.core.errors import ServiceError
from research.core.events import DraftStarted, EventEmitter
from research.core.i18n import message
from research.core.records import (
    MAX_QUESTION_CHARS,
    Clarification,
    Draft,
    Evidence,
    Finding,
    Part,
    Plan,
    Question,
    Reflection,
    RunOptions,
    Span,
    Task,
)
from research.core.settings import Role, SettingError, model_setting_name
from research.core.text.tokenizer import detect_language, is_blank
from research.models.chat import Chat
from research.models.clients import ModelClients
from research.models.prompting import Prompt
from research.models.roles import (
    ModelSpec,
    checker_spec,
    is_usable,
    missing_setting,
    parse_spec,
    report_spec,
    role_models,
)
from research.sources import registry
from research.sources.places.questions import parse_place_query

MAX_PROPOSED_QUERIES = 200  # further queries of a model are ignored


class _PlanOutput(OutputWithLists):
    route: str
    answer: str = ""
    question: str = ""
    ask_back: str = ""

    @model_validator(mode="before")
    @classmethod
    def _infer_route(cls, data: Any) -> Any:
        """Treat a plan with queries but no route as a plan to search."""
        if isinstance(data, dict) and not data.get("route") and has_nonempty_list(data):
            return {**data, "route": "search"}
        return data


class _ReflectionOutput(Judgement, OutputWithLists):
    """A judgement with the queries for each source."""


class ModelReasoner:
    """Plans, reflects and writes with chat models."""

    def __init__(self, clients: ModelClients, clock: Callable[[], datetime]) -> None:
        self._clients = clients
        self._role_models = role_models(clients.settings)
        self.report_spec = report_spec(clients.settings)
        self._checker_spec = checker_spec(clients.settings)
        self._clock = clock
        self._chats: dict[ModelSpec, Chat] = {}
        report_writer = ReportWriter(self)
        self.plan_report, self.write_section = report_writer.plan_report, report_writer.write_section
        self.reflect_on_section, self.write_preface = report_writer.reflect_on_section, report_writer.write_preface
        self.judge_tones = report_writer.judge_tones
        self.explore = ToolLoop(self).explore
        table_extractor = TableExtractor(self)
        self.plan_table, self.cell_tasks, self.extract_cells = (
            table_extractor.plan_table,
            table_extractor.cell_tasks,
            table_extractor.extract_cells,
        )

    def chat(self, role: Role, options: RunOptions | None = None) -> Chat:
        """Return the model of a role, or the run's own model if it names one.

        A model that is set for reports takes every role of a report but searching.

        Raises:
            ServiceError: the run's model is not a valid name.
        """
        spec = self._role_models[role]
        if self.report_spec and options and options.sections and role != "search":
            spec = self.report_spec
        if options and (model_name := options.model_for(role)):
            try:
                spec = parse_spec(model_name, providers=self._clients.settings.providers)
            except SettingError as error:
                raise ServiceError("refused", str(error), hint="model") from error
        return self._chat_for(spec)

    def report_chat(self) -> Chat | None:
        """Return the model that is set for reports; None if there is none."""
        return self._chat_for(self.report_spec) if self.report_spec else None

    def check_chat(self, options: RunOptions) -> Chat:
        """Return the model that judges sentences: the one set for it, else the reflecting one.

        Raises:
            ServiceError: the run's own model is not a valid name.
        """
        return self._chat_for(self._checker_spec) if self._checker_spec else self.chat("reflect", options)

    def rewrite_chat(self, options: RunOptions) -> Chat:
        """Return the model that rewrites sentences: the judging one, if it can write.

        Raises:
            ServiceError: the run's own model is not a valid name.
        """
        chat = self.check_chat(options)
        return self.chat("reflect", options) if is_yes_no_model(chat.spec) else chat

    def _chat_for(self, spec: ModelSpec) -> Chat:
        if spec not in self._chats:
            self._chats[spec] = Chat(spec, self._clients)
        return self._chats[spec]

    def model_name(self, role: Role) -> str:
        """Return the model of a role as `provider:name`."""
        return str(self._role_models[role])

    def model_names(self, options: RunOptions) -> dict[Role, str]:
        """Return the model of each role in a run; defaults if the run's model is invalid."""
        names = {role: str(spec) for role, spec in self._role_models.items()}
        try:
            return {**names, **{role: str(self.chat(role, options).spec) for role in names}}
        except ServiceError:  # the run's own model is not a valid name
            return names

    def role_table(self) -> list[tuple[Role, str, str, str]]:
        """Return each role, its setting, its model, and the name of a missing setting, if any."""
        settings = self._clients.settings
        return [
            (role, model_setting_name(role), str(spec), missing_setting(spec, settings))
            for role, spec in self._role_models.items()
        ]

    async def load_clients(self) -> None:
        """Create the client of every usable model."""
        for spec in self._usable_specs():
            await self._chat_for(spec).load_client()
        if self.report_spec:
            await self._chat_for(self.report_spec).load_client()

    def _usable_specs(self) -> list[ModelSpec]:
        """Return the usable models of the roles, the planning one first."""
        specs = dict.fromkeys([self._role_models["plan"], *self._role_models.values()])
        return [spec for spec in specs if is_usable(spec, self._clients.settings)]

    @property
    def max_result_chars(self) -> int:
        """Characters of a search result in the prompts of reports; 0 means no limit."""
        return self._clients.settings.report_result_chars

    @property
    def today(self) -> date:
        """The current day of the program's clock."""
        return self._clock().date()

    # Planning

    async def plan(self, inputs: ReasonerInput) -> Plan | Draft:
        """Let a model plan the searches, answer at once, or ask a clarifying question beside its plan."""
        question, options, emit = inputs.question, inputs.options, inputs.emit
        if not options.loops:  # nothing is searched, so the answer is the only call
            return Plan()
        fields = prompts.query_fields(options.sources, "queries")
        can_clarify = options.clarify and not question.additions
        try:
            chat = self.chat("plan", options)
        except ServiceError as error:
            return _failed_plan(question, options, error)
        has_gemini = bool(self._clients.settings.key("gemini"))
        self._clients.preload(self._usable_specs(), with_search=has_gemini and "web" in options.sources)
        try:
            output = await chat.ask_json(
                lambda token_budget: prompts.plan_prompt(
                    prompts.shorten_conversation(question, token_budget),
                    fields,
                    options.queries,
                    self.today,
                    can_clarify=can_clarify,
                ),
                prompts.plan_schema(
                    fields, options.queries, is_follow_up=bool(question.memory.turns), can_clarify=can_clarify
                ),
                _PlanOutput,
                "plan",
                emit,
            )
        except ServiceError as error:
            return _failed_plan(question, options, error)
        if output.route == "direct" and not is_blank(output.answer):
            return Draft(
                spans=(
                    Span(kind="notice", text=message("draft.direct", question.language)),
                    *parse_model_markdown(output.answer, {}, {}),
                ),
                author=str(chat.spec),
            )
        parts = output.text_list("sub_questions", prompts.MAX_PARTS, prompts.MAX_QUERY_CHARS)
        standalone = one_line(output.question, MAX_QUESTION_CHARS) if question.memory.turns else ""
        return Plan(
            question=standalone if standalone != question.text else "",
            from_memory=output.route == "earlier" and bool(question.memory.evidence),
            parts=tuple(Part(id=f"p{n}", subject="", text=t) for n, t in enumerate(parts, 1)),
            tasks=_to_tasks(output, fields, 1),
            clarification=_to_clarification(output) if can_clarify else None,
        )

    # Reflecting

    async def reflect(self, inputs: ReasonerInput, round_: int) -> Reflection:
        """Let a model judge whether the findings suffice, and propose further searches."""
        question, findings, options = inputs.question, inputs.findings, inputs.options
        if findings and all(f.has_failed for f in findings):
            note = message("draft.failed", question.language)
            return Reflection(round=round_, sufficient=False, note=note)
        fields = prompts.query_fields(options.sources, "follow_up_queries")
        try:
            chat = self.chat("reflect", options)
            output = await chat.ask_json(
                lambda token_budget: fit_material(
                    findings,
                    token_budget,
                    lambda listing: prompts.reflection_prompt(
                        prompts.shorten_conversation(question, token_budget),
                        inputs.plan,
                        findings,
                        fields,
                        options.queries,
                        self.today,
                        listing,
                    ),
                    use_summaries=True,
                )[0],
                prompts.reflection_schema(fields, options.queries),
                _ReflectionOutput,
                "reflect",
                inputs.emit,
            )
        except ServiceError as error:
            return Reflection(
                round=round_,
                sufficient=False,
                note=message("draft.unreflected", question.language, why=error.message),
                failures=(error.to_failure("reflect"),),
            )
        gap, is_sufficient = output.gap, output.is_sufficient
        return Reflection(
            round=round_,
            sufficient=is_sufficient,
            gap=(gap,) if gap and not is_sufficient else (),
            follow_ups=() if is_sufficient else _to_tasks(output, fields, round_ + 1),
            note=gap or (message("draft.covered", question.language) if is_sufficient else ""),
        )

    # Writing

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        """Let a model write the answer from the findings, or from its memory if nothing is searched."""
        findings, language = inputs.findings, inputs.question.language
        if not inputs.options.loops:
            return await self._write_unsearched(inputs)
        try:
            chat = self.chat("write", inputs.options)
        except ServiceError as error:
            return fallback_draft(language, findings, error)
        if not has_citable_material(findings):
            return Draft(spans=no_source_spans(language, findings), author=message("draft.nobody", language))
        listing = MaterialListing()

        def build_prompt(token_budget: int) -> Prompt:
            nonlocal listing
            question = prompts.shorten_conversation(inputs.question, token_budget)
            prompt, listing = fit_material(
                findings,
                token_budget,
                lambda shown: prompts.answer_prompt(question, inputs.plan, findings, reflections, shown, self.today),
            )
            require_material(listing, chat)
            handles = {h: (c.evidence, c.passage) for h, c in listing.handles.items()}
            inputs.emit(DraftStarted(handles=handles))
            return prompt

        try:
            reply = await chat.stream_text(build_prompt, "write", inputs.emit)
        except ServiceError as error:
            return fallback_draft(language, findings, error)
        return build_draft(reply, language, findings, reflections, listing, str(chat.spec))

    async def _write_unsearched(self, inputs: ReasonerInput) -> Draft:
        language = inputs.question.language
        try:
            chat = self.chat("write", inputs.options)
            reply = await chat.stream_text(
                lambda token_budget: prompts.unsearched_prompt(
                    prompts.shorten_conversation(inputs.question, token_budget), self.today
                ),
                "write",
                inputs.emit,
            )
        except ServiceError as error:
            return fallback_draft(language, (), error)
        notice = Span(kind="notice", text=message("draft.unsearched", language))
        ending = ending_draft(reply, language)
        return Draft(
            spans=(notice, *parse_model_markdown(reply.text, {}, {}), *ending.spans),
            author=str(chat.spec),
            failures=ending.failures,
            placeholder=ending.placeholder,
        )

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        return quotes_draft(question.language, findings)

    async def summarise(self, query: str, evidence: Sequence[Evidence], emit: EventEmitter) -> tuple[Span, ...]:
        """Summarise the results of one query, with citations.

        Raises:
            ServiceError: there is no summary.
        """
        chat = self.chat("search")
        task = Task(id="", source="", query=query)
        finding = Finding(task=task, evidence=tuple(evidence), started=self._clock())
        listing = MaterialListing()

        def build_prompt(token_budget: int) -> Prompt:
            nonlocal listing
            prompt, listing = fit_material(
                [finding],
                token_budget,
                lambda shown: prompts.summary_prompt(query, detect_language(query), shown, self.today),
            )
            return prompt

        reply = await chat.ask_text(build_prompt, "summarise", emit)
        return parse_reply(reply, listing, [finding])


def _failed_plan(question: Question, options: RunOptions, error: ServiceError) -> Plan:
    return Plan(
        tasks=_map_tasks(question, options),
        notes=(message("draft.unplanned", question.language),),
        failures=(error.to_failure("plan"),),
    )


def _map_tasks(question: Question, options: RunOptions) -> tuple[Task, ...]:
    """Return the question itself as a task for each source, if it asks for places and maps are
    used.

    This replaces a plan that could not be made.
    """
    query_types = {name: registry.get_source(name).query_type for name in options.sources}
    if "place" not in query_types.values() or parse_place_query(question.text) is None:
        return ()
    sources = (name for name, query_type in query_types.items() if query_type != "question")
    return tuple(Task(id=f"1.{n}", source=source, query=question.text) for n, source in enumerate(sources, 1))


def _to_clarification(output: _PlanOutput) -> Clarification | None:
    """Return the model's clarifying question, if any; one with a single choice is dropped."""
    question = one_line(output.ask_back, prompts.MAX_QUERY_CHARS)
    choices = output.text_list("choices", prompts.MAX_CHOICES, 80)
    if not question or len(choices) == 1:
        return None
    return Clarification(question=question, choices=tuple(choices))


def _to_tasks(output: OutputWithLists, fields: Mapping[str, str], round_: int) -> tuple[Task, ...]:
    """Convert the queries to tasks, source by source."""
    queries = [
        (source, query)
        for field, source in fields.items()
        for query in output.text_list(field, MAX_PROPOSED_QUERIES, prompts.MAX_QUERY_CHARS)
    ]
    return tuple(
        Task(id=f"{round_}.{n}", round=round_, source=source, query=query)
        for n, (source, query) in enumerate(queries, 1)
    )
