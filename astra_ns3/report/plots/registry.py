"""The kinds of pictures, by name: a line each."""

from __future__ import annotations

from astra_ns3.errors import InputError, nearest
from astra_ns3.report.plots import (
    accounts,
    bandwidth,
    completion,
    exposed,
    layers,
    memory,
    queues,
    rates,
    timeline,
    utilisation,
)
from astra_ns3.report.plots.kind import Kind

KINDS: tuple[Kind, ...] = (
    layers.KIND,
    exposed.KIND,
    timeline.KIND,
    utilisation.KIND,
    queues.KIND,
    rates.KIND,
    completion.KIND,
    bandwidth.KIND,
    accounts.KIND,
    memory.KIND,
)
"""In the order in which they are listed."""


def kind_of(name: str) -> Kind:
    """The kind of that name; raises InputError if there is none."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    names = [kind.name for kind in KINDS]
    raise InputError(f"picture '{name}' is not one of {', '.join(names)}{nearest(name, names)}")
