"""Search of channels through the links of one server: how many of one width fit, and in which order of GPUs.

Source of the rules: NVIDIA/nccl v2.30.7, ``src/graph/search.cc`` (ncclTopoSearchRec and what it calls). At each step of
a channel NCCL tries next GPUs in an order of its own and takes back what doesn't fit; on NVSwitches it only tries the
two neighbours. Here the same choices are tried in the same order. *Limits*: the search stops after a few thousand steps
or at the number that the links allow at most, whichever comes first (NCCL: 16,384 steps, of equal results the one with
fewer hops); paths through a second GPU (NVB) are not searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from astra_ns3.frozen import dataclass
from astra_ns3.nccl.links import Links, NicLink

Pattern = Literal["ring", "tree", "balanced_tree"]
Way = Literal["direct", "relay", "host", "far"]
"""How a channel returns to a NIC: from a GPU next to it, through such a GPU (PXN), through a CPU, or through both."""

_STEPS, _LARGE, _STEPS_OF_LARGE = 2000, 16, 200  # a step of 72 GPUs takes as long as nine of 8
_SLACK = 1e-3  # NCCL rounds to thousandths
_INTEL_PEER = 1.2  # Intel's root port cuts what GPUs send into packets of 64 bytes

Use = tuple[tuple[str, int, int], float]


@dataclass(frozen=True)
class Channel:
    """The order of one server's GPUs, and the NICs it comes in and goes out by (-1: none)."""

    order: tuple[int, ...]
    enters: int = -1
    leaves: int = -1


@dataclass(frozen=True)
class Shape:
    """A search to do: ``cross`` is 0 (out by the NIC it came in by), 1 (any), 2 (pairs of channels that swap two)."""

    pattern: Pattern
    bw_intra: float
    bw_inter: float
    most: int
    several: bool
    cross: int = 0
    way: Way = "direct"
    same: bool = False


def search(links: Links, shape: Shape) -> tuple[Channel, ...]:
    """Return as many channels as fit, at most ``shape.most``."""
    run = _Search(links, shape)
    if run.enough > 0:
        run.descend()
    return tuple(run.best)


class _Search:
    def __init__(self, links: Links, shape: Shape) -> None:
        self.links, self.shape = links, shape
        self.left = _capacities(links)
        self.chosen: list[Channel] = []
        self.best: list[Channel] = []
        self.steps = 0
        self.patience = _STEPS if links.gpus <= _LARGE else _STEPS_OF_LARGE
        self.enough = most_channels(links, shape)

    def descend(self) -> None:
        if len(self.chosen) > len(self.best):
            self.best = list(self.chosen)
        if self.done:
            return
        for channel, uses in self.options():
            self.steps += 1
            self.take(uses, 1)
            self.chosen.append(channel)
            self.descend()
            self.chosen.pop()
            self.take(uses, -1)
            if self.done:
                return

    @property
    def done(self) -> bool:
        return len(self.best) >= self.enough or self.steps > self.patience

    def take(self, uses: list[Use], times: int) -> None:
        for link, width in uses:
            self.left[link] -= times * width

    def fits(self, uses: list[Use]) -> bool:
        needed: dict[tuple[str, int, int], float] = {}
        for link, width in uses:
            needed[link] = needed.get(link, 0.0) + width
        return all(self.left.get(link, 0.0) + _SLACK >= width for link, width in needed.items())

    def options(self) -> Iterator[tuple[Channel, list[Use]]]:
        """Return the channels that may come next, in NCCL's order, each with what it uses."""
        for channel, uses in self.from_nics() if self.shape.several else self.from_gpus():
            self.steps += 1
            if self.done:
                return
            if self.fits(uses):
                yield channel, uses

    def from_gpus(self) -> Iterator[tuple[Channel, list[Use]]]:
        for order in self.orders_inside():
            uses = self.hops(order)
            if self.shape.pattern == "ring" and self.links.gpus > 1:
                uses += self.hop(order[-1], order[0], self.shape.bw_intra)
            yield Channel(order), uses

    def orders_inside(self) -> Iterator[tuple[int, ...]]:
        """First the order of numbers, later that of the channel before; then all, from each GPU."""
        if self.chosen:
            yield self.chosen[-1].order
        else:
            yield tuple(range(self.links.gpus))
        if not (self.shape.same and self.chosen):
            for start in range(self.links.gpus):
                yield from self.orders(start)

    def from_nics(self) -> Iterator[tuple[Channel, list[Use]]]:
        nics, turn = self.links.nics, len(self.chosen)
        odd = self.shape.pattern == "ring" and self.shape.cross == 2 and turn % 2 == 1
        for i in range(len(nics)):
            nic = nics[(turn + i) % len(nics)]
            if odd and nic.number != self.chosen[-1].leaves:
                continue
            starts = [nic.local, *(gpu for gpu in nic.near if gpu != nic.local)]
            if self.shape.same and self.chosen:
                starts = [gpu for gpu in starts if gpu == self.chosen[-1].order[0]]
            for order in self.orders_from(starts):
                yield from self.back(nic, order, self.hops(order) + self.entering(nic, order[0]))

    def orders_from(self, starts: list[int]) -> Iterator[tuple[int, ...]]:
        """Without NVSwitches the first channel tries the order of numbers first."""
        if self.shape.same and self.chosen:
            yield from [self.chosen[-1].order for _ in starts]
            return
        if not self.chosen and not self.links.switched and 0 in starts:
            yield tuple(range(self.links.gpus))
        for start in starts:
            yield from self.orders(start)

    def entering(self, nic: NicLink, gpu: int) -> list[Use]:
        """The rate that comes in at ``gpu``; GPUs before Ampere also use an eighth of the way back."""
        width = self.shape.bw_inter
        answers: list[Use] = [(("pci out", gpu, 0), width / 8)] if self.links.compute_capability < 80 else []
        return [(("nic in", nic.number, 0), width), (("pci in", gpu, 0), width), *answers]

    def back(self, nic: NicLink, order: tuple[int, ...], uses: list[Use]) -> Iterator[tuple[Channel, list[Use]]]:
        width = self.shape.bw_inter
        if self.shape.pattern == "tree":
            yield Channel(order, nic.number, nic.number), uses + self.leaving(order[0], nic, width, "direct")
        elif self.shape.pattern == "balanced_tree":
            first = self.leaving(order[0], nic, width / 2, "direct")
            second = order[min(1, len(order) - 1)]
            yield Channel(order, nic.number, nic.number), uses + first + self.leaving(second, nic, width / 2)
        else:
            for out in self.exits(nic, order[-1]):
                yield Channel(order, nic.number, out.number), uses + self.leaving(order[-1], out, width)

    def exits(self, nic: NicLink, last: int) -> list[NicLink]:
        if self.shape.cross == 0:
            return [nic]
        nics = sorted(self.links.nics, key=lambda one: last not in one.near)
        if self.shape.cross == 2 and len(self.chosen) % 2 == 1:
            return [one for one in nics if one.number == self.chosen[-1].enters]
        return nics

    def leaving(self, gpu: int, nic: NicLink, width: float, way: Way | None = None) -> list[Use]:
        """The links that a way out uses; a link that isn't there if it can't be taken."""
        out: list[Use] = [(("nic out", nic.number, 0), width)]
        way = way or self.shape.way
        if gpu in nic.near:
            return [*out, (("pci out", gpu, 0), width * (self.host if nic.reach == "phb" else 1.0))]
        if way == "relay" and self.links.relay:
            return [*out, *self.hop(gpu, nic.local, width), (("pci out", nic.local, 0), width)]
        if way in ("host", "far") and self.links.sockets[gpu] == self.links.sockets[nic.local]:
            return [*out, (("pci out", gpu, 0), width * self.host)]
        if way == "far":
            return [*out, (("pci out", gpu, 0), width), (("socket", 0, 0), width)]
        return [(("none", 0, 0), 1.0)]

    @property
    def host(self) -> float:
        """The share of the link that a GPU's writes through its CPU cost."""
        return _INTEL_PEER if self.links.cpu == "intel" else 1.0

    def hop(self, a: int, b: int, width: float) -> list[Use]:
        if self.links.switched:
            return [(("nvlink out", a, 0), width), (("nvlink in", b, 0), width)]
        return [(("nvlink", a, b), width)]

    def hops(self, order: tuple[int, ...]) -> list[Use]:
        return [use for a, b in pairwise(order) for use in self.hop(a, b, self.shape.bw_intra)]

    def orders(self, start: int) -> Iterator[tuple[int, ...]]:
        """Return the orders of GPUs from ``start``."""
        return self.turns(start) if self.links.switched else self.walks((start,))

    def turns(self, start: int) -> Iterator[tuple[int, ...]]:
        """Return the two ways round that NCCL tries on NVSwitches; a plain tree only goes up."""
        gpus = self.links.gpus
        down = tuple((start - i) % gpus for i in range(gpus))
        up = tuple((start + i) % gpus for i in range(gpus))
        if self.shape.pattern == "tree" or gpus == 1:
            yield up
        elif self.shape.pattern == "ring":
            yield from (down, up)
        else:
            yield from (up, down)

    def walks(self, order: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Return the orders that NVLinks with enough width left allow."""
        gpus = self.links.gpus
        if len(order) == gpus:
            yield order
            return
        last = order[-1]
        after = [(last + i) % gpus for i in range(1, gpus)]
        if self.shape.several:
            after.reverse()
        widths = {gpu: self.left.get(("nvlink", last, gpu), 0.0) for gpu in after if gpu not in order}
        for gpu in sorted(widths, key=lambda gpu: -self.width_between(last, gpu)):
            self.steps += 1
            if widths[gpu] + _SLACK >= self.shape.bw_intra and not self.done:
                yield from self.walks((*order, gpu))

    def width_between(self, a: int, b: int) -> float:
        return next((width for c, d, width in self.links.pairs if {a, b} == {c, d}), 0.0)


def _capacities(links: Links) -> dict[tuple[str, int, int], float]:
    left: dict[tuple[str, int, int], float] = {("socket", 0, 0): links.socket}
    for gpu in range(links.gpus):
        for way in ("nvlink in", "nvlink out"):
            left[way, gpu, 0] = links.nvlink
        for way in ("pci in", "pci out"):
            left[way, gpu, 0] = links.pci
    for a, b, width in links.pairs:
        left["nvlink", a, b] = left["nvlink", b, a] = width
    for nic in links.nics:
        left["nic in", nic.number, 0] = left["nic out", nic.number, 0] = nic.width
    return left


def most_channels(links: Links, shape: Shape) -> int:
    """Return a number of channels that can't be exceeded: by the NICs, and by what NVLinks carry together."""
    most = shape.most
    if shape.several:
        most = min(most, sum(int((nic.width + _SLACK) / shape.bw_inter) for nic in links.nics))
    if links.gpus == 1:
        return most
    alone = shape.pattern == "ring" and shape.cross == 0 and all(len(nic.near) == 1 for nic in links.nics)
    if shape.several and alone and shape.way == "direct":
        return 0  # the last GPU of a ring is no neighbour of the NIC of its first
    closed = shape.pattern == "ring" and (not shape.several or (alone and shape.way == "relay"))
    hops = links.gpus if closed else links.gpus - 1
    together = links.gpus * links.nvlink if links.switched else 2 * sum(width for *_, width in links.pairs)
    return min(most, int((together + _SLACK) / (hops * shape.bw_intra)))
