"""Rules of another simulator that we follow on request only: one named option each, and the presets that set them.

By default none is on. "semantics" below is the description of ASTRA-sim 1.0 that the options come from; what each
changes is listed in docs/astra-sim-compatibility.md. What a network is like in another simulator (header sizes, when a
message is complete, ...) is no option here but keys of the network file, which an importer sets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from astra_ns3.errors import InputError, nearest


@dataclass(frozen=True)
class Compatibility:
    """Which rules of another simulator hold instead of ours; those of ASTRA-sim 1.0 unless said otherwise."""

    phase_barrier: bool = False
    """A chunk leaves a phase only when all NPUs of the system, not only its group, have finished it; then all go on
    in that instant, in the order in which they finished (semantics 4). Ours: each NPU goes on by itself."""

    step_tick_ns: int = 0
    """What each move of the training loop's state machine costs on top of compute (semantics 6). Ours: nothing."""

    exposed_until_first_end: bool = False
    """After the last pass, only the wait until the first of layer 0's weight-gradient collectives ends is booked as
    its exposed time, and the rest as the tail (semantics 10). Ours: the wait for all of them."""

    truncate_chunks: bool = False
    """Chunks are floor(bytes / splits), and what is left over makes one more (semantics 5). Ours: even chunks."""

    truncate_messages: bool = False
    """Messages and the data that a phase leaves are floor(bytes / ranks) (semantics 4). Ours: no byte is lost."""

    tree_for_every_collective: bool = False
    """doubleBinaryTree runs its all-reduce, with messages of full size, also where a reduce-scatter, an all-gather or
    an all-to-all is asked for, and leaves the data as long as they were (semantics 4)."""

    all_reduce_uses_own_algorithms: bool = False
    """The reduce-scatter and all-gather phases of an all-reduce use the algorithms of all-reduce-implementation
    (semantics 5). Ours: those of reduce-scatter-implementation and all-gather-implementation."""

    flat_over_all_npus: bool = False
    """A flat algorithm (oneRing, ...) spans all NPUs whatever the dimensions asked for, and does nothing unless
    dimension 0 is among them (semantics 4). Ours: it spans the dimensions asked for."""

    greedy_gathers_upwards: bool = False
    """Where the loads hardly differ, Themis runs an all-gather on dimensions 0, 1, 2, ... and books its loads on the
    dimensions counted from the other end (semantics 5). Ours: from the highest dimension down."""

    charge_highest_dimension: bool = False
    """On the analytical network a message pays for the highest dimension in which its ends differ, and no other
    (semantics 3). Ours: for each of them."""

    truncate_delays: bool = False
    """On the analytical network a message's delay is cut to whole nanoseconds after each addend (semantics 3)."""

    endpoint_delay_ns: int | None = None
    """Whatever the system file says of endpoint-delay and injection scale: ASTRA-sim 2 on ns-3 has a fixed delay in
    the first dimension. Ours: the file's."""

    simai_workloads: bool = False
    """A text workload's transformer is played as SimAI plays it: without broadcasts, pipeline and checkpoints, and no
    forward collective has fewer than 4096 bytes (SimAI). Ours: what the file says."""


OURS = Compatibility()

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
        ),
        "simai": Compatibility(step_tick_ns=1, exposed_until_first_end=True, simai_workloads=True),
        "astra-network-ns3": Compatibility(truncate_chunks=True, truncate_messages=True, endpoint_delay_ns=10),
    }
)


def preset(name: str) -> Compatibility:
    """The options of a preset; raises InputError for an unknown name."""
    if name not in PRESETS:
        raise InputError(f"compat: found '{name}', allowed: {', '.join(PRESETS)}{nearest(name, PRESETS)}")
    return PRESETS[name]
