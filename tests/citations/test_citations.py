"""Numbers only for what is registered, quotes only where they stand."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.citations.numbering import (
    CitedAnswer,
    CitedSource,
    NumberedSpan,
    check_numbering,
    is_verbatim,
    number_citations,
)
from research.citations.registry import EvidenceRegistry
from research.core.records import Answer, Evidence, Passage, PassageReference, Span, SpanKind
from tests.tables import each_row

NOW = datetime(2025, 3, 1, 8, tzinfo=UTC)
TEXTS = {
    "p1": "The Palace Museum opened in 1925.",
    "p2": "故宫占地 72 万平方米，开放于1925年。",
    "p3": "It said: “The Palace Museum opened in 1925.” Then it rained.",
}


def registry() -> EvidenceRegistry:
    """Sources a, b and c; each holds all passages."""
    filled = EvidenceRegistry()
    for name in "abc":
        passages = tuple(Passage(id=key, text=text) for key, text in TEXTS.items())
        url = f"https://example.org/{name}"
        filled.add(Evidence(id=name, kind="web", title=name, url=url, retrieved=NOW, passages=passages))
    return filled


def answer(*spans: Span) -> Answer:
    return Answer(title="T", language="en", author="digest", spans=spans, created=NOW)


def span(*cites: tuple[str, str], kind: SpanKind = "text", text: str = "x") -> Span:
    pointed = tuple(PassageReference(evidence=evidence, passage=passage) for evidence, passage in cites)
    return Span(kind=kind, text=text, references=pointed)


def cited(*spans: Span) -> CitedAnswer:
    result = number_citations(answer(*spans), registry())
    assert check_numbering(result) == []
    return result


def test_sources_are_numbered_in_the_order_of_their_first_citation() -> None:
    result = cited(span(("c", "p1"), ("a", "p1")), span(), span(("a", "p2"), ("b", "p1")))
    assert [item.numbers for item in result.spans] == [(1, 2), (), (2, 3)]
    assert [source.evidence.title for source in result.sources] == ["c", "a", "b"]
    assert [source.times for source in result.sources] == [1, 2, 1]


def test_a_span_repeats_no_number() -> None:
    result = cited(span(("a", "p2"), ("b", "p1"), ("a", "p1"), ("a", "p2")))
    assert result.spans[0].numbers == (1, 2)
    assert result.sources[0].times == 1


def test_a_source_shows_only_its_cited_passages_in_the_order_of_citation() -> None:
    result = cited(span(("a", "p3")), span(("a", "p1"), ("a", "p3")))
    assert [passage.id for passage in result.sources[0].evidence.passages] == ["p3", "p1"]


@pytest.mark.parametrize("invented", [("z", "p1"), ("a", "p9"), ("", "")])
def test_an_invented_id_gets_no_number_and_is_noted(invented: tuple[str, str]) -> None:
    result = cited(span(invented, ("b", "p1")), span(invented))
    assert [item.numbers for item in result.spans] == [(1,), ()]
    assert [item.unsourced for item in result.spans] == [True, True]
    assert [source.evidence.title for source in result.sources] == ["b"]


def test_text_without_cites_is_not_marked() -> None:
    assert not cited(span()).spans[0].unsourced


def test_a_verbatim_quote_is_numbered_by_the_cites_that_contain_it_alone() -> None:
    text = "故宫占地72万平方米"
    result = cited(span(("a", "p1"), ("b", "p2"), ("z", "p1"), kind="quote", text=text))
    assert result.spans[0].numbers == (1,)
    assert not result.spans[0].unsourced
    assert [source.evidence.title for source in result.sources] == ["b"]


@each_row("text", ["The Palace Museum opened in 1926.", "", "  ", "72 万"])
def test_a_quote_that_its_passages_do_not_contain_is_unsourced(text: str) -> None:
    result = cited(span(("a", "p1"), kind="quote", text=text))
    assert result.spans[0].numbers == ()
    assert result.spans[0].unsourced
    assert result.sources == ()


def test_a_quote_within_a_quote_is_verbatim() -> None:
    text = "“The Palace Museum opened in 1925.”"
    assert cited(span(("a", "p3"), kind="quote", text=text)).spans[0].numbers == (1,)


def test_width_and_white_space_do_not_make_a_quote_another() -> None:
    assert is_verbatim("７２万 平方米", TEXTS["p2"])
    assert is_verbatim("Palace\nMuseum", TEXTS["p1"])
    assert is_verbatim("international trade", "the inter-\nnational trade")
    assert not is_verbatim("palace museum", TEXTS["p1"])
    assert not is_verbatim("", TEXTS["p1"])


def broken(sound: CitedAnswer, **change: object) -> str:
    problems = check_numbering(sound.model_copy(update=change))
    assert problems
    return " ".join(problems)


def test_the_check_finds_every_kind_of_defect() -> None:
    quote = span(("b", "p1"), kind="quote", text=TEXTS["p1"])
    sound = cited(span(("a", "p1")), quote)
    (plain, quoted), (one, two) = sound.spans, sound.sources

    def respan(item: NumberedSpan, **change: object) -> NumberedSpan:
        return item.model_copy(update=change)

    def resource(item: CitedSource, **change: object) -> CitedSource:
        return item.model_copy(update=change)

    assert "not among the sources" in broken(sound, sources=(one,))
    assert "cited 0 times" in broken(sound, spans=(plain,), answer=answer(plain.span))
    assert "in order" in broken(sound, sources=(two, one))
    assert "rising order" in broken(sound, spans=(respan(plain, numbers=(2,)), respan(quoted, numbers=(1,))))
    assert "repeats" in broken(sound, spans=(respan(plain, numbers=(1, 1)), quoted))
    assert "listed as 5" in broken(sound, sources=(one, resource(two, times=5)))
    assert "two numbers" in broken(
        sound,
        sources=(
            one,
            resource(two, evidence=two.evidence.model_copy(update={"url": "http://example.org/a/#x"})),
        ),
    )
    assert "no cited passage" in broken(
        sound,
        sources=(resource(one, evidence=one.evidence.model_copy(update={"passages": ()})), two),
    )
    assert "not the spans" in broken(sound, answer=answer(plain.span))
    altered = quoted.span.model_copy(update={"text": "Altered."})
    assert "not verbatim" in broken(
        sound, spans=(plain, respan(quoted, span=altered)), answer=answer(plain.span, altered)
    )
    assert "unsourced" in broken(sound, spans=(plain, respan(quoted, unsourced=True)))


CITES = st.tuples(st.sampled_from([*"abcz", ""]), st.sampled_from(["p1", "p2", "p3", "p9"]))
SPANS = st.builds(
    lambda cites, kind, text: span(*cites, kind=kind, text=text),
    st.lists(CITES, max_size=4),
    st.sampled_from(["heading", "quote", "text", "missing", "notice"]),
    st.sampled_from([*TEXTS.values(), "1925", "故宫占地72万", "altered", ""]),
)


@given(st.lists(SPANS, max_size=8))
def test_any_spans_are_numbered_soundly(spans: list[Span]) -> None:
    result = cited(*spans)
    used = list(dict.fromkeys(n for item in result.spans for n in item.numbers))
    assert used == [source.number for source in result.sources] == list(range(1, len(used) + 1))
    for item in result.spans:
        known = {c.evidence for c in item.span.references if c.evidence in "abc" and c.passage in TEXTS}
        known.discard("")
        assert len(item.numbers) <= len(known)
        assert item.span.kind == "quote" or len(item.numbers) == len(known)
