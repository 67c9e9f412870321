"""Tenants of a network: their NPUs, numbers, times and tables are their own, and one place translates them."""

from __future__ import annotations

import shutil
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from support.fake_backend import FakeBackend
from support.job_tables import frame_of, rows_of
from support.small_run import NETWORK, SYSTEM, small_network, small_system, small_workload
from support.training_driver import TrainingDriver

import astra_ns3
from astra_ns3 import Result, ScenarioResult, Tenant, memory
from astra_ns3.config.core.compatibility import OURS
from astra_ns3.errors import InputError, SimulationStalled
from astra_ns3.experiments import scenario_request, versions
from astra_ns3.experiments.forecasting.capacity import check_run_fits, run_need
from astra_ns3.experiments.forecasting.costs import BYTES_PER_HOST, IDLE_BYTES, PROGRAM_SECONDS, SECONDS_PER_HOST
from astra_ns3.experiments.forecasting.forecast import Forecast
from astra_ns3.experiments.progress import expected_work
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.experiments.tenant_inputs import load_tenants, parts_of
from astra_ns3.memory import Available
from astra_ns3.network.instance import MOST_TENANT_BITS, TenantBits, pack_instance
from astra_ns3.network.recorded import (
    ACCOUNT_HOPS,
    ACCOUNT_SERVED,
    ACCOUNTS,
    CONNECTIONS,
    QUEUE_PAIRS,
    SAME_JOB,
    Columns,
    RecordedTable,
)
from astra_ns3.scenario.company import Company, Member
from astra_ns3.scenario.scenario import Scenario, Tenancy, tenancy_of
from astra_ns3.scenario.tenant import Restart, with_tries
from astra_ns3.scenario.tenant_network import TenantNetwork
from astra_ns3.scenario.tenant_tables import NetworkTables, TableOwner
from astra_ns3.workload.files.astra_sim import parse_workload

CHAKRA = Path(__file__).parents[3] / "inputs/workload/chakra"
NPUS = 8
US = 1_000_000
"""Picoseconds."""


def tenant(name: str, npus: Any, **more: Any) -> Tenant:
    return Tenant(name, npus, small_workload(), small_system(), **more)


def play(*tenants: Tenant, **options: Any) -> ScenarioResult:
    return astra_ns3.run_scenario(
        network=small_network(npus=NPUS), tenants=tenants, **{"backend": FakeBackend(NPUS), **options}
    )


def alone(name: str, **options: Any) -> Result:
    """The run of a tenant of four NPUs on a network of its own."""
    own = {"workload": small_workload(), "system": small_system(), "network": small_network()}
    return astra_ns3.run(**{**own, "run_name": name, "backend": FakeBackend(4), **options})


def test_a_job_of_a_trace_has_a_file_of_groups_of_its_own(tmp_path: Path) -> None:
    """Without the file the trace's communicators are unknown, and the error says how to give one."""
    for trace in CHAKRA.glob("*.et"):
        shutil.copy(trace, tmp_path)
    (tmp_path / "network.yaml").write_text(NETWORK.replace("npus: 4", f"npus: {NPUS}"), encoding="utf-8")
    (tmp_path / "system.txt").write_text(SYSTEM, encoding="utf-8")
    shutil.copy(CHAKRA / "step.groups.json", tmp_path / "named.json")
    job = {"name": "a", "workload": str(tmp_path / "step"), "system": str(tmp_path / "system.txt")}

    def told(more: dict[str, str]) -> ScenarioResult:
        scenario: dict[str, Any] = {"network": str(tmp_path / "network.yaml"), "jobs": [{**job, **more}]}
        return astra_ns3.run_scenario(scenario=scenario, backend=FakeBackend(NPUS))

    groups = told({"groups": str(tmp_path / "named.json")}).tenants["a"].metadata["exposed_by_group"]
    assert any(each["group"].startswith("group ") for each in groups)
    with pytest.raises(
        InputError, match=r"no file of communicators was given \(--groups FILE, key groups of a job, or "
    ):
        told({})


@pytest.mark.parametrize(
    ("workload", "text", "words"),
    [
        ("none.txt", '{"0": [0, 1]}', "groups are for workloads of graphs, and this is none"),
        ("step", '{"0": [0, 0]}', "communicator '0' has NPU 0 twice"),
        ("step", "[", "is not JSON"),
    ],
)
def test_an_error_about_the_groups_of_a_job_names_the_job_and_the_key(
    workload: str, text: str, words: str, tmp_path: Path
) -> None:
    for trace in CHAKRA.glob("*.et"):
        shutil.copy(trace, tmp_path)
    files = {
        "none.txt": "DATA\n1\nonly -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n",
        "groups.json": text,
        "system.txt": SYSTEM,
    }
    files["network.yaml"] = NETWORK.replace("npus: 4", f"npus: {NPUS}")
    job = f"name: late, workload: {workload}, system: system.txt, groups: groups.json"
    files["scenario.yaml"] = f"network: network.yaml\njobs:\n  - {{{job}}}\n"
    for name, content in files.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as found:
        astra_ns3.run_scenario(scenario=str(tmp_path / "scenario.yaml"), backend=FakeBackend(NPUS))
    of_job = f"{tmp_path}/scenario.yaml:3: job 'late': key 'groups': {tmp_path}/groups.json"
    assert str(found.value).startswith(of_job)
    assert words in str(found.value)


def test_a_tenant_s_run_has_the_warnings_of_its_own_files_and_the_network_s_has_all() -> None:
    told = small_system(**{"track-local-mem": 1})
    result = play(tenant("a", range(4)), Tenant("b", range(4, 8), small_workload(), told))
    of_each = {name: run.metadata["warnings"] for name, run in result.tenants.items()}
    (words,) = told.warnings
    assert of_each == {"a": [], "b": [words]}
    assert result.metadata["warnings"] == [words]


@pytest.mark.parametrize(("tenants", "bits"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (1 << MOST_TENANT_BITS, 16)])
def test_a_tenant_s_number_takes_as_many_bits_as_the_tenants_need(tenants: int, bits: int) -> None:
    numbers = TenantBits(tenants)
    own = pack_instance(12_345, 678, 9)
    last = numbers.of(tenants - 1, own)
    assert numbers.shift == 63 - bits
    assert (numbers.tenant(last), numbers.own(last)) == (tenants - 1, own)
    assert last < 1 << 63
    assert numbers.of(0, own) == own


def test_a_collective_s_number_that_runs_into_the_tenant_s_is_refused() -> None:
    largest = (1 << (63 - 1 - 32)) - 1
    assert TenantBits(2).own(TenantBits(2).of(1, pack_instance(largest, 0, 0))) == pack_instance(largest, 0, 0)
    with pytest.raises(InputError, match=rf"collective {largest + 1} has too large a number beside 2 tenants"):
        TenantBits(2).of(1, pack_instance(largest + 1, 0, 0))
    with pytest.raises(InputError, match="found 65537 tenants, expected 1 to 65536"):
        TenantBits(65_537)


@pytest.mark.parametrize(
    ("npus", "grid", "expected"),
    [
        ([0, 1, 2, 3], (4, 2), ((4,), (10.0,))),
        ([0, 4], (4, 2), ((2,), (20.0,))),
        ([1, 2, 5, 6], (4, 2), ((2, 2), (10.0, 20.0))),
        ([2, 1, 6, 5], (4, 2), ((4,), None)),
        ([0, 1, 6], (4, 2), ((3,), None)),
        ([5], (4, 2), ((1,), (10.0,))),
        ([0, 3, 16, 19], (4, 4, 2), ((2, 2), (10.0, 30.0))),
        (None, (4, 1), ((4, 1), (10.0, 20.0))),
    ],
)
def test_a_tenant_s_grid_is_cut_from_the_network_s(
    npus: list[int] | None, grid: tuple[int, ...], expected: tuple[tuple[int, ...], tuple[float, ...] | None]
) -> None:
    found = tenancy_of("a", npus, 0, None, grid, (10.0, 20.0, 30.0)[: len(grid)])
    assert (found.dimensions, found.bandwidths) == expected


def test_the_rates_of_a_grid_that_isn_t_the_network_s_are_not_known() -> None:
    assert tenancy_of("a", range(8), 0, (2, 4), (4, 2), (10.0, 20.0)).bandwidths is None
    assert tenancy_of("a", range(8), 0, (4, 2), (4, 2), (10.0, 20.0)).bandwidths == (10.0, 20.0)


def test_a_grid_that_is_given_goes_first() -> None:
    assert tenancy_of("a", range(8), 0, (2, 4), (8,), (10.0,)).dimensions == (2, 4)
    with pytest.raises(InputError, match=r"tenant 'a': dimensions \(3, 2\) make 6 NPUs, it has 8"):
        tenancy_of("a", range(8), 0, (3, 2), (8,), (10.0,))


@pytest.mark.parametrize(
    ("tenants", "message"),
    [
        ([tenant("a", [0, 1]), tenant("b", [1, 2])], "tenants 'a' and 'b' both have NPU 1, expected one of them"),
        ([tenant("a", [0, 1]), tenant("a", [2, 3])], "two tenants are called 'a', expected a name of its own for each"),
        ([tenant("a", [0, 8])], "tenant 'a': NPU 8 is not one of the network's 8, 0 to 7"),
        ([tenant("a", [0, True])], "tenant 'a': NPU True is not one of the network's 8, 0 to 7"),
        ([tenant("a", [])], "tenant 'a' has no NPUs, expected at least one"),
        ([tenant("a", [2, 2])], "tenant 'a' has an NPU twice, expected each once"),
        ([tenant("a", [0, 1], start_ps=-1)], "tenant 'a': start_ps is -1, expected a number of picoseconds, from 0 on"),
        ([tenant("a", [0, 1], report_npu=2)], "report-npu is 2, expected one of 2 NPUs, 0 to 1"),
        ([tenant("a", [0, 1], passes=0)], "tenant 'a': passes is 0, expected a whole number, at least 1"),
        ([tenant("a/b", [0, 1])], "run name 'a/b' is not 1 to 100 printable characters without '/' and without"),
        (["a"], "tenants is ('a',), expected at least one Tenant in a list"),
        ([], "tenants is (), expected at least one Tenant in a list"),
        (
            [tenant("a", [0, 1]), Tenant("b", [2, 3], small_workload(), small_system(**{"endpoint-delay": 11}))],
            "tenant 'b': its system has endpoint-delay (times injection-scale) 11, that of 'a' 10; expected the same: "
            "NPUs are alike",
        ),
        (
            [tenant("a", [0, 1]), Tenant("b", [2, 3], small_workload(), small_system(**{"local-mem-bw": 1600}))],
            "tenant 'b': its system has reduction-bytes-per-ns (or local-mem-bw) 1600, that of 'a' 500000; expected",
        ),
    ],
)
def test_tenants_that_do_not_go_together_are_refused_in_one_line(
    tenants: list[Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as raised:
        play(*tenants, output=tmp_path / "out")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_run_ends_with_the_tenant_who_ends_last_in_simulated_time() -> None:
    result = play(tenant("a", [0, 1, 2, 3]), tenant("b", [4, 5, 6, 7], start_ps=7 * US))
    assert result.finish_ps == 7 * US + result.tenants["b"].finish_ps > result.tenants["a"].finish_ps


def test_the_ideal_of_a_tenant_is_that_of_its_npus() -> None:
    of_none: Any = None  # the plan isn't asked
    scenario = Scenario(of_none, (Tenancy("a", (0, 2), 0, (2,), None), Tenancy("b", (5, 3), 100, (2,), None)))
    ideal = scenario.ideal_of(1, lambda sources, destinations, sizes: 100 * sources + 10 * destinations + sizes)
    assert ideal is not None
    assert ideal(np.array([0, 1]), np.array([1, 0]), np.array([7, 8])).tolist() == [537, 358]


def test_a_tenant_on_some_npus_plays_as_on_a_network_of_its_own() -> None:
    result = play(tenant("a", [6, 2, 5, 0]), record=("timeline", "layers"))
    own = alone("a", record=("timeline", "layers"))
    assert frame_of(result.tenants["a"].operations).equals(own.operations)
    assert frame_of(result.tenants["a"].phases).equals(own.phases)
    assert rows_of(result.tenants["a"], "collectives.csv") == own.rows("collectives.csv")


def test_a_tenant_s_times_count_from_its_start_and_the_run_s_from_its_own() -> None:
    own = alone("late")
    result = play(tenant("early", [0, 1, 2, 3]), tenant("late", [4, 5, 6, 7], start_ps=70 * US))
    assert rows_of(result.tenants["late"], "npus.csv") == own.rows("npus.csv")
    assert rows_of(result.tenants["late"], "EndToEnd.csv") == own.rows("EndToEnd.csv")
    assert result.finish_ps == 70 * US + own.finish_ps
    assert [(row["job"], row["start_us"]) for row in result.rows("jobs.csv")] == [
        ("early", "0.000000"),
        ("late", "70.000000"),
    ]


def test_a_tenant_of_all_npus_begins_at_its_start() -> None:
    begun = []
    for start_ps in (0, 5 * US):
        network = FakeBackend(NPUS)
        play(tenant("a", list(range(NPUS)), start_ps=start_ps), backend=network)
        begun.append(network.launched[0][0])
    assert begun[1] == begun[0] + 5 * US


class _Heard:
    """A listener that keeps which phases it is told of."""

    def __init__(self) -> None:
        self.phases: list[tuple[int, int, int]] = []

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        self.phases.append((npu, instance, time_ps))

    def heartbeat(self, time_ps: int, events: int) -> None: ...


def test_a_tenant_s_clock_stands_at_0_before_its_start_and_it_hears_all_of_its_last_moment() -> None:
    network, bits, heard = FakeBackend(NPUS), TenantBits(2), _Heard()
    view = TenantNetwork(network, 1, [6, 7], 5 * US, bits)
    view.listener = heard
    assert view.now_ps() == 0
    view.stop()
    view.phase_done(7, bits.of(1, 3), 5 * US)
    view.phase_done(7, bits.of(1, 4), 5 * US + 1)
    assert heard.phases == [(1, 3, 0)]


class _Going(TrainingDriver):
    """A driver whose oldest collective is given."""

    def __init__(self, words: str, time_ps: int) -> None:
        self._oldest = words, time_ps

    def oldest_collective(self) -> tuple[str, int] | None:
        return self._oldest


def test_the_oldest_collective_is_that_of_the_tenant_who_began_first() -> None:
    network = FakeBackend(NPUS)
    members = [Member(name, network, _Going("ALLREDUCE 1", begun)) for name, begun in (("a", 9), ("b", 4), ("c", 7))]
    company = Company(network, members, TenantBits(3), lambda time_ps, events: None)
    assert company.oldest_collective() == ("b: ALLREDUCE 1", 4)


def test_what_others_do_after_its_end_leaves_a_tenant_s_records_as_they_are() -> None:
    result = play(tenant("short", [0, 1, 2, 3]), tenant("long", [4, 5, 6, 7], passes=5))
    short, own = result.tenants["short"], alone("short")
    assert short.finish_ps < result.tenants["long"].finish_ps
    assert rows_of(short, "short_dimension_utilization.csv") == own.rows("short_dimension_utilization.csv")


def test_a_tenant_s_network_speaks_in_ranks_and_a_stall_names_the_tenant() -> None:
    lost = FakeBackend(NPUS, lost=lambda schedule, row: schedule.sender[row] == 2)
    with pytest.raises(SimulationStalled, match=r"^job 'a': .*NPU [0-3] ") as raised:
        play(tenant("a", [4, 5, 6, 7]), backend=lost)
    assert all(f"NPU {npu}" not in str(raised.value) for npu in range(4, 8))


def test_a_run_that_stalls_keeps_the_tables_of_who_had_ended() -> None:
    backend = FakeBackend(NPUS, lost=lambda schedule, row: schedule.ranks == 2)
    with pytest.raises(SimulationStalled, match=r"^job 'b': ") as raised:
        play(tenant("a", [0, 1, 2, 3]), tenant("b", [4, 5]), backend=backend)
    result = raised.value.result
    assert not result.complete
    assert result.tenants["a"].complete
    assert result.tenants["a"].metadata["stopped"] is None
    assert not result.tenants["b"].complete
    assert rows_of(result.tenants["a"], "npus.csv") == alone("a").rows("npus.csv")


def test_seeds_of_tenants_differ_and_one_that_is_given_counts() -> None:
    jittery = small_system(**{"start-jitter": 900})

    def finishes(*seeds: int | None, seed: int = 1) -> list[int]:
        npus = [[0, 1, 2, 3], [4, 5, 6, 7]]
        each = zip("ab", npus, seeds, strict=True)
        tenants = [Tenant(name, own, small_workload(), jittery, seed=given) for name, own, given in each]
        return [result.finish_ps for result in play(*tenants, seed=seed).tenants.values()]

    one, other = finishes(None, None)
    assert one != other
    assert finishes(None, None) == [one, other]
    assert finishes(None, None, seed=2) != [one, other]
    assert finishes(7, 7) == [alone("a", seed=7, system=jittery).finish_ps] * 2


def test_a_seed_that_is_made_is_1_or_more_and_the_largest_seed_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("astra_ns3.scenario.tenant.LARGEST_SEED", 3)
    assert {tenant("a", None).seed_in(seed) for seed in range(100)} == {1, 2, 3}


def test_a_driver_plays_on_a_view_of_a_larger_network() -> None:
    network = FakeBackend(NPUS)
    view = TenantNetwork(network, 1, [7, 1, 3, 5], 5 * US, TenantBits(2))
    driver = TrainingDriver(view, small_system(), small_workload(), compatibility=OURS)
    driver.run()
    assert driver.finished
    assert {npu for _, npu, _ in network.launched} == {1, 3, 5, 7}
    assert {instance >> 62 for _, _, instance in network.launched} == {1}
    assert view.now_ps() == driver.records().finish_ps


def test_each_tenant_names_the_rank_that_its_tables_tell_of() -> None:
    slow = {"stragglers": [{"npus": 2, "factor": 3.0}]}
    first = tenant("a", range(4), report_npu=1, compute_slowdown=slow)
    second = tenant("b", [7, 6, 5, 4], report_npu=2, compute_slowdown=slow)
    result = play(first, second, record=("layers",))
    for rank, name in enumerate("ab", 1):
        own = alone(name, report_npu=rank, compute_slowdown=slow, record=("layers",))
        assert result.tenants[name].metadata["report_npu"] == rank
        assert rows_of(result.tenants[name], "detailed.csv") == own.rows("detailed.csv")


def test_a_forecast_adds_up_tenants_and_counts_the_network_once() -> None:
    def forecast(*names: str) -> Forecast:
        halves = {"a": tenant("a", range(4)), "b": tenant("b", range(4, NPUS), passes=3)}
        found = astra_ns3.forecast_scenario(network=small_network(npus=NPUS), tenants=[halves[name] for name in names])
        assert isinstance(found, Forecast)
        return found

    both, one, other = forecast("a", "b"), forecast("a"), forecast("b")
    # Ring all-reduces of 4000 and 8000 bytes among four: 2 (n - 1) of the whole in all.
    assert both.bytes == (1 + 3) * 2 * 3 * (4000 + 8000)
    for name in ("collectives", "launches", "messages", "bytes", "packets", "connections", "queue_pairs"):
        assert getattr(both, name) == getattr(one, name) + getattr(other, name) > (-1 if name == "queue_pairs" else 0)
    twice = PROGRAM_SECONDS + NPUS * SECONDS_PER_HOST
    assert both.wall_seconds == pytest.approx(one.wall_seconds + other.wall_seconds - twice)
    assert both.memory_bytes == one.memory_bytes + other.memory_bytes - IDLE_BYTES - NPUS * BYTES_PER_HOST


def test_a_forecast_refuses_what_a_run_refuses() -> None:
    both = tenant("a", [0, 1]), tenant("b", [1, 2])
    with pytest.raises(InputError, match="tenants 'a' and 'b' both have NPU 1"):
        astra_ns3.forecast_scenario(network=small_network(npus=NPUS), tenants=both)


def test_tenants_that_fit_one_by_one_but_not_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    halves = [tenant("a", range(4), passes=2), tenant("b", range(4, NPUS))]
    request = ScenarioRequest(network=small_network(npus=NPUS), tenants=halves)
    parts = parts_of(request, load_tenants(request))
    left = run_need(parts).total - 1
    monkeypatch.setattr(memory, "_SMALL_BYTES", 0)
    monkeypatch.setattr(memory, "_sources", lambda limit: iter([Available(left, "it has")]))
    for part in parts:
        check_run_fits([part], to_its_end=False)
    with pytest.raises(InputError, match="for 8 NPUs, would need about"):
        check_run_fits(parts, to_its_end=False)


def test_collectives_that_all_tenants_issue_at_once_count_together() -> None:
    micro = parse_workload("MICRO\n1\nx -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 4000 0\n")
    tenants = [
        Tenant(name, npus, micro, small_system(), passes=passes)
        for name, npus, passes in (("a", range(4), 10), ("b", range(4, NPUS), 300))
    ]
    request = ScenarioRequest(network=small_network(npus=NPUS), tenants=tenants)
    parts = parts_of(request, load_tenants(request))
    needs = [run_need([part]) for part in parts]
    assert run_need(parts).at_once == 10 + 300
    assert run_need(parts).collectives == needs[0].collectives + needs[1].collectives


def test_progress_weighs_each_tenant_by_what_it_costs() -> None:
    texts = {
        "computes": "DATA\n1\nx -1 5 NONE 0 0 NONE 0 0 NONE 0 0\n",
        "sends": "DATA\n1\nx -1 7 NONE 0 0 NONE 0 0 ALLREDUCE 1000000000 0\n",
    }
    npus = {"computes": range(4), "sends": range(4, NPUS)}
    tenants = [Tenant(name, npus[name], parse_workload(text), small_system()) for name, text in texts.items()]
    request = ScenarioRequest(network=small_network(npus=NPUS), tenants=tenants)
    work = expected_work(parts_of(request, load_tenants(request)))
    assert (work.bytes, work.compute_ps) == (2 * 3 * 10**9, (5 + 7) * 1000)
    assert work.bytes_share > 0.99


def test_twice_the_jobs_ask_for_twice_the_requests_and_for_no_more_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    requests, packages = Mock(wraps=scenario_request._of), Mock(wraps=metadata.version)
    monkeypatch.setattr(scenario_request, "_of", requests)
    monkeypatch.setattr(metadata, "version", packages)
    counts = []
    for jobs in (2, 4):
        versions._version.cache_clear()
        requests.reset_mock()
        packages.reset_mock()
        play(*(tenant(f"job-{number}", [2 * number, 2 * number + 1]) for number in range(jobs)))
        counts.append((requests.call_count / jobs, packages.call_count))
    assert counts[0] == counts[1]


def test_results_are_saved_by_tenant_and_read_back(tmp_path: Path) -> None:
    tenants = tenant("a", [0, 1, 2, 3]), tenant("b", [4, 5, 6, 7], start_ps=US)
    saved = play(*tenants, output=tmp_path / "out")
    loaded = ScenarioResult.load(tmp_path / "out")
    assert (loaded.finish_ps, [*loaded.tenants]) == (saved.finish_ps, ["a", "b"])
    assert loaded.metadata["jobs"][1]["npus"] == [4, 5, 6, 7]
    of_b = Result.load(tmp_path / "out" / "job-b")
    assert of_b.metadata["job"] == {
        "name": "b",
        "npus": [4, 5, 6, 7],
        "start_ps": US,
        "dimensions": [4],
        "passes_done": 1,
        "ended_by": "programs",
    }
    assert of_b.rows("npus.csv") == saved.tenants["b"].rows("npus.csv")
    assert of_b.rows("switch.csv") == loaded.rows("switch.csv")
    with pytest.raises(InputError, match="holds the results of several jobs; name one of its folders: job-a"):
        Result.load(tmp_path / "out")
    with pytest.raises(InputError, match="holds a run"):
        play(*tenants, output=tmp_path / "out")
    again = play(*tenants, output=tmp_path / "out", overwrite=True, backend=FakeBackend(NPUS))
    assert again.finish_ps == saved.finish_ps


class _Kept:
    """A TableSink that keeps rows by table."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Columns]] = {}
        self.tables: dict[str, RecordedTable] = {}

    def open(self, table: RecordedTable) -> None:
        self.rows[table.name] = []
        self.tables[table.name] = table

    def label(self, name: str, column: str, number: int, text: str) -> None: ...

    def write(self, name: str, columns: Columns) -> None:
        self.rows[name].append(columns)

    def failed(self, file: str, reason: str) -> None: ...

    def close(self) -> None: ...

    def column(self, name: str, column: str) -> list[int]:
        place = self.tables[name].recorded.index(column)
        return [int(number) for columns in self.rows[name] for number in columns[place]]


def _columns(table: RecordedTable, rows: int, **given: list[int]) -> Columns:
    return [np.array(given.get(column, [0] * rows), dtype=np.int64) for column in table.recorded]


def test_hops_find_their_message_s_tenant_whichever_comes_first() -> None:
    kept, bits = _Kept(), TenantBits(2)
    tables = NetworkTables(kept, bits, [TableOwner("a", "a", [0, 1], 0), TableOwner("b", "b", [5, 4], 100)])
    for table in (ACCOUNTS, ACCOUNT_HOPS):
        tables.open(table)
    instances = [bits.of(1, 7), bits.of(0, 8), bits.of(1, 9)]
    tables.write("account_hops", _columns(ACCOUNT_HOPS, 3, message=[0, 0, 1], arrival_ps=[110, 120, 130]))
    assert kept.rows["b/account_hops"] == []
    tables.write(
        "accounts",
        _columns(ACCOUNTS, 3, source=[5, 0, 4], destination=[4, 1, 5], instance=instances, start_ps=[100, 90, 130]),
    )
    tables.write("account_hops", _columns(ACCOUNT_HOPS, 1, message=[2], arrival_ps=[140]))
    assert kept.column("a/account_hops", "message") == [0]
    assert kept.column("b/account_hops", "message") == [0, 0, 1]
    assert kept.column("b/account_hops", "arrival_ps") == [10, 20, 40]
    assert kept.column("b/accounts", "source") == [0, 1]
    assert kept.column("b/accounts", "instance") == [7, 9]
    assert kept.column("b/accounts", "start_ps") == [0, 30]
    assert kept.column("a/accounts", "start_ps") == [90]
    later = [bits.of(1, 10), bits.of(0, 11)]
    tables.write(
        "accounts", _columns(ACCOUNTS, 2, source=[5, 0], destination=[4, 1], instance=later, start_ps=[150] * 2)
    )
    tables.write("account_hops", _columns(ACCOUNT_HOPS, 2, message=[3, 4], arrival_ps=[160, 170]))
    assert kept.column("a/account_hops", "message") == [0, 1]
    assert kept.column("b/account_hops", "message") == [0, 0, 1, 2]


def test_tries_are_numbered_from_the_second_on_and_made_anew() -> None:
    job = tenant("job", 2, restart=Restart(after_ps=5, at_most=2))
    tries = list(with_tries([job, tenant("other", 2)]))
    assert [(each.name, each.job) for each in tries] == [
        ("job", None),
        ("job, try 2", "job"),
        ("job, try 3", "job"),
        ("other", None),
    ]
    assert list(with_tries(tries)) == tries


def test_what_a_message_waited_behind_is_told_in_the_numbers_of_the_job_that_it_is_of() -> None:
    kept, bits = _Kept(), TenantBits(2)
    tables = NetworkTables(kept, bits, [TableOwner("a", "a", [0, 1], 0), TableOwner("b", "b", [5, 4], 100)])
    for table in (ACCOUNTS, ACCOUNT_SERVED):
        tables.open(table)
    served = {"message": [0, 0, 0], "source": [5, -1, -1], "destination": [4, -1, -1], "served_ps": [3, 4, 5]}
    instances = [bits.of(1, 7), SAME_JOB, -1]
    tables.write("account_served", _columns(ACCOUNT_SERVED, 3, **served, instance=instances))
    tables.write("accounts", _columns(ACCOUNTS, 1, source=[0], destination=[1], instance=[bits.of(0, 8)]))
    own = {column: kept.column("a/account_served", column) for column in ("of_job", *served, "instance", "job")}
    assert own == {
        "of_job": [1, 0, -1],
        "message": [0, 0, 0],
        "source": [0, -1, -1],
        "destination": [1, -1, -1],
        "served_ps": [3, 4, 5],
        "instance": [7, -1, -1],
        "job": [0, 0, 0],
    }
    assert kept.tables["a/account_served"].labels["of_job"] == {(0,): "a", (1,): "b", (-1,): ""}
    assert kept.rows["b/account_served"] == []


def test_a_connection_s_rows_go_to_its_ends_tenant_up_to_the_moment_of_its_end() -> None:
    kept = _Kept()
    tables = NetworkTables(kept, TenantBits(2), [TableOwner("a", "a", [0, 1], 0), TableOwner("b", "b", [5, 4], 100)])
    tables.end_ps = {0: 150, 1: 200}.get
    tables.open(CONNECTIONS)
    rows = {"source": [5, 0, 4, 1], "destination": [4, 1, 5, 0], "time_ps": [200, 150, 201, 151]}
    tables.write("connections", _columns(CONNECTIONS, 4, **rows))
    assert kept.column("a/connections", "time_ps") == [150]
    assert kept.column("b/connections", "time_ps") == [100]
    assert kept.column("b/connections", "source") == [0]


def test_a_job_that_arrives_shares_all_reducers_with_the_others() -> None:
    kept = _Kept()
    owners = [TableOwner("a", "a", [0, 1], 0), TableOwner("b", "b", [2, 3], 100)]
    tables = NetworkTables(kept, TenantBits(2), owners, arriving=[1], npus=4, reducers=2)
    tables.open(CONNECTIONS)
    rows = {"source": [0, 3, 4, 5], "destination": [5, 4, 2, 3], "time_ps": [110, 120, 130, 140]}
    tables.write("connections", _columns(CONNECTIONS, 4, **rows))
    assert (kept.column("a/connections", "source"), kept.column("a/connections", "destination")) == ([0], [5])
    assert kept.column("b/connections", "source") == [1, 4, 5]
    assert kept.column("b/connections", "destination") == [4, 0, 1]


def test_a_job_that_arrives_gets_the_rows_of_its_npus_from_its_start_to_its_end() -> None:
    kept = _Kept()
    owners = [TableOwner("a", "a", [0, 1], 0), TableOwner("b", "b", [2, 3], 100)]
    tables = NetworkTables(kept, TenantBits(2), owners, arriving=[1], npus=4)
    tables.end_ps = {1: 200}.get
    tables.open(CONNECTIONS)
    times_ps = [99, 100, 101, 199, 200, 201]
    rows = {"source": [2] * len(times_ps), "destination": [3] * len(times_ps), "time_ps": times_ps}
    tables.write("connections", _columns(CONNECTIONS, len(times_ps), **rows))
    assert kept.column("b/connections", "time_ps") == [0, 1, 99, 100]
    assert kept.rows["a/connections"] == []


def test_traffic_gets_the_rows_of_npus_that_no_job_has_then_and_none_from_before_its_start() -> None:
    kept = _Kept()
    owners = [TableOwner("others", "others", [0, 1, 2, 3], 100), TableOwner("b", "b", [2, 3], 50)]
    tables = NetworkTables(kept, TenantBits(2), owners, shared=[0], arriving=[1], npus=4)
    tables.end_ps = {1: 200}.get
    tables.open(QUEUE_PAIRS)
    rows = {"source": [2, 2, 2, 2, 0, 0], "destination": [3, 3, 3, 3, 1, 1], "time_ps": [40, 60, 150, 250, 90, 110]}
    tables.write("queue_pairs", _columns(QUEUE_PAIRS, 6, **rows))
    assert kept.column("b/queue_pairs", "time_ps") == [10, 100]
    assert kept.column("others/queue_pairs", "time_ps") == [150, 10]
    assert kept.column("others/queue_pairs", "source") == [2, 0]
