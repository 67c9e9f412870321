"""How a model is trained: samples, number formats, optimizer, what is computed again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import model_validator

from astra_ns3.config.core.model import ConfigModel, Count, checked, refuse_key

Datatype = Literal["float32", "tfloat32", "bfloat16", "float16", "float8"]
Optimizer = Literal["adam", "momentum", "sgd"]

VALUE_BYTES: Mapping[str, int] = {"float32": 4, "tfloat32": 4, "bfloat16": 2, "float16": 2, "float8": 2}
"""The datatype of an activation or weight; with float8 only products of matrices have 8 bits, what is kept and sent has
16."""
_SINGLE_BYTES = 4
# Numbers, in single precision, that an optimizer keeps for each parameter.
_STATES: Mapping[str, int] = {"adam": 2, "momentum": 1, "sgd": 0}


class Training(ConfigModel):
    """The size of one iteration; ``micro_batch`` is the number of samples that go through the model at a time."""

    micro_batch: Count = 1
    """Samples of a micro-batch."""
    micro_batches: Count | None = None
    """Micro-batches of an iteration, on each copy of the model."""
    global_batch: Count | None = None
    """Samples of an iteration over all copies, instead of `micro_batches`."""
    datatype: Datatype = "bfloat16"
    """The datatype of products."""
    gradients: Datatype | None = None
    """The datatype of gradients as they are kept and sent. Absent: that of the rest."""
    optimizer: Optimizer = "adam"
    """The optimizer, which says what is kept for each weight."""

    @model_validator(mode="after")
    @checked
    def _one_of_both(self) -> None:
        refuse_key(
            self.micro_batches is not None and self.global_batch is not None,
            "global_batch",
            "stands beside micro_batches; leave one of them out",
        )

    @property
    def value_bytes(self) -> int:
        """Return the bytes of a weight or an activation."""
        return VALUE_BYTES[self.datatype]

    @property
    def gradient_bytes(self) -> int:
        """Return the bytes of a parameter's gradient."""
        return VALUE_BYTES[self.gradients or self.datatype]

    @property
    def optimizer_bytes(self) -> int:
        """Return the bytes of a parameter's optimizer state, with a single-precision weight if its own has less."""
        master = _SINGLE_BYTES if self.value_bytes < _SINGLE_BYTES else 0
        return master + _SINGLE_BYTES * _STATES[self.optimizer]


class SequenceTraining(Training):
    """Training of a model of sequences: a sample is one of ``sequence`` tokens."""

    sequence: Count
    """Tokens of a sample."""
    recompute: Literal["none", "selective", "full"] = "none"
    """``full``: of each layer only the input is kept; ``selective``: what attention makes of queries and keys isn't."""
