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
from research.agent.llm.drafts import drafted, ending, quoted, standing_in, without_sources
from research.agent.llm.explore import explore
from research.agent.llm.judgement import Judgement, lists_something
from research.agent.llm.material import Listing, citable, fitted
from research.agent.llm.report_writer import Editor
from research.agent.llm.table_extractor import Clerk
from research.agent.llm.yes_or_no import says_only
from research.citations.markup import parse
from research.citations.registry import addresses, titles
from research.core.errors import Trouble
from research.core.i18n import message
from research.core.records import (
    MAX_QUESTION,
    Clarification,
    Draft,
    Evidence,
    Finding,
    Options,
    Part,
    Plan,
    Question,
    Reflection,
    Say,
    Span,
    Task,
    normalised,
)
from research.core.settings import Role, SettingError, model_setting
from research.core.text.words import detect_language, is_blank
from research.models.calls import Chat, Prompt
from research.models.clients import Clients
from research.models.roles import Spec, checker, lacking, reporter, roles, usable
from research.models.roles import parse as parse_model
from research.sources import registry
from research.sources.places.questions import wanted

PROPOSED = 200  # queries of a model that are looked at


class _Json(BaseModel):
    """What a model was asked for. Bounds are kept by cutting, not by refusing what was paid for."""

    model_config = ConfigDict(extra="allow")

    def strings(self, field: str, items: int, length: int) -> list[str]:
        value = (self.model_extra or {}).get(field)
        texts = value if isinstance(value, list) else []
        clean = [" ".join(text.split())[:length] for text in texts if isinstance(text, str)]
        unlike: dict[str, str] = {}
        for text in clean:
            unlike.setdefault(normalised(text), text)
        return [text for key, text in unlike.items() if key][:items]


class _Plan(_Json):
    route: str
    answer: str = ""
    question: str = ""
    ask_back: str = ""

    @model_validator(mode="before")
    @classmethod
    def _searches(cls, data: Any) -> Any:
        """A plan with queries is one to search, also where it does not name the route."""
        if isinstance(data, dict) and not data.get("route") and lists_something(data):
            return {**data, "route": "search"}
        return data


class _Reflection(Judgement, _Json):
    """A judgement with the queries of each source."""


class LLM:
    """Chat models as a reasoner."""

    def __init__(self, clients: Clients, clock: Callable[[], datetime]) -> None:
        self._clients = clients
        self._roles = roles(clients.settings)
        self.reporter = reporter(clients.settings)
        self._checker = checker(clients.settings)
        self._clock = clock
        self._chats: dict[Spec, Chat] = {}
        editor = Editor(self)
        self.outline, self.fill = editor.outline, editor.fill
        self.reconsider, self.preface = editor.reconsider, editor.preface
        self.tones = editor.tones
        clerk = Clerk(self)
        self.tabulate, self.searches, self.cells = clerk.tabulate, clerk.searches, clerk.cells

    def chat(self, role: Role, options: Options | None = None) -> Chat:
        """The model of a role: that of the run, if it names one. On reports the model works that is set
        for them, whatever the role, but for searching.

        Raises:
            Trouble: the run's model is no model's name.
        """
        spec = self._roles[role]
        if self.reporter and options and options.sections and role != "search":
            spec = self.reporter
        if options and (named := options.named(role)):
            try:
                spec = parse_model(named, known=self._clients.settings.providers)
            except SettingError as error:
                raise Trouble("refused", str(error), hint="model") from error
        return self._chat(spec)

    def reporting(self) -> Chat | None:
        """The model that is set for reports, if one is."""
        return self._chat(self.reporter) if self.reporter else None

    def checking(self, options: Options) -> Chat:
        """The model that judges sentences: the one that is set for it, else the one that reflects.

        Raises:
            Trouble: the run's own model is no model's name.
        """
        return self._chat(self._checker) if self._checker else self.chat("reflect", options)

    def rewriting(self, options: Options) -> Chat:
        """The model that puts sentences in other words: the one that judges them, if it can write.

        Raises:
            Trouble: the run's own model is no model's name.
        """
        chat = self.checking(options)
        return self.chat("reflect", options) if says_only(chat.spec) else chat

    def _chat(self, spec: Spec) -> Chat:
        if spec not in self._chats:
            self._chats[spec] = Chat(spec, self._clients)
        return self._chats[spec]

    def name(self, role: Role) -> str:
        """The model of a role, as `provider:name`."""
        return str(self._roles[role])

    def models(self, options: Options) -> dict[Role, str]:
        """The model of each role in a run, as far as it can be told."""
        names = {role: str(spec) for role, spec in self._roles.items()}
        try:
            return {**names, **{role: str(self.chat(role, options).spec) for role in names}}
        except Trouble:  # the run's own model is no model's name
            return names

    def table(self) -> list[tuple[Role, str, str, str]]:
        """Each role, its setting, its model, and the setting that it lacks, if any."""
        settings = self._clients.settings
        return [
            (
                role,
                model_setting(role),
                str(spec),
                lacking(spec, settings),
            )
            for role, spec in self._roles.items()
        ]

    async def warm(self) -> None:
        """Makes the client of every model that can be asked."""
        for spec in self._usable():
            await self._chat(spec).warm()
        if self.reporter:
            await self._chat(self.reporter).warm()

    def _usable(self) -> list[Spec]:
        """The models of the roles that can be asked, that of plans first."""
        specs = dict.fromkeys([self._roles["plan"], *self._roles.values()])
        return [spec for spec in specs if usable(spec, self._clients.settings)]

    @property
    def most(self) -> int:
        """Characters of a search result that a report's model is shown; 0 is all of it."""
        return self._clients.settings.report_content

    @property
    def today(self) -> date:
        """The day by the clock of the program."""
        return self._clock().date()

    # Planning

    async def plan(self, question: Question, options: Options, say: Say) -> Plan | Draft:
        if not options.loops:  # nothing will be searched: the answer is the only call
            return Plan()
        fields = prompts.query_fields(options.sources, "queries")
        clarify = options.clarify and not question.added
        try:
            chat = self.chat("plan", options)
        except Trouble as trouble:
            return _unplanned(question, options, trouble)
        gemini = bool(self._clients.settings.key("gemini"))
        self._clients.ahead(self._usable(), search=gemini and "web" in options.sources)
        try:
            made = await chat.json(
                lambda room: prompts.plan_prompt(
                    prompts.briefer(question, room),
                    fields,
                    options.queries,
                    self.today,
                    clarify=clarify,
                ),
                prompts.plan_schema(
                    fields, options.queries, follows=bool(question.before.turns), clarify=clarify
                ),
                _Plan,
                "plan",
                say,
            )
        except Trouble as trouble:
            return _unplanned(question, options, trouble)
        if made.route == "direct" and not is_blank(made.answer):
            return Draft(
                spans=(
                    Span(kind="notice", text=message("draft.direct", question.language)),
                    *parse(made.answer, {}, {}),
                ),
                author=str(chat.spec),
            )
        parts = made.strings("sub_questions", prompts.PARTS, prompts.QUERY)
        alone = " ".join(made.question.split())[:MAX_QUESTION] if question.before.turns else ""
        return Plan(
            question=alone if alone != question.text else "",
            recalled=made.route == "earlier" and bool(question.before.evidence),
            parts=tuple(Part(id=f"p{n}", subject="", text=t) for n, t in enumerate(parts, 1)),
            tasks=_tasks(made, fields, 1),
            unclear=_unclear(made) if clarify else None,
        )

    # Reflecting

    async def reflect(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        options: Options,
        round_: int,
        say: Say,
    ) -> Reflection:
        if findings and all(f.reason not in (None, "empty") for f in findings):
            note = message("draft.failed", question.language)  # there is nothing to judge
            return Reflection(round=round_, sufficient=False, note=note)
        fields = prompts.query_fields(options.sources, "follow_up_queries")
        try:
            chat = self.chat("reflect", options)
            made = await chat.json(
                lambda room: fitted(
                    findings,
                    room,
                    lambda listing: prompts.reflection_prompt(
                        prompts.briefer(question, room),
                        plan,
                        findings,
                        fields,
                        options.queries,
                        self.today,
                        listing,
                    ),
                    brief=True,
                )[0],
                prompts.reflection_schema(fields, options.queries),
                _Reflection,
                "reflect",
                say,
            )
        except Trouble as trouble:
            return Reflection(
                round=round_,
                sufficient=False,
                note=message("draft.unreflected", question.language, why=trouble.message),
                failures=(trouble.failure("reflect"),),
            )
        gap = " ".join(made.knowledge_gap.split())[:600]
        enough = made.is_sufficient
        return Reflection(
            round=round_,
            sufficient=enough,
            gap=(gap,) if gap and not enough else (),
            follow_ups=() if enough else _tasks(made, fields, round_ + 1),
            note=gap or (message("draft.covered", question.language) if enough else ""),
        )

    # Writing

    async def write(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        reflections: Sequence[Reflection],
        options: Options,
        say: Say,
    ) -> Draft:
        tongue = question.language
        if not options.loops:
            return await self._unsearched(question, options, say)
        try:
            chat = self.chat("write", options)
        except Trouble as trouble:
            return standing_in(tongue, findings, trouble)
        if not citable(findings):
            return Draft(
                spans=without_sources(tongue, findings), author=message("draft.nobody", tongue)
            )
        listing = Listing()

        def made(room: int) -> Prompt:
            nonlocal listing
            asked = prompts.briefer(question, room)
            prompt, listing = fitted(
                findings,
                room,
                lambda shown: prompts.answer_prompt(
                    asked, plan, findings, reflections, shown, self.today
                ),
            )
            if not listing.text:
                message = f"the material has no room in the prompt of {chat.spec}"
                raise Trouble("cut off", message, hint="context")
            handles = {h: [c.evidence, c.passage] for h, c in listing.handles.items()}
            say("drafting", handles=handles)
            return prompt

        try:
            reply = await chat.stream(made, "write", say)
        except Trouble as trouble:
            return standing_in(tongue, findings, trouble)
        gathered = [item for found in findings for item in found.evidence]
        spans = list(
            parse(
                reply.text,
                listing.handles,
                addresses(gathered),
                titles(gathered),
                partial=bool(reply.cut or reply.trouble),  # half a handle may stand at the end
            )
        )
        return drafted(spans, reply, tongue, findings, reflections, listing, str(chat.spec))

    async def _unsearched(self, question: Question, options: Options, say: Say) -> Draft:
        tongue = question.language
        try:
            chat = self.chat("write", options)
            reply = await chat.stream(
                lambda room: prompts.unsearched_prompt(prompts.briefer(question, room), self.today),
                "write",
                say,
            )
        except Trouble as trouble:
            return standing_in(tongue, (), trouble)
        notice = Span(kind="notice", text=message("draft.unsearched", tongue))
        draft = ending(reply, tongue)
        return Draft(
            spans=(notice, *parse(reply.text, {}, {}), *draft.spans),
            author=str(chat.spec),
            failures=draft.failures,
            unwritten=draft.unwritten,
        )

    def stand_in(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        return quoted(question.language, findings)

    async def summarise(
        self, query: str, evidence: Sequence[Evidence], say: Say
    ) -> tuple[Span, ...]:
        """What the results of one query say about it, cited.

        Raises:
            Trouble: there is no summary.
        """
        chat = self.chat("search")
        task = Task(id="", source="", query=query)
        found = Finding(task=task, evidence=tuple(evidence), started=self._clock())
        listing = Listing()

        def made(room: int) -> Prompt:
            nonlocal listing
            prompt, listing = fitted(
                [found],
                room,
                lambda shown: prompts.summary_prompt(
                    query, detect_language(query), shown, self.today
                ),
            )
            return prompt

        reply = await chat.text(made, "summarise", say)
        return parse(
            reply.text, listing.handles, addresses(evidence), titles(evidence), partial=reply.cut
        )

    async def explore(
        self,
        query: str,
        tools: Sequence[Mapping[str, Any]],
        call: Callable[[str, Mapping[str, Any]], Awaitable[str]],
        budget: int,
        say: Say,
        material: str = "",
    ) -> None:
        """Lets the model that searches call tools for a query. `material` is what a server says of
        its tools; without any they are those of the map.

        Raises:
            Trouble: the model cannot be asked.
        """
        await explore(self.chat("search"), query, tools, call, budget, self.today, say, material)


def _unplanned(question: Question, options: Options, trouble: Trouble) -> Plan:
    return Plan(
        tasks=_on_a_map(question, options),
        notes=(message("draft.unplanned", question.language),),
        failures=(trouble.failure("plan"),),
    )


def _on_a_map(question: Question, options: Options) -> tuple[Task, ...]:
    """The question itself as a task for each source, if it looks for places and nobody can plan."""
    asked = {name: registry.of(name).asked for name in options.sources}
    if "place" not in asked.values() or wanted(question.text) is None:
        return ()
    sources = (name for name, how in asked.items() if how != "question")
    return tuple(
        Task(id=f"1.{n}", source=source, query=question.text) for n, source in enumerate(sources, 1)
    )


def _unclear(made: _Plan) -> Clarification | None:
    """What the model asks back, if anything; with one answer to choose there is nothing to ask."""
    question = " ".join(made.ask_back.split())[: prompts.QUERY]
    choices = made.strings("choices", prompts.CHOICES, 80)
    if not question or len(choices) == 1:
        return None
    return Clarification(question=question, choices=tuple(choices))


def _tasks(made: _Json, fields: Mapping[str, str], round_: int) -> tuple[Task, ...]:
    """The queries as tasks, source by source."""
    queries = [
        (source, query)
        for field, source in fields.items()
        for query in made.strings(field, PROPOSED, prompts.QUERY)
    ]
    return tuple(
        Task(id=f"{round_}.{n}", round=round_, source=source, query=query)
        for n, (source, query) in enumerate(queries, 1)
    )
