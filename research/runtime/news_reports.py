"""News reports for programs: one call that returns when the report is finished."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from research.application import Application, get_application
from research.core.events import Event
from research.core.records import Report, Run, RunOptions

log = logging.getLogger(__name__)


def news_report(
    topic: str,
    *,
    sections: int | None = None,
    reflections: int | None = None,
    sources: Sequence[str] | None = None,
    model: str = "",
    save: bool | str | Path = False,
    progress: Callable[[Event], None] | None = None,
    owner: str = "local",
    follows: str = "",
) -> Report:
    """Research a topic in the news and return the finished report.

    `sections` and `reflections` (rounds of each section) are upper limits, `sources` the names of
    the sources to search (`("news",)`, `("news", "library")`), and `model` (`provider:name`)
    reflects and writes; the settings decide what is not given. `progress` is called with each event
    as it happens; its `data` is one of the records of `research.core.events`, such as `PlanMade`,
    `TaskFinished`, `SectionAdvanced`, `AnswerWritten` or `ReportSaved`.

    Every report is saved as `deep_search_report_{topic}_{time}.md` in the folder of `OUTPUT_DIR`,
    or in the folder given as `save`. Where `OUTPUT_DIR` is off, True saves in the current folder.
    `get_application().saved_report(report.run.id)` returns the path of the file, or why it could not be
    saved, which raises no exception.

    `report_markdown` and `report_json` render the returned `Report` with the citations of
    `number_report_answer(report)`. `report.run.status` is "done", or "failed" with the reason in
    `report.run.error`, or "waiting" if plans have to be approved: `runs.approve`
    of the application continues it.

    Ctrl-C, and any exception of `progress`, stops the run and is raised again; the findings are
    kept, and `runs.resume` of the application continues from them.

    Raises:
        QuestionError: the topic cannot be researched.
        ValueError: a limit is out of its bounds, or there is no such source.
        SettingError: a setting is not usable.
        StoreError: the store cannot be used.
    """
    application = get_application()
    given = {
        "sections": sections,
        "reflections": reflections,
        "sources": None if sources is None else tuple(sources),
        "model": model or None,
    }
    values = application.services.report_options().model_dump() | {k: v for k, v in given.items() if v is not None}
    options = RunOptions.model_validate(values)
    if not options.sections or not options.sources:
        raise ValueError("A report has at least one section, and looks in at least one source.")
    folder = _save_folder(application, save)
    run = application.start_report(topic, options=options, owner=owner, follows=follows, save_folder=folder)
    return _follow_to_end(application, run, 0, folder, progress)


def load_report(
    path: str | Path,
    *,
    save: bool | str | Path = False,
    progress: Callable[[Event], None] | None = None,
    owner: str = "local",
) -> Report:
    """Continue a report from its saved state and return it when it is finished.

    Nothing that the state holds is searched or written again; a finished report is returned as it
    is. `save`, `progress` and the result are those of `news_report`.

    Raises:
        OSError: the file cannot be read.
        StateError: it holds no state of a report, or one that cannot be continued.
        SettingError: a setting is not usable.
        StoreError: the store cannot be used.
    """
    application = get_application()
    folder = _save_folder(application, save)
    run = application.restore_report(Path(path), owner=owner, save_folder=folder)
    seen = application.runs.events(run.id, owner=owner)
    run = application.runs.resume(run.id, owner=owner) or run
    return _follow_to_end(application, run, seen[-1].seq, folder, progress)


def _save_folder(application: Application, save: bool | str | Path) -> Path | None:
    """Return the folder that the argument `save` of `news_report` asks for, None if it names none."""
    if isinstance(save, bool):
        return (application.settings.reports_folder or Path.cwd()) if save else None
    return Path(save)


def _follow_to_end(
    application: Application, run: Run, after: int, folder: Path | None, progress: Callable[[Event], None] | None
) -> Report:
    """Follow a run until it has ended and return its report."""
    runs, owner = application.runs, run.owner
    try:
        for event in runs.follow(run.id, after, owner=owner):
            if progress:
                progress(event)
    except BaseException:
        runs.stop(run.id, owner=owner)
        for _ in runs.follow(run.id, owner=owner):
            pass
        raise
    if folder:
        _, problem = application.saved_report(run.id, owner=owner)
        if problem:
            log.warning("the report is not saved: %s", problem)
    runs.resources.report_files.flush()
    report = runs.report(run.id, owner=owner)
    if report is None:
        raise LookupError(f"Run {run.id} was deleted meanwhile.")
    return report
