"""One more round for a finished run: it judges what was found, and searches only what is new."""

from __future__ import annotations

import pytest

from tests.fakes import HANGS, Outcome, ScriptedReasoner, ScriptedSource, until
from tests.runtime.conftest import QUESTION, WEB, Bench, get, over, report, searched

TWO_ROUNDS = WEB.model_copy(update={"loops": 2})


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("rounds", [1, 2])
def test_more_begins_with_a_judgement_and_repeats_nothing(rounds: int, reopened: bool, shared: Bench) -> None:
    source = ScriptedSource()
    runs = shared.open(ScriptedReasoner(["a", "b"], lambda round_: ["c"]), source)
    first = runs.start(QUESTION, options=TWO_ROUNDS)
    assert over(runs, first.id) == "done"
    if reopened:
        runs.close()
    reasoner = ScriptedReasoner(["never"], lambda round_: ["c", f"new {round_}"])
    runs = shared.open(reasoner, source)
    further = runs.extend(first.id, rounds=rounds)
    assert further is not None
    assert over(runs, further.id) == "done"
    assert source.queries == ["a", "b", "c", *(f"new {n}" for n in range(1, rounds + 1))]
    assert reasoner.planned == []
    seen = [[finding.task.query for finding in findings] for _, findings in reasoner.reflected]
    assert seen[0] == ["a", "b", "c"]
    assert len(seen) == rounds
    assert (further.based_on, further.conversation) == (first.id, first.conversation)
    done = report(runs, further.id)
    assert {f.task.query for f in done.findings if f.reused} == {"a", "b", "c"}
    assert done.answer is not None
    assert done.answer.quote_count == 3 + rounds
    assert done.plan is not None
    assert "searches reused from the previous run: 3" in done.plan.notes[0]
    assert searched(runs, first.id) == dict.fromkeys("abc", (1, 1))


def test_more_can_be_had_of_more(shared: Bench) -> None:
    source, count = ScriptedSource(), iter(range(9))
    runs = shared.open(ScriptedReasoner(["a"], lambda round_: [f"new {next(count)}"]), source)
    run = runs.start(QUESTION, options=WEB)
    for _ in range(3):
        assert over(runs, run.id) == "done"
        further = runs.extend(run.id)
        assert further is not None
        run = further
    assert over(runs, run.id) == "done"
    assert source.queries == ["a", "new 0", "new 1", "new 2"]
    ids = [finding.task.id for finding in report(runs, run.id).findings]
    assert len(set(ids)) == len(ids) == 4


def test_what_is_sufficient_is_written_again_without_a_search(shared: Bench) -> None:
    source, reasoner = ScriptedSource(), ScriptedReasoner(["a"], sufficient=True)
    runs = shared.open(reasoner, source)
    first = runs.start(QUESTION, options=WEB)
    assert over(runs, first.id) == "done"
    further = runs.extend(first.id)
    assert further is not None
    assert over(runs, further.id) == "done"
    assert (source.queries, len(reasoner.written)) == (["a"], 2)


def test_a_search_that_failed_is_not_taken_for_one_that_was_made(shared: Bench) -> None:
    source = ScriptedSource(outcomes={"b": Outcome(reason="quota")})
    reasoner = ScriptedReasoner(["a", "b"], lambda round_: ["b"])
    runs = shared.open(reasoner, source)
    first = runs.start(QUESTION, options=WEB)
    assert over(runs, first.id) == "done"
    del source.outcomes["b"]
    further = runs.extend(first.id)
    assert further is not None
    assert over(runs, further.id) == "done"
    assert source.queries == ["a", "b", "b"]
    answer = report(runs, further.id).answer
    assert answer is not None
    assert (answer.quote_count, answer.failures) == (2, ())


def test_of_a_run_that_is_not_done_or_not_ones_own_there_is_no_more(shared: Bench) -> None:
    source = ScriptedSource(usual=HANGS)
    runs = shared.open(source=source)
    run = runs.start(QUESTION, options=WEB)
    until(lambda: source.calls)
    same = runs.extend(run.id)
    assert same is not None
    assert same.id == run.id
    assert runs.extend(run.id, owner="bob") is None
    assert runs.extend("nothing") is None
    runs.stop(run.id)
    assert over(runs, run.id) == "stopped"
    assert get(runs, run.id).based_on == ""
    assert len(runs.recent_runs()) == 1
