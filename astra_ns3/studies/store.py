"""The store of a study's results: a folder for each point, named after all that its results depend on.

A point is finished when its folder holds ``point.json``. The folder appears whole, under its final name; a run without
``point.json`` was cut off while it was measured, which is made good. Every process may read at any time. Writing a
point takes its lock, the whole study another one, held by the client: both go with the process that holds them.
"""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import os
import shutil
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path

from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.errors import failing, refuse, wrong
from astra_ns3.experiments.store import check_for_results, holds_run
from astra_ns3.studies.journal import Journal
from astra_ns3.studies.task import PointOutcome
from astra_ns3.whole_file import POINT_FILE, POINTS, STUDY_MARK, in_place

_LOG = logging.getLogger(__name__)
ADDRESS_LETTERS = 20
"""So much of a point's address names its folder."""
JOURNAL, LOCKS, INDEX_FILE = "journal", "locks", "index.sqlite"
STORED = (POINTS, JOURNAL, LOCKS, INDEX_FILE)
"""All that a store has besides its mark."""
# What file systems say that can't lock files.
_WITHOUT_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK)
_LOOK_SECONDS = 0.1


class Store:
    """The folder of one study, which has the name of its file."""

    def __init__(self, folder: str | os.PathLike[str], name: str = "") -> None:
        self.folder = Path(folder).expanduser().absolute()
        self.name = name
        self.journal = Journal(self.folder / JOURNAL)

    def check_free(self, written: Iterable[str], otherwise: str = "name another one", *, known: bool = False) -> None:
        """Raise InputError if the folder holds a run, a study of another name, or without a mark any of ``written``.

        ``otherwise``: ends the error. ``known``: other files tell that the folder is of who writes.
        """
        refuse(self.folder.exists() and not self.folder.is_dir(), "is a file, expected a folder", self.folder)
        other = _study_document(self.folder / STUDY_MARK).get("name") or self.name
        found = "a run" if holds_run(self.folder) else f"the study '{other}'" if other != self.name else ""
        if not found and not known and not os.path.lexists(self.folder / STUDY_MARK):
            there = (name for name in written if os.path.lexists(self.folder / name))
            found = next((f"{name}, and no mark of a study, a plan or a budget" for name in there), "")
        refuse(found != "", f"the folder holds {found}; {otherwise}", self.folder)

    @property
    def points(self) -> Path:
        """The folder of all points."""
        return self.folder / POINTS

    def point_folder(self, address: str) -> Path:
        """Return the folder where the results of a point lie, or will."""
        return self.points / address[:ADDRESS_LETTERS]

    def outcome(self, address: str) -> PointOutcome | None:
        """How a point ended; None: it is not finished."""
        outcome = read_outcome(self.point_folder(address) / POINT_FILE)
        return outcome if outcome is not None and outcome.address == address else None

    def write(self, outcome: PointOutcome) -> None:
        """Put ``point.json`` in its place: from then on the point is finished. Raises OSError."""
        folder = self.point_folder(outcome.address)
        folder.mkdir(parents=True, exist_ok=True)
        document = json.dumps(asdict(outcome), indent=2, default=lambda number: number.item())
        self.put(folder / POINT_FILE, f"{document}\n")

    @staticmethod
    def put(file: Path, text: str) -> None:
        """Put a text in the place of a file, which a kill leaves as it was, or whole. Raises OSError."""
        with in_place(file) as partial:
            partial.write_text(text, encoding="utf-8")

    def clear(self, address: str) -> None:
        """Remove what there is of a point, attempts that were killed included; its lock is held."""
        folder = self.point_folder(address)
        self._remove_partial(folder.name)
        with suppress(FileNotFoundError):  # renamed first, so that what a kill leaves of it is no run
            folder.rename(self.points / f".{folder.name}.{os.getpid()}.old.partial")
        self._remove_partial(folder.name)

    def _remove_partial(self, name: str) -> None:
        for path in self.points.glob(f".{name}.*.partial"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    @contextmanager
    def alone(self, address: str, while_waiting: Callable[[], object] = lambda: None) -> Iterator[None]:
        """While this lasts no other process plays or writes the point; where files can't be locked, in hope.

        Waits for one that does, and calls ``while_waiting`` again and again, which may raise.
        """
        path = self.folder / LOCKS / address[:ADDRESS_LETTERS]
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _locked(path, while_waiting)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)
            os.close(file)

    @contextmanager
    def study(self) -> Iterator[str]:
        """While this lasts no other study plays into the store; yields a name for this one that workers can read.

        Raises InputError if another one does, or if the store can't be written.
        """
        check_for_results(self.folder)
        mark_file = self.folder / STUDY_MARK
        refuse(
            mark_file.is_symlink(),
            "is a link, expected a study's own file; remove it, or name another folder",
            mark_file,
        )
        with failing(OSError, "cannot write here", self.folder):
            self.points.mkdir(parents=True, exist_ok=True)
            file = os.open(mark_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno in _WITHOUT_LOCKS:
                    _LOG.warning("%s: files can't be locked here: see that no two studies use this folder", self.folder)
                elif isinstance(error, BlockingIOError):
                    raise wrong(f"another study is played here{_whose(file)}", self.folder) from error
                else:
                    raise wrong(f"cannot be locked: {error.strerror}", self.folder) from error
            mark = uuid.uuid4().hex
            text = json.dumps({"study": mark, "name": self.name, "host": socket.gethostname(), "pid": os.getpid()})
            os.ftruncate(file, 0)
            os.pwrite(file, text.encode(), 0)
            yield mark
        finally:
            os.close(file)

    def is_of_study(self, mark: str) -> bool:
        """Whether the folder, as this process sees it, is the one in which the study ``mark`` plays."""
        return _study_document(self.folder / STUDY_MARK).get("study") == mark

    def finished_folders(self) -> dict[str, int]:
        """The folders with a finished point, by name, each with the time of its ``point.json`` in nanoseconds."""
        found: dict[str, int] = {}
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.points):
                if not entry.name.startswith("."):
                    with suppress(OSError):
                        found[entry.name] = (Path(entry.path) / POINT_FILE).stat().st_mtime_ns
        return found


def read_outcome(file: Path) -> PointOutcome | None:
    """Return what a ``point.json`` says; None if there is none that can be read: the point is not finished then."""
    try:
        return outcome_of(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return None


def outcome_of(document: Json) -> PointOutcome | None:
    """The outcome that was written as ``document``; None if it is none, or one of another version's."""
    if not isinstance(document, dict):
        return None
    try:
        outcome = PointOutcome(
            **{field.name: document[field.name] for field in fields(PointOutcome) if field.name in document}
        )
    except TypeError:  # something is missing
        return None
    return outcome if _is_sound(outcome) else None


def _is_sound(outcome: PointOutcome) -> bool:
    """Whether all is of the kind that it must be."""
    if not isinstance(outcome.address, str) or not isinstance(outcome.measured_with, str):
        return False
    if not isinstance(outcome.warnings, list) or not all(isinstance(each, str) for each in outcome.warnings):
        return False
    for numbers in (outcome.measures, outcome.cost, outcome.limits):  # by name, some of them unknown
        if not isinstance(numbers, dict) or not all(isinstance(each, int | float | None) for each in numbers.values()):
            return False
    error = outcome.error
    if error is None:
        return outcome.status in ("done", "failed")
    return outcome.status == "failed" and isinstance(error, dict) and isinstance(error.get("message"), str)


def _locked(path: Path, while_waiting: Callable[[], object]) -> int:
    """An open file that is locked, and is the one that lies at ``path`` now: whoever held it before has removed it."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_ino == path.stat().st_ino:
                return file
        except FileNotFoundError:
            pass
        except BlockingIOError:
            try:
                while_waiting()
            except BaseException:
                os.close(file)
                raise
            time.sleep(_LOOK_SECONDS)
        except OSError as error:
            if error.errno in _WITHOUT_LOCKS:
                return file
            os.close(file)
            raise
        os.close(file)


def _study_document(file: Path) -> JsonObject:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) else {}


def _whose(file: int) -> str:
    try:
        document = json.loads(os.pread(file, 4096, 0))
        return f", by process {document['pid']} on {document['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return ""
