"""What counts as one source, and what the registry keeps of it."""

from datetime import UTC, date, datetime
from itertools import permutations

from research.citations.registry import EvidenceRegistry, collect_evidence, evidence_id
from research.core.records import Evidence, Finding, Passage, Task, fingerprint

EARLY = datetime(2025, 3, 1, 8, tzinfo=UTC)
LATE = datetime(2025, 3, 2, 8, tzinfo=UTC)


def web(url: str, **more: object) -> Evidence:
    values = {"id": "given", "kind": "web", "title": "T", "url": url, "retrieved": EARLY, **more}
    return Evidence.model_validate(values)


def test_an_id_comes_from_the_address_and_else_from_kind_and_locator() -> None:
    assert evidence_id("web", "http://example.org/", "x") == "e" + fingerprint("example.org")
    assert evidence_id("news", "https://example.org", "") == "e" + fingerprint("example.org")
    assert evidence_id("library", "", "a.pdf") == "e" + fingerprint("library", "a.pdf")
    assert evidence_id("web", "javascript:x", "a.pdf") == "e" + fingerprint("web", "a.pdf")


def test_the_id_of_a_source_is_the_same_with_www_and_without() -> None:
    assert evidence_id("web", "http://www.example.com/a", "") == evidence_id("news", "https://example.com/a/", "")


def test_evidence_of_one_address_is_united() -> None:
    registry = EvidenceRegistry()
    one, two, three = (Passage(id=name, text=name) for name in ("one", "two", "three"))
    registry.add(web("http://example.org/a", title="", retrieved=LATE, passages=(one, two)))
    registered = registry.add(
        web(
            "https://example.org/a/?utm_source=x",
            kind="news",
            title="Later",
            publisher="P",
            sample=True,
            published=date(2024, 5, 1),
            passages=(two, three, three),
        )
    )
    assert list(registry) == [registered]
    assert registered == Evidence(
        id=evidence_id("web", "https://example.org/a", ""),
        kind="web",
        title="Later",
        publisher="P",
        url="http://example.org/a",
        retrieved=EARLY,
        published=date(2024, 5, 1),
        sample=True,
        passages=(one, two, three),
    )


def test_what_was_known_first_stands() -> None:
    registry = EvidenceRegistry()
    first = date(2024, 1, 1)
    registry.add(web("https://example.org/a", title="First", published=first))
    later = web("https://example.org/a", title="Later", retrieved=LATE, published=date(2023, 1, 1))
    assert registry.add(later).title == "First"
    assert registry.add(later).published == first
    assert registry.add(later).retrieved == EARLY


def test_the_moment_of_publication_goes_with_its_day() -> None:
    def merged(**first: object) -> Evidence:
        registry = EvidenceRegistry()
        registry.add(web("https://example.org/a", **first))
        moment = datetime(2024, 5, 2, 8, tzinfo=UTC)
        return registry.add(web("https://example.org/a", published=moment.date(), moment=moment))

    assert merged().published_at == datetime(2024, 5, 2, 8, tzinfo=UTC)
    known = merged(published=date(2024, 1, 1))
    assert (known.published, known.published_at) == (date(2024, 1, 1), None)


def test_a_wrong_id_neither_splits_nor_merges_sources() -> None:
    registry = EvidenceRegistry()
    a = registry.add(web("https://example.org/a", id="same"))
    registry.add(web("https://example.org/a", id="other"))
    b = registry.add(web("https://example.org/b", id="mine"))
    assert [item.id for item in registry] == [a.id, b.id]
    assert registry.get("same") == registry.get("other") == registry.get(a.id)
    assert registry.get("mine") == b


def test_an_id_given_to_two_sources_finds_neither() -> None:
    addresses = ["https://example.org/a", "https://example.org/a", "https://example.org/b"]
    for order in permutations(addresses):
        registry = EvidenceRegistry()
        for address in order:
            registry.add(web(address, id="same"))
        assert len(registry) == 2
        assert registry.get("same") is None


def test_documents_are_told_apart_by_locator_and_else_by_title() -> None:
    registry = EvidenceRegistry()
    for locator, title in [("a.pdf", "T"), ("b.pdf", "T"), ("", "T"), ("", "U"), ("a.pdf", "X")]:
        registry.add(web("", kind="library", locator=locator, title=title))
    assert len(registry) == 4


def test_an_unusable_address_is_not_registered_as_one() -> None:
    registry = EvidenceRegistry()
    first = registry.add(web("javascript:alert(1)"))
    registry.add(web("javascript:alert(2)"))
    assert first.url == ""
    assert len(registry) == 2


def test_a_passage_is_found_by_any_known_id_of_its_source() -> None:
    registry = EvidenceRegistry()
    passage = Passage(id="p", text="x")
    item = registry.add(web("https://example.org/a", id="old", passages=(passage,)))
    assert registry.passage("old", "p") == registry.passage(item.id, "p") == passage
    assert registry.passage("old", "q") is None
    assert registry.passage("invented", "p") is None
    assert registry.get("old") == registry.get(item.id) == item
    assert registry.get("invented") is registry.get("") is None


def test_findings_are_gathered_in_the_order_they_came() -> None:
    task = Task(id="t", source="web", query="q")
    items = [web(f"https://example.org/{name}", id=name) for name in "cab"]
    findings = [Finding(task=task, evidence=(item,), started=EARLY) for item in items]
    failed = Finding(task=task, reason="timeout", started=EARLY)
    registry = collect_evidence([findings[0], failed, *findings[1:], findings[0]])
    assert [item.url[-1] for item in registry] == ["c", "a", "b"]
