"""Files that lie in the working folder by chance, or by another user's doing, are not taken for the program's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.command import TIMEOUT_SECONDS

from astra_ns3.network.door.installed import installed, ns3_root
from astra_ns3.python_command import python_command

LOAD = """
import os, sys
import astra_ns3
from astra_ns3.network.door.library import load

class Recorder:
    def find_spec(self, name, path=None, target=None):
        if name == "cppyy":
            print(os.getcwd())

before = os.getcwd()
sys.meta_path.insert(0, Recorder())
load()
assert os.getcwd() == before
"""
CONTROLS = """
from pathlib import Path
from astra_ns3.network.door.compiled_control import compiled_control_factory
from astra_ns3.network.door.hooking import load_namespace
from astra_ns3.network.door.python_control import control_functions
load_namespace()
control_functions()
import cppyy
cppyy.gbl.std.function["int(int)"](abs)
compiled_control_factory(Path({control!r}), "AdditiveControl")
"""

TESTS = Path(__file__).parents[1]
DRAW = """
from astra_ns3.network.plan import plan_network
from astra_ns3.report.figures import with_matplotlib
from astra_ns3.report.figures.figure import Axis, Curve, Figure, Panel
from astra_ns3.report.network.figure import draw_network
from support.small_run import small_network

curve = Curve(x=[0, 1], y=[2, 3], name="a curve")
with_matplotlib.write(with_matplotlib.drawn(Figure([Panel(Axis("x"), Axis("y"), [curve])]), 7, "title"), "a.svg")
draw_network(plan_network(small_network()).graph, "b.svg", "title")
"""


def loads(program: str, folder: Path) -> str:
    """What a fresh interpreter prints that plays ``program`` in ``folder``."""
    done = subprocess.run(
        python_command(f"exec({program!r})"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with a header of each name that we, ns-3 or cppyy have, which doesn't compile."""
    (tmp_path / "ns3").mkdir()
    (tmp_path / "CPyCppyy").mkdir()
    for name in ("API.h", "DispatchPtr.h", "PyException.h"):
        (tmp_path / "CPyCppyy" / name).write_text("#error planted\n")
    for names, folder in ((installed("include"), tmp_path), (ns3_root() / "include/ns3", tmp_path / "ns3")):
        for header in names.glob("*.h"):
            (folder / header.name).write_text("#error planted\n")
    return tmp_path


def test_cppyy_is_loaded_away_from_the_working_folder(planted: Path) -> None:
    assert loads(LOAD, planted) == "/\n"


def test_no_header_is_taken_from_the_working_folder(planted: Path, repository: Path) -> None:
    control = str(repository / "inputs/congestion-control/additive.hpp")
    loads(CONTROLS.format(control=control), planted)


@pytest.mark.parametrize("python", [None, sys.executable])
def test_a_process_of_python_imports_nothing_from_the_working_folder(
    python: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path / "a path of users"])
    (tmp_path / "csv.py").write_text("raise SystemExit('planted')\n")
    command = python_command("import csv; print(sys.argv[1:])", "a", python=python)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)
    assert done.stdout == "['a']\n", done.stderr


def test_pictures_look_the_same_beside_another_ones_settings_of_matplotlib(tmp_path: Path) -> None:
    pictures: list[list[bytes]] = []
    for settings in ("", "text.usetex: True\nlines.linewidth: 40\nfont.size: 30\n", "\xff"):
        folder = tmp_path / str(len(pictures))
        folder.mkdir()
        (folder / "matplotlibrc").write_text(settings, encoding="latin-1")  # the last is no UTF-8
        loads(f"import sys; sys.path.append({str(TESTS)!r})\n{DRAW}", folder)
        pictures.append([(folder / file).read_bytes() for file in ("a.svg", "b.svg")])
    assert pictures == [pictures[0]] * 3


@pytest.mark.parametrize(("variable", "backend"), [("", "svg"), ("pdf", "pdf")])
def test_plots_of_the_users_own_after_a_picture_have_their_settings_of_matplotlib(
    variable: str, backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", variable)
    (tmp_path / "matplotlibrc").write_text("lines.linewidth: 40\nbackend: svg\n", encoding="utf-8")
    then = "import matplotlib as mpl; print(mpl.rcParams['lines.linewidth'], mpl.rcParams['backend'])"
    assert loads(f"import sys; sys.path.append({str(TESTS)!r})\n{DRAW}\n{then}", tmp_path) == f"40.0 {backend}\n"
