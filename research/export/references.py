"""The cited sources for programs that manage references: CSL-JSON, BibTeX, RIS, and as a table.

CSL-JSON is that of citeproc (https://docs.citationstyles.org), BibTeX has the entry types of biblatex,
RIS its lines that end in CR LF. Authors are known of scholarly works alone, and named as a catalogue gives
them. What published a page or an article is the site or the paper that it stands in. Texts are one line each. Knows cited sources;
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
from urllib.parse import quote, urlsplit

from research.citations.markup import encodable
from research.citations.numbering import CitedSource
from research.core.records import Author, Evidence, EvidenceKind, Notice
from research.core.urls import canonical_url
from research.export.geo import NOT_XML, cell
from research.export.markdown import utc

# What a kind of evidence is in CSL, biblatex and RIS.
_TYPES: Mapping[EvidenceKind, tuple[str, str, str]] = {
    "web": ("webpage", "online", "ELEC"),
    "news": ("article-newspaper", "online", "NEWS"),
    "library": ("document", "misc", "GEN"),
    "place": ("webpage", "online", "ELEC"),
    "database": ("dataset", "dataset", "DATA"),
    "paper": ("article-journal", "article", "JOUR"),
}
_CONTAINED = ("web", "news", "paper")  # kinds of evidence that stand in something larger
COLUMNS = (
    "number", "kind", "title", "publisher", "url", "published", "retrieved", "language", "sample", "times",
    "authors", "doi", "notice",
)  # fmt: skip
_NOTICES: Mapping[Notice, str] = {
    "": "",
    "corrected": "发表后有更正 / corrected since it was published",
    "concern": "出版方已表达关注 / expression of concern by its publisher",
    "retracted": "已撤稿 / RETRACTED",
}
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

    What acts in TeX is written as what it shows, save in a DOI and an address, which are read as they
    stand. Braces are so too: a single one in a text would end or hold open the field, whatever stands
    before it.
    """
    comment = "".join(f"{_tex(_line(line)).replace('@', '(at)')}\n" for line in about)
    entries = [f"@comment{{\n{comment}}}\n"] if about else []
    return "\n".join([*entries, *(_entry(source) for source in sources)])


def ris(sources: Iterable[CitedSource]) -> str:
    """RIS records, one for each source."""
    return "".join(f"{line}\r\n" for source in sources for line in _record(source))


def sources_csv(sources: Iterable[CitedSource | Evidence]) -> str:
    """A table of sources, to be opened in a spreadsheet: see `research.export.geo.csv`.

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
    """Who published it, else where it stands; a DOI does not tell where a paper stands."""
    host = (
        ""
        if evidence.expires or evidence.kind == "paper"
        else urlsplit(canonical_url(evidence.url)).hostname or ""
    )
    return _line(evidence.publisher) or host


def _accessed(evidence: Evidence) -> date:
    return utc(evidence.retrieved).date()


def _date(evidence: Evidence) -> str:
    """The day of its publication, or the year alone: 2018-02-13."""
    if evidence.published:
        return evidence.published.isoformat()
    return f"{evidence.paper.year:04}" if evidence.paper and evidence.paper.year else ""


def _authors(evidence: Evidence) -> tuple[Author, ...]:
    """Those who have a name on one line."""
    parts = evidence.paper.authors if evidence.paper else ()
    lines = (
        Author(family=_line(a.family), given=_line(a.given), name=_line(a.name)) for a in parts
    )
    return tuple(one for one in lines if one.name or one.family)


def _doi(evidence: Evidence) -> str:
    return _line(evidence.paper.doi) if evidence.paper else ""


def _note(evidence: Evidence) -> str:
    """What else who cites it has to know."""
    place = evidence.place
    known = place is not None and abs(place.lng) <= 180 and abs(place.lat) <= 90
    facts = [
        _NOTICES[evidence.notice],
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
        "author": [_person(one) for one in _authors(evidence)],
        home: publisher,
        "issued": _parts(_date(evidence)),
        "accessed": _parts(_accessed(evidence).isoformat()),
        "DOI": _doi(evidence),
        "URL": canonical_url(evidence.url),
        "language": _line(evidence.language),
        "note": _note(evidence),
    }
    return {name: value for name, value in item.items() if value}


def _person(author: Author) -> dict[str, str]:
    if author.name:
        return {"literal": author.name}
    return {k: v for k, v in (("family", author.family), ("given", author.given)) if v}


def _parts(day: str) -> dict[str, Any] | None:
    return {"date-parts": [[int(part) for part in day.split("-")]]} if day else None


# BibTeX


def _entry(source: CitedSource) -> str:
    evidence = source.evidence
    publisher = _publisher(evidence)
    url = canonical_url(evidence.url)
    home = "journal" if evidence.kind == "paper" else "organization"
    fields = {
        "title": f"{{{_tex(_title(evidence))}}}",  # the second braces keep capital letters
        "author": " and ".join(map(_called, _authors(evidence))),
        home: f"{{{_tex(publisher)}}}" if publisher else "",  # … and a name whole
        "date": _date(evidence),
        "doi": _verbatim(_doi(evidence)),
        "url": _verbatim(url),
        "urldate": _accessed(evidence).isoformat() if url else "",
        "langid": {"zh": "chinese", "en": "english"}.get(evidence.language.lower()[:2], ""),
        "note": _tex(_note(evidence)),
    }
    lines = [f"  {name} = {{{value}}},\n" for name, value in fields.items() if value]
    return f"@{_TYPES[evidence.kind][1]}{{s{source.number},\n{''.join(lines)}}}\n"


def _called(author: Author) -> str:
    """A name for BibTeX: what would be read as several names, or as parts of one, is held together."""
    if author.family:
        return ", ".join(map(_held, filter(None, (author.family, author.given))))
    return _held(author.name)


def _held(name: str) -> str:
    apart = "," in name or re.search(r"(?i)(?:^|\s)and(?:\s|$)", name)
    return f"{{{_tex(name)}}}" if apart else _tex(name)


def _verbatim(text: str) -> str:
    """Text for a field that biblatex reads without TeX: doi, eprint, file or url.

    Nothing is escaped there but what would end or hold open the field: braces that have no partner
    and backslashes, which some readers take for part of a brace. Those are percent-encoded, which
    resolves to the same in a DOI and in an address.
    """
    depth = 0
    for char in text:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth < 0:
            break
    if depth == 0 and "\\" not in text:
        return text
    return re.sub(r"[\\{}]", lambda match: quote(match[0]), text)


def _tex(text: str) -> str:
    return re.sub(r"[\\{}~^%#$&_]", lambda match: _ACTIVE[match[0]], text)


# RIS


def _record(source: CitedSource) -> Iterator[str]:
    evidence = source.evidence
    published = _date(evidence)
    yield f"TY  - {_TYPES[evidence.kind][2]}"
    fields = (
        ("ID", f"s{source.number}"),
        *(("AU", _listed(one)) for one in _authors(evidence)),
        ("TI", _title(evidence)),
        ("T2" if evidence.kind in _CONTAINED else "PB", _publisher(evidence)),
        ("PY", published[:4]),
        ("DA", published.replace("-", "/") if evidence.published else ""),
        ("DO", _doi(evidence)),
        ("Y2", _accessed(evidence).isoformat().replace("-", "/")),
        ("UR", canonical_url(evidence.url)),
        ("LA", _line(evidence.language)),
        ("N1", _note(evidence)),
    )
    yield from (f"{tag}  - {value}" for tag, value in fields if value)
    yield "ER  - "


def _listed(author: Author) -> str:
    return author.name or ", ".join(filter(None, (author.family, author.given)))


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
        _date(evidence),
        utc(evidence.retrieved).isoformat(),
        _line(evidence.language),
        "yes" if evidence.sample else "no",
        times,
        "; ".join(map(_listed, _authors(evidence))),
        _doi(evidence),
        evidence.notice,
    ]
