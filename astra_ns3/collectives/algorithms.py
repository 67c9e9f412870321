"""Every algorithm that comes with the simulator, and which collectives it can do: one entry each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from astra_ns3.collectives import bruck, chain, direct, double_binary_tree, halving_doubling, rabenseifner, ring
from astra_ns3.collectives import parallel_trees as trees
from astra_ns3.collectives import rooted_halving as rooted
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.frozen import dataclass

Builder = Callable[..., Schedule]


@dataclass(frozen=True)
class Algorithm:
    """``builders``: for each collective the variants, between which chunks take turns, of ``ranks -> Schedule``.

    A builder is asked for two ranks or more: one has nothing to send, whatever the algorithm.

    ``windowed``: the collectives that take a window, whose builders accept it as a second argument. ``anticlockwise``:
    the algorithm that is this one the other way round. ``cuts_in_ranks``: the data are cut into as many parts as there
    are ranks, so that all its messages shrink where these are rounded down.
    """

    builders: Mapping[CollectiveKind, tuple[Builder, ...]]
    windowed: tuple[CollectiveKind, ...] = ()
    needs_power_of_two: bool = False
    anticlockwise: str | None = None
    cuts_in_ranks: bool = False


def _ring(ways: tuple[int, ...], anticlockwise: str | None = None) -> Algorithm:
    builders: dict[CollectiveKind, Builder] = {
        CollectiveKind.ALL_REDUCE: ring.ring_all_reduce,
        CollectiveKind.REDUCE_SCATTER: ring.ring_reduce_scatter,
        CollectiveKind.ALL_GATHER: ring.ring_all_gather,
        CollectiveKind.ALL_TO_ALL: ring.ring_all_to_all,
        CollectiveKind.BROADCAST: chain.ring_broadcast,
        CollectiveKind.REDUCE: chain.ring_reduce,
        CollectiveKind.BARRIER: ring.ring_barrier,
        CollectiveKind.POINT_TO_POINT: chain.ring_point_to_point,
    }
    return Algorithm(
        {kind: (partial(builder, ways=ways),) for kind, builder in builders.items()},
        anticlockwise=anticlockwise,
        cuts_in_ranks=len(ways) == 1,
    )


ALGORITHMS: Mapping[str, Algorithm] = {
    "ring": _ring(ring.CLOCKWISE, anticlockwise="ringAnticlockwise"),
    "ringAnticlockwise": _ring(ring.ANTICLOCKWISE, anticlockwise="ring"),
    "biRing": _ring(ring.BOTH_WAYS),
    "direct": Algorithm(
        {
            CollectiveKind.ALL_REDUCE: (direct.direct_all_reduce,),
            CollectiveKind.REDUCE_SCATTER: (direct.direct_reduce_scatter,),
            CollectiveKind.ALL_GATHER: (direct.direct_all_gather,),
            CollectiveKind.ALL_TO_ALL: (direct.direct_all_to_all,),
            CollectiveKind.BROADCAST: (direct.direct_broadcast,),
            CollectiveKind.REDUCE: (direct.direct_reduce,),
            CollectiveKind.BARRIER: (direct.direct_barrier,),
            CollectiveKind.POINT_TO_POINT: (direct.direct_point_to_point,),
        },
        windowed=(
            CollectiveKind.ALL_REDUCE,
            CollectiveKind.REDUCE_SCATTER,
            CollectiveKind.ALL_GATHER,
            CollectiveKind.ALL_TO_ALL,
            CollectiveKind.BARRIER,
        ),
        cuts_in_ranks=True,
    ),
    "doubleBinaryTree": Algorithm(
        {
            CollectiveKind.ALL_REDUCE: (double_binary_tree.max_tree_all_reduce, double_binary_tree.min_tree_all_reduce),
            CollectiveKind.BROADCAST: (
                double_binary_tree.min_tree_broadcast,
                double_binary_tree.shifted_tree_broadcast,
            ),
            CollectiveKind.REDUCE: (double_binary_tree.min_tree_reduce, double_binary_tree.shifted_tree_reduce),
            CollectiveKind.BARRIER: (double_binary_tree.min_tree_barrier,),
        }
    ),
    "halvingDoubling": Algorithm(
        {
            CollectiveKind.ALL_REDUCE: (halving_doubling.halving_doubling_all_reduce,),
            CollectiveKind.REDUCE_SCATTER: (halving_doubling.halving_doubling_reduce_scatter,),
            CollectiveKind.ALL_GATHER: (halving_doubling.halving_doubling_all_gather,),
            CollectiveKind.BROADCAST: (rooted.halving_doubling_broadcast,),
            CollectiveKind.REDUCE: (rooted.halving_doubling_reduce,),
            CollectiveKind.BARRIER: (halving_doubling.halving_doubling_barrier,),
        },
        needs_power_of_two=True,
    ),
    "rabenseifner": Algorithm(
        {
            CollectiveKind.ALL_REDUCE: (rabenseifner.rabenseifner_all_reduce,),
            CollectiveKind.REDUCE: (rabenseifner.rabenseifner_reduce,),
        }
    ),
    "bruck": Algorithm(
        {
            CollectiveKind.ALL_TO_ALL: (bruck.bruck_all_to_all,),
            CollectiveKind.ALL_GATHER: (bruck.bruck_all_gather,),
            CollectiveKind.BARRIER: (bruck.bruck_barrier,),
        }
    ),
    "pat": Algorithm(
        {
            CollectiveKind.REDUCE_SCATTER: (trees.pat_reduce_scatter,),
            CollectiveKind.ALL_GATHER: (trees.pat_all_gather,),
        }
    ),
}
