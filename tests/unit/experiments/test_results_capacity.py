"""What a run takes before its first event: estimates against measurements, and the refusal of what does not fit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.fake_backend import FakeBackend
from support.lengths import some_slow
from support.small_run import NPUS, small_network, small_run, small_system, small_workload

import astra_ns3
from astra_ns3 import memory
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.forecasting.capacity import check_run_fits, run_need
from astra_ns3.experiments.inputs import Inputs, Options, load_inputs
from astra_ns3.experiments.validate import validate
from astra_ns3.memory import Available, available_memory, require_memory
from astra_ns3.system.file import parse_system
from astra_ns3.transport.roce.roce import BYTES_PER_MET_PAIR
from astra_ns3.transport.transports import TRANSPORTS
from astra_ns3.workload.files.astra_sim import parse_workload

MOST_OFF = 2
"""The estimates are to be right within this factor."""
TIMEOUT_SECONDS = 120
MICRO = "MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n"
DATA = "DATA\n1\nx -1 {compute} NONE 0 0 NONE 0 0 ALLREDUCE 4000 0\n"
RUN = """
import re
from pathlib import Path
from support.fake_backend import FakeBackend
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.errors import LimitReached
from astra_ns3.network.api import Limits
from support.training_driver import TrainingDriver

class Still(FakeBackend):
    def launch(self, *words):
        pass  # what a backend adds is its own

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

system, workload = parse_system({system}), parse_workload({workload!r})
Path("/proc/self/clear_refs").write_text("5")  # the highest resident memory begins anew
before = status("VmRSS")
driver = TrainingDriver(Still({npus}), system, workload, {passes})
try:
    driver.run(Limits(simulated_ps=0))
except Exception as error:
    assert "NPU" in str(error), error
print(status("VmHWM") - before)
"""


def system(splits: int) -> dict[str, Any]:
    keys = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
    algorithms = {f"{key}-implementation": "ring" for key in keys}
    return {"scheduling-policy": "FIFO", "preferred-dataset-splits": splits, **algorithms}


def inputs_of(workload: str, splits: int = 1, npus: int = NPUS) -> Inputs:
    return load_inputs(parse_workload(workload), parse_system(system(splits)), small_network(npus=npus))


@pytest.mark.parametrize(
    ("passes", "splits", "npus"),
    some_slow(
        [(1500, 1, 16), (4000, 1, 16), (1, 15_000, 16), (1, 30_000, 16), (150, 40, 64)],
        quick=[(1500, 1, 16), (1, 15_000, 16)],
    ),
)
def test_collectives_issued_at_once_take_what_is_estimated(passes: int, splits: int, npus: int) -> None:
    workload = MICRO.format(size=1 << 20)
    program = RUN.format(npus=npus, system=system(splits), workload=workload, passes=passes)
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    need = run_need([(inputs_of(workload, splits, npus), passes)])
    assert need.at_once == passes
    assert int(done.stdout) / MOST_OFF < need.collectives < int(done.stdout) * MOST_OFF


def test_only_what_nothing_waits_for_is_issued_at_once() -> None:
    # MICRO issues all passes at time 0; a data-parallel loop computes first, or waits for the pass before.
    assert run_need([(inputs_of(MICRO.format(size=4000)), 10**12)]).at_once == 10**12
    assert run_need([(inputs_of(DATA.format(compute=5)), 10**12)]).at_once == 0
    assert run_need([(inputs_of(DATA.format(compute=0)), 10**12)]).at_once == 1
    assert run_need([(inputs_of(MICRO.format(size=0)), 10**12)]).at_once == 0


def test_a_run_that_memory_cannot_hold_is_refused_in_one_line_with_the_estimate() -> None:
    backend = FakeBackend(NPUS)
    with pytest.raises(InputError, match=r"1000000000 collectives issued at once, would need about .* TB") as error:
        astra_ns3.run(
            **{**small_run(), "workload": parse_workload(MICRO.format(size=4000)), "backend": backend}, passes=10**9
        )
    assert "use fewer passes" in str(error.value)
    assert "\n" not in str(error.value)
    assert backend.launched == []


def test_connections_count_in_a_run_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # A ring has a connection for each NPU; the rest of a small run is far less than these of 17 KB each.
    inputs = inputs_of(MICRO.format(size=4000), npus=512)
    left = run_need([(inputs, 1)]).total + 512 * TRANSPORTS["tcp"].costs.bytes_per_pair
    monkeypatch.setattr(memory, "_sources", lambda limit: iter([Available(left, "it has")]))
    check_run_fits([(inputs, 1)])
    monkeypatch.setattr(memory, "_sources", lambda limit: iter([Available(left - 1, "it has")]))
    check_run_fits([(inputs, 1)], to_its_end=False)
    with pytest.raises(InputError, match="would need about"):
        check_run_fits([(inputs, 1)])


@pytest.mark.parametrize(("queue_pairs", "fits"), [("per-pair", False), ("per-message", True)])
def test_queue_pairs_that_are_used_again_count_less(
    queue_pairs: str, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(a, b) for a in range(64) for b in range(64) if a != b]
    sources, destinations = zip(*pairs, strict=True)
    flows = FlowList.of(sources, destinations, [1000] * len(pairs), [0] * len(pairs))
    keys = {**small_network(npus=64).document(), "transport": {"kind": "roce", "queue_pairs": queue_pairs}}
    inputs = load_inputs(flows, small_system(), parse_network(keys))
    left = run_need([(inputs, 1)]).total + len(pairs) * BYTES_PER_MET_PAIR
    monkeypatch.setattr(memory, "_sources", lambda limit: iter([Available(left, "it has")]))
    if fits:
        check_run_fits([(inputs, 1)])
        return
    with pytest.raises(InputError, match="connections of pairs"):
        check_run_fits([(inputs, 1)])


def test_the_runs_own_limit_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = inputs_of(MICRO.format(size=4000))
    check_run_fits([(inputs, 1000)])
    held = 10**9
    monkeypatch.setattr(memory, "_held_bytes", lambda: (held, held))
    with pytest.raises(InputError, match="the limit on memory has 1 MB left"):
        check_run_fits([(inputs, 1000)], limit_bytes=held + 10**6)
    check_run_fits([(inputs, 1000)], limit_bytes=held - 1)  # reached already: the run will end by it and say so


def test_the_least_of_what_is_allowed_is_available(monkeypatch: pytest.MonkeyPatch) -> None:
    left = 20_000_000
    monkeypatch.setattr(memory, "_sources", lambda limit: iter([Available(10**9, "a has"), Available(left, "b has")]))
    assert available_memory() == Available(left, "b has")
    require_memory("this", left, "do that")
    with pytest.raises(InputError, match=r"^this would need about 20 MB of memory, b has 20 MB left; do that$"):
        require_memory("this", left + 1, "do that")


def test_what_is_small_is_refused_by_a_limit_of_the_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_sources", lambda limit: iter([Available(20, "it has")]))
    require_memory("this", 21, "do that")
    with pytest.raises(InputError, match="this would need about 21 B of memory, it has 20 B left"):
        require_memory("this", 21, "do that", limit_bytes=20)


def test_a_limit_on_memory_counts_what_is_resident_not_what_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "statm").write_text("1000 10 5 1 0 9 0\n", encoding="utf-8")
    monkeypatch.setattr(memory, "_STATM", tmp_path / "statm")
    page = os.sysconf("SC_PAGE_SIZE")
    assert available_memory(100 * page) == Available(90 * page, "the limit on memory has")


def test_nothing_is_refused_where_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_sources", lambda limit: iter(()))
    require_memory("this", 10**30, "do that")


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"memory.max": "1000", "memory.current": "400", "memory.stat": "anon 7\ninactive_file 100\n"}, 700),
        ({"memory.max": "max", "memory.current": "400"}, None),
        ({"memory.limit_in_bytes": "1000", "memory.usage_in_bytes": "1200"}, 0),
        (
            {
                "memory.limit_in_bytes": "1000",
                "memory.usage_in_bytes": "900",
                "memory.stat": "total_inactive_file 50\n",
            },
            150,
        ),
        ({}, None),
    ],
)
def test_control_groups_of_both_versions_are_read(files: dict[str, str], left: int | None, tmp_path: Any) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert memory._left_in(tmp_path) == left


def test_a_plan_of_many_passes_is_that_of_one_times_their_number() -> None:
    one, many = (
        validate(small_workload(), small_system(), small_network(), Options(passes=n)).forecast for n in (1, 10**12)
    )
    assert (many.collectives, many.messages, many.bytes, many.launches) == tuple(
        10**12 * number for number in (one.collectives, one.messages, one.bytes, one.launches)
    )


def test_queues_that_nothing_uses_cost_nothing() -> None:
    few, many = (
        astra_ns3.run(**{**small_run(), "backend": FakeBackend(NPUS)}, num_queues_per_dimension=queues)
        for queues in (64, 10**12)
    )
    assert few.finish_ps == many.finish_ps
