"""Each sentence of an answer with what stands behind it."""

from datetime import UTC, date, datetime

import pytest

from research.citations.claims import is_claim
from research.citations.model_markdown import parse_model_markdown
from research.citations.numbering import CitedAnswer, number_citations
from research.citations.registry import EvidenceRegistry
from research.citations.support import CheckedSentence, check_support, mark_doubtful_sentences
from research.core.records import Answer, Evidence, Passage, PassageReference, Span
from research.core.text.quotes import find_quote
from tests.tables import each_row

NOW = datetime(2025, 3, 1, tzinfo=UTC)
PASSAGES = {
    "ab00": ("故宫博物院", "旺季门票为60元，淡季为40元。除法定节假日外，周一闭馆。"),
    "ab20": (
        "Harbour",
        "The ferry to the island leaves the old\nharbour six times a day, but never on the inter-\nnational days of\n"
        "Peace. Nobody believes that it\nsinks. 渡轮每天六班，冬季停\n航。",
    ),
    "ab10": ("City Park", "The park opened to the public in 1987. It covers 12 hectares."),
}


def answered(text: str, *before: Span) -> CitedAnswer:
    registry = EvidenceRegistry()
    handles = {}
    for handle, (title, words) in PASSAGES.items():
        item = registry.add(
            Evidence(
                id=handle,
                kind="web",
                title=title,
                url=f"https://example.org/{handle}",
                retrieved=NOW,
                published=date(2025, 1, 1),
                passages=(Passage(id=f"p{handle}", text=words, end=len(words)),),
            )
        )
        handles[handle] = PassageReference(evidence=item.id, passage=f"p{handle}", end=len(words))
    spans = (*before, *parse_model_markdown(text, handles, {}))
    answer = Answer(title="", language="zh", author="model", spans=spans, created=NOW)
    return number_citations(answer, registry)


def only(text: str) -> CheckedSentence:
    (sentence,) = check_support(answered(text)).sentences
    return sentence


def cut(sentence: CheckedSentence) -> str:
    words = next(w for _, w in PASSAGES.values() if sentence.passage in {f"p{h}" for h in PASSAGES if PASSAGES[h][1] == w})  # fmt: skip
    return words[sentence.start : sentence.end]


def test_a_sentence_of_the_source_is_quoted_and_points_at_it() -> None:
    sentence = only("The park opened to the public in 1987 [@ab10].")
    assert (sentence.status, sentence.numbers) == ("quoted", (1,))
    assert cut(sentence) == "The park opened to the public in 1987."


def test_a_sentence_in_other_words_points_at_the_one_that_comes_nearest() -> None:
    sentence = only("故宫旺季的门票是60元[@ab00]。")
    assert sentence.status == "supported"
    assert "60元" in cut(sentence) and "闭馆" not in cut(sentence)


def test_a_subject_may_stand_in_the_title_alone() -> None:
    assert only("故宫博物院周一闭馆[@ab00]。").status == "supported"


def test_another_source_supports_nothing() -> None:
    assert only("故宫旺季的门票是60元[@ab10]。").status == "unclear"


def test_without_a_source_a_claim_has_none_and_so_has_one_whose_source_was_invented() -> None:
    assert only("The park was renovated at great cost in 2019.").status == "none"
    assert only("The park was renovated at great cost in 2019 [@ffff].").status == "none"


def test_a_real_source_beside_an_invented_one_is_not_enough() -> None:
    sentence = only("It covers 12 hectares of the city [@ab10][@ffff].")
    assert (sentence.status, sentence.numbers) == ("unclear", (1,))


def test_what_claims_nothing_is_not_counted() -> None:
    text = "主要规定如下：\n\n- 故宫旺季门票60元[@ab00]\n\n还有别的问题吗？\n\n# 标题\n\n所查资料中未找到开放时间。"
    found = check_support(answered(text))
    assert [sentence.text for sentence in found.sentences] == ["故宫旺季门票60元"]
    assert found.counts.total == 1


def test_a_part_of_a_longer_sentence_is_no_quote_of_it() -> None:
    assert only("周一闭馆[@ab00]。").status != "quoted"
    assert only("旺季门票为60元，淡季为40元[@ab00]！").status == "quoted"


@pytest.mark.parametrize(
    "text",
    [
        "The ferry to the island leaves the old harbour six times a day, but never on the international days of Peace",
        "Nobody believes that it sinks",
        "渡轮每天六班，冬季停航",
    ],
)
def test_a_sentence_over_broken_lines_is_quoted(text: str) -> None:
    sentence = only(f"{text} [@ab20].")
    assert sentence.status == "quoted"
    assert find_quote(text, cut(sentence)) == (0, len(cut(sentence).rstrip(".。")))


def test_the_end_of_a_sentence_in_a_line_of_its_own_is_no_quote_of_it() -> None:
    assert only("Peace [@ab20].").status != "quoted"


def test_a_quote_is_found_in_the_part_of_the_passage_that_is_cited() -> None:
    cite = PassageReference(evidence="ab10", passage="pab10", start=39, end=61)
    quote = Span(kind="quote", text="It covers\n12 hectares.", references=(cite,))
    (sentence,) = check_support(answered("", quote)).sentences
    assert (sentence.status, cut(sentence)) == ("quoted", "It covers 12 hectares.")


def test_what_stands_between_quotation_marks_has_to_stand_in_the_source() -> None:
    said = only("The notice says: “The park opened to the public in 1987.” [@ab10]")
    assert said.status == "supported"
    false = only("The park “opened to the public in great splendour in 1987” [@ab10].")
    assert (false.status, false.gaps[-1].text) == (
        "unclear",
        "opened to the public in great splendour in 1987",
    )


def test_quotes_are_quoted_or_without_source() -> None:
    cite = PassageReference(evidence="ab10", passage="pab10")
    real = Span(kind="quote", text="It covers 12 hectares.", references=(cite,))
    false = Span(kind="quote", text="It covers 13 hectares.", references=(cite,))
    heading = Span(kind="heading", text="Size")
    found = check_support(answered("", heading, real, false)).sentences
    assert [sentence.status for sentence in found] == ["quoted", "none"]


def test_places_count_on_over_quotes_and_markdown_and_marks_stand_where_they_say() -> None:
    cite = PassageReference(evidence="ab10", passage="pab10")
    real = Span(kind="quote", text="It covers 12 hectares.", references=(cite,))
    cited = answered("没有来源的第一句话。故宫周一闭馆[@ab00]。没有来源的第二句话。", real)
    found = check_support(cited)
    assert [(s.at, s.status) for s in found.doubtful_sentences] == [(1, "none"), (3, "none")]
    _, written = mark_doubtful_sentences(cited, found)
    assert [n["sentence"] for n in written.nodes[0]["c"] if not isinstance(n, str) and n["t"] == "mark"] == [1, 3]  # type: ignore[index]  # fmt: skip


def test_counts_and_the_sentences_of_a_source() -> None:
    found = check_support(answered("The park opened to the public in 1987 [@ab10]. 没有来源的一句话。"))
    assert found.counts == (2, 1, 0, 0, 0, 0, 1)
    assert [sentence.at for sentence in found.sentences_citing(1)] == [0]
    assert found.sentences_citing(2) == ()


@each_row(
    ("text", "claims"),
    [
        ("The ticket costs 60 yuan.", True),
        ("门票60元。", True),
        ("Is it open on Mondays?", False),
        ("周一开放吗？", False),
        ("The main sights are:", False),
        ("In summary, the city has much to offer.", False),
        ("In summary, 12 of 30 sights are free.", True),
        ("No information was found on opening hours.", False),
        ("所查资料未提及开放时间。", False),
        ("Yes.", False),
        ("资料截至2025年5月。", False),
        ("这座塔建于宋代。", True),
    ],
)
def test_what_is_a_claim(text: str, claims: bool) -> None:
    assert is_claim(text) is claims
