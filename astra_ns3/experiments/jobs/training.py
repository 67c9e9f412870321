"""A training loop over layers, as a job."""

from __future__ import annotations

from astra_ns3.config.core.plain import JsonObject
from astra_ns3.config.workload import Pass, Workload
from astra_ns3.experiments.jobs.job import Headline, Platform, ProgramsJob
from astra_ns3.experiments.scaling import scaled_apart
from astra_ns3.frozen import asdict, dataclass
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.loops.unissued import uncomputed_passes, unissued_collectives
from astra_ns3.workload.loops.loop_kinds import SIMAI_LOOPS
from astra_ns3.workload.loops.parallel_groups import micro_batches_of
from astra_ns3.workload.loops.simai_rules import simai_warnings


@dataclass(frozen=True)
class TrainingJob(ProgramsJob):
    """See :class:`~astra_ns3.experiments.jobs.job.Job`."""

    workload: Workload

    def headline(self) -> Headline:
        """The loop and how many layers it has."""
        return Headline(self.workload.loop, len(self.workload.layers))

    def scaled(self, comm_scale: float, compute_scale: float) -> TrainingJob:
        """Sizes and times of all passes multiplied; update times stay."""
        return TrainingJob(self.workload.scaled(comm_scale, compute_scale))

    def scaled_apart(self, comm_scale: float, compute_scale: float) -> list[str]:
        """A warning, if one of the two hides the other no more as it did."""
        return scaled_apart(self.workload, comm_scale, compute_scale)

    def warnings(self, platform: Platform) -> list[str]:
        """Return a warning of all in the file that its loop, or its pipeline, doesn't play."""
        return [
            *self.workload.warnings,
            *unissued_collectives(self.workload, platform.dimensions),
            *uncomputed_passes(self.workload, platform.dimensions),
            *simai_warnings(self.workload, platform.dimensions, platform.compatibility),
        ]

    def document(self) -> JsonObject:
        """Loop, options and layers."""
        workload = self.workload
        batches = micro_batches_of(workload) if workload.loop in SIMAI_LOOPS else None
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
            "micro_batch_rows": None if batches is None else batches.document(),
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

    def programs(self, platform: Platform, passes: int) -> Programs:
        """Return the programs of the loop."""
        return Programs.of(
            self.workload,
            passes,
            platform.dimensions,
            exposed_until_first_end=platform.compatibility.exposed_until_first_end,
        )


def _pass_document(part: Pass) -> JsonObject:
    words = {"collective": part.collective, "group": part.group}
    return {**asdict(part), **{key: None if word is None else word.value for key, word in words.items()}}
