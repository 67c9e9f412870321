"""``compare``: what differs between two runs, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import parquet
from support.fake_backend import FakeBackend
from support.small_run import (
    NPUS,
    InterruptedBackend,
    small_network,
    small_run,
    small_system,
    small_workload,
    write_inputs,
)

import astra_ns3
from astra_ns3.cli.compare import compare_command
from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, Interrupted
from astra_ns3.experiments.metadata import VARYING_KEYS
from astra_ns3.frozen import replace
from astra_ns3.network.recorded import ACCOUNTS
from astra_ns3.network.run_document import EventDocument, FileDocument, RunDocument, TenantDocument
from astra_ns3.report.comparison.algorithms import OtherAlgorithm, algorithm_lines, other_algorithms
from astra_ns3.report.comparison.comparison import Comparison
from astra_ns3.report.comparison.differences import ABSENT, Difference, Group, Setting, by_importance
from astra_ns3.report.comparison.jobs import compare_jobs
from astra_ns3.report.comparison.quantities import collectives, layers
from astra_ns3.report.comparison.settings import FILES, INPUT_FILES, PARTS, settings
from astra_ns3.report.comparison.text import MOST_ROWS, difference_row, value_text
from astra_ns3.scenario.tenant import Restart

LATENCY_PS = 1_000_000
ROWS_OF_COLLECTIVES = (
    "ALLREDUCE,tensor,2.0,10.0",
    "ALLREDUCE,data,6.0,3.0",
    "ALLREDUCE,tensor,3.0,20.0",
    "POINTTOPOINT,next,3200.0,0.082",
    "ALLREDUCE,tensor,,",
)
RESULTS = {
    "format",
    "format_version",
    "run_name",
    "complete",
    "stopped",
    "finish_ps",
    "floor",
    "npus",
    "npus_done",
    "compute_ps",
    "exposed_ps",
    "exposed_by_layer",
    "exposed_by_group",
    "exposed_by_group_of_roles",
    "collectives",
    "collectives_ended",
    "chunks",
    "statistics",
    "warnings",
    "hook_result",
    "files",
}


def played(latency_ps: int = LATENCY_PS, output: Path | None = None, **options: Any) -> astra_ns3.Result:
    backend = FakeBackend(NPUS, latency_ps=latency_ps)
    return astra_ns3.run(**{**small_run(), "backend": backend, "output": output, **options})


def test_only_waits_of_the_three_passes_are_said_to_come_after_the_last_one() -> None:
    """A layer of the run gets another part, as the messages of a pipeline have."""
    run = played(record=["layers"])
    assert any(name.endswith(", exposed after the last pass") for name in layers(run))
    rows = run.rows("collectives.csv")
    of_pipeline = [{**row, "part": "activation"} for row in rows]
    other: Any = SimpleNamespace(
        metadata=run.metadata, rows=lambda name: of_pipeline if name == "collectives.csv" else run.rows(name)
    )
    names_of_layers = {row["layer"] for row in rows}
    names = set(layers(other))
    assert {f"{layer}, exposed in other parts or after the last pass" for layer in names_of_layers} <= names
    assert not any(f"{layer}, exposed after the last pass" in names for layer in names_of_layers)


def test_counters_of_the_network_are_told_as_those_of_all_jobs() -> None:
    """A job is as it is with a second one beside it; the network counts the messages and the pauses of both."""
    jobs = [
        astra_ns3.Tenant(name, npus, small_workload(), small_system()) for name, npus in (("a", [0, 1]), ("b", [2, 3]))
    ]
    alone, beside = (
        astra_ns3.run_scenario(network=small_network(), tenants=some, backend=FakeBackend(NPUS)).tenants["a"]
        for some in (jobs[:1], jobs)
    )
    alone.metadata["statistics"] = {"messages": 3, "paused_ps": 0}
    beside.metadata["statistics"] = {"messages": 6, "paused_ps": 40}
    (group,) = [each for each in astra_ns3.compare(alone, beside).groups if each.differences]
    assert [(one.name, one.a, one.b) for one in group.differences] == [
        ("paused, of the whole run (all jobs)", 0, 40),
        ("messages, of the whole run (all jobs)", 3, 6),
    ]


def test_scenarios_are_compared_job_by_job(tmp_path: Path) -> None:
    jobs = [astra_ns3.Tenant(name, [2 * n, 2 * n + 1], small_workload(), small_system()) for n, name in enumerate("ab")]
    for folder, some, latency_ps in (("one", jobs, LATENCY_PS), ("other", jobs[:1], 2 * LATENCY_PS)):
        backend = FakeBackend(NPUS, latency_ps=latency_ps)
        astra_ns3.run_scenario(network=small_network(), tenants=some, backend=backend, output=tmp_path / folder)
    folders = [str(tmp_path / "one"), str(tmp_path / "other")]
    found = CliRunner().invoke(compare_command, folders)
    assert found.exit_code == 0, found.output
    assert "only A has job b" in found.output
    assert "job a\n" in found.output
    assert "finish" in found.output
    told = json.loads(CliRunner().invoke(compare_command, [*folders, "--json"]).output)
    assert list(told["jobs"]) == ["a"]
    assert not told["equal"]
    with pytest.raises(InputError, match="holds the results of several jobs; name one of its folders: job-a"):
        CliRunner().invoke(compare_command, [f"{folders[0]}/job-a", folders[1]], catch_exceptions=False)


def of_scenario(folder: Path, **keys: Any) -> astra_ns3.ScenarioResult:
    files = {name: str(path) for name, path in write_inputs(folder).items()}
    job = {"name": "a", "workload": files["workload"], "system": files["system"], "npus": [0, 1], **keys.pop("job", {})}
    other = {**job, "name": "b", "npus": [2, 3], **keys.pop("other", {})}
    document = {"network": files["network"], "jobs": [job, other], **keys}
    return astra_ns3.run_scenario(scenario=document, backend=FakeBackend(NPUS))


@pytest.mark.parametrize(
    ("keys", "changed", "found"),
    [
        ({}, {"recovery": {"detection": {"kind": "hello", "interval": "1ms"}}}, "recovery.detection.kind"),
        (
            {"job": {"restart": {"after": "1us", "at-most": 1}}},
            {"job": {"restart": {"after": "2us", "at-most": 1}}},
            "jobs.a.restart.after",
        ),
        (
            {"job": {"restart": {"after": "1us", "at-most": 1}}},
            {"job": {"restart": {"after": "1us", "at-most": 1, "fails": ["1s"]}}},
            "jobs.a.restart.fails",
        ),
        ({}, {"other": {"dimensions": [2]}}, "jobs.b.dimensions"),
        ({}, {"other": {"end": "1s"}}, "jobs.b.end"),
        ({}, {"other": {"passes": 2}}, "jobs.b.passes"),
    ],
)
def test_whatever_scenario_files_say_otherwise_differs(
    tmp_path: Path, keys: dict[str, Any], changed: dict[str, Any], found: str
) -> None:
    runs = of_scenario(tmp_path, **dict(keys)), of_scenario(tmp_path, **dict(changed))
    comparison = compare_jobs(runs[0], runs[0].tenants, runs[1], runs[1].tenants)
    assert f"scenario.{found}" in [each.key for each in comparison.settings]
    assert f"scenario.{found}" in comparison.text()
    assert not comparison.document()["equal"]
    assert not any(each.key.startswith("scenario.") for job in comparison.jobs.values() for each in job.settings)
    # Jobs say so by themselves, too, and one of a scenario as it is differs in nothing.
    one, two = (run.tenants["a"] for run in runs)
    assert f"scenario.{found}" in [each.key for each in astra_ns3.compare(one, two).settings]
    assert compare_jobs(runs[0], runs[0].tenants, runs[0], runs[0].tenants).document()["equal"]


def test_a_job_that_starts_at_another_time_or_place_or_between_other_events_differs() -> None:
    def job(start_ps: int, npus: list[int], slow: int = 2) -> _Told:
        tenants = [astra_ns3.Tenant("a", npus, small_workload(), small_system(), start_ps=start_ps)]
        run = astra_ns3.run_scenario(network=small_network(), tenants=tenants, backend=FakeBackend(NPUS)).tenants["a"]
        found = _Told(run.metadata)
        found.events = ({"event": 0, "name": f"NPU {slow}", "npu": slow, "start_ps": 10**6, "end_ps": None},)
        return found

    first = job(10**9, [0, 1])
    assert astra_ns3.compare(first, job(10**9, [0, 1])).equal
    for other, key, values, row in (
        (job(3 * 10**9, [0, 1]), "job.start_ps", (10**9, 3 * 10**9), "job.start 1 ms 3 ms"),
        (job(10**9, [0, 2]), "job.npus", ([0, 1], [0, 2]), "job.npus 0-1 0, 2"),
        (job(10**9, [0, 1], slow=3), "events.0.name", ("NPU 2", "NPU 3"), "events.0.name NPU 2 NPU 3"),
    ):
        comparison = astra_ns3.compare(first, other)
        assert [(each.key, (each.a, each.b)) for each in comparison.settings] == [(key, values)]
        assert row in [" ".join(line.split()) for line in comparison.text().splitlines()]
        assert not comparison.equal


def test_restarts_of_jobs_from_python_differ() -> None:
    def job(restart: Restart | None) -> astra_ns3.Result:
        tenants = [astra_ns3.Tenant("a", [0, 1], small_workload(), small_system(), restart=restart)]
        return astra_ns3.run_scenario(network=small_network(), tenants=tenants, backend=FakeBackend(NPUS)).tenants["a"]

    comparison = astra_ns3.compare(job(None), job(Restart(2 * 10**6, 3, fails_ps=(10**12,))))
    assert [(each.key, each.b) for each in comparison.settings] == [
        ("job.restart_after_ps", 2 * 10**6),
        ("job.most_restarts", 3),
        ("job.fails_ps", [10**12]),
    ]
    lines = [" ".join(line.split()) for line in comparison.text().splitlines()]
    assert {"job.restart_after - 2 us", "job.most_restarts - 3", "job.fails - 1 s"} <= {*lines}


@pytest.mark.parametrize(("waits", "seed_alone"), [({"arrival_ps": 0}, True), ({}, False)])
def test_a_start_and_events_that_chance_decides_follow_from_the_seed(waits: TenantDocument, seed_alone: bool) -> None:
    def job(seed: int) -> _Told:
        found = _Told({**played().metadata, "seed": seed, "job": {"start_ps": seed, "npus": [0, 1], **waits}})
        found.events = ({"event": 0, "name": "NPU 0", "drawn": True, "start_ps": 10**6 * seed},)
        return found

    comparison = astra_ns3.compare(job(1), job(2))
    assert [each.key for each in comparison.settings] == ["seed", "job.start_ps", "drawn.0.start_ps"]
    assert any("differ in their seed alone" in note for note in comparison.notes) == seed_alone


def test_a_seed_of_a_job_that_nobody_chose_is_that_of_the_run() -> None:
    def jobs(seed: int, own: int | None = None) -> Mapping[str, astra_ns3.Result]:
        tenants = [
            astra_ns3.Tenant(name, npus, small_workload(), small_system(), seed=own)
            for name, npus in (("a", [0, 1]), ("b", [2, 3]))
        ]
        backend = FakeBackend(NPUS)
        return astra_ns3.run_scenario(network=small_network(), tenants=tenants, backend=backend, seed=seed).tenants

    def seeds(a: astra_ns3.Result, b: astra_ns3.Result) -> list[Any]:
        return [(each.a, each.b) for each in astra_ns3.compare(a, b).settings if each.key == "seed"]

    one, two, chosen = jobs(1), jobs(2), jobs(1, own=7)
    assert one["a"].metadata["seed"] != one["b"].metadata["seed"]
    assert seeds(one["a"], one["b"]) == []
    assert seeds(one["a"], two["a"]) == [(1, 2)]
    assert seeds(one["a"], chosen["a"]) == [(1, 7)]


def changes(comparison: Comparison, group: str) -> Mapping[str, tuple[float | None, float | None]]:
    (found,) = [each for each in comparison.groups if each.name == group]
    return {one.name: (one.a, one.b) for one in found.differences}


def test_nothing_differs_between_a_run_and_itself(tmp_path: Path) -> None:
    run = played(output=tmp_path / "one", record=["flows", "layers"])
    again = played(output=tmp_path / "two", record=["flows", "layers"])
    for other in (run, again, astra_ns3.Result.load(tmp_path / "one")):
        comparison = astra_ns3.compare(run, other)
        assert comparison.equal
        assert comparison.text().splitlines()[-1] == "nothing differs"
        assert comparison.document()["equal"] is True


def test_a_notebook_shows_texts() -> None:
    run = played(record=["layers"])
    for shown in (astra_ns3.compare(run, played(2 * LATENCY_PS)), astra_ns3.explain(run)):
        assert repr(shown) == shown.text()


def test_every_changed_setting_is_named_with_both_values_and_no_other() -> None:
    a = played()
    b = played(system=small_system(**{"endpoint-delay": 20, "all-reduce-implementation": "direct"}), seed=7)
    found = {setting.key: (setting.a, setting.b) for setting in astra_ns3.compare(a, b).settings}
    assert found == {
        "seed": (1, 7),
        "system.endpoint-delay": (10, 20),
        "system.all-reduce-implementation": (["ring"], ["direct"]),
    }


def test_a_setting_that_one_run_lacks_stands_behind_those_of_both_and_has_no_value_there() -> None:
    a = played().metadata
    b: RunDocument = {**a, "compat": "astra-sim-1.0"}
    b["network"] = {**b["network"], "more": {"of": [{"name": "x", "level": 1}, {"name": "y", "level": 2}]}}
    comparison = astra_ns3.compare(_Told(a), _Told(b))
    assert [(setting.key, setting.a) for setting in comparison.settings] == [
        ("compat", "none"),
        ("network.more.of.x.level", ABSENT),
        ("network.more.of.y.level", ABSENT),
    ]
    assert comparison.settings[1].document() == {"key": "network.more.of.x.level", "b": 1}


def test_numbers_in_force_have_their_unit_at_the_value_and_not_in_the_name() -> None:
    plain = played().metadata
    a: RunDocument = {**plain, "in_force": {"tcp": {"min_rto_ps": 10**10, "window_bytes": 500_000, "sack": True}}}
    b: RunDocument = {**plain, "in_force": {"tcp": {"min_rto_ps": 10**10 + 10, "window_bytes": 10**6, "sack": False}}}
    lines = [line.split() for line in astra_ns3.compare(_Told(a), _Told(b)).text().splitlines()]
    assert ["in_force.tcp.min_rto", "10", "ms", "10.00000001", "ms"] in lines
    assert ["in_force.tcp.window", "500", "KB", "1", "MB"] in lines
    assert ["in_force.tcp.sack", "on", "off"] in lines


def test_what_files_say_stands_before_what_was_in_force_and_defaults_are_counted() -> None:
    plain = played().metadata

    def run(**control: str | int | None) -> _Told:
        document: RunDocument = {**plain, "in_force": {"roce": {"control": control["kind"]}}}
        document["network"] = {**plain["network"], "control": control}
        return _Told(document)

    comparison = astra_ns3.compare(run(kind="dcqcn", g=None, clamp=None, rate=5), run(kind="hpcc", eta=None, rate=7))
    first = ["network.control.kind", "network.control.rate", "in_force.roce.control"]
    keys = [setting.key for setting in comparison.settings]
    assert keys == [*first, "network.control.g", "network.control.clamp", "network.control.eta"]
    lines = [line.split() for line in comparison.text().splitlines()]
    assert [line[0] for line in lines[4:7]] == first
    assert lines[7] == ["and", "3", "keys", "of", "one", "run", "alone,", "at", "the", "default"]


def test_keys_in_force_that_a_control_of_one_run_alone_has_are_counted() -> None:
    """Other controls have other keys, which follow from the choice that stands first."""
    plain = played().metadata
    kinds: Any = [{"control": "dcqcn", "rate_on_first_cnp": True}, {"control": "swift", "beta": 0.8, "hai": 50}]
    a, b = (_Told({**plain, "in_force": {"roce": keys}}) for keys in kinds)
    comparison = astra_ns3.compare(a, b)
    text = comparison.text()
    assert "rate_on_first_cnp" not in text
    assert "  and 3 keys in force in one run alone (--json has all)" in text.splitlines()
    keys = {each.key for each in comparison.settings}
    assert keys == {f"in_force.roce.{name}" for name in ("control", "rate_on_first_cnp", "beta", "hai")}


def test_layers_that_are_alike_have_one_row_with_their_sum() -> None:
    """Of twelve layers ten win 10 ps each, one loses as much, and one wins far more: it must be seen."""
    changes = [-10] * 10 + [10, -90]
    layers = tuple(
        Difference(f"layer {number}, forward exposed", "ps", 100, 100 + change) for number, change in enumerate(changes)
    )
    found = Group("layers", layers)
    assert found.told == (
        Difference("layer 0-9, forward exposed (10 of them)", "ps", 1000, 900),
        Difference("layer 11, forward exposed", "ps", 100, 10),
        Difference("layer 10, forward exposed", "ps", 100, 110),
    )
    assert Group("counters", layers).told == layers
    alone = tuple(replace(each, b=None) for each in layers[:4])
    assert Group("layers", alone).told == (Difference("layer 0-3, forward exposed (4 of them)", "ps", 400, None),)


def test_times_of_ports_have_a_unit_and_durations_are_said_to_overlap() -> None:
    plain = played().metadata
    a, b = (_Told({**plain, "statistics": {**plain["statistics"], "paused_ps": ps}}) for ps in (0, 73_074_442_732))
    lines = [line.split() for line in astra_ns3.compare(a, b).text().splitlines()]
    assert ["paused", "0", "ps", "73.07", "ms", "+73.07", "ms"] in lines
    text = astra_ns3.compare(played(), played(latency_ps=5 * LATENCY_PS)).text()
    assert "collectives (durations overlap, and count waits)" in text.splitlines()


class _Told:
    """A run whose run.json is another one."""

    folder = None
    events: tuple[EventDocument, ...] = ()
    scenario_keys: FileDocument | None = None

    def __init__(self, metadata: RunDocument) -> None:
        self.metadata, self._run = metadata, played()
        self.chosen_seed = metadata.get("seed")
        self.network_finish_ps = 0

    def rows(self, name: str) -> list[dict[str, str]]:
        return self._run.rows(name)

    def file(self, name: str) -> Path:
        return self._run.file(name)


def test_two_runs_of_one_name_that_were_not_saved_are_told_apart(tmp_path: Path) -> None:
    comparison = astra_ns3.compare(played(), played(2 * LATENCY_PS))
    assert [comparison.a, comparison.b] == ["small (1)", "small (2)"]
    saved = played(output=tmp_path / "a")
    same = astra_ns3.compare(saved, saved)
    assert same.a == same.b == str(saved.folder)
    assert astra_ns3.compare(played(), saved).a == "small"


def test_groups_have_the_bandwidth_of_their_collectives_together_and_messages_have_none() -> None:
    """Tensor: 20,000 bytes in 2 us and 60,000 in 3 us are 16 GB/s together; their bandwidths have a mean of 15.

    Results of older versions don't tell what groups took.
    A message may wait until its receiver asks for it: 262,144 bytes in 3.2 ms say nothing of the network.
    """
    head = "kind,group,duration_us,bus_bandwidth_gbytes_per_s"
    rows = [dict(zip(head.split(","), row.split(","), strict=True)) for row in ROWS_OF_COLLECTIVES]
    assert collectives(SimpleNamespace(rows=lambda _: rows)) == {
        "ALLREDUCE, durations together, from the first group to the last": ("ps", 11_000_000),
        "ALLREDUCE, ended": ("", 3),
        "ALLREDUCE, tensor, mean bus bandwidth, from the first group to the last": ("gbytes_per_s", 16.0),
        "ALLREDUCE, data, mean bus bandwidth, from the first group to the last": ("gbytes_per_s", 3.0),
        "POINTTOPOINT, durations together, from the first group to the last": ("ps", 3_200_000_000),
        "POINTTOPOINT, ended": ("", 1),
    }


def test_bus_bytes_and_durations_are_of_what_groups_took() -> None:
    """20,000 bytes in 2 us and 60,000 in 3 us, though all groups together took 5 and 30 us."""
    head = ("kind", "group", "duration_us", "group_duration_us", "bus_bandwidth_gbytes_per_s")
    cells = (("5.0", "2.0", "10.0"), ("30.0", "3.0", "20.0"))
    rows = [dict(zip(head, ("ALLREDUCE", "tensor", *each), strict=True)) for each in cells]
    assert collectives(SimpleNamespace(rows=lambda _: rows)) == {
        "ALLREDUCE, durations together": ("ps", 5_000_000),
        "ALLREDUCE, ended": ("", 2),
        "ALLREDUCE, tensor, mean bus bandwidth, waits for a slot included": ("gbytes_per_s", 16.0),
    }


def test_layers_go_by_their_names() -> None:
    keys = settings(played().metadata)
    assert keys["workload.layers.second.forward.compute_ns"] == 2000
    assert keys["workload.layers.first.update_ns"] == 10


@pytest.mark.parametrize(("asked", "share"), [(3_600_000_000_000, 0.73), (1_234_567_890_123, 0.8134), (7, 1.0)])
def test_rates_inside_nodes_are_those_of_the_file_and_not_what_a_device_reaches_of_them(
    asked: int, share: float
) -> None:
    """The H100's 73% of 3600 Gb/s are 2628 Gb/s."""
    metadata = dict(played().metadata)
    lines = {"link": {"rate": round(asked * share)}, "injection": {"rate": None}}
    metadata["network"] = {"topology": {"scale_up": lines, "link": {"rate": 400}}}
    metadata["device_losses"] = {"scale_up_efficiency": share}
    keys: Any = settings(metadata)  # type: ignore[arg-type]
    assert keys["network.topology.scale_up.link.rate"] == pytest.approx(asked, abs=1)
    assert keys["network.topology.scale_up.link.rate"] == asked or asked % 1000
    assert (keys["network.topology.scale_up.injection.rate"], keys["network.topology.link.rate"]) == (None, 400)


def test_all_of_a_runs_file_is_compared_but_for_what_varies() -> None:
    known = set(PARTS) | RESULTS | (set(VARYING_KEYS) - {"versions"}) | {"asked"}  # what files say is compared
    assert set(played().metadata) - known == set(), "a new key of run.json is a setting or a result"


def test_times_differ_by_what_the_network_was_slower() -> None:
    a, b = played(), played(latency_ps=5 * LATENCY_PS)
    comparison = astra_ns3.compare(a, b)
    assert comparison.settings == ()
    assert changes(comparison, "totals") == {
        "finish": (a.finish_ps, b.finish_ps),
        "exposed": (a.metadata["exposed_ps"], b.metadata["exposed_ps"]),
    }
    durations = [sum(int(us * 10**6 + 0.5) for us in run.collectives["group_duration_us"]) for run in (a, b)]
    assert changes(comparison, "collectives")["ALLREDUCE, durations together"] == tuple(durations)


def test_the_exposed_times_of_layers_add_up_to_those_of_the_run() -> None:
    a, b = played(), played(latency_ps=5 * LATENCY_PS)
    layers = changes(astra_ns3.compare(a, b), "layers")
    change = sum((after or 0) - (before or 0) for name, (before, after) in layers.items() if "exposed" in name)
    assert change == sum(sign * each["exposed_ps"] for sign, run in ((1, b), (-1, a))
                         for each in run.metadata["exposed_by_layer"])  # fmt: skip
    assert change == b.metadata["exposed_ps"] - a.metadata["exposed_ps"]


def test_the_largest_change_stands_first() -> None:
    shuffled = [
        Difference("small", "ps", 10, 11),
        Difference("same", "ps", 10, 10),
        Difference("large", "ps", 10, 2),
        Difference("new", "ps", None, 1),
        Difference("middle", "ps", 10, 15),
    ]
    assert [one.name for one in by_importance(shuffled)] == ["new", "large", "middle", "small"]


def test_accounts_are_compared_by_part_if_both_have_them(tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder, waited in zip(folders, ([5, 6], [50, 60]), strict=True):
        played(output=folder)
        parts = {column.name: [0, 0] for column in ACCOUNTS.columns}
        parts |= {"start_ps": [0, 1], "end_ps": [100, 200], "turn_ps": [1, 2], "switch_queue_ps": waited}
        parquet.write_table(pa.table(parts), folder / "accounts.parquet")
    a, b = (astra_ns3.Result.load(folder) for folder in folders)
    assert changes(astra_ns3.compare(a, b), "accounts") == {"queues of switches": (11, 110)}
    (folders[1] / "accounts.parquet").unlink()
    comparison = astra_ns3.compare(a, astra_ns3.Result.load(folders[1]))
    assert comparison.notes == ("only A recorded accounts: run B again with --record accounts",)
    assert not comparison.equal


def test_a_key_that_only_one_file_has_is_at_its_default_in_the_other() -> None:
    a, b = (played(system=small_system(**{"local-mem-bw": gigabytes})) for gigabytes in (None, 50))
    (line,) = [line for line in astra_ns3.compare(a, b).text().splitlines() if "system.local-mem-bw" in line]
    assert line.split() == ["system.local-mem-bw", "default", "50.0"]


def test_a_run_that_was_stopped_is_said_to_be() -> None:
    with pytest.raises(Interrupted) as caught:
        astra_ns3.run(**{**small_run(), "backend": InterruptedBackend(NPUS)}, passes=2)
    assert caught.value.result is not None
    (note,) = astra_ns3.compare(played(), caught.value.result).notes
    assert note.startswith("B did not come to its end: interrupted")


@pytest.mark.parametrize(("end", "noted"), [("100us", "AB"), ("1s", "")])
def test_jobs_that_were_stopped_alike_are_said_to_be_if_they_differ(tmp_path: Path, end: str, noted: str) -> None:
    """100 passes take longer than 100 us, and 200 less than a second."""
    one, two = (of_scenario(tmp_path, job={"end": end, "passes": passes}).tenants["a"] for passes in (100, 200))
    why = "did not come to its end: the job was ended by its end"
    assert [*astra_ns3.compare(one, two).notes] == [f"{name} {why}" for name in noted]
    alike = astra_ns3.compare(one, one)
    assert (alike.equal, alike.notes) == (True, ())


def test_text_has_units_percent_and_counts_what_it_leaves_out() -> None:
    many = tuple(Setting(f"key.{number}", number, True) for number in range(MOST_ROWS + 3))
    text = Comparison("one", "two", many, (), ()).text()
    assert text.splitlines()[-2:] == ["  and 3 more (--json has all)", "results: none differs"]
    lines = astra_ns3.compare(played(), played(latency_ps=5 * LATENCY_PS)).text().splitlines()
    assert "settings: none differs" in lines
    (finish,) = [line.split() for line in lines if line.startswith("  finish ")]
    assert finish[2] == finish[4] == finish[6] == "us"
    assert finish[5].startswith("+")
    assert finish[7].endswith("%")


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (1000, 1100, "+10.0%"),
        (1000, 9999, "+899.9%"),
        (1000, 10_000, "10 times"),
        (1000, 11_815_389, "11,815 times"),
        (1000, 2, "-99.8%"),
        (11_815_389, 1000, "1/11,815"),
        (1000, 0, "-100.0%"),
        (0, 1000, ""),
        (-1000, 500, "-150.0%"),
    ],
)
def test_what_is_many_times_as_large_is_told_in_times(a: int, b: int, words: str) -> None:
    assert difference_row(Difference("finish", "ps", a, b))[4] == words


def test_models_are_compared_by_what_they_train_on_in_a_second() -> None:
    """An iteration of 16 samples that takes 8 ms is faster than one of 2 samples that takes 3 ms."""
    a, b = played(), played()
    for run, samples, tokens in ((a, 16, 4_046_693.7), (b, 2, 1_160_848.1)):
        found: Any = {"samples_per_iteration": samples, "tokens_per_second": tokens, "model_flop_utilisation": None}
        found |= {"sample": "sequence", "iteration_ps": round(2048 * samples / tokens * 10**12)}
        run.metadata["throughput"] = found
    comparison = astra_ns3.compare(a, b, ("A", "B"))
    assert changes(comparison, "throughput") == {
        "samples an iteration": (16, 2),
        "tokens a second": (4_046_694, 1_160_848),
    }
    (note,) = comparison.notes
    told = "an iteration of A trains on 16 sequences of 2,048 tokens, one of B trains on 2 sequences of 2,048 tokens: "
    assert note.startswith(told)
    a.metadata["throughput"] |= {"samples_per_iteration": 2, "iteration_ps": 10**9, "tokens_per_second": 2_048_000.0}
    (note,) = astra_ns3.compare(a, b, ("A", "B")).notes
    assert note.startswith("an iteration of A trains on 2 sequences of 1,024 tokens, one of B trains on 2 sequences of")
    a.metadata["throughput"]["sample"] = "pair of sentences"
    (note,) = astra_ns3.compare(a, b, ("A", "B")).notes
    assert note.startswith("an iteration of A trains on 2 pairs of sentences of 1,024 tokens, one of B trains on 2 seq")
    del b.metadata["throughput"]  # no model: nothing to compare it with
    comparison = astra_ns3.compare(a, b)
    assert comparison.notes == ()
    assert not any(group.name == "throughput" for group in comparison.groups)


def test_the_command_prints_text_and_json(tmp_path: Path) -> None:
    played(output=tmp_path / "a")
    played(output=tmp_path / "b", latency_ps=2 * LATENCY_PS)
    words = [str(tmp_path / "a"), str(tmp_path / "b")]
    printed = CliRunner().invoke(compare_command, words, standalone_mode=False)
    assert (printed.exception, printed.return_value) == (None, None)  # no status but 0
    assert printed.output.startswith(f"A  {tmp_path}/a\nB  {tmp_path}/b\n")
    document = json.loads(CliRunner().invoke(compare_command, [*words, "--json"], standalone_mode=False).output)
    a, b = (astra_ns3.Result.load(folder) for folder in words)
    assert document.pop("exit_status") == 0
    assert document == astra_ns3.compare(a, b).document()
    assert set(document["results"]) == {"totals", "layers", "collectives", "counters"}


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    error = CliRunner().invoke(compare_command, [str(tmp_path), str(tmp_path)], standalone_mode=False).exception
    assert isinstance(error, InputError)
    assert str(error) == f"{tmp_path}: is not the folder of a run: it has no run.json"
    gone = CliRunner().invoke(compare_command, [f"{tmp_path}/gone", "b"], standalone_mode=False).exception
    assert str(gone) == f"{tmp_path}/gone: there is no such folder"


def test_who_compares_seeds_is_told_how_to_get_mean_and_deviation(tmp_path: Path) -> None:
    a, b = played(), played(seed=2)
    words = "for the mean and deviation over seeds: astra-ns3 run --seeds N, or a study with seeds: N"
    assert astra_ns3.compare(a, b).notes == (f"A and B differ in their seed alone: {words}",)
    assert not astra_ns3.compare(a, played(seed=2, latency_ps=2 * LATENCY_PS, passes=2)).notes
    runs = [str(tmp_path / str(seed)) for seed in (1, 2, 3)]
    three = CliRunner().invoke(compare_command, runs, standalone_mode=False).exception
    assert isinstance(three, InputError)
    assert str(three) == f"found 3 folders, expected two, A and B; {words}"


def test_the_folder_of_a_study_is_told_where_its_runs_and_means_are(tmp_path: Path) -> None:
    study = tmp_path / "study"
    for address in ("aa", "bb"):
        played(output=study / "points" / address)
    (study / "means.csv").touch()
    (study / "index.html").touch()
    with pytest.raises(InputError) as caught:
        astra_ns3.Result.load(study)
    assert str(caught.value) == (
        f"{study}: is not the folder of a run: it has no run.json; runs lie in it: name one, as {study}/points/aa "
        f"(astra-ns3 runs {study} lists them, {study}/means.csv has means and deviations over seeds, "
        f"{study}/index.html is the page of all)"
    )


def test_inputs_of_the_small_run_are_among_the_settings() -> None:
    keys = settings(played().metadata)
    assert {key.partition(".")[0] for key in keys} == set(PARTS) - {INPUT_FILES}  # it names none
    documents = {"system": small_system().document(), "network": small_network().document()}
    assert keys["system.endpoint-delay"] == documents["system"]["endpoint-delay"]
    assert keys["network.topology.npus"] == documents["network"]["topology"]["npus"]
    assert keys["workload.source"] == small_workload().source
    assert set(FILES) < set(PARTS)


def of_algorithms(*rows: tuple[str, int, str]) -> Any:
    table = [{"kind": kind, "bytes": str(size), "npus": "8", "algorithm": name} for kind, size, name in rows]
    return SimpleNamespace(metadata=played().metadata, rows=lambda _: table)


def test_collectives_that_are_played_otherwise_are_named_with_both_algorithms() -> None:
    a = of_algorithms(
        ("ALLREDUCE", 1000, "x"), ("ALLREDUCE", 1000, "x"), ("ALLREDUCE", 2000, "x"), ("ALLTOALL", 1, "x")
    )
    b = of_algorithms(
        ("ALLREDUCE", 1000, "y"), ("ALLREDUCE", 1000, "y"), ("ALLREDUCE", 2000, "x"), ("ALLGATHER", 1, "y")
    )
    found = other_algorithms(a, b)
    assert found == (OtherAlgorithm("ALLREDUCE", 1000, 8, 2, "x", "y"),)
    assert algorithm_lines(found) == ["ALLREDUCE of 1 KB on 8 NPUs (2 of them): x -> y"]
    assert other_algorithms(a, a) == ()
    many = [OtherAlgorithm("ALLREDUCE", size, 8, 1, "x", "y") for size in range(7)]
    assert algorithm_lines(many)[5:] == ["and 2 more (--json has all)"]


def test_switches_are_on_and_off_alone_in_lists_and_in_groups() -> None:
    values: list[Json] = [True, [True, False], {"a": [False], "b": 2}]
    assert [value_text("key", value) for value in values] == ["on", "on, off", "a: off, b: 2"]


def test_a_list_is_shortened_as_a_whole() -> None:
    """Its last 37 letters behind three dots, whatever of its elements they are of."""
    assert value_text("key", [None, 1]) == "None, 1"
    assert value_text("key", ["a" * 50, "b" * 20]) == f"...{'a' * 15}, {'b' * 20}"


def test_keys_of_reducers_are_shown_where_a_switch_reduces_alone() -> None:
    in_force = {"roce": {"ack_every": 1, "reducer_ack_every": 8}}
    for switch, known in (({"reduction": None}, False), ({}, False), ({"reduction": {"rate": "1Gbps"}}, True)):
        document: RunDocument = {"network": {"topology": {"leaf": {"switch": switch}}}, "in_force": in_force}
        found = settings(document)
        assert found["in_force.roce.ack_every"] == 1
        assert ("in_force.roce.reducer_ack_every" in found) == known
