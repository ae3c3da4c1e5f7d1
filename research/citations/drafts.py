"""Citation numbers of an answer that is still being written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import cites_by_address, cites_by_title, collect_evidence
from research.core.records import Answer, PassageReference, Report
from research.core.text.tokenizer import detect_language


def number_draft(report: Report, text: str, handles: Mapping[str, Sequence[str]]) -> CitedAnswer:
    """Parse and number the text that a model has written so far.

    `handles` maps each handle to the ids of its source and its passage.
    """
    cites = {handle: PassageReference(evidence=ids[0], passage=ids[1]) for handle, ids in handles.items()}
    answer = Answer(
        title=report.run.question,
        language=detect_language(report.run.question),
        author="",
        spans=parse_model_markdown(
            text,
            cites,
            cites_by_address(report.evidence),
            cites_by_title(report.evidence),
            is_partial=True,
            is_list_pending=True,
        ),
        created=datetime.now(UTC),
    )
    return number_citations(answer, collect_evidence(report.findings))
