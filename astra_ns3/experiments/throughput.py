"""How much of a model's training a run gets done in a second, and how much of its devices that uses: run.json's words.

Definitions and sources are those of :mod:`astra_ns3.workload.models.work`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from astra_ns3.network.run_document import ThroughputDocument
from astra_ns3.units import PS_PER_SECOND

if TYPE_CHECKING:  # runs without a model need none of it
    from astra_ns3.workload.models.work import IterationWork

_DIGITS = 9


def throughput_document(work: IterationWork, npus: int, finish_ps: int, passes: int) -> ThroughputDocument:
    """Return samples and tokens a second and model FLOP utilisation of a run of ``passes`` iterations on ``npus``.

    The time of an iteration is ``finish_ps`` over ``passes``. ``tokens_per_second`` is None where a sample has no
    tokens, ``model_flop_utilisation`` (0 to 1) where no peak is known.
    """
    per_second = work.samples * passes * PS_PER_SECOND / finish_ps
    flops = work.flops * work.samples
    peak = work.peak_flops
    used = None if peak is None else _short(flops * passes * PS_PER_SECOND / (npus * peak * finish_ps))
    return {
        "sample": work.sample,
        "samples_per_iteration": work.samples,
        "iteration_ps": finish_ps // passes,
        "samples_per_second": _short(per_second),
        "tokens_per_second": _short(per_second * work.tokens) if work.tokens > 1 else None,
        "model_flops_per_iteration": flops,
        "peak_flops_per_npu": peak,
        "model_flop_utilisation": used,
    }


def _short(number: float) -> float:
    """To nine digits that count, which every machine agrees on."""
    return float(f"{number:.{_DIGITS}g}")
