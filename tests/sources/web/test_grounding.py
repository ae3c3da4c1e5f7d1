"""Which stretch of a text which source supports, whatever the text and however broken the offsets."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from research.sources.web.grounding import MAX_SUGGESTION_CHARS, MAX_TITLE_CHARS, GroundedText, parse_grounding
from tests.tables import each_row

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
REDIRECT = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/"
RECORDINGS = Path(__file__).resolve().parents[4] / "shared" / "samples" / "gemini"
Json = dict[str, Any]
Stretch = tuple[str, Sequence[int]]  # words, and the chunks that support them

CHINESE: list[Stretch] = [
    ("关于故宫：", ()), ("它建立于1925年", (0,)), ("。", ()), ("旺季门票60元。", (0, 1)),
    ("周一闭馆，藏品超过186万件", (2,)), ("。\n", ()),
]  # fmt: skip
TEXTS: dict[str, list[Stretch]] = {
    "Chinese": CHINESE,
    "Japanese": [("東京タワーは", ()), ("１９５８年に完成した。", (0,)), ("高さは３３３ｍです。", (1,))],
    "accents": [("Café Zürich opened in 1925.", (0,)), (" Señor Łukasz ", ()), ("ran it.", (1, 2))],
    "combining": [("Cafe\u0301 Zu\u0308rich", (0,)), (" ", ()), ("nai\u0308ve", (1,)), (" te\u0301", ())],
    "emoji": [("👩‍👩‍👧‍👦 families", (0,)), (" 🇨🇳🇫🇷 ", ()), ("👍🏽 1️⃣ 🏛️", (1,)), ("☕️.", (2,))],
    "right to left": [("متحف القصر ", ()), ("افتتح عام 1925", (0,)), (". שלום ", ()), ("עולם", (1,))],
    "the whole text": [("故宫博物院建立于1925年。", (0, 1, 2))],
}  # fmt: skip


def sized(text: str) -> int:
    return len(text.encode())


def source(n: int, **more: Any) -> Json:
    return {"web": {"uri": f"{REDIRECT}{n}", "title": f"site{n}.example.org", **more}}


def supports(stretches: Iterable[Stretch]) -> list[Json]:
    """The supports of a text made of these stretches, as the API gives them."""
    made: list[Json] = []
    at = 0
    for words, chunks in stretches:
        if chunks:
            segment = {"startIndex": at} if at else {}
            segment |= {"endIndex": at + sized(words), "text": words}
            made.append({"segment": segment, "groundingChunkIndices": list(chunks)})
        at += sized(words)
    return made


def metadata(stretches: Iterable[Stretch], chunks: int = 3) -> Json:
    return {
        "groundingChunks": [source(n) for n in range(chunks)],
        "groundingSupports": supports(stretches),
        "webSearchQueries": ["a query", ""],
        "searchEntryPoint": {"renderedContent": "<div>chips</div>"},
    }


def joined(stretches: Iterable[Stretch]) -> str:
    return "".join(words for words, _ in stretches)


def ends(stretches: Iterable[Stretch]) -> dict[int, set[tuple[str, str]]]:
    """Where in the text which words end, and the addresses that support them."""
    out: dict[int, set[tuple[str, str]]] = {}
    at = 0
    for words, chunks in stretches:
        at += len(words)
        if chunks:
            out.setdefault(at, set()).update((f"{REDIRECT}{n}", words) for n in chunks)
    return out


def cited(grounded: GroundedText) -> dict[int, set[tuple[str, str]]]:
    """The same of what was read. Each citation leads to a passage that its span ends with."""
    evidence = {item.id: item for item in grounded.evidence}
    assert len(evidence) == len(grounded.evidence)
    assert "".join(span.text for span in grounded.spans) == grounded.text
    out: dict[int, set[tuple[str, str]]] = {}
    at = 0
    for span in grounded.spans:
        at += len(span.text)
        for cite in span.references:
            item = evidence[cite.evidence]
            (passage,) = [p for p in item.passages if p.id == cite.passage]
            assert (passage.origin, passage.start, passage.end) == (
                "grounding", 0, len(passage.text),
            )  # fmt: skip
            assert grounded.text[:at].endswith(passage.text)
            assert (cite.start, cite.end) == (0, len(passage.text))
            out.setdefault(at, set()).add((item.url or item.locator, passage.text))
    return out


def parts(*texts: str) -> list[Json]:
    return [{"text": text} for text in texts]


# Texts


@each_row("stretches", TEXTS.values())
def test_every_segment_stands_where_it_is_in_any_script(stretches: list[Stretch]) -> None:
    grounded = parse_grounding(parts(joined(stretches)), metadata(stretches), NOW)
    assert cited(grounded) == ends(stretches)
    assert (grounded.unplaced_count, grounded.text) == (0, joined(stretches))


def test_a_marker_stands_at_the_end_of_its_sentence() -> None:
    text: list[Stretch] = [
        ("故宫博物院建立于1925年。", (0,)), ("藏品超过186万件。", (1,)), ("旺季门票60元。", (2,)),
    ]  # fmt: skip
    grounded = parse_grounding(parts(joined(text)), metadata(text), NOW)
    assert [span.text for span in grounded.spans] == [words for words, _ in text]
    assert [len(span.references) for span in grounded.spans] == [1, 1, 1]


def test_thirty_sources_keep_their_numbers_apart() -> None:
    stretches: list[Stretch] = [(f"第{n}句话。", (n,)) for n in range(30)]
    grounded = parse_grounding(parts(joined(stretches)), metadata(stretches, 30), NOW)
    assert cited(grounded) == ends(stretches)
    assert [item.title for item in grounded.evidence] == [f"site{n}.example.org" for n in range(30)]


def cut(text: str, pieces: int) -> list[str]:
    size = -(-len(text) // pieces)
    return [text[at : at + size] for at in range(0, len(text), size)]


@each_row("pieces", range(1, 6))
def test_thoughts_and_tools_between_the_parts_of_a_text_do_not_count(pieces: int) -> None:
    said: list[Json] = []
    for piece in cut(joined(CHINESE), pieces):
        said += [
            {"text": "Let me think, 想一想…", "thought": True},
            {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB"}},
            {"text": piece},
            {"executableCode": {"code": "1 + 1"}},
            {"text": None},
        ]
    grounded = parse_grounding(said, metadata(CHINESE), NOW)
    assert grounded.text == joined(CHINESE)
    assert cited(grounded) == ends(CHINESE)


@each_row("pieces", range(1, 6))
def test_with_a_part_index_offsets_are_those_of_the_part(pieces: int) -> None:
    said: list[Json] = [{"text": "hm", "thought": True}]
    told: list[Stretch] = []
    found: list[Json] = []
    for n in range(pieces):
        segment = {"partIndex": len(said), "endIndex": sized("事实。"), "text": "事实。"}
        found.append({"segment": segment, "groundingChunkIndices": [n % 3]})
        said += [{"text": f"事实。说明{n}："}, {"toolResponse": {}}]
        told += [("事实。", (n % 3,)), (f"说明{n}：", ())]
    grounded = parse_grounding(said, metadata([]) | {"groundingSupports": found}, NOW)
    assert cited(grounded) == ends(told)
    assert grounded.unplaced_count == 0


@each_row("index", [7, -1, "x", 1.5, True])
def test_a_part_index_that_leads_nowhere_is_as_good_as_none(index: Any) -> None:
    found = metadata(CHINESE)
    for support in found["groundingSupports"]:
        support["segment"]["partIndex"] = index
    assert cited(parse_grounding(parts(joined(CHINESE)), found, NOW)) == ends(CHINESE)


def test_a_part_index_beside_offsets_of_the_whole_text_is_overruled_by_the_text() -> None:
    found = metadata(CHINESE)
    for support in found["groundingSupports"]:
        support["segment"]["partIndex"] = 1
    grounded = parse_grounding(parts(*cut(joined(CHINESE), 2)), found, NOW)
    assert cited(grounded) == ends(CHINESE)


words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20) | st.sampled_from(
    ["故宫", "é", "e\u0301", "👩‍👩‍👧", "🇨🇳", "\r\n", "\n", "**", " ", "。", "𠮷", "ｆｕｌｌ", "a"]
)
stretched = st.lists(st.tuples(words, st.lists(st.integers(0, 4), max_size=3)), min_size=1, max_size=8)


@given(stretched, st.lists(st.integers(0, 60), max_size=4))
def test_whatever_the_text_each_segment_with_right_offsets_is_placed(stretches: list[Stretch], cuts: list[int]) -> None:
    text = joined(stretches)
    at = sorted({0, len(text), *(place for place in cuts if place < len(text))})
    said = parts(*(text[a:b] for a, b in pairwise(at)))
    grounded = parse_grounding(said, metadata(stretches, 5), NOW)
    assert cited(grounded) == ends(stretches)
    assert (grounded.text, grounded.unplaced_count) == (text, 0)
    told = {words for words, chunks in stretches if chunks}
    assert {p.text for item in grounded.evidence for p in item.passages} == told


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 99) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
_segments = st.fixed_dictionaries(
    {},
    optional={
        "startIndex": st.integers(-3, 60) | anything,
        "endIndex": st.integers(-3, 60) | anything,
        "partIndex": st.integers(-1, 3) | anything,
        "text": st.sampled_from([joined(CHINESE)[3:9], "1925", "。", "nowhere"]) | anything,
    },
)
_supports = st.fixed_dictionaries(
    {},
    optional={
        "segment": _segments | anything,
        "groundingChunkIndices": st.lists(st.integers(-2, 5) | anything, max_size=4) | anything,
    },
)
_members = st.fixed_dictionaries({}, optional={"uri": anything, "title": anything, "domain": anything})
_chunks = st.dictionaries(
    st.sampled_from(["web", "maps", "retrievedContext", "image"]), _members | anything, max_size=2
)


@given(
    st.lists(_supports | anything, max_size=5) | anything,
    st.lists(_chunks | anything, max_size=5) | anything,
    anything,
)
def test_nothing_that_can_come_breaks_it(found: Any, chunks: Any, rest: Any) -> None:
    given = {
        "groundingSupports": found,
        "groundingChunks": chunks,
        "webSearchQueries": rest,
        "searchEntryPoint": rest,
    }
    grounded = parse_grounding(parts(*cut(joined(CHINESE), 2)), given, NOW)
    assert grounded.text == joined(CHINESE)
    cited(grounded)
    for item in grounded.evidence:
        assert item.title
        item.model_dump_json()


@given(anything, anything)
def test_no_parts_and_no_metadata_of_any_kind_break_it(said: Any, found: Any) -> None:
    given = said if isinstance(said, list) else []
    cited(parse_grounding(given, found, NOW))


@each_row("stretches", TEXTS.values())
def test_a_dump_with_names_in_snake_case_is_read_as_the_json_is(stretches: list[Stretch]) -> None:
    """As others keep what the service has told, with None for what is not there."""
    found, said = metadata(stretches), parts(*cut(joined(stretches), 3))
    plain = parse_grounding(said, found, NOW)
    dumped = types.GroundingMetadata.model_validate(found).model_dump()
    assert parse_grounding(said, dumped, NOW) == plain
    assert plain.executed_queries == ("a query",)
    assert plain.suggestions == "<div>chips</div>"


def test_thoughts_and_other_sources_are_told_apart() -> None:
    found = metadata(CHINESE)
    found["groundingChunks"] = [
        {"maps": {"uri": "https://maps.example.org/1", "title": "The gate", "placeId": "p"}},
        {"retrievedContext": {"uri": "gs://bucket/file.pdf", "title": "A file"}},
        source(2, domain="museum.example.org"),
    ]
    grounded = parse_grounding([{"text": "hm", "thought": True}, *parts(joined(CHINESE))], found, NOW)
    assert grounded.text == joined(CHINESE)
    assert [(i.title, i.publisher, i.url) for i in grounded.evidence] == [
        ("The gate", "maps.example.org", "https://maps.example.org/1"),
        ("A file", "", ""),
        ("site2.example.org", "museum.example.org", f"{REDIRECT}2"),
    ]


def recordings() -> list[Any]:
    found = sorted(RECORDINGS.glob("*.json"))
    missing = pytest.mark.skip(reason="there are no recorded responses beside the project")
    return [pytest.param(path, id=path.stem) for path in found] or [pytest.param(RECORDINGS, marks=missing, id="none")]


@pytest.mark.parametrize("path", recordings())
def test_every_segment_of_a_recorded_response_is_placed(path: Path) -> None:
    response = json.loads(path.read_text(encoding="utf-8"))["response"]
    candidate = response["candidates"][0]
    found, said = candidate["groundingMetadata"], candidate["content"]["parts"]
    grounded = parse_grounding(said, found, NOW)
    assert grounded.unplaced_count == 0
    usable = [bool(chunk) for chunk in found["groundingChunks"]]
    wanted = [
        support["segment"]["text"]
        for support in found["groundingSupports"]
        if any(usable[index] for index in support["groundingChunkIndices"])
    ]
    placed = cited(grounded)
    assert {text for at in placed.values() for _, text in at} == set(wanted)
    assert len(wanted) or not any(usable)


# What is wrong with it


def each_segment(change: Callable[[Json], Any]) -> Callable[[Json], None]:
    def spoil(found: Json) -> None:
        for support in found["groundingSupports"]:
            change(support["segment"])

    return spoil


def moved(by: int) -> Callable[[Json], None]:
    def move(segment: Json) -> None:
        segment["startIndex"] = segment.get("startIndex", 0) + by
        segment["endIndex"] += by

    return each_segment(move)


def in_characters(found: Json) -> None:
    data = joined(CHINESE).encode()
    for support in found["groundingSupports"]:
        segment = support["segment"]
        segment["startIndex"] = len(data[: segment.get("startIndex", 0)].decode())
        segment["endIndex"] = len(data[: segment["endIndex"]].decode())


def offsets(start: Any, end: Any) -> Callable[[Json], None]:
    return each_segment(lambda segment: segment.update(startIndex=start, endIndex=end))


def spelled(found: Json) -> None:
    for support in found["groundingSupports"]:
        segment = support["segment"]
        segment["startIndex"] = str(segment.get("startIndex", 0))
        segment["endIndex"] = str(segment["endIndex"])
        support["groundingChunkIndices"] = [str(n) for n in support["groundingChunkIndices"]]


MENDED: dict[str, Callable[[Json], None]] = {
    "one byte late": moved(1),
    "one byte early": moved(-1),
    "characters for bytes": in_characters,
    "past the end": moved(10_000),
    "end before the start": offsets(20, 3),
    "within a character": offsets(1, 4),
    "negative": offsets(-5, -1),
    "without an end": each_segment(lambda segment: segment.pop("endIndex")),
    "null": offsets(None, None),
    "fractions": offsets(1.5, 7.25),
    "words": offsets("first", "last"),
    "lists": offsets([1], {"a": 2}),
    "strings for numbers": spelled,
}


@each_row("spoil", MENDED.values())
def test_offsets_that_do_not_fit_are_mended_by_the_text(spoil: Callable[[Json], None]) -> None:
    found = metadata(CHINESE)
    spoil(found)
    grounded = parse_grounding(parts(joined(CHINESE)), found, NOW)
    assert cited(grounded) == ends(CHINESE)
    assert grounded.unplaced_count == 0


LOST: dict[str, Callable[[Json], None]] = {
    "text that is not there": each_segment(lambda segment: segment.update(text="写在别处")),
    "within a character, no text": each_segment(lambda s: s.update(startIndex=1, endIndex=4, text=None)),
    "past the end, no text": each_segment(lambda s: s.update(endIndex=9_999, text="")),
    "no text, no offsets": each_segment(dict.clear),
    "an empty stretch": each_segment(lambda s: s.update(startIndex=6, endIndex=6, text="")),
    "null": lambda found: [s.update(segment=None) for s in found["groundingSupports"]],  # type: ignore[func-returns-value, list-item]
}


@each_row("spoil", LOST.values())
def test_a_segment_that_cannot_be_placed_is_counted_and_its_source_stays(
    spoil: Callable[[Json], None],
) -> None:
    found = metadata(CHINESE)
    spoil(found)
    grounded = parse_grounding(parts(joined(CHINESE)), found, NOW)
    assert cited(grounded) == {}
    assert grounded.unplaced_count == 3
    assert len(grounded.evidence) == 3
    assert [span.text for span in grounded.spans] == [joined(CHINESE)]


def test_right_offsets_need_no_text() -> None:
    found = metadata(CHINESE)
    each_segment(lambda segment: segment.pop("text"))(found)
    assert cited(parse_grounding(parts(joined(CHINESE)), found, NOW)) == ends(CHINESE)


def test_the_drift_of_a_repeated_segment_leads_to_the_nearest_of_its_places() -> None:
    stretches: list[Stretch] = [
        ("免费。", ()),
        ("西湖", ()),
        ("免费。", (0,)),
        ("太湖", ()),
        ("免费。", ()),
    ]
    for by in (-2, -1, 0, 1, 2):
        found = metadata(stretches)
        moved(by)(found)
        assert cited(parse_grounding(parts(joined(stretches)), found, NOW)) == ends(stretches)


def test_a_segment_whose_words_occur_a_hundred_times_stands_in_one_place() -> None:
    stretches: list[Stretch] = [("**", ()), ("**", (0,)), *[("**", ())] * 98]
    grounded = parse_grounding(parts(joined(stretches)), metadata(stretches), NOW)
    assert cited(grounded) == ends(stretches)
    assert [len(span.text) for span in grounded.spans] == [4, 196]


def test_each_of_several_supports_of_repeated_words_keeps_its_own_place() -> None:
    stretches: list[Stretch] = [("是。", (n % 3,)) for n in range(12)]
    assert cited(parse_grounding(parts(joined(stretches)), metadata(stretches), NOW)) == ends(stretches)


def test_line_breaks_of_windows_are_characters_like_others() -> None:
    stretches: list[Stretch] = [
        ("一。\r\n", ()),
        ("二。\r\n三。", (0,)),
        ("\r\n", ()),
        ("四。", (1,)),
    ]
    assert cited(parse_grounding(parts(joined(stretches)), metadata(stretches), NOW)) == ends(stretches)


def test_supports_that_come_twice_cite_once() -> None:
    found = metadata(CHINESE)
    found["groundingSupports"] *= 2
    grounded = parse_grounding(parts(joined(CHINESE)), found, NOW)
    assert grounded == parse_grounding(parts(joined(CHINESE)), metadata(CHINESE), NOW)
    assert all(len(set(span.references)) == len(span.references) for span in grounded.spans)


def test_overlapping_and_nested_segments_each_end_where_they_end() -> None:
    text = "The tower, built in 1925, is 66 m high."
    found = metadata([])
    for words_, chunks in (
        (text, [0]), ("built in 1925", [1]), ("1925, is 66 m", [2]), ("is 66 m high.", [1]),
    ):  # fmt: skip
        start = text.index(words_)
        segment = {"startIndex": start, "endIndex": start + len(words_), "text": words_}
        found["groundingSupports"].append({"segment": segment, "groundingChunkIndices": chunks})
    assert cited(parse_grounding(parts(text), found, NOW)) == {
        text.index(", is"): {(f"{REDIRECT}1", "built in 1925")},
        text.index(" high"): {(f"{REDIRECT}2", "1925, is 66 m")},
        len(text): {(f"{REDIRECT}0", text), (f"{REDIRECT}1", "is 66 m high.")},
    }


@each_row("empty", [{}, None, {"web": None}, {"web": {}}, {"image": {}}, "", 7, []])
def test_an_empty_chunk_moves_no_other(empty: Any) -> None:
    found = metadata([("甲。", (0,)), ("乙。", (1,)), ("丙。", (1, 2))])
    found["groundingChunks"][1] = empty
    grounded = parse_grounding(parts("甲。乙。丙。"), found, NOW)
    assert cited(grounded) == ends([("甲。", (0,)), ("乙。", ()), ("丙。", (2,))])
    assert [item.title for item in grounded.evidence] == ["site0.example.org", "site2.example.org"]


@each_row("index", [3, 99, -1, -3, None, "x", 1.0, True, [0], {}])
def test_an_index_that_names_no_chunk_cites_nothing(index: Any) -> None:
    found = metadata([("甲。", (0,)), ("乙。", (1,))])
    found["groundingSupports"][1]["groundingChunkIndices"] = [index, 2]
    grounded = parse_grounding(parts("甲。乙。"), found, NOW)
    assert cited(grounded) == ends([("甲。", (0,)), ("乙。", (2,))])
    assert grounded.unplaced_count == 1


def test_a_support_whose_only_source_is_not_in_the_list_is_counted() -> None:
    found = metadata([("甲。", (0,)), ("乙。", (1,)), ("丙。", (2,))])
    found["groundingSupports"][1]["groundingChunkIndices"] = [3]
    grounded = parse_grounding(parts("甲。乙。丙。"), found, NOW)
    assert cited(grounded) == ends([("甲。", (0,)), ("乙。", ()), ("丙。", (2,))])
    assert grounded.unplaced_count == 1


def test_two_chunks_with_one_address_are_one_source() -> None:
    found = metadata([("甲。", (0, 1)), ("乙。", (1, 2))])
    found["groundingChunks"][1] = copy.deepcopy(found["groundingChunks"][0])
    grounded = parse_grounding(parts("甲。乙。"), found, NOW)
    assert cited(grounded) == ends([("甲。", (0,)), ("乙。", (0, 2))])
    assert [len(item.passages) for item in grounded.evidence] == [2, 1]


# What may be missing


MISSING: dict[str, Any] = {
    "none": None,
    "empty": {},
    "nulls": dict.fromkeys(metadata([])),
    "queries only": {"webSearchQueries": ["a query"], "searchEntryPoint": None},
    "a list": [],
    "a text": "metadata",
}


@each_row("found", MISSING.values())
def test_a_text_without_sources_is_kept(found: Any) -> None:
    grounded = parse_grounding(parts("塔。"), found, NOW)
    assert (grounded.text, grounded.evidence, grounded.unplaced_count) == ("塔。", (), 0)
    assert [(span.text, span.references) for span in grounded.spans] == [("塔。", ())]


@each_row("found", [None, [], [{"segment": None, "groundingChunkIndices": None}], 5])
def test_sources_without_supports_are_listed(found: Any) -> None:
    grounded = parse_grounding(parts("塔。"), metadata([]) | {"groundingSupports": found}, NOW)
    assert [item.title for item in grounded.evidence] == [f"site{n}.example.org" for n in range(3)]
    assert not any(item.passages for item in grounded.evidence)


def test_no_parts_are_no_text() -> None:
    assert parse_grounding([], metadata(CHINESE), NOW).text == ""
    assert parse_grounding(None, None, NOW).spans == ()  # type: ignore[arg-type]


def test_half_a_pair_of_surrogates_becomes_a_mark_and_moves_nothing() -> None:
    stretches: list[Stretch] = [("塔\ud83d。", ()), ("高66米", (0,)), ("。", ())]
    shown = [(words.replace("\ud83d", "\ufffd"), chunks) for words, chunks in stretches]
    found = metadata(shown)
    found["groundingChunks"][0]["web"]["title"] = "a\ud83d.example.org"
    found["webSearchQueries"] = ["塔\ud83d"]
    grounded = parse_grounding(parts(joined(stretches)), found, NOW)
    assert cited(grounded) == ends(shown)
    assert (grounded.evidence[0].title, grounded.executed_queries) == ("a.example.org", ("塔",))
    assert grounded.text.encode()


# Titles and addresses

TITLES: dict[str, tuple[Any, str]] = {
    "a domain": ("en.wikipedia.org", "en.wikipedia.org"),
    "www": ("www.gov.cn", "www.gov.cn"),
    "a name": ("故宫博物院官网", "故宫博物院官网"),
    "no dot": ("localhost", "localhost"),
    "a sentence": ("3.5 million… cnn.com", "3.5 million… cnn.com"),
    "a bracket": ("a] b.com", "a] b.com"),
    "none": (None, "Google Search"),
    "empty": ("", "Google Search"),
    "blank": (" \n\t ", "Google Search"),
    "a number": (7, "Google Search"),
    "a list": (["a.com"], "Google Search"),
    "control characters": ("a\x00b\x1b[31m.com\r\nnext", "ab[31m.com next"),
    "another direction": ("\u202emoc.elpmaxe", "moc.elpmaxe"),
    "very long": ("长" * 50_000, "长" * MAX_TITLE_CHARS),
}


@each_row(("title", "shown"), TITLES.values())
def test_no_citation_is_lost_for_its_title(title: Any, shown: str) -> None:
    found = metadata([("甲。", (0,)), ("乙。", (1,))])
    found["groundingChunks"][0]["web"]["title"] = title
    grounded = parse_grounding(parts("甲。乙。"), found, NOW)
    assert cited(grounded) == ends([("甲。", (0,)), ("乙。", (1,))])
    assert grounded.evidence[0].title == shown


@each_row(
    ("uri", "url", "expires"),
    [
        (f"{REDIRECT}AbC-1_2==", f"{REDIRECT}AbC-1_2==", True),
        ("https://www.google.com/search?q=weather+in+tokyo", "https://www.google.com/search?q=weather+in+tokyo", False),
        ("https://www.google.com/search?q=weather+in+San Francisco", "https://www.google.com/search?q=weather+in+San%20Francisco", False),
        ("https://museum.example.org/a?utm_source=x", "https://museum.example.org/a", False),
        ("javascript:alert(1)", "", False),
        ("gs://bucket/file.pdf", "", False),
        ("https://user:pass@example.org/", "", False),
        ("not an address", "", False),
    ],
)  # fmt: skip
def test_only_an_address_of_the_web_is_linked_and_a_redirect_expires(uri: str, url: str, expires: bool) -> None:
    found = metadata([("甲。", (0,))], 1)
    found["groundingChunks"] = [{"web": {"uri": uri, "title": "A page"}}]
    grounded = parse_grounding(parts("甲。"), found, NOW)
    (item,) = grounded.evidence
    assert (item.url, item.locator, item.url_expires) == (url, uri, expires)
    assert [len(span.references) for span in grounded.spans] == [1]


def test_sources_without_an_address_are_told_apart_by_their_titles() -> None:
    found = metadata([("甲。", (0,)), ("乙。", (1,))], 0)
    found["groundingChunks"] = [{"web": {"title": "One"}}, {"web": {"title": "Two"}}]
    grounded = parse_grounding(parts("甲。乙。"), found, NOW)
    assert [item.title for item in grounded.evidence] == ["One", "Two"]
    assert [len(span.references) for span in grounded.spans] == [1, 1]


def test_the_name_of_a_redirected_page_is_its_domain() -> None:
    named = [
        ("museum.example.org", "museum.example.org"),
        ("A page: its title.", ""),
        ("Gov.CN", "gov.cn"),
    ]
    found = metadata([], 0)
    found["groundingChunks"] = [source(n, title=title) for n, (title, _) in enumerate(named)]
    publishers = [item.publisher for item in parse_grounding(parts("塔。"), found, NOW).evidence]
    assert publishers == [publisher for _, publisher in named]


def test_queries_that_are_blank_are_left_out_and_suggestions_have_a_limit() -> None:
    found = metadata([]) | {
        "webSearchQueries": ["", " weather\n in Tokyo ", None, 5, "第二个"],
        "searchEntryPoint": {"renderedContent": "<b>" * 100_000},
    }
    grounded = parse_grounding(parts("塔。"), found, NOW)
    assert grounded.executed_queries == ("weather in Tokyo", "第二个")
    assert len(grounded.suggestions) == MAX_SUGGESTION_CHARS
