"""Keys of a model file that say something and change nothing, for what they depend on isn't there."""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.model.dispatch import NORMAL
from astra_ns3.config.model.file import ModelFile
from astra_ns3.config.model.routing import UNIFORM
from astra_ns3.config.model.transformer import Experts, TransformerFile
from astra_ns3.config.training_plan import Degrees

_LAST_STAGE_OF_ZERO = 3
_RECOMPUTE = "training.recompute"


def keys_without_effect(file: ModelFile, degrees: Degrees) -> tuple[str, ...]:
    """Each such key with the reason, of those that the file gives."""
    found = []
    for key, reason in reasons_without_effect(file, degrees).items():
        group: object = file
        *groups, last = key.split(".")
        for name in groups:
            group = getattr(group, name)
        if {last, f"{last}_bytes"} & group.model_fields_set:  # type: ignore[attr-defined]
            found.append(f"{key}{': selective' * (key == _RECOMPUTE)} ({reason})")
    return tuple(found)


def reasons_without_effect(file: ModelFile, degrees: Degrees) -> Mapping[str, str]:
    """Why keys change nothing, of those that have a value, be it a default."""
    parallel = file.parallel
    alone = degrees.gradient == 1
    here = file.offload.weights is None and file.offload.optimizer is None
    reasons: dict[str, str | bool] = {
        "parallel.sequence": parallel.sequence and degrees.tensor == 1 and "tensor is 1",
        "parallel.gather_inputs_again": (degrees.tensor == 1 and "tensor is 1")
        or (not parallel.sequence and "sequence is off"),
        "parallel.overlap_tensor": parallel.overlap_tensor and degrees.tensor == 1 and "tensor is 1",
        "parallel.context_by": degrees.context == 1 and "context is 1",
        "parallel.bucket": alone and "nobody else has the same weights",
        "parallel.overlap": not parallel.overlap and alone and "nobody else has the same weights",
        "parallel.zero": parallel.zero > 0 and alone and here and "nobody else has the same weights",
        "parallel.prefetch": parallel.zero < _LAST_STAGE_OF_ZERO and f"zero is {parallel.zero}",
        "parallel.keep_gathered": parallel.keep_gathered
        and parallel.zero < _LAST_STAGE_OF_ZERO
        and f"zero is {parallel.zero}",
    }
    if file.reduces_on_the_way is not None:
        reasons["offload.optimizer.prefetch"] = "reduce is in-network, so no state travels"
    if isinstance(file, TransformerFile):
        ring = degrees.context > 1 and parallel.context_by == "ring" and "a ring's attention keeps no scores"
        reasons["model.fused_attention"] = not file.model.fused_attention and ring
        if file.training.recompute == "selective":
            reasons[_RECOMPUTE] = ring or (file.model.fused_attention and "with fused_attention no scores are kept")
        experts_only = all(map(file.model.has_experts, range(file.model.layers)))
        reasons["model.feed_forward"] = experts_only and "every layer has experts instead"
        if file.model.experts is not None:
            reasons |= {f"model.experts.{key}": why for key, why in _of_experts(file.model.experts, degrees).items()}
    return {key: str(reason) for key, reason in reasons.items() if reason}


def without_effect_on_any(file: ModelFile) -> Mapping[str, str]:
    """Keys that change nothing, on any number of NPUs that the file leaves open."""
    parallel = file.parallel
    open_data = parallel.data == "auto" or parallel.context * parallel.data % parallel.expert
    data = 2 * parallel.expert if open_data else int(parallel.data)
    return reasons_without_effect(
        file, Degrees(parallel.tensor, parallel.context, data, parallel.pipeline, parallel.expert)
    )


def _of_experts(experts: Experts, degrees: Degrees) -> Mapping[str, str]:
    """Keys of routing: one place computes all rows whoever chose what, but those above a capacity."""
    drops = experts.capacity is not None
    if degrees.expert == 1 and not drops:
        routing = "" if experts.routing == UNIFORM else "expert is 1"
        skew = "" if experts.skew is None else "expert is 1"
        limit = "expert is 1" if experts.is_drawn else ""
        nodes = {"node_limit": limit, "npus_per_node": "expert is 1", "dispatch": "expert is 1"}
        return {"routing": routing, "skew": skew, "seed": "expert is 1", **nodes}
    unpopular = not experts.exponent and not experts.is_drawn
    seed = "nothing is drawn" if unpopular else ""
    even, least = experts.file is None and not experts.exponent, experts.capacity or 0
    capacity = "all experts are chosen alike" if even and least >= 1 else ""
    capacity = capacity or ("no expert is chosen so often" if least * experts.active >= experts.count else "")
    pieces = "" if experts.form == NORMAL else f"dispatch.form isn't {NORMAL}"
    npus = (experts.node_limit or 0) * (experts.npus_per_node or 0)
    limited = experts.dispatch.form != NORMAL or npus < degrees.expert * degrees.tensor
    limit = "" if limited else "experts are on no more nodes"
    per_node = "" if experts.is_drawn else f"dispatch.form isn't {NORMAL}"
    return {
        "seed": seed,
        "capacity": capacity,
        "npus_per_node": per_node,
        "dispatch.pieces": pieces,
        "node_limit": limit,
    }
