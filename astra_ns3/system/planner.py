"""From a collective to the phases each of its chunks goes through. Pure functions; one dimension for now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from astra_ns3.collectives.registry import lookup, variants
from astra_ns3.config.collective_kind import CollectiveKind
from astra_ns3.config.system import SystemConfig
from astra_ns3.errors import InputError
from astra_ns3.system.chunking import chunk_sizes


@dataclass(frozen=True)
class Phase:
    """One algorithm on one dimension; ``bytes`` is what each rank brings to it."""

    dimension: int
    kind: CollectiveKind
    algorithm: str
    bytes: int


@dataclass(frozen=True)
class Volume:
    """What a collective costs over all NPUs: chunks, messages, and bytes sent."""

    chunks: int
    messages: int
    bytes: int


def plan(kind: CollectiveKind, bytes: int, dimensions: Sequence[int], config: SystemConfig) -> list[Phase]:
    """Phases of one chunk of ``bytes`` per rank on NPUs in ``dimensions`` (sizes, lowest first); none on one NPU.

    Raises :class:`~astra_ns3.errors.InputError` if algorithms and dimensions don't match.
    """
    config.check_dimensions(len(dimensions))
    used = [dimension for dimension, size in enumerate(dimensions) if size > 1]
    if len(used) > 1:
        shape = "x".join(str(size) for size in dimensions)
        raise InputError(f"collectives over several dimensions ({shape} NPUs) are not supported yet; supported: one")
    return [Phase(dimension, kind, algorithms_of(kind, config)[dimension], bytes) for dimension in used]


def algorithms_of(kind: CollectiveKind, config: SystemConfig) -> tuple[str, ...]:
    """The system's algorithms for a collective, one per dimension."""
    return {
        CollectiveKind.ALL_REDUCE: config.all_reduce,
        CollectiveKind.REDUCE_SCATTER: config.reduce_scatter,
        CollectiveKind.ALL_GATHER: config.all_gather,
        CollectiveKind.ALL_TO_ALL: config.all_to_all,
    }[kind]


def collective_volume(kind: CollectiveKind, bytes: int, dimensions: Sequence[int], config: SystemConfig) -> Volume:
    """Chunks, messages and bytes of a collective of ``bytes`` per rank, over all NPUs."""
    sizes = chunk_sizes(bytes, config.preferred_dataset_splits)
    npus = prod(dimensions)
    messages = sent = 0
    for chunk_bytes, variant, count in _alike(sizes, kind, dimensions, config):
        for phase in plan(kind, chunk_bytes, dimensions, config):
            ranks = dimensions[phase.dimension]
            schedule = lookup(phase.kind, phase.algorithm, ranks, variant % variants(phase.kind, phase.algorithm))
            groups = npus // ranks
            messages += count * groups * schedule.messages
            sent += count * groups * int(schedule.message_bytes(phase.bytes).sum())
    return Volume(len(sizes), messages, sent)


def _alike(
    sizes: list[int], kind: CollectiveKind, dimensions: Sequence[int], config: SystemConfig
) -> list[tuple[int, int, int]]:
    """Chunks that go the same way, counted: (bytes, variant, chunks)."""
    if not sizes:
        return []
    period = 1
    for phase in plan(kind, sizes[0], dimensions, config):
        period = max(period, variants(phase.kind, phase.algorithm))
    counts: dict[tuple[int, int], int] = {}
    for chunk, size in enumerate(sizes):
        key = (size, chunk % period)
        counts[key] = counts.get(key, 0) + 1
    return [(size, variant, count) for (size, variant), count in counts.items()]
