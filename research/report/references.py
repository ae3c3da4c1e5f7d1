"""The cited sources for programs that manage references: CSL-JSON, BibTeX, RIS, and as a table.

CSL-JSON is that of citeproc (https://docs.citationstyles.org), BibTeX has the entry types of biblatex,
RIS its lines that end in CR LF. Nobody knows authors here, so none is named. What published a page or
an article is the site or the paper that it stands in. Texts are one line each. Knows cited sources;
writes no file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import writer
from datetime import date
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

from research.evidence.citations import CitedSource
from research.evidence.markup import encodable
from research.records import Evidence, EvidenceKind
from research.report.geo import NOT_XML, cell
from research.report.markdown import utc
from research.urls import canonical_url

# What a kind of evidence is in CSL, biblatex and RIS.
_TYPES: Mapping[EvidenceKind, tuple[str, str, str]] = {
    "web": ("webpage", "online", "ELEC"),
    "news": ("article-newspaper", "online", "NEWS"),
    "library": ("document", "misc", "GEN"),
    "place": ("webpage", "online", "ELEC"),
    "database": ("dataset", "dataset", "DATA"),
}
_CONTAINED = ("web", "news")  # kinds of evidence that stand in something larger
COLUMNS = (
    "number", "kind", "title", "publisher", "url", "published", "retrieved", "language", "sample", "times",
)  # fmt: skip
_ACTIVE = {
    "\\": r"\textbackslash{}", "{": r"\textbraceleft{}", "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{char: f"\\{char}" for char in "%#$&_"},
}  # fmt: skip


def csl_json(sources: Iterable[CitedSource]) -> str:
    """A list of items as in CSL-JSON, with the ids s1, s2 … by their numbers."""
    items = [_csl(source) for source in sources]
    return encodable(json.dumps(items, ensure_ascii=False, indent=2)) + "\n"


def bibtex(sources: Iterable[CitedSource], about: Sequence[str] = ()) -> str:
    """Entries for biblatex, with the keys s1, s2 …; `about` are the lines of a comment before them.

    What acts in TeX is written as what it shows. Braces are so too: a single one in a text would end
    or hold open the field, whatever stands before it.
    """
    comment = "".join(f"{_tex(_line(line)).replace('@', '(at)')}\n" for line in about)
    entries = [f"@comment{{\n{comment}}}\n"] if about else []
    return "\n".join([*entries, *(_entry(source) for source in sources)])


def ris(sources: Iterable[CitedSource]) -> str:
    """RIS records, one for each source."""
    return "".join(f"{line}\r\n" for source in sources for line in _record(source))


def sources_csv(sources: Iterable[CitedSource | Evidence]) -> str:
    """A table of sources, to be opened in a spreadsheet: see `research.report.geo.csv`.

    Of evidence that has no number in an answer, as of a whole conversation, that is left empty.
    """
    out = StringIO()
    table = writer(out)
    table.writerow(COLUMNS)
    table.writerows([cell(value) for value in _row(source)] for source in sources)
    return "\ufeff" + encodable(out.getvalue())


# What is known of a source


def _line(text: str) -> str:
    """A text on one line, without what neither XML nor a line can hold."""
    return " ".join(NOT_XML.sub("", encodable(text)).split())


def _title(evidence: Evidence) -> str:
    return _line(evidence.title) or canonical_url(evidence.url) or "Untitled"


def _publisher(evidence: Evidence) -> str:
    """Who published it, else where it stands."""
    host = "" if evidence.expires else urlsplit(canonical_url(evidence.url)).hostname or ""
    return _line(evidence.publisher) or host


def _accessed(evidence: Evidence) -> date:
    return utc(evidence.retrieved).date()


def _note(evidence: Evidence) -> str:
    """What else who cites it has to know."""
    place = evidence.place
    known = place is not None and abs(place.lng) <= 180 and abs(place.lat) <= 90
    facts = [
        "示例数据 / sample data" if evidence.sample else "",
        "the link expires after about 30 days" if evidence.expires else "",
        f"{place.lat:z.6f}, {place.lng:z.6f} (WGS-84)" if place and known else "",
        _line(place.address) if place else "",
        _line(evidence.locator) if evidence.kind == "database" else "",
        f"see also {canonical_url(evidence.also)}" if canonical_url(evidence.also) else "",
    ]
    return "; ".join(fact for fact in facts if fact)


# CSL-JSON


def _csl(source: CitedSource) -> dict[str, Any]:
    evidence = source.evidence
    publisher = _publisher(evidence)
    home = "container-title" if evidence.kind in _CONTAINED else "publisher"
    item = {
        "id": f"s{source.number}",
        "type": _TYPES[evidence.kind][0],
        "title": _title(evidence),
        home: publisher,
        "issued": _parts(evidence.published),
        "accessed": _parts(_accessed(evidence)),
        "URL": canonical_url(evidence.url),
        "language": _line(evidence.language),
        "note": _note(evidence),
    }
    return {name: value for name, value in item.items() if value}


def _parts(day: date | None) -> dict[str, Any] | None:
    return {"date-parts": [[day.year, day.month, day.day]]} if day else None


# BibTeX


def _entry(source: CitedSource) -> str:
    evidence = source.evidence
    publisher = _publisher(evidence)
    url = canonical_url(evidence.url)
    fields = {
        "title": f"{{{_tex(_title(evidence))}}}",  # the second braces keep capital letters
        "organization": f"{{{_tex(publisher)}}}" if publisher else "",  # … and a name whole
        "date": evidence.published.isoformat() if evidence.published else "",
        "url": url,  # verbatim in biblatex
        "urldate": _accessed(evidence).isoformat() if url else "",
        "langid": {"zh": "chinese", "en": "english"}.get(evidence.language.lower()[:2], ""),
        "note": _tex(_note(evidence)),
    }
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@{_TYPES[evidence.kind][1]}{{s{source.number},\n{''.join(lines)}}}\n"


def _tex(text: str) -> str:
    return re.sub(r"[\\{}~^%#$&_]", lambda match: _ACTIVE[match[0]], text)


# RIS


def _record(source: CitedSource) -> Iterator[str]:
    evidence = source.evidence
    published = evidence.published
    yield f"TY  - {_TYPES[evidence.kind][2]}"
    fields = (
        ("ID", f"s{source.number}"),
        ("TI", _title(evidence)),
        ("T2" if evidence.kind in _CONTAINED else "PB", _publisher(evidence)),
        ("PY", f"{published:%Y}".zfill(4) if published else ""),
        ("DA", published.isoformat().replace("-", "/") if published else ""),
        ("Y2", _accessed(evidence).isoformat().replace("-", "/")),
        ("UR", canonical_url(evidence.url)),
        ("LA", _line(evidence.language)),
        ("N1", _note(evidence)),
    )
    yield from (f"{tag}  - {value}" for tag, value in fields if value)
    yield "ER  - "


# The table


def _row(source: CitedSource | Evidence) -> list[str]:
    if isinstance(source, CitedSource):
        evidence, number, times = source.evidence, str(source.number), str(source.times)
    else:
        evidence, number, times = source, "", ""
    return [
        number,
        evidence.kind,
        _title(evidence),
        _line(evidence.publisher),
        canonical_url(evidence.url),
        evidence.published.isoformat() if evidence.published else "",
        utc(evidence.retrieved).isoformat(),
        _line(evidence.language),
        "yes" if evidence.sample else "no",
        times,
    ]
