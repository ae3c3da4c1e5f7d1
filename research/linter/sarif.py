"""Lint results as SARIF 2.1.0, which code hosts and editors show at the affected lines.

The format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Lines count from 1; a
finding about a whole file has no line. No file is read or written here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from research.core.records import Language
from research.linter import CitationFlaw
from research.linter.evaluation import ReportEvaluation
from research.linter.flaw_kinds import SEVERITY_BY_KIND, Severity, flaw_message

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "note"}
_RULE_INDEX = {kind: at for at, kind in enumerate(SEVERITY_BY_KIND)}


def build_sarif(
    evaluations: Iterable[tuple[str, ReportEvaluation]],
    read_errors: Sequence[str] = (),
    language: Language = "en",
) -> dict[str, Any]:
    """Build the SARIF log of one run of the linter.

    Args:
        evaluations: pairs of file name and evaluation.
        read_errors: messages about files that could not be read.
    """
    run: dict[str, Any] = {
        "tool": {
            "driver": {"name": "Sightline", "rules": [_rule_descriptor(kind, language) for kind in SEVERITY_BY_KIND]}
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not read_errors,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": message}} for message in read_errors
                ],
            }
        ],
        "results": [_sarif_result(name, flaw) for name, evaluation in evaluations for flaw in evaluation.lint.flaws],
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_descriptor(kind: str, language: Language) -> dict[str, Any]:
    return {
        "id": kind,
        "shortDescription": {"text": flaw_message(kind, "…", "…", language)},
        "defaultConfiguration": {"level": _SARIF_LEVELS[SEVERITY_BY_KIND[kind]]},
    }


def _sarif_result(file_name: str, flaw: CitationFlaw) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": {"uri": _file_uri(file_name)}}
    if flaw.line:
        location["region"] = {"startLine": flaw.line}
        if flaw.excerpt:
            location["region"]["snippet"] = {"text": flaw.excerpt}
    content = "\n".join((flaw.kind, flaw.message, flaw.excerpt))
    return {
        "ruleId": flaw.kind,
        "ruleIndex": _RULE_INDEX[flaw.kind],
        "level": _SARIF_LEVELS[flaw.severity],
        "message": {"text": flaw.message},
        "locations": [{"physicalLocation": location}],
        # The line is left out, so that a finding keeps its identity when lines are added above.
        "partialFingerprints": {"finding/v1": hashlib.sha256(content.encode()).hexdigest()[:32]},
    }


def _file_uri(file_name: str) -> str:
    """Return a file name as a URI; a relative name stays relative to the working directory."""
    path = PurePath(file_name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
