"""Reports on the news for programs: asked for in one call, which returns when the report is there."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from research import application as engine
from research.core.records import Event, Report, Run, RunOptions

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
    """Reports on a topic in the news, and returns when the report is there.

    `sections` and `reflections` (rounds of each section) are at most so many, `sources` the names of
    where it looks (`("news",)`, `("news", "library")`), `model` reflects and writes, as
    `provider:name`; what is not given is as the settings say. `progress` is called with each event as
    it happens: its `kind` is plan, search, found, section, writing, answer, usage, saved or status,
    its `data` what there is to tell.

    Every report is saved as `deep_search_report_{topic}_{time}.md` in the folder of `OUTPUT_DIR`, or in
    the folder that `save` names. Where `OUTPUT_DIR` is off, True saves in the current folder.
    `runs.saved(report.run.id)` tells where the report is, or why it could not be saved, which is no
    reason for an exception.

    Of the `Report` that is returned `report_markdown(report, cited(report))` and
    `report_json(report, cited(report))` make texts. `report.run.status` is "done", or "failed" with
    the reason in `report.run.error`, or "waiting" if plans are to be approved: `application.approve` goes on.

    Ctrl-C, and whatever `progress` raises, stops the run and is raised again; what was found is kept,
    and `application.resume` goes on with it.

    Raises:
        QuestionError: the topic cannot be researched.
        ValueError: a limit is out of its bounds, or there is no such source.
        SettingError: a setting is not usable.
        StoreError: the store cannot be used.
    """
    here = engine.get_application()
    given = {
        "sections": sections,
        "reflections": reflections,
        "sources": None if sources is None else tuple(sources),
        "model": model or None,
    }
    chosen = here.services.report_options().model_dump() | {k: v for k, v in given.items() if v is not None}
    options = RunOptions.model_validate(chosen)
    if not options.sections or not options.sources:
        raise ValueError("A report has at least one section, and looks in at least one source.")
    folder = _save_folder(save)
    run = engine.start_report(topic, options=options, owner=owner, follows=follows, save_folder=folder)
    return _follow_to_end(run, 0, folder, progress, owner)


def load_report(
    path: str | Path,
    *,
    save: bool | str | Path = False,
    progress: Callable[[Event], None] | None = None,
    owner: str = "local",
) -> Report:
    """Goes on with a report from the state that was saved of it, and returns when it is there. What
    the state holds is neither searched nor asked for again; of a finished one nothing is. `save`,
    `progress` and what is returned are those of `news_report`.

    Raises:
        OSError: the file cannot be read.
        StateError: it holds no state of a report, or one that cannot be gone on with.
        SettingError: a setting is not usable.
        StoreError: the store cannot be used.
    """
    folder = _save_folder(save)
    run = engine.restore_report(Path(path), owner=owner, save_folder=folder)
    seen = engine.events(run.id, owner=owner)
    run = engine.resume_run(run.id, owner=owner) or run
    return _follow_to_end(run, seen[-1].seq, folder, progress, owner)


def _save_folder(save: bool | str | Path) -> Path | None:
    if isinstance(save, bool):
        return (engine.get_application().settings.reports_folder or Path.cwd()) if save else None
    return Path(save)


def _follow_to_end(
    run: Run,
    after: int,
    folder: Path | None,
    progress: Callable[[Event], None] | None,
    owner: str,
) -> Report:
    """Follows a run until it is over."""
    try:
        for event in engine.follow_run(run.id, after, owner=owner):
            if progress:
                progress(event)
    except BaseException:
        engine.stop_run(run.id, owner=owner)
        for _ in engine.follow_run(run.id, owner=owner):
            pass
        raise
    if folder:
        _, why = engine.saved_report(run.id, owner=owner)
        if why:
            log.warning("the report is not saved: %s", why)
    engine.get_application().runs.resources.report_files.flush()
    report = engine.report(run.id, owner=owner)
    if report is None:
        raise LookupError(f"Run {run.id} was deleted meanwhile.")
    return report
