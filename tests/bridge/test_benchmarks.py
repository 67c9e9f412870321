"""Every benchmark script starts and yields its figures, at a size that takes no time: they break unseen otherwise."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.network.ns3.backend import Ns3Backend

Script = Callable[[str], ModuleType]


@pytest.fixture
def script(repository: Path) -> Script:
    """Loads a script of `benchmarks/` by its name, each time anew."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"benchmark_{name}", repository / "benchmarks" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize("hops", [2, 4])
def test_fabric_tcp_measures_a_packet(script: Script, hops: int) -> None:
    options = Namespace(hosts=4, hops=hops, bytes=14_400, segment=1440, window=500_000, sack=True, timestamps=False)
    found = script("fabric_tcp").measure(options)
    assert found["data_packets"] == 40
    assert found["finish_ps"] > 0


def test_startup_hears_of_the_first_event_in_the_child(repository: Path) -> None:
    words = [sys.executable, str(repository / "benchmarks" / "startup.py")]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert 0 < json.loads(done.stdout.splitlines()[-1])["first_event_seconds"] < 60


@pytest.mark.slow
def test_startup_measures_what_commands_take(script: Script) -> None:
    found = script("startup").measured_commands(1)
    seconds = {name.removesuffix("_cpu_seconds"): figure for name, figure in found.items()}
    assert 0 < max(seconds["version"], seconds["help"], seconds["tab"]) < seconds["validate"] < seconds["run"]
    assert seconds["cppyy"] < seconds["run"]
    assert 0 < found["cppyy_peak_mb"] < found["run_peak_mb"]


@pytest.mark.slow
def test_timeline_measures_a_trace_of_the_size_asked_for(repository: Path) -> None:
    words = [sys.executable, str(repository / "benchmarks" / "timeline.py"), "--events", "5000"]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert 5000 <= found["events"] < 10_000
    assert found["trace_bytes"] > 20 * found["events"]


def test_roce_measures_a_collective(script: Script) -> None:
    benchmark = script("roce")
    schedule = lookup(CollectiveKind.ALL_REDUCE, "ring", 2)
    found = benchmark.measure(benchmark.single_switch(2), schedule, 2000, 2, "dcqcn")
    assert found["messages"] == 8
    assert found["us_per_data_packet"] > 0


def test_topologies_measures_until_the_first_event(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = script("topologies")
    monkeypatch.setattr(Ns3Backend, "run", Ns3Backend.run)  # so that it is put back
    found = benchmark.first_event(4)
    assert found["hosts"] == 16
    assert found["repeated_cpu_seconds"] > 0


@pytest.mark.parametrize("transport", ["ROCE", "TCP"])
def test_topologies_measures_until_a_network_is_ready(script: Script, transport: str) -> None:
    benchmark = script("topologies")
    assert benchmark.ready(2, getattr(benchmark, transport))["hosts"] == 2


def test_python_share_is_between_nothing_and_all(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["python_share.py", "--npus=4", "--chunks=2", "--bytes=10000"])
    script("python_share").main()
    assert json.loads(capsys.readouterr().out)["python_share"] > 0


def test_analytical_measures_its_cases(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = script("analytical")
    monkeypatch.setattr(benchmark, "NPUS", 4)
    seconds, messages = benchmark.seconds_and_messages("ALLREDUCE", 2, 1, 1000)
    assert seconds > 0
    assert messages == 2 * 4 * 6


def test_congestion_control_measures_a_cell(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = script("congestion_control")
    monkeypatch.setattr(benchmark, "MIB_FROM_EACH", 0.01)
    assert benchmark.finish_us({"kind": "dcqcn"}, 100, "500ns", 1) > 0


@pytest.mark.parametrize("name", ["forecast", "run"])
def test_scripts_that_only_call_programs_start(repository: Path, name: str) -> None:
    words = [sys.executable, str(repository / "benchmarks" / f"{name}.py"), "--help"]
    assert "usage" in subprocess.run(words, check=True, capture_output=True, text=True).stdout


def test_nccl_speed_measures_tables_and_loops(script: Script, tmp_path: Path) -> None:
    speed = script("nccl_speed")
    words = {case: speed.words_of(case, tmp_path) for case in speed.CASES}
    for case in ("training", "training-ring"):
        assert all(Path(words[case][place]).is_file() for place in (2, 4, 6))
    small = [*words["flows"][: words["flows"].index("-b")], "-b", "8", "-e", "8"]
    assert 0 < speed.seconds_of(small) < 60


def test_a_ring_with_a_slow_server_takes_no_longer_than_its_slow_lines_explain(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    papers = script("cluster_papers")
    monkeypatch.setattr(papers, "RING_MEBIBYTES", (4,))
    longer = [float(row[3].rstrip("%")) / 100 for row in papers.optcc()]
    assert all(0 < found < 1 / rate - 1 for found, rate in zip(longer, (0.875, 0.75, 0.5), strict=True))
    assert longer == sorted(longer)


def test_a_sender_is_silent_from_its_timeout_to_its_new_path(script: Script) -> None:
    silent_us = [int(row[3].split()[2]) for row in script("cluster_papers").reps()]
    assert 20 < silent_us[0] < 100 < silent_us[1] < 1000
    assert silent_us[2] > 5000  # routes converge after 5 ms
