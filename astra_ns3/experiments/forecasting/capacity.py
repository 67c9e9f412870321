"""Cost of a run before its first event, from the inputs alone, and its refusal where memory can't hold that.

Graph, routes and schedules are refused where they are built (``topology/counts.py``, ``collectives/columns.py``); here
is what the driver and the backend add, and connections. The estimate leaves out what else grows while the run goes on,
such as packets in flight and records, so that nothing is refused that may fit. The bytes were measured as resident
memory, Python 3.11 on x86-64; ``tests/unit/experiments/test_results_capacity.py`` measures them again.
"""

from __future__ import annotations

from astra_ns3.experiments.forecasting.costs import (
    BYTES_PER_COLLECTIVE,
    BYTES_PER_HANDLE,
    BYTES_PER_HOST,
    BYTES_PER_NPU,
    BYTES_PER_PLACE,
    BYTES_PER_ROW,
    BYTES_PER_TASK,
)
from astra_ns3.experiments.forecasting.traffic import joined_pairs
from astra_ns3.experiments.inputs import Inputs, Parts
from astra_ns3.frozen import dataclass
from astra_ns3.memory import require_memory
from astra_ns3.playing.dry_run.counting import request_kind
from astra_ns3.units import format_bytes


@dataclass(frozen=True)
class Need:
    """Bytes that a run takes before its first event, by what takes them."""

    npus: int
    schedules: int
    collectives: int
    at_once: int
    """How many collectives are issued before the first NPU computes or waits."""

    @property
    def total(self) -> int:
        """All bytes."""
        return self.npus + self.schedules + self.collectives


def _pairs_need(parts: Parts) -> int:
    """Return the bytes of the connections and queue pairs that a run has opened by its end."""
    joined = (each for part in parts for each in joined_pairs(*part))
    return sum(len(pairs) * transport.bytes_per_pair for transport, pairs in joined)


def run_need(parts: Parts) -> Need:
    """Return what a run takes before the first event."""
    first, _ = parts[0]
    rows = sum(inputs.expected(1).kept_rows for inputs, _ in parts)
    collectives, at_once = zip(*(_collectives(*part) for part in parts), strict=True)
    npus_bytes = _npus(parts) * BYTES_PER_NPU + first.hosts * BYTES_PER_HOST
    return Need(npus_bytes, rows * BYTES_PER_ROW, sum(collectives), sum(at_once))


def check_run_fits(parts: Parts, *, limit_bytes: int | None = None, to_its_end: bool = True) -> None:
    """Raise InputError, with the estimate, if memory can't hold what a run takes before its first event.

    ``limit_bytes``: the run's own limit on resident memory. ``to_its_end``: nothing stops the run earlier, so that the
    connections count, which are opened when a pair has its first message.
    """
    need = run_need(parts)
    pairs = _pairs_need(parts) if to_its_end else 0
    takers = {
        "connections of pairs of NPUs": (pairs, "use fewer NPUs, or an algorithm in which fewer pairs meet"),
        f"{_npus(parts)} NPUs": (need.npus, "use fewer NPUs"),
        "schedules": (need.schedules, "use fewer NPUs, or an algorithm with fewer messages"),
        f"{need.at_once} collectives issued at once": (
            need.collectives,
            "use fewer passes, smaller preferred-dataset-splits, or fewer NPUs",
        ),
    }
    largest = max(takers, key=lambda name: takers[name][0])
    size, advice = takers[largest]
    what = f"the run, of it {format_bytes(size)} for {largest},"
    require_memory(what, need.total + pairs, advice, limit_bytes=limit_bytes)


def _npus(parts: Parts) -> int:
    """Return how many NPUs play."""
    return sum(len(inputs.tenancy.npus) for inputs, _ in parts)


def _collectives(inputs: Inputs, passes: int) -> tuple[int, int]:
    """Bytes of the collectives that are issued before anything else happens, and how many these are."""
    npus = len(inputs.tenancy.npus)
    cuts = inputs.expected(1).cuts
    size = at_once = 0
    for request, count in inputs.job.issued_at_once(inputs.platform, passes):
        chunks, phases = cuts[request_kind(request)]
        if chunks:
            at_once += count
            on_each = BYTES_PER_HANDLE + chunks * BYTES_PER_PLACE
            members = npus if request.communicator is None else len(request.communicator)
            size += count * (BYTES_PER_COLLECTIVE + phases * BYTES_PER_TASK + members * on_each)
    return size, at_once
