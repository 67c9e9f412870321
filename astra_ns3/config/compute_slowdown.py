"""NPUs that compute slower than their workload says: a file of its own, for any workload that computes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt
from pydantic import BeforeValidator, Field, Strict, WithJsonSchema, model_validator

from astra_ns3.config.core.document import Document
from astra_ns3.config.core.model import ConfigModel, TimePs, as_value_error, checked, refuse_key, validated
from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.formats.kinds import SLOWDOWN, told_apart
from astra_ns3.errors import refuse, wrong

_RANGE = re.compile(r"([0-9]{1,6})-([0-9]{1,6})", re.ASCII)

STANDS_STILL = 1e18
"""So many times as long takes what an NPU computes that stands still: a picosecond's worth in eleven days."""


def _npus(value: object) -> tuple[int, ...]:
    """``3``, ``"8-15"``, or a list of both."""
    entries = value if isinstance(value, (list, tuple)) else [value]
    found: set[int] = set()
    for entry in entries:
        ends = _RANGE.fullmatch(entry) if isinstance(entry, str) else None
        if ends is not None and int(ends[1]) <= int(ends[2]):
            found.update(range(int(ends[1]), int(ends[2]) + 1))
        elif isinstance(entry, int) and not isinstance(entry, bool) and entry >= 0:
            found.add(entry)
        else:
            raise wrong(f"found {entry!r}, expected numbers of NPUs or ranges of them, as 8-15")
    refuse(not found, "names no NPU; left out, it is all of them")
    return tuple(sorted(found))


_Npus = Annotated[
    tuple[int, ...],
    BeforeValidator(as_value_error(_npus)),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "array"}], "examples": [[3, "8-15"]]}),
]


class Straggler(ConfigModel):
    """NPUs that take ``factor`` times as long, for the whole run or for a while; below 1 they are faster."""

    npus: _Npus | None = None
    """None: all of them."""
    factor: Annotated[float, Ge(0.001), Le(1e6)]
    """Their computations take so many times as long. Below 1 they are faster, and model FLOP utilisation may exceed
    100%."""
    from_ps: TimePs = Field(alias="from", default=0)
    """From when on, in simulated time; for a job of a scenario, from its start."""
    until_ps: TimePs | None = Field(alias="until", default=None)
    """Until when, counted in the same way. Absent: to the end of the run."""

    @model_validator(mode="after")
    @checked
    def _lasts(self) -> None:
        refuse_key(self.until_ps is not None and self.until_ps <= self.from_ps, "until", "is not after from")


class Jitter(ConfigModel):
    """A factor of each computation by itself, drawn from the seed, the NPU and the computation's number there.

    ``uniform``: each from 1 - spread to 1 + spread is as likely; ``lognormal``: its logarithm is normal around 0, with
    ``spread`` as standard deviation.
    """

    distribution: Literal["uniform", "lognormal"] = "uniform"
    """Distribution of the factor of each computation: `uniform` from 1 - spread to 1 + spread, or `lognormal` with
    `spread` as the standard deviation of the logarithm."""
    spread: Annotated[float, Gt(0), Lt(1)]
    """How far factors spread."""
    seed: Annotated[int, Strict(), Ge(0), Le(2**32 - 1)] | None = None
    """The seed of the factors. Absent: the run's."""


_Share = Annotated[float, Ge(0), Lt(1)]


class CommunicationShares(ConfigModel):
    """The shares of an NPU that collectives take while a chunk of theirs runs there."""

    processors: _Share = 0.0
    """The share that is taken from computations that the processors limit, or of which nobody knows."""
    memory_bandwidth: _Share = 0.0
    """The share that is taken from computations that memory limits."""

    @model_validator(mode="after")
    @checked
    def _takes_something(self) -> None:
        refuse_key(
            not self.processors and not self.memory_bandwidth,
            "processors",
            "is missing or 0, and so is memory_bandwidth; expected one of them above 0",
        )


class ComputeSlowdown(ConfigModel):
    """A file of slowdowns. Factors that hold at the same time multiply."""

    stragglers: tuple[Straggler, ...] = ()
    """NPUs that are slower, for a while or always."""
    jitter: Jitter | None = None
    """Chance in the time of each computation."""
    communication: CommunicationShares | None = None
    """Shares that collectives take from computations."""

    def least_factors(self, npus: int) -> list[Fraction]:
        """Return what a computation takes at least, over its time by itself, on each of so many NPUs.

        With jitter 0: nobody knows. All else that takes time is as long as ever.
        """
        found = [Fraction(self.jitter is None)] * npus
        for each in self.stragglers:
            lasts = each.from_ps == 0 and each.until_ps is None
            factor = Fraction(str(each.factor if lasts else min(each.factor, 1)))
            for npu in range(npus) if each.npus is None else each.npus:
                found[npu] *= factor
        return found

    @model_validator(mode="after")
    @checked
    def _slows(self) -> None:
        refuse_key(
            not self.stragglers and self.jitter is None and self.communication is None,
            "stragglers",
            "is missing, and so are jitter and communication; expected one of them",
        )


def read_compute_slowdown(path: str | os.PathLike[str]) -> ComputeSlowdown:
    """Read a file of slowdowns; raises InputError with file, line and key."""
    with told_apart(path, SLOWDOWN):
        return validated(ComputeSlowdown, parse_yaml(read_text(path), os.fspath(path)))


def slowdown_of(given: object, source: str = "compute_slowdown") -> ComputeSlowdown:
    """Slowdowns of a file's path, of plain data with the keys of a file, or as they are.

    ``source``: what messages about plain data begin with. Raises InputError.
    """
    if isinstance(given, ComputeSlowdown):
        return given
    if isinstance(given, (str, os.PathLike)):
        return read_compute_slowdown(given)
    if isinstance(given, Mapping):
        return validated(ComputeSlowdown, Document(source, dict(given)))
    raise wrong(f"{source} is a {type(given).__name__}, expected the path of a file, its keys or a ComputeSlowdown")
