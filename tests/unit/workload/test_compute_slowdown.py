"""What slows computations: stragglers, for ever or for a while; jitter from a seed; collectives that take a share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fake_backend import FakeBackend
from support.graphs.small_graphs import Played, collective, compute, system_of
from support.small_run import small_network, small_run, small_system
from support.studies import INPUTS
from support.training import FlopClock, plan_of, takes
from support.training_driver import TrainingDriver

import astra_ns3
from astra_ns3.config.compute_slowdown import ComputeSlowdown, Jitter, read_compute_slowdown, slowdown_of
from astra_ns3.config.core.collective_kind import TEXT_FORMAT_KINDS
from astra_ns3.config.training_plan import Block, Degrees, Group, Operation, OperationKind, Uneven
from astra_ns3.config.workload import Layer, Pass, Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.slowdown import slowdown_warnings
from astra_ns3.network.api import Limits
from astra_ns3.network.records import NpuRecord, RunRecords
from astra_ns3.playing.programs.operations import Compute
from astra_ns3.playing.slowdown.computations import SlowedComputations
from astra_ns3.playing.slowdown.jitter import JitterFactors
from astra_ns3.playing.slowdown.pace import Pace, Span
from astra_ns3.playing.training.training_programs import TrainingPrograms
from astra_ns3.workload.files.astra_sim import parse_workload

ROUNDING_PS = 1
"""The end of a computation is rounded up to a picosecond."""
FIRST_DRAWN, SECOND_DRAWN = 988_247, 958_128
"""Millionths that seed 1 draws first for NPU 0 with a spread of 0.1."""


def slowdown(**keys: object) -> ComputeSlowdown:
    return ComputeSlowdown.model_validate(keys)


spans = st.builds(
    lambda begin, lasts, factor: Span(begin, None if lasts is None else begin + lasts, Fraction(factor)),
    st.integers(0, 100),
    st.none() | st.integers(1, 100),
    st.fractions(Fraction(1, 10), 10, max_denominator=10),
)


def work_by_picoseconds(known: list[Span], since_ps: int, now_ps: int, stretch: Fraction) -> Fraction:
    """What is done in each picosecond, one after the other."""
    done = Fraction(0)
    for time_ps in range(since_ps, now_ps):
        pace = stretch
        for span in known:
            if time_ps >= span.from_ps and (span.until_ps is None or time_ps < span.until_ps):
                pace *= span.factor
        done += 1 / pace
    return done


@given(
    known=st.lists(spans, max_size=4),
    since_ps=st.integers(0, 150),
    lasts_ps=st.integers(0, 150),
    stretch=st.fractions(1, 3, max_denominator=10),
)
@settings(max_examples=50)
def test_work_is_the_sum_of_what_each_picosecond_does(
    known: list[Span], since_ps: int, lasts_ps: int, stretch: Fraction
) -> None:
    now_ps = since_ps + lasts_ps
    expected = work_by_picoseconds(known, since_ps, now_ps, stretch)
    assert Pace(known).work_ps(since_ps, now_ps, stretch) == expected


@given(known=st.lists(spans, max_size=4), now_ps=st.integers(0, 150), work_ps=st.integers(1, 60))
@settings(max_examples=50)
def test_a_computation_ends_in_the_first_picosecond_by_which_its_work_is_done(
    known: list[Span], now_ps: int, work_ps: int
) -> None:
    end_ps = Pace(known).end_ps(now_ps, Fraction(work_ps))
    assert work_by_picoseconds(known, now_ps, end_ps, Fraction(1)) >= work_ps
    assert work_by_picoseconds(known, now_ps, end_ps - 1, Fraction(1)) < work_ps


def test_many_spans_are_sorted_and_not_each_compared_with_each() -> None:
    """To sort 2,001 times takes at most 11 comparisons each, as 2 to the 11th is 2,048; a span's ends are compared."""
    compared: list[int] = []

    class Time(int):
        """A time that tells when it is compared."""

        def __lt__(self, other: int) -> bool:
            compared.append(self)
            return int(self) < other

        def __le__(self, other: int) -> bool:
            compared.append(self)
            return int(self) <= other

        def __gt__(self, other: int) -> bool:
            compared.append(self)
            return int(self) > other

    pace = Pace([Span(Time(2 * at), Time(2 * at + 1), Fraction(3)) for at in range(1, 1001)])
    assert len(compared) <= 2001 * 11 + 1000
    assert pace.work_ps(0, 5000) == 4000 + Fraction(1000, 3)


def test_jitter_depends_on_seed_npu_and_number_alone() -> None:
    usual = JitterFactors(Jitter(spread=0.1), 1)
    drawn = {(npu, number): usual.factor(npu, number) for npu in range(20) for number in range(20)}
    again = JitterFactors(Jitter(spread=0.1), 1)
    assert {key: again.factor(*key) for key in reversed(drawn)} == drawn
    assert len(set(drawn.values())) > 390  # of 400, in steps of a millionth in 0.2
    assert JitterFactors(Jitter(spread=0.1), 2).factor(0, 0) != drawn[0, 0]
    assert JitterFactors(Jitter(spread=0.1, seed=1), 2).factor(0, 0) == drawn[0, 0]
    first = [round(10**6 * drawn[key]) for key in ((0, 0), (0, 1), (1, 0))]
    assert first == [FIRST_DRAWN, SECOND_DRAWN, 1_003_394]  # a seed's results stay the same


def test_jitter_is_spread_as_it_says() -> None:
    uniform, normal = Jitter(spread=0.2), Jitter(distribution="lognormal", spread=0.2)
    factors = [float(JitterFactors(uniform, 1).factor(npu, number)) for npu in range(50) for number in range(100)]
    assert 0.8 <= min(factors) < 0.801 < 1.199 < max(factors) <= 1.2
    # Standard errors of 5,000 draws: 0.2 / sqrt(3 x 5000) = 0.0016 of the mean, four of which are allowed.
    assert fmean(factors) == pytest.approx(1, abs=0.0065)
    assert pstdev(factors) == pytest.approx(0.2 / 3**0.5, rel=0.03)
    factors = sorted(float(JitterFactors(normal, 1).factor(npu, number)) for npu in range(50) for number in range(100))
    assert factors[2500] == pytest.approx(1, abs=0.015)
    assert factors[int(0.8413 * 5000)] == pytest.approx(2.718281828**0.2, rel=0.03)  # one standard deviation up


class Watched:
    """``times`` computations of NPU 0, one after the other, and chunks that begin and end at given times."""

    def __init__(
        self, keys: ComputeSlowdown, planned_ps: int, chunks: list[tuple[int, int]], memory_ps: int = 0, times: int = 1
    ) -> None:
        self.network = FakeBackend(2)
        self.ended_ps: list[int] = []
        self.computations = SlowedComputations(self.network, keys, 1)

        def begin(_: int) -> None:
            self.computations.begin([0], planned_ps, ended, memory_ps=memory_ps)

        def ended(time_ps: int) -> None:
            self.ended_ps.append(time_ps)
            if len(self.ended_ps) < times:
                begin(time_ps)

        self.network.call_later(0, 0, begin)
        for start_ps, end_ps in chunks:
            self.network.call_later(0, start_ps, lambda time_ps: self.computations.started(0, time_ps))
            self.network.call_later(0, end_ps, lambda time_ps: self.computations.finished(0, time_ps))
        self.network.run(self, Limits())

    def phase_done(self, npu: int, instance: int, time_ps: int) -> None:
        raise AssertionError("nothing is launched")

    def heartbeat(self, time_ps: int, events: int) -> None:
        raise AssertionError("no wall time passes here")


HALF = {"communication": {"processors": 0.5, "memory_bandwidth": 0.75}}


@pytest.mark.parametrize(
    ("chunks", "end_ps"),
    [
        ([], 1000),
        ([(200, 400)], 1100),  # half of 200 is lost
        ([(200, 400), (300, 600)], 1200),  # they overlap: 400 at half the speed
        ([(200, 400), (400, 600)], 1200),  # one ends as another begins
        ([(900, 5000)], 1100),  # the last 100 take 200
        ([(0, 200), (1050, 1080)], 1115),
        ([(2000, 3000)], 1000),
        ([(500, 501)], 1001),  # 1000.5, rounded up
    ],
)
def test_computations_go_on_at_a_lower_speed_while_chunks_run(chunks: list[tuple[int, int]], end_ps: int) -> None:
    assert Watched(slowdown(**HALF), 1000, chunks).ended_ps == [end_ps]


def test_what_memory_limits_loses_the_share_of_the_memory() -> None:
    assert Watched(slowdown(**HALF), 1000, [(0, 9999)], memory_ps=1000).ended_ps == [4000]
    assert Watched(slowdown(**HALF), 1000, [(0, 9999)], memory_ps=500).ended_ps == [500 * 2 + 500 * 4]


def test_a_drawn_factor_multiplies_the_time_alone_and_beside_chunks() -> None:
    jitter = {"jitter": {"spread": 0.1}}
    for planned_ps in (1000, 10**6):  # the first of which ends within a picosecond
        drawn_ps = Fraction(FIRST_DRAWN, 10**6) * planned_ps
        assert Watched(slowdown(**jitter), planned_ps, []).ended_ps == [ceil(drawn_ps)]
        assert Watched(slowdown(**jitter, **HALF), planned_ps, [(0, 10**7)]).ended_ps == [ceil(2 * drawn_ps)]


def test_computations_of_an_npu_one_after_the_other_have_factors_of_their_own() -> None:
    watched = Watched(slowdown(jitter={"spread": 0.1}), 10**6, [], times=2)
    assert watched.ended_ps == [FIRST_DRAWN, FIRST_DRAWN + SECOND_DRAWN]


@pytest.mark.parametrize("keys", [HALF, {"stragglers": [{"npus": 0, "factor": 3}]}])
def test_nothing_to_compute_takes_no_time(keys: dict[str, Any]) -> None:
    assert Watched(slowdown(**keys), 0, [(0, 10)]).ended_ps == [0]


def test_stragglers_and_chunks_multiply() -> None:
    keys = slowdown(stragglers=[{"npus": 0, "factor": 3, "from": "1ns", "until": "2ns"}], **HALF)
    # Half the speed from the start: 500 by 1 ns, then a sixth of it: 167 by 2 ns, then half of it again for the rest.
    assert Watched(keys, 1000, [(0, 99999)]).ended_ps == [2000 + 667]
    # 200 alone, 200 in 400 beside a chunk, 400 alone by 1 ns, and the last 200 at a third of the speed.
    assert Watched(keys, 1000, [(200, 600)]).ended_ps == [1000 + 3 * 200]


@given(
    chunks=st.lists(st.tuples(st.integers(0, 300), st.integers(1, 100)), max_size=6),
    planned_ps=st.integers(1, 300),
    share=st.sampled_from((0.1, 0.25, 0.5, 0.9)),
)
def test_what_chunks_take_is_their_share_of_the_time_in_which_they_run(
    chunks: list[tuple[int, int]], planned_ps: int, share: float
) -> None:
    intervals = [(start, start + lasts) for start, lasts in chunks]
    (end_ps,) = Watched(slowdown(communication={"processors": share}), planned_ps, intervals).ended_ps
    overlap = len({time for start, end in intervals for time in range(start, min(end, end_ps))})
    missing = end_ps - overlap * Fraction(str(share)) - planned_ps
    assert 0 <= missing < ROUNDING_PS


WORKLOAD = """DATA
3
first -1 30000 NONE 0 20000 NONE 0 10000 ALLREDUCE 4000 10
second -1 2000 NONE 0 30000 NONE 0 25000 ALLREDUCE 8000 0
third -1 9000 NONE 0 15000 NONE 0 8000 ALLREDUCE 6000 0
"""
PLANNED_US = 2 * (30 + 10 + 2 + 30 + 25 + 9 + 15 + 8)
"""The first layer has no use for its input gradient."""


def played(tmp_path: Path, keys: Mapping[str, object] | None, **options: Any) -> astra_ns3.Result:
    """Two passes of a data-parallel loop on four NPUs."""
    file = tmp_path / "slowdown.yaml"
    file.write_text(yaml.safe_dump(keys))
    usual = {**small_run(), "workload": parse_workload(WORKLOAD, "three.txt"), "passes": 2}
    return astra_ns3.run(**{**usual, **({} if keys is None else {"compute_slowdown": file}), **options})


def test_a_straggler_computes_longer_and_the_others_wait_for_it(tmp_path: Path) -> None:
    usual = played(tmp_path, None)
    slowed = played(tmp_path, {"stragglers": [{"npus": [2], "factor": 1.5}]})
    assert list(slowed.npus["compute_us"]) == [PLANNED_US, PLANNED_US, 1.5 * PLANNED_US, PLANNED_US]
    longer_us = slowed.npus["finish_us"] - usual.npus["finish_us"]
    assert (longer_us > 0.3 * PLANNED_US).all()
    total = slowed.npus["compute_us"] + slowed.npus["exposed_us"]
    assert total.to_list() == pytest.approx(slowed.npus["finish_us"].to_list(), abs=1e-6)


@pytest.mark.parametrize(
    ("straggler", "expected"),
    [
        ({"npus": [1, 2], "from": "1s"}, "stragglers.0 slowed nothing: it begins at 1 s, its NPUs end at "),
        ({"from": "1s"}, "stragglers.0 slowed nothing: it begins at 1 s, its NPUs end at "),
        ({"npus": 3}, None),
        ({"npus": 3, "until": "1ns"}, None),
    ],
)
def test_a_straggler_whose_time_never_comes_is_told(
    tmp_path: Path, straggler: dict[str, Any], expected: str | None
) -> None:
    result = played(tmp_path, {"stragglers": [{**straggler, "factor": 2}]})
    found = [words for words in result.metadata["warnings"] if "slowed nothing" in words]
    assert len(found) == (expected is not None)
    assert all(words.startswith(f"compute_slowdown: {expected}") for words in found)


@pytest.mark.parametrize(
    ("slowdown", "policy", "told"),
    [
        ({"stragglers": [{"npus": 2, "factor": 1.5}]}, "LIFO", True),
        ({"jitter": {"spread": 0.1}}, "LIFO", True),
        ({"stragglers": [{"npus": 2, "factor": 1.5}]}, "FIFO", False),
        ({"stragglers": [{"factor": 1.5}]}, "LIFO", False),
    ],
)
def test_lifo_is_warned_of_where_npus_issue_at_other_times(
    tmp_path: Path, slowdown: dict[str, Any], policy: str, told: bool
) -> None:
    result = played(tmp_path, slowdown, scheduling_policy=policy)
    assert any("scheduling-policy LIFO: fast NPUs" in words for words in result.metadata["warnings"]) == told


def test_lifo_is_not_warned_of_for_graphs_whose_collectives_begin_when_all_have_issued_them(tmp_path: Path) -> None:
    graphs = {
        "workload": str(INPUTS / "workload" / "chakra"),
        "network": small_network(npus=8),
        "backend": FakeBackend(8),
    }
    result = played(
        tmp_path, {"stragglers": [{"npus": 2, "factor": 1.5}]}, scheduling_policy="LIFO", passes=1, **graphs
    )
    assert not any("LIFO" in words for words in result.metadata["warnings"])


def test_a_straggler_that_never_computes_is_told() -> None:
    slowdown = ComputeSlowdown.model_validate({"stragglers": [{"npus": 1, "factor": 2}, {"factor": 2}]})
    npus = NpuRecord(0, 9, 5, 4, done=True), NpuRecord(1, 9, 0, 9, done=True)
    records = RunRecords(True, 9, npus, (), (), (), (), ())
    (words,) = slowdown_warnings(slowdown, records)
    assert words == "compute_slowdown: stragglers.0 slowed nothing: its NPUs compute nothing"


def test_jitter_gives_the_same_times_whichever_npu_is_reported(tmp_path: Path) -> None:
    keys = {"jitter": {"spread": 0.1}}
    first, other = played(tmp_path, keys), played(tmp_path, keys, report_npu=3)
    assert first.npus.equals(other.npus)
    assert first.npus["compute_us"].nunique() == 4
    assert not first.npus.equals(played(tmp_path, keys, seed=2).npus)
    assert first.npus.equals(played(tmp_path, {"jitter": {"spread": 0.1, "seed": 1}}, seed=2).npus)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_in_a_run_each_computation_loses_what_the_phases_beside_it_take(tmp_path: Path, share: float) -> None:
    options = {"record": ["timeline"]}
    usual = played(tmp_path, None, output=tmp_path / "usual", **options)
    slowed = played(tmp_path, {"communication": {"processors": share}}, output=tmp_path / "slowed", **options)
    planned_ps = computations(usual)
    lost = 0
    for (npu, number), (start_ps, end_ps) in computations(slowed).items():
        began, ended = planned_ps[npu, number]
        overlap_ps = overlap(slowed.phases[slowed.phases["npu"] == npu], start_ps, end_ps)
        missing = (end_ps - start_ps) - overlap_ps * Fraction(str(share)) - (ended - began)
        assert 0 <= missing < ROUNDING_PS
        lost += overlap_ps
    assert lost > 0


def computations(result: astra_ns3.Result) -> dict[tuple[int, int], tuple[int, int]]:
    """When each began and ended, by NPU and number."""
    rows = result.operations[result.operations["kind"] == "compute"]
    return {
        (int(str(npu)), number): (int(start), int(end))
        for npu, group in rows.groupby("npu")
        for number, (start, end) in enumerate(zip(group["start_ps"], group["end_ps"], strict=True))
    }


def overlap(phases: pd.DataFrame, start_ps: int, end_ps: int) -> int:
    """For how long at least one phase ran."""
    covered, until_ps = 0, start_ps
    for begin, end in sorted(zip(phases["start_ps"], phases["end_ps"], strict=True)):
        low, high = max(int(begin), until_ps), min(int(end), end_ps)
        if high > low:
            covered += high - low
            until_ps = high
    return covered


def test_computations_of_graphs_are_slowed_on_devices_and_not_on_hosts() -> None:
    graph = compute(1, 10), compute(2, 10, 1), compute(3, 10, on_host=True)
    keys = slowdown(stragglers=[{"factor": 2, "until": "30us"}])
    found = Played(graph, slowdown=keys).times
    assert found == {(0, 1): (0, 20), (0, 2): (20, 35), (0, 3): (0, 10)}


def test_a_collective_beside_a_computation_of_a_graph_takes_its_share_of_what_limits_that() -> None:
    # Two all-reduces of 2 us one after the other; 16 us of 16 million operations at 1 TFLOP/s, or of 16 MB at 1 TB/s.
    system = system_of(roofline_enabled=1, peak_perf=1, local_mem_bw=1000)
    keys = slowdown(communication={"processors": 0.5, "memory_bandwidth": 0.25})
    limited = {"processors": (16 * 10**6, 10**6), "memory": (10**6, 16 * 10**6)}
    ends_us = {}
    for name, (operations, moved) in limited.items():
        node = compute(1, 16)._replace(operations=operations, tensor_bytes=moved)
        graph = node, collective(2, 100), collective(3, 100, 2)
        ends_us[name] = Played(graph, graph, system=system, slowdown=keys).times[0, 1][1]
    assert ends_us == {"processors": 16 + 4 * 0.5, "memory": 16 + 4 * 0.25}
    # Where durations are played as they stand, nobody knows what limits them.
    assert Played(graph, graph, slowdown=keys).times[0, 1] == (0, 16 + 4 * 0.5)


def test_what_slowed_a_run_is_in_its_metadata(tmp_path: Path) -> None:
    keys = {"stragglers": [{"npus": ["1-2", 0], "factor": 2.5, "until": "1ms"}]}
    result = played(tmp_path, keys)
    expected = {"stragglers": [{"npus": [0, 1, 2], "factor": 2.5, "from": "0ps", "until": "1ms"}]}
    assert result.metadata["compute_slowdown"] == {**expected, "jitter": None, "communication": None}
    assert played(tmp_path, None).metadata["compute_slowdown"] is None


def test_a_file_is_read_with_ranges_of_npus() -> None:
    found = read_compute_slowdown(Path(__file__).parents[3] / "inputs" / "compute" / "slowdown.yaml")
    assert [each.npus for each in found.stragglers] == [(3,), (0, 1, 4)]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"stragglers": [{"npus": 4, "factor": 2}]},
            r"slowdown.yaml:\d+: key 'stragglers.0.npus': found NPU 4, expected one of 4",
        ),
        (
            {"stragglers": [{"npus": "3-1", "factor": 2}]},
            r"slowdown.yaml:\d: key 'stragglers.0.npus': found '3-1', expe",
        ),
        (
            {"stragglers": [{"npus": [], "factor": 2}]},
            r"key 'stragglers.0.npus': names no NPU; left out, it is all of them",
        ),
        ({"stragglers": [{"factor": 0}]}, r"key 'stragglers.0.factor': found 0, expected greater than"),
        ({"stragglers": [{"factor": 2, "from": "2ms", "until": "1ms"}]}, r"stragglers.0.until': is not after from"),
        ({"jitter": {"spread": 1}}, r"key 'jitter.spread': found 1, expected less than 1"),
        ({"jitter": {"spread": 0.5, "kind": "normal"}}, r"key 'jitter.kind': unknown key"),
        ({"communication": {"processors": 0}}, r"key 'communication.processors': is missing or 0, and so is memory"),
        ({"communication": {"processors": 1}}, r"key 'communication.processors': found 1, expected less than 1"),
        ({"stragglers": []}, r"key 'stragglers': is missing, and so are jitter and communication"),
        ({"straggler": []}, r"key 'straggler': unknown key; .*did you mean 'stragglers'?"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_its_key(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        played(tmp_path, keys)


def test_computations_of_a_plan_tell_what_of_them_memory_limits() -> None:
    limited = Operation("norm", OperationKind.ELEMENTWISE, flops=10, bytes=30)
    uneven = Uneven(Group.TENSOR, (replace(limited, bytes=50), replace(limited, bytes=5)))
    chunk = Block("one", (takes(100), limited, takes(20)), weight_gradient=(uneven,))
    plan = plan_of(Degrees(tensor=2), [[chunk]])
    programs = TrainingPrograms.of(plan, FlopClock(), 1, (2,))
    found = [each for each in programs.program(programs.roles[0]) if isinstance(each, Compute)]
    assert [(each.time_ps, each.memory_ps, each.times_ps) for each in found] == [(150, 30, None), (50, 50, (50, 10))]


passes_of_layers = st.builds(
    lambda compute_ns, kind, bytes: Pass(compute_ns, kind, bytes if kind else 0),
    st.integers(0, 5000),
    st.none() | st.sampled_from(TEXT_FORMAT_KINDS),
    st.integers(0, 5000),
)
layers = st.builds(Layer, st.just("layer"), passes_of_layers, passes_of_layers, passes_of_layers, st.integers(0, 3000))
workloads = st.builds(
    lambda loop, parts: Workload(loop, tuple(parts), 0),
    st.sampled_from(["MICRO", "DATA", "HYBRID_DLRM", "MODEL", "HYBRID_DATA_MODEL"]),
    st.lists(layers, min_size=2, max_size=4),
)


def records_of(workload: Workload, keys: ComputeSlowdown | None) -> RunRecords:
    driver = TrainingDriver(FakeBackend(4), small_system(), workload, 2, slowdown=keys)
    driver.run()
    return driver.records()


@given(workload=workloads, factor=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_a_factor_of_all_npus_is_that_of_the_workload(workload: Workload, factor: int) -> None:
    slowed = records_of(workload, slowdown(stragglers=[{"factor": factor}]))
    assert slowed == records_of(workload.scaled(1, factor), None)


@given(
    workload=workloads,
    share=st.sampled_from((0.0, 0.3)),
    spread=st.sampled_from((0.0, 0.1)),
    straggler=st.integers(0, 3),
)
@settings(max_examples=30, deadline=None)
def test_each_npu_computes_or_waits_until_it_is_done(
    workload: Workload, share: float, spread: float, straggler: int
) -> None:
    keys: dict[str, object] = {"stragglers": [{"npus": straggler, "factor": 1.7, "from": "1us", "until": "20us"}]}
    keys |= {"communication": {"processors": share}} if share else {}
    keys |= {"jitter": {"spread": spread}} if spread else {}
    slowed, usual = records_of(workload, slowdown(**keys)), records_of(workload, None)
    assert slowed.complete
    for npu in slowed.npus:
        assert npu.compute_ps + npu.exposed_ps == npu.finish_ps
    if not spread:
        assert all(now.compute_ps >= then.compute_ps for now, then in zip(slowed.npus, usual.npus, strict=True))
    assert [each.kind for each in slowed.collectives] == [each.kind for each in usual.collectives]


@pytest.mark.parametrize("name", ["groups", "remote_memory", "logical_topology"])
def test_what_is_no_path_is_refused_in_a_line(name: str) -> None:
    options: dict[str, Any] = {name: {"stragglers": []}}
    with pytest.raises(InputError, match=f"{name} is a dict, expected the path of a file"):
        astra_ns3.run(
            workload=INPUTS / "workload/micro-all-reduce.txt",
            system=INPUTS / "system/flat.yaml",
            network=INPUTS / "network/roce-16.yaml",
            **options,
        )


KEYS: Mapping[str, object] = {"stragglers": [{"npus": ["1-2"], "factor": 2.5}], "jitter": {"spread": 0.1}}


@pytest.mark.parametrize("given", [KEYS, ComputeSlowdown.model_validate(KEYS)], ids=["keys", "ComputeSlowdown"])
def test_slowdowns_may_be_given_without_a_file(tmp_path: Path, given: Any) -> None:
    from_file, from_keys = played(tmp_path, KEYS), played(tmp_path, None, compute_slowdown=given)
    assert from_keys.finish_ps == from_file.finish_ps > played(tmp_path, None).finish_ps
    assert from_keys.metadata["compute_slowdown"] == from_file.metadata["compute_slowdown"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"straggler": []}, "^compute_slowdown: key 'straggler': unknown key; .* did you mean 'stragglers'"),
        ({"jitter": {"spread": 2}}, r"^compute_slowdown: key 'jitter.spread': found 2, expected less than 1"),
        ({"stragglers": [{"npus": 99, "factor": 2}]}, "^compute_slowdown: key 'stragglers.0.npus': found NPU 99"),
        (3, "^compute_slowdown is a int, expected the path of a file, its keys or a ComputeSlowdown$"),
    ],
)
def test_what_is_wrong_in_given_keys_is_told_by_the_options_name(tmp_path: Path, given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        played(tmp_path, None, compute_slowdown=given)


@pytest.mark.parametrize(("begin", "told"), [("8ps", False), ("9ps", True)])
def test_a_straggler_that_begins_when_its_npus_end_is_told(begin: str, told: bool) -> None:
    slowdown = ComputeSlowdown.model_validate({"stragglers": [{"factor": 2, "from": begin}]})
    records = RunRecords(True, 9, (NpuRecord(0, 9, 5, 4, done=True),), (), (), (), (), ())
    assert bool(slowdown_warnings(slowdown, records)) == told


@pytest.mark.parametrize(
    ("stragglers", "least"),
    [
        ([{"npus": [0], "factor": 0.5}, {"npus": [1], "factor": 0.5}], [0.5, 0.5, 1, 1]),
        ([{"npus": [0, 1], "factor": 0.5}, {"npus": [1], "factor": 0.8}], [0.5, 0.4, 1, 1]),
        ([{"factor": 2.0}], [2, 2, 2, 2]),
        ([{"factor": 2.0}, {"npus": [3], "factor": 0.25}], [2, 2, 2, 0.5]),
        ([{"factor": 2.0, "until": "1ms"}], [1, 1, 1, 1]),  # later it is as fast as ever
        ([{"npus": [0], "factor": 3.0}], [3, 1, 1, 1]),
    ],
)
def test_no_npu_computes_faster_than_its_own_factors_say(stragglers: list[dict[str, Any]], least: list[float]) -> None:
    factors = slowdown_of({"stragglers": stragglers}).least_factors(4)
    assert [float(each) for each in factors] == pytest.approx(least)
    assert slowdown_of({"stragglers": stragglers, "jitter": {"spread": 0.1}}).least_factors(4) == [0] * 4
