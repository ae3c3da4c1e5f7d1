"""The reasoner that needs no key: it splits the question by rules and quotes the evidence verbatim.

It paraphrases nothing, concludes nothing and claims only that a quoted sentence relates to a part
of the question. A part without a quote is reported as not found. The search always keeps the name
that a question is about: it tries other names of the same thing, and the other language.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, zip_longest
from typing import Literal

from research.agent.extractive.cell_extraction import fill_cells
from research.agent.extractive.finding_spans import (
    cell_spans,
    findings_with_evidence,
    has_result_type,
    have_all_failed,
    needs_clarification,
    place_spans,
    row_spans,
    to_span,
)
from research.agent.extractive.follow_up import find_unresolved, make_standalone
from research.agent.extractive.greetings import is_greeting
from research.agent.extractive.part_queries import (
    GENERAL_REQUEST,
    clause_with_subject,
    clause_without_subject,
    comparable_rows,
    group_parts,
    is_general_request,
    map_tasks,
    merge_place_parts,
    name_in_language,
    part_label,
    query_words,
    sources_by_query_type,
    synonyms,
)
from research.agent.extractive.question_parts import parse_question
from research.agent.extractive.quote_selection import Quote, is_answered, select_quotes
from research.agent.reasoner import Corpus, ReasonerInput
from research.agent.table_spans import table_spans
from research.core.i18n import message
from research.core.records import (
    ASKS_BACK,
    Cell,
    Column,
    Draft,
    Finding,
    Grid,
    HeadlineTones,
    Language,
    Part,
    Plan,
    Question,
    Reflection,
    ReportSection,
    Row,
    RunOptions,
    Span,
    Task,
)
from research.sources import registry
from research.storage.sqlite_files import StoreError
from research.tables.column_inference import infer_column

AnswerabilityCheck = Callable[[str, str, str, str], Awaitable[bool]]
MAX_LISTED_QUERIES = 6  # in the notice that nothing was found
MAX_ATTEMPTS_PER_PART = 4  # new tasks for a part in a round
_MAX_TITLE_CHARS = 60  # longer titles of sections are cut


def _one_sentence_draft(
    kind: Literal["missing", "notice"], question: Question, message_key: str, **words: str
) -> Draft:
    """Make a draft that consists of one message; `words` fill its placeholders."""
    span = Span(kind=kind, text=message(message_key, question.language, **words))
    return Draft(spans=(span,), author=message("digest.author", question.language))


class ExtractiveReasoner:
    """Plans, reflects and answers by rules over the analyst's own documents."""

    def __init__(self, corpus: Corpus, can_answer: AnswerabilityCheck | None = None, owner: str = "") -> None:
        """Use a corpus and, optionally, a check of whether a source can answer a question.

        `can_answer` takes the name of the source, the question, the name of a database and the
        owner of the run. Without it every source gets the question.
        """
        self._corpus, self._can_answer, self._owner = corpus, can_answer, owner

    def for_owner(self, owner: str) -> ExtractiveReasoner:
        """Return the reasoner for the runs of an owner."""
        return ExtractiveReasoner(self._corpus, self._can_answer, owner)

    async def plan(self, inputs: ReasonerInput) -> Plan | Draft:
        """Plan a task for each part and source; answer a greeting or an unclear reference at once."""
        question, options = inputs.question, inputs.options
        original_text = question.text
        if is_greeting(original_text):
            return _one_sentence_draft("notice", question, "digest.greeting")
        text = make_standalone(question, self._corpus)
        question = question.model_copy(update={"text": text})
        if reference := find_unresolved(question, self._corpus):
            return _one_sentence_draft("missing", question, "digest.which", words=reference)
        parts = self._split_question(question)
        if not parts:
            return _one_sentence_draft("notice", question, "digest.nothing")
        rewritten = question.text if question.text != original_text else ""
        if self._is_already_answered(question, parts):
            return Plan(question=rewritten, from_memory=True, parts=tuple(parts))
        if map_sources := sources_by_query_type("place", options):
            parts = merge_place_parts(question, parts)
        tasks = list(map_tasks(question, parts, map_sources, options))
        notes: list[str] = []
        for source in sources_by_query_type("question", options):
            queries = await self._answerable_queries(source, question, parts, options)
            for query, part in queries.items():
                number = f"1.{len(tasks) + 1}"
                tasks.append(Task(id=number, source=source, query=query, part=part))
            if not queries and registry.get_source(source).result_type == "rows":
                notes.append(message("digest.no tables", question.language))
        for source in sources_by_query_type("words", options):
            for group in group_parts(parts, registry.get_source(source).max_queries(options.queries)):
                tasks.append(self._build_task(question, group, source, len(tasks) + 1))
        return Plan(question=rewritten, parts=tuple(parts), tasks=tuple(tasks), notes=tuple(notes))

    def _split_question(self, question: Question) -> list[Part]:
        clauses = [
            (subject, clause.text_without_names if len(clause.subjects) > 1 else clause.text)
            for clause in parse_question(question.text, self._corpus).clauses
            for subject in clause.subjects or [""]
        ]
        general = message("digest.general", question.language)
        clauses = [(about, general if GENERAL_REQUEST.fullmatch(text) else text) for about, text in clauses]
        return [
            Part(id=f"p{n}", subject=subject, text=text) for n, (subject, text) in enumerate(dict.fromkeys(clauses), 1)
        ]

    async def _answerable_queries(
        self, source: str, question: Question, parts: Sequence[Part], options: RunOptions
    ) -> dict[str, str]:
        """Build the queries for a source that accepts a whole question, with the part that each serves.

        The query is the whole question if the source can answer it, else the parts that it can
        answer. A source that is the only one always gets the question, so that it can report why it
        has no answer.
        """
        whole = {question.text: parts[0].id}
        if set(options.sources) == {source} or self._can_answer is None:
            return whole
        if await self._can_answer(source, question.text, options.database, self._owner):
            return whole
        part_queries = {clause_with_subject(part): part.id for part in parts}
        return {
            query: part
            for query, part in part_queries.items()
            if await self._can_answer(source, query, options.database, self._owner)
        }

    def _is_already_answered(self, question: Question, parts: Sequence[Part]) -> bool:
        """Return whether the sources of earlier answers contain a quote for every part."""
        earlier_findings = question.memory_findings
        return bool(earlier_findings) and all(self._select_quotes(question, part, earlier_findings) for part in parts)

    def _build_task(self, question: Question, group: Sequence[Part], source: str, number: int) -> Task:
        first = group[0]
        words = [word for part in group if not is_general_request(part.text) for word in query_words(part)]
        query = " ".join(dict.fromkeys([first.subject, *words])).strip()
        names = self._required_names(first.subject, question.text)
        return Task(id=f"1.{number}", source=source, query=query, part=first.id, subject=names)

    def _required_names(self, subject: str, question: str) -> tuple[str, ...]:
        """Return the names of which a result must contain one; none if the subject is no name."""
        if not subject:
            return ()
        parsed = parse_question(question, self._corpus)
        is_from_question = any(subject in clause.subjects for clause in parsed.clauses)
        return () if is_from_question and not parsed.has_names else (subject, *self._corpus.aliases(subject))

    async def reflect(self, inputs: ReasonerInput, round_: int) -> Reflection:
        """Name the parts without a quote, a place or a row, with searches in other words for them."""
        question, plan, findings = inputs.question, inputs.plan, inputs.findings
        missing = [
            part
            for part in plan.parts
            if not self._select_quotes(question, part, findings)
            and not findings_with_evidence("places", part, findings)
            and not findings_with_evidence("rows", part, findings)
        ]
        if not missing:
            return Reflection(round=round_, sufficient=True, note=message("digest.covered", question.language))
        alternatives = (self.alternative_tasks(question, plan, part, findings) for part in missing)
        attempts = [list(islice(tasks, MAX_ATTEMPTS_PER_PART)) for tasks in alternatives]
        # Each part's first attempt precedes any second one; parts not searched yet come first.
        attempts.sort(key=lambda tasks: [bool(task.purpose) for task in tasks[:1]])
        interleaved = [task for row in zip_longest(*attempts) for task in row if task is not None]
        follow_ups = [
            task.model_copy(update={"id": f"{round_ + 1}.{n}", "round": round_ + 1})
            for n, task in enumerate({task.key: task for task in interleaved}.values(), 1)
        ]
        labels = tuple(part_label(part, plan) for part in missing)
        joined = message("digest.between", question.language).join(labels)
        return Reflection(
            round=round_,
            sufficient=False,
            gap=labels,
            follow_ups=tuple(follow_ups),
            note=message("digest.gap", question.language, parts=joined),
        )

    def alternative_tasks(
        self, question: Question, plan: Plan, part: Part, findings: Sequence[Finding]
    ) -> Iterator[Task]:
        """Yield the untried tasks for a part, for each source of the plan that takes keywords."""
        known_keys = {finding.task.key for finding in findings}
        for variant in self._untried_queries(question, part, findings):
            for source in dict.fromkeys(task.source for task in plan.tasks):
                if registry.get_source(source).query_type != "words":
                    continue
                task = variant.model_copy(update={"source": source})
                if task.key not in known_keys:
                    yield task

    def _is_tried(self, question: Question, part: Part, findings: Sequence[Finding]) -> bool:
        """Return whether a query of the findings had all words of a part, even among others."""
        words, names = set(query_words(part)), self._required_names(part.subject, question.text)
        return any(f.task.subject == names and words <= set(f.task.query.split()) for f in findings)

    def _untried_queries(self, question: Question, part: Part, findings: Sequence[Finding]) -> Iterator[Task]:
        """Yield the queries for a part: its own words unless tried, synonyms, the other language.

        All of them require one of the subject's names.
        """
        names = self._required_names(part.subject, question.text)
        if not self._is_tried(question, part, findings):
            own_query = " ".join(dict.fromkeys([part.subject, *query_words(part)])).strip()
            yield Task(id="", source="", query=own_query or part.text, part=part.id, subject=names)
        yield from self._alternative_queries(question, part, names)

    def _alternative_queries(self, question: Question, part: Part, names: Sequence[str]) -> Iterator[Task]:
        """Yield queries for a part in other words than its own, all with one of the names."""
        names = tuple(names)
        other: Language = "en" if question.language == "zh" else "zh"
        languages: list[tuple[Language, str]] = [(question.language, "synonyms")]
        if other in self._corpus.languages():
            languages.insert(0, (other, "other language"))
        for language, why in languages:
            forms = synonyms(clause_without_subject(part), language)
            if forms:
                query = " ".join([name_in_language(names, part.subject, language), *forms])
                yield Task(id="", source="", query=query.strip(), part=part.id, subject=names, purpose=why)
        if names:
            for language, _ in languages:
                name = name_in_language(names, part.subject, language)
                yield Task(id="", source="", query=name, part=part.id, subject=names, purpose="whole subject")

    async def write(self, inputs: ReasonerInput, reflections: Sequence[Reflection]) -> Draft:
        """Quote the findings; if nothing was found, add what was searched and the closest documents."""
        findings = inputs.findings
        draft = self.quote_findings(inputs.question, inputs.plan, findings)
        has_searched = any(finding.reason != "no model" for finding in findings)
        if has_searched and all(span.kind in ("heading", "missing") for span in draft.spans):
            notices = await asyncio.to_thread(
                self._not_found_notices, inputs.question, findings, is_whole_library=not inputs.options.notebook
            )
            return draft.model_copy(update={"spans": (*draft.spans, *notices)})
        return draft

    def _not_found_notices(
        self, question: Question, findings: Sequence[Finding], *, is_whole_library: bool
    ) -> list[Span]:
        """Return the notices of an answer without any result: the queries that were tried.

        After a search of the whole library, also name the documents that are closest.
        """
        queries = dict.fromkeys(f.task.query for f in findings if not f.has_failed)
        try:
            closest_titles = self._corpus.closest_titles(question.text) if is_whole_library else []
        except StoreError:  # the search has already reported why
            closest_titles = []
        lines = [("looked for", [*queries][:MAX_LISTED_QUERIES]), ("closest", closest_titles)]
        comma, notices = message("mark.list", question.language), []
        for key, names in lines:
            if names:
                quoted = comma.join(f"“{name}”" for name in names)
                notices.append(Span(kind="notice", text=message(f"digest.{key}", question.language, names=quoted)))
        return notices

    async def plan_report(self, inputs: ReasonerInput) -> Plan:
        """Plan a report of one section with the question's parts; rules know no better order."""
        plan, question = await self.plan(inputs), inputs.question
        tasks = plan.tasks if isinstance(plan, Plan) else ()
        title = question.text if len(question.text) <= _MAX_TITLE_CHARS else f"{question.text[:_MAX_TITLE_CHARS]}…"
        section_tasks = tuple(task.model_copy(update={"part": "s1"}) for task in tasks)
        return Plan(outline=True, parts=(Part(id="s1", subject=title, text=question.text),), tasks=section_tasks)

    async def write_section(self, inputs: ReasonerInput, section: ReportSection) -> ReportSection:
        """Write the section as an answer to the whole question, with a fresh plan of its parts."""
        plan = await self.plan(inputs)
        if isinstance(plan, Draft):
            return section.model_copy(update={"spans": plan.spans, "author": plan.author})
        parts = {task.key: {"part": task.part} for task in plan.tasks}
        findings = [
            finding.model_copy(
                update={"task": finding.task.model_copy(update=parts.get(finding.task.key, {"part": ""}))}
            )
            for finding in inputs.findings
        ]
        draft = await self.write(replace(inputs, plan=plan, findings=findings), ())
        spans = draft.spans
        if len(plan.parts) == 1:  # the section has its own heading
            spans = tuple(span for span in spans if span.kind != "heading")
        return section.model_copy(update={"spans": spans, "author": draft.author})

    async def reflect_on_section(self, inputs: ReasonerInput, section: ReportSection, round_: int) -> Reflection:
        """Return a sufficient reflection, as rules do not judge a section."""
        return Reflection(round=round_, sufficient=True)

    async def write_preface(self, inputs: ReasonerInput, sections: Sequence[ReportSection]) -> Draft:
        """Return an empty draft, as quotes are not summarised."""
        return Draft(spans=(), author=message("digest.author", inputs.question.language))

    async def plan_table(self, inputs: ReasonerInput) -> Plan:
        """Plan a table of the things that a question names, by what it asks about each."""
        rows_of_parts = comparable_rows(self._split_question(inputs.question))
        if not rows_of_parts:
            return Plan()
        rows = tuple(Row(id=f"r{n}", name=row[0].subject) for n, row in enumerate(rows_of_parts, 1))
        columns = (infer_column(n, part.text) for n, part in enumerate(rows_of_parts[0], 1))
        return Plan(grid=Grid(rows=rows, columns=tuple(columns)))

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        """Return the searches for a cell: keywords for documents, in other words too if they are local."""
        part = Part(id="", subject=row.name, text=column.full_question)
        names = (row.name, *self._corpus.aliases(row.name))
        all_tasks: list[Task] = []
        for source in sources:
            source_info = registry.get_source(source)
            if source_info.query_type != "words":  # databases are also asked for the whole row
                heading = Part(id="", subject=row.name, text=column.name)
                queries = (
                    [row.full_name] if source_info.query_type == "place" else [clause_with_subject(heading), row.name]
                )
                all_tasks += (Task(id="", source=source, query=query, language=question.language) for query in queries)
                continue
            words = dict.fromkeys([row.full_name, *query_words(part)])
            main_task = Task(id="", source=source, query=" ".join(words), subject=names)
            alternatives = self._alternative_queries(question, part, names) if source_info.is_local else ()
            tasks = [main_task, *(task.model_copy(update={"source": source}) for task in alternatives)]
            all_tasks += {task.key: task for task in tasks}.values()
        return tuple(all_tasks)

    async def extract_cells(self, inputs: ReasonerInput, row: Row, columns: Sequence[Column]) -> tuple[Cell, ...]:
        """Read each cell from quoted sentences by rules."""
        names = (row.name, *self._corpus.aliases(row.name))
        author = message("digest.author", inputs.question.language)
        return tuple(fill_cells(row, columns, names, inputs.findings, author))

    async def judge_tones(self, inputs: ReasonerInput, headlines: Sequence[str]) -> HeadlineTones:
        """Return no tones: the caller then counts words, which the report calls a rough measure."""
        return HeadlineTones()

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        """Quote the findings part by part, or in a table if the same is asked about several subjects."""
        spans = self._comparison_table(question, plan, findings)
        for part in plan.parts if not spans else ():
            spans.append(Span(kind="heading", text=part_label(part, plan), part=part.id))
            spans += self._part_spans(question, part, findings)
        quoted = {cite.evidence for span in spans for cite in span.references}
        sampled = [e for f in findings for e in f.evidence if e.sample and e.id in quoted]
        for kind in dict.fromkeys(item.kind == "place" for item in sampled):
            key = "digest.sample places" if kind else "digest.sample"
            spans.insert(0, Span(kind="notice", text=message(key, question.language)))
        return Draft(spans=tuple(spans), author=message("digest.author", question.language))

    def _comparison_table(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> list[Span]:
        """Return the spans of a table with a row for each subject, and quotes or a notice in each
        cell.

        Return nothing unless the same is asked about several subjects and only quotes were found.
        """
        rows = comparable_rows(plan.parts)
        if not rows:
            return []
        cells = {part.id: list(self._part_spans(question, part, findings)) for part in plan.parts}
        cites = [cite for spans in cells.values() for span in spans for cite in span.references]
        passage_ids = {p.id for f in findings for e in f.evidence if e.kind != "place" for p in e.passages}
        if not cites or not all(cite.passage in passage_ids for cite in cites):
            return []
        named_rows = ((row[0].subject, [cell_spans(cells[part.id]) for part in row]) for row in rows)
        table = list(table_spans([part.text for part in rows[0]], named_rows))
        colon = message("mark.colon", question.language)
        for first, *rest in rows:
            if not any(span.references for part in (first, *rest) for span in cells[part.id]):
                notice = cells[first.id][0]
                table.append(notice.model_copy(update={"text": f"{first.subject}{colon}{notice.text}"}))
        return table

    def _part_spans(self, question: Question, part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
        """Yield the spans of a part: rows, places, quotes and clarifying questions, or a notice."""
        yield from (rows := list(row_spans(part, findings)))
        yield from (places := list(place_spans(part, findings)))
        # The table already answers a question that counts or ranks.
        is_answered_by_rows = rows and not self._required_names(part.subject, question.text)
        quotes = () if is_answered_by_rows else self._select_quotes(question, part, findings)
        if quotes and not (rows or places or is_answered(*self.search_terms(part, question.text), quotes)):
            yield Span(kind="missing", text=message("digest.nearest", question.language), part=part.id)
        yield from (to_span(quote, part) for quote in quotes)
        clarifications = [f.message for f in findings if f.task.part == part.id and needs_clarification(f)]
        for text in dict.fromkeys(clarifications):
            yield Span(kind="missing", text=text, part=part.id)
        own_findings = [f for f in findings if f.task.part == part.id and has_result_type("places", f)]
        if any(f.reason not in (None, "empty", "left out", *ASKS_BACK) for f in own_findings) and not places:
            yield Span(kind="missing", text=message("digest.no map", question.language), part=part.id)
        elif not (rows or places or quotes or clarifications):
            text = message(self._missing_message_key(question, part, findings), question.language)
            # The message of the built-in table of places names what it lacks.
            unknown_places = (f.message for f in own_findings if f.provider == "offline" and not f.evidence)
            yield Span(kind="missing", text=next(unknown_places, "") or text, part=part.id)

    def _missing_message_key(self, question: Question, part: Part, findings: Sequence[Finding]) -> str:
        """Return the key of the message for a part without a quote."""
        findings = [finding for finding in findings if finding.reason != "left out"]
        is_searched = any(finding.task.part == part.id for finding in findings)
        if not is_searched and not self._is_tried(question, part, findings):
            return "digest.unsearched"
        return "digest.failed" if have_all_failed(part, findings) else "digest.missing"

    def _select_quotes(self, question: Question, part: Part, findings: Sequence[Finding]) -> tuple[Quote, ...]:
        documents = [finding for finding in findings if has_result_type("quotes", finding)]
        return select_quotes(*self.search_terms(part, question.text), documents)

    def search_terms(self, part: Part, question: str) -> tuple[str, tuple[str, ...], bool]:
        """Return the text of a part, the names of its subject, and whether one of them is required.

        These are the first arguments of `select_quotes` and `is_answered`.
        """
        names = self._required_names(part.subject, question)
        text = "" if is_general_request(part.text) else part.text
        return text, names or (part.subject,), bool(names)
