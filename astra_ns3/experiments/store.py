"""The output folder: files are written to a temporary folder first and appear under their final names only when whole.

A folder *holds a run* when it has any file of a name that a run writes. A folder with a run is refused unless it is to
be overwritten. Then only the files of the run, and of its jobs or seeds, are replaced: whatever else lies there stays.
The temporary folder lies beside the output folder, or inside where that can't be exchanged in one step
(:mod:`astra_ns3.experiments.replacing`).
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import failing, refuse, wrong
from astra_ns3.experiments.astra_sim_tables import BACKEND_END_TO_END, DETAILED, END_TO_END
from astra_ns3.experiments.flow_tables import FLOW_COMPLETION, GOODPUT
from astra_ns3.experiments.forecasting.foreseen import EXPERTS, MEMORY
from astra_ns3.experiments.layer_table import LAYERS
from astra_ns3.experiments.replacing import (
    PENDING,
    alone,
    clear_away,
    put_in_place,
    recover,
    replace_folder,
    whole_run,
)
from astra_ns3.experiments.run_tables import COLLECTIVES, JOBS, NPUS, SWITCH
from astra_ns3.network.recorded import RECORDED_TABLES
from astra_ns3.report.timeline.usual import FILE as TIMELINE
from astra_ns3.whole_file import RUN_FILE, STUDY_MARK

FORMAT = "astra-ns3 run"
"""The format in the run.json of a run."""
SCENARIO_FORMAT = "astra-ns3 scenario"
"""The format in the run.json of several tenants, whose results lie in folders beside it."""
SEEDS_FORMAT = "astra-ns3 seeds"
"""The format in the run.json of several seeds, whose runs lie in folders beside it."""
RESULT_FILES = (
    END_TO_END,
    DETAILED,
    BACKEND_END_TO_END,
    NPUS,
    COLLECTIVES,
    SWITCH,
    FLOW_COMPLETION,
    GOODPUT,
    MEMORY,
    EXPERTS,
    JOBS,
    *(table.file for table in (*RECORDED_TABLES, LAYERS)),
    RUN_FILE,
)


def tenant_folder(output: Path, name: str) -> Path:
    """Where the results of a tenant lie below the output folder of its run."""
    return output / f"job-{name}"


class RunFolder:
    """One run's way into its folder: :meth:`open`, write into :attr:`staging`, :meth:`commit` or :meth:`discard`."""

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        """Check that ``path`` may be written; raises InputError and touches nothing."""
        self.path = path.expanduser().absolute()
        self._overwrite = overwrite
        self._staging: Path | None = None
        self._made_parents: list[Path] = []
        self._check()

    @property
    def staging(self) -> Path:
        """The temporary folder; only between :meth:`open` and :meth:`commit` or :meth:`discard`."""
        if self._staging is None:
            raise RuntimeError("the run folder is not open")
        return self._staging

    def open(self) -> Path:
        """Make the temporary folder and return it; raises InputError if that is not possible."""
        exists = self.path.is_dir()
        inside = exists and not self._may_be_exchanged()
        try:
            if not exists:
                self._make_parents()
            self._staging = _new_folder(self.path if inside else self.path.parent, self.path.name)
        except OSError as error:
            self._remove_parents()
            raise wrong(f"cannot write here: {error.strerror}", self.path) from error
        return self._staging

    def commit(self) -> Path:
        """Give the files their final names and return the folder; raises InputError or OSError, and keeps them then."""
        staging = self.staging
        if not self.path.exists():
            staging.rename(self.path)
        elif not self._overwrite and holds_run(self.path):
            self._staging = None
            raise wrong(f"another run was saved here meanwhile; this one's files are in {staging}", self.path)
        else:
            self._replace(staging)
        self._staging = None
        return self.path

    def discard(self) -> None:
        """Remove the temporary folder and what was made for it; safe to call at any time."""
        if self._staging is not None:
            shutil.rmtree(self._staging, ignore_errors=True)
            self._staging = None
            self._remove_parents()

    def keep(self) -> None:
        """Leave the temporary folder where it is, for good."""
        self._staging = None

    def _replace(self, staging: Path) -> None:
        """Put the new run in the place of whatever the folder holds."""
        with alone(self.path.parent):
            recover(self.path)
            old_files = _files_of_run(self.path, kept=_named_by_run(staging)[1])
            if staging.parent != self.path:
                if self._may_be_exchanged() and replace_folder(staging, self.path):
                    clear_away(staging, old_files, self.path)
                    return
                self._staging = staging = Path(shutil.move(staging, self.path / staging.name))
            try:
                put_in_place(staging, self.path, old_files)
            except OSError:
                pending = self.path / PENDING
                self._staging = pending if pending.is_dir() else staging
                raise

    def _may_be_exchanged(self) -> bool:
        """Whether the folder holds a run and nothing of anybody else's, and may be moved."""
        if not holds_run(self.path):
            return False
        if os.path.ismount(self.path) or self.path.is_symlink() or not os.access(self.path.parent, os.W_OK):
            return False
        if Path.cwd().resolve().is_relative_to(self.path.resolve()):
            return False
        return {entry.name for entry in self.path.iterdir()} <= set(_files_of_run(self.path))

    def _check(self) -> None:
        check_for_results(self.path)
        with failing(OSError, "cannot write here", self.path), suppress(FileNotFoundError):
            self.path.lstat()
        if self.path.is_symlink() and not self.path.exists():
            raise wrong(f"the output is a link to {self.path.readlink()}, which does not exist", self.path)
        refuse(
            self.path.exists() and not self.path.is_dir(),
            "the output must be a folder, and this is a file",
            self.path,
        )
        refuse((self.path / STUDY_MARK).exists(), "the folder holds a study or a plan; name another one", self.path)
        refuse(
            bool(self.path.is_dir() and not self._overwrite and holds_run(self.path)),
            "the folder holds a run; name another one or use overwrite=True",
            self.path,
        )
        nearest = next(folder for folder in (self.path, *self.path.parents) if folder.exists())
        refuse(
            not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK),
            f"cannot write here: {nearest} is read-only, or you have no permission in it",
            self.path,
        )

    def _make_parents(self) -> None:
        missing = [folder for folder in self.path.parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            self._made_parents.insert(0, folder)

    def _remove_parents(self) -> None:
        for folder in self._made_parents:
            try:
                folder.rmdir()
            except OSError:
                break
        self._made_parents = []


def check_for_results(folder: Path) -> None:
    """Raise InputError for a folder of all kinds of files that results would spill into.

    These are the root, the user's home, the folders above it, and those right below the root. The working folder, an
    empty one and one that holds results aren't refused.
    """
    with suppress(OSError, RuntimeError):  # others tell of a folder that can't be read; there may be no home
        home, place = Path.home().resolve(), folder.resolve()
        below_root = place.parent == place.parent.parent and place != Path.cwd().resolve()
        results = any((place / name).exists() for name in (RUN_FILE, PENDING, STUDY_MARK))
        refuse(
            (below_root or place in (home, *home.parents)) and any(place.iterdir()) and not results,
            f"holds files that no run made; name a folder for the results, such as {folder / 'results'}",
            folder,
        )


def holds_run(folder: Path) -> bool:
    """Whether ``folder`` has a file of a name that a run writes."""
    return any((folder / name).exists() for name in (*RESULT_FILES, PENDING))


def _files_of_run(folder: Path, kept: Collection[str] = ()) -> list[str]:
    """Names of the files below ``folder`` that belong to the run it holds, but not in the folders ``kept``."""
    listed, parts = _named_by_run(folder)
    files = [name for name in {*RESULT_FILES, *listed} if (folder / name).is_file()]
    for part in parts - set(kept):
        if RUN_FILE in _named_by_run(folder / part)[0] and not (folder / part).is_symlink():
            files += [f"{part}/{name}" for name in _files_of_run(folder / part)]
    return sorted(files)


def _named_by_run(folder: Path) -> tuple[set[str], set[str]]:
    """Return which files and which folders the run in ``folder`` has beside each other; nothing if no run is there."""
    files: list[Json] = []
    parts: list[Json] = []
    with suppress(OSError, ValueError, KeyError, TypeError):
        content = json.loads((whole_run(folder) / RUN_FILE).read_text(encoding="utf-8"))
        if content["format"] in (FORMAT, SCENARIO_FORMAT, SEEDS_FORMAT):
            files = [*content["files"], *([TIMELINE] if content["format"] == FORMAT else [])]
            parts = [str(tenant_folder(Path(), job["name"])) for job in content.get("jobs", ())]
            parts += [run["folder"] for run in content.get("runs", ())]
    return _plain(files), _plain(parts)


def _plain(names: Iterable[Json]) -> set[str]:
    """Return those that are names, and no paths to elsewhere."""
    return {name for name in names if isinstance(name, str) and name == Path(name).name and name not in ("", "..")}


def _new_folder(parent: Path, name: str) -> Path:
    # Not tempfile.mkdtemp: its mode 0700 would stay on the folder that others are to read.
    for number in itertools.count():
        folder = parent / f".{name}.{os.getpid()}.{number}.partial"
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("unreachable")
