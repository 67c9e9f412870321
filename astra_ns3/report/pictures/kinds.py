"""The kinds of pictures of a run, by name: a line each, whether files have them, pages, or both."""

from __future__ import annotations

from astra_ns3.errors import one_of
from astra_ns3.report.pictures import (
    accounts,
    bandwidth,
    completion,
    exposed,
    layers,
    memory,
    queues,
    rates,
    slowdown,
    timeline,
    utilisation,
)
from astra_ns3.report.pictures.kind import Kind

KINDS: tuple[Kind, ...] = (
    layers.KIND,
    exposed.KIND,
    timeline.KIND,
    accounts.KIND,
    completion.KIND,
    slowdown.KIND,
    bandwidth.KIND,
    utilisation.KIND,
    queues.KIND,
    queues.PAUSES,
    rates.KIND,
    memory.KIND,
)
"""In the order in which they are listed, and stand on a page."""
IN_FILES = tuple(kind for kind in KINDS if kind.make)


def kind_of(name: str) -> Kind:
    """Return the kind of that name that files have; raises InputError if there is none."""
    return one_of("picture", name, {kind.name: kind for kind in IN_FILES})
