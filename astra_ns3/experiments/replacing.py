"""Puts a new run in the place of an old one such that at any moment, a kill or not, one of the two can be read whole.

A folder that holds nothing but a run is exchanged with the new one in one step (``renameat2``, Linux). Every other one,
which has files of somebody else's, or is a mount point, or lies where folders can't be exchanged, keeps its place. The
new run, whole, first appears below it as :data:`PENDING`, and is then put in place file by file. Until that folder is
gone again it is what :func:`whole_run` names; what was left half done is finished by :func:`recover`.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from astra_ns3.whole_file import RUN_FILE, in_place

PENDING = ".astra-ns3-new-run"
"""Name of a folder with a whole new run that is not yet in its place."""

_REPLACES = ".replaces"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def whole_run(folder: Path) -> Path:
    """Where the run that ``folder`` holds can be read whole: there, or in a new one that waits to be put in place."""
    pending = folder / PENDING
    return pending if (pending / RUN_FILE).is_file() else folder


def replace_folder(new: Path, old: Path) -> bool:
    """Exchange two folders in one step, and give the new one the old one's permissions; False if that can't be done.

    ``new`` is the old folder afterwards.
    """
    if Path.cwd().resolve().is_relative_to(old.resolve()):
        return False  # the user's shell may stand in it, and would be left in a folder that is gone
    try:
        owner = old.stat()
        if (owner.st_uid, owner.st_gid) != (new.stat().st_uid, new.stat().st_gid):
            os.chown(new, owner.st_uid, owner.st_gid)
        shutil.copystat(old, new)
        return _exchange(new, old)
    except OSError:
        return False


def clear_away(old: Path, files: Iterable[str], folder: Path) -> None:
    """Remove the run's ``files`` in ``old``, which was exchanged; what came there meanwhile moves to ``folder``."""
    for name in files:
        (old / name).unlink(missing_ok=True)
    for entry in old.iterdir():
        if not (folder / entry.name).exists():
            entry.rename(folder / entry.name)
    with suppress(OSError):
        old.rmdir()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """While this lasts no other run of ours replaces anything in ``folder``; where files can't be locked, in hope."""
    file = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def put_in_place(staging: Path, folder: Path, old_names: Iterable[str]) -> None:
    """Replace the files ``old_names`` of ``folder``, or of folders in it, by those in ``staging``, another of these."""
    # Written down, for whoever has to finish this knows of the old run no more.
    (staging / _REPLACES).write_text(json.dumps(sorted(old_names)), encoding="utf-8")
    shutil.rmtree(folder / PENDING, ignore_errors=True)  # of a run that never became whole
    staging.rename(folder / PENDING)
    _finish(folder)


def recover(folder: Path) -> None:
    """Finish what a killed process left half done in ``folder``, if it did."""
    if whole_run(folder) != folder:
        _finish(folder)


def _finish(folder: Path) -> None:
    pending = folder / PENDING
    new_names = sorted(file.name for file in pending.iterdir() if file.name != _REPLACES)
    old_names = json.loads((pending / _REPLACES).read_text(encoding="utf-8"))
    # Without run.json a folder is no finished run: it goes first and comes last.
    (folder / RUN_FILE).unlink(missing_ok=True)
    for name in set(old_names) - set(new_names):
        (folder / name).unlink(missing_ok=True)
    for part in sorted({part for name in old_names for part in Path(name).parents[:-1]}, reverse=True):
        with suppress(OSError):  # it holds files of somebody else's
            (folder / part).rmdir()
    for name in sorted(new_names, key=lambda name: name == RUN_FILE):
        with in_place(folder / name) as partial:
            _link_or_copy(pending / name, partial)
    done = folder / f"{PENDING}.done"
    shutil.rmtree(done, ignore_errors=True)
    pending.rename(done)  # from here on the folder itself is the run
    shutil.rmtree(done, ignore_errors=True)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # a file system without links
        shutil.copy2(source, target)


def _exchange(one: Path, other: Path) -> bool:
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    paths = os.fsencode(one), os.fsencode(other)
    return bool(renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0)
