import pytest

from research.core.events import ignore_event
from research.core.records import Task
from research.sources.library.index import Library
from research.sources.library.retriever import LibraryRetriever


@pytest.fixture
def library(tmp_path):
    index = Library(tmp_path / "library.db")
    index.set_sample_enabled(False)
    yield index
    index.close()


def add(library, name, text):
    (added,) = library.add_files([(name, text.encode())])
    assert added.is_ok, added


def task(query, *subject):
    return Task(id="1.1", source="library", query=query, subject=subject)


async def test_passages_of_one_document_are_one_piece_of_evidence(library):
    lines = "\n\n".join(f"## Hall {n}\n\nHall {n} of the museum shows bronze." for n in range(3))
    add(library, "museum.md", f"# City Museum\n\n{lines}")
    finding = await LibraryRetriever(library).search(task("museum bronze"), ignore_event)
    assert finding.reason is None
    (evidence,) = finding.evidence
    assert len(evidence.passages) == 3
    assert evidence.title == "City Museum"
    assert all(p.text == library.document_text(1)[p.start : p.end] for p in evidence.passages)


async def test_two_documents_with_one_address_are_one_piece_of_evidence(library):
    for name, url in (("a", "https://example.org/x"), ("b", "http://example.org/x/#top")):
        add(
            library,
            f"{name}.md",
            f"---\nurl: {url}\n---\n# Title {name}\n\nThe {name} tower is tall.",
        )
    finding = await LibraryRetriever(library).search(task("tower"), ignore_event)
    (evidence,) = finding.evidence
    assert {passage.title for passage in evidence.passages} == {"Title a", "Title b"}


async def test_nothing_found_is_said_to_be_empty_and_not_to_have_failed(library):
    add(library, "a.md", "# A\n\nThe tower is tall.")
    finding = await LibraryRetriever(library).search(task("飞机"), ignore_event)
    assert (finding.reason, finding.evidence) == ("empty", ())


async def test_a_damaged_index_is_a_finding_with_a_reason(library, tmp_path):
    add(library, "a.md", "# A\n\nThe tower is tall.")
    library.close()
    for file in tmp_path.glob("library.db*"):
        file.write_bytes(b"not a database, but long enough to be looked at" * 200)
    finding = await LibraryRetriever(library).search(task("tower"), ignore_event)
    assert finding.reason == "unreachable"
    assert "damaged" in finding.message


async def test_the_number_of_passages_is_a_setting(library):
    body = "\n\n".join(f"## Part {n}\n\nThe tower has part {n}." for n in range(20))
    add(library, "a.md", f"# A\n\n{body}")
    for limit in (1, 5):
        finding = await LibraryRetriever(library, max_passages=limit).search(task("tower"), ignore_event)
        assert finding.passage_count == limit


def test_readiness_tells_own_documents_from_the_sample(library):
    source = LibraryRetriever(library)
    assert source.readiness().state == "missing"
    library.set_sample_enabled(True)
    assert source.readiness().state == "sample"
    add(library, "a.md", "# A\n\nThe tower is tall.")
    assert source.readiness().state == "live"
