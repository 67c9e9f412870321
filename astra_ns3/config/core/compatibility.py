"""Rules of another simulator that we follow on request only: one named option each, and the presets that set them.

By default none is on. "semantics" below is the description of ASTRA-sim 1.0 that the options come from. The reference
shows the words of each option. Traits of a network in another simulator (header sizes, when a
message is complete, ...) is no option here but keys of the network file, which an importer sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from astra_ns3.errors import one_of
from astra_ns3.frozen import dataclass, replace


@dataclass(frozen=True)
class Compatibility:
    """Which rules of another simulator hold instead of ours; those of ASTRA-sim 1.0 unless said otherwise."""

    phase_barrier: bool = False
    """A chunk leaves a phase only when all NPUs of the system, not only its group, have finished it. Then all go on
    in that instant, in the order in which they finished (semantics 4). Ours: each NPU goes on by itself, for a barrier
    hides stragglers."""

    step_tick_ns: int = 0
    """The cost of each move of the training loop's state machine on top of compute (semantics 6). Ours: nothing."""

    exposed_until_first_end: bool = False
    """After the last pass, only the wait until the first of layer 0's weight-gradient collectives ends is booked as
    its exposed time, and the rest as the tail (semantics 10). Ours: the wait for all of them. This changes a cell of
    EndToEnd.csv, and no finish time."""

    truncate_chunks: bool = False
    """Chunks are floor(bytes / splits), and what is left over makes one more (semantics 5). Ours: min(splits, bytes)
    chunks, alike to one byte."""

    truncate_messages: bool = False
    """Messages and the data that a phase leaves are floor(bytes / ranks) (semantics 4). Ours: message sizes
    add up to the data."""

    tree_for_every_collective: bool = False
    """doubleBinaryTree runs its all-reduce, with messages of full size, also where a reduce-scatter, an all-gather or
    an all-to-all is asked for, and leaves the data as long as they were (semantics 4). Ours: an error that names
    algorithms which can do it."""

    all_reduce_uses_own_algorithms: bool = False
    """The reduce-scatter and all-gather phases of an all-reduce use the algorithms of all-reduce-implementation
    (semantics 5). Ours: those of reduce-scatter-implementation and all-gather-implementation."""

    flat_over_all_npus: bool = False
    """A flat algorithm (oneRing, ...) spans all NPUs whatever the dimensions asked for, and does nothing unless
    dimension 0 is among them (semantics 4). Ours: it spans the dimensions asked for."""

    greedy_gathers_upwards: bool = False
    """Where the loads hardly differ, Themis runs an all-gather on dimensions 0, 1, 2, ... and books its loads on the
    dimensions counted from the other end (semantics 5). Ours: from the highest dimension down, booked where they
    arise."""

    charge_highest_dimension: bool = False
    """On the analytical network a message pays for the highest dimension in which its ends differ, and no other
    (semantics 3). Ours: for each dimension that it crosses. They differ for flat algorithms only."""

    truncate_delays: bool = False
    """On the analytical network a message's delay is cut to whole nanoseconds after each addend (semantics 3).
    Ours: picoseconds, rounded once."""

    simai_workloads: bool = False
    """A text workload's transformer is played as SimAI plays it: without broadcasts, pipeline and checkpoints, and no
    forward collective has fewer than 4096 bytes (SimAI). Ours: what the file says."""

    chunks_of_one_size: bool = False
    """Chunks are floor(bytes / splits), as many as it takes, each of that size. But for all-gathers a chunk has at
    least as many bytes as there are NPUs, and there are as many as splits, even of no bytes (ASTRA-sim 2). Ours: no
    byte more than was asked for."""

    charge_lowest_dimension: bool = False
    """On the analytical network without queues a message pays for the lowest dimension in which its ends differ, and no
    other (ASTRA-sim 2). Ours: for each of them."""

    groups_as_one_ring: bool = False
    """A collective of fewer than all NPUs is one ring over its members in the order of their list, or the algorithm of
    a system file that names a single one. The dimensions asked for count for nothing. So they do where all NPUs are
    members, and the order of the list, too (ASTRA-sim 2). Ours: the part of the grid that the members are."""

    group_endpoint_delay_ns: int | None = None
    """The endpoint delay of collectives of fewer than all NPUs, whatever the system file says (ASTRA-sim 2). Ours: the
    file's."""

    direct_reduces_twice_in_groups: bool = False
    """A direct all-reduce of fewer than all NPUs, but more than two, reduces what it gathers, too (ASTRA-sim 2). Ours:
    only what it scatters."""

    first_halving_reduces_nothing: bool = False
    """In halvingDoubling the first message that a rank receives takes no reduction delay (semantics 4). Ours: as each
    other whose data is added up."""

    trees_reduce_downwards: bool = False
    """In a doubleBinaryTree's all-reduce the sum takes a reduction delay on its way down, too, at each rank that passes
    it on (semantics 4). Ours: only on the way up, where data is added up."""

    every_npu_orders_its_chunks: bool = False
    """Each NPU starts the chunks of a queue in the order in which they come to it (ASTRA-sim 2), which may deadlock.
    Ours: all start them in one order."""

    collectives_by_number_alone: bool = False
    """Members of a group that come to different collectives with the same number play them with each other. Only
    the sizes of messages are compared (ASTRA-sim 2). Ours: an error that names both."""

    messages_by_arrival: bool = False
    """A message costs its network time alone, is matched by its size, too, and ends at its arrival for both ends, for
    a receiver that comes later then (ASTRA-sim 2). Ours: the endpoint delays as in a collective, the sender is done
    when the transport has it, and ends that differ in size are an error."""

    ends_in_order_of_begins: bool = False
    """Work of a graph that ends in one instant is heard of in the order in which it began, be it a computation or a
    message on its way (ASTRA-sim 2). It decides a fifth of a pipeline's time. Ours: computations first."""

    late_receives_end_last: bool = False
    """A receive whose message is there already ends in that instant, but behind all that goes on (ASTRA-sim 2 on its
    analytical networks). Ours: at once, before anything else begins."""

    nodes_of_graphs_by_number: bool = False
    """The ready node with the lowest number goes first, and one node at a time of an NPU communicates,
    accesses memory or is of no known type. Receives need no place. Collectives are matched by number, and begin on each
    NPU when it has come to them (ASTRA-sim 2). Ours: by priority first, memory has a place of its own, and
    communication none; with one node at a time valid graphs deadlock."""

    untimed_nodes_are_overlooked: bool = False
    """A node that becomes ready by the end of one that takes no time is looked at when another ends (ASTRA-sim 2, which
    stops if there is none). Ours: at once."""

    least_duration_ns: int = 0
    """The time of a node of a graph without a duration (ASTRA-sim 2: 1 ns). Ours: nothing."""

    whole_roofline_ns: bool = False
    """The roofline gives whole nanoseconds, rounded down. Without operations or bytes it is an error, with 0 bytes
    nothing at all (ASTRA-sim 2). Ours: picoseconds."""

    broadcasts_take_their_duration: bool = False
    """A broadcast in a graph isn't simulated, but takes the time that the trace gives (ASTRA-sim 2). Ours:
    it is, where the system's all-reduce algorithm has one."""

    empty_collectives_are_played: bool = False
    """Collectives of a graph of 0 bytes are played, all-gathers apart (ASTRA-sim 2). Ours: they are done at once."""

    own_memory_serves_all_at_once: bool = False
    """A memory that an NPU has for itself serves all accesses at once, each at the full bandwidth (ASTRA-sim 2). Ours:
    one access at a time, as a memory that NPUs share."""


OURS = Compatibility()

_ASTRA_SIM_2 = Compatibility(
    truncate_messages=True,
    all_reduce_uses_own_algorithms=True,
    truncate_delays=True,
    chunks_of_one_size=True,
    charge_lowest_dimension=True,
    groups_as_one_ring=True,
    group_endpoint_delay_ns=10,
    direct_reduces_twice_in_groups=True,
    first_halving_reduces_nothing=True,
    trees_reduce_downwards=True,
    every_npu_orders_its_chunks=True,
    collectives_by_number_alone=True,
    messages_by_arrival=True,
    ends_in_order_of_begins=True,
    late_receives_end_last=True,
    nodes_of_graphs_by_number=True,
    untimed_nodes_are_overlooked=True,
    least_duration_ns=1,
    whole_roofline_ns=True,
    broadcasts_take_their_duration=True,
    empty_collectives_are_played=True,
    own_memory_serves_all_at_once=True,
)

PRESETS: Mapping[str, Compatibility] = MappingProxyType(
    {
        "none": OURS,
        "astra-sim-1.0": Compatibility(
            phase_barrier=True,
            step_tick_ns=1,
            exposed_until_first_end=True,
            truncate_chunks=True,
            truncate_messages=True,
            tree_for_every_collective=True,
            all_reduce_uses_own_algorithms=True,
            flat_over_all_npus=True,
            greedy_gathers_upwards=True,
            charge_highest_dimension=True,
            truncate_delays=True,
            first_halving_reduces_nothing=True,
            trees_reduce_downwards=True,
        ),
        "simai": Compatibility(step_tick_ns=1, exposed_until_first_end=True, simai_workloads=True),
        "astra-sim-2": _ASTRA_SIM_2,
        # What a config.txt as network brings with it: ASTRA-sim 2 on its ns-3 network.
        "astra-network-ns3": replace(_ASTRA_SIM_2, every_npu_orders_its_chunks=False, late_receives_end_last=False),
    }
)


def preset(name: str) -> Compatibility:
    """The options of a preset; raises InputError for an unknown name."""
    return one_of("compat", name, PRESETS)
