"""The library: what is added is found, what is removed is gone, and a hit is the document's own text."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from research.sources.library import index, search
from research.sources.library.index import Library
from research.sources.library.prepare import AddResult, load_sample_files
from research.storage.sqlite_files import StoreError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.db"


@pytest.fixture
def library(path: Path) -> Iterator[Library]:
    """A library without the sample."""
    library = Library(path)
    library.set_sample_enabled(False)
    yield library
    checked(library, path)
    library.close()


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The sample library, for tests that only read."""
    library = Library(tmp_path_factory.mktemp("sample") / "library.db")
    yield library
    library.close()


def checked(library: Library, path: Path) -> None:
    """The index agrees with the passages, and each passage with its document."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("insert into words(words, rank) values('integrity-check', 1)")
        assert db.execute("pragma integrity_check").fetchall() == [("ok",)]
        orphans = [
            db.execute(f"select count(*) from {table} where document not in (select id from document)").fetchone()[0]
            for table in ("passage", "name", "alias")
        ]
    assert orphans == [0, 0, 0]


def put(library: Library, **documents: str) -> list[AddResult]:
    return list(library.add_files((f"{name}.md", text.encode()) for name, text in documents.items()))


def found(library: Library, query: str, *subject: str) -> list[str]:
    """Names of the documents of the hits, best first, without suffix."""
    hits = library.search(query, subject=subject)
    return list(dict.fromkeys(Path(hit.name).stem for hit in hits))


# Finding


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "门票",  # a word of two characters
        "遛娃",  # a word that no dictionary has
        "博物",  # a word inside a word
        "鼎",  # a single character
        "后母戊鼎",  # a name that the dictionary cuts in pieces
        "reservation",  # a stem
        "RESERVED",
        "café",
        "cafe",
        "3.5",
        "1500",
        "𠮷野家",  # beyond the basic plane
        "한국어",
    ],
)
def test_words_are_found_in_a_mixed_document(library: Library, query: str) -> None:
    put(
        library,
        one="# 游记\n\n周末遛娃去博物院看后母戊鼎，门票免费，步行3.5公里。𠮷野家在旁边，한국어 안내。",
        two="# Notes\n\nSeats at the Café are reserved for 1,500 guests.",
        other="# 其他\n\n这里什么也没有。Nothing at all.",
    )
    assert found(library, query) in (["one"], ["two"])


def test_the_passage_about_what_was_asked_comes_first(sample: Library) -> None:
    hit = sample.search("故宫博物院门票多少钱")[0]
    assert (hit.title, hit.heading) == ("故宫博物院", "门票与预约")
    assert "60元" in hit.text
    hit = sample.search("When does the Palace Museum open?")[0]
    assert (hit.title, hit.heading) == ("The Palace Museum", "Opening days")
    assert hit.url == "https://en.dpm.org.cn/"
    assert hit.published is not None
    assert hit.is_sample


def test_hits_come_best_first_and_at_most_as_many_as_asked_for(sample: Library) -> None:
    hits = sample.search("West Lake boats", limit=5)
    assert len(hits) == 5
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len({(hit.document_id, hit.start) for hit in hits}) == 5


def test_words_of_the_title_the_heading_and_the_opening_count_for_every_passage(
    library: Library,
) -> None:
    put(
        library,
        one="# Emperor's Mausoleum\n\nIt is known for the clay soldiers.\n\n## Tickets\n\nAdmission costs 120 yuan.",
        two="# Tower\n\nA tower by a river.\n\n## Tickets\n\nAdmission costs 40 yuan.",
    )
    for query in ("mausoleum admission", "soldiers admission"):
        assert library.search(query)[0].text == "Admission costs 120 yuan."


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        'tower AND river OR NOT "x',
        "NEAR(tower river, 5)",
        "tower* ^river",
        "-tower +river",
        "title_tokens : tower",
        "{body_tokens} : tower",
        "tower\x00river",
        "'; drop table tower; --",
        '""" tower',
        "(tower",
        "tower % _ \\",
    ],
)
def test_operators_in_a_query_are_words(library: Library, query: str) -> None:
    put(library, one="# Tower\n\nA tower by a river.")
    assert found(library, query) == ["one"]
    assert library.search("zebra", subject=(query,)) == []


@pytest.mark.parametrize("query", ["", "   ", "？！…", "😀", "the of and", "的了吗", "zebra"])
def test_a_query_without_any_known_word_finds_nothing(library: Library, query: str) -> None:
    put(library, one="# Tower\n\nThe tower of and by a river. 的塔。")
    assert library.search(query) == []


def test_a_word_that_all_passages_have_is_looked_for_only_where_there_is_no_other(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(library, **{f"d{n}": f"# Place {n}\n\nThe tower has item{n} here." for n in range(10)})
    assert len(found(library, "tower item7")) == 8
    assert found(library, "tower item7")[0] == "d7"
    monkeypatch.setattr(search, "COMMON_WORD_MIN_PASSAGES", 5)
    assert found(library, "tower item7") == ["d7"]
    assert len(found(library, "tower")) == 8


def test_a_word_that_nothing_has_takes_nothing_from_the_others(library: Library) -> None:
    put(library, one="# Tower\n\nA tower.")
    assert found(library, "tower zebra 斑马") == ["one"]


def test_a_query_of_many_frequent_words_keeps_the_rarest(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MAX_OCCURRENCES", 10)
    put(library, **{f"d{n}": f"# P{n}\n\nalpha beta gamma delta epsilon zeta{n}." for n in range(9)})
    assert found(library, "alpha beta gamma delta epsilon zeta7")[0] == "d7"


# Subjects


SUBJECTS = {
    "west": "# West Lake\n\nWest Lake (西湖) is a lake in Hangzhou.\n\n## Tickets\n\nTickets are free.",
    "east": "# East Lake\n\nEast Lake lies west of Wuhan.\n\n## Tickets\n\nTickets cost 60 yuan.",
    "palace": "# Palace\n\nThe Palace has a shop that sells tickets for boats on the lake in the west.",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "names"),
    [
        (("West Lake",), ["west", "east", "palace"]),
        (("西湖",), ["west"]),
        (("西湖", "Palace"), ["west", "palace"]),
        (("Nowhere", "East Lake Wuhan"), ["east"]),
        (("Nowhere",), []),
        (("😀",), []),
        (("",), ["east", "palace", "west"]),
        ((), ["east", "palace", "west"]),
    ],
)
def test_with_a_subject_each_hit_has_all_words_of_one_of_its_names(
    library: Library, subject: Sequence[str], names: list[str]
) -> None:
    put(library, **SUBJECTS)
    assert sorted(found(library, "tickets", *subject)) == sorted(names)


def test_a_subject_without_a_query_finds_all_about_it(library: Library) -> None:
    put(library, **SUBJECTS)
    assert found(library, "", "西湖") == ["west"]
    assert found(library, "西湖", "西湖") == ["west"]


# Adding, replacing, removing


def test_a_changed_file_replaces_what_it_said_before(library: Library) -> None:
    assert put(library, one="# Tower\n\nIt is 70 metres high, say zebras.")[0].outcome == "added"
    before = library.list_all()[0]
    assert put(library, one="# Spire\n\nIt is 80 metres high, say yaks.")[0].outcome == "replaced"
    assert found(library, "zebras") == []
    assert found(library, "tower") == []
    assert found(library, "yaks") == ["one"]
    assert library.find_names("Tower or Spire") == ["Spire"]
    entries = library.list_all()
    assert [entry.title for entry in entries] == ["Spire"]
    assert library.document_text(before.id) in ("", library.document_text(entries[0].id))


def test_an_unchanged_file_is_left_alone(library: Library) -> None:
    put(library, one="# Tower\n\nA tower.")
    before = library.list_all()
    again = put(library, one="# Tower\n\nA tower.")
    assert [(a.outcome, a.is_ok) for a in again] == [("unchanged", True)]
    assert library.list_all() == before


def test_a_removed_document_is_gone_with_its_names(library: Library, path: Path) -> None:
    put(library, **SUBJECTS)
    library.remove([entry.id for entry in library.list_all() if entry.name == "west.md"] + [99])
    assert found(library, "西湖") == []
    assert library.aliases("West Lake") == []
    assert library.find_names("西湖 and West Lake") == []
    assert sorted(found(library, "tickets")) == ["east", "palace"]


def test_a_file_that_cannot_be_read_harms_no_other_of_its_batch(library: Library) -> None:
    files = [
        ("good.md", b"# Tower\n\nA tower."),
        ("bad.pdf", b"%PDF-1.7 this is none"),
        ("empty.txt", b"  \n"),
        ("strange.xyz", b"zebra"),
        ("bad.docx", b"PK\x03\x04 this is none"),
        (os.fsdecode(b"\xff\xfe.md"), b"# Spire\n\nA spire."),
        ("last.md", b"# Bridge\n\nA bridge."),
    ]
    outcomes = list(library.add_files(files))
    assert [outcome.outcome for outcome in outcomes] == [
        "added", "unreadable", "empty", "unsupported", "unreadable", "added", "added",
    ]  # fmt: skip
    assert all(bool(outcome.detail) != outcome.is_ok for outcome in outcomes)
    assert all("\n" not in outcome.detail for outcome in outcomes)
    for word in ("tower", "spire", "bridge"):
        assert len(found(library, word)) == 1


def test_a_file_that_went_bad_leaves_its_last_good_content(library: Library) -> None:
    put(library, one="# Tower\n\nA tower.")
    assert put(library, one="")[0].outcome == "empty"
    assert found(library, "tower") == ["one"]


def test_batches_are_added_in_order_and_as_they_come(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MAX_BATCH_DOCUMENTS", 3)
    taken: list[int] = []

    def files() -> Iterator[tuple[str, bytes]]:
        for n in range(8):
            taken.append(n)
            yield f"{n}.md", f"# Place {n}\n\nAbout item{n}.".encode()

    outcomes = library.add_files(files())
    assert next(outcomes).name == "0.md"
    assert len(taken) == 6  # one batch is read ahead
    assert [outcome.name for outcome in outcomes] == [f"{n}.md" for n in range(1, 8)]
    assert len(library.list_all()) == 8


def test_whole_folders_are_added_by_path(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "塔.md").write_text("# 望云塔\n\n望云塔高77米。", encoding="utf-8")
    (folder / "deep" / "b.txt").write_text("A bridge.", encoding="utf-8")
    (folder / ".hidden.md").write_text("zebra", encoding="utf-8")
    (folder / "song.mp3").write_bytes(b"zebra")
    paths = [folder, tmp_path / "gone.md", Path("bad\0name.md"), folder / "塔.md"]
    outcomes = [(Path(a.name).name, a.outcome) for a in library.add_paths(paths)]
    assert outcomes[:2] == [("b.txt", "added"), ("塔.md", "added")]
    assert outcomes[2] == ("gone.md", "unreadable")
    assert outcomes[3][1] == "unreadable"
    assert outcomes[4] == ("塔.md", "unchanged")
    assert found(library, "望云塔") == ["塔"]
    assert found(library, "zebra") == []


def test_an_entry_says_what_the_library_has(library: Library) -> None:
    put(
        library,
        one="---\nurl: https://example.org/\nas_of: 2025-10-01\n---\n# 望云塔\n\n塔高77米。",
    )
    [entry] = library.list_all()
    assert (entry.name, entry.title, entry.url) == ("one.md", "望云塔", "https://example.org/")
    assert (entry.language, entry.is_sample, entry.passage_count) == ("zh", False, 1)
    assert entry.published is not None
    assert entry.character_count == len(library.document_text(entry.id))
    assert library.languages() == {"zh"}


# The sample


def test_the_sample_goes_and_comes_at_once_and_lastingly(path: Path) -> None:
    library = Library(path)
    put(library, own="# Palace Museum copy\n\nMy own notes on the Palace Museum.")
    everything = len(library.list_all())
    assert everything == len(load_sample_files()) + 1
    library.set_sample_enabled(False)
    assert not library.is_sample_enabled
    assert found(library, "Palace Museum") == ["own"]
    library.close()

    library = Library(path)
    assert not library.is_sample_enabled
    assert len(library.list_all()) == 1
    other = Library(path)
    other.set_sample_enabled(True)
    assert library.is_sample_enabled
    assert len(library.list_all()) == everything
    assert "en-palace-museum" in found(library, "Palace Museum")
    checked(library, path)
    other.close()
    library.close()


def test_the_sample_stays_off_in_another_process(path: Path) -> None:
    library = Library(path)
    library.set_sample_enabled(False)
    script = (
        "import sys; from pathlib import Path; from research.sources.library.index import Library; "
        "library = Library(Path(sys.argv[1])); print(library.is_sample_enabled, len(library.list_all()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["False", "0"]
    assert library.list_all() == []
    library.close()


def test_opening_an_unchanged_library_writes_nothing(path: Path) -> None:
    Library(path).close()
    with closing(sqlite3.connect(path)) as db:
        before = db.execute("select value from meta where key='generation'").fetchone()
    Library(path).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("select value from meta where key='generation'").fetchone() == before


def test_a_sample_document_that_changed_is_renewed_and_an_outdated_one_goes(path: Path) -> None:
    Library(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("update document set sha256='old' where name='sample/zh-beijing.md'")
        db.execute("update document set name='sample/gone.md' where name='sample/zh-xian.md'")
        db.commit()
    library = Library(path)
    names = {entry.name for entry in library.list_all()}
    assert names == {name for name, _ in load_sample_files()}
    checked(library, path)
    library.close()


def test_a_document_of_the_analyst_is_never_replaced_by_the_sample(path: Path) -> None:
    library = Library(path)
    name = load_sample_files()[0][0]
    list(library.add_files([(name, b"# Mine\n\nMy own words.")]))
    library.close()
    library = Library(path)
    [mine] = [entry for entry in library.list_all() if entry.name == name]
    assert (mine.title, mine.is_sample) == ("Mine", False)
    library.close()


# Names


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("故宫博物院门票多少钱", ["故宫博物院"]),
        ("Is the Forbidden City open on Mondays?", ["Forbidden City"]),
        ("the SUMMER PALACE’s history and west lake", ["Summer Palace", "West Lake"]),
        ("what time is it", []),
        ("", []),
    ],
)
def test_names_that_documents_know_are_seen_in_a_question(sample: Library, question: str, names: list[str]) -> None:
    assert set(names) <= set(sample.find_names(question))
    assert bool(names) == bool(sample.find_names(question))


def test_the_longest_name_comes_first(sample: Library) -> None:
    names = sample.find_names("The Badaling Great Wall and the Great Wall")
    assert [len(name) for name in names] == sorted((len(name) for name in names), reverse=True)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("故宫博物院", "Palace Museum"),
        ("Palace Museum", "故宫博物院"),
        ("Palace Museum", "Forbidden City"),
        ("the forbidden city", "Palace Museum"),
        ("Forbidden City", "故宫博物院"),
        ("紫禁城", "Forbidden City"),
        ("西湖", "West Lake"),
    ],
)
def test_other_names_of_the_same_thing_are_known_both_ways(sample: Library, name: str, other: str) -> None:
    assert other in sample.aliases(name)
    assert name not in sample.aliases(name)


def test_a_name_that_no_document_explains_has_no_other_names(sample: Library) -> None:
    assert sample.aliases("Atlantis") == []
    assert sample.aliases("") == []


# Statistics


def test_a_rare_word_tells_more_than_a_frequent_one_and_a_stop_word_nothing(
    sample: Library,
) -> None:
    assert sample.idf("zebra") > sample.idf("toboggan") > sample.idf("palac") > sample.idf("the")
    assert sample.frequency("zebra") == 0
    assert sample.frequency("zebra") == 0 and sample.frequency("palac") and sample.frequency("the")


def test_statistics_follow_the_changes_of_other_connections(library: Library, path: Path) -> None:
    put(library, one="# Tower\n\nA tower.")
    assert library.frequency("tower") == 1
    before = library.idf("bridg")
    other = Library(path)
    put(other, two="# Tower Bridge\n\nA tower and a bridge.", three="# Spire\n\nA spire.")
    assert library.frequency("tower") == 2
    assert library.frequency("bridg") == 1
    assert library.idf("bridg") != before
    other.remove([entry.id for entry in other.list_all()])
    assert library.frequency("tower") == 0
    other.close()


# Several at once


def test_two_threads_add_while_another_searches(library: Library) -> None:
    put(library, base="# Tower\n\nThe first tower.")
    errors: list[Exception] = []
    done = threading.Event()
    seen: list[int] = []

    def adds(start: int) -> None:
        try:
            for n in range(start, start + 15):
                put(library, **{f"d{n}": f"# Place {n}\n\nThe tower of item{n}."})
        except Exception as error:  # noqa: BLE001 - told below, in the test's own thread
            errors.append(error)

    def searches() -> None:
        try:
            while not done.is_set():
                hits = library.search("tower", limit=50)
                assert all(library.document_text(h.document_id)[h.start : h.end] == h.text for h in hits)
                seen.append(len(hits))
        except Exception as error:  # noqa: BLE001 - told below, in the test's own thread
            errors.append(error)

    adders = [threading.Thread(target=adds, args=(start,)) for start in (100, 200)]
    searcher = threading.Thread(target=searches)
    for thread in (*adders, searcher):
        thread.start()
    for thread in adders:
        thread.join(60)
    done.set()
    searcher.join(60)
    assert errors == []
    assert seen == sorted(seen)
    assert len(library.search("tower", limit=50)) == 31


def test_a_file_that_is_no_library_is_refused_and_left_alone(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)
    with pytest.raises(StoreError) as caught:
        Library(path)
    assert caught.value.problem == "corrupt"
    assert path.read_bytes() == b"this is no database" * 500


# A hit is the document's own text

WORDS = st.one_of(
    st.sampled_from(["tower", "望云塔", "𠮷野家", "😀", "👨\u200d👩\u200d👧", "café", "3.5", "门票"]),
    st.sampled_from(["\u0301", "ＡＢＣ", "１２", "…", "。", "!", "\t", "\u3000"]),
    st.sampled_from(["<b>", "**x**", "|", "#", "-", "[a](b)", "$x$"]),
)
TEXTS = st.lists(
    st.lists(WORDS, max_size=60).map(" ".join), min_size=1, max_size=6
).map("\n\n".join)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["md", "txt", "csv", "html"]), TEXTS), max_size=4))
def test_the_text_of_a_hit_is_the_documents_text_from_its_start_to_its_end(
    library: Library, path: Path, texts: list[tuple[str, str]]
) -> None:
    library.remove([entry.id for entry in library.list_all()])
    for number, (suffix, text) in enumerate(texts):
        list(library.add_files([(f"{number}.{suffix}", f"tower 望云塔 {text}".encode())]))
    hits = library.search("tower 望云塔 𠮷野家 门票", limit=100)
    for hit in hits:
        text = library.document_text(hit.document_id)
        assert hit.text == text[hit.start : hit.end]
        assert hit.text == hit.text.strip() != ""
        assert text.startswith(hit.opening)
    assert bool(hits) == bool(library.list_all())
    checked(library, path)


# Both scripts of Chinese

WRITTEN = {
    "traditional.md": "# 頤和園\n\n頤和園又稱夏宮。\n\n## 門票\n\n頤和園旺季門票30元。\n",
    "simplified.md": "# 雷峰塔\n\n雷峰塔又称西关砖塔。\n\n## 门票\n\n雷峰塔成人票40元。\n",
}


@pytest.mark.parametrize(
    ("query", "name", "said"),
    [
        ("颐和园旺季门票", "traditional.md", "頤和園旺季門票30元"),
        ("頤和園旺季門票", "traditional.md", "頤和園旺季門票30元"),
        ("雷峰塔的成人門票", "simplified.md", "雷峰塔成人票40元"),
    ],
)
def test_documents_are_found_in_either_script_and_stay_as_they_are_written(
    library: Library, query: str, name: str, said: str
) -> None:
    assert all(item.is_ok for item in library.add_files((name, text.encode()) for name, text in WRITTEN.items()))
    hit = library.search(query)[0]
    assert hit.name == name
    assert said in hit.text
    assert hit.text == library.document_text(hit.document_id)[hit.start : hit.end]


def test_names_are_known_in_either_script_and_stay_as_they_are_written(library: Library) -> None:
    list(library.add_files((name, text.encode()) for name, text in WRITTEN.items()))
    assert library.find_names("颐和园和雷峰塔的門票")[:2] == ["雷峰塔", "頤和園"]
    assert library.aliases("颐和园") == ["夏宮"]
    assert library.find_names("西關磚塔") == ["西关砖塔"]


def test_documents_that_were_indexed_before_are_found_in_either_script_too(path: Path) -> None:
    before = Library(path)
    before.set_sample_enabled(False)
    files = {**WRITTEN, "removed.md": "# 大門\n\n大門朝南。\n"}
    list(before.add_files((name, text.encode()) for name, text in files.items()))
    ids = {entry.name: entry.id for entry in before.list_all()}
    before.remove([ids["removed.md"]])
    kept = {name: before.list_excerpts(ids[name]) for name in WRITTEN}
    before.close()
    as_before(path)
    library = Library(path)
    assert library.search("颐和园旺季门票")[0].name == "traditional.md"
    assert library.find_names("颐和园") == ["頤和園"]
    assert library.aliases("颐和园") == ["夏宮"]
    assert {name: library.list_excerpts(ids[name]) for name in WRITTEN} == kept
    library.restore([ids["removed.md"]])
    assert library.search("大门")[0].name == "removed.md"
    checked(library, path)
    library.close()


def as_before(path: Path) -> None:
    """Makes an index as it was while words were taken as they are written."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma user_version=3")
        for name in ("original", "scan_page", "bin_original", "bin_scan_page"):
            db.execute(f"drop table {name}")
        db.execute("alter table unread drop column pages")
        db.execute("alter table unread drop column content")
        db.execute("pragma foreign_keys=on")
        for kind in ("", "bin_"):
            db.execute(f"alter table {kind}passage drop column last_page")
            rows = db.execute(f"select * from {kind}passage").fetchall()
            assert rows
            db.execute(f"delete from {kind}passage")
            for row in rows:
                text = "" if "雷" in row[-3] else "頤和 大門"
                words = row[-3:] if not text else (text, text, text)
                marks = ",".join("?" * len(row))
                db.execute(f"insert into {kind}passage values({marks})", (*row[:-3], *words))
            db.execute(f"update {kind}name set key=name")
            db.execute(f"delete from {kind}alias where name like '%頤%' or other like '%頤%'")
        db.commit()
