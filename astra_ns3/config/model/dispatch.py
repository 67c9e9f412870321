"""Keys of a model file's experts that say how tokens travel to experts and back."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from astra_ns3.config.core.model import ConfigModel, Count, TimePs, checked, refuse_key

NORMAL = "normal"
LOW_LATENCY = "low-latency"
_SCALED = 128
"""Numbers that share a scale of four bytes in ``fp8``. Source: DeepSeek-V3's report, section 3.3.2."""
_SCALE_BYTES = 4


class Dispatch(ConfigModel):
    """How tokens go to their experts and back, by the words of DeepEP, whose kernels do so."""

    form: Literal["normal", "low-latency"] | None = None
    """``low-latency``: each token straight to each of its experts; ``normal``: once to each node, by way of its place
    with the sender's number, which passes it on. If it isn't said, ``normal`` with a ``node_limit``; without one an
    all-to-all as the system file has it, straight where experts are chosen unevenly."""
    values: Literal["fp8", "bf16"] | None = None
    """Numbers on the way to experts; the training's datatype if it isn't said. ``fp8``: with a scale of four bytes for
    128 of them."""
    combine_values: Literal["bf16"] | None = None
    """Numbers on the way back."""
    pieces: Count = 16
    """With ``normal``: parts of a message between nodes, each of which is passed on when it has come."""
    overhead_ps: TimePs = Field(alias="overhead", default=0)
    """Before each dispatch and each combine, on every NPU: kernels that start, and what they do besides copying."""

    @model_validator(mode="after")
    @checked
    def _pieces_of_something(self) -> None:
        refuse_key(
            self.form == LOW_LATENCY and self.pieces != type(self).model_fields["pieces"].default,
            "pieces",
            f"stands beside form: {LOW_LATENCY}; only {NORMAL} cuts messages",
        )


def row_bytes(values: str | None, hidden: int, value_bytes: int) -> int:
    """Return the bytes of a token of ``hidden`` numbers; ``value_bytes``: of a number where ``values`` is None."""
    if values == "fp8":
        return hidden + -(-hidden // _SCALED) * _SCALE_BYTES
    return hidden * (value_bytes if values is None else 2)
