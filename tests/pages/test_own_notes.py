"""Notes of one's own, as the pages offer them: drawn as text, written by their owner alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pages.run import answer
from research import get_application, number_report_answer
from tests.catalogue import WORDS
from tests.pages import checked_run
from tests.pages.visitor import Visitor

Visit = Callable[..., Visitor]
HOSTILE = "<b>bold</b> ![x](https://evil.example/x)\n# Heading\n[link](https://evil.example) $x$ :red[no]"


@pytest.fixture
def run_id(folder: object) -> str:
    checked_run.put(get_application().runs.store, "en")
    return checked_run.IDS["en"]


def write(visitor: Visitor, run_id: str, text: str) -> Visitor:
    visitor.at.text_area(key=f"note_text_{run_id[:8]}").set_value(text)
    return visitor.press(f"note_save_{run_id[:8]}")


def test_a_note_on_an_answer_is_written_changed_and_deleted(visit: Visit, run_id: str) -> None:
    visitor = visit(run=run_id).press(f"note_add_{run_id[:8]}")
    visitor = write(visitor, run_id, "For the memo.\nAsk again in May.")
    assert "For the memo." in visitor.words and "Ask again in May." in visitor.words
    assert WORDS["remark.own"][1] in visit(run=run_id).words
    visitor.press(f"note_edit_{run_id[:8]}")
    assert visitor.at.text_area(key=f"note_text_{run_id[:8]}").value == "For the memo.\nAsk again in May."
    visitor.press(f"note_cancel_{run_id[:8]}").press(f"note_edit_{run_id[:8]}")
    visitor = write(visitor, run_id, "For the book.")
    assert "For the book." in visitor.words and "memo" not in visitor.words
    visitor.press(f"note_delete_{run_id[:8]}")
    assert "For the book." not in visitor.words
    assert f"note_add_{run_id[:8]}" in visitor.buttons


def test_a_hostile_note_on_an_answer_is_text(visit: Visit, run_id: str) -> None:
    get_application().runs.save_remark(run_id, HOSTILE)
    visitor = visit(run=run_id)
    (shown,) = [item.value for item in visitor.at.markdown if "evil" in item.value]
    for line in HOSTILE.splitlines():
        assert line in visitor.words
    assert "](" not in shown and "<b>" not in shown and "\n#" not in shown and ":red[" not in shown


def test_a_passage_has_its_note_wherever_it_is_cited(run_id: str) -> None:
    report = get_application().runs.report(run_id)
    assert report is not None
    numbered = number_report_answer(report)
    assert numbered is not None
    (first, *_) = (cite for block in _quotes(answer.build_blocks(numbered)) for cite in block["cites"])
    evidence, passage = first["at"]
    assert get_application().runs.save_remark(run_id, HOSTILE, evidence=evidence, passage=passage)
    drawn = answer.build_blocks(numbered, {}, None, {(evidence, passage): HOSTILE})
    noted = {tuple(c["at"]): c["note"] for block in _quotes(drawn) for c in block["cites"]}
    assert noted.pop((evidence, passage)) == HOSTILE and set(noted.values()) <= {""}


def _quotes(blocks: list[dict]) -> list[dict]:  # type: ignore[type-arg]
    return [block for block in blocks if block["kind"] == "quote"]
