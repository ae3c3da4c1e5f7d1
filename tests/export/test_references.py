"""References read back, by other people's readers, as what was cited."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import unquote

import bibtexparser
import pytest
import RISparser
import rispy
from hypothesis import given, settings
from hypothesis import strategies as st
from pybtex.database import parse_string

from research.citations.numbering import CitedSource
from research.core.records import Author, Evidence, EvidenceKind, Paper, Passage, Place, PublicationNotice
from research.core.urls import canonical_url
from research.export.bibliography import references_bibtex, references_csl_json, references_ris, sources_csv
from tests.export.test_markdown import HOSTILE
from tests.tables import each_row

NOW = datetime(2025, 3, 1, 23, 5, tzinfo=UTC)
KINDS: list[EvidenceKind] = ["web", "news", "library", "place", "database"]
TEXT = st.one_of(
    st.text(),
    st.text(st.sampled_from(list("{}\\%#$&_~^@\"',=()\n\r\t -1a宫"))),
    st.sampled_from(HOSTILE),
)
UNTEX = {
    r"\textbackslash{}": "\\", r"\textbraceleft{}": "{", r"\textbraceright{}": "}",
    r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", **{f"\\{c}": c for c in "%#$&_"},
}  # fmt: skip


def cited(number: int = 1, title: str = "Palace", **more: Any) -> CitedSource:
    fields: dict[str, Any] = {
        "id": f"e{number}", "kind": "web", "title": title, "retrieved": NOW,
        "passages": (Passage(id="p", text="x"),), "url": f"https://example.org/{number}_a%20b?c=~d",
    }  # fmt: skip
    return CitedSource(number=number, evidence=Evidence(**(fields | more)), times=2)


def flat(text: str) -> str:
    clean = re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)
    return " ".join(clean.split())


def untex(text: str) -> str:
    """What TeX shows, with every sign that is still active refused."""
    out = re.sub("|".join(map(re.escape, UNTEX)), lambda match: f"\0{UNTEX[match[0]]}", text)
    assert not re.search(r"(?<!\0)[\\{}%#$&_~^]", out), text
    return out.replace("\0", "")


def entries(text: str) -> list[Any]:
    library = bibtexparser.parse_string(text)
    assert not library.failed_blocks, text
    return library.entries


@pytest.mark.slow
@given(st.lists(st.tuples(TEXT, TEXT, st.sampled_from(KINDS)), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_whatever_a_title_is_bibtex_reads_back(items: list[tuple[str, str, EvidenceKind]]) -> None:
    sources = [cited(n, title, publisher=publisher, kind=kind) for n, (title, publisher, kind) in enumerate(items, 1)]
    read = entries(references_bibtex(sources, ["Made by } a model @x{ 5%", "line"]))
    assert [entry.key for entry in read] == [f"s{n}" for n in range(1, len(items) + 1)]
    others = parse_string(references_bibtex(sources), "bibtex").entries
    assert [*others] == [entry.key for entry in read]
    for entry, source, (title, publisher, _) in zip(read, sources, items, strict=True):
        fields = {field.key: field.value for field in entry.fields}
        shown = untex(fields["title"].removeprefix("{").removesuffix("}"))
        assert shown == (flat(title) or canonical_url(source.evidence.url))
        named = untex(fields["organization"].removeprefix("{").removesuffix("}"))
        assert named == (flat(publisher) or "example.org")
        assert "author" not in fields and "editor" not in fields
        assert fields["url"] == canonical_url(source.evidence.url)
        assert fields["urldate"] == "2025-03-01"


@given(st.lists(st.tuples(TEXT, TEXT, st.sampled_from(KINDS)), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_whatever_a_title_is_ris_reads_back(items: list[tuple[str, str, EvidenceKind]]) -> None:
    sources = [cited(n, title, publisher=publisher, kind=kind) for n, (title, publisher, kind) in enumerate(items, 1)]
    text = references_ris(sources)
    assert len(re.findall("\r\n", text)) == len(text.split("\n")) - 1
    read = rispy.loads(text.replace("\r\n", "\n"))
    assert [item["id"] for item in read] == [f"s{n}" for n in range(1, len(items) + 1)]
    others = list(RISparser.read(text.replace("\r\n", "\n").split("\n")))
    assert [item["id"] for item in others] == [item["id"] for item in read]
    assert [item["url"] for item in others] == [item["urls"][0] for item in read]
    for item, source, (title, publisher, kind) in zip(read, sources, items, strict=True):
        assert item["title"].strip() == flat(title) or not flat(title)
        name, other = ("secondary_title", "publisher")[:: 1 if kind in ("web", "news") else -1]
        assert item[name].strip() == (flat(publisher) or "example.org")
        assert other not in item and not any("author" in field for field in item)
        assert item["urls"] == [canonical_url(source.evidence.url)]


@given(st.lists(st.tuples(TEXT, TEXT, st.sampled_from(KINDS)), max_size=4))
def test_whatever_a_title_is_csl_reads_back(items: list[tuple[str, str, EvidenceKind]]) -> None:
    sources = [cited(n, title, publisher=publisher, kind=kind) for n, (title, publisher, kind) in enumerate(items, 1)]
    read = json.loads(references_csl_json(sources))
    for item, source, (title, publisher, kind) in zip(read, sources, items, strict=True):
        assert item["id"] == f"s{source.number}"
        assert item["title"] == (flat(title) or canonical_url(source.evidence.url))
        name, other = ("container-title", "publisher")[:: 1 if kind in ("web", "news") else -1]
        assert item[name] == (flat(publisher) or "example.org")
        assert other not in item and "author" not in item
        assert item["accessed"] == {"date-parts": [[2025, 3, 1]]}


@each_row(
    ("kind", "csl", "bib", "tag"),
    [
        ("web", "webpage", "@online", "ELEC"),
        ("news", "article-newspaper", "@online", "NEWS"),
        ("library", "document", "@misc", "GEN"),
        ("place", "webpage", "@online", "ELEC"),
        ("database", "dataset", "@dataset", "DATA"),
        ("paper", "article-journal", "@article", "JOUR"),
    ],
)
def test_each_kind_has_its_types(kind: EvidenceKind, csl: str, bib: str, tag: str) -> None:
    source = cited(kind=kind, published=date(2024, 5, 1), language="zh")
    (item,) = json.loads(references_csl_json([source]))
    assert (item["type"], item["issued"]) == (csl, {"date-parts": [[2024, 5, 1]]})
    assert references_bibtex([source]).startswith(f"{bib}{{s1,\n")
    assert "  date = {2024-05-01},\n" in references_bibtex([source])
    assert "  langid = {chinese},\n" in references_bibtex([source])
    assert references_ris([source]).startswith(f"TY  - {tag}\r\nID  - s1\r\n")
    assert "PY  - 2024\r\nDA  - 2024/05/01\r\nY2  - 2025/03/01\r\n" in references_ris([source])


def test_what_is_not_known_is_left_out() -> None:
    source = cited(kind="library", url="", title="Notes")
    (item,) = json.loads(references_csl_json([source]))
    assert set(item) == {"id", "type", "title", "accessed"}
    assert references_bibtex([source]) == "@misc{s1,\n  title = {{Notes}},\n}\n"
    assert "UR" not in references_ris([source])
    assert json.loads(references_csl_json([])) == [] and references_bibtex([]) == references_ris([]) == ""


def test_no_address_but_of_the_web_is_written() -> None:
    source = cited(url="javascript:alert(1)")
    for text in (
        references_csl_json([source]),
        references_bibtex([source]),
        references_ris([source]),
        sources_csv([source]).decode(),
    ):
        assert "javascript" not in text


def test_a_place_and_an_expiring_link_are_noted() -> None:
    place = Place(id="B1", name="Palace", lng=116.4, lat=39.9, provider="amap", address="Road 1")
    (item,) = json.loads(references_csl_json([cited(kind="place", place=place, expires=True, sample=True)]))
    assert item["note"] == (
        "示例数据 / sample data; the link expires after about 30 days; 39.900000, 116.400000 (WGS-84); Road 1"
    )
    nowhere = place.model_copy(update={"lng": float("nan")})
    (item,) = json.loads(references_csl_json([cited(kind="place", place=nowhere)]))
    assert item["note"] == "Road 1"


def test_the_table_of_sources_has_a_row_for_each() -> None:
    source = cited(title="=1+1", publisher="Press")
    lines = [*csv.reader(sources_csv([source]).decode().removeprefix("\ufeff").splitlines())]
    head, first = (dict(zip(lines[0], line, strict=True)) for line in lines)
    assert list(head)[:3] == ["number", "kind", "title"]
    assert (first["number"], first["times"], first["title"]) == ("1", "2", "'=1+1")
    assert first["publisher"] == "Press"


# Scholarly works

WORK = Paper(
    authors=(
        Author(family="van der Berg", given="Anna & Maria"),
        Author(name="Heather Piwowar"),
        Author(name="Research and Development Group, Inc."),
        Author(family="王", given="小明"),
    ),
    year=2018, venue="Journal of 100% {Open} Access", doi="10.1002/(sici)1097_a<b>", citation_count=7,
    citation_source="openalex",
)  # fmt: skip
NAMES = ["van der Berg, Anna & Maria", "Heather Piwowar", "Research and Development Group, Inc.", "王, 小明"]  # fmt: skip


def work(**more: Any) -> CitedSource:
    fields = {"kind": "paper", "publisher": WORK.venue, "paper": WORK, "language": "en"} | more
    return cited(1, "The state of OA", **fields)


def test_a_paper_has_its_authors_year_venue_and_doi_in_bibtex() -> None:
    text = references_bibtex([work()])
    (entry,) = entries(text)
    fields = {field.key: field.value for field in entry.fields}
    assert entry.entry_type == "article"
    assert fields["date"] == "2018" and "organization" not in fields
    assert untex(fields["journal"].removeprefix("{").removesuffix("}")) == WORK.venue
    assert fields["doi"] == WORK.doi
    people = parse_string(text, "bibtex").entries["s1"].persons["author"]
    assert [" ".join(p.prelast_names + p.last_names) for p in people] == [
        "van der Berg", "Piwowar", "{Research and Development Group, Inc.}", "王",
    ]  # fmt: skip
    assert untex(" ".join(people[0].first_names + people[0].middle_names)) == "Anna & Maria"


def test_a_paper_has_its_authors_year_venue_and_doi_in_ris_and_csl() -> None:
    (item,) = rispy.loads(references_ris([work()]).replace("\r\n", "\n"))
    assert item["type_of_reference"] == "JOUR"
    assert item["authors"] == NAMES
    assert (item["year"], item["secondary_title"], item["doi"]) == ("2018", WORK.venue, WORK.doi)
    assert "date" not in item
    (item,) = json.loads(references_csl_json([work(published=date(2018, 2, 13))]))
    assert item["type"] == "article-journal"
    assert item["author"] == [
        {"family": "van der Berg", "given": "Anna & Maria"},
        {"literal": "Heather Piwowar"},
        {"literal": "Research and Development Group, Inc."},
        {"family": "王", "given": "小明"},
    ]
    assert (item["container-title"], item["DOI"]) == (WORK.venue, WORK.doi)
    assert item["issued"] == {"date-parts": [[2018, 2, 13]]}
    (item,) = json.loads(references_csl_json([work()]))
    assert item["issued"] == {"date-parts": [[2018]]}


@pytest.mark.slow
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=3))
def test_whatever_the_authors_are_called_every_reader_gets_by(
    names: list[tuple[str, str, str]],
) -> None:
    authors = tuple(Author(family=f, given=g, name=n) for f, g, n in names)
    source = work(paper=WORK.model_copy(update={"authors": authors, "doi": "".join(sum(names, ()))}))
    (entry,) = entries(references_bibtex([source]))
    others = parse_string(references_bibtex([source]), "bibtex").entries["s1"]
    told = [one for f, g, n in names if (one := flat(n) or flat(f))]
    assert ("author" in {field.key for field in entry.fields}) == bool(told)
    assert len(others.persons.get("author", [])) == len(told)
    (item,) = rispy.loads(references_ris([source]).replace("\r\n", "\n"))
    assert len(item.get("authors", [])) == len(told)
    (item,) = json.loads(references_csl_json([source]))
    assert len(item.get("author", [])) == len(told)


@each_row(
    "doi",
    [
        "10.1000/a_b",
        "10.1000/50%_a#b&c$d~e^f",
        "10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
        "10.1000/{balanced}_{{x}}",
        '10.1000/a"b@c,d=e',
        "10.1000/故宫_1",
    ],
)
def test_a_doi_and_an_address_are_read_back_from_bibtex_as_they_are(doi: str) -> None:
    url = "https://example.org/a_b~c%20d?e=1&f=$g#/h_i"
    text = references_bibtex([work(url=url, paper=WORK.model_copy(update={"doi": doi}))])
    (entry,) = entries(text)
    other = parse_string(text, "bibtex").entries["s1"].fields
    assert (entry["doi"], other["doi"]) == (doi, doi)
    assert (entry["url"], other["url"]) == (url, url)
    assert entry["urldate"] == other["urldate"] == "2025-03-01"


@each_row(
    "doi",
    ["10.1000/a{b", "10.1000/a}b", "10.1000/}{", "10.1000/a\\", "10.1000/{\\}", "10.1000/\\{a}"],
)
def test_a_doi_that_would_break_its_field_is_percent_encoded(doi: str) -> None:
    text = references_bibtex([work(paper=WORK.model_copy(update={"doi": doi})), cited(2)])
    first, second = entries(text)
    others = parse_string(text, "bibtex").entries
    assert unquote(first["doi"]) == unquote(others["s1"].fields["doi"]) == doi
    assert (second.key, [*others]) == ("s2", ["s1", "s2"])


@each_row(
    ("notice", "said"), [("retracted", "RETRACTED"), ("corrected", "corrected"), ("concern", "concern")]
)  # fmt: skip
def test_what_became_of_a_paper_is_noted_everywhere(notice: PublicationNotice, said: str) -> None:
    source = work(notice=notice)
    (item,) = json.loads(references_csl_json([source]))
    assert said in item["note"]
    (entry,) = entries(references_bibtex([source]))
    assert said in entry["note"]
    assert f"N1  - {item['note']}" in references_ris([source])
    head, row = csv.reader(sources_csv([source]).decode().removeprefix("\ufeff").splitlines())
    told = dict(zip(head, row, strict=True))
    assert (told["notice"], told["doi"], told["published"]) == (notice, WORK.doi, "2018")
    assert told["authors"] == "; ".join(NAMES)
    assert "note" not in json.loads(references_csl_json([work()]))[0]
