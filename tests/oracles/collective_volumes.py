"""Closed forms for what all ranks send together, and for the rounds it takes: no schedule is looked at.

``n`` ranks; sizes in multiples of what each rank brings; a round is the time of any one message.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

Count = Callable[[int], int]
Share = Callable[[int], Fraction]


def log2(n: int) -> int:
    """Rounded down."""
    return n.bit_length() - 1


def log2_up(n: int) -> int:
    """Rounded up."""
    return (n - 1).bit_length()


def folded(n: int) -> int:
    """Ranks above the largest power of two."""
    return n - (1 << log2(n))


def _ring_distances(n: int) -> int:
    """Sum of the shorter ways from one rank of a ring to all others."""
    return sum(min(distance, n - distance) for distance in range(1, n))


def _set_bits(n: int) -> int:
    return sum(distance.bit_count() for distance in range(1, n))


def _halving_reduce(n: int) -> Fraction:
    """n ranks send (n-1)/n; of the gathering's ranks 2^b send 1/2^(b+1), for each bit b."""
    return n - 1 + Fraction(log2(n), 2)


#: What all ranks send together.
TOTAL_SENT: dict[tuple[str, str], Share] = {
    **{("all_reduce", name): lambda n: Fraction(2 * (n - 1)) for name in ("ring", "ringAnticlockwise", "biRing")},
    ("all_reduce", "direct"): lambda n: Fraction(2 * (n - 1)),
    ("all_reduce", "doubleBinaryTree"): lambda n: Fraction(2 * (n - 1)),
    ("all_reduce", "halvingDoubling"): lambda n: Fraction(2 * (n - 1)),
    # A folded pair exchanges halves, hands one over, and gives back a whole.
    ("all_reduce", "rabenseifner"): lambda n: 2 * (2 ** log2(n) - 1) + folded(n) * Fraction(5, 2),
    **{
        ("reduce_scatter", name): lambda n: Fraction(n - 1)
        for name in ("ring", "ringAnticlockwise", "biRing", "direct", "halvingDoubling", "pat")
    },
    **{
        ("all_gather", name): lambda n: Fraction(n * (n - 1))
        for name in ("ring", "ringAnticlockwise", "biRing", "direct", "halvingDoubling", "bruck", "pat")
    },
    ("all_to_all", "ring"): lambda n: Fraction(n * (n - 1), 2),
    ("all_to_all", "ringAnticlockwise"): lambda n: Fraction(n * (n - 1), 2),
    ("all_to_all", "biRing"): lambda n: Fraction(_ring_distances(n)),
    ("all_to_all", "direct"): lambda n: Fraction(n - 1),
    ("all_to_all", "bruck"): lambda n: Fraction(_set_bits(n)),
    **{
        ("broadcast", name): lambda n: Fraction(n - 1)
        for name in ("ring", "ringAnticlockwise", "biRing", "direct", "doubleBinaryTree", "halvingDoubling")
    },
    **{
        ("reduce", name): lambda n: Fraction(n - 1)
        for name in ("ring", "ringAnticlockwise", "biRing", "direct", "doubleBinaryTree")
    },
    ("reduce", "halvingDoubling"): _halving_reduce,
    ("reduce", "rabenseifner"): lambda n: _halving_reduce(2 ** log2(n)) + folded(n) * Fraction(3, 2),
    ("point_to_point", "ring"): lambda n: Fraction(n - 1),
    **{("point_to_point", name): lambda n: Fraction(1) for name in ("ringAnticlockwise", "biRing", "direct")},
}

#: Messages of a barrier, which carry nothing.
BARRIER_MESSAGES: dict[str, Count] = {
    **{name: lambda n: n * (n - 1) for name in ("ring", "ringAnticlockwise", "biRing", "direct")},
    "doubleBinaryTree": lambda n: 2 * (n - 1),
    "halvingDoubling": lambda n: n * log2(n),
    "bruck": lambda n: n * log2_up(n),
}


def _folding(n: int) -> int:
    return 1 if folded(n) else 0


#: Rounds until the last message has come in.
ROUNDS: dict[tuple[str, str], Count] = {
    **{("all_reduce", name): lambda n: 2 * (n - 1) for name in ("ring", "ringAnticlockwise", "biRing")},
    ("all_reduce", "direct"): lambda n: 2,
    ("all_reduce", "doubleBinaryTree"): lambda n: 2 * log2_up(n),
    ("all_reduce", "halvingDoubling"): lambda n: 2 * log2(n),
    ("all_reduce", "rabenseifner"): lambda n: 2 * log2(n) + 3 * _folding(n),
    **{("reduce_scatter", name): lambda n: n - 1 for name in ("ring", "ringAnticlockwise", "biRing")},
    ("reduce_scatter", "direct"): lambda n: 1,
    ("reduce_scatter", "halvingDoubling"): log2,
    **{("all_gather", name): lambda n: n - 1 for name in ("ring", "ringAnticlockwise", "biRing")},
    ("all_gather", "direct"): lambda n: 1,
    ("all_gather", "halvingDoubling"): log2,
    ("all_gather", "bruck"): log2_up,
    ("all_gather", "pat"): log2_up,
    # Of 3 ranks each sends its parts to both others at once: nobody has another sum to add before.
    ("reduce_scatter", "pat"): lambda n: 1 if n == 3 else log2_up(n),
    ("all_to_all", "ring"): lambda n: n * (n - 1) // 2,
    ("all_to_all", "ringAnticlockwise"): lambda n: n * (n - 1) // 2,
    ("all_to_all", "biRing"): lambda n: (n // 2) * (n // 2 + 1) // 2,
    ("all_to_all", "direct"): lambda n: 1,
    ("all_to_all", "bruck"): log2_up,
    # The last round of a broadcast or a reduce is the signal to whose message came last.
    **{(kind, name): lambda n: n for kind in ("broadcast", "reduce") for name in ("ring", "ringAnticlockwise")},
    **{(kind, "biRing"): lambda n: n // 2 + 1 for kind in ("broadcast", "reduce")},
    **{(kind, "direct"): lambda n: 2 for kind in ("broadcast", "reduce")},
    **{(kind, "direct"): lambda n: 1 for kind in ("barrier", "point_to_point")},
    **{(kind, "doubleBinaryTree"): lambda n: log2_up(n) + 1 for kind in ("broadcast", "reduce")},
    # The rank that is reached last, after log2(n) rounds, needs no message in the first round of the gathering.
    ("broadcast", "halvingDoubling"): lambda n: 2 * log2(n),
    ("reduce", "halvingDoubling"): lambda n: 2 * log2(n) + 1,
    ("reduce", "rabenseifner"): lambda n: 2 * log2(n) + 2 * _folding(n) + 1,
    ("barrier", "ring"): lambda n: n - 1,
    ("barrier", "ringAnticlockwise"): lambda n: n - 1,
    ("barrier", "biRing"): lambda n: n // 2,
    ("barrier", "doubleBinaryTree"): lambda n: 2 * log2_up(n),
    ("barrier", "halvingDoubling"): log2,
    ("barrier", "bruck"): log2_up,
    ("point_to_point", "ring"): lambda n: n - 1,
    ("point_to_point", "ringAnticlockwise"): lambda n: 1,
    ("point_to_point", "biRing"): lambda n: 1,
}
