"""Files that appear under their names only when they are whole, and never take another file's place unasked.

The files of a result, without which it can't be read, keep their place even if asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from astra_ns3.errors import failing, refuse

RUN_FILE = "run.json"
"""The file that a run's folder has; it lists the others."""
STUDY_MARK = ".study.json"
"""The file that a study's or a plan's folder has."""
POINT_FILE = "point.json"
"""The file that the folder of a study's point has."""
POINTS = "points"
"""The folder of a study's points."""
STUDY_TABLE, PLAN_TABLE = "study.csv", "plan.csv"
"""The table of a study's points, and of a plan's."""
VARIED, VARIED_TABLE = "vary.json", "vary.csv"
"""The file that the folder of plans for several clusters has, of which its page is made, and their table."""
WHOLE_MODEL = "whole model"
"""The words of a plan's table for a plan that packets have played as it is."""
# Endings of what is read again of a study; its pages and pictures are made of these.
_DATA = (".csv", ".json", ".parquet", ".sqlite", ".yaml")


def check_free(target: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise InputError if there is a file, or a link, named ``target`` that isn't to be replaced."""
    _check_not_owned(Path(target))
    refuse(
        bool(os.path.lexists(target) and not overwrite), "exists already; name another file or use --overwrite", target
    )


def check_not_read(folder: Path, written: Iterable[str], read: Iterable[str | os.PathLike[str] | None]) -> None:
    """Raise InputError if a file that a command reads is one of those that it writes into a folder."""
    inputs = {Path(each).resolve() for each in read if each is not None}
    for path in (folder / name for name in written):
        refuse(path.resolve() in inputs, "is read by the command that would replace it; name another folder", path)


@contextmanager
def whole_file(target: str | os.PathLike[str], *, by_owner: bool = False) -> Iterator[Path]:
    """Yield where to write; what was written becomes ``target`` at the end, in the place of what has that name.

    A link is replaced and not followed. If the block fails, nothing has changed. Raises InputError for an OSError, and
    for a file of a result; ``by_owner``: the result itself is written.
    """
    path = Path(target)
    if not by_owner:
        _check_not_owned(path)
    with failing(OSError, "cannot be written", path), in_place(path) as partial:
        yield partial


@contextmanager
def in_place(path: Path) -> Iterator[Path]:
    """As :func:`whole_file`, for any file, with OSErrors as they are.

    The file is written in a new folder, to which nobody else has access, so that it is no link of others'.
    """
    with TemporaryDirectory(prefix=".", suffix=".partial", dir=path.parent) as folder:
        partial = Path(folder) / path.name  # the ending tells writers the format
        yield partial
        partial.replace(path)


def _check_not_owned(path: Path) -> None:
    """Raise InputError for a file without which the result in its folder can't be read."""
    study = path.suffix in _DATA and path.exists() and (path.parent / STUDY_MARK).exists()
    point = path.name == POINT_FILE and path.exists() and _is_of_study(path)
    plans = path.name in (VARIED, VARIED_TABLE) and path.exists() and (path.parent / VARIED).exists()
    owners = {"run": path.name in _files_of_run(path.parent), "study": study, "point": point, "plans": plans}
    owner = next((owner for owner, owns in owners.items() if owns), "")
    refuse(bool(owner), f"is a file of the {owner} in this folder, which can't be read without it; name another", path)


def _is_of_study(path: Path) -> bool:
    """Return whether a file lies in the folder of a point, which lies in a folder of points in the study's."""
    return any((above / STUDY_MARK).exists() for above in path.absolute().parents[2:3])


def _files_of_run(folder: Path) -> list[str]:
    """Return the names of the files of the run in a folder; empty if there is none."""
    try:
        document = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        return [RUN_FILE, *document["files"]] if str(document["format"]).startswith("astra-ns3 ") else []
    except (OSError, ValueError, KeyError, TypeError):
        return []
