"""References read back, by other people's readers, as what was cited."""

from __future__ import annotations

import csv
import json
import re
from datetime import UTC, date, datetime
from typing import Any

import bibtexparser
import pytest
import RISparser
import rispy
from hypothesis import given, settings
from hypothesis import strategies as st
from pybtex.database import parse_string

from research.evidence.citations import CitedSource
from research.records import Evidence, EvidenceKind, Passage, Place
from research.report.references import bibtex, csl_json, ris, sources_csv
from research.urls import canonical_url
from tests.report.test_markdown import HOSTILE
from tests.tables import each_row

pytestmark = pytest.mark.slow

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


@given(st.lists(st.tuples(TEXT, TEXT, st.sampled_from(KINDS)), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_whatever_a_title_is_bibtex_reads_back(items: list[tuple[str, str, EvidenceKind]]) -> None:
    sources = [
        cited(n, title, publisher=publisher, kind=kind)
        for n, (title, publisher, kind) in enumerate(items, 1)
    ]
    read = entries(bibtex(sources, ["Made by } a model @x{ 5%", "line"]))
    assert [entry.key for entry in read] == [f"s{n}" for n in range(1, len(items) + 1)]
    others = parse_string(bibtex(sources), "bibtex").entries
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
    sources = [
        cited(n, title, publisher=publisher, kind=kind)
        for n, (title, publisher, kind) in enumerate(items, 1)
    ]
    text = ris(sources)
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
    sources = [
        cited(n, title, publisher=publisher, kind=kind)
        for n, (title, publisher, kind) in enumerate(items, 1)
    ]
    read = json.loads(csl_json(sources))
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
    ],
)
def test_each_kind_has_its_types(kind: EvidenceKind, csl: str, bib: str, tag: str) -> None:
    source = cited(kind=kind, published=date(2024, 5, 1), language="zh")
    (item,) = json.loads(csl_json([source]))
    assert (item["type"], item["issued"]) == (csl, {"date-parts": [[2024, 5, 1]]})
    assert bibtex([source]).startswith(f"{bib}{{s1,\n")
    assert "  date = {2024-05-01},\n" in bibtex([source])
    assert "  langid = {chinese},\n" in bibtex([source])
    assert ris([source]).startswith(f"TY  - {tag}\r\nID  - s1\r\n")
    assert "PY  - 2024\r\nDA  - 2024/05/01\r\nY2  - 2025/03/01\r\n" in ris([source])


def test_what_is_not_known_is_left_out() -> None:
    source = cited(kind="library", url="", title="Notes")
    (item,) = json.loads(csl_json([source]))
    assert set(item) == {"id", "type", "title", "accessed"}
    assert bibtex([source]) == "@misc{s1,\n  title = {{Notes}},\n}\n"
    assert "UR" not in ris([source])
    assert json.loads(csl_json([])) == [] and bibtex([]) == ris([]) == ""


def test_no_address_but_of_the_web_is_written() -> None:
    source = cited(url="javascript:alert(1)")
    for text in (csl_json([source]), bibtex([source]), ris([source]), sources_csv([source])):
        assert "javascript" not in text


def test_a_place_and_an_expiring_link_are_noted() -> None:
    place = Place(id="B1", name="Palace", lng=116.4, lat=39.9, provider="amap", address="Road 1")
    (item,) = json.loads(csl_json([cited(kind="place", place=place, expires=True, sample=True)]))
    assert item["note"] == (
        "示例数据 / sample data; the link expires after about 30 days; "
        "39.900000, 116.400000 (WGS-84); Road 1"
    )
    nowhere = place.model_copy(update={"lng": float("nan")})
    (item,) = json.loads(csl_json([cited(kind="place", place=nowhere)]))
    assert item["note"] == "Road 1"


def test_the_table_of_sources_takes_what_no_answer_cites_too() -> None:
    source = cited(title="=1+1", publisher="Press")
    lines = [
        *csv.reader(sources_csv([source, source.evidence]).removeprefix("\ufeff").splitlines())
    ]
    head, first, second = (dict(zip(lines[0], line, strict=True)) for line in lines)
    assert list(head)[:3] == ["number", "kind", "title"]
    assert (first["number"], first["times"], first["title"]) == ("1", "2", "'=1+1")
    assert (second["number"], second["times"], second["publisher"]) == ("", "", "Press")
