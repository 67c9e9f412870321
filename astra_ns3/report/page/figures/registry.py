"""All figures of the page, in its order: heading, what it shows, and the function that makes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from astra_ns3.report.page.figure import Figure, Missing, Shown
from astra_ns3.report.page.figures.accounts import accounts
from astra_ns3.report.page.figures.bandwidth import bandwidth
from astra_ns3.report.page.figures.completion import completion
from astra_ns3.report.page.figures.exposed import exposed
from astra_ns3.report.page.figures.layers import layers
from astra_ns3.report.page.figures.queues import pauses, queues
from astra_ns3.report.page.figures.rates import rates
from astra_ns3.report.page.figures.timeline import timeline
from astra_ns3.report.page.figures.utilisation import utilisation


class Kind(NamedTuple):
    """``make``: of the runs, and of about how many points a curve may have.

    ``of_flows``: whether it shows anything of a list of flows.
    """

    name: str
    heading: str
    words: str
    make: Callable[[Sequence[Shown], int], Figure | Missing]
    of_flows: bool = True


FIGURES = (
    Kind(
        "layers",
        "Layers",
        "What the reported NPU computed, and what it could only wait, by layer and pass.",
        layers,
        of_flows=False,
    ),
    Kind(
        "exposed",
        "Compute against exposed communication",
        "Each NPU's time: they add up to its finish.",
        exposed,
        of_flows=False,
    ),
    Kind(
        "timeline",
        "Timeline",
        "What NPUs did when, and the phases of collectives that ran in each dimension.",
        timeline,
        of_flows=False,
    ),
    Kind(
        "accounts",
        "Where message time goes",
        "From being handed over to being complete, in parts that add up.",
        accounts,
    ),
    Kind("completion", "Message completion", "How long messages took; slowdown 1 is a message alone.", completion),
    Kind(
        "bandwidth",
        "Bus bandwidth by size",
        "Means over collectives of one size, with least and most.",
        bandwidth,
        of_flows=False,
    ),
    Kind("utilisation", "Link utilisation", "What each port put on its line.", utilisation),
    Kind("queues", "Queues", "What waited at ports, all priorities together.", queues),
    Kind("pauses", "Pauses", "When PFC stopped a priority of a port.", pauses),
    Kind("rates", "Rates and windows", "What congestion control let senders do, by pair of NPUs.", rates),
)
