"""What a run's three files said, as plain data: all that its results need of them, whatever process makes these."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from astra_ns3.config.workload import Pass, Workload
from astra_ns3.experiments.in_force import in_force_document
from astra_ns3.experiments.inputs import Inputs

Document = dict[str, Any]


@dataclass(frozen=True)
class Description:
    """The inputs of a run. ``observes``: the backend may write tables; ``asked_to_observe``: the user wants them."""

    workload: Document
    system: Document
    network: Document
    in_force: Document | None
    """Every number of the transports and of marking, those that the network file leaves open too; None: no packets."""
    compat: str
    num_queues_per_dimension: int
    observes: bool
    asked_to_observe: bool
    warnings: tuple[str, ...]


def describe(inputs: Inputs) -> Description:
    """The inputs as plain data; sizes and times are those that are run, after scaling."""
    return Description(
        workload=_workload_document(inputs.workload),
        system=inputs.system.document(),
        network=inputs.network.document(),
        in_force=in_force_document(inputs.plan),
        compat=inputs.compat,
        num_queues_per_dimension=inputs.system.num_queues_per_dimension,
        observes=inputs.network.observe.anything,
        asked_to_observe=inputs.asked_to_observe,
        warnings=inputs.warnings,
    )


def _workload_document(workload: Workload) -> Document:
    return {
        "source": workload.source,
        "loop": workload.loop,
        "last_bottom_layer": workload.last_bottom_layer,
        "model_parallel_npus": workload.model_parallel_npus,
        "checkpoints": list(workload.checkpoints),
        "checkpoint_initiates": list(workload.checkpoint_initiates),
        "npus": workload.npus,
        "expert_parallel_npus": workload.expert_parallel_npus,
        "pipeline_stages": workload.pipeline_stages,
        "micro_batches": workload.micro_batches,
        "virtual_stages": workload.virtual_stages,
        "stage_bytes": workload.stage_bytes,
        "layers": [
            {
                "name": layer.name,
                "forward": _pass_document(layer.forward),
                "input_gradient": _pass_document(layer.input_gradient),
                "weight_gradient": _pass_document(layer.weight_gradient),
                "update_ns": layer.update_ns,
                "policy": layer.policy,
            }
            for layer in workload.layers
        ],
    }


def _pass_document(part: Pass) -> Document:
    words = {"collective": part.collective, "group": part.group}
    return {**asdict(part), **{key: None if word is None else word.value for key, word in words.items()}}
