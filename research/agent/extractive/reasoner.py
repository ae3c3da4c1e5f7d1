"""The reasoner that needs no key: it splits the question by rules and quotes the evidence verbatim.

It paraphrases nothing, concludes nothing and claims no more than "this sentence speaks to this part".
A part without a quote is reported as not found. The name a question is about is never given up in
order to find more: other names of the same thing are tried, and the other language.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import islice, product, zip_longest
from typing import Literal

from research import data
from research.agent.extractive.cell_extraction import fill_cells
from research.agent.extractive.concepts import find_concepts
from research.agent.extractive.follow_up import find_unresolved, make_standalone
from research.agent.extractive.question_parts import extract_keywords, parse_question
from research.agent.extractive.quote_selection import Quote, is_answered, select_quotes
from research.agent.reasoner import Corpus
from research.citations.model_markdown import escape_table_cell
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
MAX_PLACES = 10  # in the answer; a map shows all
# What asks for whatever there is on a thing: 最新消息, the latest news on.
_GENERAL_REQUEST = re.compile(
    r"(?:最新|近期|最近|的|有什么|有哪些)*(?:消息|新闻|动态|进展|情况)?"
    r"|(?:what(?:'s| is) )?(?:the )?(?:latest|recent|new)?\s*(?:news|updates|developments)?(?: (?:on|about|of|from))?",
    re.I,
)
MAX_LISTED_QUERIES = 6  # queries that are named where nothing was found
QUOTES_PER_CELL = 2  # quotes in a cell of a comparison
MAX_ATTEMPTS_PER_PART = 4  # new tasks a part and round
MAX_ROUTE_STEPS = 12  # of a way, that an answer lists
_MAX_TITLE_CHARS = 60  # characters of the title of a section
MAX_SYNONYMS = 8  # synonyms a query

_GREETINGS = frozenset(data.words("questions")["greetings"].split("|"))


def _one_sentence_draft(
    kind: Literal["missing", "notice"], question: Question, message_key: str, **words: str
) -> Draft:
    """An answer of one sentence."""
    span = Span(kind=kind, text=message(message_key, question.language, **words))
    return Draft(spans=(span,), author=message("digest.author", question.language))


class ExtractiveReasoner:
    """Rules over the analyst's own documents."""

    def __init__(self, corpus: Corpus, can_read: ReadabilityCheck | None = None, owner: str = "") -> None:
        """`reads` tells whether a source can answer a question: it takes the name of the source, the question,
        the name of a database and an owner. Without it, every source is asked."""
        self._corpus, self._can_read, self._owner = corpus, can_read, owner

    def of(self, owner: str) -> ExtractiveReasoner:
        """The same for the runs of an owner."""
        return ExtractiveReasoner(self._corpus, self._can_read, owner)

    async def plan(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan | Draft:
        typed = question.text
        if normalise_query(typed) in _GREETINGS:
            return _one_sentence_draft("notice", question, "digest.nothing")
        text = make_standalone(question, self._corpus)
        question = question.model_copy(update={"text": text})
        if pointer := find_unresolved(question, self._corpus):
            return _one_sentence_draft("missing", question, "digest.which", words=pointer)
        parts = self._split_question(question)
        if not parts:
            return _one_sentence_draft("notice", question, "digest.nothing")
        rewritten = question.text if question.text != typed else ""
        if self._is_already_answered(question, parts):
            return Plan(question=rewritten, recalled=True, parts=tuple(parts))
        if maps := _sources_by_query_type("place", options):
            parts = _merge_place_parts(question, parts)
        tasks = list(_map_tasks(question, parts, maps, options))
        notes: list[str] = []
        for source in _sources_by_query_type("question", options):
            asked = await self._readable_questions(source, question, parts, options)
            for query, part in asked.items():
                number = f"1.{len(tasks) + 1}"
                tasks.append(Task(id=number, source=source, query=query, part=part))
            if not asked and registry.get_source(source).result_type == "rows":
                notes.append(message("digest.no tables", question.language))
        for source in _sources_by_query_type("words", options):
            for group in _group_parts(parts, registry.get_source(source).max_queries(options.queries)):
                tasks.append(self._build_task(question, group, source, len(tasks) + 1))
        return Plan(question=rewritten, parts=tuple(parts), tasks=tuple(tasks), notes=tuple(notes))

    def _split_question(self, question: Question) -> list[Part]:
        told = [
            (subject, piece.text_without_names if len(piece.subjects) > 1 else piece.text)
            for piece in parse_question(question.text, self._corpus).clauses
            for subject in piece.subjects or [""]
        ]
        general = message("digest.general", question.language)
        told = [(about, general if _GENERAL_REQUEST.fullmatch(text) else text) for about, text in told]
        return [
            Part(id=f"p{n}", subject=subject, text=text) for n, (subject, text) in enumerate(dict.fromkeys(told), 1)
        ]

    async def _readable_questions(
        self, source: str, question: Question, parts: Sequence[Part], options: RunOptions
    ) -> dict[str, str]:
        """What a source is asked that takes whole questions, each for a part: the question, or else the
        parts that it can tell. Where there is nothing else to ask, it says itself why it cannot tell."""
        whole = {question.text: parts[0].id}
        if set(options.sources) == {source} or self._can_read is None:
            return whole
        if await self._can_read(source, question.text, options.database, self._owner):
            return whole
        asked = {_with_subject(part): part.id for part in parts}
        return {
            query: part
            for query, part in asked.items()
            if await self._can_read(source, query, options.database, self._owner)
        }

    def _is_already_answered(self, question: Question, parts: Sequence[Part]) -> bool:
        """Whether what earlier answers cite speaks to every part."""
        before = question.memory_findings
        return bool(before) and all(self._select_quotes(question, part, before) for part in parts)

    def _build_task(self, question: Question, group: Sequence[Part], source: str, number: int) -> Task:
        subject = group[0].subject
        asked = [w for p in group if not _is_general(p.text) for w in _query_words(p)]
        query = " ".join(dict.fromkeys([subject, *asked])).strip()
        return Task(
            id=f"1.{number}",
            source=source,
            query=query,
            part=group[0].id,
            subject=self._required_names(subject, question.text),
        )

    def _required_names(self, subject: str, question: str) -> tuple[str, ...]:
        """The names a hit must mention one of; none where the subject is not a name."""
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
        # Each part's first attempt comes before any second one, parts never looked for at the front.
        attempts.sort(key=lambda tasks: [bool(task.why) for task in tasks[:1]])
        in_turn = [task for row in zip_longest(*attempts) for task in row if task is not None]
        follow_ups = [
            task.model_copy(update={"id": f"{round_ + 1}.{n}", "round": round_ + 1})
            for n, task in enumerate({task.key: task for task in in_turn}.values(), 1)
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
        """The ways to ask for a part that have not been tried, for each source of the plan."""
        known = {finding.task.key for finding in findings}
        tried = self._is_tried(question, part, findings)
        for variant in self._query_variants(question, part):
            if tried and not variant.why:
                continue
            for source in dict.fromkeys(task.source for task in plan.tasks):
                if registry.get_source(source).query_type != "words":
                    continue
                task = variant.model_copy(update={"source": source})
                if task.key not in known:
                    yield task

    def _is_tried(self, question: Question, part: Part, findings: Sequence[Finding]) -> bool:
        """Whether a query had all the words of a part, be it alone or beside those of others."""
        words, names = set(_query_words(part)), self._required_names(part.subject, question.text)
        return any(f.task.subject == names and words <= set(f.task.query.split()) for f in findings)

    def _query_variants(self, question: Question, part: Part) -> Iterator[Task]:
        """Ways to ask for a part: its words, synonyms, the other language, all on the name."""
        names = self._required_names(part.subject, question.text)
        own = " ".join(dict.fromkeys([part.subject, *_query_words(part)])).strip()
        yield Task(id="", source="", query=own or part.text, part=part.id, subject=names)
        yield from self._alternative_queries(question, part, names)

    def _alternative_queries(self, question: Question, part: Part, names: Sequence[str]) -> Iterator[Task]:
        """Other ways than the own words of a part, all on one of some names."""
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
        looked = any(finding.reason != "no model" for finding in findings)
        if looked and all(span.kind in ("heading", "missing") for span in draft.spans):
            told = await asyncio.to_thread(
                self._not_found_notices, question, findings, is_whole_library=not options.notebook
            )
            return draft.model_copy(update={"spans": (*draft.spans, *told)})
        return draft

    def _not_found_notices(
        self, question: Question, findings: Sequence[Finding], *, is_whole_library: bool
    ) -> list[Span]:
        """What is said where nothing at all was found: what was looked for, and, if the `whole` library
        was, what comes closest there."""
        language = question.language
        tried = dict.fromkeys(f.task.query for f in findings if f.reason in (None, "empty"))
        try:
            closest = self._corpus.closest_titles(question.text) if is_whole_library else []
        except StoreError:  # the search has said why
            closest = []
        lines = [("looked for", [*tried][:MAX_LISTED_QUERIES]), ("closest", closest)]
        comma = message("mark.list", language)
        texts = [
            message(f"digest.{key}", language, names=comma.join(f"“{name}”" for name in names))
            for key, names in lines
            if names
        ]
        return [Span(kind="notice", text=text) for text in texts]

    async def plan_report(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan:
        """One section, with the parts of the question: rules know no better order."""
        plan = await self.plan(question, options, emit)
        tasks = plan.tasks if isinstance(plan, Plan) else ()
        title = question.text if len(question.text) <= _MAX_TITLE_CHARS else f"{question.text[:_MAX_TITLE_CHARS]}…"
        held = [task.model_copy(update={"part": "s1"}) for task in tasks]
        part = Part(id="s1", subject=title, text=question.text)
        return Plan(outline=True, parts=(part,), tasks=tuple(held))

    async def write_section(
        self,
        question: Question,
        plan: Plan,
        section: ReportSection,
        findings: Sequence[Finding],
        options: RunOptions,
        emit: EventEmitter,
    ) -> ReportSection:
        own = await self.plan(question, options, emit)
        if isinstance(own, Draft):
            return section.model_copy(update={"spans": own.spans, "author": own.author})
        served = {task.key: task.part for task in own.tasks}
        found = []
        for finding in findings:
            part = served.get(finding.task.key, "")
            task = finding.task.model_copy(update={"part": part})
            found.append(finding.model_copy(update={"task": task}))
        draft = await self.write(question, own, found, (), options, emit)
        spans = draft.spans
        if len(own.parts) == 1:  # the section's own heading tells it
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
        """Rules do not judge a section."""
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
        """Quotes are not summed up."""
        return Draft(spans=(), author=message("digest.author", question.language))

    async def plan_table(self, question: Question, options: RunOptions, emit: EventEmitter) -> Plan:
        """The things that a question names, by what it asks of each."""
        alike = _comparable_rows(self._split_question(question))
        if not alike:
            return Plan()
        rows = tuple(Row(id=f"r{n}", name=row[0].subject) for n, row in enumerate(alike, 1))
        columns = (infer_column(n, part.text) for n, part in enumerate(alike[0], 1))
        return Plan(grid=Grid(rows=rows, columns=tuple(columns)))

    def cell_tasks(self, question: Question, row: Row, column: Column, sources: Sequence[str]) -> tuple[Task, ...]:
        part = Part(id="", subject=row.name, text=column.full_question)
        names = (row.name, *self._corpus.aliases(row.name))
        out: list[Task] = []
        for source in sources:
            known = registry.get_source(source)
            if known.query_type != "words":  # of a database also all that it has on the thing
                heading = Part(id="", subject=row.name, text=column.name)
                asked = [row.full_name] if known.query_type == "place" else [_with_subject(heading), row.name]
                out += (Task(id="", source=source, query=query, language=question.language) for query in asked)
                continue
            words = dict.fromkeys([row.full_name, *_query_words(part)])
            own = Task(id="", source=source, query=" ".join(words), subject=names)
            ways = self._alternative_queries(question, part, names) if known.is_local else ()
            tasks = [own, *(task.model_copy(update={"source": source}) for task in ways)]
            out += {task.key: task for task in tasks}.values()
        return tuple(out)

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
        """Rules count words, which the report calls rough."""
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
        """A table of subjects by what is asked of each, a quote in every cell or that there is none;
        nothing where the question is not about several things alike, or where more than quotes was found.
        """
        rows = _comparable_rows(plan.parts)
        cells = {part.id: list(self._part_spans(question, part, findings)) for part in plan.parts}
        told = [span for found in cells.values() for span in found]
        texts = {p.id for f in findings for e in f.evidence if e.kind != "place" for p in e.passages}
        plain = all(cite.passage in texts for span in told for cite in span.cites)
        if not rows or not plain or not any(span.cites for span in told):
            return []
        heads = "".join(f" {escape_table_cell(part.text)} |" for part in rows[0])
        out = [Span(kind="text", text=f"| |{heads}\n|---|{'---|' * len(rows[0])}")]
        for row in rows:
            out.append(Span(kind="text", text=f"\n| **{escape_table_cell(row[0].subject)}**"))
            for part in row:
                out.append(Span(kind="text", text=" |"))
                for span in _cell_spans(cells[part.id]):
                    quote = span.kind == "quote"
                    text = f" “{escape_table_cell(span.text)}”" if quote else f" {escape_table_cell(span.text)}"
                    out.append(span.model_copy(update={"kind": "text", "text": text, "part": ""}))
            out.append(Span(kind="text", text=" |"))
        colon = message("mark.colon", question.language)
        for first, *rest in rows:
            if not any(span.cites for part in (first, *rest) for span in cells[part.id]):
                why = cells[first.id][0]
                out.append(why.model_copy(update={"text": f"{first.subject}{colon}{why.text}"}))
        return out

    def _part_spans(self, question: Question, part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
        """What there is on a part: places, quotes, what has to be asked back, or that there is none."""
        yield from (rows := list(_row_spans(part, findings)))
        yield from (places := list(_place_spans(part, findings)))
        told = rows and not self._required_names(part.subject, question.text)  # the tables count and rank
        quotes = () if told else self._select_quotes(question, part, findings)
        if quotes and not (rows or places or is_answered(*self.search_terms(part, question.text), quotes)):
            yield Span(kind="missing", text=message("digest.nearest", question.language), part=part.id)
        yield from (_to_span(quote, part) for quote in quotes)
        back = [f.message for f in findings if f.task.part == part.id and _is_unclear(f)]
        for text in dict.fromkeys(back):
            yield Span(kind="missing", text=text, part=part.id)
        own = [f for f in findings if f.task.part == part.id and _has_result_type("places", f)]
        if any(f.reason not in (None, "empty", "left out", *ASKS_BACK) for f in own) and not places:
            text = message("digest.no map", question.language)
            yield Span(kind="missing", text=text, part=part.id)
        elif not (rows or places or quotes or back):
            text = message(self._missing_message_key(question, part, findings), question.language)
            unknown = (f.message for f in own if _is_unknown_offline(f))  # says what the sample lacks
            yield Span(kind="missing", text=next(unknown, "") or text, part=part.id)

    def _missing_message_key(self, question: Question, part: Part, findings: Sequence[Finding]) -> str:
        """The key of what is said of a part without a quote."""
        findings = [finding for finding in findings if finding.reason != "left out"]
        own = any(finding.task.part == part.id for finding in findings)
        if not own and not self._is_tried(question, part, findings):
            return "digest.unsearched"
        return "digest.failed" if _is_failed(part, findings) else "digest.missing"

    def _select_quotes(self, question: Question, part: Part, findings: Sequence[Finding]) -> tuple[Quote, ...]:
        documents = [finding for finding in findings if _has_result_type("quotes", finding)]
        return select_quotes(*self.search_terms(part, question.text), documents)

    def search_terms(self, part: Part, question: str) -> tuple[str, tuple[str, ...], bool]:
        """What is looked for in sentences: the words of a part, the names of its subject, and whether a
        sentence has to be about one of them."""
        names = self._required_names(part.subject, question)
        text = "" if _is_general(part.text) else part.text
        return text, names or (part.subject,), bool(names)


def _is_general(text: str) -> bool:
    """Whether a part is only the name of whatever there is on a thing."""
    return text in [message("digest.general", language) for language in LOCALES]


def _comparable_rows(parts: Sequence[Part]) -> list[list[Part]]:
    """The parts of each subject, if there are several subjects of which the same is asked."""
    rows = [[part for part in parts if part.subject == name] for name in dict.fromkeys(p.subject for p in parts)]
    same = len({tuple(part.text for part in row) for row in rows}) == 1
    return rows if len(rows) > 1 and same else []


def _cell_spans(spans: Sequence[Span]) -> Sequence[Span]:
    """What a cell has of a part: what the tables tell in a sentence, and quotes."""
    told = [span for span in spans if span.made and span.kind == "text"][:1]
    return told + [span for span in spans if not (told and span.made)][: QUOTES_PER_CELL - len(told)]


def _sources_by_query_type(query_type: QueryType, options: RunOptions) -> list[str]:
    """The sources of a run that rules ask something of that kind."""
    return [name for name in options.sources if registry.get_source(name).query_type == query_type]


def _map_tasks(
    question: Question, parts: Sequence[Part], map_sources: Sequence[str], options: RunOptions
) -> Iterator[Task]:
    """The tasks for the maps: the parts that look for places, or if maps alone may be asked, all of
    the question.
    """
    if not map_sources:
        return
    if parse_place_query(question.text) is None and not set(options.sources) <= set(map_sources):
        return
    own = [(part, query) for part in parts if (query := _place_query(part, question))]
    asked = product(map_sources, own or [(parts[0], question.text)])
    for n, (source, (part, query)) in enumerate(asked, 1):
        yield Task(id=f"1.{n}", source=source, query=query, part=part.id)


def _merge_place_parts(question: Question, parts: list[Part]) -> list[Part]:
    """The parts, with those as one that are kinds of place of one wish: the map finds all of them in
    one search.
    """
    wish = parse_place_query(question.text)
    head = next((part for part in parts if parse_place_query(part.text)), None)
    if wish is None or head is None:
        return parts

    def akin(text: str) -> bool:
        return set(map_keywords(text)) <= set(wish.keywords)

    same = [part for part in parts if part.subject == head.subject or akin(part.subject)]
    kin = [part for part in same if part is head or akin(part.text)]
    if len(kin) < 2:
        return parts
    comma = message("mark.list", question.language)
    text = comma.join(part.text for part in kin) if len(kin) < len(parts) else question.text
    whole = kin[0].model_copy(update={"text": text, "subject": head.subject})
    return [whole if part is kin[0] else part for part in parts if part not in kin[1:]]


def _place_query(part: Part, question: Question) -> str:
    """A part that looks for places as words that say where; "" if it looks for none."""
    wish = parse_place_query(part.text)
    if wish and wish.place:
        return part.text
    named = parse_place_query(part.subject + part.text) if has_han(part.text) else None
    if named and named.place == to_simplified(part.subject) and part.subject:
        return part.subject + part.text
    return question.text if wish else ""


def _has_result_type(result_type: ResultType, finding: Finding) -> bool:
    """Whether an answer takes that of what a search has found."""
    return registry.get_source(finding.task.source).result_type == result_type


def _findings_with_evidence(result_type: ResultType, part: Part, findings: Sequence[Finding]) -> list[Finding]:
    """The searches for a part that have found something of that kind."""
    own = (f for f in findings if f.task.part == part.id and _has_result_type(result_type, f))
    return [finding for finding in own if finding.evidence]


def _is_unclear(finding: Finding) -> bool:
    """Whether a search came to nothing because of how it was asked, which its message tells."""
    refused = finding.reason == "refused" and _has_result_type("rows", finding)
    return finding.reason in ASKS_BACK or refused


def _is_unknown_offline(finding: Finding) -> bool:
    """Whether the table of places that is there without a key does not know what was asked for."""
    return finding.provider == "offline" and not finding.evidence


def _place_spans(part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
    """The best places for a part, each as the map service describes it; what it says of a way with its
    steps, if they are few; and tables of distances."""
    for finding in _findings_with_evidence("places", part, findings):
        for span in finding.summary:
            yield span.model_copy(update={"part": part.id})
    items = [item for finding in _findings_with_evidence("places", part, findings) for item in finding.evidence]
    for item in items[:MAX_PLACES]:
        brief = item.way is None or len(item.way.steps) <= MAX_ROUTE_STEPS
        for passage in item.passages if brief else item.passages[:1]:
            cite = PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
            yield Span(kind="quote", text=passage.text, cites=(cite,), part=part.id, made=True)


def _row_spans(part: Part, findings: Sequence[Finding]) -> Iterator[Span]:
    """What a database says of a part: how much it found, and the first rows of it."""
    for finding in _findings_with_evidence("rows", part, findings):
        for span in finding.summary:
            yield span.model_copy(update={"part": part.id, "made": bool(span.cites)})
        statement, *spots = finding.evidence
        own = [(statement, p) for p in statement.passages if p.heading.startswith("row ")]
        for item, passage in [*((i, i.passages[0]) for i in spots), *own][:MAX_PLACES]:
            cite = PassageReference(evidence=item.id, passage=passage.id, end=len(passage.text))
            yield Span(kind="quote", text=passage.text, cites=(cite,), part=part.id, made=True)


def _is_failed(part: Part, findings: Sequence[Finding]) -> bool:
    """Whether no search for a part came through: then nothing is known, not even that it is absent."""
    own = [f for f in findings if f.task.part == part.id] or findings
    return bool(own) and all(f.reason not in (None, "empty") for f in own)


def _to_span(quote: Quote, part: Part) -> Span:
    cite = PassageReference(evidence=quote.evidence_id, passage=quote.passage_id, start=quote.start, end=quote.end)
    return Span(kind="quote", text=quote.text, cites=(cite,), part=part.id, made=quote.is_generated)


def _without_subject(part: Part) -> str:
    """The clause of a part without its subject."""
    if not part.subject:
        return part.text
    return re.sub(rf"{re.escape(part.subject)}(?:’s|'s)?", " ", part.text, flags=re.I)


def _with_subject(part: Part) -> str:
    """What a part asks, with its subject."""
    if part.subject.casefold() in part.text.casefold():
        return part.text
    if has_han(part.subject + part.text):
        return f"{part.subject}{part.text}"
    return f"{part.text} of {part.subject}"


def _query_words(part: Part) -> list[str]:
    """The words a part adds to its subject in a query."""
    return extract_keywords(_without_subject(part))


def _part_label(part: Part, plan: Plan) -> str:
    """The heading of a part: its clause, led by its subject where the clause does not name it."""
    proper = any(part.subject in task.subject for task in plan.tasks) or not plan.tasks
    if not part.subject or not proper or part.subject.casefold() in part.text.casefold():
        return part.text
    colon = "：" if has_han(part.subject + part.text) else ": "
    return f"{part.subject}{colon}{part.text}"


def _group_parts(parts: Sequence[Part], max_groups: int) -> list[list[Part]]:
    """Parts that share a query: one each, unless there are more parts than queries allowed."""
    if len(parts) <= max_groups:
        return [[part] for part in parts]
    ordered = sorted(parts, key=lambda part: [p.subject for p in parts].index(part.subject))
    groups: list[list[Part]] = [[part] for part in ordered]
    while len(groups) > max_groups:
        pairs = [i for i in range(len(groups) - 1) if groups[i][0].subject == groups[i + 1][0].subject]
        if not pairs:
            return groups[:max_groups]
        at = min(pairs, key=lambda i: len(groups[i]) + len(groups[i + 1]))
        groups[at : at + 2] = [groups[at] + groups[at + 1]]
    return groups


def _synonyms(text: str, language: Language) -> list[str]:
    """Words of a language for what a part asks, without those it has already."""
    text = to_simplified(text)
    found = find_concepts(text)
    own = [
        [
            word
            for word in m.concept.spellings(language)
            if word not in m.concept.question_words and normalise_query(word) not in normalise_query(text)
        ]
        for m in found
    ]
    out = [word for synonyms in own for word in synonyms[: max(2, MAX_SYNONYMS // len(own))]]
    if out and (language == "zh") == has_han(text):
        taken = {match.literal for match in found}
        out += [word for word in extract_keywords(text) if word not in taken]
    return list(dict.fromkeys(out))


def _name_in_language(names: Sequence[str], subject: str, language: Language) -> str:
    return next((n for n in names if has_han(n) == (language == "zh")), subject)
