"""A list of flows as a run's workload: what is expected of it, what it leaves; the commands that make one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.fake_backend import FakeBackend
from support.small_run import NPUS, small_network, small_run, small_system

import astra_ns3
from astra_ns3.cli.main import cli
from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError
from astra_ns3.experiments.inputs import Options, load_inputs
from astra_ns3.experiments.validate import validate
from astra_ns3.report.flow_text import completion_text
from astra_ns3.report.summary import run_text, summary
from astra_ns3.workload.files.flows.reading import read_flows

FLOWS = FlowList.of([0, 1, 2, 3], [1, 2, 3, 0], [100, 2_000, 2_000, 50_000], [0, 0, 10**6, 0], source="my.csv")


def test_all_bytes_are_expected_exactly_and_the_largest_flow_too() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 10**7, 5_000)
    sources = rng.integers(0, NPUS, 5_000)
    flows = FlowList.of(sources, (sources + 1) % NPUS, sizes, np.zeros(5_000, dtype=int))
    expected = load_inputs(flows, small_system(), small_network()).expected(1)
    assert expected.bytes == int(sizes.sum())
    assert sum(len(play.groups) for play in expected.plays) == 5_000
    assert max(play.largest_bytes for play in expected.plays) == sizes.max()
    assert len(expected.plays) < 60
    assert expected.collectives == 0


def test_a_list_is_validated_with_its_messages_and_packets() -> None:
    found = validate(FLOWS, small_system(), small_network())
    assert (found.loop, found.layers) == ("flows", 4)
    assert found.forecast.messages == 4
    assert found.forecast.bytes == 54_100
    assert found.forecast.connections == 4


@pytest.mark.parametrize("compat", ["astra-sim-1.0", "astra-sim-2", "astra-network-ns3", "simai"])
def test_a_preset_is_told_to_be_without_effect_on_flows_unless_it_has_a_rule_of_the_delays(compat: str) -> None:
    for backend, expected in (
        ("ns3", True),
        ("analytical", compat == "simai"),
        ("analytical-queues", compat == "simai"),
    ):
        inputs = load_inputs(FLOWS, small_system(), small_network(), Options(compat=compat, backend=backend))
        told = [line for line in inputs.warnings if "without effect" in line]
        assert told == [f"my.csv: is a list of flows; without effect on it: --compat {compat}"] * expected


def test_who_reads_flows_that_are_gone_is_told_in_a_line_how_to_record_them(tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    for folder, keys in ((run, {**small_run(), "workload": FLOWS}), (other, small_run())):
        astra_ns3.run(**{**keys, "backend": FakeBackend(NPUS), "output": folder})
    (run / "completions.parquet").unlink()
    words = "there is no completions.parquet, which its run.json lists: run again with --record flows"
    for command in (f"plot {run} completion -o {tmp_path}/out.png", f"report {run} -o {tmp_path}/out.html"):
        error = CliRunner().invoke(cli, command.split(), standalone_mode=False).exception
        assert (type(error), str(error)) == (InputError, f"{run}: {words}")
    explained = CliRunner().invoke(cli, ["explain", str(run)], standalone_mode=False)
    assert "not told: single flows: run with --record flows" in explained.output
    result = astra_ns3.Result.load(other)
    assert astra_ns3.compare(result, astra_ns3.Result.load(run)).notes == ("only B is of a list of flows",)
    with pytest.raises(InputError, match="has nothing for 'completion': run again with --record flows"):
        result.plot.completion()


def test_a_list_is_played_once() -> None:
    with pytest.raises(InputError, match="passes is 2, expected 1"):
        astra_ns3.run(**{**small_run(), "workload": FLOWS, "passes": 2})


def test_an_npu_that_is_not_there_is_refused_before_the_run() -> None:
    flows = FlowList.of([0], [NPUS], [1], [0], source="my.csv")
    with pytest.raises(InputError, match=r"my\.csv: flow 0 goes to NPU 4, the network has 4, 0 to 3"):
        load_inputs(flows, small_system(), small_network())


def test_a_run_leaves_tables_totals_and_text(tmp_path: Path) -> None:
    result = astra_ns3.run(
        workload=FLOWS,
        system=small_system(),
        network=small_network(),
        backend=FakeBackend(NPUS),
        output=tmp_path / "out",
    )
    assert result.completions.sort_values("flow")["end_ps"].tolist() == [1_001_000, 1_020_000, 2_020_000, 1_500_000]
    assert result.flow_completion["sizes"].tolist() == ["class", "class", "class", "all"]
    assert result.flow_completion["flows"].tolist() == [1, 2, 1, 4]
    assert result.flow_completion["p50_us"].tolist() == [1.001, 1.02, 1.5, 1.02]
    assert result.flow_completion["slowdown_p50"].isna().all()  # nobody knows the ideal of such a backend
    assert result.goodput["bytes"].sum() == 54_100
    flows = result.metadata["flows"]
    assert (flows["flows"], flows["delivered"], flows["last_end_ps"]) == (4, 4, 2_020_000)
    assert flows["goodput_bps"] == 54_100 * 8 * 10**12 // 2_020_000
    assert result.metadata["workload"] == {
        "source": "my.csv",
        "loop": "flows",
        "flows": 4,
        "bytes": 54_100,
        "waiting_for_others": 0,
        "first_start_ps": 0,
        "last_start_ps": 10**6,
        "npus": 4,
    }
    assert result.dimension_utilization.empty
    text = run_text(result.metadata, None)
    assert "flows        4 of 4 delivered" in text
    assert "up to 10 KB" in text
    assert "all sizes" in text
    assert "exposed" not in text
    assert summary(result.metadata, None)["flows"] == flows


def test_one_class_of_sizes_needs_no_line_for_all() -> None:
    result = astra_ns3.run(**{**small_run(), "workload": FlowList.of([0], [1], [5], [0])})
    assert "all sizes" not in completion_text(result.metadata["flows"])


def test_scaling_a_run_scales_sizes_and_starts() -> None:
    result = astra_ns3.run(**{**small_run(), "workload": FLOWS, "scale": 0.1})
    assert result.metadata["workload"]["bytes"] == 5_410
    assert result.metadata["workload"]["last_start_ps"] == 10**5


POISSON = "--npus 8 --sizes hadoop --rate 100Gbps --load 0.3 --duration 200us"
COMMANDS = {
    "poisson": POISSON,
    "incast": "--npus 8 --sizes 500KB --senders 7 --bursts 2 --interval 1ms",
    "permutation": "--npus 8 --sizes 1MB --rounds 2",
    "on-off": "--npus 8 --sizes 10KB --rate 100Gbps --on 10us --off 30us --duration 200us",
}


@pytest.mark.parametrize("kind", sorted(COMMANDS))
@pytest.mark.parametrize("written_as", ["csv", "hpcc", "htsim"])
def test_what_is_generated_is_read(kind: str, written_as: str, tmp_path: Path) -> None:
    file = tmp_path / "flows"
    words = ["generate", "flows", kind, *COMMANDS[kind].split(), "-o", str(file), "--format", written_as, "--json"]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    flows = read_flows(file)
    assert told["flows"] == len(flows)
    assert told["bytes"] == int(flows.sizes_bytes.sum())
    again = tmp_path / "again"
    CliRunner().invoke(cli, [*words[:-5], "-o", str(again), "--format", written_as])
    assert again.read_bytes() == file.read_bytes()


def test_npus_that_are_on_a_quarter_of_the_time_bring_a_quarter_of_the_load(tmp_path: Path) -> None:
    words = "--npus 16 --sizes 1KB --rate 100Gbps --on 10us --off 30us --duration 4ms"
    command = ["generate", "flows", "on-off", *words.split(), "-o", str(tmp_path / "flows"), "--json"]
    done = CliRunner().invoke(cli, command)
    assert json.loads(done.output)["load"] == pytest.approx(0.25, rel=0.1)


def test_generate_says_what_it_wrote_and_at_which_load(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["generate", "flows", "poisson", *POISSON.split(), "-o", str(tmp_path / "flows")])
    assert done.output.startswith(f"written to {tmp_path / 'flows'}: ")
    assert ", load 0." in done.output


@pytest.mark.parametrize(("load", "warned"), [("1", False), ("1.5", True)])
def test_a_load_that_links_do_not_carry_is_warned_of(load: str, warned: bool, tmp_path: Path) -> None:
    words = POISSON.replace("--load 0.3", f"--load {load}")
    done = CliRunner().invoke(cli, ["generate", "flows", "poisson", *words.split(), "-o", str(tmp_path / "flows")])
    assert done.exit_code == 0
    assert (f"warning: load {load} is more than links carry" in done.stderr) == warned


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("poisson --npus 8 --sizes websearch --rate 1Gbps --load 1 --duration 1ms", "did you mean 'web-search'"),
        ("poisson --npus 8 --sizes 1KB --rate fast --load 1 --duration 1ms", "'fast' is not"),
        ("incast --npus 8 --sizes 1KB", "--senders"),
    ],
)
def test_a_bad_word_is_refused_with_the_option_it_is_of(words: str, said: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["generate", "flows", *words.split(), "-o", str(tmp_path / "flows")])
    assert done.exit_code == 2
    assert said in done.output


def test_options_that_mean_nothing_to_flows_are_told(tmp_path: Path) -> None:
    flows = tmp_path / "flows.csv"
    flows.write_text("source,destination,bytes,start\n0,1,1KB,0\n", encoding="utf-8")
    inputs = Path(__file__).parents[3] / "inputs"
    found = load_inputs(
        flows,
        inputs / "system" / "flat.yaml",
        inputs / "network" / "single-switch-16.yaml",
        Options(scheduling_policy="LIFO", num_queues_per_dimension=2),
    )
    told = "is a list of flows; without effect on it: --scheduling-policy, --num-queues-per-dimension"
    assert [warning for warning in found.warnings if told in warning] != []
