"""Scenarios from files, played: jobs alone and beside others, links that fail and come back, lines that are slower."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.job_tables import frame_of, text_of
from support.small_run import SYSTEM, WORKLOAD

import astra_ns3
from astra_ns3 import ScenarioResult
from astra_ns3.config.core.forever import FOREVER
from astra_ns3.config.scenario.arrivals import read_arrivals
from astra_ns3.config.scenario.file import read_scenario
from astra_ns3.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
ONLY_PACKETS = ("storm",)
"""Examples of what only packets heed."""
EXAMPLES = sorted((ROOT / "inputs" / "scenarios").glob("*.yaml"))
LINK = {"rate": "100Gbps", "delay": "500ns"}
RATE_BPS, DELAY_PS = 10**11, 500_000
PAYLOAD, AROUND = 1000, 82
"""Bytes of a packet of RoCE, without and around its data."""
NETWORKS = [("ns3", "tcp"), ("ns3", "roce"), ("flow", "roce"), ("analytical", "tcp")]
US = 1_000_000


def star(npus: int, transport: str = "roce", **keys: Any) -> dict[str, Any]:
    topology = {"kind": "single-switch", "npus": npus, "link": LINK, "switch": {"buffer": "1GB"}}
    return {"topology": topology, "transport": {"kind": transport, **keys}}


def leaf_spine(transport: str = "roce", spines: int = 2, hosts: int = 4, **keys: Any) -> dict[str, Any]:
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": spines, "hosts_per_leaf": hosts}
    return {
        "topology": {**topology, "link": LINK, "uplink": LINK, "switch": {"buffer": "1GB"}},
        "transport": {"kind": transport, **keys},
    }


def ring(size: int) -> str:
    return f"MICRO\n1\nring -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n"


class Files:
    """A folder of files of a scenario, and runs of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("small.txt", WORKLOAD)
        self.write("system.txt", SYSTEM)

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def job(self, name: str = "a", workload: str = "small.txt", **keys: Any) -> dict[str, Any]:
        return {"name": name, "workload": workload, "system": "system.txt", **keys}

    def play(
        self,
        network: Mapping[str, Any],
        jobs: Sequence[Mapping[str, Any]],
        events: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> ScenarioResult:
        """JSON is YAML."""
        return self.play_with(network, jobs, (), events, **options)

    def play_with(
        self,
        network: Mapping[str, Any],
        jobs: Sequence[Mapping[str, Any]],
        traffic: Sequence[Mapping[str, Any]],
        events: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> ScenarioResult:
        self.write("network.yaml", json.dumps(network))
        keys = {"network": "network.yaml", "jobs": jobs, "traffic": traffic, "events": events}
        self.write("scenario.yaml", json.dumps(keys))
        return astra_ns3.run_scenario(scenario=self.folder / "scenario.yaml", **options)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def _folder(result: Any) -> Path:
    folder = result.folder
    assert isinstance(folder, Path)
    return folder


@pytest.mark.parametrize(("backend", "transport"), NETWORKS)
def test_one_job_on_all_npus_gives_the_files_of_the_plain_run(
    files: Files, backend: str, transport: str, tmp_path: Path
) -> None:
    record = ["flows", "layers", "timeline", *(["accounts"] if backend == "ns3" else [])]
    options: dict[str, Any] = {"backend": backend, "record": record}
    played = files.play(star(4, transport), [files.job(seed=1, passes=2)], output=tmp_path / "scenario", **options)
    paths: dict[str, Any] = {
        "workload": tmp_path / "small.txt",
        "system": tmp_path / "system.txt",
        "network": tmp_path / "network.yaml",
    }
    plain = astra_ns3.run(**paths, passes=2, run_name="a", output=tmp_path / "plain", **options)
    job = played.tenants["a"]
    names = {file.name for file in _folder(plain).iterdir()} - {"run.json"}
    of_network = {"switch.csv"}
    assert {file.name for file in _folder(job).iterdir()} == names - of_network | {"run.json"}
    for name in names:
        other = _folder(plain) / name
        if name in of_network:
            assert (_folder(played) / name).read_bytes() == other.read_bytes(), name
        elif name.endswith(".csv"):
            assert text_of(_folder(job) / name, "a") == other.read_text("utf-8"), name
        else:
            one, alone_frame = (getattr(each, name.removesuffix(".parquet")) for each in (job, plain))
            assert frame_of(one).equals(alone_frame), name
    own, alone = job.metadata, plain.metadata
    same = ("complete", "finish_ps", "npus", "compute_ps", "exposed_ps", "chunks", "workload", "system", "network")
    assert {key: own[key] for key in same} == {key: alone[key] for key in same}  # type: ignore[literal-required]
    assert own["statistics"] == alone["statistics"]


@pytest.mark.parametrize(("backend", "transport"), NETWORKS[:3])
def test_two_jobs_without_a_shared_line_play_as_each_does_alone(files: Files, backend: str, transport: str) -> None:
    network = leaf_spine(transport)
    one = files.job("one", npus={"place": "rack", "count": 4}, seed=1)
    other = files.job("other", npus={"place": "rack", "count": 4}, seed=1, start="3000017ps", passes=2)
    together = files.play(network, [one, other], backend=backend, record=["flows"])
    assert together.tenants["other"].metadata["job"]["npus"] == [4, 5, 6, 7]
    for job in (one, {**other, "npus": [4, 5, 6, 7]}):
        alone = files.play(network, [job], backend=backend, record=["flows"]).tenants[job["name"]]
        shared = together.tenants[job["name"]]
        assert shared.finish_ps == alone.finish_ps
        assert shared.collectives.equals(alone.collectives)
        assert shared.flows.equals(alone.flows)


CONTROLS = {"none": 8, "static-window": 8, "dcqcn": 40, "timely": 8, "dctcp": 8, "hpcc": 8, "swift": 8}
"""MB of each flow: DCQCN takes some milliseconds until shares are even."""


@pytest.mark.parametrize("control", CONTROLS)
def test_two_equal_flows_of_two_jobs_on_a_line_get_half_of_it_each(files: Files, control: str) -> None:
    size = CONTROLS[control] * 1_000_000
    flows = files.write("flow.csv", f"source,destination,bytes,start\n0,1,{size},0ns\n")
    network = leaf_spine(spines=1, hosts=2, congestion_control=control)
    network["topology"]["switch"] = {"buffer": "32MB", "pfc": {}}
    pairs = {"one": [0, 2], "other": [1, 3]}
    both = files.play(network, [files.job(name, flows, npus=npus) for name, npus in pairs.items()])
    alone = files.play(network, [files.job("one", flows, npus=pairs["one"])]).finish_ps
    one, other = (both.tenants[name].finish_ps for name in pairs)
    # Until the first ends both have sent for the same time, so their shares are as the reciprocals of the times.
    assert one / (one + other) == pytest.approx(0.5, abs=0.02)
    assert max(one, other) == pytest.approx(2 * alone, rel=0.02 if control == "none" else 0.25)


@pytest.mark.parametrize("backend", ["ns3", "flow"])
def test_two_jobs_of_messages_have_a_connection_for_each_id_and_no_queue_pair_for_each_message(
    files: Files, backend: str
) -> None:
    """Two ids share the line equally, so the first message of each ends when two have passed, the second when four."""
    ids, packets = ("id 1", "id 1 msg", "id 2", "id 2 msg"), 1000
    flows = files.write("ids.cm", "".join(f"0->1 {each} start 0 size {packets * PAYLOAD}\n" for each in ids))
    jobs = [files.job("one", flows, npus=[0, 1]), files.job("other", flows, npus=[3, 2])]
    packet_ps = (PAYLOAD + AROUND) * 80
    ends = [messages * packets * packet_ps + 2 * DELAY_PS + packet_ps for messages in (2, 4, 2, 4)]
    for job in files.play(star(4, "roce"), jobs, backend=backend, record=["flows"]).tenants.values():
        found = job.completions.sort_values("flow")["end_ps"].tolist()
        assert found == pytest.approx(ends, abs=4 * packet_ps)
    with pytest.raises(InputError, match=r"queue_pairs': per-message has no messages share .*ids.cm do; expected per"):
        files.play(star(4, "roce", queue_pairs="per-message"), jobs)


def _ring_ps(npus: int, packets: int, wire_ps: int, *, halved: bool) -> int:
    """A ring all-reduce of messages of so many packets, each kept whole by a switch between two lines.

    With one line at half its rate the messages over it follow each other without a gap, once they have begun.
    """
    steps = 2 * (npus - 1)
    if not halved:
        return steps * ((packets + 1) * wire_ps + 2 * DELAY_PS)
    return steps * packets * 2 * wire_ps + 2 * (wire_ps + 2 * DELAY_PS)


@pytest.mark.parametrize("halved", [False, True])
@pytest.mark.parametrize("npus", [4, 6])
def test_a_ring_with_a_nic_at_half_its_rate_takes_what_the_closed_form_says(
    files: Files, npus: int, halved: bool
) -> None:
    packets = 200
    workload = files.write("ring.txt", ring(npus * packets * PAYLOAD))
    files.write(
        "system.txt", SYSTEM.replace("endpoint-delay: 10", "endpoint-delay: 0").replace("splits: 2", "splits: 1")
    )
    events = [{"at": 0, "nic": 1, "rate": "50%"}] if halved else []
    network = star(npus, congestion_control="none", window="1GB", ack_every=packets)  # ACKs hardly count
    found = files.play(network, [files.job(workload=workload)], events)
    wire_ps = (PAYLOAD + AROUND) * 8 * 10**12 // RATE_BPS
    assert found.finish_ps == pytest.approx(_ring_ps(npus, packets, wire_ps, halved=halved), rel=0.001)


def _star_with(events: Sequence[dict[str, Any]], files: Files, **options: Any) -> ScenarioResult:
    workload = files.write("ring.txt", ring(4_000_000))
    network = star(4, congestion_control="none", reliability={"kind": "go-back-n", "timeout": "50us"})
    return files.play(network, [files.job(workload=workload)], events, record=["flows"], **options)


def test_all_bytes_arrive_though_a_link_goes_down_and_comes_back(files: Files) -> None:
    flaps: list[dict[str, Any]] = [
        {"at": "50us", "link": ["host 1", "switch 0"], "up": False, "for": "30us", "every": "200us", "times": 2}
    ]
    plain, broken = _star_with([], files), _star_with(flaps, files)
    assert broken.complete
    assert broken.metadata["statistics"]["retransmissions"] > plain.metadata["statistics"]["retransmissions"] == 0
    keys = ["source", "destination", "bytes"]
    sent, arrived = (result.tenants["a"].flows[keys].sort_values(keys).to_numpy() for result in (plain, broken))
    assert (sent == arrived).all()
    assert broken.finish_ps > plain.finish_ps + 30 * US
    (event,) = broken.metadata["events"]
    assert event == {
        "event": 0, "name": "host 1 - switch 0", "link": 1, "start_ps": 50 * US, "end_ps": 80 * US,
        "every_ps": 200 * US, "times": 2, "up": False,
    }  # fmt: skip
    assert broken.metadata["scenario"] == str(files.folder / "scenario.yaml")


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize(
    "change",
    [{"up": False, "for": "60us"}, {"rate": "25%", "for": "100us"}, {"delay": "20us"}],
    ids=lambda each: next(iter(each)),
)
def test_events_slow_a_job_on_packets_and_on_flows(files: Files, backend: str, change: dict[str, Any]) -> None:
    plain = _star_with([], files, backend=backend).finish_ps
    assert _star_with([{"at": "50us", "nic": 2, **change}], files, backend=backend).finish_ps > plain + 20 * US


def _drawn(draw: Random) -> list[dict[str, Any]]:
    """Some events on a leaf-spine of eight hosts; whatever goes down comes back."""
    found: list[dict[str, Any]] = []
    for _ in range(draw.randint(1, 5)):
        ends = [f"leaf {draw.randrange(2)}", f"spine {draw.randrange(2)}"]
        target: dict[str, Any] = draw.choice([{"link": ends}, {"nic": draw.randrange(8)}, {"link": draw.randrange(12)}])
        state: dict[str, Any] = draw.choice(
            [{"up": False}, {"rate": f"{draw.randint(5, 80)}%"}, {"delay": f"{draw.randint(1, 9)}us"}]
        )
        if draw.random() < 0.2:
            target, state = {"switch": draw.choice(["spine 0", "leaf 1"])}, {"up": False}
        length = draw.randint(1, 40)
        again = {"every": f"{length + draw.randint(1, 40)}us", "times": draw.randint(2, 4)}
        found.append({"at": f"{draw.randint(0, 60_000)}ns", **target, **state, "for": f"{length}us"})
        found[-1] |= again if draw.random() < 0.5 else {}
    return found


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4, 5, 8, 11])  # of the last two, rounding left flows on dead lines
def test_whatever_fails_for_a_while_all_messages_of_all_jobs_arrive_once(files: Files, seed: int) -> None:
    draw = Random(seed)
    transport = draw.choice(["roce", "roce", "tcp"])
    keys: dict[str, Any] = {"reliability": {"kind": "go-back-n", "timeout": "60us"}} if transport == "roce" else {}
    workload, events = files.write("ring.txt", ring(400_000)), _drawn(draw)
    jobs = [files.job(name, workload, npus={"place": "random", "count": 4}) for name in ("one", "other")]
    for backend in ("ns3", "flow"):
        played = files.play(
            leaf_spine(transport, **keys), jobs, events, backend=backend, record=["flows"], seed=seed + 1
        )
        assert played.complete
        for job in played.tenants.values():
            assert len(job.flows) == 2 * 2 * 3 * 4  # chunks, both halves of a ring, steps, NPUs
            assert job.flows["bytes"].sum() == 2 * 3 * 400_000


def test_a_job_is_not_slowed_by_what_it_does_not_touch(files: Files) -> None:
    network = leaf_spine()
    job = files.job(npus=[0, 1, 2, 3])
    events: list[dict[str, Any]] = [
        {"at": "1us", "npu": 7, "up": False},
        {"at": "2us", "link": ["leaf 1", "spine 0"], "rate": "1%"},
    ]
    assert files.play(network, [job], events).finish_ps == files.play(network, [job]).finish_ps


def test_keys_of_a_job_change_its_files_alone(files: Files) -> None:
    more = {"workload.layers.*.forward.compute_ns": 900_000, "system.preferred-dataset-splits": 4}
    found = files.play(star(4), [files.job("a", npus=[0, 1]), files.job("b", npus=[2, 3], set=more)])
    one, other = found.tenants["a"].metadata, found.tenants["b"].metadata
    assert other["finish_ps"] > one["finish_ps"] + 1_000 * US
    assert other["chunks"] == 2 * one["chunks"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_each_example_plays(path: Path) -> None:
    result = astra_ns3.run_scenario(scenario=path, backend="ns3" if path.stem in ONLY_PACKETS else "flow")
    assert result.metadata["run_name"] == path.stem
    file = read_scenario(path)
    assert result.complete
    jobs, traffic = file.config.jobs, file.config.traffic
    arrivals = () if file.config.arrivals is None else read_arrivals(file.config.arrivals)
    assert [*result.tenants] == [
        *(job.name for job in jobs),
        *(job.name for job in arrivals),
        *(each.name for each in traffic),
    ]
    foreseen, sent = astra_ns3.forecast_scenario(scenario=path).messages, result.metadata["statistics"]["messages"]
    if any(job.passes == FOREVER for job in file.config.jobs):  # of which one pass is foreseen
        assert foreseen <= sent * 2
    elif any(job.restart is not None and job.restart.fails for job in file.config.jobs):  # a try as long as it can be
        assert sent < foreseen < 2 * sent
    elif all(each.ends for each in file.config.traffic):  # else nobody knows how many flows there will be
        assert foreseen == sent


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_the_example_of_a_failing_link_loses_frames_and_time_as_its_page_says(tmp_path: Path) -> None:
    example = ROOT / "inputs" / "scenarios" / "flaps.yaml"
    whole = example.read_text(encoding="utf-8").replace("../", f"{ROOT}/inputs/").partition("recovery:")[0]
    (tmp_path / "whole.yaml").write_text(whole, encoding="utf-8")
    failing, plain = (astra_ns3.run_scenario(scenario=path) for path in (example, tmp_path / "whole.yaml"))
    (lost,) = [words for words in failing.metadata["warnings"] if "frames were lost" in words]
    times = [f"{result.finish_ps / 1000 / US:.2f} ms" for result in (failing, plain)]
    page = (ROOT / "docs" / "how-to" / "what-happens-when-a-link-fails.md").read_text(encoding="utf-8")
    assert f"{lost.partition(' ')[0]} frames were lost. The run takes {times[0]} instead of {times[1]}" in page


STARTS = [("ns3", "tcp"), ("ns3", "roce"), ("flow", "roce"), ("analytical", "tcp"), ("analytical-queues", "tcp")]


@pytest.mark.parametrize(("backend", "transport"), STARTS)
def test_jobs_that_follow_each_other_on_the_same_picosecond_play_as_each_does_alone(
    files: Files, backend: str, transport: str
) -> None:
    network = star(6, transport)
    alone = files.play(network, [files.job(npus=[0, 1], passes=3, seed=1)], backend=backend)
    once = files.play(network, [files.job(npus=[0, 1], seed=1)], backend=backend).finish_ps
    jobs = [
        files.job("a", npus=[0, 1], passes=3, seed=1),
        files.job("b", npus=[2, 3], seed=1, start={"after": "a", "passes": 1}),
        files.job("c", npus=[4, 5], seed=1, passes="forever", start={"after": "a", "delay": "3ps"}, end="1ms"),
    ]
    found = {each["name"]: each for each in files.play(network, jobs, backend=backend).metadata["jobs"]}
    assert found["a"]["finish_ps"] == alone.finish_ps
    assert (found["b"]["start_ps"], found["b"]["finish_ps"]) == (once, once)
    begun = alone.finish_ps + 3
    assert (found["c"]["start_ps"], found["c"]["finish_ps"], found["c"]["ended_by"]) == (begun, 10**9 - begun, "time")
    later = files.play(network, [files.job(npus=[0, 1], seed=1, passes=found["c"]["passes_done"])], backend=backend)
    assert 0 <= 10**9 - begun - later.finish_ps < once


def test_two_cores_start_jobs_on_the_same_picosecond_as_one(files: Files) -> None:
    network = leaf_spine()
    jobs = [
        files.job("a", npus=[0, 4], passes=3, seed=1),
        files.job("b", npus=[1, 5], seed=1, passes="forever", start={"after": "a", "passes": 1, "delay": "7ps"}),
        files.job("c", npus=[2, 6], seed=1, start={"after": "a"}),
    ]
    one, two = (files.play(network, jobs, cores=cores).metadata["jobs"] for cores in (1, 2))
    assert one == two


def test_what_a_job_for_ever_keeps_does_not_grow_with_its_passes_but_for_its_table(files: Files) -> None:
    micro = files.write("ring.txt", ring(1000))
    network = star(4)

    def kept(end: str) -> tuple[int, int]:
        jobs = [files.job("noise", micro, npus=[0, 1], passes="forever", end=end)]
        metadata = files.play(network, jobs, backend="analytical").metadata
        return metadata["memory"]["peak_above_idle_bytes"], metadata["jobs"][0]["passes_done"] or 0

    (few, passes), (many, more) = kept("5ms"), kept("25ms")
    assert more > 4 * passes > 2000
    # 40 bytes of a row of collectives.csv here and there, and its text.
    assert many - few < 1000 * (more - passes)


# Without losses, after which one of two flows of TCP may have less for seconds.
TCP_CONTROLS: dict[str, dict[str, Any]] = {
    "NewReno": {},
    "Cubic": {},
    "Dctcp": {"ecn": {"kmin": "300KB", "kmax": "300KB", "pmax": 1.0}},
}


@pytest.mark.parametrize(("control", "marking"), TCP_CONTROLS.items())
def test_two_equal_flows_of_two_jobs_over_tcp_get_half_of_a_line_each(
    files: Files, control: str, marking: dict[str, Any]
) -> None:
    flows = files.write("flow.csv", "source,destination,bytes,start\n0,1,40000000,0ns\n")
    network = leaf_spine("tcp", spines=1, hosts=2, congestion_control=control)
    network["topology"]["switch"] = {"buffer": "1GB", **marking}
    pairs = {"one": [0, 2], "other": [1, 3]}
    both = files.play(network, [files.job(name, flows, npus=npus) for name, npus in pairs.items()])
    one, other = (both.tenants[name].finish_ps for name in pairs)
    assert one / (one + other) == pytest.approx(0.5, abs=0.02)


ACKNOWLEDGEMENT = 86
"""Bytes of one on the line, preamble and gap counted."""
ONE_CHUNK = """scheduling-policy: FIFO
endpoint-delay: 10
preferred-dataset-splits: 1
active-chunks-per-dimension: 1
all-reduce-implementation: ring
"""


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.5])
def test_two_periodic_jobs_on_a_line_take_the_time_of_their_overlap(files: Files, backend: str, share: float) -> None:
    size, compute_ns, passes = 4_000_000, 1_200_000, 3
    workload = files.write("periodic.txt", f"DATA\n1\nonly -1 {compute_ns} NONE 0 0 NONE 0 0 ALLREDUCE {size} 0\n")
    files.write("one-chunk.txt", ONE_CHUNK)
    network = leaf_spine(spines=1, hosts=2, congestion_control="none")
    network["topology"]["switch"] = {"buffer": "2MB", "pfc": {}}
    # Two NPUs exchange a half each, twice, so a line carries the whole size in each pass, and as many answers.
    alone_ps = size // PAYLOAD * (PAYLOAD + AROUND + ACKNOWLEDGEMENT) * 8 * 10**12 // RATE_BPS
    behind_ps = int(share * alone_ps)
    jobs = [
        {**files.job(name, workload, npus=npus, passes=passes, start=f"{start_ps}ps"), "system": "one-chunk.txt"}
        for name, npus, start_ps in (("one", [0, 2], 0), ("other", [1, 3], behind_ps))
    ]
    both = files.play(network, jobs, backend=backend)
    # Both begin to send once they have computed, the second so much later. Until it does the first has the line, then
    # both share it, and when the first has sent all the second has as long alone: both take 2 T - d. So the distance
    # stays, and passes are alike. From T on nobody meets the other; a computation is longer than that.
    took_ps = 2 * alone_ps - behind_ps if behind_ps < alone_ps else alone_ps
    for result in both.tenants.values():
        assert result.finish_ps == pytest.approx(passes * (compute_ns * 1000 + took_ps), rel=0.02)
