"""A report as JSON for programs: enough to judge the run by, with the numbers of the Markdown.

The schema `sightline-report/7`, field by field. Times are ISO 8601 in UTC, offsets characters, and a
field without a value is "", [], 0, false or null.

- `schema`, `language` (zh or en: of the answer, else of the question)
- `run`: id, status, created, finished, error, options (queries, loops, sources, model; searches, tokens,
  cost in US dollars and seconds are limits, 0 for none; approve; `notebook`, to whose documents the library
  was limited, or "")
- `question`, `title`, `author`, `made`, `sample` (whether a cited source is sample data),
  `unwritten` (whether the answer only stands in for one that could not be written), `suggestions`
  (how many search suggestions the search engine wants shown; their HTML is not exported)
- `answer`: the answer alone as Markdown with [n] at its citations
- `blocks`: the same in pieces, in order. Each has a `kind` (heading, quote, text, missing, notice),
  its `text` (of a text piece: Markdown without its citations, which stand at its end), `part` (the
  part of the question that it serves), `unsourced` (it claims a source that does not exist),
  `citations` (`number`, `evidence` and `passage` by id, and the stretch of the passage from `start`
  to `end` that is meant; 0 and 0 mean all of it) and for a quote `quotes`, which tells where it stands
  (number, passage, heading, page)
- `support`: what stands behind each sentence of the answer that claims something, or null without an
  answer: a hint, no verdict. `accuracy` (in this language on claims that others labelled: `balanced`, of which .5 is
  chance, `overlap` (that of plain word overlap), `recall` of supported, its precision where `half` and where `most`,
  four fifths, of the claims are supported, and the same of unsupported: `doubted`, `doubted_half`, `doubted_most`),
  `counts` (total, quoted, supported, unclear, unsupported, differs, none) and `sentences`, in order: `at` (its
  place among all sentences), `text`, `status` (quoted: verbatim in its source; supported: a cited passage
  says it; unclear: cited, but no cited passage clearly says it; unsupported: cited, but no cited passage says much of
  it; differs: a figure is another in the passage; none: no source), `numbers` (of its sources), `lacks` (what the passage lacks: `kind` of figure, date
  or words, `text` as in the sentence, `found` what stands there instead, or ""; `kind` language, without
  text: the passage is in another language, only figures and dates were compared),
  `evidence` and `passage` (ids of what comes nearest), `start` to `end` (the stretch of that passage),
  `ruled` (whether a model has judged it) and `reason` (what it holds against it)
- `sources`: what is cited. `number`, the fields of an evidence, `times` (pieces that cite it), and of
  the `passages` those that are cited
- `evidence`: everything that was found, each source once: id, kind, title, publisher, url, locator,
  `standing` (preferred or warned: by the lists of domains, else ""), published (a day), `moment` (the time of publication, or null), retrieved, sample, `expires` (its address works for some weeks only), `notice` (what
  has become of it since: corrected, concern, retracted, or ""), `place`, `paper` and `passages`. A paper (null for
  anything else) has its `authors` (family and given, or name where nobody knows which is which), `year` (or null),
  venue, doi and `cited` (the works that cite it, or null), as `counted` by a service. A place (null for anything else) has id, name, `lng` and `lat` in degrees of WGS-84 (null
  if they are no numbers), provider, `category` (food, sight, family, shop, hotel, transport, culture, other), `type` (what the
  provider calls it), address, district, city, `distance` (metres from what was searched around, or
  null), `rating` (of 5, or null), `cost` (yuan a person, or null), hours, phone, photos, sample. A
  passage has id, `origin` (source: the text is the document's own; grounding: it is the wording of a search model
  that names this source), text, start, end, heading, page, title, `ocr` (read from the picture of its page)
- `coverage`: of a report on the news, else null. `as_of`, `newest` (days), `stale`, `stories` (id, headline,
  `evidence` ids, outlets, `independent` pieces, `day` first told, `latest`, stale, tone, `rough`: no model has judged
  it), `outlets` (name, items, stories, first), `conflicts` (story, subject, unit, figures), `days` (pieces on
  each), `undated` (pieces), `author` (of the tones) and, if an earlier report was brought up to date, the run
  `compared` with and `changes` (kind: new, grown, gone, figure; story, headline, evidence, before, after). A
  figure has text, clause, outlet, evidence
- `review`: what a model that checks the answer has done, or null: `author`, `rulings` (`key`, `verdict`: supported,
  partly, contradicted or absent; `reason`, the `quote` and where it stands), `repairs` (`before`, `after`: "" if it
  was removed; `part`), `unchecked` (sentences without a usable ruling) and `kept` (that could not be taken out), `failures`
- `conflicts`: figures of different sources for one thing that do not agree: subject, unit, `figures` (text,
  `clause` that gives it, `evidence` id, `number` of its citation or null, `date` of publication or null, `copies`:
  other sources with the same text). Those within a news story are in `coverage`
- `notes`: what its reader has noted, no part of the answer: `evidence` and `passage` by id ("" for the answer as a
  whole), text, `made` (when it was written last)
- `plan`: parts, tasks, edited, notes, failures, `unclear` (what it asks back, or null); null if there was none
- `clarification`: what was asked back before anything was searched (question, choices, `answer`: "" if it was skipped,
  null if nobody has answered), or null; `instructions`: what was said to the run while it went on (text, time,
  `heeded`: whether a reflection or the answer could still take it into account)
- `rounds`: for each its number `round`, `findings`, `not_run` (planned tasks that were not looked up)
  and `reflections` (sufficient, gap, follow_ups, note, failures). A finding has its task, provider,
  `asked` (the queries that the search engine ran), reason (null unless it brought back nothing), hint,
  message, started, seconds, reused, cached, `passages` (how many), `evidence` (ids), `summary` (pieces as in
  `blocks`, whose citations have no numbers), `lead` (what the search service wrote itself), `pictures` (url,
  caption, page), `outside` and `undated` (ids of evidence of other days than asked for, and of unknown ones),
  `centre` (what was searched around for places: name, lng and lat in degrees of WGS-84, `radius` in metres, 0 for
  an area as a whole, `asked`: the radius that was asked for where nothing was within it, else 0; or null), `meant`
  (what a database was asked for), `rows` of a database (sql, names, types and rows; `truncated`: there were more,
  `cut`: cells that were shortened, seconds, `missed`: filters that can find nothing, `coverage`: for how many of
  the `rows` that a statement looks at the columns are `known` that it compares, null where that was not counted,
  `part`: the rows of a subquery; or null), `steps` on the way to them (kind, text, sql, rows, seconds) and failures
- `failures`: what failed at any stage: stage, source, query, reason, hint, message
- `usage`: `calls` (stage, model, calls, input, cached, output, searches, cost, `estimated`: whether the server
  gave no counts, so that tokens are estimated from the length of the text; task) and their `total`, with how many
  calls are `unpriced` or `estimated`, and `complete`: whether none is. Costs are estimates in US dollars

Knows reports and numbered answers; writes no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isfinite
from typing import Any

from research.citations.disagreements import find_disagreements
from research.citations.model_markdown import replace_surrogates
from research.citations.numbering import CitedAnswer, CitedSource, NumberedSpan, is_verbatim
from research.citations.registry import EvidenceRegistry
from research.citations.support import SUPPORT_ACCURACY, check_support
from research.core.records import Evidence, Finding, NewsCoverage, PassageReference, Report, Span
from research.core.urls import canonical_url
from research.export.markdown import (
    answer_markdown,
    collect_failures,
    collect_report_evidence,
    quoted_passage,
    report_language,
    round_numbers,
    sum_usage,
    to_utc,
    unfinished_tasks,
)

SCHEMA = "sightline-report/7"
_EVIDENCE_FIELDS = (
    "id", "kind", "title", "publisher", "url", "also", "locator", "published", "moment", "retrieved", "sample", "standing",
    "expires", "notice", "place", "paper", "passages",
)  # fmt: skip
_FINDING_FIELDS = {
    "task", "provider", "asked", "reason", "hint", "message", "started", "seconds", "reused",
    "cached", "lead", "pictures", "outside", "undated", "meant", "rows", "steps",
    "failures",
}  # fmt: skip


def report_json(report: Report, cited: CitedAnswer | None) -> str:
    """The report as JSON (schema `sightline-report/7`), with the same numbers as the Markdown.

    It leaves out who asked and in which conversation: the file may travel.
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
        "made": to_utc(answer.made).isoformat() if answer else None,
        "sample": answer.sample if answer else None,
        "unwritten": answer.unwritten if answer else False,
        "suggestions": len(answer.suggestions) if answer else 0,
        "answer": answer_markdown(cited) if cited else "",
        "blocks": _answer_blocks(cited, registry) if cited else [],
        "support": _support_record(cited) if cited else None,
        "sources": [_source_record(source) for source in cited.sources] if cited else [],
        "evidence": [_evidence_record(item) for item in registry],
        "coverage": _coverage_record(answer.coverage) if answer else None,
        "review": answer.review.model_dump(mode="json") if answer and answer.review else None,
        "conflicts": [one.model_dump(mode="json") for one in find_disagreements(report, cited)],
        "notes": [one.model_dump(mode="json") for one in report.remarks],
        "plan": report.plan.model_dump(mode="json") if report.plan else None,
        "clarification": report.clarification.model_dump() if report.clarification else None,
        "instructions": [one.model_dump(mode="json") for one in report.instructions],
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
    numbers = {source.evidence.id: source.number for source in cited.sources}
    return [
        {
            **_span_record(item.span, item.unsourced),
            "citations": [
                {"number": numbers[pointed["evidence"]], **pointed}
                for pointed in _resolved_cites(item.span, registry)
                if numbers.get(pointed["evidence"]) in item.numbers
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
    """What a span cites that is there; a quote cites only what contains it."""
    return [
        {"evidence": item.id, "passage": cite.passage, "start": cite.start, "end": cite.end}
        for cite in dict.fromkeys(span.cites)
        if (item := registry.get(cite.evidence)) and _is_valid_cite(span, cite, registry)
    ]


def _is_valid_cite(span: Span, cite: PassageReference, registry: EvidenceRegistry) -> bool:
    passage = registry.passage(cite.evidence, cite.passage)
    return passage is not None and (span.kind != "quote" or is_verbatim(span.text, passage.text))


def _quote_record(item: NumberedSpan, number: int, evidence: Evidence) -> dict[str, Any]:
    """Where a quote stands in one of its sources."""
    passage = quoted_passage(item, evidence)
    where = passage.model_dump(include={"heading", "page"}) if passage else {}
    return {"number": number, "passage": passage.id if passage else None, **where}


# What stands behind it


def _support_record(cited: CitedAnswer) -> dict[str, Any]:
    found = check_support(cited)
    return {
        "accuracy": SUPPORT_ACCURACY[cited.answer.language].model_dump(),
        "counts": found.counts._asdict(),
        "sentences": [item.model_dump(mode="json", exclude={"spans"}) for item in found.sentences],
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
    """The fields of something on the map; JSON has no word for a number that is none."""
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
    found = (registry.get(item.id) for item in finding.evidence)
    return {
        **finding.model_dump(mode="json", include=_FINDING_FIELDS),
        "centre": _without_infinities(finding.centre.model_dump() if finding.centre else None),
        "passages": finding.passage_count,
        "evidence": list(dict.fromkeys(item.id for item in found if item)),
        "summary": _summary_records(finding.summary, registry),
    }


def _summary_records(spans: Iterable[Span], registry: EvidenceRegistry) -> list[dict[str, Any]]:
    out = []
    for span in spans:
        pointed = _resolved_cites(span, registry)
        lost = len(pointed) < len(set(span.cites))
        out.append({**_span_record(span, span.unsourced or lost), "citations": pointed})
    return out
