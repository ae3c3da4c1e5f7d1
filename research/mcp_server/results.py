"""Results of the tools: text for the model of a client, and data by the schemas."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from mcp import types
from pydantic import BaseModel, ValidationError

import research
from research.core.errors import ServiceError, mask_secrets
from research.core.records import ColumnCoverage, Evidence, Finding, Report, Run
from research.core.text.control_chars import replace_surrogates
from research.mcp_server import schemas

log = logging.getLogger(__name__)

RUN_URI_PREFIX = "sightline://runs/"


class ToolCallError(Exception):
    """A call that cannot be answered; the message is for the caller."""


def run_result(report: Report) -> types.CallToolResult:
    """Return the report of a run as text and data."""
    return _status_result(report, schemas.RunResult(**_run_fields(report)))


def _run_fields(report: Report) -> dict[str, Any]:
    """Return the fields of `RunResult` for the report of a run."""
    run, answer = report.run, research.number_report_answer(report)
    data = json.loads(research.export_report(report, answer, "json", _export_options()))
    cites = [
        schemas.CitedPassage(
            number=source["number"],
            title=source["title"],
            url=source["url"],
            notice=source["notice"],
            passage=passage["text"],
        )
        for source in data["sources"]
        for passage in source["passages"]
    ]
    names = set(schemas.FailedStep.model_fields)
    failures = [schemas.FailedStep(**{name: item[name] for name in names}) for item in data["failures"]]
    return {
        "run": run.id,
        "status": run.status,
        "question": run.question,
        "answer": data["answer"],
        "citations": cites,
        "failures": failures,
    }


def report_file(report: Report, suffix: str) -> tuple[str | bytes, str] | None:
    """Return an exported file of a report and its MIME type; None if the report has no such file.

    A file that is not text in UTF-8 is returned as bytes.
    """
    answer = research.number_report_answer(report)
    for file in research.list_exports(report, answer):
        if file.suffix == suffix:
            data = file.format.write(report, answer, _export_options(table_number=file.table_number))
            try:
                return data.decode(), file.format.mime
            except UnicodeDecodeError:
                return data, file.format.mime
    return None


def report_text(report: Report) -> str:
    """Return a report as Markdown."""
    return research.report_markdown(report, research.number_report_answer(report), _export_options())


def _export_options(table_number: int = 0) -> research.ExportOptions:
    application = research.get_application()
    return research.ExportOptions.from_settings(
        application.services_for().settings, table_number=table_number, page_viewer=application.cited_page
    )


def table_result(report: Report) -> types.CallToolResult:
    """Return a table as text and data."""
    table = None
    if research.has_cited_table(report):
        answer = research.number_report_answer(report)
        table = json.loads(research.export_report(report, answer, "table.json", _export_options()))
    return _status_result(report, schemas.TableResult(**_run_fields(report), table=table))


def _status_result(report: Report, result: schemas.RunResult) -> types.CallToolResult:
    """Return a result with the report as its text; that of a failed run is an error with the reason."""
    run, text = report.run, report_text(report)
    if run.status == "failed":
        why = f"The run {run.id} has failed: {run.error}. Call again with this run_id to go on."
        return tool_result(f"{why}\n\n{text}", result, is_error=True)
    return tool_result(text, result)


def run_summary(run: Run) -> schemas.RunSummary:
    """Return the entry of a run in the list of runs."""
    return schemas.RunSummary(
        run=run.id,
        question=run.question,
        status=run.status,
        created=run.created.isoformat(timespec="seconds"),
        finished=run.finished.isoformat(timespec="seconds") if run.finished else None,
        uri=RUN_URI_PREFIX + run.id,
    )


def library_result(hits: Sequence[research.SearchHit]) -> types.CallToolResult:
    """Return passages of the library as text and data."""
    passages = [
        schemas.LibraryPassage(
            document=hit.document_id, title=hit.title, name=hit.name, heading=hit.heading,
            page=hit.page, last_page=hit.last_page, url=hit.url, sample=hit.is_sample, ocr=hit.is_ocr, text=hit.text,
        )
        for hit in hits
    ]  # fmt: skip
    excerpts = [f"{hit.title} — {hit.heading}\n{hit.text}" for hit in hits]
    text = "\n\n".join(excerpts) or "Nothing in the library has these words."
    return tool_result(text, schemas.LibraryResult(passages=passages))


def places_result(finding: Finding) -> types.CallToolResult:
    """Return found places as text and data.

    Raises:
        ToolCallError: the search failed.
    """
    if finding.reason not in (None, "empty"):
        raise ToolCallError(f"{finding.reason}: {finding.message}" if finding.message else finding.reason)
    places = [place for item in finding.evidence if (place := _to_place(item))]
    facts = [item.passages[0].text for item in finding.evidence if not item.place]
    note = "\n".join(filter(None, [finding.message, *facts]))
    lines = [_format_place(place) for place in places]
    text = "\n".join(filter(None, [note, *lines])) or "Nothing was found."
    return tool_result(text, schemas.PlacesResult(places=places, provider=finding.provider, note=note))


def database_result(answer: research.DatabaseAnswer, limit: int) -> types.CallToolResult:
    """Return the answer of a database as text and data, with at most `limit` rows.

    Raises:
        ToolCallError: the statement was refused or failed.
    """
    if answer.status in ("refused", "failed"):
        raise ToolCallError(answer.answer or f"The database has {answer.status}.")
    rows = answer.model_dump(mode="json", include={"rows"})["rows"]
    table = schemas.DatabaseResult(
        status=answer.status,
        answer=answer.answer,
        sql=answer.sql,
        columns=list(answer.columns),
        rows=[[row[name] for name in answer.columns] for row in rows[:limit]],
        count=answer.count,
        more=answer.truncated or answer.count > limit,
        coverage="; ".join(map(_format_coverage, answer.coverage)),
    )
    lines = ["\t".join(table.columns)] + ["\t".join(map(_format_database_value, row)) for row in table.rows]
    parts = [table.answer, table.coverage, table.sql, "\n".join(lines) if table.columns else ""]
    return tool_result("\n\n".join(filter(None, parts)), table)


def _to_place(evidence: Evidence) -> schemas.FoundPlace | None:
    """Return the place of a piece of evidence with its address, None if it has no place."""
    place = evidence.place
    if place is None:
        return None
    shared = set(schemas.FoundPlace.model_fields) - {"url"}
    return schemas.FoundPlace(**place.model_dump(include=shared), url=evidence.url)


def _format_place(place: schemas.FoundPlace) -> str:
    distance = f"{place.distance} m" if place.distance is not None else ""
    rating = f"{place.rating:g} of 5" if place.rating is not None else ""
    facts = filter(None, (place.address, distance, rating, place.hours, f"{place.lng:.6f},{place.lat:.6f}"))
    return f"- {place.name}: {'; '.join(facts)}{' (sample)' if place.sample else ''}"


def _format_coverage(coverage: ColumnCoverage) -> str:
    columns, scope = ", ".join(coverage.columns), " of a subquery" if coverage.subquery else ""
    if coverage.known is None:
        return f"{columns}: in how many rows{scope} it is known could not be counted"
    return f"{columns}: known in {coverage.known} of {coverage.rows} rows{scope}"


def _format_database_value(value: object) -> str:
    """Format a value of a database as one line, "" for NULL."""
    return "" if value is None else " ".join(str(value).split())


def tool_result(text: str, result: BaseModel, *, is_error: bool = False) -> types.CallToolResult:
    """Return the result of a call as text and data. Half surrogate pairs, which pages may contain, are replaced."""
    data = json.loads(replace_surrogates(json.dumps(result.model_dump(mode="json"), ensure_ascii=False), "?"))
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=replace_surrogates(text, "?"))]
    return types.CallToolResult(content=content, structuredContent=data, isError=is_error)


def error_result(message: str) -> types.CallToolResult:
    """Return the result of a call that has failed."""
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=replace_surrogates(message, "?"))]
    return types.CallToolResult(content=content, isError=True)


def error_message(error: Exception, tool: str) -> str:
    """Return the message about an exception, without secrets. An unexpected one is logged; only its type is named."""
    if isinstance(error, ValidationError):
        problems = error.errors(include_url=False, include_input=False)
        messages = (f"{'.'.join(map(str, problem['loc'])) or 'the call'}: {problem['msg']}" for problem in problems)
        return mask_secrets("; ".join(messages))
    known = (ToolCallError, ServiceError, research.RateLimitError, research.QuestionError, research.SettingError,
             research.StoreError)  # fmt: skip
    if isinstance(error, known):
        return mask_secrets(str(error))
    log.error("%s failed", tool, exc_info=error)
    return f"{tool} failed ({type(error).__name__}); the log of the server has the details."
