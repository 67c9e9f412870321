"""Programs of roles that would wait for each other are refused; others run to their end, with one slot and any timing.

What is refused is worked out here by itself: as cycles of graphs whose nodes are the operations.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from random import Random
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from oracles.longest_path import longest_ps
from support.fake_backend import FakeBackend
from support.role_programs import Await, Step, collective, loop_of_steps, plain_workload, wait
from support.system_parts import system
from support.training import block, plan_of, programs_of
from support.training_driver import TrainingDriver

from astra_ns3.config.core.compatibility import OURS, PRESETS
from astra_ns3.config.training_plan import Degrees
from astra_ns3.errors import ProgramMismatch, ProgramsDeadlock, SimulationStalled
from astra_ns3.network.api import EndpointModel
from astra_ns3.network.records import Chain, Label
from astra_ns3.playing.dry_run import deadlock
from astra_ns3.playing.dry_run.deadlock import check_end, check_programs
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.loops import Loop
from astra_ns3.playing.loops.steps import Steps
from astra_ns3.playing.programs.operations import Compute, Program, Receive, Send, Wait
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.communicator import Communicator
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.workload.files.astra_sim import parse_workload

Plan = Mapping[str, tuple[Sequence[int], Sequence[Step]]]
ALL = Communicator(range(2), "all")
A, B = Communicator([0], "a"), Communicator([1], "b")
ROLES = {"a": (0, 1), "b": (2, 3), "c": (4,), "d": (5, 6, 7)}
"""Roles of the random programs; b has as many NPUs as a, so that they can send to each other."""


def _driver(
    programs: Plan, npus: int, seed: int = 0, *, reactive: bool = False, policy: str = "LIFO", **options: Any
) -> TrainingDriver:
    """Every message takes a random time."""
    choose = Random(seed).randrange
    network = FakeBackend(npus, message_ps=lambda bytes: 1 + choose(5_000_000), endpoint=EndpointModel(1000))
    config = system(
        "ring", scheduling_policy=policy, preferred_dataset_splits=2, active_chunks_per_dimension=1, **options
    )
    barrier = PRESETS["astra-sim-1.0"] if seed % 5 == 4 else OURS
    loop = loop_of_steps(programs, reactive=reactive)
    return TrainingDriver(network, config, plain_workload(), loop=loop, compatibility=barrier)


def test_a_computation_takes_one_time_on_all_npus_of_a_role_or_one_on_each() -> None:
    label = Label(0, "layer", "forward")
    assert _driver({"one": ([0, 1], [Compute(label, 5, (3, 5))])}, 2) is not None
    told = "role 'one' computes forward for 3 times, expected one for each of its 2 NPUs"
    with pytest.raises(ProgramMismatch, match=told):
        _driver({"one": ([0, 1], [Compute(label, 5, (3, 5, 4))])}, 2)


def test_issuing_two_communicators_in_orders_that_contradict_is_refused() -> None:
    """It would even run here, where collectives are started in one order; on GPUs it need not."""
    x, y = Communicator([0, 1], "x"), Communicator([0, 1], "y")
    one: list[Step] = [collective(x), collective(y), wait(0, 1)]
    other: list[Step] = [collective(y), collective(x), wait(0, 1)]
    with pytest.raises(ProgramsDeadlock) as error:
        _driver({"one": ([0], one), "other": ([1], other)}, 2)
    assert str(error.value) == (
        "the orders of collectives contradict each other: role 'other' issues collective number 0 of y of NPUs 0, 1 "
        "before collective number 0 of x of NPUs 0, 1; role 'one' issues collective number 0 of x of NPUs 0, 1 "
        "before collective number 0 of y of NPUs 0, 1"
    )
    _driver({"one": ([0], one), "other": ([1], other)}, 2, reactive=True).run()


def test_a_circle_of_waits_over_three_roles_is_shown() -> None:
    pairs = {name: Communicator(sorted(ranks), name) for name, ranks in (("x", (0, 1)), ("y", (1, 2)), ("z", (2, 0)))}
    programs: Plan = {
        role: ([rank], [collective(pairs[first]), wait(0), collective(pairs[second]), wait(2)])
        for rank, (role, first, second) in enumerate((("a", "x", "z"), ("b", "y", "x"), ("c", "z", "y")))
    }
    with pytest.raises(ProgramsDeadlock) as error:
        _driver(programs, 3)
    what = "ALLREDUCE of 1000 bytes for 'layer' in"
    assert str(error.value) == (
        f"the programs wait for each other: role 'a' waits for {what} x of NPUs 0, 1 from role 'b'; role 'b' waits for "
        f"{what} y of NPUs 1, 2 from role 'c'; role 'c' waits for {what} z of NPUs 0, 2 from role 'a'"
    )


def test_a_collective_between_roles_waits_for_each_of_them_and_holds_nobody_up() -> None:
    """With one slot and the latest first, NPU 0 would start the second, which NPU 1 issues when the first is done."""
    x, y = Communicator([0, 1], "x"), Communicator([0, 1], "y")
    eager: list[Step] = [collective(x), collective(y), wait(0, 1)]
    waits: list[Step] = [
        Compute(Label(0, 0, "forward"), 9_000_000),
        collective(x),
        wait(1),
        collective(y),
        wait(3),
    ]
    driver = _driver({"eager": ([0], eager), "waits": ([1], waits)}, 2)
    driver.run()
    first, second = driver.records().collectives
    assert first.end_ps is not None
    assert (first.start_ps, second.start_ps) == (0, 0)
    detail = driver.records().details[-1]
    assert (detail.name, detail.chunks) == ("layer", 4)
    # Two chunks of the first are held for 9 us, two of the second until the first is done.
    assert detail.creation_ps == 2 * 9_000_000 + 2 * first.end_ps


def test_a_chain_goes_over_roles_and_counts_of_uneven_computations_the_shortest() -> None:
    """Both NPUs of role a compute for 3 us at least; b, which is ready after 5 us, computes another 4 us after both."""
    a, b = Communicator([0, 1], "a"), Communicator([2, 3], "b")
    everybody = Communicator(range(4), "all")
    label = Label(0, 0, "forward")
    one: list[Step] = [Compute(label, 8_000_000, (8_000_000, 3_000_000)), Send(b, 100, "x"), collective(everybody)]
    other: list[Step] = [Compute(label, 5_000_000), Receive(a, 100, "x"), wait(1), Compute(label, 4_000_000)]
    driver = _driver({"a": ([0, 1], [*one, wait(2)]), "b": ([2, 3], [*other, collective(everybody), wait(4)])}, 4)
    assert driver.chain == Chain(9_000_000, 0, "the longest chain of computations, which ends on NPU {}")
    driver.run()
    assert driver.records().finish_ps > 8_000_000 + 4_000_000


def test_a_chain_waits_for_the_update_of_a_layer_and_counts_each_pass() -> None:
    """Layer a computes for 1 us forward and 3 us backward, in each of 5 passes; its update takes another 2 us."""
    rows = "a -1 1000 NONE 0 0 NONE 0 3000 ALLREDUCE 1000 2000"
    workload = parse_workload(f"DATA\n1\n{rows}\n", "small")
    driver = TrainingDriver(FakeBackend(4), system("ring"), workload, 5)
    assert driver.chain.time_ps == 5 * (4_000_000 + 2_000_000)
    driver.run()
    assert driver.records().finish_ps > 5 * (4_000_000 + 2_000_000)


def test_the_chain_of_very_many_passes_grows_by_the_slowest_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Played through and planned from few passes; never more than played through."""
    for seed in range(20):
        draw = Random(seed)
        times = [[draw.choice([100, 700, 5000]) for _ in range(3)] for _ in range(3)]
        stages = [[block(f"{stage}", own[0], own[1], own[2], 144)] for stage, own in enumerate(times)]
        plan = plan_of(Degrees(data=2, pipeline=3), stages, micro_batches=draw.randint(1, 4))
        programs = programs_of(plan, passes=40)
        whole = check_programs(programs)
        monkeypatch.setattr(deadlock, "_MOST_PASSES", 10)
        few = check_programs(programs)
        monkeypatch.undo()
        assert 40 * plan.micro_batches * max(map(sum, times)) <= few.time_ps <= whole.time_ps


@pytest.mark.parametrize("crossed", [False, True])
def test_programs_that_cannot_end_are_refused_however_many_passes_there_are(crossed: bool) -> None:
    """In each pass role a sends and b receives; crossed, both first wait for what the other sends at the end of it."""
    a, b = Communicator([0], "a"), Communicator([1], "b")

    def program(steps: Steps, role: Role) -> Program:
        for number in steps.passes:
            if crossed:
                peer = b if role.name == "a" else a
                got = yield Receive(peer, 8, f"late {role.name}")
                assert got is not None
                yield Wait(got)
                yield Send(peer, 8, f"late {peer.name}")
            elif role.name == "a":
                yield Send(b, 8, "x")
            elif number % 2 == 0:  # in every second pass alone
                yield Receive(a, 8, "x")

    loop = Loop(program, lambda workload, grid: {"a": [0], "b": [1]})
    with pytest.raises(ProgramsDeadlock if crossed else ProgramMismatch):
        check_end(Programs.of(plain_workload(), 10**12, (2,), loop=loop))


def test_the_chain_of_very_many_passes_of_roles_that_never_meet_is_what_the_slower_computes() -> None:
    def program(steps: Steps, role: Role) -> Program:
        for number in steps.passes:
            yield Compute(Label(number, 0, "forward"), 3_000_000 if role.name == "slower" else 2_000_000)

    loop = Loop(program, lambda workload, grid: {"slower": [0], "faster": [1]})
    for passes in (100, 101, 250):
        assert check_programs(Programs.of(plain_workload(), passes, (2,), loop=loop)).time_ps == passes * 3_000_000


def test_of_a_reactive_program_no_chain_is_known() -> None:
    assert _driver({"a": ([0], [Compute(Label(0, 0, "forward"), 5)])}, 1, reactive=True).chain.time_ps == 0


def test_without_that_rule_such_programs_would_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    from astra_ns3.system.issuing import CollectiveMaker

    monkeypatch.setattr(CollectiveMaker, "_roles_in", lambda maker, communicator: frozenset())
    with pytest.raises(SimulationStalled):
        test_a_collective_between_roles_waits_for_each_of_them_and_holds_nobody_up()


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([collective(ALL)], [], "role 'a' issues ALLREDUCE .* which role 'b' never does"),
        ([collective(ALL), wait(0)], [], "role 'a' waits for ALLREDUCE .* from role 'b', which comes to its end"),
        ([collective(ALL)], [collective(ALL, 7)], "role 'b' issues ALLREDUCE of 7 .* where role 'a' issues .* of 1000"),
        ([Send(B, 8, "x")], [], "role 'a' sends 8 bytes tagged 'x' to b of NPUs 1, which role 'b' never receives so"),
        ([], [Receive(A, 8, "x"), wait(0)], "role 'b' waits for the message 'x' from role 'a', which comes to its end"),
        ([collective(B)], [], "role 'a' issues ALLREDUCE .* in b of NPUs 1, of which it is no member"),
        ([Send(Communicator([7]), 8, "x")], [], "role 'a' sends 8 bytes .*: there are 2 NPUs"),
    ],
)
def test_what_one_role_does_and_the_other_does_not_is_told(a: list[Step], b: list[Step], message: str) -> None:
    with pytest.raises((ProgramMismatch, ProgramsDeadlock, Exception), match=message) as error:
        _driver({"a": ([0], a), "b": ([1], b)}, 2)
    assert error.value.exit_status == 2  # type: ignore[attr-defined]


def test_a_communicator_with_a_part_of_a_role_is_refused() -> None:
    with pytest.raises(ProgramMismatch, match="x of NPUs 0 has a part of role 'a' only, without NPU 1"):
        _driver({"a": ([0, 1], [collective(Communicator([0], "x")), wait(0)])}, 2)


def test_one_forward_one_backward_is_no_circle_though_each_stage_sends_before_it_receives() -> None:
    first: list[Step] = [Send(B, 8, "f0"), Send(B, 8, "f1"), Receive(B, 8, "b0"), wait(2), Receive(B, 8, "b1"), wait(4)]
    last: list[Step] = [Receive(A, 8, "f0"), wait(0), Send(A, 8, "b0"), Receive(A, 8, "f1"), wait(3), Send(A, 8, "b1")]
    _driver({"first": ([0], first), "last": ([1], last)}, 2).run()


# Random programs: a global list of things to do is dealt out to the roles in them, then disturbed: neighbours change
# places, and waits move. What is disturbed too much has a cycle.


def _members(names: Sequence[str]) -> tuple[int, ...]:
    return tuple(sorted(rank for name in names for rank in ROLES[name]))


@st.composite
def role_programs(draw: st.DrawFn) -> dict[str, list[Step]]:
    groups = draw(st.lists(st.sets(st.sampled_from(sorted(ROLES)), min_size=1), min_size=1, max_size=4))
    communicators = [Communicator(_members(sorted(names)), f"g{n}") for n, names in enumerate(groups)]
    programs: dict[str, list[Step]] = {name: [] for name in ROLES}
    for number in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 3)) == 0:
            source, target = draw(st.sampled_from([("a", "b"), ("b", "a")]))
            rendezvous = draw(st.booleans())
            ends = Communicator(ROLES[target]), Communicator(ROLES[source])
            programs[source].append(Send(ends[0], 100, number, rendezvous=rendezvous))
            programs[target].append(Receive(ends[1], 100, number, rendezvous=rendezvous))
        else:
            chosen = draw(st.integers(0, len(groups) - 1))
            for name in groups[chosen]:
                programs[name].append(collective(communicators[chosen], 100))
    return {name: _with_waits(draw, _swapped(draw, steps)) for name, steps in programs.items()}


def _swapped(draw: st.DrawFn, steps: list[Step]) -> list[Step]:
    steps = list(steps)
    for _ in range(draw(st.integers(0, 3))):
        if len(steps) > 1:
            place = draw(st.integers(0, len(steps) - 2))
            steps[place], steps[place + 1] = steps[place + 1], steps[place]
    return steps


def _with_waits(draw: st.DrawFn, steps: list[Step]) -> list[Step]:
    """A wait for each, at once or later."""
    found: list[Step] = []
    left: list[int] = []
    for step in steps:
        found.append(step)
        left.append(len(found) - 1)
        if draw(st.booleans()):
            if draw(st.booleans()):
                found.append(Compute(Label(0, 0, "forward"), draw(st.integers(1, 30_000_000))))
            several = draw(st.booleans())
            chosen = tuple(left) if several else (left[-1],)
            found.append(Await(chosen, any=several and draw(st.booleans())))
            left = [posted for posted in left if posted not in chosen]
    return [*found, Await(tuple(left))] if left else found


def _graphs(programs: Mapping[str, Sequence[Step]]) -> tuple[dict[Any, set[Any]], dict[Any, set[Any]]]:
    """Return the graph of operations, and that of the order of the collectives that roles share."""
    before: dict[Any, set[Any]] = defaultdict(set)
    order: dict[Any, set[Any]] = defaultdict(set)
    for name, steps in programs.items():
        counts: Counter[Any] = Counter()
        done: dict[int, Any] = {}
        last: Any = None
        for number, step in enumerate(steps):
            here = name, number
            before[here] = {(name, number - 1)} if number else set()
            if isinstance(step, CollectiveRequest):
                who = step.communicator
                done[number] = what = ("done", who, counts[who])
                counts[who] += 1
                before[what].add(here)
                order[what] |= {last} if last is not None else set()
                last = what
            elif isinstance(step, Send):
                done[number] = ("sent", step.tag)
                before["sent", step.tag] |= {here, ("inviting", step.tag)} if step.rendezvous else {here}
                before["received", step.tag].add(here)
            elif isinstance(step, Receive):
                done[number] = ("received", step.tag)
                before["received", step.tag].add(here)
                if step.rendezvous:
                    before["inviting", step.tag].add(here)
            elif isinstance(step, Await):
                before[here] |= {done[posted] for posted in step.steps}
    return before, order


def _has_cycle(programs: Mapping[str, Sequence[Step]]) -> bool:
    """Of the graph of operations, or of the order of the collectives that roles share."""
    return not all(map(_sorts, _graphs(programs)))


def _least_ps(programs: Mapping[str, Sequence[Step]]) -> int:
    """The longest path through the graph of operations, where messages and collectives take no time.

    What is sent is done when it is sent, by rendezvous, too: the sender needn't wait by the rules of others.
    """
    before, _ = _graphs(programs)
    took_ps: dict[Any, int] = {}
    one_of: dict[Any, set[Any]] = {}
    for name, steps in programs.items():
        for number, step in enumerate(steps):
            here, previous = (name, number), {(name, number - 1)} & before.keys()
            if isinstance(step, Compute):
                took_ps[here] = step.time_ps
            elif isinstance(step, Send):
                before["sent", step.tag] = {here}
            elif isinstance(step, Await) and step.any:
                one_of[here] = before[here] - previous
                before[here] = previous
    return longest_ps(before, took_ps, one_of)


def _sorts(graph: Mapping[Any, set[Any]]) -> bool:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return False
    return True


@settings(max_examples=150, deadline=None)
@given(programs=role_programs(), policy=st.sampled_from(["LIFO", "FIFO"]), seed=st.integers(0, 10_000))
def test_random_programs_with_a_cycle_are_refused_and_all_others_run_to_their_end_with_one_slot(
    programs: dict[str, list[Step]], policy: str, seed: int
) -> None:
    plan = {name: (ROLES[name], steps) for name, steps in programs.items()}
    if _has_cycle(programs):
        event("cycle")
        with pytest.raises(ProgramsDeadlock, match=r"wait for each other|contradict each other"):
            _driver(plan, 8, seed, policy=policy)
        return
    event("no cycle")
    driver = _driver(plan, 8, seed, policy=policy)
    driver.run()
    records = driver.records()
    assert records.complete
    for npu in records.npus:
        assert npu.compute_ps + npu.exposed_ps == npu.finish_ps
    driver.check_finished()
    assert driver.chain.time_ps == _least_ps(programs) <= records.finish_ps


def _first_come(peers: Sequence[int]) -> Plan:
    """NPU 0 serves requests in the order in which they come; each is followed by an all-reduce of the two."""
    pairs = {peer: Communicator([0, peer], f"with {peer}") for peer in peers}
    programs: dict[str, tuple[Sequence[int], Sequence[Step]]] = {}
    for peer in peers:
        steps: list[Step] = [
            Compute(Label(0, 0, "forward"), 30_000_000 // peer),
            Send(Communicator([0]), 64, "request"),
            collective(pairs[peer], 512, key=f"answer to {peer}"),
            wait(1, 2),
        ]
        programs[f"client {peer}"] = [peer], steps
    return programs


def test_a_reactive_program_serves_what_comes_first() -> None:
    """The small example of a reactive loop: what NPU 0 issues next depends on whose request it has."""
    from astra_ns3.playing.loops.loops import Loop
    from astra_ns3.playing.programs.operations import Wait, WaitAny
    from astra_ns3.system.request import Handle

    peers = (1, 2, 3)
    clients = loop_of_steps(_first_come(peers))
    served: list[int] = []

    def program(steps: Steps, role: Role) -> Program:
        if role.name != "server":
            yield from clients.program(steps, role)
            return
        requests: dict[int, Handle] = {}
        for peer in peers:
            handle = yield Receive(Communicator([peer]), 64, "request")
            assert handle is not None
            requests[peer] = handle
        answers = []
        while requests:
            yield WaitAny(tuple(requests.values()))
            peer = next(peer for peer, handle in requests.items() if handle.done)
            del requests[peer]
            served.append(peer)
            label = Label(0, f"client {peer}", "answer")
            pair, key = Communicator([0, peer], f"with {peer}"), f"answer to {peer}"
            request = collective(pair, 512, key=key)
            answers.append((yield CollectiveRequest(request.kind, 512, label, communicator=pair, key=key)))
        for answer in answers:
            yield Wait(answer)  # type: ignore[arg-type]

    loop = Loop(program, lambda workload, grid: {"server": [0], **{f"client {p}": [p] for p in peers}}, reactive=True)
    network = FakeBackend(4, endpoint=EndpointModel(1000))
    driver = TrainingDriver(network, system(active_chunks_per_dimension=1), plain_workload(), loop=loop)
    driver.run()
    assert driver.records().complete
    served_in_the_run = served[-len(peers) :]
    assert served_in_the_run == [3, 2, 1]


def test_a_reactive_program_that_stalls_shows_who_waits_for_whom() -> None:
    x, y = Communicator([0, 1], "x"), Communicator([0, 1], "y")
    driver = _driver(
        {
            "a": ([0], [collective(x, key=1), wait(0), collective(y, key=2), wait(2)]),
            "b": ([1], [collective(y, key=2), wait(0), collective(x, key=1), wait(2)]),
            "c": ([2], [Receive(Communicator([0]), 8, "x"), wait(0)]),
        },
        3,
        reactive=True,
    )
    with pytest.raises(SimulationStalled) as error:
        driver.run()
    what = "layer 'layer' (forward of pass 0), collective {} (ALLREDUCE, 1000 bytes)"
    assert str(error.value) == (
        "nothing is left to happen at 1 ns but 3 of 3 NPUs aren't done: "
        f"NPU 0 waits for {what.format(0)}, which NPU 1 has not issued; "
        f"NPU 1 waits for {what.format(1)}, which NPU 0 has not issued"
    )


def test_a_stall_for_want_of_a_message_names_the_npu_that_never_sent_it() -> None:
    driver = _driver({"a": ([0], []), "b": ([1], [Receive(A, 8, "x"), wait(0)])}, 2, reactive=True)
    with pytest.raises(SimulationStalled, match=r"message 'x' from NPU 0 to NPU 1 \(8 bytes\), which NPU 0 has not "):
        driver.run()
