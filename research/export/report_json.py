"""A report as JSON for programs, with the citation numbers of the Markdown.

The file holds enough to judge the run.

Fields of the schema `sightline-report/8`. Times are ISO 8601 in UTC, offsets are characters, and a
field without a value is "", [], 0, false or null.

- `schema`, `language` (zh or en: of the answer, else of the question)
- `run`: id, status, created, finished, error, options (queries, loops, sources, model; limits, 0
  for none: searches, tokens, cost in US dollars, seconds; approve; `notebook` whose documents limit
  the library, or "")
- `question`, `title`, `author`, `created`, `sample` (true if a cited source is sample data),
  `placeholder` (true if the answer only replaces one that could not be written), `suggestions`
  (number of search suggestions that the search engine wants shown; their HTML is not exported)
- `answer`: only the answer, as Markdown with [n] at its citations
- `blocks`: the answer in pieces, in order. Each has a `kind` (heading, quote, text, missing,
  notice), its `text` (a text piece is Markdown without its citations, which belong at its end),
  `part` (the part of the question that it answers), `unsourced` (true if it claims a source that
  does not exist), `citations` (`number`, `evidence` and `passage` by id, and the range of the
  passage from `start` to `end`; 0 and 0 mean all of it) and `quotes`, the places of a quote
  (number, passage, heading, page; last_page for a sentence over a page end)
- `support`: the check of each sentence of the answer that claims something, a hint and no verdict;
  null without an answer. `accuracy` (of the check in this language, on claims labelled by others:
  `balanced`, of which .5 is chance, `overlap` (that of plain word overlap), `recall` of supported
  claims, its precision where `half` and where `most`, four fifths, of the claims are supported, and
  the same of unsupported claims: `doubted`, `doubted_half`, `doubted_most`), `counts` (total,
  quoted, supported, unclear, unsupported, differs, none) and `sentences`, in order: `at` (index
  among all sentences), `text`, `status` (quoted: verbatim in its source; supported: a cited passage
  says it; unclear: cited, but no cited passage clearly says it; unsupported: cited, but no cited
  passage says much of it; differs: a figure is another in the passage; none: no source), `numbers`
  (of its sources), `gaps` (missing in the passage: `kind` is figure, date or words, with `text` as
  in the sentence and `found`, the text in its place, or ""; or `kind` is language, without text:
  the passage is in another language, so only figures and dates were compared), `evidence` and
  `passage` (ids of the nearest passage), `start` to `end` (range of that passage), `ruled` (true if
  a model has judged it) and `reason` (objection of that model)
- `sources`: cited sources. `number`, the fields of an evidence, `times` (number of pieces that cite
  it), and of the `passages` the cited ones
- `evidence`: everything that was found, each source once: id, kind, title, publisher, url, `further_url`
  (a second address), locator, `domain_status` (preferred or warned, by the lists of domains, else ""),
  published (a day), `published_at` (time of publication, or null), retrieved, sample, `url_expires` (true if
  its address works for some weeks only), `notice` (status since publication: corrected, concern,
  retracted, or ""), `place`, `paper` and `passages`. A paper (null for anything else) has its
  `authors` (family and given, or name if the two are not known apart), `year` (or null), venue, doi
  and `citation_count` (number of works that cite it, or null) according to the service `citation_source`. A place (null for
  anything else) has id, name, `lng` and `lat` in degrees of WGS-84 (null if they are no numbers),
  provider, `category` (food, sight, family, shop, hotel, transport, culture, other), `type`
  (category of the provider), address, district, city, `distance` (metres from the search centre, or
  null), `rating` (of 5, or null), `cost` (yuan a person, or null), hours, phone, photos, sample. A
  passage has id, `origin` (source: text of the document; grounding: wording of a search model that
  names this source), text, start, end, heading, page (the slide of a .pptx file, the cell of an
  .ipynb file), `last_page` (only of a sentence over a page end), title, `ocr` (true if read from the
  picture of its page)
- `coverage`: for a report on the news, else null. `as_of`, `newest` (days), `stale`, `stories` (id,
  headline, `evidence` ids, outlets, `independent` pieces, `day` of the first report, `latest`,
  stale, tone, `tone_from_words`: true if no model has judged the tone), `outlets` (name, items, stories,
  first), `conflicts` (story, subject, unit, figures), `days` (pieces on each), `undated` (pieces),
  `author` (of the tones) and, if an earlier report was updated, the run `compared_run` and
  `changes` (kind: new, grown, gone, figure; story, headline, evidence, before, after). A figure has
  text, clause, outlet, evidence
- `review`: the work of a model that checks the answer, or null: `author`, `verdicts` (`key`,
  `verdict`: supported, partly, contradicted or absent; `reason`, the `quote` and its place),
  `repairs` (`before`, `after`: "" if it was removed; `part`), `unchecked` (sentences without a
  usable verdict), `unremovable` (sentences that could not be removed) and `failures`
- `conflicts`: disagreeing figures of different sources for one thing: subject, unit, `figures`
  (text, `clause` that gives it, `evidence` id, `number` of its citation or null, `date` of
  publication or null, `copies`: other sources with the same text). Those within a news story are in
  `coverage`
- `notes`: notes of the reader, not part of the answer: `evidence` and `passage` by id ("" for the
  answer as a whole), text, `updated` (when it was last written)
- `plan`: parts, tasks, edited, notes, failures, `clarification` (its question to the user, or null); null
  if there was none
- `clarification`: the question to the user before the first search (question, choices, `answer`: ""
  if it was skipped, null if nobody has answered), or null; `instructions`: messages of the user
  during the run (text, time, `applied`: true if a reflection or the answer could still follow it)
- `rounds`: for each its number `round`, `findings`, `not_run` (planned tasks that were not
  executed) and `reflections` (sufficient, gap, follow_ups, note, failures). A finding has its task,
  provider, `provider_queries` (those that the search engine ran), reason (null unless it brought back
  nothing), hint, message, started, seconds, reused, cached, `passages` (their number), `evidence`
  (ids), `summary` (pieces as in `blocks`, whose citations have no numbers), `provider_summary` (text written by
  the search service), `pictures` (url, caption, page), `outside_dates` and `undated` (ids of evidence
  from other days than requested, and from unknown days), `search_area` (centre of a search for places:
  name, lng and lat in degrees of WGS-84, `radius` in metres, 0 for an area as a whole, `requested_radius`: the
  requested one if nothing was within it, else 0; or null), `interpreted_question` (as put to a database),
  `rows` of a database (sql, names, types and rows; `truncated`: there were more, `shortened_cells`: number of
  such cells, seconds, `unmatched_filters`: those that can find nothing, `coverage`: of the `rows` that
  a statement reads, the number in which its compared `columns` are `known`, null if not counted,
  `subquery`: the rows are those of a subquery, `reading_notes`: doubts with which its files were read; or
  null), `steps` on the way to them (kind, text, sql,
  rows, seconds) and failures
- `failures`: failures at any stage: stage, source, query, reason, hint, message
- `usage`: `calls` (stage, model, calls, input, cached, output, searches, cost, `estimated`: true if
  the server gave no counts, so that tokens are estimated from the length of the text; task) and
  their `total`, with the number of calls that are `unpriced` or `estimated`, and `complete`: true
  if none is. Costs are estimates in US dollars

Writes no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

from research.citations.disagreements import find_disagreements
from research.citations.numbering import CitedAnswer, CitedSource, NumberedSpan, is_verbatim
from research.citations.registry import EvidenceRegistry
from research.citations.support import SUPPORT_ACCURACY, check_support
from research.core.records import Evidence, Finding, NewsCoverage, PassageReference, Report, Span
from research.core.text.control_chars import replace_surrogates
from research.core.urls import canonical_url
from research.export.markdown import answer_markdown, quoted_passage
from research.export.options import DEFAULT_OPTIONS, ExportOptions, listed_sources
from research.export.report_facts import (
    collect_failures,
    collect_report_evidence,
    report_language,
    round_numbers,
    source_numbers,
    sum_usage,
    to_utc,
    unfinished_tasks,
)

SCHEMA = "sightline-report/8"
_EVIDENCE_FIELDS = (
    "id", "kind", "title", "publisher", "url", "further_url", "locator", "published", "published_at", "retrieved", "sample",
    "domain_status", "url_expires", "notice", "place", "paper", "passages",
)  # fmt: skip
_FINDING_FIELDS = {
    "task", "provider", "provider_queries", "reason", "hint", "message", "started", "seconds", "reused",
    "cached", "provider_summary", "pictures", "outside_dates", "undated", "interpreted_question", "rows", "steps",
    "failures",
}  # fmt: skip


def report_json(report: Report, cited: CitedAnswer | None, options: ExportOptions = DEFAULT_OPTIONS) -> str:
    """Return the report as JSON (schema `sightline-report/8`), numbered like the Markdown.

    The user and the conversation are omitted, as the file may be passed on.
    """
    run, answer = report.run, cited.answer if cited else None
    registry, used = collect_report_evidence(report), sum_usage(report.usage)
    content = {
        "schema": SCHEMA,
        "language": report_language(report, cited),
        "run": run.model_dump(mode="json", include={"id", "status", "created", "finished", "error", "options"}),
        "question": run.question,
        "title": answer.title if answer else "",
        "author": answer.author if answer else None,
        "created": to_utc(answer.created).isoformat() if answer else None,
        "sample": answer.sample if answer else None,
        "placeholder": answer.placeholder if answer else False,
        "suggestions": len(answer.suggestions) if answer else 0,
        "answer": answer_markdown(cited) if cited else "",
        "blocks": _answer_blocks(cited, registry) if cited else [],
        "support": _support_record(cited) if cited else None,
        "sources": [_source_record(source) for source in listed_sources(cited, options)],
        "evidence": [_evidence_record(item) for item in registry],
        "coverage": _coverage_record(answer.coverage) if answer else None,
        "review": answer.review.model_dump(mode="json") if answer and answer.review else None,
        "conflicts": [item.model_dump(mode="json") for item in find_disagreements(report, cited)],
        "notes": [item.model_dump(mode="json") for item in report.remarks],
        "plan": report.plan.model_dump(mode="json") if report.plan else None,
        "clarification": report.clarification.model_dump() if report.clarification else None,
        "instructions": [item.model_dump(mode="json") for item in report.instructions],
        "rounds": [_round_record(report, number, registry) for number in round_numbers(report)],
        "failures": [item.model_dump(mode="json") for item in collect_failures(report, cited)],
        "usage": {
            "calls": [item.model_dump(mode="json") for item in report.usage],
            "total": used._asdict() | {"complete": used.is_complete},
        },
    }
    return replace_surrogates(json.dumps(content, ensure_ascii=False, indent=2)) + "\n"


# The answer


def _answer_blocks(cited: CitedAnswer, registry: EvidenceRegistry) -> list[dict[str, Any]]:
    sources = {source.number: source for source in cited.sources}
    numbers = source_numbers(cited)
    return [
        {
            **_span_record(item.span, item.unsourced),
            "citations": [
                {"number": numbers[cite["evidence"]], **cite}
                for cite in _resolved_cites(item.span, registry)
                if numbers.get(cite["evidence"]) in item.numbers
            ],
            "quotes": [_quote_record(item, n, sources[n].evidence) for n in item.numbers]
            if item.span.kind == "quote"
            else [],
        }
        for item in cited.spans
    ]


def _span_record(span: Span, unsourced: bool) -> dict[str, Any]:
    return {"kind": span.kind, "text": span.text, "part": span.part, "unsourced": unsourced}


def _resolved_cites(span: Span, registry: EvidenceRegistry) -> list[dict[str, Any]]:
    """Return the citations of a span that exist; a quote cites only passages that contain it."""
    return [
        {"evidence": item.id, "passage": cite.passage, "start": cite.start, "end": cite.end}
        for cite in dict.fromkeys(span.references)
        if (item := registry.get(cite.evidence)) and _is_valid_cite(span, cite, registry)
    ]


def _is_valid_cite(span: Span, cite: PassageReference, registry: EvidenceRegistry) -> bool:
    passage = registry.passage(cite.evidence, cite.passage)
    return passage is not None and (span.kind != "quote" or is_verbatim(span.text, passage.text))


def _quote_record(item: NumberedSpan, number: int, evidence: Evidence) -> dict[str, Any]:
    """Locate a quote in one of its sources."""
    passage = quoted_passage(item, evidence)
    location = passage.model_dump(include={"heading", "page", "last_page"}) if passage else {}
    return {"number": number, "passage": passage.id if passage else None, **location}


# Support, sources and rounds


def _support_record(cited: CitedAnswer) -> dict[str, Any]:
    support = check_support(cited)
    return {
        "accuracy": SUPPORT_ACCURACY[cited.answer.language].model_dump(),
        "counts": support.counts._asdict(),
        "sentences": [item.model_dump(mode="json", exclude={"spans"}) for item in support.sentences],
    }


def _coverage_record(coverage: NewsCoverage | None) -> dict[str, Any] | None:
    if coverage is None:
        return None
    newest = coverage.latest_day
    return {
        **coverage.model_dump(mode="json", exclude={"failures"}),
        "newest": newest.isoformat() if newest else None,
        "stale": coverage.is_stale,
    }


def _source_record(source: CitedSource) -> dict[str, Any]:
    shown = _evidence_record(source.evidence)
    passages = shown.pop("passages")
    return {"number": source.number, **shown, "times": source.times, "passages": passages}


def _evidence_record(evidence: Evidence) -> dict[str, Any]:
    data = evidence.model_dump(mode="json")
    data["url"] = canonical_url(evidence.url)
    data["place"] = _without_infinities(data["place"])
    return {name: data[name] for name in _EVIDENCE_FIELDS}


def _without_infinities(data: dict[str, Any] | None) -> dict[str, Any] | None:
    """Replace infinite and NaN numbers by None, as JSON has none."""
    return data and {
        key: None if isinstance(value, float) and not isfinite(value) else value for key, value in data.items()
    }


def _round_record(report: Report, number: int, registry: EvidenceRegistry) -> dict[str, Any]:
    findings = (item for item in report.findings if item.task.round == number)
    reflections = (item for item in report.reflections if item.round == number)
    return {
        "round": number,
        "findings": [_finding_record(item, registry) for item in findings],
        "not_run": [task.model_dump(mode="json") for task in unfinished_tasks(report, number)],
        "reflections": [item.model_dump(mode="json", exclude={"round"}) for item in reflections],
    }


def _finding_record(finding: Finding, registry: EvidenceRegistry) -> dict[str, Any]:
    items = (registry.get(item.id) for item in finding.evidence)
    return {
        **finding.model_dump(mode="json", include=_FINDING_FIELDS),
        "search_area": _without_infinities(finding.search_area.model_dump() if finding.search_area else None),
        "passages": finding.passage_count,
        "evidence": list(dict.fromkeys(item.id for item in items if item)),
        "summary": _summary_records(finding.summary, registry),
    }


def _summary_records(spans: Iterable[Span], registry: EvidenceRegistry) -> list[dict[str, Any]]:
    out = []
    for span in spans:
        cites = _resolved_cites(span, registry)
        has_lost_cites = len(cites) < len(set(span.references))
        out.append({**_span_record(span, span.unsourced or has_lost_cites), "citations": cites})
    return out
