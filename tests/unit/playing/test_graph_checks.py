"""Graphs that can't be played, or not as they stand: what is said of them before anything runs."""

from __future__ import annotations

import pytest
from support.graphs.made_graphs import Graphs

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.graph_workload import GraphNode, NodeKind
from astra_ns3.errors import InputError, ProgramMismatch, ProgramsDeadlock
from astra_ns3.workload.graphs.checking import check_graphs


def compute(number: int, *parents: int) -> GraphNode:
    return GraphNode(number, f"n{number}", NodeKind.COMPUTE, parents)


def collective(
    number: int,
    bytes_: int = 8,
    kind: CollectiveKind = CollectiveKind.ALL_REDUCE,
    group: str = "",
    dimensions: tuple[bool, ...] | None = None,
) -> GraphNode:
    return GraphNode(
        number,
        f"n{number}",
        NodeKind.COLLECTIVE,
        collective=kind,
        bytes=bytes_,
        group=group,
        dimensions=dimensions,
    )


def send(number: int, peer: int, tag: int = 0, bytes_: int | None = 8) -> GraphNode:
    return GraphNode(number, f"n{number}", NodeKind.SEND, bytes=bytes_, peer=peer, tag=tag)


def receive(number: int, peer: int, tag: int = 0, bytes_: int | None = 8) -> GraphNode:
    return GraphNode(number, f"n{number}", NodeKind.RECEIVE, bytes=bytes_, peer=peer, tag=tag)


def problem(
    kind: type[InputError], ranks: list[list[GraphNode]], groups: dict[str, tuple[int, ...]] | None = None
) -> str:
    with pytest.raises(kind) as caught:
        check_graphs(Graphs(ranks, groups or {}))
    return str(caught.value)


def test_sound_graphs_are_sound_in_whatever_order_they_are_written() -> None:
    first = [
        compute(3, 1, 2),
        compute(2, 1),
        compute(1),
        collective(4),
        collective(5, 16),
        send(6, 1),
        receive(7, 1, 3),
    ]
    second = [collective(9, 16), collective(8), receive(2, 0), send(1, 0, 3)]
    assert check_graphs(Graphs([first, second])) == ()


def test_a_circle_is_named_with_its_nodes() -> None:
    ranks = [[compute(1), compute(2, 1, 4), compute(3, 2), compute(4, 3), compute(5, 4)], [compute(1, 1)]]
    assert problem(ProgramsDeadlock, ranks) == (
        "file 0: node 2 'n2' waits for node 4 'n4' waits for node 3 'n3' waits for node 2: 4 of 5 nodes would never "
        "run (and 1 more file with circles)"
    )


def test_a_long_circle_is_cut_short() -> None:
    ranks = [[compute(number, (number + 1) % 50) for number in range(50)]]
    message = problem(ProgramsDeadlock, ranks)
    assert "waits for node 5 'n5', and so on over 50 nodes, waits for node 0: 50 of 50" in message
    six = problem(ProgramsDeadlock, [[compute(number, (number + 1) % 6) for number in range(6)]])
    assert "waits for node 5 'n5' waits for node 0: 6 of 6" in six


def test_a_number_that_stands_there_twice_is_named() -> None:
    message = problem(InputError, [[compute(1), compute(1), compute(1)]])
    assert message == "file 0: node 1 'n1': another node of this file has the same number (and 1 more such node)"


def test_missing_parents_are_one_warning() -> None:
    (warning,) = check_graphs(Graphs([[compute(1, 99), compute(2, 99, 98)], [compute(1, 7)]]))
    assert warning == (
        "file 0: node 1 waits for node 99, which isn't in the file and counts as done "
        "(and 2 more such parents, in 2 files)"
    )


def test_files_without_nodes_are_one_warning() -> None:
    (warning,) = check_graphs(Graphs([[compute(1)], [], []]))
    assert warning == "file 1: 2 files have no nodes, so their NPUs do nothing"


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ([collective(1), collective(2, 17)], "is all_reduce of 16 bytes, but file 1 has all_reduce of 17 bytes there"),
        ([collective(1), collective(2, 16, CollectiveKind.ALL_GATHER)], "but file 1 has all_gather of 16 bytes there"),
        (
            [collective(1), collective(2, 16, dimensions=(True, False))],
            "all_reduce of 16 bytes over dimensions 0 there",
        ),
    ],
)
def test_the_first_collective_that_differs_is_named_on_both_sides(other: list[GraphNode], words: str) -> None:
    message = problem(ProgramMismatch, [[collective(7), collective(8, 16)], other, other])
    assert message.startswith("file 0: node 8 'n8': collective 2 of all NPUs is all_reduce of 16 bytes")
    assert words in message
    assert "(node 2 'n2') (and 1 more NPU that differs " in message


def test_a_member_with_fewer_collectives_is_named() -> None:
    message = problem(ProgramMismatch, [[collective(7), collective(8)], [collective(7)]])
    assert message == "file 0: node 8 'n8': is collective 2 of all NPUs, but file 1 has only 1"


def test_a_member_with_none_of_a_communicators_collectives_is_named() -> None:
    message = problem(ProgramMismatch, [[collective(7, group="1")], [], [], []], {"1": (0, 2, 3)})
    assert message == (
        "file 0: node 7 'n7': is a collective of communicator '1', but file 2 has none of it (and 1 more of its "
        "members)"
    )


def test_over_all_dimensions_is_the_same_as_over_none_in_particular() -> None:
    assert check_graphs(Graphs([[collective(1, dimensions=(True, True))], [collective(1)]])) == ()


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ((True,), (True, True), "is all_reduce of 8 bytes over dimensions 0, but file 1 has all_reduce of 8 bytes th"),
        ((), None, "is all_reduce of 8 bytes over dimensions none, but file 1 has all_reduce of 8 bytes there"),
    ],
)
def test_a_list_shorter_than_the_networks_dimensions_is_not_all_of_them(
    one: tuple[bool, ...], other: tuple[bool, ...] | None, words: str
) -> None:
    graphs = Graphs([[collective(1, dimensions=one)], [collective(1, dimensions=other)]])
    with pytest.raises(ProgramMismatch) as caught:
        check_graphs(graphs, dimensions=2)
    assert words in str(caught.value)


def test_what_a_list_says_beyond_the_networks_dimensions_counts_for_nothing() -> None:
    ranks = [[collective(1, dimensions=(True, False, True))], [collective(1, dimensions=(True, False))]]
    assert check_graphs(Graphs(ranks), dimensions=2) == ()
    assert "over dimensions 0, 2, but" in problem(ProgramMismatch, ranks)


def test_lists_that_do_not_fit_the_networks_dimensions_are_warnings() -> None:
    nowhere = [collective(1, dimensions=(False, False, True)), collective(2, dimensions=())]
    short = [collective(3, dimensions=(True,)), collective(4)]
    graphs = Graphs([[*nowhere, *short], [*nowhere, *short]])
    assert check_graphs(graphs) == ()
    assert check_graphs(graphs, dimensions=2) == (
        "file 0: node 1 'n1': 4 collectives leave out all 2 dimensions (involved_dim), so nothing is sent",
        "file 0: node 3 'n3': 2 collectives name fewer dimensions than the network's 2 (involved_dim); those not "
        "named are left out",
    )
    assert check_graphs(Graphs([[nowhere[0]], [nowhere[0]]]), dimensions=1) == (
        "file 0: node 1 'n1': 2 collectives leave out the network's one dimension (involved_dim), so nothing is sent",
    )


def test_lists_of_dimensions_of_a_communicator_do_not_count() -> None:
    ranks = [[collective(1, group="1", dimensions=(True, False))], [collective(1, group="1", dimensions=(False,))]]
    assert check_graphs(Graphs(ranks, {"1": (0, 1)}), dimensions=2) == ()


def test_a_communicator_of_one_is_sound() -> None:
    ranks = [[collective(1, group="1")], [collective(5, 99, group="2")]]
    assert check_graphs(Graphs(ranks, {"1": (0,), "2": (1,)})) == ()


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({}, "is in communicator 'tp', but no file of communicators was given"),
        ({"tp1": (0, 1)}, "communicator 'tp' is not one of tp1; did you mean 'tp1'?"),
        ({"tp": (1, 2)}, "is in communicator 'tp', whose members are 1, 2, not NPU 0"),
        ({"tp": (0, 1, 9)}, "communicator 'tp' has member 9, but there are only 2 NPUs, 0 to 1"),
    ],
)
def test_a_communicator_that_does_not_fit_is_named(groups: dict[str, tuple[int, ...]], words: str) -> None:
    assert words in problem(InputError, [[collective(1, group="tp")], [collective(1, group="tp")]], groups)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (
            [[send(1, 1), send(2, 1, tag=5)], [receive(1, 0)]],
            "file 0: node 2 'n2': sends NPU 1 a message with tag 5 that file 1 never receives",
        ),
        (
            [[receive(1, 1), receive(2, 1)], []],
            "file 0: node 1 'n1': waits for NPU 1 to send a message with tag 0 that file 1 never sends "
            "(and 1 more message with one end)",
        ),
        (
            [[send(1, 1, bytes_=4), send(2, 1, bytes_=5)], [receive(1, 0, bytes_=5), receive(2, 0, bytes_=6)]],
            "file 0: node 1 'n1': sends NPU 1 4 bytes with tag 0, but file 1 receives 6 (node 2 'n2')",
        ),
    ],
)
def test_messages_with_one_end_or_two_sizes_are_named(ranks: list[list[GraphNode]], message: str) -> None:
    assert problem(ProgramMismatch, ranks) == message


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (send(1, 4), "file 0: node 1 'n1': sends to NPU 4, but there are only 2 NPUs, 0 to 1"),
        (receive(1, 4), "file 0: node 1 'n1': receives from NPU 4, but there are only 2 NPUs, 0 to 1"),
        (send(1, 1, bytes_=None), "file 0: node 1 'n1': is sent without a size"),
    ],
)
def test_messages_to_nobody_or_of_no_size_are_named(node: GraphNode, message: str) -> None:
    assert problem(InputError, [[node], []]) == message


def test_a_rank_that_stands_alone_is_told_where_the_others_may_be() -> None:
    assert problem(InputError, [[send(1, 1)]]) == (
        "file 0: node 1 'n1': sends to NPU 1, "
        "but there is only NPU 0: name the files' folder or prefix, if it is one rank of several"
    )


@pytest.mark.parametrize(("sent", "awaited"), [(-1, -2), (0, 2**61 - 1), (5, 2**61 + 4)])
def test_tags_and_sizes_that_python_hashes_alike_are_told_apart(sent: int, awaited: int) -> None:
    message = problem(ProgramMismatch, [[send(1, 1, tag=sent)], [receive(1, 0, tag=awaited)]])
    assert f"a message with tag {sent} that file 1 never receives" in message
    if sent >= 0:
        ranks = [[send(1, 1, bytes_=sent)], [receive(1, 0, bytes_=awaited)]]
        assert f"sends NPU 1 {sent} bytes with tag 0, but file 1 receives {awaited}" in problem(ProgramMismatch, ranks)
        sizes = [[collective(1, sent)], [collective(1, awaited)]]
        assert f"all_reduce of {awaited} bytes there" in problem(ProgramMismatch, sizes)


def test_a_rank_that_receives_is_not_played_by_all() -> None:
    graphs = Graphs([[send(1, 1), receive(2, 1), receive(3, 2)]])
    with pytest.raises(InputError) as caught:
        check_graphs(graphs, messages=False, players=4)
    assert str(caught.value) == (
        "file 0: node 2 'n2': waits for a message of NPU 1, and is played by all 4 NPUs, to which that one doesn't "
        "send (and 1 more receive); name the traces of all ranks by their prefix"
    )
    check_graphs(graphs, messages=False, players=1)
    check_graphs(Graphs([[send(1, 1)]]), messages=False, players=4)


def test_a_receive_needs_no_size() -> None:
    assert check_graphs(Graphs([[send(1, 1)], [receive(1, 0, bytes_=None)]])) == ()


@pytest.mark.parametrize("first", [None, 8])
def test_one_receive_without_a_size_leaves_all_sizes_uncompared(first: int | None) -> None:
    second = 8 if first is None else None
    sends = [send(1, 1, tag=1), send(2, 1, tag=2)]
    receives = [receive(1, 0, tag=1, bytes_=first), receive(2, 0, tag=2, bytes_=second)]
    assert check_graphs(Graphs([sends, receives])) == ()


def test_computations_that_only_the_roofline_could_time_are_one_warning() -> None:
    untimed = GraphNode(3, "c", NodeKind.COMPUTE, operations=10**12, tensor_bytes=10**9)
    timed, bare = untimed._replace(number=4, duration_ps=5), GraphNode(5, "d", NodeKind.COMPUTE)
    graphs = Graphs([[timed, untimed, bare], [untimed]])
    assert check_graphs(graphs) == ()
    (told,) = check_graphs(graphs, roofline=False)
    assert told == (
        "file 0: node 3 'c': 2 computations give operations or bytes but no duration, which take no time; "
        "with roofline-enabled: 1 in the system file they take what the roofline says"
    )


def test_types_that_nobody_plays_are_one_warning() -> None:
    other = GraphNode(3, "store", NodeKind.OTHER, type_name="type 8")
    bare = GraphNode(4, "ar", NodeKind.MARK, collective=CollectiveKind.ALL_REDUCE)
    wrapper = bare._replace(number=5, on_host=True)
    first, second = check_graphs(Graphs([[other, bare, wrapper], [other]]))
    assert (
        first
        == "file 0: node 3 'store': nodes of a type that isn't played, they only last as long as they say: type 8 (2)"
    )
    assert second == "file 0: node 4 'ar': 1 collective has no type or no size, so nothing is sent"
