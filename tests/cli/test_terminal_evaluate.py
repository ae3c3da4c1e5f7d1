"""Reports judged in the terminal: the table, the findings, the exit codes, our own JSON."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from research import UnreadableReportError, evaluate_report, report_json
from research.citations.numbering import number_report_answer
from research.citations.registry import evidence_id
from research.cli import main
from research.core.records import Answer, Evidence, Passage, PassageReference, Report, Run, RunOptions, Span
from research.linter.flaw_kinds import SEVERITY_BY_KIND
from tests.terminal import Done, called, environment

ROOT = Path(__file__).resolve().parents[2]
MADE = datetime(2026, 1, 2, tzinfo=UTC)
SOUND = "# Tea\n\nSales grew by 4 % [1].\n\n## Sources\n\n1. Board, https://a.org/1\n"
WRONG = SOUND.replace("[1].", "[1][7].")


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def exported() -> str:
    """The JSON of a report: one sentence is verbatim in its passage, and one is not."""
    url = "https://tea.org/report"
    text = "The tea board sold 400 tonnes of green tea in 2024."
    item = Evidence(
        id=evidence_id("web", url, ""), kind="web", title="Tea board", publisher="tea.org", url=url,
        language="en", retrieved=MADE, published=date(2025, 1, 1),
        passages=(Passage(id="p1", text=text, end=len(text)),),
    )  # fmt: skip
    cite = (PassageReference(evidence=item.id, passage="p1"),)
    answer = Answer(
        title="Tea", language="en", author="Scripted", created=MADE,
        spans=(
            Span(kind="text", text="The tea board sold 400 tonnes of green tea in 2024.", references=cite),
            Span(kind="text", text=" The tea board sold 900 tonnes of green tea in 2024.", references=cite),
        ),
    )  # fmt: skip
    run = Run(
        id="r1", conversation="c1", owner="local", question="Tea?", options=RunOptions(loops=1, sources=("web",)),
        status="done", created=MADE, finished=MADE,
    )  # fmt: skip
    report = Report(run=run, answer=answer, evidence=(item,))
    return report_json(report, number_report_answer(report))


def test_a_sound_report_ends_with_0_and_a_wrong_one_with_1_and_no_data_folder_is_made(
    tmp_path: Path,
) -> None:
    files = [written(tmp_path, "a.md", SOUND), written(tmp_path, "b.md", WRONG)]

    def run(*names: str) -> Done:
        return called(environment(tmp_path / "data"), "evaluate", *names)

    sound, both = run(files[0]), run(*files)
    assert (sound.returncode, sound.stderr) == (0, "")
    assert (both.returncode, both.stderr) == (1, "")
    assert "numbered" in sound.stdout and "100 %" in sound.stdout
    assert "line 3" in both.stdout and "[7] is cited" in both.stdout
    assert "dangling" not in sound.stdout
    assert not (tmp_path / "data").exists()


def test_the_findings_are_told_in_either_language_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "b.md", WRONG)
    assert main(["evaluate", file, "--lang", "zh"]) == 1
    told = capsys.readouterr().out
    assert "第 3 行" in told and "没有对应条目" in told and "引用样式" in told
    assert main(["evaluate", "--lang", "en", file, "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["file"], found["errors"], found["warnings"]) == (file, 1, 0)
    assert found["flaws"][0]["kind"] == "dangling" and found["flaws"][0]["line"] == 3
    assert (found["sources"], found["citations"], found["statuses"]) == (1, 2, None)


def test_a_file_that_cannot_be_used_ends_with_2_and_the_others_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = tmp_path / "bad.md"
    bad.write_bytes(b"# A\n\xff")
    large = tmp_path / "large.md"
    large.write_bytes(b"a" * 10_000_001)
    files = [str(bad), str(large), str(tmp_path / "none.md"), str(tmp_path)]
    written(tmp_path, "a.md", SOUND)
    monkeypatch.chdir(tmp_path)  # a long path is folded in the column
    assert main(["evaluate", *files, "a.md"]) == 2
    said = capsys.readouterr()
    assert "is not UTF-8 (byte 4)" in said.err and "larger than 10 MB" in said.err
    assert said.err.count("cannot be read") == 2
    assert "a.md" in said.out
    with pytest.raises(SystemExit) as left:
        main(["evaluate"])
    assert left.value.code == 2


def test_what_a_report_holds_cannot_act_on_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "# A\n\n[bold red]Sales\x1b[31m rose\u202e by 4 % [9].\n\n## Sources\n\n1. A, https://a.org/1\x1b]0;x\x07\n"
    file = written(tmp_path, "[red]a.md", text)
    for options in ([], ["--json"]):
        assert main(["evaluate", file, *options]) == 1
        told = capsys.readouterr().out
        assert not set(told) & set("\x1b\x07\u202e")
        assert "[red]a.md" in told and "[bold red]Sales" in told


def test_our_own_json_is_checked_against_its_passages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluate_report(exported())
    assert found.statuses is not None
    assert found.statuses["quoted"] == 1 and sum(found.statuses.values()) == 2
    assert (found.lint.sources, found.lint.flaws) == (1, ())
    assert main(["evaluate", written(tmp_path, "a.json", exported())]) == 0
    assert "quoted 1" in capsys.readouterr().out


def test_json_of_ours_that_was_changed_by_hand_is_not_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(exported())
    data["blocks"][0]["citations"][0]["number"] = 3
    found = evaluate_report(json.dumps(data)).lint
    assert {flaw.kind for flaw in found.flaws} == {"inconsistent"}
    data["blocks"] = 5
    with pytest.raises(UnreadableReportError, match="blocks"):
        evaluate_report(json.dumps(data))
    assert main(["evaluate", written(tmp_path, "a.json", json.dumps(data))]) == 2
    assert "blocks" in capsys.readouterr().err
    assert evaluate_report('{"schema": "sightline-report/5"').statuses is None


def _sarif(capsys: pytest.CaptureFixture[str], *files: str, code: int) -> dict[str, Any]:
    assert main(["evaluate", "--lang", "en", "--sarif", *files]) == code
    told = capsys.readouterr().out
    assert not set(told) & set("\x1b\u202e")
    log: dict[str, Any] = json.loads(told)
    return log


def test_the_findings_are_told_as_sarif(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, "茶 #1.md", WRONG + "2. Other\x1b[31m\u202e, https://b.org/2\n")
    log = _sarif(capsys, "茶 #1.md", written(tmp_path, "a.md", SOUND), code=1)
    assert (log["version"], log["$schema"].rpartition("/")[2]) == ("2.1.0", "sarif-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(SEVERITY_BY_KIND)
    dangling, unused = [r for r in run["results"] if r["level"] != "note"]
    assert (dangling["ruleId"], dangling["level"]) == ("dangling", "error")
    assert (unused["ruleId"], unused["level"]) == ("unused", "warning")
    assert dangling["message"]["text"].startswith("[7] is cited")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "%E8%8C%B6%20%231.md"
    region = dangling["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 3, "snippet": {"text": "Sales grew by 4 % [1][7]."}}
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_in_sarif_a_finding_keeps_its_mark_where_lines_are_added_above(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    marks = []
    for text in (WRONG, WRONG.replace("# Tea\n", "# Tea\n\nIt is drunk hot [1].\n")):
        (result,) = _sarif(capsys, written(tmp_path, "b.md", text), code=1)["runs"][0]["results"]
        marks.append(result["partialFingerprints"])
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].startswith("file:///")
    assert marks[0] == marks[1]


def test_sarif_says_which_files_could_not_be_read_and_a_finding_of_the_whole_file_has_no_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json.loads(exported())
    data["blocks"][0]["citations"][0]["number"] = 3
    wrong = written(tmp_path, "a.json", json.dumps(data))
    (run,) = _sarif(capsys, wrong, str(tmp_path / "none.md"), code=2)["runs"]
    assert {result["ruleId"] for result in run["results"]} == {"inconsistent"}
    assert "region" not in run["results"][0]["locations"][0]["physicalLocation"]
    (done,) = run["invocations"]
    assert done["executionSuccessful"] is False
    assert "none.md cannot be read" in done["toolExecutionNotifications"][0]["message"]["text"]
    assert main(["evaluate", "--json", "--sarif", wrong]) == 2
    assert "not both" in capsys.readouterr().err
