"""Prompts and JSON schemas for reports: outline, sections, preface and tones of headlines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from research.agent.llm.material import HANDLE_TOKENS, MaterialListing, neutralise_handles
from research.agent.llm.prompts import (
    MAX_QUERY_CHARS,
    join_blocks,
    language_instruction,
    material_block,
    queries_block,
    question_block,
)
from research.agent.llm.truncation import TRUNCATION_MARK
from research.core.records import Finding, Part, Plan, Question, ReportSection, Span
from research.models.prompting import BASE_INSTRUCTIONS, Prompt, fence, object_schema
from research.models.token_counts import estimate_tokens
from research.sources import registry

MAX_TITLE_CHARS = 120
MAX_CONTENT_CHARS = 400  # of a section's description
MAX_HEADLINE_CHARS = 300
_CITATION_RULES = """- A handle, such as [@handle], tells the source of a piece of material. End every sentence that \
states something from the material with the handle of the piece that says so, copied exactly, in \
square brackets; with several if several say so. Cite in no other way: no numbers, no footnotes, no \
addresses, no list of sources.
- Everything you state has to stand in the material; nothing is added from memory. Figures, dates and \
names are kept exactly. Quote only what stands there word for word.
- Name the outlet and the date where they matter. Where outlets contradict each other, say so and cite \
both. Copies of one agency's text are one source, not several."""


def _search_tools(sources: Sequence[str]) -> dict[str, str]:
    """Return the search tools of some sources with their descriptions for the model."""
    return {
        name: description
        for source in sources
        for name, description in registry.get_source(source).tool_descriptions.items()
    }


def _query_properties(sources: Sequence[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {"query": {"type": "string", "maxLength": MAX_QUERY_CHARS}}
    if len(sources) > 1:
        fields["source"] = {"type": "string", "enum": list(sources)}
    if tools := _search_tools(sources):
        fields["search_tool"] = {"type": "string", "enum": list(tools)}
        fields["start_date"] = {"type": "string", "maxLength": 10}
        fields["end_date"] = {"type": "string", "maxLength": 10}
    return fields


def _search_tool_instructions(sources: Sequence[str]) -> str:
    descriptions = _search_tools(sources)
    if not descriptions:
        return ""
    tools = "\n".join(f'  - "{name}": {description}' for name, description in descriptions.items())
    return (
        '- "search_tool" says how the news is searched; "start_date" and "end_date" are "" unless it is '
        f"by date:\n{tools}\n"
    )


def outline_schema(sources: Sequence[str], max_sections: int) -> dict[str, Any]:
    """Return the JSON schema of an outline."""
    section = object_schema(
        title={"type": "string", "maxLength": MAX_TITLE_CHARS},
        content={"type": "string", "maxLength": MAX_CONTENT_CHARS},
        **_query_properties(sources),
    )
    return object_schema(sections={"type": "array", "items": section, "maxItems": max_sections})


def outline_prompt(question: Question, sources: Sequence[str], max_sections: int, today: date) -> Prompt:
    """Build the prompt for the sections of a report on a topic."""
    system = f"""{BASE_INSTRUCTIONS}

Plan a report on the topic, and reply with JSON.
- "sections": at most {max_sections}, in the order in which they are read; no introduction, no summary and no \
conclusion. Few good ones are better than many.
- "title" names a section, "content" says in one or two sentences what it is to tell.
- "query" is what one would type into a search engine to begin it: a few words, names kept as they are. \
No two sections search for the same.
{_search_tool_instructions(sources)}Write titles and contents in the language of the topic, and each query in the language in \
which the best sources are likely to be written. {language_instruction(question.language, "titles and contents")}"""
    return Prompt(system, question_block(question, today))


def section_prompt(
    question: Question,
    part: Part,
    earlier_section: ReportSection,
    findings: Sequence[Finding],
    listing: MaterialListing,
    today: date,
) -> Prompt:
    """Build the prompt for the text of a section from its material and its earlier text."""
    system = f"""{BASE_INSTRUCTIONS}

Write one section of a report, for an analyst who will check it.
{_CITATION_RULES}
- If there is a text of before, keep what is right in it with its handles, put right what is not, and \
add what the material has that is new. Reply with the whole section.
- Say plainly what the material does not tell. The length follows the material.
- No heading of its own; sub-headings (###), lists and tables where they help to read.
{language_instruction(question.language)}"""
    user = join_blocks(
        question_block(question, today),
        "Section:\n" + fence("section", f"{part.subject}\n{part.text}"),
        f"Text of before:\n{fence('text', render_spans(earlier_section.spans, listing))}"
        if earlier_section.spans
        else "",
        f"Missing so far:\n{fence('gaps', chr(10).join(earlier_section.gap))}" if earlier_section.gap else "",
        queries_block(findings),
        material_block(listing),
    )
    return Prompt(system, user)


def section_reflection_schema(sources: Sequence[str], max_queries: int) -> dict[str, Any]:
    """Return the JSON schema of the judgement of a section."""
    query = object_schema(**_query_properties(sources))
    return object_schema(
        is_sufficient={"type": "boolean"},
        knowledge_gap={"type": "string", "maxLength": 600},
        follow_ups={"type": "array", "items": query, "maxItems": max_queries},
    )


def section_reflection_prompt(
    question: Question,
    part: Part,
    section: ReportSection,
    findings: Sequence[Finding],
    sources: Sequence[str],
    max_queries: int,
    today: date,
    listing: MaterialListing,
) -> Prompt:
    """Build the prompt for judging a section and proposing further searches."""
    system = f"""{BASE_INSTRUCTIONS}

Judge whether the section of a report tells what it is to tell, and reply with JSON.
- "is_sufficient": true if it does, or if searching again cannot help.
- "knowledge_gap": what is missing, unclear or contradictory, in one or two sentences; "" if nothing is.
- "follow_ups": at most {max_queries} new searches for what is missing; each differs from every query that was \
run, and stands on its own. Empty if the section is sufficient.
{_search_tool_instructions(sources)}{language_instruction(question.language, '"knowledge_gap"')}"""
    user = join_blocks(
        question_block(question, today),
        "Section:\n" + fence("section", f"{part.subject}\n{part.text}"),
        "Its text:\n" + fence("text", render_spans(section.spans, listing) or "(nothing yet)"),
        queries_block(findings),
    )
    return Prompt(system, user)


def preface_prompt(
    question: Question, plan: Plan, sections: Sequence[ReportSection], listing: MaterialListing, today: date
) -> Prompt:
    """Build the prompt for the summary that precedes the sections of a report."""
    system = f"""{BASE_INSTRUCTIONS}

The sections of a report are written. Write what stands before them: the state of affairs in at most \
eight sentences, the most important first.
- State only what the sections say. Their sentences end with the handles of their sources, such as \
[@handle]: end each of yours with the handles of what it rests on, copied exactly, in square brackets. \
Cite in no other way.
- Where sections or outlets contradict each other, say so and cite both.
- No heading, no list of the sections.
{language_instruction(question.language)}"""
    parts = {part.id: part for part in plan.parts}
    texts = [
        f"## {neutralise_handles(parts[section.part].subject)}\n{render_spans(section.spans, listing)}"
        for section in sections
        if section.part in parts and section.spans
    ]
    sections_block = "Sections:\n" + fence("sections", "\n\n".join(texts))
    return Prompt(system, join_blocks(question_block(question, today), sections_block))


def tones_schema(count: int) -> dict[str, Any]:
    """Return the JSON schema of the tones of headlines."""
    tone = {"type": "string", "enum": ["positive", "neutral", "negative"]}
    row = object_schema(number={"type": "integer", "minimum": 1, "maximum": count}, tone=tone)
    return object_schema(tones={"type": "array", "items": row, "maxItems": count})


def tones_prompt(question: Question, headlines: Sequence[str], today: date) -> Prompt:
    """Build the prompt for judging the tone of each headline."""
    system = f"""{BASE_INSTRUCTIONS}

Judge the tone of each numbered headline, and reply with JSON: "tones" has one entry for each, with \
its "number" and its "tone".
- "positive": what it tells is good news for those whom it concerns; "negative": bad news, or it \
criticises; "neutral": neither, both, or it cannot be told.
- Judge what is told, not how loudly. A headline that denies or ends something bad is not negative."""
    lines = "\n".join(
        f"{n}. {neutralise_handles(' '.join(line.split())[:MAX_HEADLINE_CHARS])}" for n, line in enumerate(headlines, 1)
    )
    return Prompt(system, f"{question_block(question, today)}\n\nHeadlines:\n{fence('headlines', lines)}")


def shorten_section(section: ReportSection, token_budget: int) -> ReportSection:
    """Return the section with as much of the beginning of its text as fits the budget."""
    spans, used = [], 0
    for span in section.spans:
        used += estimate_tokens(span.text) + HANDLE_TOKENS * len(span.references)
        if used > token_budget:
            break
        spans.append(span)
    if len(spans) == len(section.spans):
        return section
    mark = Span(kind="text", text=f" {TRUNCATION_MARK}")
    return section.model_copy(update={"spans": (*spans, mark)})


def render_spans(spans: Sequence[Span], listing: MaterialListing) -> str:
    """Render a text for a prompt, with its citations as handles if they have one."""
    names = {(cite.evidence, cite.passage): name for name, cite in listing.handles.items()}
    rendered = []
    for span in spans:
        if span.kind == "notice":  # notices are the program's, not part of the text
            continue
        handles = [names.get((cite.evidence, cite.passage)) for cite in span.references]
        rendered.append(neutralise_handles(span.text) + "".join(f"[@{name}]" for name in handles if name))
    return "".join(rendered).strip()
