"""Markdown sections on the making of a report: its usage of models and services, and its provenance."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from research.citations.numbering import CitedAnswer
from research.core.i18n import Translator
from research.core.records import Report, RunOptions, Usage
from research.export.markdown_escaping import bullet_list, escape_markdown, join_facts, service_label
from research.export.process_markdown import failure_blocks
from research.export.report_facts import UsageTotal, collect_failures, report_language, sum_usage, to_utc
from research.export.report_texts import report_translator


def usage_blocks(report: Report, translate: Translator) -> Iterator[str]:
    """Yield the usage of the run: in total, then by model or search service."""
    if not report.usage:
        return
    by_model: dict[str, list[Usage]] = {}
    for item in report.usage:
        by_model.setdefault(item.model, []).append(item)
    yield f"## {translate('usage')}"
    yield from bullet_list(
        [
            translate("spent", who=translate("in all"), what=_usage_facts(sum_usage(report.usage), translate)),
            *(
                translate(
                    "spent",
                    who=escape_markdown(model) or translate("untitled"),
                    what=_usage_facts(sum_usage(used), translate),
                )
                for model, used in by_model.items()
            ),
        ]
    )


def _usage_facts(usage: UsageTotal, translate: Translator) -> str:
    tokens = usage.input or usage.output
    cost = "" if usage.cost is None else f"{usage.cost:.4f}"
    price = "cost in part" if usage.unpriced else "cost"
    facts = [
        translate("call" if usage.calls == 1 else "calls", count=usage.calls),
        translate("tokens in", count=f"{usage.input:,}") if tokens else "",
        translate("tokens cached", count=f"{usage.cached:,}") if usage.cached else "",
        translate("tokens out", count=f"{usage.output:,}") if tokens else "",
        translate("search" if usage.searches == 1 else "searches", count=usage.searches) if usage.searches else "",
        translate("uncounted" if usage.estimated == 1 else "uncounted several", count=usage.estimated)
        if usage.estimated
        else "",
        translate(price, cost=cost) if cost else translate("cost unknown"),
    ]
    return join_facts(facts, translate)


def provenance_markdown(report: Report, cited: CitedAnswer | None) -> str:
    """Render how a report was made and its failures, for files other than the report."""
    translate = report_translator(report_language(report, cited))
    return "\n\n".join([*provenance_blocks(report, cited, translate), *failure_blocks(report, cited, translate)])


def provenance_blocks(report: Report, cited: CitedAnswer | None, translate: Translator) -> Iterator[str]:
    """Yield the section on how, when and by whom a report was made."""
    run = report.run
    chosen = run.options
    sources = translate("comma").join(service_label(name, translate) for name in chosen.sources)
    if chosen.sections:
        limits = {"sections": chosen.sections, "reflections": chosen.reflections}
        options = translate("report options", sources=sources, **limits)
    else:
        options = translate("options", sources=sources, queries=chosen.queries, loops=chosen.loops)
    made_at = translate("made at", time=_format_minute(cited.answer.created)) if cited else ""
    models = dict.fromkeys(item.model for item in report.usage if item.model.strip())
    facts = [
        translate("author", author=escape_markdown(cited.answer.author)) if cited else "",
        options,
        translate("notebook", name=escape_markdown(run.options.notebook)) if run.options.notebook else "",
        _limits_text(run.options, translate),
        translate("model", model=escape_markdown(run.options.model)) if run.options.model.strip() else "",
        translate("used", names=translate("comma").join(map(escape_markdown, models))) if models else "",
        translate("run", run=escape_markdown(run.id)),
        translate("status", status=translate(f"status.{run.status}")),
        translate("error", error=escape_markdown(run.error)) if run.error.strip() else "",
        made_at or translate("created at", time=_format_minute(run.created)),
        translate("sampled", what=_sample_data_text(report, cited, translate)),
        translate("failed", count=len(collect_failures(report, cited))),
    ]
    yield f"## {translate('made')}"
    yield from bullet_list(fact for fact in facts if fact)


def _limits_text(options: RunOptions, translate: Translator) -> str:
    """List the usage limits of the run, "" if it has none."""
    names = ("searches", "tokens", "cost", "seconds")
    limits = [(name, getattr(options, name)) for name in names if getattr(options, name)]
    texts = [translate(f"limit.{name}", n=f"{value:,.10g}") for name, value in limits]
    return translate("limits", limits=translate("comma").join(texts)) if texts else ""


def _sample_data_text(report: Report, cited: CitedAnswer | None, translate: Translator) -> str:
    """State which sources are sample data."""
    numbers = [str(s.number) for s in cited.sources if s.evidence.sample] if cited else []
    if numbers:
        return translate("sampled sources", numbers=translate("comma").join(numbers))
    has_sample_evidence = any(item.sample for finding in report.findings for item in finding.evidence)
    has_sample_data = has_sample_evidence or (cited is not None and cited.answer.sample)
    return translate("sampled uncited" if has_sample_data else "sampled none")


def _format_minute(time: datetime) -> str:
    return f"{to_utc(time):%Y-%m-%d %H:%M} UTC"
