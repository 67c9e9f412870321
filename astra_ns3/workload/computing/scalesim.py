"""Cycles of products of matrices as PyPI's ``scalesim`` 2.x counts them, run as it is in a process of its own.

Its counts stay in a file for each array, so that a product is simulated once.
"""

from __future__ import annotations

import csv
import json
import logging
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from astra_ns3.config.model.compute import Systolic
from astra_ns3.errors import failing, wrong
from astra_ns3.python_command import python_command
from astra_ns3.whole_file import in_place
from astra_ns3.workload.computing.folds import ProductSizes

_LOG = logging.getLogger(__name__)
_NAME = "scalesim"
_VERSION = "2."
_INSTALL = "pip install 'scalesim>=2,<3'"
_ASK = "import importlib.metadata as found; sys.stdout.write(found.version('scalesim'))"
_PLAY = "import runpy; runpy.run_module('scalesim.scale', run_name='__main__', alter_sys=True)"
_RUN = "products"
_SECONDS = 1800
_SHORT_NAMES = {"output_stationary": "os", "weight_stationary": "ws", "input_stationary": "is"}
# Memories don't make the array wait in this mode ("CALC"); their sizes only have to be there.
_CONFIGURATION = """[general]
run_name = {run}
[architecture_presets]
ArrayHeight = {rows}
ArrayWidth = {columns}
IfmapSramSzkB = 1024
FilterSramSzkB = 1024
OfmapSramSzkB = 1024
IfmapOffset = 0
FilterOffset = 10000000
OfmapOffset = 20000000
Dataflow = {dataflow}
Bandwidth = 10
[run_presets]
InterfaceBandwidth = CALC
"""


class ScalesimCycles:
    """``python``: the interpreter that has it; ``keys``: the array; ``cache``: the folder of what was counted."""

    def __init__(self, python: str, version: str, keys: Systolic, cache: Path) -> None:
        self._python = python
        self._dataflow = _SHORT_NAMES[keys.dataflow]
        self._rows, self._columns = keys.rows, keys.columns
        self._file = cache / f"{version}-{self._dataflow}-{keys.rows}x{keys.columns}.json"
        self._known = _read(self._file)

    @classmethod
    def found(cls, keys: Systolic) -> ScalesimCycles | None:
        """scalesim 2.x as ``keys`` ask for it; None if ``auto`` didn't find it.

        Raises InputError if it has to be there: by ``method``, or because ``python`` names an interpreter for it.
        """
        needed = keys.method == "scalesim" or keys.python is not None
        if not needed and find_spec(_NAME) is None:
            return None
        python = keys.python or sys.executable
        version = _version(python)
        if version.startswith(_VERSION):
            cache = Path(keys.cache) if keys.cache else Path.home() / ".cache" / "astra-ns3" / _NAME
            return cls(python, version, keys, cache)
        if needed:
            what = f"{_NAME} {version}" if version else f"no {_NAME}"
            raise wrong(f"has {what}, which compute.method needs in version 2: {_INSTALL}", python)
        return None

    def cycles(self, shape: ProductSizes) -> int:
        """Cycles of a product; ``shape``: m, n, k. Raises InputError with scalesim's words if it fails."""
        key = "x".join(map(str, shape))
        if key not in self._known:
            self._known[key] = self._counted(shape)
            self._keep()
        return self._known[key]

    def _counted(self, shape: ProductSizes) -> int:
        with tempfile.TemporaryDirectory(prefix="astra-ns3-") as folder:
            run_folder = Path(folder)
            (run_folder / "array.cfg").write_text(
                _CONFIGURATION.format(run=_RUN, rows=self._rows, columns=self._columns, dataflow=self._dataflow),
                encoding="utf-8",
            )
            (run_folder / "products.csv").write_text(
                "Layer,M,N,K,\none," + ",".join(map(str, shape)) + ",\n", encoding="utf-8"
            )
            files = ["-c", "array.cfg", "-t", "products.csv", "-p", "results", "-i", "gemm"]
            said = _played(self._python, files, run_folder)
            try:
                report = (run_folder / "results" / _RUN / "COMPUTE_REPORT.csv").read_text(encoding="utf-8")
                last_cycle = int(list(csv.reader(report.splitlines()))[1][1])
            except (OSError, IndexError, ValueError) as error:
                raise wrong(f"{_NAME} failed at {' x '.join(map(str, shape))} (m, n, k): {said}") from error
        return last_cycle + 1  # it counts from 0 and tells the number of the last one

    def _keep(self) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with in_place(self._file) as partial:
                partial.write_text(json.dumps({**_read(self._file), **self._known}, indent=1), encoding="utf-8")
        except OSError as error:
            _LOG.warning("%s: what scalesim counted can't be kept: %s", self._file, error.strerror or error)


def _version(python: str) -> str:
    """The version of scalesim that an interpreter has; "" for none. Raises InputError if it can't be run."""
    with failing((OSError, subprocess.SubprocessError), f"key 'compute.python': {python} can't be run"):
        command = python_command(_ASK, python=python)
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS).stdout.strip()


def _played(python: str, files: list[str], folder: Path) -> str:
    """Run scalesim; the last line that it said."""
    command = python_command(_PLAY, *files, python=python)
    with failing((OSError, subprocess.SubprocessError), f"{_NAME} can't be run"):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_SECONDS)
    lines = (done.stderr + done.stdout).strip().splitlines() or ["it said nothing"]
    return lines[-1] if done.returncode else "it wrote no report"


def _read(file: Path) -> dict[str, int]:
    """The counts so far; nothing if there is no such file, or it holds something else."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(key): value for key, value in found.items() if isinstance(value, int) and value > 0}
