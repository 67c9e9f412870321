"""Parts of a run that a forecast does not count, or that it counts and that may not come."""

from __future__ import annotations

from collections.abc import Sequence

from astra_ns3.config.core.forever import FOREVER
from astra_ns3.experiments.inputs import Inputs
from astra_ns3.frozen import dataclass


@dataclass(frozen=True)
class Unsure:
    """In words: ``not_counted``, with which there will be more, and ``may_not_come``, without which fewer."""

    not_counted: tuple[str, ...] = ()
    may_not_come: tuple[str, ...] = ()


SURE = Unsure()


def unsure_of(parts: Sequence[tuple[Inputs, int]]) -> Unsure:
    """Return it for all that plays in a run, with the passes that each was asked for."""
    more: dict[str, None] = {}
    fewer: dict[str, None] = {}
    alone = all(inputs.tenancy.is_traffic for inputs, _ in parts)
    for inputs, passes in parts:
        tenancy, job = inputs.tenancy, inputs.job
        name = f"'{tenancy.job_name}'"
        uncounted, at_most = job.unsure(inputs.platform)
        more |= dict.fromkeys(uncounted)
        fewer |= dict.fromkeys(at_most)
        if job.endless:
            more[f"flows of {name}, which go on until jobs end"] = None
        elif tenancy.is_traffic and not alone:
            fewer[f"flows of {name} that start after the last job's end"] = None
        if passes == FOREVER:
            more[f"passes of {name} after the first"] = None
        if tenancy.end_ps is not None:
            fewer[f"what {name} hasn't done at its end"] = None
        if tenancy.fails_ps:
            fewer[f"what failing tries of {name} repeat: as much as a checkpoint keeps"] = None
        if tenancy.restart_ps is not None:
            more[f"tries of {name} after its transport gives up"] = None
    return Unsure(tuple(more), tuple(fewer))
