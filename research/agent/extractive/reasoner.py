"""The reasoner that needs no key: it splits the question by rules and quotes the evidence verbatim.

It paraphrases nothing, concludes nothing and claims only that a quoted sentence relates to a part
of the question. A part without a quote is reported as not found. The search always keeps the name
that a question is about: it tries other names of the same thing, and the other language.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice, product, zip_longest
from typing import Literal

from research.agent.extractive.cell_extraction import fill_cells
from research.agent.extractive.concepts import find_concepts
from research.agent.extractive.follow_up import find_unresolved, make_standalone
from research.agent.extractive.greetings import is_greeting
from research.agent.extractive.question_parts import extract_keywords, parse_question
from research.agent.extractive.quote_selection import Quote, is_answered, select_quotes
from research.agent.reasoner import Corpus
from research.citations.markdown_parser import escape_table_cell
from research.core.i18n import LOCALES, message
from research.core.records import (
    ASKS_BACK,
    Cell,
    Column,
    Draft,
    EventEmitter,
    Finding,
    Grid,
    HeadlineTones,
    Language,
    Part,
    PassageReference,
    Plan,
    Question,
    Reflection,
    ReportSection,
    Row,
    RunOptions,
    Span,
    Task,
    normalise_query,
)
from research.core.text.hanzi import to_simplified
from research.core.text.tokenizer import has_han
from research.sources import registry
from research.sources.base import QueryType, ResultType
from research.sources.places.questions import map_keywords, parse_place_query
from research.storage.sqlite_files import StoreError
from research.tables.column_inference import infer_column

ReadabilityCheck = Callable[[str, str, str, str], Awaitable[bool]]
MAX_PLACES = 10  # in the answer; the map shows all
# Requests for anything about a subject: 最新消息, the latest news on.
_GENERAL_REQUEST = re.compile(
    r"(?:最新|近期|最近|的|有什么|有哪些)*(?:消息|新闻|动态|进展|情况)?"
    r"|(?:what(?:'s| is) )?(?:the )?(?:latest|recent|new)?\s*(?:news|updates|developments)?(?: (?:on|about|of|from))?",
    re.I,
)
MAX_LISTED_QUERIES = 6  # in the notice that nothing was found
QUOTES_PER_CELL = 2
MAX_ATTEMPTS_PER_PART = 4  # new tasks for a part in a round
MAX_ROUTE_STEPS = 12  # routes with more steps are summarised
_MAX_TITLE_CHARS = 60  # longer titles of sections are cut
MAX_SYNONYMS = 8  # in a query


def _one_sentence_draft(
    kind: Literal["missing", "notice"], question: Question, message_key: str, **words: str
) -> Draft:
    """Make a draft of one sentence."""
    span = Span(kind=kind, text=message(message_key, question.language, **words))
    return Draft(spans=(span,), author=message("digest.author", question.language))


class ExtractiveReasoner:
    """Plans, reflects and answers by rules over the analyst's own documents."""

    def __init__(self, corpus: Corpus, can_read: ReadabilityCheck | None = None, owner: str = "") -> None:
        """Use a corpus and, optionally, a check of whether a source can answer a question.

        `can_read` takes the name of the source, the question, the name of a database and an owner.
        Without it every source gets the question.
        """
        self._corpus, self._can_read, self._owner = corpus, can_read, owner

    def of(self, owner: str) -> ExtractiveReasoner:
        """Return the reasoner for the runs of an owner."""
        return ExtractiveReasoner(self._corpus, self._can_read, owner)

    async def plan(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan | Draft:
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
            return Plan(question=rewritten, recalled=True, parts=tuple(parts))
        if map_sources := _sources_by_query_type("place", options):
            parts = _merge_place_parts(question, parts)
        tasks = list(_map_tasks(question, parts, map_sources, options))
        notes: list[str] = []
        for source in _sources_by_query_type("question", options):
            queries = await self._readable_questions(source, question, parts, options)
            for query, part in queries.items():
                number = f"1.{len(tasks) + 1}"
                tasks.append(Task(id=number, source=source, query=query, part=part))
            if not queries and registry.get_source(source).result_type == "rows":
                notes.append(message("digest.no tables", question.language))
        for source in _sources_by_query_type("words", options):
            for group in _group_parts(parts, registry.get_source(source).max_queries(options.queries)):
                tasks.append(self._build_task(question, group, source, len(tasks) + 1))
        return Plan(question=rewritten, parts=tuple(parts), tasks=tuple(tasks), notes=tuple(notes))

    def _split_question(self, question: Question) -> list[Part]:
        clauses = [
            (subject, piece.text_without_names if len(piece.subjects) > 1 else piece.text)
            for piece in parse_question(question.text, self._corpus).clauses
            for subject in piece.subjects or [""]
        ]
        general = message("digest.general", question.language)
        clauses = [(about, general if _GENERAL_REQUEST.fullmatch(text) else text) for about, text in clauses]
        return [
            Part(id=f"p{n}", subject=subject, text=text) for n, (subject, text) in enumerate(dict.fromkeys(clauses), 1)
        ]

    async def _readable_questions(
        self, source: str, question: Question, parts: Sequence[Part], options: RunOptions
    ) -> dict[str, str]:
        """Build the queries for a source that accepts a whole question, and the part that each
        serves.

        The query is the whole question if the source can answer it, else the parts that it can
        answer. A source that is the only one always gets the question, so that it can report why it
        has no answer.
        """
        whole = {question.text: parts[0].id}
        if set(options.sources) == {source} or self._can_read is None:
            return whole
        if await self._can_read(source, question.text, options.database, self._owner):
            return whole
        part_queries = {_with_subject(part): part.id for part in parts}
        return {
            query: part
            for query, part in part_queries.items()
            if await self._can_read(source, query, options.database, self._owner)
        }

    def _is_already_answered(self, question: Question, parts: Sequence[Part]) -> bool:
        """Return whether the sources of earlier answers contain a quote for every part."""
        earlier_findings = question.memory_findings
        return bool(earlier_findings) and all(self._select_quotes(question, part, earlier_findings) for part in parts)

    def _build_task(self, question: Question, group: Sequence[Part], source: str, number: int) -> Task:
        subject = group[0].subject
        words = [word for part in group if not _is_general(part.text) for word in _query_words(part)]
        query = " ".join(dict.fromkeys([subject, *words])).strip()
        return Task(
            id=f"1.{number}",
            source=source,
            query=query,
            part=group[0].id,
            subject=self._required_names(subject, question.text),
        )

    def _required_names(self, subject: str, question: str) -> tuple[str, ...]:
        """Return the names of which a result must contain one; none if the subject is no name."""
        if not subject or not self._is_name(subject, question):
            return ()
        return (subject, *self._corpus.aliases(subject))

    def _is_name(self, subject: str, question: str) -> bool:
        reading = parse_question(question, self._corpus)
        subjects = {s for piece in reading.clauses for s in piece.subjects}
        return reading.has_names if subject in subjects else True

    async def reflect(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        options: RunOptions,
        round_: int,
        emit: EventEmitter,
    ) -> Reflection:
        missing = [
            part
            for part in plan.parts
            if not self._select_quotes(question, part, findings)
            and not _findings_with_evidence("places", part, findings)
            and not _findings_with_evidence("rows", part, findings)
        ]
        if not missing:
            note = message("digest.covered", question.language)
            return Reflection(round=round_, sufficient=True, note=note)
        attempts = [
            list(islice(self.alternative_tasks(question, plan, part, findings), MAX_ATTEMPTS_PER_PART))
            for part in missing
        ]
        # Each part's first attempt precedes any second one; parts not searched yet come first.
        attempts.sort(key=lambda tasks: [bool(task.why) for task in tasks[:1]])
        interleaved = [task for row in zip_longest(*attempts) for task in row if task is not None]
        follow_ups = [
            task.model_copy(update={"id": f"{round_ + 1}.{n}", "round": round_ + 1})
            for n, task in enumerate({task.key: task for task in interleaved}.values(), 1)
        ]
        labels = tuple(_part_label(part, plan) for part in missing)
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
        is_tried = self._is_tried(question, part, findings)
        for variant in self._query_variants(question, part):
            if is_tried and not variant.why:
                continue
            for source in dict.fromkeys(task.source for task in plan.tasks):
                if registry.get_source(source).query_type != "words":
                    continue
                task = variant.model_copy(update={"source": source})
                if task.key not in known_keys:
                    yield task

    def _is_tried(self, question: Question, part: Part, findings: Sequence[Finding]) -> bool:
        """Return whether a query had all words of a part, possibly with those of other parts."""
        words, names = set(_query_words(part)), self._required_names(part.subject, question.text)
        return any(f.task.subject == names and words <= set(f.task.query.split()) for f in findings)

    def _query_variants(self, question: Question, part: Part) -> Iterator[Task]:
        """Yield the queries for a part: its own words, synonyms, the other language.

        All of them require one of the subject's names.
        """
        names = self._required_names(part.subject, question.text)
        own_query = " ".join(dict.fromkeys([part.subject, *_query_words(part)])).strip()
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
            forms = _synonyms(_without_subject(part), language)
            if forms:
                query = " ".join([_name_in_language(names, part.subject, language), *forms])
                yield Task(id="", source="", query=query.strip(), part=part.id, subject=names, why=why)
        if names:
            for language, _ in languages:
                name = _name_in_language(names, part.subject, language)
                yield Task(id="", source="", query=name, part=part.id, subject=names, why="whole subject")

    async def write(
        self,
        question: Question,
        plan: Plan,
        findings: Sequence[Finding],
        reflections: Sequence[Reflection],
        options: RunOptions,
        emit: EventEmitter,
    ) -> Draft:
        draft = self.quote_findings(question, plan, findings)
        has_searched = any(finding.reason != "no model" for finding in findings)
        if has_searched and all(span.kind in ("heading", "missing") for span in draft.spans):
            notices = await asyncio.to_thread(
                self._not_found_notices, question, findings, is_whole_library=not options.notebook
            )
            return draft.model_copy(update={"spans": (*draft.spans, *notices)})
        return draft

    def _not_found_notices(
        self, question: Question, findings: Sequence[Finding], *, is_whole_library: bool
    ) -> list[Span]:
        """Return the notices of an answer without any result: the queries that were tried.

        After a search of the whole library, also name the documents that are closest.
        """
        language = question.language
        queries = dict.fromkeys(f.task.query for f in findings if f.reason in (None, "empty"))
        try:
            closest_titles = self._corpus.closest_titles(question.text) if is_whole_library else []
        except StoreError:  # the search has already reported why
            closest_titles = []
        lines = [("looked for", [*queries][:MAX_LISTED_QUERIES]), ("closest", closest_titles)]
        comma = message("mark.list", language)
        texts = [
            message(f"digest.{key}", language, names=comma.join(f"“{name}”" for name in names))
            for key, names in lines
            if names
        ]
        return [Span(kind="notice", text=text) for text in texts]

    async def plan_report(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan:
        """Plan a report of one section with the question's parts; rules know no better order."""
        plan = await self.plan(question, options, emit)
        tasks = plan.tasks if isinstance(plan, Plan) else ()
        title = question.text if len(question.text) <= _MAX_TITLE_CHARS else f"{question.text[:_MAX_TITLE_CHARS]}…"
        section_tasks = [task.model_copy(update={"part": "s1"}) for task in tasks]
        part = Part(id="s1", subject=title, text=question.text)
        return Plan(outline=True, parts=(part,), tasks=tuple(section_tasks))

    async def write_section(
        self,
        question: Question,
        plan: Plan,
        section: ReportSection,
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> ReportSection:
        plan_of_section = await self.plan(question, options, emit)
        if isinstance(plan_of_section, Draft):
            return section.model_copy(update={"spans": plan_of_section.spans, "author": plan_of_section.author})
        part_by_task = {task.key: task.part for task in plan_of_section.tasks}
        own_findings = []
        for finding in findings:
            part = part_by_task.get(finding.task.key, "")
            task = finding.task.model_copy(update={"part": part})
            own_findings.append(finding.model_copy(update={"task": task}))
        draft = await self.write(question, plan_of_section, own_findings, (), options, emit)
        spans = draft.spans
        if len(plan_of_section.parts) == 1:  # the section has its own heading
            spans = tuple(span for span in spans if span.kind != "heading")
        return section.model_copy(update={"spans": spans, "author": draft.author})

    async def reflect_on_section(
        self,
        question: Question,
        plan: Plan,
        section: ReportSection,
        findings: Sequence[Finding],
        options: RunOptions,
        round_: int,
        emit: EventEmitter,
    ) -> Reflection:
        """Return a sufficient reflection, as rules do not judge a section."""
        return Reflection(round=round_, sufficient=True)

    async def write_preface(
        self,
        question: Question,
        plan: Plan,
        sections: Sequence[ReportSection],
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> Draft:
        """Return an empty draft, as quotes are not summarised."""
        return Draft(spans=(), author=message("digest.author", question.language))

    async def plan_table(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan:
        """Plan a table of the things that a question names, by what it asks about each."""
        rows_of_parts = _comparable_rows(self._split_question(question))
        if not rows_of_parts:
            return Plan()
        rows = tuple(Row(id=f"r{n}", name=row[0].subject) for n, row in enumerate(rows_of_parts, 1))
        columns = (infer_column(n, part.text) for n, part in enumerate(rows_of_parts[0], 1))
        return Plan(grid=Grid(rows=rows, columns=tuple(columns)))

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        part = Part(id="", subject=row.name, text=column.full_question)
        names = (row.name, *self._corpus.aliases(row.name))
        all_tasks: list[Task] = []
        for source in sources:
            source_info = registry.get_source(source)
            if source_info.query_type != "words":  # databases are also asked for the whole row
                heading = Part(id="", subject=row.name, text=column.name)
                queries = [row.full_name] if source_info.query_type == "place" else [_with_subject(heading), row.name]
                all_tasks += (Task(id="", source=source, query=query, language=question.language) for query in queries)
                continue
            words = dict.fromkeys([row.full_name, *_query_words(part)])
            main_task = Task(id="", source=source, query=" ".join(words), subject=names)
            alternatives = self._alternative_queries(question, part, names) if source_info.is_local else ()
            tasks = [main_task, *(task.model_copy(update={"source": source}) for task in alternatives)]
            all_tasks += {task.key: task for task in tasks}.values()
        return tuple(all_tasks)

    async def extract_cells(
        self,
        question: Question,
        row: Row,
        columns: Sequence[Column],
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> tuple[Cell, ...]:
        names = (row.name, *self._corpus.aliases(row.name))
        author = message("digest.author", question.language)
        return tuple(fill_cells(row, columns, names, findings, author))

    async def judge_tones(
        self, question: Question, headlines: Sequence[str], options: RunOptions, emit: EventEmitter
    ) -> HeadlineTones:
        """Return no tones: the caller then counts words, which the report calls a rough measure."""
        return HeadlineTones()

    def quote_findings(self, question: Question, plan: Plan, findings: Sequence[Finding]) -> Draft:
        spans = self._comparison_table(question, plan, findings)
        for part in plan.parts if not spans else ():
            spans.append(Span(kind="heading", text=_part_label(part, plan), part=part.id))
            spans += self._part_spans(question, part, findings)
        quoted = {cite.evidence for span in spans for cite in span.cites}
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
        rows = _comparable_rows(plan.parts)
        cells = {part.id: list(self._part_spans(question, part, findings)) for part in plan.parts}
        cell_spans = [span for spans in cells.values() for span in spans]
        passage_ids = {p.id for f in findings for e in f.evidence if e.kind != "place" for p in e.passages}
        has_only_quotes = all(cite.passage in passage_ids for span in cell_spans for cite in span.cites)
        if not rows or not has_only_quotes or not any(span.cites for span in cell_spans):
            return []
        headings = "".join(f" {escape_table_cell(part.text)} |" for part in rows[0])
        table = [Span(kind="text", text=f"| |{headings}\n|---|{'---|' * len(rows[0])}")]
        for row in rows:
            table.append(Span(kind="text", text=f"\n| **{escape_table_cell(row[0].subject)}**"))
            for part in row:
                table.append(Span(kind="text", text=" |"))
                for span in _cell_spans(cells[part.id]):
                    is_quote = span.kind == "quote"
                    text = f" “{escape_table_cell(span.text)}”" if is_quote else f" {escape_table_cell(span.text)}"
                    table.append(span.model_copy(update={"kind": "text", "text": text, "part": ""}))
            table.append(Span(kind="text", text=" |"))
        colon = message("mark.colon", question.language)
        for first, *rest in rows:
            if not any(span.cites for part in (first, *rest) for span in cells[part.id]):
                notice = cells[first.id][0]
                table.append(notice.model_copy(update={"text": f"{first.subject}{colon}{notice.text}"}))
        return table

    def _part_spans(self, question: Question, part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
        """Yield the spans of a part: rows, places, quotes and clarifying questions, or a notice."""
        yield from (rows := list(_row_spans(part, findings)))
        yield from (places := list(_place_spans(part, findings)))
        is_answered_by_rows = rows and not self._required_names(
            part.subject, question.text
        )  # the table already answers a question that counts or ranks
        quotes = () if is_answered_by_rows else self._select_quotes(question, part, findings)
        if quotes and not (rows or places or is_answered(*self.search_terms(part, question.text), quotes)):
            yield Span(kind="missing", text=message("digest.nearest", question.language), part=part.id)
        yield from (_to_span(quote, part) for quote in quotes)
        clarifications = [f.message for f in findings if f.task.part == part.id and _is_unclear(f)]
        for text in dict.fromkeys(clarifications):
            yield Span(kind="missing", text=text, part=part.id)
        own_findings = [f for f in findings if f.task.part == part.id and _has_result_type("places", f)]
        if any(f.reason not in (None, "empty", "left out", *ASKS_BACK) for f in own_findings) and not places:
            text = message("digest.no map", question.language)
            yield Span(kind="missing", text=text, part=part.id)
        elif not (rows or places or quotes or clarifications):
            text = message(self._missing_message_key(question, part, findings), question.language)
            unknown_places = (
                f.message for f in own_findings if _is_unknown_offline(f)
            )  # this message names what the sample lacks
            yield Span(kind="missing", text=next(unknown_places, "") or text, part=part.id)

    def _missing_message_key(self, question: Question, part: Part, findings: Sequence[Finding]) -> str:
        """Return the key of the message for a part without a quote."""
        findings = [finding for finding in findings if finding.reason != "left out"]
        is_searched = any(finding.task.part == part.id for finding in findings)
        if not is_searched and not self._is_tried(question, part, findings):
            return "digest.unsearched"
        return "digest.failed" if _is_failed(part, findings) else "digest.missing"

    def _select_quotes(self, question: Question, part: Part, findings: Sequence[Finding]) -> tuple[Quote, ...]:
        documents = [finding for finding in findings if _has_result_type("quotes", finding)]
        return select_quotes(*self.search_terms(part, question.text), documents)

    def search_terms(self, part: Part, question: str) -> tuple[str, tuple[str, ...], bool]:
        """Return the search text of a part, its subject's names, and whether one is required."""
        names = self._required_names(part.subject, question)
        text = "" if _is_general(part.text) else part.text
        return text, names or (part.subject,), bool(names)


def _is_general(text: str) -> bool:
    """Return whether the text of a part stands for anything about a subject."""
    return text in [message("digest.general", language) for language in LOCALES]


def _comparable_rows(parts: Sequence[Part]) -> list[list[Part]]:
    """Return the parts by subject, if the same is asked about several subjects; else nothing."""
    rows = [[part for part in parts if part.subject == name] for name in dict.fromkeys(p.subject for p in parts)]
    same = len({tuple(part.text for part in row) for row in rows}) == 1
    return rows if len(rows) > 1 and same else []


def _cell_spans(spans: Sequence[Span]) -> Sequence[Span]:
    """Return the spans of a part for a table cell: one sentence of a database, and quotes."""
    sentences = [span for span in spans if span.made and span.kind == "text"][:1]
    return sentences + [span for span in spans if not (sentences and span.made)][: QUOTES_PER_CELL - len(sentences)]


def _sources_by_query_type(query_type: QueryType, options: RunOptions) -> list[str]:
    """Return the sources of a run with a query type."""
    return [name for name in options.sources if registry.get_source(name).query_type == query_type]


def _map_tasks(
    question: Question, parts: Sequence[Part], map_sources: Sequence[str], options: RunOptions
) -> Iterator[Task]:
    """Yield map searches for the parts that ask for places.

    If a run uses only maps and no part asks for places, search for the whole question.
    """
    if not map_sources:
        return
    if parse_place_query(question.text) is None and not set(options.sources) <= set(map_sources):
        return
    place_parts = [(part, query) for part in parts if (query := _place_query(part, question))]
    searches = product(map_sources, place_parts or [(parts[0], question.text)])
    for n, (source, (part, query)) in enumerate(searches, 1):
        yield Task(id=f"1.{n}", source=source, query=query, part=part.id)


def _merge_place_parts(question: Question, parts: list[Part]) -> list[Part]:
    """Merge the parts that are kinds of place in one request: one map search finds all of them."""
    place_query = parse_place_query(question.text)
    first_place_part = next((part for part in parts if parse_place_query(part.text)), None)
    if place_query is None or first_place_part is None:
        return parts

    def akin(text: str) -> bool:
        return set(map_keywords(text)) <= set(place_query.keywords)

    same_subject = [part for part in parts if part.subject == first_place_part.subject or akin(part.subject)]
    mergeable = [part for part in same_subject if part is first_place_part or akin(part.text)]
    if len(mergeable) < 2:
        return parts
    comma = message("mark.list", question.language)
    text = comma.join(part.text for part in mergeable) if len(mergeable) < len(parts) else question.text
    merged = mergeable[0].model_copy(update={"text": text, "subject": first_place_part.subject})
    return [merged if part is mergeable[0] else part for part in parts if part not in mergeable[1:]]


def _place_query(part: Part, question: Question) -> str:
    """Return a part as a place query with its location; "" if it does not ask for places."""
    place_query = parse_place_query(part.text)
    if place_query and place_query.place:
        return part.text
    query_with_subject = parse_place_query(part.subject + part.text) if has_han(part.text) else None
    if query_with_subject and query_with_subject.place == to_simplified(part.subject) and part.subject:
        return part.subject + part.text
    return question.text if place_query else ""


def _has_result_type(result_type: ResultType, finding: Finding) -> bool:
    """Return whether a finding's source has a result type."""
    return registry.get_source(finding.task.source).result_type == result_type


def _findings_with_evidence(result_type: ResultType, part: Part, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings for a part with evidence of a result type."""
    findings_of_part = (f for f in findings if f.task.part == part.id and _has_result_type(result_type, f))
    return [finding for finding in findings_of_part if finding.evidence]


def _is_unclear(finding: Finding) -> bool:
    """Return whether a search had no result because of its query, as its message explains."""
    is_refused = finding.reason == "refused" and _has_result_type("rows", finding)
    return finding.reason in ASKS_BACK or is_refused


def _is_unknown_offline(finding: Finding) -> bool:
    """Return whether the built-in table of places has no result for a search."""
    return finding.provider == "offline" and not finding.evidence


def _place_spans(part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
    """Yield the best places for a part, as the map service describes them, and tables of distances.

    Routes are given with their steps if these are few.
    """
    for finding in _findings_with_evidence("places", part, findings):
        for span in finding.summary:
            yield span.model_copy(update={"part": part.id})
    items = [item for finding in _findings_with_evidence("places", part, findings) for item in finding.evidence]
    for item in items[:MAX_PLACES]:
        has_few_steps = item.way is None or len(item.way.steps) <= MAX_ROUTE_STEPS
        for passage in item.passages if has_few_steps else item.passages[:1]:
            cite = PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
            yield Span(kind="quote", text=passage.text, cites=(cite,), part=part.id, made=True)


def _row_spans(part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
    """Yield the result of a database search for a part: its summary and the first rows."""
    for finding in _findings_with_evidence("rows", part, findings):
        for span in finding.summary:
            yield span.model_copy(update={"part": part.id, "made": bool(span.cites)})
        statement, *row_items = finding.evidence
        row_passages = [(statement, p) for p in statement.passages if p.heading.startswith("row ")]
        for item, passage in [*((i, i.passages[0]) for i in row_items), *row_passages][:MAX_PLACES]:
            cite = PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
            yield Span(kind="quote", text=passage.text, cites=(cite,), part=part.id, made=True)


def _is_failed(part: Part, findings: Sequence[Finding]) -> bool:
    """Return whether all searches for a part failed, so that nothing is known, not even absence."""
    relevant = [f for f in findings if f.task.part == part.id] or findings
    return bool(relevant) and all(f.reason not in (None, "empty") for f in relevant)


def _to_span(quote: Quote, part: Part) -> Span:
    cite = PassageReference(evidence=quote.evidence_id, passage=quote.passage_id, start=quote.start, end=quote.end)
    return Span(kind="quote", text=quote.text, cites=(cite,), part=part.id, made=quote.is_generated)


def _without_subject(part: Part) -> str:
    """Return the clause of a part without its subject."""
    if not part.subject:
        return part.text
    return re.sub(rf"{re.escape(part.subject)}(?:’s|'s)?", " ", part.text, flags=re.I)


def _with_subject(part: Part) -> str:
    """Return the clause of a part with its subject."""
    if part.subject.casefold() in part.text.casefold():
        return part.text
    if has_han(part.subject + part.text):
        return f"{part.subject}{part.text}"
    return f"{part.text} of {part.subject}"


def _query_words(part: Part) -> list[str]:
    """Return the words that a part adds to its subject in a query."""
    return extract_keywords(_without_subject(part))


def _part_label(part: Part, plan: Plan) -> str:
    """Return the heading of a part: its clause, after the subject if the clause lacks it."""
    is_name = any(part.subject in task.subject for task in plan.tasks) or not plan.tasks
    if not part.subject or not is_name or part.subject.casefold() in part.text.casefold():
        return part.text
    colon = "：" if has_han(part.subject + part.text) else ": "
    return f"{part.subject}{colon}{part.text}"


def _group_parts(parts: Sequence[Part], max_groups: int) -> list[list[Part]]:
    """Group parts into queries: one part each, unless there are more parts than queries allowed."""
    if len(parts) <= max_groups:
        return [[part] for part in parts]
    ordered = sorted(parts, key=lambda part: [p.subject for p in parts].index(part.subject))
    groups: list[list[Part]] = [[part] for part in ordered]
    while len(groups) > max_groups:
        pairs = [i for i in range(len(groups) - 1) if groups[i][0].subject == groups[i + 1][0].subject]
        if not pairs:
            return groups[:max_groups]
        smallest_pair = min(pairs, key=lambda i: len(groups[i]) + len(groups[i + 1]))
        groups[smallest_pair : smallest_pair + 2] = [groups[smallest_pair] + groups[smallest_pair + 1]]
    return groups


def _synonyms(text: str, language: Language) -> list[str]:
    """Return synonyms in a language for the words of a part, without the words that it has."""
    text = to_simplified(text)
    concepts = find_concepts(text)
    spellings = [
        [
            word
            for word in m.concept.spellings(language)
            if word not in m.concept.question_words and normalise_query(word) not in normalise_query(text)
        ]
        for m in concepts
    ]
    words = [word for synonyms in spellings for word in synonyms[: max(2, MAX_SYNONYMS // len(spellings))]]
    if words and (language == "zh") == has_han(text):
        literals = {match.literal for match in concepts}
        words += [word for word in extract_keywords(text) if word not in literals]
    return list(dict.fromkeys(words))


def _name_in_language(names: Sequence[str], subject: str, language: Language) -> str:
    return next((n for n in names if has_han(n) == (language == "zh")), subject)
