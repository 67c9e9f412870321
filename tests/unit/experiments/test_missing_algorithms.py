"""What is said of algorithms that a system file lacks: the file, the key, and what needs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from astra_ns3.errors import InputError
from astra_ns3.experiments.options import Options
from astra_ns3.experiments.validate import validate
from astra_ns3.planning.plan import Bounded
from astra_ns3.planning.request import PlanRequest
from astra_ns3.studies.run_study import study

KEYS = {
    "all-reduce-implementation": ["ring", "ring"],
    "all-gather-implementation": ["ring", "ring"],
    "all-to-all-implementation": ["direct", "direct"],
    "collective-optimization": "localBWAware",
    "scheduling-policy": "LIFO",
    "preferred-dataset-splits": 1,
    "endpoint-delay": 10,
}
NETWORK = {
    "topology": {
        "kind": "torus",
        "shape": [2, 2],
        "link": {"rate": "100Gbps", "delay": "500ns"},
        "switch": {"buffer": "32MiB", "pfc": {}},
    },
    "transport": {"kind": "roce"},
}
MODEL = {
    "kind": "transformer",
    "name": "small",
    "model": {"layers": 2, "hidden": 256, "heads": 2, "vocabulary": 1000},
    "training": {"sequence": 256, "global_batch": 4},
    "parallel": {"tensor": 2},
    "compute": "H100",
}
SAID = (
    ": key 'reduce-scatter-implementation' is missing, which an all-reduce by "
    "'collective-optimization: localBWAware' needs"
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a model, a workload, a network, and a system that lacks an algorithm."""
    for name, document in (("system", KEYS), ("network", NETWORK), ("model", MODEL)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    (tmp_path / "work.txt").write_text("MICRO\n1\na -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1024 0\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _run(folder: Path) -> None:
    _ = validate(folder / "work.txt", folder / "system.yaml", folder / "network.yaml")


def _changed_run(folder: Path) -> None:
    (folder / "system.yaml").write_text(
        yaml.safe_dump({**KEYS, "collective-optimization": "baseline"}), encoding="utf-8"
    )
    changes = {"system.collective-optimization": "localBWAware"}
    _ = validate("work.txt", "system.yaml", "network.yaml", Options(changes=changes))


def _study(folder: Path) -> None:
    files = {"workload": "work.txt", "system": "system.yaml", "network": "network.yaml"}
    base = {name: str(folder / file) for name, file in files.items()}
    parts = {"all": {"axes": {"passes": [1]}}}
    _ = study({"title": "a study", "base": {**base, "backend": "flow"}, "parts": parts}, folder / "out")


def _plan(folder: Path) -> None:
    request = PlanRequest("model.yaml", "network.yaml", "system.yaml", folder / "out")
    bounded = Bounded()
    _ = bounded.bounds(request, bounded.space(request))


@pytest.mark.parametrize("command", [_run, _changed_run, _study, _plan])
def test_a_missing_algorithm_of_half_an_all_reduce_is_told_with_the_system_file_and_the_key_that_needs_it(
    folder: Path, command: Callable[[Path], None]
) -> None:
    changed = " (changed: collective-optimization)" if command is _changed_run else ""
    with pytest.raises(InputError) as raised:
        command(folder)
    assert str(raised.value).endswith(f"system.yaml{changed}{SAID}")
    assert str(raised.value).count("system.yaml") == 1


def test_an_algorithm_of_a_collective_of_the_workload_is_still_said_to_be_needed_by_the_workload(folder: Path) -> None:
    (folder / "work.txt").write_text("MICRO\n1\na -1 0 NONE 0 0 NONE 0 0 REDUCESCATTER 1024 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"which the workload's reduce_scatter needs$"):
        _run(folder)
