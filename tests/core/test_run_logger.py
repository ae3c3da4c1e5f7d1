"""Log lines begin with the id of the run that the current task works on."""

from __future__ import annotations

import asyncio
import logging

import pytest

from research.core.run_logger import RunLogger, set_logged_run

log = RunLogger(logging.getLogger(__name__))


async def work_on(run_id: str) -> None:
    async def stage() -> None:
        log.info("%d of %s", 2, "100 %")

    set_logged_run(run_id)
    await asyncio.gather(stage())


async def test_the_tasks_of_a_run_log_its_id_and_others_log_none(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    await asyncio.gather(work_on("a%s"), work_on("b"))
    log.info("100 %")
    lines = [record.getMessage() for record in caplog.records]
    assert sorted(lines) == ["100 %", "run a%s: 2 of 100 %", "run b: 2 of 100 %"]
    assert {record.filename for record in caplog.records} == {"test_run_logger.py"}


async def test_an_exception_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    set_logged_run("a")
    try:
        raise ValueError("x")
    except ValueError:
        log.exception("crashed")
    (record,) = caplog.records
    assert (record.getMessage(), record.levelno) == ("run a: crashed", logging.ERROR)
    assert record.exc_info
