"""``explain --choices`` plays each of NCCL's choices and names the fastest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command import run_command
from support.graphs import chakra_bytes as raw

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.errors import InputError
from astra_ns3.experiments.nccl.choices_of_run import (
    HINT,
    Played,
    choices_document,
    choices_of,
    choices_text,
    has_choices,
)
from astra_ns3.experiments.nccl.what_if import doubts
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.explanation.what_ifs import ANEW, FASTER_LINES
from astra_ns3.system.file import parse_system
from astra_ns3.units import format_time
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.chakra.names import COLLECTIVE_TYPES

LINK, SWITCH = {"rate": "400Gbps", "delay": "500ns"}, {"buffer": "64MiB", "pfc": {}}
RIGHT, WRONG = 6_000_000, 2_000_000
"""Bytes of an all-reduce on two servers of four, of which NCCL chooses well, and not."""
HYBRID = "HYBRID_DATA_MODEL\n1\n"


def network() -> NetworkConfig:
    topology = {
        "kind": "hierarchical",
        "nodes": 2,
        "npus_per_node": 4,
        "scale_up": {"link": {"rate": "3600Gbps", "delay": "250ns"}, "switch": {**SWITCH, "reduction": {}}},
        "scale_out": {"kind": "single-switch", "link": LINK, "switch": SWITCH},
    }
    return parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}})


def system(**table: object) -> Any:
    return parse_system({"collectives": "nccl", "nccl": {"server": "dgx-h100", **table}})


def layers(*sizes: int, kind: str = "ALLREDUCE") -> Any:
    rows = [f"layer{number} -1 500 NONE 0 700 NONE 0 900 {kind} {size} 0" for number, size in enumerate(sizes)]
    return parse_workload("\n".join(["DATA", str(len(rows)), *rows, ""]), "small.txt")


def run_of(folder: Path, work: Any, *record: str, backend: str = "flow", **table: object) -> Any:
    return astra_ns3.run(
        workload=work,
        system=system(**table),
        network=network(),
        backend=backend,
        output=folder / "run",
        record=record or ("timeline", "flows"),
    )


def played(result: Any, most_messages: int = 1_000_000) -> list[Played]:
    return choices_of(result, explain(result), most_messages)


def test_a_wrong_choice_names_the_fastest_and_the_variable(tmp_path: Path) -> None:
    (one,) = played(run_of(tmp_path, layers(WRONG)))
    assert one.found is not None
    assert one.found.faster is not None
    assert (one.found.row.algorithm, one.found.row.protocol) == ("Ring", "LL128")
    assert (one.found.faster.algorithm, one.found.faster.protocol) == ("Tree", "LL128")
    assert one.variables == "NCCL_ALGO=Tree"
    assert "Tree LL128 would take" in choices_text([one])
    assert "the tuner's choice was wrong (NCCL_ALGO=Tree)" in choices_text([one])
    assert "a variable holds for all collectives of the run, and a time is of its collective alone" in choices_text(
        [one]
    )


def test_whoever_sets_the_variable_has_the_time_that_was_told(tmp_path: Path) -> None:
    (one,) = played(run_of(tmp_path / "one", layers(WRONG)))
    (other,) = played(run_of(tmp_path / "other", layers(WRONG), NCCL_ALGO="Tree"))
    assert one.found is not None
    assert one.found.faster is not None
    assert other.found is not None
    assert other.found.row == one.found.faster
    assert {row.algorithm for row in other.found.others} == {"Tree"}  # all that the tuner may choose then


def test_a_right_choice_is_called_right_and_takes_what_the_run_took(tmp_path: Path) -> None:
    result = run_of(tmp_path, layers(RIGHT))
    (one,) = played(result)
    assert one.found is not None
    assert one.found.faster is None
    assert one.variables == ""
    assert one.found.row.time_us == pytest.approx(float(result.collectives["duration_us"][0]), abs=1e-6)
    assert len(one.found.others) == 6
    assert "the tuner's choice was right" in choices_text([one])
    assert "a variable holds" not in choices_text([one])


def test_a_run_on_packets_is_played_on_flows(tmp_path: Path) -> None:
    (packets,) = played(run_of(tmp_path / "packets", layers(WRONG), backend="ns3"))
    (flows,) = played(run_of(tmp_path / "flows", layers(WRONG)))
    assert packets.found == flows.found


@pytest.mark.parametrize("kind", ["ALLGATHER", "REDUCESCATTER"])
def test_other_tuned_collectives_take_alone_what_they_took(kind: str, tmp_path: Path) -> None:
    result = run_of(tmp_path, layers(RIGHT, kind=kind))
    (one,) = played(result)
    assert one.found is not None
    assert one.found.row.time_us == pytest.approx(float(result.collectives["duration_us"][0]), abs=1e-6)


@pytest.mark.parametrize("kind", ["BROADCAST", "REDUCE"])
def test_broadcasts_and_reduces_take_alone_what_they_took(kind: str, tmp_path: Path) -> None:
    nodes = [raw.node(1, raw.COLLECTIVE, comm_type=COLLECTIVE_TYPES.index(kind), comm_size=RIGHT, is_cpu_op=False)]
    result = run_of(tmp_path, raw.write_traces(tmp_path / "traces", [nodes] * 8))
    (one,) = played(result)
    assert one.found is not None
    assert one.found.row.time_us == pytest.approx(float(result.collectives["duration_us"][0]), abs=1e-4)
    assert len(one.found.others) == 2


def test_those_that_take_most_of_the_chain_are_played_alike_ones_once(tmp_path: Path) -> None:
    result = run_of(tmp_path, layers(1_000, 60_000, RIGHT, 600_000, RIGHT))
    found = explain(result)
    all_played = choices_of(result, found, 1_000_000)
    assert [one.bytes for one in all_played] == [RIGHT, 600_000, 60_000]
    times = [one.chain_ps for one in all_played]
    assert times == sorted(times, reverse=True)
    sizes = dict(zip(result.collectives["collective"], result.collectives["bytes"], strict=True))
    assert times[0] == sum(link.time_ps for link in found.segments if sizes.get(link.collective) == RIGHT)


def test_groups_that_play_at_once_do_so_here(tmp_path: Path) -> None:
    """Weights are reduced over four pairs of NPUs, each with one in either server."""
    rows = "only -1 500 NONE 0 700 NONE 0 900 ALLREDUCE 600000 0\n"
    result = run_of(tmp_path, parse_workload(HYBRID + rows, "small.txt"))
    (one,) = played(result)
    assert one.groups == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert one.found is not None
    assert one.found.row.time_us == pytest.approx(float(result.collectives["duration_us"][0]), abs=1e-6)
    assert "2 NPUs, 4 groups at once" in choices_text([one])


def test_without_messages_there_is_no_chain_whose_choices_count(tmp_path: Path) -> None:
    result = run_of(tmp_path, layers(WRONG), "timeline")
    with pytest.raises(InputError, match="--choices needs the chain: run with --record timeline --record flows"):
        choices_of(result, explain(result))


def test_a_tenant_plays_on_its_own_npus(tmp_path: Path) -> None:
    """Two NPUs in each server: alone it takes what it took."""
    tenants = [Tenant("one", range(2, 6), layers(WRONG), system(), seed=1)]
    both = astra_ns3.run_scenario(
        network=network(), tenants=tenants, backend="flow", output=tmp_path / "run", record=("timeline", "flows")
    )
    result = both.tenants["one"]
    (one,) = played(result)
    assert one.groups == ((0, 1, 2, 3),)
    assert one.found is not None
    assert one.found.row.time_us == pytest.approx(float(result.collectives["duration_us"][0]), abs=1e-6)


def test_groups_that_lie_differently_on_servers_are_not_played(tmp_path: Path) -> None:
    """Of two groups of three one is in one server, the other in two: the run has one ring in place of NCCL's choice."""
    work = parse_workload(HYBRID + "only -1 500 ALLREDUCE 600000 700 NONE 0 900 NONE 0 0\n", "small.txt")
    table = parse_system({"collectives": "nccl"})
    tenants = [Tenant("one", range(6), work, table, seed=1, dimensions=(3, 2))]
    both = astra_ns3.run_scenario(
        network=network(), tenants=tenants, backend="flow", output=tmp_path / "run", record=("timeline", "accounts")
    )
    result = both.tenants["one"]
    (one,) = played(result)
    assert one.groups == ((0, 1, 2), (3, 4, 5))
    assert one.found is None
    assert "not played: its groups lie differently on servers" in choices_text([one])
    found = explain(result)
    (faster,) = [each for each in found.what_ifs if each.change == FASTER_LINES]
    assert faster.caveats == (ANEW,)


def test_pat_is_one_of_the_choices(tmp_path: Path) -> None:
    """Two servers of one GPU: NCCL may choose PAT."""
    topology: Any = {"kind": "single-switch", "npus": 2, "link": LINK, "switch": SWITCH}
    result = astra_ns3.run(
        workload=layers(20_000, kind="ALLGATHER"),
        system=system(),
        network=parse_network({"topology": topology, "transport": {"kind": "roce", "payload": 4096}}),
        backend="flow",
        output=tmp_path / "run",
        record=("timeline", "flows"),
    )
    (one,) = played(result)
    assert one.found is not None
    assert one.found.row.algorithm == "Ring"
    assert ("PAT", "Simple") in {(row.algorithm, row.protocol) for row in one.found.others}
    assert "PAT Simple" in choices_text([one])
    (told,) = json.loads(json.dumps(choices_document([one])))
    assert "PAT" in {other["algorithm"] for other in told["others"]}
    assert told["left_out"] == []


def test_a_variable_with_which_other_collectives_have_no_algorithm_is_not_told(tmp_path: Path) -> None:
    rows = [f"{kind} -1 500 NONE 0 700 NONE 0 900 {kind} {WRONG} 0" for kind in ("ALLREDUCE", "ALLGATHER")]
    found = played(run_of(tmp_path, parse_workload("\n".join(["DATA", "2", *rows]), "two")))
    (one,) = [each for each in found if each.variables == "NCCL_ALGO=Tree"]
    assert one.refused == "NCCL_ALGO=Tree leave no algorithm for AllGather on these servers"
    text = choices_text(found)
    assert f"the tuner's choice was wrong (no variable helps: {one.refused})" in text
    assert "a run with the variable tells" not in text
    assert [each["variables"] for each in json.loads(json.dumps(choices_document([one])))] == [""]


def test_what_has_too_many_messages_is_left_out_and_named(tmp_path: Path) -> None:
    result = run_of(tmp_path, layers(RIGHT))
    (one,) = played(result, 4_000)
    assert one.found is not None
    assert len(one.found.others) + len(one.left_out) == 6
    assert "Ring LL" in one.left_out
    text = choices_text([one])
    assert f"not played, too many messages: {', '.join(one.left_out)}" in text
    assert "was right" not in text
    (none,) = played(result, 10)
    assert none.untold == "it has more than 10 messages"


def test_a_network_beside_the_run_is_refused(tmp_path: Path) -> None:
    result = run_of(tmp_path, layers(RIGHT))
    document = json.loads((tmp_path / "run" / "run.json").read_text("utf-8"))
    document["network"]["topology"]["kind"] = "file"
    (tmp_path / "run" / "run.json").write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(InputError, match="--choices: the run's network has a part that"):
        choices_of(astra_ns3.Result.load(tmp_path / "run"), explain(result))


def test_the_command_hints_plays_and_writes_json(tmp_path: Path) -> None:
    result = run_of(tmp_path, layers(WRONG))
    folder = str(tmp_path / "run")
    told = run_command("explain", folder)
    assert told.returncode == 0
    assert told.stdout.rstrip().endswith(HINT)
    told = run_command("explain", folder, "--choices")
    assert told.returncode == 0
    assert told.stdout.rstrip().endswith(choices_text(played(result)))
    told = run_command("explain", folder, "--choices", "--json")
    assert json.loads(told.stdout)["choices"] == choices_document(played(result))
    assert "choices" not in json.loads(run_command("explain", folder, "--json").stdout)


@pytest.mark.parametrize(("backend", "warned"), [("analytical", True), ("analytical-queues", False)])
def test_choices_are_doubted_where_messages_never_meet(backend: str, warned: bool, tmp_path: Path) -> None:
    document = {"topology": ["Switch"] * 2, "npus_count": [2, 2], "bandwidth": [370.0, 50.0], "latency": [500.0, 1e3]}
    network_file = tmp_path / "network.yaml"
    network_file.write_text(json.dumps(document), encoding="utf-8")
    astra_ns3.run(
        workload=layers(60_000),
        system=system(),
        network=network_file,
        backend=backend,
        output=tmp_path / "run",
        record=("timeline", "flows"),
    )
    told = run_command("explain", str(tmp_path / "run"), "--choices")
    assert "others: " in told.stdout
    words = f"astra-ns3: warning: --choices: messages never meet on {backend}, so choices whose messages share lines"
    assert [line.startswith(words) for line in told.stderr.splitlines()] == [True] * warned
    sizes = ("--servers", "2xdgx-h100", "--gpus", "2", "-b", "60K", "-e", "60K", "--backend", backend)
    finished = run_command("nccl", "all_reduce", *sizes, "--what-if")
    found = [line.startswith(words.replace("choices:", "what-if:", 1)) for line in finished.stderr.splitlines()]
    assert found == [True] * warned
    assert not run_command("nccl", "all_reduce", *sizes).stderr


@pytest.mark.parametrize(("spines", "planes", "warned"), [(1, 1, False), (2, 1, True), (1, 2, True)])
def test_choices_are_doubted_where_a_seed_draws_paths(spines: int, planes: int, warned: bool) -> None:
    """A flow between leaves goes over one of two spines, and one inside a server over one of two switches."""
    document: Any = network().document()
    document["topology"]["scale_up"]["planes"] = planes
    fabric = {"kind": "leaf-spine", "leaves": 2, "spines": spines, "hosts_per_leaf": 4, "link": LINK, "switch": SWITCH}
    document["topology"]["scale_out"] = fabric
    assert len(doubts(parse_network(document), "flow")) == warned


def test_all_to_alls_of_the_chain_are_named_as_left_out(tmp_path: Path) -> None:
    rows = f"only -1 500 ALLTOALL {RIGHT} 700 NONE 0 900 ALLREDUCE {RIGHT} 0\n"
    result = run_of(tmp_path, parse_workload(HYBRID + rows, "small.txt"))
    told = run_command("explain", str(tmp_path / "run"), "--choices").stdout
    (time_ps,) = (1e6 * each for each in result.collectives["duration_us"][:1])
    words = f"left out, as NCCL makes it of messages, without a choice: ALLTOALL ({format_time(round(time_ps))} of"
    assert words in told


def test_a_run_without_choices_has_no_hint(tmp_path: Path) -> None:
    """NCCL makes an all-to-all of messages."""
    result = run_of(tmp_path, layers(RIGHT, kind="ALLTOALL"))
    assert not has_choices(result, explain(result))
    assert played(result) == []
    assert choices_text([]) == "NCCL's choices: its tuner chose for no collective of the chain"


def with_rate(speed: int) -> NetworkConfig:
    """The network with lines of 100 and 1,800 Gb/s, or so many times as fast."""
    document: Any = network().document()
    for level, gbps in (("scale_up", 1800), ("scale_out", 100)):
        document["topology"][level]["link"]["rate"] = f"{speed * gbps}Gbps"
    return parse_network(document)


def run_at(speed: int, work: Any, folder: Path, **table: object) -> Any:
    return astra_ns3.run(
        workload=work,
        system=parse_system({"collectives": "nccl", "nccl": table}),
        network=with_rate(speed),
        backend="flow",
        output=folder / f"{speed}",
        record=("timeline", "accounts"),
    )


def algorithm_of(run: Any) -> str:
    (row,) = run.rows("collectives.csv")
    return str(row["algorithm"])


@pytest.mark.parametrize("size", [2 << 20, 4 << 20])
def test_faster_lines_are_played_with_what_nccl_chooses_on_them(size: int, tmp_path: Path) -> None:
    work = tmp_path / "w.txt"
    work.write_text(f"DATA\n1\nlayer0 -1 500 NONE 0 700 NONE 0 900 ALLREDUCE {size} 0\n", encoding="utf-8")
    slow, fast = (run_at(speed, work, tmp_path) for speed in (1, 2))
    now, then = (algorithm_of(run).removeprefix("nccl ") for run in (slow, fast))
    assert now != then
    folders = [str(tmp_path / "1"), str(tmp_path / "2")]
    (line,) = [line for line in explain(slow).text().splitlines() if ANEW in line]
    assert line.startswith("  with lines twice as fast  ")
    assert line.endswith(f"), {ANEW}")
    compared = run_command("compare", *folders).stdout
    assert f" on 8 NPUs: nccl {now} -> nccl {then}" in compared
    assert compared.index("-> nccl") < compared.index("totals")
    found = {each.change: each for each in astra_ns3.explain(slow, play=True).what_ifs}
    assert found[FASTER_LINES].time_ps == slow.finish_ps - fast.finish_ps
    assert found[FASTER_LINES].caveats == ()


def test_faster_lines_change_no_choice_that_goes_by_a_server(tmp_path: Path) -> None:
    found = explain(run_at(1, layers(4 << 20), tmp_path, server="dgx-h100"))
    (faster,) = [each for each in found.what_ifs if each.change == FASTER_LINES]
    assert ANEW not in faster.caveats


def test_python_explains_as_the_command_does(tmp_path: Path) -> None:
    """NCCL's other choices are played where that is asked for."""
    result = run_at(1, layers(60_000), tmp_path)
    for choices in (False, True):
        found = astra_ns3.explain(result, choices=choices)
        told = run_command("explain", str(tmp_path / "1"), "--json", *["--choices"] * choices)
        assert json.loads(told.stdout) == json.loads(json.dumps(found.document()))
