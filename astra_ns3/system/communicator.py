"""A communicator: the NPUs that take part in a collective, each in its place; as in MPI and NCCL.

Its collectives are counted: the k-th that one member issues is the k-th of all. A request without one means the world,
all NPUs in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TypeVar

from astra_ns3.errors import wrong

_T = TypeVar("_T")
_MOST_SHOWN = 4

PerNpu = list[_T] | dict[int, _T]
"""Something of each member, by its NPU's number: a list where all NPUs are members."""


@dataclass(frozen=True, init=False)
class Communicator:
    """``ranks``: the NPU in each place; ``name``: tells communicators of the same NPUs apart. Raises InputError.

    ``sizes``: of a grid of its own, NPUs along each dimension of the system's, of which requests name the dimensions
    (None: the part of the system's grid that its NPUs are).
    """

    ranks: tuple[int, ...]
    name: str
    sizes: tuple[int, ...] | None
    _hash: int = field(repr=False, compare=False)

    def __init__(self, ranks: Sequence[int], name: str = "", sizes: Sequence[int] | None = None) -> None:
        ranks = tuple(ranks)
        if not ranks or len(set(ranks)) != len(ranks) or min(ranks) < 0:
            raise wrong(f"a communicator of NPUs {_listed(ranks)}: expected at least one, each once, from 0 on")
        if sizes is not None and prod(sizes) != len(ranks):
            grid = "x".join(map(str, sizes))
            raise wrong(f"a communicator of {len(ranks)} NPUs: a grid of {grid} has {prod(sizes)}")
        object.__setattr__(self, "ranks", ranks)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sizes", None if sizes is None else tuple(sizes))
        # Looked up at each issue, so the members aren't gone through again.
        object.__setattr__(self, "_hash", hash((ranks, name, self.sizes)))

    def __hash__(self) -> int:
        return self._hash

    def __len__(self) -> int:
        return len(self.ranks)

    def __str__(self) -> str:
        return f"{self.name or 'the communicator'} of NPUs {_listed(self.ranks)}"


def describe(communicator: Communicator | None) -> str:
    """A communicator in words; None: the world."""
    return "all NPUs" if communicator is None else str(communicator)


def per_npu(communicator: Communicator | None, npus: int, value: _T) -> PerNpu[_T]:
    """``value`` for each member, the world's ``npus``."""
    return [value] * npus if communicator is None else dict.fromkeys(communicator.ranks, value)


def _listed(ranks: Sequence[int]) -> str:
    shown = ", ".join(map(str, ranks[:_MOST_SHOWN]))
    return f"{shown}, ... ({len(ranks)})" if len(ranks) > _MOST_SHOWN else shown
