"""Results below what lines allow are told of wherever a run's time is shown; packets are never below."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.lengths import some_slow
from support.models import small_gpt
from support.small_run import small_network, small_system, small_workload

import astra_ns3
from astra_ns3.cli.main import status_of
from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.formats.analytical import AnalyticalDimension
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import LimitReached
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.seeds import execute_seeds
from astra_ns3.network.api import Limits
from astra_ns3.report.seeds import seeds_text
from astra_ns3.report.summary import run_text
from astra_ns3.scenario.tenant import After, Tenant
from astra_ns3.studies.measures import measures_of
from astra_ns3.workload.files.astra_sim import parse_workload

NPUS, BYTES, BYTES_PER_NS = 16, 64 << 20, 12.5
LEAST_PS = round(2 * (NPUS - 1) * (BYTES // NPUS) / BYTES_PER_NS * 1000)
"""A ring sends 2 (n - 1) / n of the data from each NPU, on a line of 100 Gb/s."""


def request(chunks_at_a_time: int, backend: str, output: Path | None = None, part: int = 1) -> RunRequest:
    """64 MiB, or one of so many equal parts of them, on 16 NPUs below one switch, in 32 chunks."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "single-switch", "npus": NPUS, "link": link, "switch": {"buffer": "1GB"}}
    return RunRequest(
        workload=parse_workload(f"MICRO\n1\nall -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {BYTES // part} 0\n", "all"),
        system=small_system(**{"preferred-dataset-splits": 32, "active-chunks-per-dimension": chunks_at_a_time}),
        network=parse_network({"topology": topology, "transport": {"kind": "tcp"}}),
        backend=backend,
        output=output,
    )


def all_reduce(chunks_at_a_time: int, backend: str, output: Path | None = None) -> astra_ns3.Result:
    return execute(request(chunks_at_a_time, backend, output)).result


@pytest.mark.parametrize(("chunks", "share"), [(4, 0.25), (32, 0.03)])
def test_chunks_that_never_meet_are_faster_than_the_line_and_the_run_says_so(
    chunks: int, share: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    below, above = tmp_path / "below", tmp_path / "above"
    result = all_reduce(chunks, "analytical", below)
    floor = result.metadata["floor"]
    assert floor is not None
    assert (floor["time_ps"], floor["bytes"]) == (LEAST_PS, 2 * (NPUS - 1) * (BYTES // NPUS))
    assert floor["share"] == pytest.approx(result.finish_ps / LEAST_PS, abs=1e-6)
    assert floor["share"] == pytest.approx(share, rel=0.2)
    said = f"{floor['share']:.2g} of the 10.07 ms that {floor['where']} need"
    assert f"below the floor        {said}" in run_text(result.metadata, None)
    assert any("no network with these lines is so fast" in line for line in result.metadata["warnings"])
    all_reduce(1, "analytical", above)
    assert status_of(["compare", str(below), str(above)]) == 0
    assert f"A lies below the floor: {said}" in capfd.readouterr().out
    assert f"below the floor  {said}" in astra_ns3.explain(result).text()
    assert status_of(["runs", str(tmp_path)]) == 0
    assert [line.split()[0] for line in capfd.readouterr().out.splitlines() if "(below the floor)" in line] == ["below"]
    page = tmp_path / "report.html"
    assert status_of(["report", str(below), str(above), "-o", str(page)]) == 0
    assert said in page.read_text(encoding="utf-8")
    assert json.loads((below / "run.json").read_text(encoding="utf-8"))["floor"] == floor


def test_the_table_of_seeds_says_which_runs_are_below_the_floor() -> None:
    below = execute_seeds(request(4, "analytical"), 2).document
    share = below["runs"][0]["of_floor"]
    assert share == pytest.approx(0.25, rel=0.2)
    said = f"below the floor        2 of 2 runs; the fastest takes {share:.2g} of what its lines need"
    assert said in seeds_text(below, None)


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues", "ns3"])
def test_one_chunk_at_a_time_takes_the_lines_time_at_least(backend: str) -> None:
    part = 32 if backend == "ns3" else 1  # 64 MiB are half a minute of packets
    result = execute(request(1, backend, part=part)).result
    floor = result.metadata["floor"]
    assert floor is not None
    assert floor["time_ps"] == LEAST_PS // part
    assert floor["share"] is not None
    assert floor["share"] >= 1
    assert "below the floor" not in run_text(result.metadata, None)
    assert not any("floor" in line for line in result.metadata["warnings"])


def test_a_stopped_run_has_no_floor() -> None:
    with pytest.raises(LimitReached) as error:
        astra_ns3.run(
            workload="inputs/workload/micro-all-reduce.txt",
            system="inputs/system/flat.txt",
            network="inputs/network/roce-16.yaml",
            limits=Limits(simulated_ps=10_000_000),
        )
    assert error.value.result.metadata["floor"] is None


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_an_all_to_all_over_a_line_to_each_npu_is_as_fast_as_these_allow(backend: str) -> None:
    """Eight NPUs fully connected at 12.5 bytes/ns: each sends 7 of 8 MiB at once, a MiB on each line."""
    full = AnalyticalDimension(topology="fully-connected", npus=8, bytes_per_ns=BYTES_PER_NS)
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nall -1 0 NONE 0 0 NONE 0 0 ALLTOALL {8 << 20} 0\n", "all"),
        system=small_system(**{"all-to-all-implementation": ["direct"]}),
        network=AnalyticalNetwork(grid=(full,)),
        backend=backend,
    )
    floor = result.metadata["floor"]
    assert floor is not None
    assert floor["time_ps"] == round((1 << 20) / BYTES_PER_NS * 1000)
    assert floor["share"] is not None
    assert 1 <= floor["share"] < 1.01
    assert result.metadata["warnings"] == []


def test_a_ring_used_both_ways_is_not_below_its_floor_where_links_are_played() -> None:
    ring = AnalyticalDimension(topology="ring", npus=8, bytes_per_ns=BYTES_PER_NS)
    result = astra_ns3.run(
        workload=parse_workload(f"MICRO\n1\nall -1 0 NONE 0 0 NONE 0 0 ALLGATHER {8 << 20} 0\n", "all"),
        system=small_system(**{"all-gather-implementation": ["biRing"]}),
        network=AnalyticalNetwork(grid=(ring,)),
        backend="analytical-queues",
    )
    floor = result.metadata["floor"]
    assert floor is not None
    assert floor["share"] is not None
    assert 1 <= floor["share"] < 1.01


@pytest.mark.parametrize("backend", ["analytical-queues", "ns3"])
@pytest.mark.parametrize("topology", [{"kind": "ring", "npus": 5}, {"kind": "torus", "shape": [5, 2]}])
def test_an_all_to_all_on_a_ring_comes_near_what_its_halves_allow_and_never_below(
    topology: dict[str, object], backend: str
) -> None:
    link = {"rate": "100Gbps", "delay": "100ns"}
    result = astra_ns3.run(
        workload=parse_workload("MICRO\n1\nall -1 0 NONE 0 0 NONE 0 0 ALLTOALL 1000000 0\n", "all"),
        system=small_system(**{"all-to-all-implementation": ["direct"] * (2 if topology["kind"] == "torus" else 1)}),
        network=parse_network(
            {"topology": {**topology, "link": link, "switch": {"buffer": "64MB"}}, "transport": {"kind": "tcp"}}
        ),
        backend=backend,
    )
    floor = result.metadata["floor"]
    assert floor is not None
    assert "half of dimension 0" in floor["where"]
    assert floor["share"] is not None
    assert 1 <= floor["share"] < 2


def computing(backend: str, compute_ns: int, output: Path | None = None, **more: Any) -> RunRequest:
    """Layers that compute for so long in each of three parts, and reduce their gradients, in 3 passes on 4 NPUs."""
    rows = "".join(
        f"{name} -1 {compute_ns} NONE 0 {compute_ns} NONE 0 {compute_ns} ALLREDUCE 4000 0\n" for name in "ab"
    )
    return RunRequest(
        workload=parse_workload(f"DATA\n2\n{rows}", "all"),
        system=small_system(),
        network=small_network(),
        backend=backend,
        passes=3,
        output=output,
        **more,
    )


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues", "flow", "ns3"])
def test_a_run_that_computes_most_of_its_time_is_told_how_close_it_came_to_that(backend: str, tmp_path: Path) -> None:
    """5 parts a pass: layer a has no input gradient. Lines of 12.5 bytes/ns need 3 passes of 2 x 6,000 bytes."""
    result = execute(computing(backend, 100_000, tmp_path / "run")).result
    floor = result.metadata["floor"]
    assert floor is not None
    assert floor["share"] is not None
    assert (floor["kind"], floor["where"], floor["time_ps"]) == ("chain", "what NPU 0 computes", 3 * 5 * 100_000_000)
    assert floor["lines_ps"] == 3 * 2 * 6_000 * 1000 // 12.5
    assert 1 <= floor["share"] < 1.1
    said = f"{1 / floor['share']:.0%} of what any network allows (what NPU 0 computes: 1.5 ms)"
    assert f"speed                  {said}" in run_text(result.metadata, None)
    page = tmp_path / "report.html"
    assert status_of(["report", str(tmp_path / "run"), "-o", str(page)]) == 0
    assert said.partition(" ")[2] in page.read_text(encoding="utf-8")
    found = measures_of(result)
    assert (found["floor_us"], found["of_floor"]) == (1500.0, floor["share"])


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues", "flow", "ns3"])
def test_lines_that_need_longer_than_computations_are_the_floor(backend: str) -> None:
    floor = execute(computing(backend, 10)).result.metadata["floor"]
    assert floor is not None
    assert floor["share"] is not None
    assert (floor["kind"], floor["time_ps"]) == ("lines", floor["lines_ps"])
    assert floor["share"] >= 1


@pytest.mark.parametrize(
    ("slowdown", "least_ps"),
    [
        ({"stragglers": [{"npus": 1, "factor": 2}]}, 300_000_000),
        ({"stragglers": [{"npus": 1, "factor": 2, "until": "9ms"}]}, 150_000_000),
        ({"stragglers": [{"npus": [0, 1, 2], "factor": 0.5}, {"factor": 0.1}]}, 15_000_000),
        ({"communication": {"processors": 0.5}}, 150_000_000),
        ({"stragglers": [{"npus": 2, "factor": 3}], "communication": {"processors": 0.5}}, 450_000_000),
        ({"jitter": {"spread": 0.5}}, None),
    ],
)
@pytest.mark.parametrize("backend", ["analytical", "flow"])
def test_computations_that_may_be_shorter_than_planned_count_as_short_as_they_may_be(
    slowdown: dict[str, Any], least_ps: int | None, backend: str
) -> None:
    """With jitter, what was drawn."""
    result = execute(computing(backend, 10_000, compute_slowdown=slowdown)).result
    floor = result.metadata["floor"]
    least_ps = round(result.npus["compute_us"].max() * 1_000_000) if least_ps is None else least_ps
    assert floor is not None
    assert floor["share"] is not None
    assert floor["time_ps"] == pytest.approx(max(least_ps, floor["lines_ps"]), abs=15)  # rounded for each of 15
    assert floor["share"] >= 1


BACKENDS = ("analytical", "analytical-queues", "flow", "ns3")
PART_PS, UPDATE_PS = 1_000_000, 500_000_000


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("slowdown", "least_ps"),
    [
        ({"stragglers": [{"factor": 2}]}, 2 * 5 * PART_PS + UPDATE_PS),
        ({"stragglers": [{"factor": 0.5}]}, 5 * PART_PS // 2 + UPDATE_PS),
        ({"stragglers": [{"factor": 3, "until": "1us"}]}, 5 * PART_PS + UPDATE_PS),
        ({"stragglers": [{"npus": [0, 1, 2, 3], "factor": 2}, {"npus": 3, "factor": 2}]}, 10 * PART_PS + UPDATE_PS),
        ({"jitter": {"spread": 0.5}}, UPDATE_PS),
    ],
)
def test_stragglers_slow_computations_of_the_floor_and_no_updates(
    slowdown: dict[str, Any], least_ps: int, backend: str
) -> None:
    """Five parts of 1 us, as layer a has no input gradient; then layer a's update."""
    rows = "".join(f"{name} -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 400 500000\n" for name in "ab")
    result = astra_ns3.run(
        workload=parse_workload(f"DATA\n2\n{rows}", "all"),
        system=small_system(),
        network=small_network(),
        backend=backend,
        compute_slowdown=slowdown,
    )
    floor = result.metadata["floor"]
    assert floor is not None
    assert floor["share"] is not None
    assert floor["time_ps"] == least_ps
    assert floor["share"] >= 1
    assert not any("floor" in line for line in result.metadata["warnings"])


@pytest.mark.parametrize("backend", ["flow", "ns3"])
@pytest.mark.parametrize("factor", [0.5, 2])
def test_starts_of_flows_are_not_computed(factor: float, backend: str) -> None:
    result = astra_ns3.run(
        workload=FlowList.of([0, 0], [1, 1], [100_000, 100_000], [0, 2_000_000_000]),
        system=small_system(),
        network=small_network(),
        backend=backend,
        compute_slowdown={"stragglers": [{"factor": factor}]},
    )
    floor = result.metadata["floor"]
    assert floor is not None
    assert floor["share"] is not None
    assert floor["time_ps"] == 2_000_000_000
    assert 1 <= floor["share"] < 1.01


def slowed_at_random(draw: random.Random, npus: int) -> dict[str, Any]:
    """Stragglers of all, some or no NPUs, for a while or always; perhaps jitter and shares of collectives."""
    stragglers = []
    for _ in range(draw.randint(1, 4)):
        each: dict[str, Any] = {"factor": draw.choice([0.001, 0.3, 0.5, 1.5, 2, 7.3, 100])}
        if draw.random() < 0.6:
            each["npus"] = sorted(draw.sample(range(npus), draw.randint(1, npus)))
        if draw.random() < 0.3:
            each["from"] = f"{draw.randint(0, 300)}us"
        if draw.random() < 0.3:
            each["until"] = f"{draw.randint(301, 900)}us"
        stragglers.append(each)
    more = draw.choice([{}, {}, {}, {"jitter": {"spread": 0.4}}, {"communication": {"processors": 0.3}}])
    return {"stragglers": stragglers, **more}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(4))
def test_no_slowed_loop_model_or_job_ends_before_its_chain(seed: int, backend: str) -> None:
    draw = random.Random(seed)
    loop = draw.choice(["DATA", "MODEL", "MICRO", "HYBRID_DLRM 0"])
    rows = ""
    for name in "abc":
        parts = " ".join(f"{draw.choice([0, 800, 40_000])} ALLREDUCE {draw.choice([0, 4000])}" for _ in range(3))
        rows += f"{name} -1 {parts} {draw.choice([0, 900, 300_000])}\n"
    small = {"layers": 4, "hidden": 64, "heads": 4, "vocabulary": 64}
    schedule = draw.choice(["gpipe", "1f1b", "zero-bubble"])
    model = small_gpt(small, {"pipeline": 2, "schedule": schedule, "zero": draw.randint(0, 1)}, micro_batches=4)
    own: dict[str, Any] = {"system": small_system(), "passes": draw.randint(1, 5)}
    jobs = {
        name: Tenant(
            name,
            npus,
            workload,
            start_ps=draw.choice([0, 500_000_000]),
            compute_slowdown=slowed_at_random(draw, 4),
            **own,
        )
        for name, npus, workload in (
            ("loop", (2, 0, 1, 3), parse_workload(f"{loop}\n3\n{rows}", "all")),
            ("model", (4, 5, 6, 7), model),
        )
    }
    result = astra_ns3.run_scenario(network=small_network(npus=8), tenants=[*jobs.values()], backend=backend)
    for name, job in result.tenants.items():
        floor = job.metadata["floor"]
        assert floor is not None, name
        assert floor["chain_ps"] <= job.finish_ps, (name, jobs[name].compute_slowdown)


@pytest.mark.parametrize(
    ("backend", "schedule"),
    some_slow(
        product(("analytical", "analytical-queues", "flow", "ns3"), ("1f1b", "zero-bubble")),
        [("analytical", "1f1b"), ("flow", "zero-bubble"), ("ns3", "1f1b"), ("ns3", "zero-bubble")],
    ),
)
def test_stages_of_a_pipeline_wait_for_each_other_in_the_floor(backend: str, schedule: str) -> None:
    """A stage of four alone computes for 4 micro-batches, and waits for 3 more on the way there and back."""
    small = {"layers": 4, "hidden": 64, "heads": 4, "vocabulary": 64}
    parallel = {"pipeline": 4, "schedule": schedule}
    request = RunRequest(
        workload=small_gpt(small, parallel, micro_batches=4),
        system=small_system(),
        network=small_network(),
        backend=backend,
        compute_scale=1000,
    )
    result = execute(request).result
    floor = result.metadata["floor"]
    assert floor is not None
    assert floor["share"] is not None
    assert floor["kind"] == "chain"
    assert floor["where"].startswith("the longest chain of computations, which ends on NPU ")
    assert floor["time_ps"] > 1.2 * 1e6 * result.npus["compute_us"].max()
    assert 1 <= floor["share"] < 1.01


def test_the_chain_of_a_tenant_begins_when_the_tenant_does() -> None:
    """Rank 1 of the tenant, which is NPU 0, computes no longer than rank 0 does, which is NPU 3."""
    inputs = computing("analytical", 10_000)
    tenant = Tenant("late", (3, 0), inputs.workload, inputs.system, start_ps=400_000_000)
    other = Tenant("early", (1, 2), inputs.workload, inputs.system, passes=2)
    result = astra_ns3.run_scenario(network=small_network(), tenants=[tenant, other], backend="analytical")
    floor = result.metadata["floor"]
    assert floor is not None
    words = "the start of a job, and what NPU 3 computes"
    assert (floor["where"], floor["time_ps"]) == (words, 400_000_000 + 5 * 10_000_000)


@pytest.mark.parametrize("start_ps", [0, 1_000_000])
def test_the_floor_has_no_wait_for_another_job_whose_time_the_network_makes(start_ps: int) -> None:
    first = Tenant("first", (0, 1), small_workload(), small_system())
    second = Tenant("second", (2, 3), small_workload(), small_system(), start_ps=start_ps, after=After("first"))
    fast = astra_ns3.run_scenario(network=small_network(), tenants=[first, second], backend="flow")
    link = {"rate": "10Gbps", "delay": "500ns"}
    slower = {"kind": "single-switch", "npus": 4, "link": link, "switch": {"buffer": "1GB"}}
    network = parse_network({"topology": slower, "transport": {"kind": "tcp"}})
    slow = astra_ns3.run_scenario(network=network, tenants=[first, second], backend="flow")
    of_slow, of_fast = slow.metadata["floor"], fast.metadata["floor"]
    assert of_slow is not None
    assert of_fast is not None
    assert of_slow["chain_ps"] == of_fast["chain_ps"] < fast.finish_ps


@pytest.mark.parametrize("backend", ["analytical", "flow", "ns3"])
@pytest.mark.parametrize(
    ("compute_ns", "kind", "least_ps", "where"),
    [(10, "lines", 2 * 2 * 6_000 * 80, "NPU 4"), (100_000, "chain", 2 * 5 * 100_000_000, "what NPU 4 computes")],
)
def test_a_job_has_the_floor_of_its_own_bytes_and_computations_and_a_stopped_job_none(
    compute_ns: int, kind: str, least_ps: int, where: str, backend: str
) -> None:
    """A ring of 4 sends 1.5 times 8,000 bytes from each NPU in a pass, 80 ps a byte; a list sends 1 MB."""
    inputs = computing(backend, compute_ns)
    own = Tenant("own", (4, 5, 6, 7), inputs.workload, inputs.system, passes=2, start_ps=1_000_000_000)
    endless = Tenant("endless", (0, 1), inputs.workload, inputs.system, passes=FOREVER)
    flows = Tenant("flows", (2, 3), FlowList.of([0], [1], [1_000_000], [0]), inputs.system)
    tenants, network = [own, endless, flows], small_network(npus=8)
    jobs = astra_ns3.run_scenario(network=network, tenants=tenants, backend=backend).tenants
    floor = jobs["own"].metadata["floor"]
    assert floor is not None
    assert (floor["kind"], floor["time_ps"]) == (kind, least_ps)
    assert where in floor["where"]
    assert floor["share"] == pytest.approx(jobs["own"].finish_ps / least_ps, abs=1e-6)
    assert jobs["endless"].metadata["floor"] is None
    of_flows = jobs["flows"].metadata["floor"]
    assert of_flows is not None
    assert of_flows["time_ps"] == 1_000_000 * 80


@pytest.mark.parametrize("lows", [1, 2])
def test_jobs_below_their_own_floors_are_warned_of_in_one_line(lows: int) -> None:
    """All-to-alls over one spine end before their lines allow, beside a job that computes for longer."""
    link = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "leaf-spine", "leaves": 4, "spines": 1, "hosts_per_leaf": 4, "link": link}
    workload = parse_workload(f"MICRO\n1\nall -1 0 NONE 0 0 NONE 0 0 ALLTOALL {8 << 20} 0\n", "all")
    system = small_system(**{"all-to-all-implementation": ["direct"]})
    slow = computing("analytical", 1_000_000)
    tenants = [
        Tenant("a", [0, 1, 4, 5, 8, 9, 12, 13], workload, system),
        Tenant("b", [2, 3], slow.workload, slow.system),
        Tenant("c", [[6, 10], [6, 7, 10, 11, 14, 15]][lows - 1], workload, system, dimensions=[4 * lows - 2]),
    ]
    network = parse_network({"topology": {**topology, "switch": {"buffer": "64MB"}}, "transport": {"kind": "tcp"}})
    result = astra_ns3.run_scenario(network=network, tenants=tenants, backend="analytical")
    told = [words for words in result.metadata["warnings"] if "floor" in words]
    who = "job 'a' lies below its floor" if lows == 1 else "2 jobs lie below their floors, 'a' the most"
    least_ps = 12 * (1 << 20) * 80  # two NPUs of a leaf send 6 MiB each out of it
    share = result.tenants["a"].finish_ps / least_ps
    assert told == [
        f"{who}: 12.58 MB over the lines out of the leaf of NPU 0 need 1.007 ms, the result is {share:.2g} of that; no "
        "network with these lines is so fast"
    ]
    own = [name for name, job in result.tenants.items() if any("floor" in words for words in job.metadata["warnings"])]
    assert own == ["a", "c"][:lows]


def changing(backend: str, events: list[Any], start_ps: int = 0) -> astra_ns3.ScenarioResult:
    """An all-to-all of 4 NPUs below two leaves with two uplinks each: 1 MB to each other, 2 MB over each uplink."""
    link = {"rate": "100Gbps", "delay": "100ns"}
    spines = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 2, "link": link, "uplink": link}
    network = {
        "topology": {**spines, "switch": {"buffer": "64MB"}, "routing": {"kind": "spray"}},
        "transport": {
            "kind": "roce",
            "payload": 8000,
            "window": "10MB",
            "reliability": {"kind": "selective-repeat", "timeout": "200us", "reordering_packets": 999},
        },
    }
    workload = parse_workload("MICRO\n1\nall -1 0 NONE 0 0 NONE 0 0 ALLTOALL 4000000 0\n", "all")
    system = small_system(**{"all-to-all-implementation": ["direct"]})
    tenant = Tenant("own", (0, 1, 2, 3), workload, system, start_ps=start_ps)
    asked: dict[str, Any] = {"scenario": {"events": events}, "tenants": [tenant], "backend": backend}
    return astra_ns3.run_scenario(network=parse_network(network), **asked)


@pytest.mark.parametrize("backend", ["flow", "ns3"])
def test_a_run_whose_lines_slow_down_comes_near_its_floor(backend: str) -> None:
    """3 MB of each NPU take 240 us; at half the rate from 40 us on 440 us, of which a job that starts then sees all."""
    slow = [{"at": "40us", "nic": 1, "rate": "50%"}]
    for start_ps, least_us in ((0, 440), (100_000_000, 480)):
        result = changing(backend, slow, start_ps)
        floor = result.tenants["own"].metadata["floor"]
        assert floor is not None
        assert floor["share"] is not None
        assert floor["time_ps"] == pytest.approx(least_us * 1e6, rel=0.002)
        assert floor["where"].endswith("NPU 1")
        assert 1 <= floor["share"] < 1.05
        of_run = result.metadata["floor"]
        assert of_run is not None
        assert of_run["time_ps"] == pytest.approx(start_ps + floor["time_ps"], rel=1e-9)
        assert of_run["share"] == pytest.approx(result.finish_ps / of_run["time_ps"], abs=1e-6)


@pytest.mark.parametrize("backend", ["flow", "ns3"])
@pytest.mark.parametrize("seed", range(6))
def test_no_run_on_lines_that_change_is_faster_than_its_floor(backend: str, seed: int) -> None:
    draw, events = random.Random(seed), list[dict[str, Any]]()
    for _ in range(draw.randint(1, 5)):
        length_us = draw.randint(1, 80)
        state: dict[str, Any] = draw.choice([{"up": False}, *({"rate": f"{draw.randint(5, 150)}%"} for _ in range(3))])
        target: dict[str, Any] = draw.choice([{"nic": draw.randrange(4)}, {"link": draw.randrange(8)}])
        again = {"every": f"{length_us + draw.randint(1, 40)}us", "times": draw.randint(2, 4)}
        events.append({"at": f"{draw.randint(0, 200)}us", "for": f"{length_us}us", **target, **state, **again})
    result = changing(backend, events, draw.choice([0, 30_000_000]))
    for metadata in (result.metadata, result.tenants["own"].metadata):
        assert (floor := metadata["floor"]) is not None
        assert floor["share"] is not None
        assert floor["share"] >= 1
