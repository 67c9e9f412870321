"""Plays a study: from its file to its points, tables, figures and page."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, Interrupted, ResultsNotSaved
from astra_ns3.experiments.scenario_result import result_in
from astra_ns3.experiments.tables import inert
from astra_ns3.report.figures import with_matplotlib
from astra_ns3.report.page.markup import Markup
from astra_ns3.studies.checking import check_points
from astra_ns3.studies.expansion import Expansion, expand
from astra_ns3.studies.figures.kinds import ENDINGS, written
from astra_ns3.studies.file import Study, figure_file, read_study
from astra_ns3.studies.measures import measures_digest, measures_of
from astra_ns3.studies.page import NOTHING, STUDY, Picture, page
from astra_ns3.studies.playing import is_due_again, play_tasks
from astra_ns3.studies.progress import StudyProgressSink
from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.store import STORED, Store
from astra_ns3.studies.task import PointOutcome
from astra_ns3.studies.usual_preset import USUAL_PRESET
from astra_ns3.studies.workers.cluster import Security
from astra_ns3.whole_file import STUDY_TABLE, whole_file

if TYPE_CHECKING:
    import pandas as pd

Given = str | os.PathLike[str] | Mapping[str, Json]
_RESULTS = Path("results")
_LOG = logging.getLogger(__name__)
_WITHOUT_FIGURES = "matplotlib is not installed: the study has tables but no figures; 'pip install matplotlib' gives it"


STUDY_PARQUET, LAYER_TABLE, MEAN_TABLE = "study.parquet", "layers.csv", "means.csv"
STUDY_FILE, PAGE, FIGURES = "study.yaml", "index.html", "figures"
WRITTEN = (STUDY_TABLE, MEAN_TABLE, LAYER_TABLE, STUDY_PARQUET, PAGE, FIGURES, *STORED)
"""All that a study or a plan writes; a study writes its file, too."""


def study(
    file: Given,
    output: str | os.PathLike[str] | None = None,
    preset: str = USUAL_PRESET,
    jobs: int | None = None,
    scheduler: str | None = None,
    only: Iterable[str] = (),
    *,
    security: Security = None,
    retry_failed: bool = False,
    overwrite: bool = False,
) -> StudyResult:
    """Play the points of a study that its folder hasn't, and write its tables, figures and page.

    Args:
        file: path of a study's file, or a mapping as in one, whose paths begin at the working folder.
        output: folder of the study; None: ``results/NAME-PRESET``. Finished points in it are never run again.
        preset: which of the file's sizes; a file without ``laptop`` is played as it stands.
        jobs: how many points at once, on this machine; None: as many as it has cores.
        scheduler: address of a Dask scheduler whose workers play the points, ``tls://host:port`` or ``tcp://host:port``.
        only: ``AXIS=VALUE``, also ``part=NAME`` and ``seed=N``: the points that have one of the values of each axis.
        security: how to prove to the scheduler who you are, as ``distributed.Client`` takes it: a ``Security``, or
            None for what Dask's own configuration says.
        retry_failed: play failed points again.
        overwrite: also into a folder that holds a run, another study or your own files. What has a name of a study's
            files is replaced.

    Raises:
        InputError: something in the file is wrong; nothing was played or written.
        Interrupted: Ctrl-C; what is done stays.
    """
    expansion = expand(read_study(file), preset, list(only))
    folder = folder_of(expansion, output)
    return play_study(
        expansion,
        folder,
        jobs,
        scheduler,
        list(only),
        security=security,
        retry_failed=retry_failed,
        overwrite=overwrite,
    )


def folder_of(expansion: Expansion, output: str | os.PathLike[str] | None) -> Path:
    """The study's folder, unless it is named: ``results/NAME-PRESET``."""
    if output is not None:
        return Path(output)
    return _RESULTS / "-".join(word for word in (expansion.study.name, expansion.preset) if word)


def play_study(
    expansion: Expansion,
    folder: Path,
    jobs: int | None = None,
    scheduler: str | None = None,
    only: Iterable[str] = (),
    *,
    security: Security = None,
    retry_failed: bool = False,
    overwrite: bool = False,
    progress: StudyProgressSink | None = None,
) -> StudyResult:
    """Play a study as :func:`study` does, of known points; ``progress`` hears how far it is."""
    store = Store(folder, expansion.study.name)
    if not overwrite:
        store.check_free((STUDY_FILE, *WRITTEN), "name another one or use overwrite=True")
    if not with_matplotlib.is_installed():
        _LOG.warning(_WITHOUT_FIGURES)
    there = known_outcomes(expansion, folder)
    check_points(point for point in expansion.points if point.address not in there)
    try:
        outcomes = play_tasks(
            expansion.tasks(os.fspath(store.folder)),
            store=store,
            jobs=jobs,
            scheduler=scheduler,
            security=security,
            progress=progress,
            retry_failed=retry_failed,
        )
    except Interrupted:
        _put_table(expansion, folder, list(only))
        raise
    played = sum(outcome != there.get(address) for address, outcome in outcomes.items())
    shown, outcomes = _with_what_is_there(expansion, outcomes, folder, list(only))
    outcomes = measured_today(outcomes, store, write=True)
    result = StudyResult(shown, outcomes, folder, played)
    _ = result.layer_rows  # a point whose files are damaged is told before any table is written
    write_study(result, command_of(expansion, folder, only))
    return result


def _put_table(expansion: Expansion, folder: Path, only: list[str]) -> None:
    """Write the table of an interrupted study, in which points that haven't ended are not played."""
    shown, outcomes = _with_what_is_there(expansion, known_outcomes(expansion, folder), folder, only)
    with suppress(OSError):
        put(folder / STUDY_TABLE, _csv(StudyResult(shown, measured_today(outcomes, Store(folder)), folder).frame))


def command_of(expansion: Expansion, folder: Path, only: Iterable[str] = ()) -> str:
    """Return the command that plays the study again."""
    words = ["astra-ns3", "study", expansion.study.document.source, "-o", os.fspath(folder)]
    words += ["--preset", expansion.preset] if expansion.preset else []
    words += [word for each in only for word in ("--only", each)]
    return shlex.join(words)


def _with_what_is_there(
    expansion: Expansion, outcomes: dict[str, PointOutcome], folder: Path, only: list[str]
) -> tuple[Expansion, dict[str, PointOutcome]]:
    """After ``only`` some points, the tables have those too that the store had before."""
    if not only:
        return expansion, outcomes
    try:
        whole = expand(expansion.study, expansion.preset or USUAL_PRESET)
    except InputError:  # of a point that was not asked for
        return expansion, outcomes
    if not outcomes.keys() <= {point.address for point in whole.points}:
        _LOG.warning("the program or a file changed while the study was played: tables have only what --only asked for")
        return expansion, outcomes
    there = {**known_outcomes(whole, folder), **outcomes}
    points = tuple(point for point in whole.points if point.address in there)
    parts = tuple(part for part in whole.parts if any(point.part == part.name for point in points))
    return replace(whole, points=points, parts=parts), there


def known_outcomes(expansion: Expansion, folder: Path) -> dict[str, PointOutcome]:
    """Return what the folder has of the points, by address; nothing is played or written."""
    store, found = Store(folder), {}
    for point in expansion.points:
        outcome = None if point.address in found else store.outcome(point.address)
        if outcome is not None:
            found[point.address] = outcome
    return found


def standing_outcomes(expansion: Expansion, folder: Path, *, retry_failed: bool) -> dict[str, PointOutcome]:
    """Return those of :func:`known_outcomes` that playing the study would leave as they are."""
    requests = {point.address: point.request for point in expansion.points}
    return {
        address: outcome
        for address, outcome in known_outcomes(expansion, folder).items()
        if not is_due_again(requests[address], outcome, retry_failed=retry_failed)
    }


def load_study(
    file: Given, folder: str | os.PathLike[str], preset: str = USUAL_PRESET, only: Iterable[str] = ()
) -> StudyResult:
    """Return what a study's folder holds of it now; nothing is played or written. Raises InputError."""
    expansion = expand(read_study(file), preset, list(only))
    outcomes = measured_today(known_outcomes(expansion, Path(folder)), Store(folder))
    return StudyResult(expansion, outcomes, Path(folder))


def measured_today(
    outcomes: Mapping[str, PointOutcome], store: Store, *, write: bool = False
) -> dict[str, PointOutcome]:
    """The outcomes with today's measures, from the runs' folders; ``write``: for the next time, too.

    A point without a run that can be read keeps what it has, and so does one that is only told as failed: the store
    has no outcome of it, and is given none.
    """
    return {address: _today(outcome, store, write=write) for address, outcome in outcomes.items()}


def _today(outcome: PointOutcome, store: Store, *, write: bool) -> PointOutcome:
    if outcome.measured_with == measures_digest() or store.outcome(outcome.address) is None:
        return outcome
    try:
        measures = measures_of(result_in(store.point_folder(outcome.address)))
    except Exception:  # it left no run that can be read, or had not come far enough
        return outcome
    found = replace(outcome, measures=measures, measured_with=measures_digest())
    if write:
        with suppress(OSError), store.alone(outcome.address):  # of a folder that can't be written: anew the next time
            store.write(found)
    return found


def write_study(result: StudyResult, command: str, first: Markup = NOTHING, kind: str = STUDY) -> None:
    """Write all of it; ``command``: what plays the study again; ``first`` and ``kind``: as :func:`page` has them.

    Raises ResultsNotSaved.
    """
    folder = result.folder
    try:
        (folder / FIGURES).mkdir(parents=True, exist_ok=True)
        put(folder / STUDY_TABLE, _csv(result.frame))
        put(folder / MEAN_TABLE, _csv(result.means))
        put(folder / LAYER_TABLE, _csv(result.layers))
        with whole_file(folder / STUDY_PARQUET, by_owner=True) as partial:
            result.frame.to_parquet(partial, index=False)
        _remove_old_figures(result)
        if text := result.expansion.study.text:
            put(folder / STUDY_FILE, text)
        put(folder / PAGE, page(result, _figures(result), command, first, kind))
    except OSError as error:
        raise ResultsNotSaved(f"{folder}: cannot be written: {error.strerror or error}") from error
    except InputError as error:
        raise ResultsNotSaved(str(error)) from error


def _csv(frame: pd.DataFrame) -> str:
    """A table as text; what names columns and values may look like a formula to a spreadsheet, and stays text."""
    return str(frame.map(inert).rename(columns=inert).to_csv(index=False))


def _remove_old_figures(result: StudyResult) -> None:
    """Remove pictures that the study's file in the folder has and today's hasn't."""
    with suppress(InputError):  # of a folder without such a file
        before = read_study(result.folder / STUDY_FILE)
        for name in _picture_files(before) - _picture_files(result.expansion.study):
            (result.folder / FIGURES / name).unlink(missing_ok=True)


def _picture_files(study: Study) -> set[str]:
    """Return the names of all files of a study's figures."""
    names = [figure_file(name, figure) for name, part in study.config.parts.items() for figure in part.figures]
    return {f"{name}{ending}" for name in names for ending in ENDINGS}


def _figures(result: StudyResult) -> list[Picture]:
    """Write each figure of each part as a file, and return them as SVG; none without matplotlib."""
    pictures: list[Picture] = []
    if not with_matplotlib.is_installed():
        return pictures
    for part in result.expansion.parts:
        view = result.view(part)
        for name, figure in part.config.figures.items():
            paths = written(view, figure, result.folder / FIGURES, figure_file(part.name, name))
            svg = next(path for path in paths if path.suffix == ".svg")
            pictures.append(Picture(part.name, name, svg.read_text(encoding="utf-8")))
    return pictures


def put(path: Path, text: str) -> None:
    """Put the file in place whole."""
    with whole_file(path, by_owner=True) as partial:
        partial.write_text(text, encoding="utf-8")
