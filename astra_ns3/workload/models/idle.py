"""Keys of a model file that say something and change nothing, for what they depend on isn't there."""

from __future__ import annotations

from astra_ns3.config.model.file import ModelFile
from astra_ns3.config.model.transformer import TransformerFile
from astra_ns3.config.training_plan import Degrees

_LAST_STAGE_OF_ZERO = 3


def idle_keys(file: ModelFile, degrees: Degrees) -> tuple[str, ...]:
    """Each such key with the reason, of those that the file gives."""
    parallel = file.parallel
    alone = degrees.gradient == 1
    reasons = {
        "sequence": parallel.sequence and degrees.tensor == 1 and "tensor is 1",
        "gather_inputs_again": parallel.gather_inputs_again and not parallel.sequence and "sequence is off",
        "overlap_tensor": parallel.overlap_tensor and degrees.tensor == 1 and "tensor is 1",
        "context_by": degrees.context == 1 and "context is 1",
        "bucket_bytes": alone and "nobody else has the same weights",
        "overlap": not parallel.overlap and alone and "nobody else has the same weights",
        "prefetch": parallel.zero < _LAST_STAGE_OF_ZERO and f"zero is {parallel.zero}",
        "keep_gathered": parallel.keep_gathered and parallel.zero < _LAST_STAGE_OF_ZERO and f"zero is {parallel.zero}",
    }
    keys = {"bucket_bytes": "bucket"}
    found = [
        f"parallel.{keys.get(name, name)} ({reason})"
        for name, reason in reasons.items()
        if reason and name in parallel.model_fields_set
    ]
    if isinstance(file, TransformerFile) and file.training.recompute == "selective" and file.model.fused_attention:
        found.append("training.recompute: selective (with fused_attention no scores are kept)")
    return tuple(found)
