"""An answer while it is being written, numbered like a finished one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from research.citations.markup import parse
from research.citations.numbering import CitedAnswer, number
from research.citations.registry import addresses, gather, titles
from research.core.records import Answer, Cite, Report
from research.core.text.words import detect_language


def drafted(report: Report, text: str, handles: Mapping[str, Sequence[str]]) -> CitedAnswer:
    """What a model has written so far. `handles` gives for each the ids of source and passage."""
    cites = {handle: Cite(evidence=ids[0], passage=ids[1]) for handle, ids in handles.items()}
    answer = Answer(
        title=report.run.question,
        language=detect_language(report.run.question),
        author="",
        spans=parse(
            text,
            cites,
            addresses(report.evidence),
            titles(report.evidence),
            partial=True,
            awaited=True,
        ),
        made=datetime.now(UTC),
    )
    return number(answer, gather(report.findings))
