"""A model's memory, its experts' load and what a run of it gets done in a second, for people, from run.json."""

from __future__ import annotations

from astra_ns3.network.run_document import (
    ExpertsDocument,
    FileDocument,
    ForeseenDocument,
    MemoryDocument,
    RunDocument,
    StageDocument,
)
from astra_ns3.report.alignment import number_text, percent
from astra_ns3.units import format_bytes, format_time
from astra_ns3.user_code import user_part
from astra_ns3.workload.memory.room import WHY_TIGHT, is_tight


def foreseen_rows(metadata: ForeseenDocument) -> list[tuple[str, str]]:
    """Rows of the summary's table; none for what is no model."""
    rows = []
    if "memory_by_stage" in metadata:
        rows.append(("memory of an NPU", _memory(metadata["memory_by_stage"])))
    if "experts" in metadata and (metadata["experts"]["most_over_mean"] > 1 or metadata["experts"]["dropped"]):
        rows.append(("experts", _experts(metadata["experts"])))
    words = [*_losses(metadata), *_left_to_nccl(metadata)]
    rows += [("device losses", "; ".join(words))] if words else []
    return rows


def stage_rows(metadata: ForeseenDocument) -> list[tuple[str, str, str, str]]:
    """For each stage its name, its peak, when that is, and what fills it; none for what is no model."""
    memory = metadata.get("memory_by_stage", {"stages": ()})
    return [
        (_where(stage["stage"]), format_bytes(stage["peak_bytes"]), stage["when"], _parts(stage))
        for stage in memory["stages"]
    ]


def _memory(memory: MemoryDocument) -> str:
    """The fullest stage and what fills it."""
    fullest = max(memory["stages"], key=lambda stage: int(stage["peak_bytes"]))
    has = "" if memory["capacity_bytes"] is None else f" of {format_bytes(memory['capacity_bytes'])}"
    on = f" on {_where(fullest['stage'])}" if len(memory["stages"]) > 1 else ""
    capacity = memory["capacity_bytes"]
    over = "" if capacity is None or fullest["peak_bytes"] <= capacity else "doesn't fit: "
    over = f"tight ({WHY_TIGHT}): " if is_tight(fullest["peak_bytes"], capacity) else over
    parts = _parts(fullest)
    return f"{over}at most {format_bytes(fullest['peak_bytes'])}{has}{on}" + (f": {parts}" if parts else "")


def _parts(stage: StageDocument) -> str:
    """All parts that fill a stage, the largest first: they add up to the peak."""
    parts = {name.removesuffix("_bytes"): size for name, size in stage.items() if name.endswith("_bytes")}
    del parts["peak"]
    ordered = sorted((part for part in parts.items() if part[1]), key=lambda part: -part[1])
    return ", ".join(f"{name} {format_bytes(size)}" for name, size in ordered)


def _where(stage: str) -> str:
    return stage if stage == "servers" else f"stage {stage}"


def _losses(metadata: ForeseenDocument) -> list[str]:
    """Return what the device loses of what it and its lines could do; only lines inside nodes lose a share."""
    losses, network, compute_scale = (
        metadata.get("device_losses"),
        metadata.get("network"),
        metadata.get("compute_scale", 1.0),
    )
    if losses is None:
        return []
    words = []
    if losses["launch_overhead_ps"]:
        scaled = "" if compute_scale == 1 else f", scaled by {compute_scale:g} like all computing"
        words.append(f"{format_time(int(losses['launch_overhead_ps']))} for each operation{scaled}")
    if losses["scale_up_efficiency"] < 1 and _may_have_nodes(network):
        share = f"lines inside nodes reach {losses['scale_up_efficiency']:.0%} of their rate"
        words.append(share if _has_nodes(network) else f"{share}, if the network has nodes")
    if losses["overlap_slowdown"] > 1:
        words.append(f"computing takes {losses['overlap_slowdown']:.4g} times as long beside collectives")
    return words


def _left_to_nccl(metadata: ForeseenDocument) -> list[str]:
    """Return that lines inside nodes keep their rate, where NCCL's channels lose the device's share themselves."""
    share = metadata.get("scale_up_efficiency_left_to_nccl")
    if share is None or not _may_have_nodes(metadata.get("network")):
        return []
    return [f"lines inside nodes keep their rate, for NCCL's channels lose what the device's {share:.0%} stands for"]


def _has_nodes(network: FileDocument | None) -> bool:
    return network is not None and "scale_up" in network.get("topology", {})


def _may_have_nodes(network: FileDocument | None) -> bool:
    """Whether a network has nodes for all that is known here: a graph that a user gives is known by its name alone."""
    if network is None or _has_nodes(network):
        return True
    kind = str(network.get("topology", {}).get("kind"))
    return kind == "file" or user_part(kind) is not None


def _experts(experts: ExpertsDocument) -> str:
    """The worst layer, all of them, and what was dropped."""
    words = (
        f"the busiest place computes {experts['most_over_mean']:.3g} times the mean in {experts['worst_layer']}, "
        f"{experts['mean_over_layers']:.3g} times on average"
    )
    chosen = experts["rows"] + experts["dropped"]
    return f"{words}; {percent(experts['dropped'], chosen)} of choices dropped" if experts["dropped"] else words


def throughput_rows(metadata: RunDocument) -> list[tuple[str, str]]:
    """Rows of the summary's table; none for what is no model, or didn't come to its end."""
    return [(name, f"{value}  ({more})" if more else value) for name, value, more in throughput_numbers(metadata)]


def throughput_numbers(metadata: RunDocument) -> list[tuple[str, str, str]]:
    """Name, number, and what stands small beside it."""
    found = metadata.get("throughput")
    if found is None:
        return []
    samples = number_text(found["samples_per_second"])
    if found["tokens_per_second"] is None:
        rows = [("samples a second", samples, f"a sample is one {found['sample']}")]
    else:
        rows = [
            (
                "tokens a second",
                number_text(found["tokens_per_second"]),
                f"in samples of one {found['sample']}: {samples}{_dropped(found['dropped_share'])}",
            )
        ]
    used = found["model_flop_utilisation"]
    if used is not None:
        beyond = ", which factors below 1 or times of a file go beyond" if used > 1 else ""
        rows.append(("model FLOP utilisation", f"{100 * used:.1f}%", f"of the devices' peak{beyond}"))
    return rows


def _dropped(share: float | None) -> str:
    return f"; {share:.1%} of their choices of experts dropped, which no FLOPs are counted for" if share else ""
