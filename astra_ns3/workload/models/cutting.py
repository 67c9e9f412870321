"""A model's blocks cut in parts, one or several for each stage of a pipeline."""

from __future__ import annotations

from itertools import accumulate

from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.training_plan import Block
from astra_ns3.errors import refuse
from astra_ns3.workload.models.parts import Parts


def layers_of_parts(layers: int, parallel: Parallel, source: str) -> tuple[int, ...]:
    """How many layers each part has: as the file says, or evenly.

    Where they don't divide, the outer parts, which have the embedding and the head, get one fewer, the last before the
    first. Raises InputError for numbers that don't add up, and for more parts than layers.
    """
    parts = parallel.parts
    given = parallel.layers_per_part
    if given is not None:
        refuse(
            len(given) != parts or sum(given) != layers,
            f"parallel.layers_per_part has {len(given)} entries of together {sum(given)} layers, "
            f"expected {parts} (pipeline times virtual_stages) of together {layers}",
            source,
        )
        return given
    refuse(
        layers < parts,
        f"{parts} parts (parallel.pipeline times virtual_stages), expected at most the {layers} layers",
        source,
    )
    fewer = parts - layers % parts if layers % parts else 0
    from_the_ends = sorted(range(parts), key=lambda part: (min(part, parts - 1 - part), -part))
    short = set(from_the_ends[:fewer])
    most = -(-layers // parts)
    return tuple(most - (part in short) for part in range(parts))


def cut(parts: Parts, parallel: Parallel, source: str) -> tuple[tuple[Block, ...], ...]:
    """The parts of the model, in its order."""
    chunks, begin = [], 0
    for layers in layers_of_parts(len(parts.body), parallel, source):
        chunks.append(parts.body[begin : begin + layers])
        begin += layers
    chunks[0] = (*parts.first, *chunks[0])
    chunks[-1] = (*chunks[-1], *parts.last)
    return tuple(chunks)


def boundary_bytes(parts: Parts, parallel: Parallel, source: str) -> int:
    """What an NPU sends from part to part for a micro-batch: of several sizes the largest."""
    if not parts.output_bytes:
        return parts.boundary_bytes
    ends = accumulate(layers_of_parts(len(parts.body), parallel, source))
    return max((parts.output_bytes[end - 1] for end in ends if 0 < end < len(parts.body)), default=0)


def uneven_rest(layers: int, parallel: Parallel, source: str) -> tuple[str, ...]:
    """A warning, where layers don't divide by parts and the file doesn't say how many each gets."""
    if parallel.layers_per_part is not None or layers % parallel.parts == 0:
        return ()
    counts = layers_of_parts(layers, parallel, source)
    short = counts.count(min(counts))
    return (
        f"{source}: {layers} layers in {len(counts)} parts: {short} get {min(counts)}, the others {max(counts)}; "
        "parallel.layers_per_part says otherwise",
    )
