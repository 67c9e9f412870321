"""Plays a study: from its file to its points, tables, figures and page."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from astra_ns3.errors import InputError
from astra_ns3.studies.expansion import Expansion, expand
from astra_ns3.studies.file import USUAL_PRESET, Study, read_study
from astra_ns3.studies.result import StudyResult
from astra_ns3.studies.simple_playing import outcomes_in, play_tasks
from astra_ns3.studies.task import PointOutcome
from astra_ns3.studies.writing import write_study

Given = str | os.PathLike[str] | Mapping[str, Any]
Told = Callable[[PointOutcome], None]
_RESULTS = Path("results")


def study(
    file: Given,
    output: str | os.PathLike[str] | None = None,
    preset: str = USUAL_PRESET,
    jobs: int | None = None,
    scheduler: str | None = None,
    only: Iterable[str] = (),
    *,
    retry_failed: bool = False,
) -> StudyResult:
    """Play the points of a study that its folder hasn't, and write its tables, figures and page.

    Args:
        file: path of a study's file, or a mapping as in one, whose paths begin at the working folder.
        output: folder of the study; None: ``results/NAME-PRESET``. Finished points in it are never run again.
        preset: which of the file's sizes; a file without ``laptop`` is played as it stands.
        jobs: how many points at once, on this machine; None: as many as it has cores.
        scheduler: address of a Dask scheduler, ``tcp://host:port``, whose workers play the points.
        only: ``AXIS=VALUE``, also ``part=NAME`` and ``seed=N``: the points that have one of the values of each axis.
        retry_failed: play failed points again.

    Raises:
        InputError: something in the file is wrong; nothing was played or written.
        Interrupted: Ctrl-C; what is done stays.
    """
    expansion = expand(read_study(file), preset, list(only))
    folder = folder_of(expansion, output)
    return play_study(expansion, folder, jobs, scheduler, list(only), retry_failed=retry_failed)


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
    retry_failed: bool = False,
    on_outcome: Told = lambda outcome: None,
) -> StudyResult:
    """As :func:`study`, of points that are known. ``on_outcome`` hears of each that is played."""
    played: list[PointOutcome] = []

    def told(outcome: PointOutcome) -> None:
        played.append(outcome)
        on_outcome(outcome)

    tasks = expansion.tasks(os.fspath(folder.absolute()))
    outcomes = play_tasks(tasks, folder, jobs, scheduler, told, retry_failed)
    shown, outcomes = _with_what_is_there(expansion, dict(outcomes), folder, list(only))
    result = StudyResult(shown, outcomes, folder, len(played))
    write_study(result)
    return result


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
    there = {**outcomes_in(folder, [point.address for point in whole.points]), **outcomes}
    points = tuple(point for point in whole.points if point.address in there)
    parts = tuple(part for part in whole.parts if any(point.part == part.name for point in points))
    return replace(whole, points=points, parts=parts), there


def load_study(folder: Path, study: Study, preset: str = USUAL_PRESET) -> StudyResult:
    """What a study's folder holds of it now; nothing is played or written."""
    expansion = expand(study, preset)
    return StudyResult(expansion, outcomes_in(folder, [point.address for point in expansion.points]), folder)
