"""``compare --backends``: a case on two backends, and how far the first is off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.studies import INPUTS

from astra_ns3.cli.compare import compare_command
from astra_ns3.errors import AstraNs3Error, InputError
from astra_ns3.experiments.two_backends import lost_packets

FILES = {
    "-w": INPUTS / "workload" / "micro-all-reduce.txt",
    "-s": INPUTS / "system" / "flat.txt",
    "-n": INPUTS / "network" / "roce-16.yaml",
}
SMALL = ["--backends", "flow,ns3", "--scale", "0.2"]
FINISH_ERROR = 0.02  # flows leave out queues and control; the table of docs/flow.md has 0.2% for such a ring


def words(**changed: Path) -> list[str]:
    files = FILES | {f"-{letter}": path for letter, path in changed.items()}
    return [str(word) for option in files.items() for word in option]


def test_a_case_is_played_on_both_backends_and_the_row_tells_the_error() -> None:
    ran = CliRunner().invoke(compare_command, [*SMALL, *words(), "--json"], catch_exceptions=False)
    row = json.loads(ran.stdout)
    assert row["case"] == "micro-all-reduce.txt"
    assert abs(row["error"]) < FINISH_ERROR
    assert 0 <= row["median"] <= row["p99"] <= row["largest"]
    assert row["ratio"] == pytest.approx(row["CPU packets"] / row["CPU flow"])


def test_jobs_of_a_scenario_are_played_on_both_backends_and_its_traffic_is_left_out(tmp_path: Path) -> None:
    job = {"workload": str(FILES["-w"]), "system": str(FILES["-s"])}
    jobs = [{"name": f"job {number}", "npus": [*range(number, 16, 2)], "dimensions": [8], **job} for number in (0, 1)]
    traffic = [{"name": "web", "kind": "poisson", "sizes": "1KB", "rate": "1Gbps"}]
    file = tmp_path / "both.yaml"
    file.write_text(json.dumps({"network": str(FILES["-n"]), "jobs": jobs, "traffic": traffic}), encoding="utf-8")
    asked = [*SMALL, "--scenario", str(file)]
    row = json.loads(CliRunner().invoke(compare_command, [*asked, "--json"], catch_exceptions=False).stdout)
    assert row["case"] == "both.yaml"
    assert abs(row["error"]) < 5 * FINISH_ERROR
    with pytest.raises(
        InputError, match=r"^--backends: expected -w, -s and -n, or --scenario, and no folders of runs$"
    ):
        CliRunner().invoke(compare_command, [*asked, *words()], catch_exceptions=False)


@pytest.mark.slow
def test_the_case_may_be_scaled_and_its_keys_set() -> None:
    asked = ["--backends", "analytical,flow", *words(), "--json"]
    changes = ["--scale", "0.01", "--set", "system.endpoint-delay=5000"]
    plain, changed = (
        json.loads(CliRunner().invoke(compare_command, [*asked, *more], catch_exceptions=False).stdout)
        for more in ([], changes)
    )
    assert changed["flow finish"] != plain["flow finish"]
    with pytest.raises(InputError, match=r"^--scale, --set: expected with --backends only$"):
        CliRunner().invoke(compare_command, ["a", "b", *changes], catch_exceptions=False)


def test_losses_are_those_of_packets_whichever_backend_is_right() -> None:
    command = ["--backends", "ns3,flow", *words(n=INPUTS / "network" / "roce-lossy.yaml"), "--scale", "0.05", "--json"]
    ran = CliRunner().invoke(compare_command, command, catch_exceptions=False)
    assert json.loads(ran.stdout)["losses"] != "-"


@pytest.mark.slow
def test_a_backend_without_packets_tells_nothing_of_losses() -> None:
    command = ["--backends", "flow,analytical", *words(n=INPUTS / "network" / "roce-lossy.yaml")]
    ran = CliRunner().invoke(compare_command, command, catch_exceptions=False)
    assert ran.stdout.rstrip().endswith("| - |")


@pytest.mark.slow
def test_merged_channels_are_refused_with_the_key_that_parts_them(tmp_path: Path) -> None:
    system, network = tmp_path / "system.yaml", tmp_path / "network.yaml"
    system.write_text("collectives: nccl\nnccl: {NCCL_ALGO: Ring}\n")
    network.write_text(
        "topology: {kind: hierarchical, nodes: 1, npus_per_node: 8, scale_up: {link: {rate: 2966Gbps, delay: 250ns},"
        " switch: {buffer: 64MB, pfc: {}}}, scale_out: {kind: single-switch, link: {rate: 400Gbps, delay: 1us},"
        " switch: {buffer: 64MB, pfc: {}}}}\ntransport: {kind: roce}\n"
    )
    command = ["--backends", "analytical,ns3", *words(s=system, n=network)]
    with pytest.raises(InputError, match=r"expected the same, .*'--set system\.nccl\.channels=each'"):
        CliRunner().invoke(compare_command, command, catch_exceptions=False)
    more = ["--set", "system.nccl.channels=each", "--scale", "0.1", "--json"]
    ran = CliRunner().invoke(compare_command, [*command, *more], catch_exceptions=False)
    assert json.loads(ran.stdout)["ratio"] > 0


@pytest.mark.parametrize(
    ("dropped", "lost", "again", "told"),
    [(49_036, 0, 49_036, 49_036), (2, 1, 90, 90), (2, 1, 0, 3), (0, 0, 0, 0)],
)
def test_a_packet_that_was_lost_and_sent_again_counts_once(dropped: int, lost: int, again: int, told: int) -> None:
    """Go-back-N sends others again, too; a lost acknowledgement is not sent again."""
    assert lost_packets({"dropped_frames": dropped, "lost_frames": lost, "retransmissions": again}) == told


@pytest.mark.parametrize(
    ("backends", "said"),
    [
        *((each, "found '.*', expected two of ns3, flow") for each in ("flow", "flow,flow", "flow,ns3,analytical")),
        ("flow,nsx", "backend 'nsx' is not one of ns3, flow.*; did you mean 'ns3'"),
    ],
)
def test_other_than_two_known_backends_are_refused(backends: str, said: str) -> None:
    with pytest.raises(InputError, match=f"^--backends: {said}"):
        CliRunner().invoke(compare_command, ["--backends", backends, *words()], catch_exceptions=False)


def test_files_and_folders_do_not_go_together() -> None:
    with pytest.raises(InputError, match="no folders of runs"):
        CliRunner().invoke(compare_command, ["a", "b", "--backends", "flow,ns3", *words()], catch_exceptions=False)
    with pytest.raises(InputError, match="with --backends only"):
        CliRunner().invoke(compare_command, ["a", "b", *words()], catch_exceptions=False)


def test_what_a_run_refuses_is_told_in_its_words() -> None:
    with pytest.raises(AstraNs3Error, match=r"^with the backend flow: nothing.txt: no such file$") as found:
        CliRunner().invoke(
            compare_command, ["--backends", "flow,ns3", *words(w=Path("nothing.txt"))], catch_exceptions=False
        )
    assert isinstance(found.value, InputError)
