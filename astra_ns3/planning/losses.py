"""The losses of a model's device on a plan's network, for people: the same for all choices."""

from __future__ import annotations

import os

from astra_ns3.experiments.changes.documents import document_of
from astra_ns3.experiments.device import inside_share, left_to_nccl
from astra_ns3.experiments.forecasting.foreseen import Foreseen, foreseen_document
from astra_ns3.planning.request import PlanRequest
from astra_ns3.report.foreseen_text import foreseen_rows


def loss_rows(request: PlanRequest) -> list[tuple[str, str]]:
    """Return the line that a run's summary has of the device's losses; none if nothing is lost."""
    compute, system, network = request.workload.file.compute, request.base.system, request.base.network
    assert not isinstance(system, (str, os.PathLike))
    assert not isinstance(network, (str, os.PathLike))
    share = inside_share(network, request.workload, system)
    losses = compute.losses._replace(scale_up_efficiency=share)
    document = foreseen_document(Foreseen(losses=losses, left_to_nccl=left_to_nccl(compute, system)))
    document["network"] = document_of(network)
    return foreseen_rows(document)
