"""How a model is cut over NPUs, and in which order its parts are computed and sent."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Ge, Le, MinLen
from pydantic import AfterValidator, Field, Strict, ValidationInfo, model_validator

from astra_ns3.config.core.model import ConfigModel, Count, Number, OnOff, PositiveBytes, checked, refuse_key, shown
from astra_ns3.errors import nearest

SCHEDULES = "schedules"
"""In the context of a validation: the schedules there are."""


def _known(name: str, info: ValidationInfo) -> str:
    """One of those in the context; without a context any name will do until it is looked up."""
    known = (info.context or {}).get(SCHEDULES)
    if known is not None and name not in known:
        raise ValueError(f"found {shown(name)}, allowed: {', '.join(known)}{nearest(name, known)}")
    return name


class Parallel(ConfigModel):
    """Degrees of parallelism; ranks are numbered tensor first, then context, data, pipeline."""

    tensor: Count = 1
    """NPUs that split each product of matrices among them."""
    sequence: OnOff = False
    """Whether what isn't split by ``tensor`` is split along the sequence."""
    gather_inputs_again: OnOff = True
    """With ``sequence``: keep an NPU's own tokens of inputs of split products, and gather the others' once more for
    the gradient of the weights; else all are kept."""
    overlap_tensor: OnOff = False
    """Whether sums of gradients of inputs over the tensor group go on while gradients of weights are computed."""
    context: Count = 1
    """NPUs that share each sequence."""
    context_by: Literal["ring", "all-gather", "all-to-all"] = "ring"
    """How attention sees the keys and values of the whole sequence."""
    pipeline: Count = 1
    """Stages of the pipeline."""
    data: Literal["auto"] | Count = "auto"
    """Copies of the model. `auto`: as many as the network's NPUs leave."""
    expert: Count = 1
    """Neighbours of context times data that share the experts."""
    schedule: Annotated[str, AfterValidator(_known)] = "1f1b"
    """In which order a stage computes micro-batches and its parts of the model."""
    virtual_stages: Count = 1
    """Parts of the model on each stage."""
    layers_per_part: Annotated[tuple[Number, ...], MinLen(1)] | None = None
    """Layers of each part of the model, in its order; else evenly."""
    zero: Annotated[int, Strict(), Ge(0), Le(3)] = 0
    """How much copies share, 0 to 3."""
    bucket_bytes: PositiveBytes | None = Field(alias="bucket", default=None)
    """Gradients are sent when so many bytes have come together, as `25MB`. Absent: layer by layer."""
    overlap: OnOff = True
    """Whether gradients are sent while the backward pass goes on. If off, an NPU sends them after the last backward
    pass (``zero`` 0 and 1) or after each (2 and 3), and waits for them."""
    prefetch: Number = 1
    """With ``zero: 3``: for how many layers weights are gathered ahead."""
    keep_gathered: OnOff = False
    """With ``zero: 3``: weights stay while a micro-batch is between its forward and its backward pass."""
    servers: Number = 0
    """The last NPUs keep the weights and add up gradients, as parameter servers; for data parallelism alone."""
    asynchronous: OnOff = False
    """With ``servers``: they update by each worker's gradients as they come, and no worker waits for another."""

    @model_validator(mode="after")
    @checked
    def _servers_serve_data_alone(self) -> None:
        refuse_key(self.asynchronous and not self.servers, "asynchronous", "is on, expected off: there are no servers")
        others = [name for name in ("tensor", "context", "pipeline", "expert") if getattr(self, name) > 1]
        others += ["zero"] if self.zero else []
        refuse_key(
            bool(self.servers and others),
            "servers",
            f"stands beside {', '.join(others)}; expected data parallelism alone",
        )

    @property
    def parts(self) -> int:
        """In how many the model is cut."""
        return self.pipeline * self.virtual_stages

    @property
    def copy_npus(self) -> int:
        """NPUs that share a copy of the model."""
        return self.tensor * self.context * self.pipeline
