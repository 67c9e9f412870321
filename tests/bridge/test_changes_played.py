"""``explain --play``: what a change saves is what a run with it saves, and runs that differ by now aren't played."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.command import run_command
from support.small_run import SYSTEM
from support.studies import INPUTS

import astra_ns3
from astra_ns3 import Tenant
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.errors import InputError, LimitReached
from astra_ns3.network.limits import Limits
from astra_ns3.report.explanation.explanation import Explanation
from astra_ns3.system.file import parse_system
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text
from astra_ns3.workload.files.astra_sim import parse_workload

LINES, NPUS, SLOW = "with lines twice as fast", "with NPUs that compute twice as fast", "without slow NPUs"
WINDOW, RATE, LATE = "with a window that never closes", "at line rate always", "without waiting for acknowledgements"
LOSSES, DELAYS = "without losses", "without NPUs' own delays"
WORK = """DATA
2
a -1 20000 NONE 0 20000 NONE 0 20000 ALLREDUCE 400000 10
b -1 9000 NONE 0 0 NONE 0 9000 ALLREDUCE 900000 9
"""
MODEL = """kind: transformer
name: small
model: {layers: 1, hidden: 256, heads: 4, feed_forward: 1024, vocabulary: 512}
training: {sequence: 64, micro_batch: 1, micro_batches: 1, datatype: bfloat16}
parallel: {tensor: 2}
compute: H100
"""
ROCE: dict[str, Any] = {"kind": "roce", "payload": 4096, "congestion_control": "none"}
SLOWDOWN = {"stragglers": [{"npus": [1], "factor": 2.0}]}
STAR: dict[str, Any] = {
    "kind": "single-switch",
    "npus": 4,
    "link": {"rate": "100Gbps", "delay": "1us"},
    "switch": {"buffer": "64MB"},
}


def written(
    folder: Path, topology: dict[str, Any] = STAR, transport: dict[str, Any] = ROCE, system: str = SYSTEM
) -> Any:
    """Write a run's files; return their paths."""
    texts = {"w.txt": WORK, "s.yaml": system, "n.json": json.dumps({"topology": topology, "transport": transport})}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {"workload": folder / "w.txt", "system": folder / "s.yaml", "network": folder / "n.json"}


def rates_twice(value: Any) -> Any:
    if isinstance(value, dict):
        twice = {"50Gbps": "100Gbps", "100Gbps": "200Gbps", "400Gbps": "800Gbps"}
        return {key: twice[each] if key == "rate" else rates_twice(each) for key, each in value.items()}
    return value


def saved(found: Explanation) -> dict[str, int]:
    return {each.change: each.time_ps for each in found.what_ifs if each.played}


def recorded(files: Any, **options: Any) -> astra_ns3.Result:
    return astra_ns3.run(**files, **{"record": ["timeline", "accounts"], "backend": "flow", **options})


SYSTEM_KEYS: dict[str, Any] = dict(line.split(": ") for line in SYSTEM.splitlines()) | {
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 2,
}
NODES = {
    "kind": "hierarchical", "nodes": 2, "npus_per_node": 2,
    "scale_up": {"link": {"rate": "400Gbps", "delay": "100ns"}, "switch": {"buffer": "64MB"}},
    "scale_out": STAR,
}  # fmt: skip
TORUS = {"kind": "torus", "shape": [2, 2], "link": STAR["link"], "switch": STAR["switch"]}


@pytest.mark.parametrize("backend", ["ns3", "flow"])
@pytest.mark.parametrize("topology", [STAR, NODES, TORUS], ids=["star", "nodes", "torus"])
def test_faster_lines_and_npus_save_what_runs_with_them_save(
    topology: dict[str, Any], backend: str, tmp_path: Path
) -> None:
    options = {"compute_slowdown": SLOWDOWN, "backend": backend, "comm_scale": 0.5, "passes": 2}
    system = SYSTEM if topology == STAR else SYSTEM.replace("ring", "ring_ring").replace("direct", "direct_direct")
    before = recorded(written(tmp_path, topology, ROCE, system), **options)
    found = saved(astra_ns3.explain(before, play=True))
    fast = recorded(written(tmp_path, rates_twice(topology), ROCE, system), **options)
    files = written(tmp_path, topology, ROCE, system)
    others = {
        LINES: fast,
        NPUS: recorded(files, **options, compute_scale=0.5),
        SLOW: recorded(files, **{**options, "compute_slowdown": None}),
    }
    for change, after in others.items():
        assert found[change] == before.finish_ps - after.finish_ps
    assert found[LINES] > 0.02 * before.finish_ps


@pytest.mark.parametrize(
    ("transport", "link", "change", "changed"),
    [
        ({"window": "20KB"}, {}, WINDOW, {"window": "none"}),
        (
            {"congestion_control": "static-window", "window": "20KB"},
            {},
            WINDOW,
            {"congestion_control": "none", "window": "none"},
        ),
        ({"completion": "acknowledged", "ack_every": 16}, {}, LATE, {"completion": "arrival"}),
        ({"reliability": {"kind": "go-back-n", "timeout": "300us"}}, {"error_rate": 0.003}, LOSSES, {}),
    ],
)
def test_changes_of_a_transport_save_what_runs_with_them_save(
    transport: dict[str, Any], link: dict[str, Any], change: str, changed: dict[str, Any], tmp_path: Path
) -> None:
    topology = STAR | {"link": STAR["link"] | link}
    before = recorded(written(tmp_path, topology, ROCE | transport), backend="ns3")
    most = {each.change: each.time_ps for each in astra_ns3.explain(before).what_ifs}
    explained = astra_ns3.explain(before, play=True)
    found = saved(explained)
    assert ("times change by chance" in explained.text()) is (change == LOSSES)
    after = recorded(written(tmp_path, STAR, ROCE | transport | changed), backend="ns3")
    assert found[change] == before.finish_ps - after.finish_ps
    assert 0 < found[change] <= most[change]


def test_losses_that_events_cause_are_not_played(tmp_path: Path) -> None:
    """They would be lost again without error rates."""
    written(tmp_path, STAR, ROCE | {"reliability": {"kind": "go-back-n", "timeout": "100us"}})
    jobs = [{"name": "a", "workload": "w.txt", "system": "s.yaml"}]
    keys = {"network": "n.json", "jobs": jobs, "events": [{"at": "70us", "nic": 1, "up": False, "for": "60us"}]}
    (tmp_path / "x.json").write_text(json.dumps(keys), encoding="utf-8")
    job = astra_ns3.run_scenario(scenario=tmp_path / "x.json", record=["timeline", "accounts"]).tenants["a"]
    found = astra_ns3.explain(job, play=True)
    assert LINES in saved(found)
    (losses,) = [each for each in found.what_ifs if each.change == LOSSES]
    assert not losses.played
    assert losses.time_ps > 0


def test_line_rate_is_that_without_a_congestion_control(tmp_path: Path) -> None:
    switch = {"buffer": "32MB", "pfc": {}, "ecn": {"kmin": "100KB", "kmax": "400KB", "pmax": 0.2}}
    line = {"rate": "100Gbps", "delay": "500ns"}
    topology = {"kind": "dumbbell", "left": 4, "right": 4, "link": line, "bottleneck": line, "switch": switch}
    work = "MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLTOALL 4000000 0\n"

    def played(control: str) -> astra_ns3.Result:
        files = written(tmp_path, topology, ROCE | {"congestion_control": control})
        files["workload"].write_text(work, encoding="utf-8")
        return recorded(files, backend="ns3")

    before = played("dcqcn")
    found = saved(astra_ns3.explain(before, play=True))
    assert found[RATE] == before.finish_ps - played("none").finish_ps


TIGHT = """class Tight:
    def __init__(self, parameters):
        pass

    def ack_received(self, sender, ack):
        sender.window_bytes = 2 * sender.payload_bytes
"""


@pytest.mark.parametrize("window", [None, "bdp"])
@pytest.mark.parametrize("control", ["dctcp", "swift", "own"])
def test_without_a_control_its_window_is_open(control: str, window: str | None, tmp_path: Path) -> None:
    """The run beside it has neither the control nor a window, whichever window the file gave the control first."""
    (tmp_path / "tight.py").write_text(TIGHT, encoding="utf-8")
    switch = {"buffer": "32MB", "pfc": {}, "ecn": {"kmin": "4KB", "kmax": "4KB", "pmax": 1.0}}
    topology = {"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts_per_leaf": 4, "link": STAR["link"]}
    kinds = {"own": f"{tmp_path}/tight.py:Tight", "swift": {"kind": "swift", "base_target": "2us"}}
    given = {"congestion_control": kinds.get(control, control)} | ({} if window is None else {"window": window})
    work = "MICRO\n1\nlayer -1 0 NONE 0 0 NONE 0 0 ALLTOALL 1000000 0\n"

    def played(transport: dict[str, Any]) -> astra_ns3.Result:
        files = written(tmp_path, topology | {"switch": switch}, ROCE | transport)
        files["workload"].write_text(work, encoding="utf-8")
        return recorded(files, backend="ns3")

    free_ps = played({"congestion_control": "none", "window": "none"}).finish_ps
    before = played(given)
    assert before.finish_ps > 1.02 * free_ps
    most = {each.change: each.time_ps for each in astra_ns3.explain(before).what_ifs}
    found = saved(astra_ns3.explain(before, play=True))
    assert WINDOW not in most
    assert found[RATE] == before.finish_ps - free_ps <= most[RATE]


@pytest.mark.parametrize("slow", ["endpoint-delay: 5000", "endpoint-delay: 10\nlocal-mem-bw: 20"])
def test_own_delays_are_played_too(slow: str, tmp_path: Path) -> None:
    """A chunk of an all-reduce of 400 KB on 4 NPUs is added up in 3 x 100,000 / 20 ns, or parts of it are."""
    assert "endpoint-delay: 10" in SYSTEM
    before = recorded(written(tmp_path, system=SYSTEM.replace("endpoint-delay: 10", slow)))
    found = saved(astra_ns3.explain(before, play=True))
    free = "endpoint-delay: 0\nreduction-bytes-per-ns: 1000000000"
    after = recorded(written(tmp_path, system=SYSTEM.replace("endpoint-delay: 10", free)))
    assert found[DELAYS] == before.finish_ps - after.finish_ps > 0.05 * before.finish_ps


def test_lines_inside_hosts_are_twice_as_fast_too(tmp_path: Path) -> None:
    shared = STAR | {"npus_per_host": 2, "local": {"rate": "50Gbps", "delay": "100ns"}}
    before = recorded(written(tmp_path, shared))
    found = saved(astra_ns3.explain(before, play=True))
    outside = recorded(written(tmp_path, shared | {"link": {"rate": "200Gbps", "delay": "1us"}}))
    after = recorded(written(tmp_path, rates_twice(shared)))
    assert found[LINES] == before.finish_ps - after.finish_ps > before.finish_ps - outside.finish_ps


def test_lines_of_a_graph_in_a_file_are_played(tmp_path: Path) -> None:
    topology = parse_network({"topology": STAR, "transport": ROCE}).topology
    (tmp_path / "graph.json").write_text(export_text(build_graph(topology), topology, "graph.json"), encoding="utf-8")
    of_file = {"kind": "file", "path": "graph.json", "switch": STAR["switch"]}
    files = written(tmp_path, of_file)
    assert saved(astra_ns3.explain(recorded(files), play=True)) == saved(
        astra_ns3.explain(recorded(written(tmp_path)), play=True)
    )


@pytest.mark.parametrize(
    "compute", ["H100", {"kind": "table", "file": "times.csv", "device": "H100", "extrapolate": True}], ids=str
)
@pytest.mark.parametrize("of_file", [False, True], ids=["kind", "file"])
def test_lines_that_nccl_counts_with_are_twice_as_fast_as_they_were_played(
    of_file: bool, compute: Any, tmp_path: Path
) -> None:
    """Lines of 3026 and 3600 Gb/s both play 2628 Gb/s, 0.73 of the data sheet's; those of 7200 Gb/s play 5256."""
    shape = {"layers": 1, "hidden": 8192, "heads": 8, "feed_forward": 1024, "vocabulary": 512}
    model = {"kind": "transformer", "name": "m", "model": shape, "training": {"sequence": 2048}}
    (tmp_path / "m.json").write_text(json.dumps({**model, "parallel": {"tensor": 4}, "compute": compute}))
    (tmp_path / "times.csv").write_text("kind,m,n,k,time_us\nmatmul,8,8,8,1\n")
    system = SYSTEM.replace("ring", "ring_ring").replace("direct", "direct_direct")

    def played(rate: str, nic: str = "100Gbps") -> astra_ns3.Result:
        links = ({"rate": each, "delay": "100ns"} for each in (rate, nic))
        inside, outside = ({"link": link, "switch": STAR["switch"]} for link in links)
        nodes = {"kind": "hierarchical", "nodes": 2, "npus_per_node": 4, "scale_up": inside, "scale_out": outside}
        if of_file:
            topology = parse_network({"topology": nodes, "transport": ROCE}).topology
            (tmp_path / f"{rate}.json").write_text(export_text(build_graph(topology), topology, "g.json"))
            nodes = {"kind": "file", "path": f"{rate}.json", "dimensions": [4, 2], "switch": STAR["switch"]}
        files = written(tmp_path, nodes, ROCE, system)
        return recorded({**files, "workload": tmp_path / "m.json"}, record=[])

    fast = played("7200Gbps", "200Gbps").finish_ps
    for rate in ("3600Gbps", "3026Gbps"):
        before = played(rate)
        assert saved(astra_ns3.explain(before, play=True))[LINES] == before.finish_ps - fast > 0


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_lines_of_an_analytical_network_are_played(backend: str, tmp_path: Path) -> None:
    files = written(tmp_path)

    def played(bandwidth: float) -> astra_ns3.Result:
        text = f"topology: [Switch]\nnpus_count: [4]\nbandwidth: [{bandwidth}]\nlatency: [500.0]\n"
        (tmp_path / "n.yml").write_text(text, encoding="utf-8")
        return recorded({**files, "network": tmp_path / "n.yml"}, backend=backend, record=["timeline"])

    fast, before = played(100.0), played(50.0)
    assert saved(astra_ns3.explain(before, play=True))[LINES] == before.finish_ps - fast.finish_ps > 0


def test_a_change_on_another_backend_is_told_by_its_own_times(tmp_path: Path) -> None:
    before = recorded(written(tmp_path), backend="ns3")
    found = astra_ns3.explain(before, play=True, backend="flow")
    flows = recorded(written(tmp_path))
    fast = recorded(written(tmp_path, rates_twice(STAR)))
    assert found.played is not None
    assert (found.played.time_ps, found.played.own_time_ps) == (flows.finish_ps, before.finish_ps)
    assert saved(found)[LINES] == flows.finish_ps - fast.finish_ps


@pytest.mark.parametrize("part", [{"iteration": 1}, {"collective": 1}])
def test_an_iteration_or_a_collective_is_told_by_its_own_time(part: Any, tmp_path: Path) -> None:
    before = recorded(written(tmp_path), passes=2)
    found = astra_ns3.explain(before, play=True, **part)
    after = astra_ns3.explain(recorded(written(tmp_path, rates_twice(STAR)), passes=2), **part)
    assert saved(found)[LINES] == found.time_ps - after.time_ps


def test_without_a_timeline_the_usual_changes_are_played_with_the_options_of_the_run(tmp_path: Path) -> None:
    changes = {"system.preferred-dataset-splits": 2, "workload.layers.0.weight_gradient.bytes": 800_000}
    options = {"record": [], "changes": changes, "scheduling_policy": "FIFO", "injection_scale": 3.0}
    before = recorded(written(tmp_path), **options)
    assert before.metadata["asked"]["changes"] == changes
    found = saved(astra_ns3.explain(before, play=True))
    assert set(found) == {LINES, NPUS}
    fast = recorded(written(tmp_path, rates_twice(STAR)), **options)
    assert found[LINES] == before.finish_ps - fast.finish_ps


def test_the_command_says_what_was_played(tmp_path: Path) -> None:
    before = recorded(written(tmp_path), output=tmp_path / "out")
    out = str(tmp_path / "out")
    text = run_command("explain", out, "--play").stdout
    assert "what helps, played on flow\n" in text
    document = json.loads(run_command("explain", out, "--play", "--json").stdout)
    assert document["played"]["time_ps"] == before.finish_ps
    assert {each["change"] for each in document["what_ifs"] if each["played"]} >= {LINES, NPUS}
    assert "explain --play plays each change" in run_command("explain", out).stdout
    assert json.loads(run_command("explain", out, "--json").stdout)["played"] is None
    refused = run_command("explain", out, "--backend", "flow")
    assert (refused.returncode, "--backend: needs --play" in refused.stderr) == (2, True)


def test_files_that_differ_by_now_are_not_played(tmp_path: Path) -> None:
    before = recorded(written(tmp_path))
    written(tmp_path, rates_twice(STAR))
    with pytest.raises(InputError, match="--play: the run has another network by now"):
        astra_ns3.explain(before, play=True)
    (tmp_path / "n.json").unlink()
    with pytest.raises(InputError, match="no such file"):
        astra_ns3.explain(before, play=True)


def test_what_changed_without_a_trace_in_run_json_is_told_by_the_time(tmp_path: Path) -> None:
    before = recorded(written(tmp_path))
    before.metadata["finish_ps"] += 1
    with pytest.raises(InputError, match="--play: played again, the run takes"):
        astra_ns3.explain(before, play=True)


def test_runs_that_nobody_can_ask_for_again_say_why(tmp_path: Path) -> None:
    files = written(tmp_path)
    of_object = recorded({**files, "workload": FlowList.of([0, 1], [1, 2], [9000, 20], [0, 5])})
    tenants = [Tenant(name="a", workload=files["workload"], system=files["system"], npus=(0, 1, 2, 3))]
    job = astra_ns3.run_scenario(network=files["network"], tenants=tenants, backend="flow").tenants["a"]
    older = recorded(files)
    del older.metadata["asked"]
    with pytest.raises(LimitReached) as caught:
        recorded(files, limits=Limits(simulated_ps=20_000_000))
    cases = (
        (of_object, "its workload was given as an object"),
        (job, "its scenario was given as an object"),
        (older, "an earlier version"),
        (caught.value.result, "it was stopped"),
    )
    for run, why in cases:
        with pytest.raises(InputError, match=f"--play: the run can't be played again: {why}"):
            astra_ns3.explain(run, play=True)


def test_a_job_of_a_scenario_is_played_beside_the_others(tmp_path: Path) -> None:
    files = {"workload": "w.txt", "system": "s.yaml"}
    jobs = [{"name": "a", "npus": [0, 1], **files}, {"name": "b", "npus": [2, 3], **files}]
    options: dict[str, Any] = {"backend": "flow", "comm_scale": 0.5}

    def played(topology: Any, rate: str = "25Gbps", **others: Any) -> astra_ns3.ScenarioResult:
        """Play both, of which b has two slow NICs: one by a rate, one by a share."""
        written(tmp_path, topology)
        events = [{"at": "20us", "npu": 1, "slower": 2, "for": "90us"}]
        events += [{"at": at, "nic": 2, "rate": other, "for": "40us"} for at, other in (("9us", rate), ("60us", "30%"))]
        keys = {"network": "n.json", "jobs": jobs, "events": events}
        (tmp_path / "x.json").write_text(json.dumps(keys), encoding="utf-8")
        return astra_ns3.run_scenario(scenario=tmp_path / "x.json", **{**options, **others})

    fast, quick = played(rates_twice(STAR), "50Gbps"), played(STAR, compute_scale=0.5)
    before = played(STAR, record=["timeline", "accounts"], output=tmp_path / "out").tenants["b"]
    for job in (before, astra_ns3.Result.load(tmp_path / "out" / "job-b")):
        found = saved(astra_ns3.explain(job, play=True))
        assert found[LINES] == before.finish_ps - fast.tenants["b"].finish_ps
        assert found[NPUS] == before.finish_ps - quick.tenants["b"].finish_ps
    changed = played(STAR, changes={"network.topology.link.rate": "50Gbps"}).tenants["b"]
    with pytest.raises(InputError, match="option --set changed"):
        astra_ns3.explain(changed, play=True)


def test_shares_of_a_job_that_began_again_are_of_all_its_tries(tmp_path: Path) -> None:
    """NPU 0 dies after 60 us, and 10 us later the job begins anew."""
    restart = {"after": "10us", "at-most": 1, "fails": ["60us"]}
    jobs = [{"name": "a", "workload": "w.txt", "system": "s.yaml", "restart": restart}]

    def played(topology: Any, **options: Any) -> astra_ns3.Result:
        written(tmp_path, topology)
        (tmp_path / "x.json").write_text(json.dumps({"network": "n.json", "jobs": jobs}), encoding="utf-8")
        return astra_ns3.run_scenario(scenario=tmp_path / "x.json", backend="flow", **options).tenants["a"]

    fast = played(rates_twice(STAR)).finish_ps
    before = played(STAR, record=["timeline", "flows"])
    found = astra_ns3.explain(before, play=True)
    assert (found.time_ps, saved(found)[LINES]) == (before.finish_ps - 70_000_000, before.finish_ps - fast)
    whole = before.finish_ps / 1e6
    assert f"what helps, played on flow, in shares of all tries' {whole:.4g} us\n" in found.text()
    assert f"{(whole - fast / 1e6) / whole:.1%} less time" in found.text()


def test_a_job_that_cannot_be_played_again_is_not_said_to_be(tmp_path: Path) -> None:
    files = written(tmp_path)
    tenant = Tenant(name="a", workload=files["workload"], system=files["system"], npus=(0, 1, 2, 3))
    options: dict[str, Any] = {"network": files["network"], "tenants": [tenant], "backend": "flow"}
    for record in (["timeline", "flows"], ["timeline", "accounts"]):
        text = astra_ns3.explain(astra_ns3.run_scenario(**options, record=record).tenants["a"]).text()
        assert "what may help, and at most by how much\n" in text
        assert "--play" not in text


@pytest.mark.parametrize("again", [True, False])
def test_the_page_of_a_run_tells_of_playing_it_again_if_that_can_be_done(again: bool, tmp_path: Path) -> None:
    played = recorded(written(tmp_path), output=tmp_path / "run")
    assert played.folder is not None
    if not again:
        document = json.loads((played.folder / "run.json").read_text(encoding="utf-8"))
        (played.folder / "run.json").write_text(json.dumps({**document, "hook": "one of mine"}), encoding="utf-8")
    file = tmp_path / "report.html"
    assert run_command("report", str(played.folder), "-o", str(file)).returncode == 0
    page = re.sub(r"<script.*?</script>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert "what may help, and at most by how much" in page
    assert ("--play" in page) is again


def test_points_of_a_study_are_played(tmp_path: Path) -> None:
    """Its files are read once for all points."""
    model = INPUTS / "workload/models/vgg-16.yaml"
    files = written(tmp_path)
    base = {"workload": str(model), "system": str(files["system"]), "network": str(files["network"]), "backend": "flow"}
    axes = {"network.topology.link.rate": ["100Gbps", "200Gbps"]}
    study = {"base": {**base, "comm_scale": 0.5}, "parts": {"one": {"axes": axes}}}
    (tmp_path / "study.json").write_text(json.dumps(study), encoding="utf-8")
    assert run_command("study", str(tmp_path / "study.json"), "-o", str(tmp_path / "out")).returncode == 0
    points = {}
    for folder in (tmp_path / "out" / "points").iterdir():
        point = astra_ns3.Result.load(folder)
        points[point.metadata["network"]["topology"]["link"]["rate"]] = point
    slow, fast = points[100_000_000_000], points[200_000_000_000]
    assert saved(astra_ns3.explain(slow, play=True))[LINES] == slow.finish_ps - fast.finish_ps


def test_objects_of_ours_are_read_back_from_run_json(tmp_path: Path) -> None:
    files = written(tmp_path)
    network = parse_network(json.loads(files["network"].read_text()))
    fast = parse_network({"topology": rates_twice(STAR), "transport": ROCE})
    objects = {"workload": parse_workload(WORK, "w"), "system": parse_system(SYSTEM_KEYS)}
    before = recorded({**objects, "network": network}, comm_scale=0.5)
    assert before.metadata["asked"] == {"workload": None, "system": None, "network": network.document()}
    after = recorded({**objects, "network": fast}, comm_scale=0.5)
    assert saved(astra_ns3.explain(before, play=True))[LINES] == before.finish_ps - after.finish_ps


def test_a_network_that_is_an_object_is_not_played_with_what_a_device_reaches_of_it(tmp_path: Path) -> None:
    files = written(tmp_path, NODES, ROCE, SYSTEM.replace("ring", "ring_ring").replace("direct", "direct_direct"))
    (tmp_path / "model.yaml").write_text(MODEL, encoding="utf-8")
    files |= {"workload": tmp_path / "model.yaml", "network": parse_network(json.loads(files["network"].read_text()))}
    before = recorded(files)
    after = recorded({**files, "network": parse_network({"topology": rates_twice(NODES), "transport": ROCE})})
    assert saved(astra_ns3.explain(before, play=True))[LINES] == before.finish_ps - after.finish_ps
