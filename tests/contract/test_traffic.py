"""Other traffic, played: the same flows as a list of them, beside jobs, until these end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.small_run import SYSTEM, WORKLOAD

import astra_ns3
from astra_ns3 import ScenarioResult
from astra_ns3.config.flow_list import FlowList
from astra_ns3.errors import InputError
from astra_ns3.experiments.jobs.flows import system_of_flows
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import load_tenants
from astra_ns3.memory import Available
from astra_ns3.network.door.session_backend import SessionBackend
from astra_ns3.report.explanation.explain import explain
from astra_ns3.report.scenario_text import scenario_run_text
from astra_ns3.units import PS_PER_US
from astra_ns3.workload.generators.flow_sizes import flow_sizes
from astra_ns3.workload.generators.flows import constant, incast, on_off, poisson

LINK = {"rate": "100Gbps", "delay": "500ns"}
RATE_BPS = 100_000_000_000
NPUS = 8
PLAYED = [("ns3", "roce"), ("ns3", "tcp"), ("flow", "roce")]
SIZES = "20KB"


def network(transport: str = "roce", **keys: Any) -> dict[str, Any]:
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": NPUS // 2}
    return {
        "topology": {**topology, "link": LINK, "uplink": LINK, "switch": {"buffer": "64MB"}},
        "transport": {"kind": transport, **keys},
    }


class Files:
    """A folder of a scenario's files, and runs of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "small.txt").write_text(WORKLOAD, encoding="utf-8")
        (folder / "system.txt").write_text(SYSTEM, encoding="utf-8")

    def write(self, config: Mapping[str, Any], **scenario: Any) -> Path:
        (self.folder / "network.yaml").write_text(json.dumps(config), encoding="utf-8")
        path = self.folder / "scenario.yaml"
        path.write_text(json.dumps({"network": "network.yaml", **scenario}), encoding="utf-8")
        return path

    def play(self, config: Mapping[str, Any], options: Mapping[str, Any] | None = None, **scenario: Any) -> Any:
        return astra_ns3.run_scenario(
            scenario=self.write(config, **scenario), **{"record": ["flows"], **(options or {})}
        )


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def job(name: str = "a", **keys: Any) -> dict[str, Any]:
    return {"name": name, "workload": "small.txt", "system": "system.txt", **keys}


def rows(result: Any) -> list[tuple[int, ...]]:
    table = result.completions.sort_values("flow").drop(columns="job", errors="ignore")
    return [tuple(row) for row in table.itertuples(index=False)]


MADE: Sequence[tuple[dict[str, Any], Any]] = [
    (
        {"kind": "poisson", "load": 0.5, "end": "100us"},
        lambda sizes: poisson(NPUS, sizes, load=0.5, rate_bps=RATE_BPS, duration_ps=100 * PS_PER_US, seed=7),
    ),
    (
        {"kind": "poisson", "load": 0.5, "end": "100us", "rack-local": 0.8},
        lambda sizes: poisson(
            NPUS,
            sizes,
            load=0.5,
            rate_bps=RATE_BPS,
            duration_ps=100 * PS_PER_US,
            seed=7,
            rack_npus=NPUS // 2,
            rack_local=0.8,
        ),
    ),
    (
        {"kind": "incast", "senders": 5, "interval": "20us", "flows": 20},
        lambda sizes: incast(NPUS, sizes, senders=5, bursts=4, interval_ps=20 * PS_PER_US, seed=7),
    ),
    (
        {"kind": "on-off", "rate": "40Gbps", "on": "10us", "off": "20us", "end": "100us"},
        lambda sizes: on_off(
            NPUS,
            sizes,
            rate_bps=40 * 10**9,
            on_ps=10 * PS_PER_US,
            off_ps=20 * PS_PER_US,
            duration_ps=100 * PS_PER_US,
            seed=7,
        ),
    ),
    (
        {"kind": "on-off", "load": 0.2, "on": "10us", "off": "20us", "end": "100us"},
        lambda sizes: on_off(
            NPUS,
            sizes,
            rate_bps=RATE_BPS * 3 // 5,
            on_ps=10 * PS_PER_US,
            off_ps=20 * PS_PER_US,
            duration_ps=100 * PS_PER_US,
            seed=7,
        ),
    ),
    (
        {"kind": "constant", "rate": "20Gbps", "end": "100us"},
        lambda sizes: constant(NPUS, sizes, rate_bps=20 * 10**9, duration_ps=100 * PS_PER_US, seed=7),
    ),
]


@pytest.mark.parametrize(("entry", "make"), MADE, ids=lambda each: each["kind"] if isinstance(each, dict) else "")
def test_traffic_is_what_generate_flows_makes_of_the_same_numbers(
    files: Files, entry: dict[str, Any], make: Any
) -> None:
    config = network(queue_pairs="per-message")
    played = files.play(
        config, {"backend": "flow"}, traffic=[{"name": "t", "sizes": SIZES, "seed": 7, **entry}]
    ).tenants["t"]
    alone = astra_ns3.run(
        workload=make(flow_sizes(SIZES)),
        system=system_of_flows(None),
        network=files.folder / "network.yaml",
        backend="flow",
        record=["flows"],
    )
    assert len(alone.completions) > 10
    assert rows(played) == rows(alone)


@pytest.mark.parametrize(("backend", "transport"), PLAYED)
def test_flows_started_in_the_native_half_are_those_launched_from_python(
    files: Files, backend: str, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flows = poisson(NPUS, flow_sizes(SIZES), load=0.6, rate_bps=RATE_BPS, duration_ps=60 * PS_PER_US, seed=3)
    files.write(network(transport))
    made = []
    for way in ("native", "python"):
        if way == "python":
            monkeypatch.setattr(SessionBackend, "flow_player", lambda self, setup: None)
        result = astra_ns3.run(
            workload=flows, system=files.folder / "system.txt", network=files.folder / "network.yaml",
            backend=backend, isolated=False, record=["flows"],
        )  # fmt: skip
        tables = (result.completions, result.flow_completion, result.goodput)
        made.append([table.to_dict("list") for table in tables])
    native, python = made
    assert len(native[0]["flow"]) == len(flows)
    assert str(native) == str(python)


@pytest.mark.parametrize(("backend", "transport"), PLAYED)
def test_traffic_goes_on_until_the_jobs_have_ended(files: Files, backend: str, transport: str) -> None:
    result: ScenarioResult = files.play(
        network(transport),
        {"backend": backend},
        jobs=[job(npus=[0, 1, 4, 5])],
        traffic=[{"name": "t", "kind": "poisson", "sizes": "5KB", "load": 0.3}],
    )
    training, traffic = result.tenants["a"], result.tenants["t"]
    assert result.metadata["complete"]
    flows = traffic.metadata["flows"]
    assert 0 < flows["delivered"] <= flows["started"] == flows["flows"]
    left = flows["started"] - flows["delivered"]
    told = f"{left:,} of {flows['started']:,} flows of 't' weren't delivered when the run ended"
    assert any(told in words for words in result.metadata["warnings"]) == (left > 0.01 * flows["started"])
    assert result.metadata["finish_ps"] == training.metadata["finish_ps"]
    assert explain(traffic).subject == "run t"
    assert traffic.completions["end_ps"].max() <= training.metadata["finish_ps"]
    # As many as the load makes in that time: a Poisson number within five deviations.
    expected = NPUS * 0.3 * RATE_BPS / 8 / 5_000 * training.metadata["finish_ps"] / 1e12
    assert abs(flows["started"] - expected) < 5 * expected**0.5 + 1


@pytest.mark.parametrize(("backend", "transport"), PLAYED)
def test_flows_that_are_still_to_start_don_t_keep_a_run_whose_jobs_have_ended(
    files: Files, backend: str, transport: str
) -> None:
    """One flow at once, and others 10 ms and more later, which no job of microseconds waits for."""
    waits = {"name": "t", "kind": "incast", "sizes": "1KB", "senders": 1, "interval": "10ms", "flows": 3}
    result = files.play(network(transport), {"backend": backend}, jobs=[job(npus=[0, 1, 4, 5])], traffic=[waits])
    finish_ps = result.tenants["a"].metadata["finish_ps"]
    assert finish_ps < 10_000 * PS_PER_US
    assert result.metadata["finish_ps"] == finish_ps
    assert result.tenants["t"].metadata["flows"]["started"] == 1


def test_traffic_slows_a_job_that_shares_its_links_and_no_other(files: Files) -> None:
    """The job of one leaf, and traffic on the same leaf or on the other: without common links nothing changes."""
    alone = files.play(network(), jobs=[job(npus=[0, 1, 2, 3], dimensions=[4])])
    took = {"alone": alone.tenants["a"].metadata["finish_ps"]}
    for name, npus in (("same", "0-3"), ("other", "4-7")):
        result = files.play(
            network(),
            jobs=[job(npus=[0, 1, 2, 3], dimensions=[4])],
            traffic=[{"name": "t", "kind": "poisson", "sizes": "20KB", "load": 0.6, "npus": [npus]}],
        )
        took[name] = result.tenants["a"].metadata["finish_ps"]
    assert took["other"] == took["alone"] < took["same"]


def test_a_flow_has_connections_of_its_own_beside_a_job_s(files: Files) -> None:
    """A job's messages between two NPUs don't wait for the end of the traffic's flow between the same two."""
    entry = {"name": "t", "kind": "incast", "senders": 1, "sizes": "100MB", "interval": "1s", "npus": [0, 1]}
    took = {}
    for traffic in ([], [entry]):
        result = files.play(network(), jobs=[job(npus=[0, 1], dimensions=[2])], traffic=traffic)
        took[len(traffic)] = result.tenants["a"].metadata["finish_ps"]
    # Alone behind it, the first message would wait for 8 ms. Shared fairly, all take about twice as long.
    assert took[0] < took[1] < 3 * took[0]


def test_the_order_of_entries_changes_nothing(files: Files) -> None:
    """Entries' queue pairs, and so the ways that ECMP takes, follow from their names as their seeds do."""
    entries: list[dict[str, Any]] = [
        {"name": "p", "kind": "poisson", "load": 0.5, "sizes": SIZES},
        {"name": "a", "kind": "incast", "senders": 4, "interval": "10us", "sizes": SIZES},
    ]
    finish, done = [], []
    for traffic in (entries, entries[::-1]):
        result = files.play(network(), jobs=[job("job")], traffic=traffic)
        finish.append(result.tenants["job"].metadata["finish_ps"])
        done.append({entry["name"]: rows(result.tenants[entry["name"]]) for entry in entries})
    assert finish[0] == finish[1]
    assert done[0] == done[1]


def test_records_of_traffic_on_a_job_s_npus_are_the_traffic_s(files: Files, tmp_path: Path) -> None:
    result = files.play(
        network(queue_pairs="per-message"),
        {"record": ["flows", "accounts"], "output": tmp_path / "out"},
        jobs=[job(npus=[4, 5, 6, 7], dimensions=[4])],
        traffic=[{"name": "t", "kind": "poisson", "sizes": "5KB", "load": 0.3, "npus": ["2-7"], "end": "20us"}],
    )
    traffic = result.tenants["t"]
    done = traffic.completions.set_index("flow").sort_index()
    flows = traffic.flows.set_index("collective").sort_index()
    common = done.index.intersection(flows.index)
    assert len(common) > 10
    assert (flows.loc[common, "source"] == done.loc[common, "source"]).all()
    assert (flows.loc[common, "bytes"] == done.loc[common, "bytes"]).all()
    assert set(result.tenants["a"].flows["source"]) <= {0, 1, 2, 3}
    assert len(traffic.accounts) == len(flows)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_offered_load_of_a_cut_is_met(files: Files, seed: int) -> None:
    """Within five deviations: of a Poisson number of equal flows, the root of their number."""
    flows = 20_000
    result = files.play(
        network(queue_pairs="per-message"),
        {"backend": "flow"},
        traffic=[
            {
                "name": "t", "kind": "poisson", "sizes": "2KB", "load": 0.4, "cut": "racks", "rack-local": 0.25,
                "flows": flows, "seed": seed,
            }
        ],
    )  # fmt: skip
    done = result.tenants["t"].completions
    across = done[(done["source"] < NPUS // 2) != (done["destination"] < NPUS // 2)]
    # Each leaf has two uplinks of 100 Gb/s.
    load = across["bytes"].sum() * 8 / (done["start_ps"].max() / 1e12) / (4 * RATE_BPS)
    assert load == pytest.approx(0.4, rel=5 / (0.75 * flows) ** 0.5)
    assert len(across) / flows == pytest.approx(0.75, abs=5 * (0.75 * 0.25 / flows) ** 0.5)


REFUSED: Sequence[tuple[dict[str, Any], str, str]] = [
    ({"load": 1.5}, "flow", "key 'traffic.0.load': found 1.5, expected less than or equal to 1"),
    ({"load": 0.5, "cut": "leafs"}, "flow", "cut 'leafs' is none of the network's, .*did you mean 'leaf'"),
    ({"load": 0.5, "cut": "spine"}, "flow", "no link leads out of spine"),
    ({"load": 0.9, "cut": "racks", "rack-local": 0.9}, "flow", "is 4.5 of the hosts' links, expected at most 1"),
    (
        {"kind": "on-off", "rate": "200Gbps", "on": "10us", "off": "20us"},
        "flow",
        "rate 200 Gb/s is 2 of the hosts' links, expected at most 1 there; use a rate of at most 100 Gb/s",
    ),
    (
        {"kind": "on-off", "load": 0.5, "on": "10us", "off": "20us"},
        "flow",
        "while NPUs are on, is 1.5 of the hosts' links, expected at most 1 there; use a load of at most 0.333",
    ),
    ({"load": 0.5, "npus": [3, 99]}, "flow", "NPU is 99, expected 0 to 7|NPU 99"),
    ({"load": 0.5, "start": "-3us"}, "flow", "key 'traffic.0.start'"),
    ({"load": 0.5, "rate": "1Gbps"}, "flow", "found load and rate, expected load or rate"),
    ({"load": 0.5, "sizes": "websearch"}, "flow", "did you mean 'web-search'"),
    ({"load": 0.5, "end": "1us", "start": "2us"}, "flow", "is not after start"),
    ({"load": 0.5}, "analytical", "other traffic has no meaning on the backend analytical, expected ns3 or flow"),
    ({"load": 0.5}, "analytical-queues", "no meaning on the backend analytical-queues"),
    ({"load": 0.5, "senders": 3}, "flow", "is nothing that kind: poisson has"),
    ({"load": 0.5, "laod": 3}, "flow", "key 'traffic.0.laod': unknown key; allowed: name, kind, sizes, load"),
]


@pytest.mark.parametrize(("keys", "backend", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_bad_traffic_is_one_line_before_the_run(
    files: Files, keys: dict[str, Any], backend: str, words: str, tmp_path: Path
) -> None:
    entry = {"name": "t", "kind": "poisson", "sizes": "5KB", **keys}
    with pytest.raises(InputError, match=words) as found:
        files.play(
            network(), {"backend": backend, "output": tmp_path / "out"}, jobs=[job(npus=[0, 1])], traffic=[entry]
        )
    assert "scenario.yaml" in str(found.value)
    assert "\n" not in str(found.value)
    assert not (tmp_path / "out").exists()


MANY: Sequence[tuple[dict[str, Any], str]] = [
    ({"load": 0.5, "sizes": "1B", "end": "10ms"}, "that makes about 5e+08 flows, expected at most 100,000,000"),
    ({"load": 0.5, "sizes": "10B", "end": "10ms"}, "that makes about 5e+07 flows would need about 6.5 GB of memory"),
    ({"load": 0.5, "sizes": "10B", "flows": 50_000_000}, "that makes about 5e+07 flows would need about 6.5 GB"),
    ({"load": 0.5, "sizes": "1B"}, "flows in the 16 ms that jobs need, expected at most 100,000,000"),
]


@pytest.mark.parametrize(("keys", "words"), MANY)
def test_more_flows_than_can_be_played_are_refused_before_any_is_drawn(
    files: Files, keys: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("astra_ns3.memory.available_memory", lambda _limit=None: Available(10**9, "the machine has"))
    monkeypatch.setattr("astra_ns3.workload.generators.processes.Poisson.blocks", None)  # nobody draws
    large = files.folder / "large.csv"
    large.write_text("source,destination,bytes,start\n0,1,400MB,0ns\n", encoding="utf-8")
    jobs, traffic = [{**job(npus=[0, 1]), "workload": str(large)}], [{"name": "t", "kind": "poisson", **keys}]
    with pytest.raises(InputError) as found:
        load_tenants(ScenarioRequest(scenario=files.write(network(), jobs=jobs, traffic=traffic)))
    assert words in str(found.value)
    assert "traffic 't': that makes about" in str(found.value)


def test_traffic_that_never_ends_needs_a_job(files: Files) -> None:
    with pytest.raises(InputError, match="never ends, and there is no job with which it could; expected end: TIME or"):
        files.play(network(), traffic=[{"name": "t", "kind": "poisson", "sizes": "5KB", "load": 0.5}])


def test_a_scenario_with_traffic_alone_runs_until_its_flows_are_done(files: Files) -> None:
    result = files.play(
        network(),
        traffic=[{"name": "t", "kind": "incast", "sizes": "1MB", "senders": 4, "interval": "1us", "flows": 8}],
    )
    flows = result.tenants["t"].metadata["flows"]
    assert flows["delivered"] == flows["flows"] == 8
    assert result.metadata["finish_ps"] == np.asarray(result.tenants["t"].completions["end_ps"]).max()


def test_a_stream_is_the_list_of_its_first_flows() -> None:
    """What a process makes doesn't hang on how much of it is asked for."""
    made = [
        poisson(NPUS, flow_sizes("hadoop"), load=0.5, rate_bps=RATE_BPS, duration_ps=time * PS_PER_US, seed=9)
        for time in (500, 50_000)
    ]
    short, long = made
    assert isinstance(short, FlowList)
    assert len(long) > 20_000 > len(short) > 100
    for name in ("sources", "destinations", "sizes_bytes", "starts_ps"):
        assert np.array_equal(getattr(short, name), getattr(long, name)[: len(short)])


def test_two_cores_play_traffic_as_one_does(files: Files) -> None:
    entry = {"name": "t", "kind": "poisson", "sizes": "20KB", "load": 0.6, "flows": 300}
    one, two = (files.play(network(), {"cores": cores}, traffic=[entry]) for cores in (1, 2))
    assert rows(one.tenants["t"]) == rows(two.tenants["t"])
    assert len(rows(one.tenants["t"])) == 300


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_a_list_of_flows_that_is_stopped_starts_no_more_of_them(files: Files, backend: str) -> None:
    lines = [f"0,1,20KB,{number * 10}us" for number in range(40)]
    listed = "\n".join(["source,destination,bytes,start", *lines, ""])
    (files.folder / "list.csv").write_text(listed, encoding="utf-8")
    stopped = {"name": "stopped", "workload": "list.csv", "system": "system.txt", "npus": [0, 1], "end": "95us"}
    other = {"name": "other", "workload": "list.csv", "system": "system.txt", "npus": [2, 3]}
    result = files.play(network(), {"backend": backend}, jobs=[stopped, other])
    first, second = result.metadata["jobs"]
    assert (first["started"], first["delivered"], first["ended_by"]) == (10, 10, "time")
    assert (second["started"], second["delivered"]) == (40, 40)
    assert result.metadata["statistics"]["messages"] == 50


def test_flows_have_no_times_of_computing_and_waiting_beside_a_training_job(files: Files) -> None:
    """Neither have the tables of one run: flows of NPUs don't wait for each other as passes do."""
    (files.folder / "list.csv").write_text("source,destination,bytes\n0,1,20KB\n", encoding="utf-8")
    entry = {"name": "t", "kind": "poisson", "sizes": "20KB", "load": 0.2}
    listed = {"name": "listed", "workload": "list.csv", "system": "system.txt", "npus": [2, 3]}
    result = files.play(network(), jobs=[job(npus=[0, 1, 4, 5]), listed], traffic=[entry])
    table = {row["job"]: row for row in result.rows("jobs.csv")}
    training = result.tenants["a"].metadata
    assert PS_PER_US * float(table["a"]["exposed_us"]) == pytest.approx(training["exposed_ps"])
    for name in ("listed", "t"):
        assert [table[name][column] for column in ("compute_us", "exposed_us")] == ["", ""]
        assert float(table[name]["duration_us"]) > 0
        (told,) = (each for each in result.metadata["jobs"] if each["name"] == name)
        assert not told.keys() & {"compute_ps", "exposed_ps"}
    line = next(line for line in scenario_run_text(result.metadata, None).splitlines() if line.startswith("listed"))
    assert line.split()[-2:] == ["-", "-"]
