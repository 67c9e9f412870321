"""From a file of a plan to the request, the keys that are varied, and whether anything is played."""

from __future__ import annotations

from pathlib import Path

from astra_ns3.config.core.placing import placed
from astra_ns3.config.plan_file import PlanFile
from astra_ns3.frozen import dataclass, field, replace
from astra_ns3.planning.request import PlanRequest
from astra_ns3.planning.varying.varying import VariedKey, varied_key
from astra_ns3.units import PS_PER_SECOND

_RESULTS = Path("results")


@dataclass(frozen=True)
class Asked:
    """A plan that is asked for. ``varied``: keys with several values, of which each has a plan; ``play``: whether."""

    request: PlanRequest
    varied: tuple[VariedKey, ...] = field(default=())
    play: bool = True


def asked_by(file: PlanFile) -> Asked:
    """Return what a file of a plan asks for; raises InputError for keys that can't be varied."""
    config, document = file.config, file.document
    folder, play = Path(document.source).parent, config.play
    request = PlanRequest(
        folder / config.model,
        folder / config.network,
        None if config.system is None else folder / config.system,
        _RESULTS / Path(document.source).stem,
        {key: placed(value, folder) for key, value in config.set.items()},
        config.samples,
        config.hold,
        places={
            **{key: document.where(("set", key)) for key in config.set},
            **{key: document.where(("hold", key)) for key in config.hold},
        },
    )
    if play.cpu_time_ps is not None:
        request = replace(request, cpu_seconds=play.cpu_time_ps / PS_PER_SECOND)
    if play.packets_cpu_time_ps is not None:
        request = replace(request, packet_seconds=play.packets_cpu_time_ps / PS_PER_SECOND)
    request = replace(request, packets=play.packets)
    varied = []
    for key, values in config.vary.items():
        place = document.where(("vary", key))
        varied.append(varied_key(key, values, f"{place}: key 'vary.{key}'", place))
    return Asked(request, tuple(varied), not play.bounds_only)
