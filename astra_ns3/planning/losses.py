"""The losses of a model's device on a plan's network, for people: the same for all choices."""

from __future__ import annotations

import os

from astra_ns3.experiments.changes.documents import document_of
from astra_ns3.experiments.device import left_to_nccl, losses_in_force
from astra_ns3.experiments.forecasting.foreseen import Foreseen, foreseen_document
from astra_ns3.planning.request import PlanRequest
from astra_ns3.report.foreseen_text import foreseen_rows


def loss_rows(request: PlanRequest) -> list[tuple[str, str]]:
    """Return the line that a run's summary has of the device's losses; none if nothing is lost."""
    compute, system, network = request.workload.file.compute, request.base.system, request.base.network
    assert not isinstance(system, (str, os.PathLike))
    assert not isinstance(network, (str, os.PathLike))
    losses = Foreseen(losses=losses_in_force(compute, system), left_to_nccl=left_to_nccl(compute, system))
    document = foreseen_document(losses)
    document["network"] = document_of(network)
    return foreseen_rows(document)
