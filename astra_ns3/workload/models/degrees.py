"""Into how many parts a model is cut on so many NPUs."""

from __future__ import annotations

from astra_ns3.config.model.parallel import Parallel
from astra_ns3.config.model.training import Training
from astra_ns3.config.training_plan import Degrees
from astra_ns3.errors import located, refuse


def degrees_of(parallel: Parallel, npus: int, source: str) -> Degrees:
    """The degrees on ``npus`` NPUs; ``data: auto`` takes what the others leave. Raises InputError if they don't fit.

    Parameter servers aren't among them.
    """
    refuse(
        not 0 <= parallel.servers < npus,
        f"parallel.servers is {parallel.servers}, expected fewer than the {npus} NPUs",
        source,
    )
    npus -= parallel.servers
    copy = parallel.copy_npus
    words = f"tensor {parallel.tensor} x context {parallel.context} x pipeline {parallel.pipeline}"
    if parallel.data == "auto":
        refuse(
            bool(npus % copy), f"parallel: {words} are {copy} NPUs, expected a divisor of the {npus} there are", source
        )
        data = npus // copy
    else:
        data = parallel.data
        refuse(
            copy * data != npus,
            f"parallel: {words} x data {data} are {copy * data} NPUs, expected the {npus} there are, or data: auto",
            source,
        )
    with located(f"{source}: parallel"):
        return Degrees(parallel.tensor, parallel.context, data, parallel.pipeline, parallel.expert)


def micro_batches_of(training: Training, data: int, source: str) -> int:
    """Of one iteration on each of ``data`` copies of the model."""
    if training.global_batch is None:
        return training.micro_batches or 1
    together = training.micro_batch * data
    refuse(
        bool(training.global_batch % together),
        f"training.global_batch is {training.global_batch}, expected a multiple of micro_batch times the "
        f"copies of the model, {training.micro_batch} x {data}",
        source,
    )
    return training.global_batch // together
