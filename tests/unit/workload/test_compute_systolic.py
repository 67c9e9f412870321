"""Products of matrices on systolic arrays: our closed form, and PyPI's scalesim where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.systolic_array import fold_cycles

from astra_ns3.config.model.compute import Systolic
from astra_ns3.config.training_plan import Operation, OperationKind
from astra_ns3.errors import InputError
from astra_ns3.workload.computing.clocks import clock_of
from astra_ns3.workload.computing.folds import folds_of

PYTHON = os.environ.get("SCALESIM_PYTHON", sys.executable)
"""An interpreter that perhaps has scalesim."""
DATAFLOWS = ("output_stationary", "weight_stationary", "input_stationary")
SHAPES = ((16, 16, 16), (5, 7, 9), (64, 32, 20), (1, 40, 33), (100, 3, 50))

# Cycles that scalesim 2.0.2 counts for SHAPES, by its report plus one, since that tells the number of the last, from 0.
COUNTED = {
    ("output_stationary", 8, 8): (120, 23, 1088, 235, 832),
    ("output_stationary", 16, 4): (136, 54, 1216, 510, 476),
    ("output_stationary", 4, 16): (136, 54, 1216, 153, 1700),
    ("output_stationary", 32, 32): (78, 71, 164, 190, 448),
    ("weight_stationary", 8, 8): (152, 54, 1032, 575, 854),
    ("weight_stationary", 16, 4): (200, 78, 1568, 1050, 536),
    ("weight_stationary", 4, 16): (152, 81, 860, 621, 1586),
    ("weight_stationary", 32, 32): (110, 99, 158, 380, 388),
    ("input_stationary", 8, 8): (152, 58, 1296, 310, 2275),
    ("input_stationary", 16, 4): (200, 82, 2112, 222, 3700),
    ("input_stationary", 4, 16): (152, 87, 1080, 558, 2275),
    ("input_stationary", 32, 32): (110, 101, 252, 268, 776),
}


def keys(**more: object) -> Systolic:
    usual = {"kind": "systolic", "rows": 8, "columns": 8, "frequency": "1GHz", "method": "closed_form"}
    return Systolic.model_validate({**usual, **more})


def product(shape: tuple[int, int, int], count: int = 1, moved: int = 0) -> Operation:
    m, n, k = shape
    return Operation("mine", OperationKind.MATMUL, 2 * m * n * k * count, moved, shape, count)


@pytest.mark.parametrize(("dataflow", "rows", "columns"), COUNTED)
def test_the_closed_form_is_what_scalesim_counted(dataflow: str, rows: int, columns: int) -> None:
    array = keys(rows=rows, columns=columns, dataflow=dataflow)
    found = tuple(folds_of(array, shape).all_cycles for shape in SHAPES)
    assert found == COUNTED[dataflow, rows, columns]


@given(
    dataflow=st.sampled_from(DATAFLOWS),
    rows=st.integers(1, 9),
    columns=st.integers(1, 9),
    shape=st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 20)),
    drains=st.booleans(),
)
def test_the_closed_form_is_what_cells_do_one_by_one(
    dataflow: str, rows: int, columns: int, shape: tuple[int, int, int], drains: bool
) -> None:
    m, n, k = shape
    in_place = dataflow == "output_stationary"
    stays = {"output_stationary": (m, n), "weight_stationary": (k, n), "input_stationary": (k, m)}[dataflow]
    steps = {"output_stationary": k, "weight_stationary": m, "input_stationary": n}[dataflow]
    drains = drains and in_place
    expected = sum(
        fold_cycles(rows, columns, steps, loaded=not in_place, drained=drains)
        for _ in range(0, stays[0], rows)
        for _ in range(0, stays[1], columns)
    )
    array = keys(rows=rows, columns=columns, dataflow=dataflow, outputs_drain=drains)
    assert folds_of(array, shape).all_cycles == expected


def test_cycles_over_the_frequency_are_the_time() -> None:
    clock = clock_of(keys(frequency="500MHz", launch_overhead="1ns"))
    assert clock.time_ps(product((16, 16, 16))) == 152 * 2000 + 1000


def test_arrays_share_the_folds_of_all_products() -> None:
    # 4 folds of 38 cycles a product: 12 of three, in 3 turns of 5 arrays, in 2 of 8, and all at once on 12.
    for arrays, turns in ((5, 3), (8, 2), (12, 1)):
        assert clock_of(keys(arrays=arrays)).time_ps(product((16, 16, 16), count=3)) == turns * 38 * 1000


def test_memory_may_take_longer_and_what_is_no_product_is_the_devices() -> None:
    device = {"name": "mine", "peak": {"bfloat16": "1TFLOPS"}, "memory": "1GB", "memory_bandwidth": "1TB/s"}
    clock = clock_of(keys(device=device, memory_efficiency=1))
    assert clock.time_ps(product((16, 16, 16), moved=1_000_000)) == 1_000_000
    assert clock.memory_bound(product((16, 16, 16), moved=1_000_000))
    assert not clock.memory_bound(product((16, 16, 16), moved=1))
    assert clock.time_ps(Operation("norm", OperationKind.ELEMENTWISE, bytes=77)) == 77
    with pytest.raises(InputError, match=r"'norm', a elementwise, is no product .*name a compute.device"):
        clock_of(keys()).time_ps(Operation("norm", OperationKind.ELEMENTWISE, bytes=77))


FAKE = """import csv, pathlib, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
rows = list(csv.reader(open(words["-t"])))
m, n, k = map(int, rows[1][1:4])
if m == 13:
    sys.exit("unlucky")
with open(pathlib.Path(__file__).parent / "asked.txt", "a") as asked:
    asked.write(f"{m} {n} {k}\\n")
folder = pathlib.Path(words["-p"], "products")
folder.mkdir(parents=True)
(folder / "COMPUTE_REPORT.csv").write_text(f"LayerID, Total Cycles,\\n0, {m * n * k},\\n")
"""


def interpreter_with(folder: Path, version: str) -> str:
    """An interpreter that has a scalesim of ours, which takes m x n x k cycles and the one that it counts from 0."""
    package = folder / "packages" / "scalesim"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "scale.py").write_text(FAKE)
    metadata = folder / "packages" / f"scalesim-{version}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: scalesim\nVersion: {version}\n")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={package.parent} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return str(python)


def test_what_scalesim_counted_is_used_and_kept(tmp_path: Path) -> None:
    python = interpreter_with(tmp_path, "2.0.9")
    asked = tmp_path / "packages" / "scalesim" / "asked.txt"
    array = keys(method="scalesim", python=python, cache=str(tmp_path / "cache"))
    for _ in range(2):
        clock = clock_of(array)
        assert clock.time_ps(product((2, 3, 4))) == (24 + 1) * 1000
        assert clock.time_ps(product((2, 3, 5))) == (30 + 1) * 1000
    assert asked.read_text().splitlines() == ["2 3 4", "2 3 5"]
    other = keys(method="scalesim", python=python, cache=str(tmp_path / "cache"), rows=16)
    assert clock_of(other).time_ps(product((2, 3, 4))) == (24 + 1) * 1000
    assert len(asked.read_text().splitlines()) == 3


def test_scalesim_imports_nothing_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "csv.py").write_text("raise SystemExit('planted')\n")
    monkeypatch.chdir(tmp_path)
    array = keys(method="scalesim", python=interpreter_with(tmp_path, "2.0.9"), cache=str(tmp_path / "cache"))
    assert clock_of(array).time_ps(product((2, 3, 4))) == (24 + 1) * 1000


def test_a_damaged_cache_is_counted_anew(tmp_path: Path) -> None:
    array = keys(method="scalesim", python=interpreter_with(tmp_path, "2.0.9"), cache=str(tmp_path / "cache"))
    clock_of(array).time_ps(product((2, 3, 4)))
    (file,) = (tmp_path / "cache").iterdir()
    file.write_text('{"2x3x4": "many"')
    assert clock_of(array).time_ps(product((2, 3, 4))) == (24 + 1) * 1000


def test_auto_leaves_large_products_to_the_closed_form(tmp_path: Path) -> None:
    python = interpreter_with(tmp_path, "2.0.9")
    array = keys(method="auto", python=python, cache=str(tmp_path / "cache"))
    large = (4096, 4096, 4096)
    assert clock_of(array).time_ps(product(large)) == folds_of(array, large).all_cycles * 1000
    assert not (tmp_path / "packages" / "scalesim" / "asked.txt").exists()
    with pytest.raises(InputError, match=r"'mine', 4096 x 4096 x 4096 \(m, n, k\), is too large for scalesim"):
        clock_of(array.model_copy(update={"method": "scalesim"})).time_ps(product(large))


def test_a_scalesim_that_fails_or_is_another_version_is_an_error(tmp_path: Path) -> None:
    python = interpreter_with(tmp_path, "2.0.9")
    clock = clock_of(keys(method="scalesim", python=python, cache=str(tmp_path / "cache")))
    with pytest.raises(InputError, match=r"scalesim failed at 13 x 1 x 1 \(m, n, k\): unlucky"):
        clock.time_ps(product((13, 1, 1)))
    newer = interpreter_with(tmp_path / "newer", "3.0.0")
    with pytest.raises(InputError, match=r"has scalesim 3.0.0, which compute.method needs in version 2"):
        clock_of(keys(method="auto", python=newer))
    with pytest.raises(InputError, match=r"key 'compute.python': .*nowhere can't be run"):
        clock_of(keys(method="scalesim", python=str(tmp_path / "nowhere")))


def has_scalesim() -> bool:
    question = "import importlib.metadata as found; assert found.version('scalesim').startswith('2.')"
    return subprocess.run([PYTHON, "-c", question], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("dataflow", DATAFLOWS)
def test_scalesim_itself_agrees_with_the_closed_form(dataflow: str, tmp_path: Path) -> None:
    if not has_scalesim():
        pytest.skip("scalesim 2.x is not installed")
    array = keys(method="scalesim", python=PYTHON, cache=str(tmp_path), dataflow=dataflow, rows=16, columns=4)
    for shape in (*SHAPES[:3], (33, 17, 65)):
        expected = folds_of(array, shape).all_cycles
        assert clock_of(array).time_ps(product(shape)) == expected * 1000
