"""What is said of the check's accuracy is what was measured, and the command that measures it works."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from research.agent.extractive import quote_selection
from research.citations.judge import SMALL_MARGIN, judge_claim, load_model
from tests.yardsticks.margin import MARGINS, margin
from tests.yardsticks.support import RESULTS, Claim, balanced, measured

HERE = Path(__file__).parent
FOUND = json.loads(RESULTS.read_text(encoding="utf-8"))["languages"]
FALSE_SUPPORTS = [json.loads(line) for line in (HERE / "false_supports.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_shipped_figures_are_those_of_the_results(language: str) -> None:
    told, found = load_model(language).accuracy, FOUND[language]
    right = found["supported"]
    assert (told.balanced, told.overlap) == (found["mean"], found["overlap_mean"])
    assert (told.recall, told.half, told.most) == tuple(right.values())
    assert (told.doubted, told.doubted_half, told.doubted_most) == tuple(found["unsupported"].values())


def test_not_supported_is_said_in_english_alone() -> None:
    """The pages and docs/accuracy.md say so."""
    assert (load_model("zh").unsupported, load_model("en").unsupported > 0) == (0, True)


def test_the_document_tells_the_results() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for found in FOUND.values():
        for name, score in found["sets"].items():
            assert f"| {name} | {score:.2f} | {found['overlap'][name]:.2f} |" in text
        for name, cost in found["without"].items():
            assert f"| `{name}` | {cost:+.3f} |" in text


def test_a_model_is_asked_within_the_margin_that_was_measured() -> None:
    found = json.loads(MARGINS.read_text(encoding="utf-8"))
    en, zh = (found["languages"][language] for language in ("en", "zh"))
    assert SMALL_MARGIN == found["margin"] == margin([en, zh])
    assert margin([en]) > margin([zh])
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for one, other in zip(en["slices"], zh["slices"], strict=True):
        assert f" to {one['to']:.2f} | {one['right']:.2f} | {other['right']:.2f} |" in text
    assert f"| {en['right']:.2f} | {zh['right']:.2f} |" in text
    one, other = ({k: f"{v:.0%}" for k, v in each["slices"][2].items()} for each in (en, zh))
    plain = " ".join(text.split())
    assert one["to"] == f"{SMALL_MARGIN:.0%}"
    assert f"{one['called']} of what is called supported in English and {other['called']}" in plain
    assert f"with {one['wrong']} and {other['wrong']} of what is called so wrongly" in plain
    assert f"beyond is right in {one['beyond']} and {other['beyond']} of its uses" in plain


def test_the_score_beats_word_overlap_on_sets_it_has_not_seen() -> None:
    for found in FOUND.values():
        assert found["mean"] > found["overlap_mean"] + 0.03
        for name, score in found["sets"].items():
            assert score > found["overlap"][name] - 0.03


def said(half: str, supported: bool) -> float:
    """The share of some lines that are called supported."""
    own = [r for r in FALSE_SUPPORTS if (r["half"], r["supported"]) == (half, supported)]
    assert len(own) >= 15
    return sum(judge_claim(r["claim"], r["passages"]).status == "supported" for r in own) / len(own)


def test_of_sentences_that_take_a_claim_back_most_are_not_called_support() -> None:
    assert said("seen", supported=False) <= 0.3
    assert said("unseen", supported=False) <= 0.4
    assert said("unseen", supported=True) >= 0.8


@pytest.mark.slow
def test_the_command_prints_one_object(tmp_path: Path) -> None:
    rows = [
        {"set": "a", "claim": "It rained.", "passages": ["It rained."], "supported": True},
        {"set": "a", "claim": "Dogs fly over Rome.", "passages": ["It rained."], "supported": False},
        {"set": "b", "claim": "下雪了。", "passages": [], "supported": False, "label": "contradiction"},
    ]  # fmt: skip
    file = tmp_path / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    command = [sys.executable, "-m", "tests.yardsticks", "support", str(file), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HERE.parents[1])
    found = json.loads(done.stdout)
    one, other = found["sets"]
    assert (one["n"], one["balanced_accuracy"], one["exceptions"]) == (2, 1.0, 0)
    assert (other["balanced_accuracy"], other["contradictions_supported"]) == (None, 0.0)
    assert found["mean"] == measured([file])["mean"] == 1.0


def test_balanced_accuracy_is_the_mean_of_both_rates() -> None:
    pairs = [(True, True), (True, False), (True, True), (True, True), (False, True), (False, False)]
    assert balanced(pairs) == (0.625, 0.75, 0.5)
    assert balanced([(True, True)]) is None


def test_overlap_counts_words_and_characters() -> None:
    assert Claim("a", "Trams run.", ("The tram runs daily.",), supported=True).overlap() == 1.0
    assert Claim("a", "门票免费", ("门票60元",), supported=False).overlap() == 0.5


def test_the_document_tells_how_sentences_are_chosen() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    found = json.loads((HERE / "quotes.json").read_text(encoding="utf-8"))
    rows = {"all": found["unseen"]} | {f"without `{name}`": told for name, told in found["without"].items()}
    order = ("CMRC", "sample", "other", "unanswerable", "beside")
    for name, told in rows.items():
        cells = " | ".join(f"{told[key]:.3f}" for key in order)
        assert f"| {name} | {cells} |" in text
    assert set(quote_selection.load_quote_model().weights) == set(found["without"])
