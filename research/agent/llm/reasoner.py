"""The reasoner that asks chat models: one to plan, one to reflect, one to write.

A model's failure is recorded and never replaced by something invented: without a plan the question
itself is searched, without a reflection the round is the last, and without a text what was found is
quoted. Whatever a model cites is looked up among the handles it was given.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from research.agent.llm import prompts
from research.agent.llm.draft_assembly import (
    build_draft,
    describe_ending,
    fallback_draft,
    no_source_spans,
    quotes_draft,
)
from research.agent.llm.explore import explore
from research.agent.llm.judgement import Judgement, has_nonempty_list
from research.agent.llm.material import MaterialListing, fit_material, has_citable_material
from research.agent.llm.report_writer import ReportWriter
from research.agent.llm.table_extractor import TableExtractor
from research.agent.llm.yes_no_models import is_yes_no_model
from research.citations.model_markdown import parse_model_markdown
from research.citations.registry import cites_by_address, cites_by_title
from research.core.errors import ServiceError
from research.core.i18n import message
from research.core.records import (
    MAX_QUESTION_CHARS,
    Clarification,
    Draft,
    EventEmitter,
    Evidence,
    Finding,
    Part,
    Plan,
    Question,
    Reflection,
    RunOptions,
    Span,
    Task,
    normalise_query,
)
from research.core.settings import Role, SettingError, model_setting_name
from research.core.text.tokenizer import detect_language, is_blank
from research.models.chat import Chat, Prompt
from research.models.clients import ModelClients
from research.models.roles import ModelSpec, check_spec, is_usable, missing_setting, report_spec, role_models
from research.models.roles import parse_spec as parse_model
from research.sources import registry
from research.sources.places.questions import parse_place_query

MAX_PROPOSED_QUERIES = 200  # queries of a model that are looked at


class _ModelOutput(BaseModel):
    """What a model was asked for. Bounds are kept by cutting, not by refusing what was paid for."""

    model_config = ConfigDict(extra="allow")

    def text_list(self, field: str, max_items: int, max_chars: int) -> list[str]:
        value = (self.model_extra or {}).get(field)
        texts = value if isinstance(value, list) else []
        clean = [" ".join(text.split())[:max_chars] for text in texts if isinstance(text, str)]
        unlike: dict[str, str] = {}
        for text in clean:
            unlike.setdefault(normalise_query(text), text)
        return [text for key, text in unlike.items() if key][:max_items]


class _PlanOutput(_ModelOutput):
    route: str
    answer: str = ""
    question: str = ""
    ask_back: str = ""

    @model_validator(mode="before")
    @classmethod
    def _infer_route(cls, data: Any) -> Any:
        """A plan with queries is one to search, also where it does not name the route."""
        if isinstance(data, dict) and not data.get("route") and has_nonempty_list(data):
            return {**data, "route": "search"}
        return data


class _ReflectionOutput(Judgement, _ModelOutput):
    """A judgement with the queries of each source."""


class ModelReasoner:
    """Chat models as a reasoner."""

    def __init__(self, clients: ModelClients, clock: Callable[[], datetime]) -> None:
        self._clients = clients
        self._role_models = role_models(clients.settings)
        self.report_spec = report_spec(clients.settings)
        self._check_spec = check_spec(clients.settings)
        self._clock = clock
        self._chats: dict[ModelSpec, Chat] = {}
        editor = ReportWriter(self)
        self.plan_report, self.write_section = editor.plan_report, editor.write_section
        self.reflect_on_section, self.write_preface = editor.reflect_on_section, editor.write_preface
        self.judge_tones = editor.judge_tones
        clerk = TableExtractor(self)
        self.plan_table, self.cell_tasks, self.extract_cells = clerk.plan_table, clerk.cell_tasks, clerk.extract_cells

    def chat(self, role: Role, options: RunOptions | None = None) -> Chat:
        """The model of a role: that of the run, if it names one. On reports the model works that is set
        for them, whatever the role, but for searching.

        Raises:
            Trouble: the run's model is no model's name.
        """
        spec = self._role_models[role]
        if self.report_spec and options and options.sections and role != "search":
            spec = self.report_spec
        if options and (named := options.model_for(role)):
            try:
                spec = parse_model(named, providers=self._clients.settings.providers)
            except SettingError as error:
                raise ServiceError("refused", str(error), hint="model") from error
        return self._chat_for(spec)

    def report_chat(self) -> Chat | None:
        """The model that is set for reports, if one is."""
        return self._chat_for(self.report_spec) if self.report_spec else None

    def check_chat(self, options: RunOptions) -> Chat:
        """The model that judges sentences: the one that is set for it, else the one that reflects.

        Raises:
            Trouble: the run's own model is no model's name.
        """
        return self._chat_for(self._check_spec) if self._check_spec else self.chat("reflect", options)

    def rewrite_chat(self, options: RunOptions) -> Chat:
        """The model that puts sentences in other words: the one that judges them, if it can write.

        Raises:
            Trouble: the run's own model is no model's name.
        """
        chat = self.check_chat(options)
        return self.chat("reflect", options) if is_yes_no_model(chat.spec) else chat

    def _chat_for(self, spec: ModelSpec) -> Chat:
        if spec not in self._chats:
            self._chats[spec] = Chat(spec, self._clients)
        return self._chats[spec]

    def model_name(self, role: Role) -> str:
        """The model of a role, as `provider:name`."""
        return str(self._role_models[role])

    def model_names(self, options: RunOptions) -> dict[Role, str]:
        """The model of each role in a run, as far as it can be told."""
        names = {role: str(spec) for role, spec in self._role_models.items()}
        try:
            return {**names, **{role: str(self.chat(role, options).spec) for role in names}}
        except ServiceError:  # the run's own model is no model's name
            return names

    def role_table(self) -> list[tuple[Role, str, str, str]]:
        """Each role, its setting, its model, and the setting that it lacks, if any."""
        settings = self._clients.settings
        return [
            (
                role,
                model_setting_name(role),
                str(spec),
                missing_setting(spec, settings),
            )
            for role, spec in self._role_models.items()
        ]

    async def load_clients(self) -> None:
        """Makes the client of every model that can be asked."""
        for spec in self._usable_specs():
            await self._chat_for(spec).load_client()
        if self.report_spec:
            await self._chat_for(self.report_spec).load_client()

    def _usable_specs(self) -> list[ModelSpec]:
        """The models of the roles that can be asked, that of plans first."""
        specs = dict.fromkeys([self._role_models["plan"], *self._role_models.values()])
        return [spec for spec in specs if is_usable(spec, self._clients.settings)]

    @property
    def max_result_chars(self) -> int:
        """Characters of a search result that a report's model is shown; 0 is all of it."""
        return self._clients.settings.report_content

    @property
    def today(self) -> date:
        """The day by the clock of the program."""
        return self._clock().date()

    # Planning

    async def plan(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan | Draft:
        if not options.loops:  # nothing will be searched: the answer is the only call
            return Plan()
        fields = prompts.query_fields(options.sources, "queries")
        clarify = options.clarify and not question.added
        try:
            chat = self.chat("plan", options)
        except ServiceError as trouble:
            return _failed_plan(question, options, trouble)
        gemini = bool(self._clients.settings.key("gemini"))
        self._clients.preload(self._usable_specs(), with_search=gemini and "web" in options.sources)
        try:
            made = await chat.ask_json(
                lambda room: prompts.plan_prompt(
                    prompts.shorten_conversation(question, room),
                    fields,
                    options.queries,
                    self.today,
                    can_clarify=clarify,
                ),
                prompts.plan_schema(
                    fields, options.queries, is_follow_up=bool(question.before.turns), can_clarify=clarify
                ),
                _PlanOutput,
                "plan",
                emit,
            )
        except ServiceError as trouble:
            return _failed_plan(question, options, trouble)
        if made.route == "direct" and not is_blank(made.answer):
            return Draft(
                spans=(
                    Span(kind="notice", text=message("draft.direct", question.language)),
                    *parse_model_markdown(made.answer, {}, {}),
                ),
                author=str(chat.spec),
            )
        parts = made.text_list("sub_questions", prompts.MAX_PARTS, prompts.MAX_QUERY_CHARS)
        alone = " ".join(made.question.split())[:MAX_QUESTION_CHARS] if question.before.turns else ""
        return Plan(
            question=alone if alone != question.text else "",
            recalled=made.route == "earlier" and bool(question.before.evidence),
            parts=tuple(Part(id=f"p{n}", subject="", text=t) for n, t in enumerate(parts, 1)),
            tasks=_to_tasks(made, fields, 1),
            unclear=_to_clarification(made) if clarify else None,
        )

    # Reflecting

    async def reflect(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        options: RunOptions,
        round_: int,
        emit: EventEmitter,
    ) -> Reflection:
        if findings and all(f.reason not in (None, "empty") for f in findings):
            note = message("draft.failed", question.language)  # there is nothing to judge
            return Reflection(round=round_, sufficient=False, note=note)
        fields = prompts.query_fields(options.sources, "follow_up_queries")
        try:
            chat = self.chat("reflect", options)
            made = await chat.ask_json(
                lambda room: fit_material(
                    findings,
                    room,
                    lambda listing: prompts.reflection_prompt(
                        prompts.shorten_conversation(question, room),
                        plan,
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
                emit,
            )
        except ServiceError as trouble:
            return Reflection(
                round=round_,
                sufficient=False,
                note=message("draft.unreflected", question.language, why=trouble.message),
                failures=(trouble.to_failure("reflect"),),
            )
        gap = " ".join(made.knowledge_gap.split())[:600]
        enough = made.is_sufficient
        return Reflection(
            round=round_,
            sufficient=enough,
            gap=(gap,) if gap and not enough else (),
            follow_ups=() if enough else _to_tasks(made, fields, round_ + 1),
            note=gap or (message("draft.covered", question.language) if enough else ""),
        )

    # Writing

    async def write(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        reflections: Sequence[Reflection],
        options: RunOptions,
        emit: EventEmitter,
    ) -> Draft:
        tongue = question.language
        if not options.loops:
            return await self._write_unsearched(question, options, emit)
        try:
            chat = self.chat("write", options)
        except ServiceError as trouble:
            return fallback_draft(tongue, findings, trouble)
        if not has_citable_material(findings):
            return Draft(spans=no_source_spans(tongue, findings), author=message("draft.nobody", tongue))
        listing = MaterialListing()

        def made(room: int) -> Prompt:
            nonlocal listing
            asked = prompts.shorten_conversation(question, room)
            prompt, listing = fit_material(
                findings,
                room,
                lambda shown: prompts.answer_prompt(asked, plan, findings, reflections, shown, self.today),
            )
            if not listing.text:
                message = f"the material has no room in the prompt of {chat.spec}"
                raise ServiceError("cut off", message, hint="context")
            handles = {h: [c.evidence, c.passage] for h, c in listing.handles.items()}
            emit("drafting", handles=handles)
            return prompt

        try:
            reply = await chat.stream_text(made, "write", emit)
        except ServiceError as trouble:
            return fallback_draft(tongue, findings, trouble)
        gathered = [item for found in findings for item in found.evidence]
        spans = list(
            parse_model_markdown(
                reply.text,
                listing.handles,
                cites_by_address(gathered),
                cites_by_title(gathered),
                is_partial=bool(reply.is_cut or reply.error),  # half a handle may stand at the end
            )
        )
        return build_draft(spans, reply, tongue, findings, reflections, listing, str(chat.spec))

    async def _write_unsearched(self, question: Question, options: RunOptions, emit: EventEmitter) -> Draft:
        tongue = question.language
        try:
            chat = self.chat("write", options)
            reply = await chat.stream_text(
                lambda room: prompts.unsearched_prompt(prompts.shorten_conversation(question, room), self.today),
                "write",
                emit,
            )
        except ServiceError as trouble:
            return fallback_draft(tongue, (), trouble)
        notice = Span(kind="notice", text=message("draft.unsearched", tongue))
        draft = describe_ending(reply, tongue)
        return Draft(
            spans=(notice, *parse_model_markdown(reply.text, {}, {}), *draft.spans),
            author=str(chat.spec),
            failures=draft.failures,
            unwritten=draft.unwritten,
        )

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        return quotes_draft(question.language, findings)

    async def summarise(self, query: str, evidence: Sequence[Evidence], emit: EventEmitter) -> tuple[Span, ...]:
        """What the results of one query say about it, cited.

        Raises:
            Trouble: there is no summary.
        """
        chat = self.chat("search")
        task = Task(id="", source="", query=query)
        found = Finding(task=task, evidence=tuple(evidence), started=self._clock())
        listing = MaterialListing()

        def made(room: int) -> Prompt:
            nonlocal listing
            prompt, listing = fit_material(
                [found],
                room,
                lambda shown: prompts.summary_prompt(query, detect_language(query), shown, self.today),
            )
            return prompt

        reply = await chat.ask_text(made, "summarise", emit)
        return parse_model_markdown(
            reply.text, listing.handles, cites_by_address(evidence), cites_by_title(evidence), is_partial=reply.is_cut
        )

    async def explore(
        self,
        query: str,
        tools: Sequence[Mapping[str, Any]],
        call: Callable[[str, Mapping[str, Any]], Awaitable[str]],
        budget: int,
        emit: EventEmitter,
        material: str = "",
    ) -> None:
        """Lets the model that searches call tools for a query. `material` is what a server says of
        its tools; without any they are those of the map.

        Raises:
            Trouble: the model cannot be asked.
        """
        await explore(self.chat("search"), query, tools, call, budget, self.today, emit, material)


def _failed_plan(question: Question, options: RunOptions, error: ServiceError) -> Plan:
    return Plan(
        tasks=_map_tasks(question, options),
        notes=(message("draft.unplanned", question.language),),
        failures=(error.to_failure("plan"),),
    )


def _map_tasks(question: Question, options: RunOptions) -> tuple[Task, ...]:
    """The question itself as a task for each source, if it looks for places and nobody can plan."""
    asked = {name: registry.get_source(name).query_type for name in options.sources}
    if "place" not in asked.values() or parse_place_query(question.text) is None:
        return ()
    sources = (name for name, how in asked.items() if how != "question")
    return tuple(Task(id=f"1.{n}", source=source, query=question.text) for n, source in enumerate(sources, 1))


def _to_clarification(output: _PlanOutput) -> Clarification | None:
    """What the model asks back, if anything; with one answer to choose there is nothing to ask."""
    question = " ".join(output.ask_back.split())[: prompts.MAX_QUERY_CHARS]
    choices = output.text_list("choices", prompts.MAX_CHOICES, 80)
    if not question or len(choices) == 1:
        return None
    return Clarification(question=question, choices=tuple(choices))


def _to_tasks(output: _ModelOutput, fields: Mapping[str, str], round_: int) -> tuple[Task, ...]:
    """The queries as tasks, source by source."""
    queries = [
        (source, query)
        for field, source in fields.items()
        for query in output.text_list(field, MAX_PROPOSED_QUERIES, prompts.MAX_QUERY_CHARS)
    ]
    return tuple(
        Task(id=f"{round_}.{n}", round=round_, source=source, query=query)
        for n, (source, query) in enumerate(queries, 1)
    )
