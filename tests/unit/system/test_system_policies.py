"""Policies as functions: priorities, who stands where in line, in which order a chunk takes the dimensions."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.small_run import small_system
from support.system_parts import request, task

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import OURS, PRESETS, preset
from astra_ns3.errors import InputError
from astra_ns3.system.groups import Grid
from astra_ns3.system.inter_dimension import INTER_DIMENSION, route_policy
from astra_ns3.system.intra_dimension import INTRA_DIMENSION, join_rule
from astra_ns3.system.own_policies import find_policy
from astra_ns3.system.policies import POLICIES
from astra_ns3.system.route import ChunkToRoute, Route
from astra_ns3.system.task import Task

AR, RS, AG = CollectiveKind.ALL_REDUCE, CollectiveKind.REDUCE_SCATTER, CollectiveKind.ALL_GATHER
A2A = CollectiveKind.ALL_TO_ALL
EQUAL = Grid((8, 8, 8), (25.0, 25.0, 25.0))
MIB = 1 << 20


def test_files_may_name_every_policy_there_is() -> None:
    registries = {
        "scheduling-policy": [name for name in POLICIES if name != "HIGHEST"],
        "intra-dimension-scheduling": [*INTRA_DIMENSION],
        "inter-dimension-scheduling": [*INTER_DIMENSION],
    }
    for key, names in registries.items():
        for name in names:
            assert small_system(**{key: name}).document()[key] == name
        with pytest.raises(InputError, match=f"key '{key}': found 'HIGHES', allowed: {', '.join(names)}"):
            small_system(**{key: "HIGHES"})
        for wrong in (["LIFO"], {"LIFO": 1}, 5, None):
            with pytest.raises(InputError, match=f"key '{key}': found .*allowed: {', '.join(names)}"):
                small_system(**{key: wrong})


def test_lifo_counts_up_fifo_down_on_one_counter_and_highest_leaves_it_alone() -> None:
    counter, priorities = 0, []
    for policy in ("LIFO", "LIFO", "FIFO", "HIGHEST", "FIFO", "LIFO"):
        priority, counter = POLICIES[policy](counter, request())
        priorities.append(priority)
    assert priorities == [0, 1, 2, 100_000_000, 1, 0]


def test_explicit_keeps_the_order_of_arrival_behind_what_has_a_priority_of_its_own() -> None:
    """ASTRA-sim 2's third policy; a graph's priorities count from half of the highest."""
    counter, priorities = 0, []
    for policy in ("EXPLICIT", "LIFO", "EXPLICIT"):
        priority, counter = POLICIES[policy](counter, request())
        priorities.append(priority)
    assert priorities == [0, 0, 0]
    assert counter == 1
    given = [task(1, 50_000_001), task(2, 0), task(3, 0), task(4, 50_000_002)]
    assert _line("FIFO", *given) == [4, 1, 2, 3]


def _line(name: str, *newcomers: Task, running: tuple[Task, ...] = ()) -> list[int]:
    """Who stands in line after they have come one by one."""
    line: list[Task] = []
    for newcomer in newcomers:
        line.insert(join_rule(name)(running, line, newcomer), newcomer)
    return [waiting.instance for waiting in line]


def test_smallest_first_puts_the_newer_of_equals_first_and_the_last_but_one_phase_at_the_end() -> None:
    tasks = [task(1, 0, RS, 500, 3), task(2, 0, RS, 200, 3), task(3, 0, AG, 500, 2), task(4, 9, AG, 100, 1)]
    for name in ("SCF", "smallestFirst"):
        assert _line(name, *tasks) == [2, 3, 1, 4]


def test_fewest_phases_first_puts_the_newer_of_equals_first() -> None:
    tasks = [task(1, 0, RS, 1, 3), task(2, 0, AG, 9, 0), task(3, 0, AG, 9, 3), task(4, 0, RS, 5, 1)]
    assert _line("lessRemainingPhaseFirst", *tasks) == [2, 4, 3, 1]


def test_rg_lets_reduce_scatters_and_all_gathers_take_turns() -> None:
    # worked by hand from the rule: 3 passes the pair 1, 2; then 4 stands where the turns end, behind 2. With nothing
    # running, 1 passes 5 for its priority, and 2 goes before 1, since 5 and 1 don't alternate
    tasks = [task(1, 0, RS), task(2, 0, AG), task(3, 0, AG), task(4, 0, RS)]
    running = (task(0, 0, AG),)
    assert _line("RG", *tasks[:2], running=running) == [1, 2]
    assert _line("RG", *tasks[:3], running=running) == [1, 2, 3]
    assert _line("RG", *tasks, running=running) == [1, 2, 4, 3]
    assert _line("RG", task(5, 1, RS), *tasks[:2], running=()) == [5, 2, 1]


@pytest.mark.parametrize("name", ["RG", "SCF", "lessRemainingPhaseFirst"])
def test_all_reduces_join_by_priority_whatever_the_policy(name: str) -> None:
    tasks = [task(1, 0, AR, 9, 0), task(2, 1, AR, 99, 1), task(3, 0, AR, 1, 2), task(4, 1, A2A, 1, 0)]
    assert _line(name, *tasks) == [2, 4, 1, 3]


def _chunk(
    kind: CollectiveKind = AR,
    dimensions: tuple[int, ...] = (0, 1, 2),
    bytes: int = MIB,
    left: int = 4 * MIB,
    time_ps: int = 0,
) -> ChunkToRoute:
    return ChunkToRoute(kind, dimensions, bytes, MIB, left, time_ps)


@pytest.mark.parametrize("name", ["ascending", "baseline"])
def test_plain_order_is_ascending_and_descending_for_all_gathers(name: str) -> None:
    policy = route_policy(name, EQUAL, OURS)
    assert policy(_chunk(AR)) == Route((0, 1, 2), MIB)
    assert policy(_chunk(AG, (0, 2))) == Route((2, 0), MIB)


def test_round_robin_starts_each_chunk_at_the_next_dimension_of_the_grid() -> None:
    policy = route_policy("roundRobin", EQUAL, OURS)
    orders = [policy(_chunk(kind, dimensions)).dimensions for kind, dimensions in
              ((AR, (0, 1, 2)), (AR, (0, 2)), (A2A, (0, 1, 2)), (AG, (0, 1, 2)), (AG, (0, 1, 2)))]  # fmt: skip
    assert orders == [(0, 1, 2), (2, 0), (2, 0, 1), (2, 1, 0), (1, 0, 2)]


def test_themis_begins_with_the_least_loaded_dimension() -> None:
    # Of 1 MiB on three dimensions of 8, 0 carries 7/8 MiB, 1 an eighth of that, 2 a 64th: so 2, 1, 0 comes next, and
    # loads are 7/8 * (1 + 1/64, 1/8 + 1/8, 1/64 + 1): 1 is the least, and 0, first in the line before, stands before 2.
    policy = route_policy("themis", EQUAL, OURS)
    orders = [policy(_chunk()).dimensions for _ in range(3)]
    assert orders == [(0, 1, 2), (2, 1, 0), (1, 2, 0)]


def test_themis_books_the_growing_data_of_all_gathers() -> None:
    # MiB sent on (0, 1, 2): the first chunk goes down and leaves (448, 56, 7). The second begins where most was sent,
    # with the least data, and adds (7, 56, 448). At (455, 112, 455), 1 is last, and 2 was behind 0 in the line before.
    policy = route_policy("themis", EQUAL, OURS)
    assert [policy(_chunk(AG)).dimensions for _ in range(3)] == [(2, 1, 0), (0, 1, 2), (2, 0, 1)]


def test_themis_weighs_a_load_by_the_bandwidth() -> None:
    # Dimension 0 is 1000 times as fast: after the first chunk it is still the least loaded one.
    policy = route_policy("themis", Grid((8, 8, 8), (25_000.0, 25.0, 25.0)), OURS)
    assert [policy(_chunk()).dimensions for _ in range(2)] == [(0, 1, 2), (0, 2, 1)]


def test_themis_forgets_loads_at_a_new_time_and_leaves_all_to_alls_alone() -> None:
    policy = route_policy("offlineGreedy", EQUAL, OURS)
    assert policy(_chunk()) == Route((0, 1, 2), MIB, mirrored=True)
    assert policy(_chunk(A2A)) == Route((0, 1, 2), MIB)
    assert policy(_chunk(time_ps=1)) == Route((0, 1, 2), MIB, mirrored=True)


def test_flexible_themis_cuts_a_chunk_that_evens_out_the_loads() -> None:
    # After the first chunk the most loaded dimension is 7/8 * (1 - 1/64) MiB ahead of the least loaded one, which
    # sends 7/8 of a chunk: one of 63/64 MiB would do, less than the usual one. After the second it is taken again.
    policy = route_policy("themisFlex", EQUAL, OURS)
    assert [policy(_chunk()) for _ in range(2)] == [Route((0, 1, 2), MIB, mirrored=True)] * 2
    third = policy(_chunk())
    assert third == Route((2, 1, 0), 2 * MIB * 63 // 64, mirrored=True)
    assert policy(_chunk(left=5)).bytes <= 5


def test_flexible_themis_counts_a_smaller_chunk_with_its_own_bytes() -> None:
    # Half a chunk and one: of the loads that two have, three quarters.
    policy = route_policy("themisFlex", EQUAL, OURS)
    plain = [policy(_chunk(bytes=size)) for size in (MIB // 2, MIB)]
    assert plain == [Route((0, 1, 2), MIB // 2, mirrored=True), Route((0, 1, 2), MIB, mirrored=True)]
    assert policy(_chunk()) == Route((2, 1, 0), 3 * MIB // 2 * 63 // 64, mirrored=True)


def test_flexible_themis_counts_how_an_all_gather_grows_on_unlike_dimensions() -> None:
    # 4 MiB go down dimensions of 8, 4 and 2 and leave 28, 4 x 8 x 3 = 96 and 128 MiB. A chunk that goes up is 2 x 4
    # times as large on dimension 2, where its rank sends it to 7 others: 100 MiB more need 100 / 7 / 8.
    policy = route_policy("themisFlex", Grid((2, 4, 8), (1.0, 1.0, 1.0)), OURS)
    assert policy(_chunk(AG, bytes=4 * MIB)).dimensions == (2, 1, 0)
    assert policy(_chunk(AG)) == Route((0, 1, 2), 100 * MIB // 7 // 4 // 2, mirrored=True)


def test_an_all_gather_without_loads_runs_down_or_in_the_preset_up() -> None:
    assert route_policy("themis", EQUAL, OURS)(_chunk(AG)).dimensions == (2, 1, 0)
    assert route_policy("themis", EQUAL, PRESETS["astra-sim-1.0"])(_chunk(AG)).dimensions == (0, 1, 2)


def test_themis_needs_bandwidths_where_there_is_a_choice() -> None:
    with pytest.raises(InputError, match="themis needs the bandwidth of each dimension"):
        route_policy("themis", Grid((2, 2)), OURS)
    assert route_policy("themis", Grid((1, 4)), OURS)(_chunk(AR, (1,))).dimensions == (1,)
    with pytest.raises(InputError, match="2 bandwidths are given for 3 dimensions"):
        Grid((2, 2, 2), (1.0, 1.0))


def test_a_preset_has_a_name() -> None:
    assert preset("none") == OURS
    assert preset("astra-sim-1.0").phase_barrier
    with pytest.raises(InputError, match=r"compat 'astra-sim-3' is not one of .*did you mean 'astra-sim-2'\?"):
        preset("astra-sim-3")


OWN = """\
from dataclasses import dataclass

@dataclass
class Unused:
    one: "int"

def newest_first(running, waiting, newcomer):
    return 0

def nowhere(running, waiting, newcomer):
    return len(waiting) + 1

def downwards(chunk):
    return chunk.dimensions[::-1]

def one_only(chunk):
    return chunk.dimensions[:1]

def broken(*arguments):
    raise ValueError("two\\nlines")
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own_policies.py").write_text(OWN, encoding="utf-8")
    return str(tmp_path / "own_policies.py")


def test_a_policy_in_a_file_of_the_users(own: str) -> None:
    assert _line(f"{own}:newest_first", task(1, 5), task(2, 0), task(3, 9)) == [3, 2, 1]
    for name in (f"{own}:downwards", f"file:{own}:downwards"):
        assert route_policy(name, EQUAL, OURS)(_chunk()) == Route((2, 1, 0), MIB)


def test_what_is_wrong_with_a_users_policy_is_told(own: str) -> None:
    with pytest.raises(InputError, match=r"nowhere' gave 1, expected a place in the line: 0 to 0"):
        _line(f"{own}:nowhere", task(1))
    with pytest.raises(InputError, match=r"one_only' gave \(0,\), expected the dimensions \(0, 1, 2\) in some order"):
        route_policy(f"{own}:one_only", EQUAL, OURS)(_chunk())
    with pytest.raises(InputError, match=r"own_policies\.py:20: broken failed: ValueError: two$"):
        route_policy(f"{own}:broken", EQUAL, OURS)(_chunk())
    with pytest.raises(InputError, match=r"own_policies\.py: the policy file must define a function missing"):
        find_policy(f"{own}:missing", POLICIES)
    with pytest.raises(InputError, match="no such policy file"):
        find_policy("nowhere.py:policy", POLICIES)
    with pytest.raises(InputError, match=r"policy 'LIFA' is not one of LIFO, .*did you mean 'LIFO'\?"):
        find_policy("LIFA", POLICIES)


def test_a_file_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import nothing_of_that_name", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.py:1: the policy file failed: ModuleNotFoundError"):
        find_policy(f"{tmp_path / 'bad.py'}:policy", POLICIES)


@pytest.mark.parametrize(("usual_mib", "dimensions"), [(12, (2, 1, 0)), (17, (0, 1, 2))])
def test_themis_heeds_a_difference_of_a_sixteenth_of_a_chunk(usual_mib: int, dimensions: tuple[int, ...]) -> None:
    # One MiB on the plain order leaves a difference that 63/64 MiB would level: between 1/16 and 1/8 of 12 MiB, and
    # below 1/16 of 17 MiB.
    policy = route_policy("themis", EQUAL, OURS)
    policy(_chunk())
    usual = usual_mib * MIB
    assert policy(ChunkToRoute(AR, (0, 1, 2), usual, usual, usual, 0)).dimensions == dimensions


def test_the_samples_are_a_policy_of_each_kind(repository: Path) -> None:
    samples = repository / "inputs" / "extending" / "policies.py"
    assert find_policy(f"{samples}:largest_first", POLICIES)(7, request()) == (request().bytes, 7)
    assert _line(f"{samples}:newest_first", task(1, 5), task(2, 0), task(3, 9)) == [3, 2, 1]
    assert route_policy(f"{samples}:outermost_first", EQUAL, OURS)(_chunk()) == Route((2, 1, 0), MIB)
