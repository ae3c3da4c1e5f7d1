"""Cited sources for reference managers: CSL-JSON, BibTeX, RIS and a CSV table.

CSL-JSON follows citeproc (https://docs.citationstyles.org), BibTeX uses the entry types of
biblatex, and RIS lines end in CR LF. Only papers have authors; their names are those of the
catalogue. The publisher of a page, article or paper is written as its container: the site,
newspaper or journal. Every text is one line. Writes no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Any
from urllib.parse import quote, urlsplit

from research.citations.numbering import CitedAnswer, CitedSource
from research.core.records import Author, Evidence, EvidenceKind, PublicationNotice, Report
from research.core.text.control_chars import replace_surrogates
from research.core.urls import canonical_url
from research.export.options import ExportOptions, listed_sources
from research.export.provenance import provenance_lines
from research.export.report_facts import to_utc
from research.export.spreadsheet_text import single_line
from research.export.table_csv import table_csv
from research.export.table_model import ExportColumn, ExportTable

# Entry types in CSL, biblatex and RIS.
_ENTRY_TYPES: Mapping[EvidenceKind, tuple[str, str, str]] = {
    "web": ("webpage", "online", "ELEC"),
    "news": ("article-newspaper", "online", "NEWS"),
    "library": ("document", "misc", "GEN"),
    "place": ("webpage", "online", "ELEC"),
    "database": ("dataset", "dataset", "DATA"),
    "paper": ("article-journal", "article", "JOUR"),
}
_CONTAINED_KINDS = ("web", "news", "paper")  # kinds of evidence published within a larger work
CSV_COLUMNS = (
    "number", "kind", "title", "publisher", "url", "published", "retrieved", "language", "sample", "times",
    "authors", "doi", "notice",
)  # fmt: skip
_NOTICE_TEXTS: Mapping[PublicationNotice, str] = {
    "": "",
    "corrected": "发表后有更正 / corrected since it was published",
    "concern": "出版方已表达关注 / expression of concern by its publisher",
    "retracted": "已撤稿 / RETRACTED",
}
_TEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "%#$&_"},
}


# Writers


def csl_json_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return the sources of a report as CSL-JSON."""
    return references_csl_json(listed_sources(cited, options))


def bibtex_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return the sources of a report as BibTeX, below its provenance."""
    return references_bibtex(listed_sources(cited, options), provenance_lines(report, cited))


def ris_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> str:
    """Return the sources of a report as RIS."""
    return references_ris(listed_sources(cited, options))


def sources_csv_file(report: Report, cited: CitedAnswer | None, options: ExportOptions) -> bytes:
    """Return the sources of a report as a CSV table."""
    return sources_csv(listed_sources(cited, options))


def references_csl_json(sources: Iterable[CitedSource]) -> str:
    """Return the sources as a CSL-JSON list with the ids s1, s2, … by citation number."""
    items = [_csl_item(source) for source in sources]
    return replace_surrogates(json.dumps(items, ensure_ascii=False, indent=2)) + "\n"


def references_bibtex(sources: Iterable[CitedSource], provenance: Sequence[str] = ()) -> str:
    """Return biblatex entries with the keys s1, s2, …, below the provenance lines as a comment.

    TeX special characters are escaped, except in DOI and URL, which biblatex reads verbatim. Braces
    are written as commands, because an unbalanced brace would end or extend its field even when
    escaped.
    """
    comment = "".join(f"{_escape_tex(single_line(line)).replace('@', '(at)')}\n" for line in provenance)
    entries = [f"@comment{{\n{comment}}}\n"] if provenance else []
    return "\n".join([*entries, *(_bibtex_entry(source) for source in sources)])


def references_ris(sources: Iterable[CitedSource]) -> str:
    """Return one RIS record per source."""
    return "".join(f"{line}\r\n" for source in sources for line in _ris_lines(source))


def sources_csv(sources: Iterable[CitedSource]) -> bytes:
    """Return a table of sources as CSV."""
    return table_csv([ExportTable("", [ExportColumn(name) for name in CSV_COLUMNS], map(_csv_row, sources))])


# Fields of a source


def _source_title(evidence: Evidence) -> str:
    return single_line(evidence.title) or canonical_url(evidence.url) or "Untitled"


def _publisher_or_host(evidence: Evidence) -> str:
    """Return the publisher, else the host of the address.

    The host is omitted for expiring links, and for papers, whose DOI does not name the publisher.
    """
    host = (
        "" if evidence.url_expires or evidence.kind == "paper" else urlsplit(canonical_url(evidence.url)).hostname or ""
    )
    return single_line(evidence.publisher) or host


def _access_date(evidence: Evidence) -> date:
    return to_utc(evidence.retrieved).date()


def _publication_date(evidence: Evidence) -> str:
    """Return the ISO date of publication, or the year of a paper: 2018-02-13 or 2018."""
    if evidence.published:
        return evidence.published.isoformat()
    return f"{evidence.paper.year:04}" if evidence.paper and evidence.paper.year else ""


def _clean_authors(evidence: Evidence) -> tuple[Author, ...]:
    """Return the authors that have a name, with each name on one line."""
    authors = evidence.paper.authors if evidence.paper else ()
    cleaned = (
        Author(family=single_line(a.family), given=single_line(a.given), name=single_line(a.name)) for a in authors
    )
    return tuple(author for author in cleaned if author.name or author.family)


def _doi_of(evidence: Evidence) -> str:
    return single_line(evidence.paper.doi) if evidence.paper else ""


def _source_note(evidence: Evidence) -> str:
    """Return further facts for a reference: notices, sample data, position, locator, second
    address.
    """
    place = evidence.place
    known = place is not None and abs(place.lng) <= 180 and abs(place.lat) <= 90
    facts = [
        _NOTICE_TEXTS[evidence.notice],
        "示例数据 / sample data" if evidence.sample else "",
        "the link expires after about 30 days" if evidence.url_expires else "",
        f"{place.lat:z.6f}, {place.lng:z.6f} (WGS-84)" if place and known else "",
        single_line(place.address) if place else "",
        single_line(evidence.locator) if evidence.kind == "database" else "",
        f"see also {canonical_url(evidence.further_url)}" if canonical_url(evidence.further_url) else "",
    ]
    return "; ".join(fact for fact in facts if fact)


# CSL-JSON


def _csl_item(source: CitedSource) -> dict[str, Any]:
    evidence = source.evidence
    publisher = _publisher_or_host(evidence)
    publisher_field = "container-title" if evidence.kind in _CONTAINED_KINDS else "publisher"
    item = {
        "id": f"s{source.number}",
        "type": _ENTRY_TYPES[evidence.kind][0],
        "title": _source_title(evidence),
        "author": [_csl_name(author) for author in _clean_authors(evidence)],
        publisher_field: publisher,
        "issued": _csl_date(_publication_date(evidence)),
        "accessed": _csl_date(_access_date(evidence).isoformat()),
        "DOI": _doi_of(evidence),
        "URL": canonical_url(evidence.url),
        "language": single_line(evidence.language),
        "note": _source_note(evidence),
    }
    return {name: value for name, value in item.items() if value}


def _csl_name(author: Author) -> dict[str, str]:
    if author.name:
        return {"literal": author.name}
    return {k: v for k, v in (("family", author.family), ("given", author.given)) if v}


def _csl_date(day: str) -> dict[str, Any] | None:
    return {"date-parts": [[int(part) for part in day.split("-")]]} if day else None


# BibTeX


def _bibtex_entry(source: CitedSource) -> str:
    evidence = source.evidence
    publisher = _publisher_or_host(evidence)
    url = canonical_url(evidence.url)
    publisher_field = "journal" if evidence.kind == "paper" else "organization"
    fields = {
        "title": f"{{{_escape_tex(_source_title(evidence))}}}",  # the inner braces keep capital letters
        "author": " and ".join(map(_bibtex_name, _clean_authors(evidence))),
        publisher_field: f"{{{_escape_tex(publisher)}}}" if publisher else "",  # and keep a name in one piece
        "date": _publication_date(evidence),
        "doi": _escape_verbatim(_doi_of(evidence)),
        "url": _escape_verbatim(url),
        "urldate": _access_date(evidence).isoformat() if url else "",
        "langid": {"zh": "chinese", "en": "english"}.get(evidence.language.lower()[:2], ""),
        "note": _escape_tex(_source_note(evidence)),
    }
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@{_ENTRY_TYPES[evidence.kind][1]}{{s{source.number},\n{''.join(lines)}}}\n"


def _bibtex_name(author: Author) -> str:
    """Format a name for BibTeX, with braces around parts that would be read as several names."""
    if author.family:
        return ", ".join(map(_brace_name, filter(None, (author.family, author.given))))
    return _brace_name(author.name)


def _brace_name(name: str) -> str:
    needs_braces = "," in name or re.search(r"(?i)(?:^|\s)and(?:\s|$)", name)
    return f"{{{_escape_tex(name)}}}" if needs_braces else _escape_tex(name)


def _escape_verbatim(text: str) -> str:
    """Escape text for the fields that biblatex reads verbatim: doi, eprint, file and url.

    Text with balanced braces and no backslash is unchanged. Otherwise braces and backslashes, which
    some readers take for part of a brace, are percent-encoded. The DOI or address resolves to the
    same.
    """
    depth = 0
    for char in text:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            break
    if depth == 0 and "\\" not in text:
        return text
    return re.sub(r"[\\{}]", lambda match: quote(match[0]), text)


def _escape_tex(text: str) -> str:
    return re.sub(r"[\\{}~^%#$&_]", lambda match: _TEX_ESCAPES[match[0]], text)


# RIS


def _ris_lines(source: CitedSource) -> Iterator[str]:
    evidence = source.evidence
    published = _publication_date(evidence)
    yield f"TY  - {_ENTRY_TYPES[evidence.kind][2]}"
    fields = (
        ("ID", f"s{source.number}"),
        *(("AU", _author_name(author)) for author in _clean_authors(evidence)),
        ("TI", _source_title(evidence)),
        ("T2" if evidence.kind in _CONTAINED_KINDS else "PB", _publisher_or_host(evidence)),
        ("PY", published[:4]),
        ("DA", published.replace("-", "/") if evidence.published else ""),
        ("DO", _doi_of(evidence)),
        ("Y2", _access_date(evidence).isoformat().replace("-", "/")),
        ("UR", canonical_url(evidence.url)),
        ("LA", single_line(evidence.language)),
        ("N1", _source_note(evidence)),
    )
    yield from (f"{tag}  - {value}" for tag, value in fields if value)
    yield "ER  - "


def _author_name(author: Author) -> str:
    return author.name or ", ".join(filter(None, (author.family, author.given)))


# CSV


def _csv_row(source: CitedSource) -> list[str]:
    evidence = source.evidence
    return [
        str(source.number),
        evidence.kind,
        _source_title(evidence),
        single_line(evidence.publisher),
        canonical_url(evidence.url),
        _publication_date(evidence),
        to_utc(evidence.retrieved).isoformat(),
        single_line(evidence.language),
        "yes" if evidence.sample else "no",
        str(source.times),
        "; ".join(map(_author_name, _clean_authors(evidence))),
        _doi_of(evidence),
        evidence.notice,
    ]
