"""Random jobs: training loops, single collectives of every kind, and loose flows.

A job of kind ``workload`` has ``text``, ``system`` and ``options`` of :func:`astra_ns3.run`; ``collective`` plays one
``times`` times, ``gap_ps`` apart; ``flows`` are (sender, receiver, bytes, start_ps). ``written``: a loop is written as
Chakra's traces, flows as a list in a file, and what is read of these is played.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from astra_ns3.collectives.algorithms import ALGORITHMS
from astra_ns3.collectives.lookup import lookup, pairs
from astra_ns3.collectives.schedule import Schedule
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.compatibility import preset
from astra_ns3.config.core.rows import rows_of
from astra_ns3.config.core.yaml_document import parse_yaml
from astra_ns3.config.model.file import parse_model_file
from astra_ns3.config.workload import Workload
from astra_ns3.experiments.forecasting.expected import expected_run
from astra_ns3.playing.loops.loop_programs import Programs
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.playing.training.making import training_programs
from astra_ns3.system.file import parse_system
from astra_ns3.workload.files.astra_sim import parse_workload
from astra_ns3.workload.files.simai import is_simai, parse_simai
from astra_ns3.workload.loops.loop_kinds import LAYER_POLICIES, SIMAI_LOOPS, TEXT_LOOPS
from astra_ns3.workload.models.workload import ModelWorkload
from astra_ns3.workload.training.schedules import SCHEDULES
from soak import models
from soak.case import REPOSITORY
from soak.draw import Draw

Drawn = dict[str, Any]
WORDS = {
    CollectiveKind.ALL_REDUCE: "ALLREDUCE",
    CollectiveKind.ALL_TO_ALL: "ALLTOALL",
    CollectiveKind.ALL_GATHER: "ALLGATHER",
    CollectiveKind.REDUCE_SCATTER: "REDUCESCATTER",
}
NOMINAL_BYTES = 1_000_000
_NEEDS_TWO_DIMENSIONS = ("HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA")


def algorithm_for(draw: Draw, kind: CollectiveKind, ranks: int) -> str:
    """An algorithm that does the collective for so many ranks."""
    able = [
        name
        for able_kind, name in pairs()
        if able_kind is kind and not (ALGORITHMS[name].needs_power_of_two and ranks & (ranks - 1))
    ]
    name = draw.pick(*able, "direct", "direct")  # that one makes incasts
    if name == "direct" and kind in ALGORITHMS[name].windowed and ranks > 1 and draw.chance(0.3):
        return f"direct{draw.randint(1, ranks - 1)}"
    return name


def _algorithms(draw: Draw, kind: CollectiveKind, dimensions: Sequence[int]) -> list[str]:
    if draw.chance(0.2):
        ranks = int(np.prod(dimensions))
        name = algorithm_for(draw, kind, ranks).rstrip("0123456789")
        return ["one" + name[0].upper() + name[1:]]
    return [algorithm_for(draw, kind, size) for size in dimensions]


def _system(draw: Draw, dimensions: Sequence[int]) -> Drawn:
    active = draw.pick(1, 1, 2, 4, 8)
    made: Drawn = {
        "scheduling-policy": draw.pick("LIFO", "FIFO"),
        "endpoint-delay": draw.pick(0, 1, 10, 10, 700),
        "preferred-dataset-splits": draw.pick(1, 2, 4, 7),
        "active-chunks-per-dimension": active,
        "all-reduce-implementation": _algorithms(draw, CollectiveKind.ALL_REDUCE, dimensions),
        "reduce-scatter-implementation": _algorithms(draw, CollectiveKind.REDUCE_SCATTER, dimensions),
        "all-gather-implementation": _algorithms(draw, CollectiveKind.ALL_GATHER, dimensions),
        "all-to-all-implementation": _algorithms(draw, CollectiveKind.ALL_TO_ALL, dimensions),
    }
    flat = any(names[0].startswith("one") for key, names in made.items() if key.endswith("-implementation"))
    if not flat and draw.chance(0.4):
        made["collective-optimization"] = "localBWAware"
    if not flat and draw.chance(0.3):
        made["inter-dimension-scheduling"] = draw.pick("roundRobin", "themis", "themisFlex")
    return made | draw.some(
        0.2,
        **{
            "num-queues-per-dim": draw.pick(1, 2),
            "intra-dimension-scheduling": draw.pick("RG", "SCF", "lessRemainingPhaseFirst"),
            "reduction-bytes-per-ns": draw.pick(10, 1600),
        },
    )


def draw_in_network(draw: Draw, system: Drawn, *, on_one_switch: bool) -> None:
    """Have switches play some of the collectives, over some dimensions."""
    names = ("sharp", "fred", "nvls") if on_one_switch else ("sharp", "fred")
    for key in ("all-reduce", "reduce-scatter", "all-gather"):
        given = system[f"{key}-implementation"]
        if draw.chance(0.8) and not isinstance(given, str):
            flat = given[0].startswith("one")
            played = [draw.pick(*names) if draw.chance(0.7) else name for name in given]
            system[f"{key}-implementation"] = [f"one{draw.pick(*names).capitalize()}"] if flat else played


def read_text(text: str) -> Workload | ModelWorkload:
    """The workload of a job."""
    if text.startswith(models.WORD):
        document = parse_yaml(text, str(REPOSITORY / "inputs" / "workload" / "models" / "soak.yaml"))
        return ModelWorkload(parse_model_file(document, SCHEDULES), "soak.yaml")  # tables stand in that folder
    parse = parse_simai if is_simai(rows_of(text, "soak.txt")) else parse_workload
    return parse(text, "soak.txt")


def _loop(draw: Draw, dimensions: Sequence[int]) -> str:
    loops = [loop for loop in TEXT_LOOPS if len(dimensions) > 1 or loop not in _NEEDS_TWO_DIMENSIONS]
    return "MICRO" if draw.chance(0.35) else draw.pick(*loops)


def loop_or_model(draw: Draw, dimensions: Sequence[int]) -> str:
    """Return a training loop, or a model, for NPUs in these dimensions."""
    if draw.chance(0.15):
        return models.model_text(draw, dimensions)
    loop = _loop(draw, dimensions)
    if loop in SIMAI_LOOPS.values() and draw.chance(0.5):
        return _simai_text(draw, loop, dimensions)
    count = 1 if loop == "MICRO" else draw.randint(2, 4)
    header = loop
    if loop.startswith("HYBRID_DLRM"):
        header += f" {draw.randrange(count - 1)}"
    if loop.startswith("HYBRID_TRANSFORMER"):
        header += f" model_parallel_NPU_group: {dimensions[0]}"
    if loop == "HYBRID_TRANSFORMER_FWD_IN_BCKWD":
        header += f" checkpoints: 1 0 checkpoint_initiates: 1 {count - 1}"
    customized = loop == "HYBRID_CUSTOMIZED"
    rows = []
    for number in range(count):
        policy = f" {draw.pick(*LAYER_POLICIES)}" if customized else ""
        rows.append(f"layer{number} -1 {_passes(draw, loop, number)} {draw.pick(0, 20)}{policy}")
    return "\n".join([header, str(count), *rows, ""])


def _simai_text(draw: Draw, loop: str, dimensions: Sequence[int]) -> str:
    """Groups of whole dimensions, since not every algorithm can do a part of one."""
    strides = [int(np.prod(dimensions[:place])) for place in range(len(dimensions) + 1)]
    stage = draw.pick(*strides)
    tensor, share = sorted(draw.pick(*(stride for stride in strides if stride <= stage)) for _ in range(2))
    batches, count = draw.pick(1, 2, 3), draw.randint(1, 2)
    header = f"{loop} model_parallel_NPU_group: {tensor} ep: {share // tensor} "
    header += f"pp: {strides[-1] // stage} ga: {batches} pp_comm: {draw.between(NOMINAL_BYTES / 10, NOMINAL_BYTES)}"
    if loop.endswith("FWD_IN_BCKWD"):
        header += f" checkpoints: 1 0 checkpoint_initiates: 1 {draw.randrange(count)}"
    rows = []
    for number in range(count):
        words = _passes(draw, loop, number).split()
        for place in (1, 4, 7):
            words[place] += draw.pick("", "_EP", "_DP_EP")
        rows.append(f"layer{number} -1 {' '.join(words)} {draw.pick(0, 20)}")
    return "\n".join([header, str(count * batches), *(rows * batches), ""])


def _passes(draw: Draw, loop: str, layer: int) -> str:
    words = []
    for which in range(3):
        forward_of_embedding = loop.startswith("HYBRID_DLRM") and layer == 0 and which < 2
        kind = "ALLTOALL" if forward_of_embedding else draw.pick(*WORDS.values())
        compute = 0 if loop == "MICRO" else draw.pick(0, 100, 3000)
        words.append(f"{compute} {kind} {draw.between(NOMINAL_BYTES / 10, NOMINAL_BYTES)}")
    return " ".join(words)


def draw_workload(draw: Draw, dimensions: Sequence[int], bandwidths: Sequence[float], budget_bytes: int) -> Drawn:
    """A training loop that sends about ``budget_bytes`` in all."""
    text, system = loop_or_model(draw, dimensions), _system(draw, dimensions)
    passes = draw.pick(1, 1, 2)
    options: Drawn = {
        "passes": passes,
        "compat": draw.weighted({"none": 8, "astra-sim-1.0": 1, "astra-network-ns3": 1}),
    }
    rules = preset(options["compat"])
    if rules.all_reduce_uses_own_algorithms:  # which need not be able to do its parts
        system.pop("collective-optimization", None)
    counted = any(word in text for word in ("zipf", "form:", '"form"')) or "dlrm" in text.split("\n")[0]
    if counted:  # no other algorithm can do it
        system["all-to-all-implementation"] = ["oneDirect"]
    expected = expected_run(_programs(text, passes, dimensions), parse_system(system), bandwidths, rules)
    total = sum(schedule_bytes(play.schedule, play.bytes) * len(play.groups) * play.count for play in expected.plays)
    options["comm_scale"] = float(f"{max(1, budget_bytes) / max(1, total):.3g}")
    return {"kind": "workload", "text": text, "system": system, "options": options}


def _programs(text: str, passes: int, dimensions: Sequence[int]) -> RolePrograms:
    workload = read_text(text)
    if isinstance(workload, Workload):
        return Programs.of(workload, passes, dimensions)
    return training_programs(workload.plan(int(np.prod(dimensions))), workload.clock(), passes, tuple(dimensions))


def written_as_files(seed: int, job: Drawn, dimensions: Sequence[int]) -> Drawn:
    """A third of the loops and half of the flows are played from files, by a draw of its own: the rest stays."""
    draw = Draw(f"files {seed}")
    if job["kind"] == "flows":
        return job | draw.some(0.5, written=True)
    if job["kind"] != "workload" or not draw.chance(1 / 3) or job["options"]["compat"] != "none":
        return job
    reactive = _programs(job["text"], job["options"]["passes"], dimensions).reactive  # of which no graph can be made
    return job if reactive else job | {"written": True}


def with_nccl(seed: int, job: Drawn) -> Drawn:
    """The collectives of a tenth of the loops and models are NCCL's, by a draw of its own: the rest stays."""
    draw = Draw(f"nccl {seed}")
    if job["kind"] != "workload" or job["options"]["compat"] != "none" or not draw.chance(0.1):
        return job
    kept = {key: value for key, value in job["system"].items() if key in _BESIDE_NCCL}
    return {**job, "system": {**kept, "collectives": "nccl", **draw.some(0.8, nccl=_nccl(draw))}}


_BESIDE_NCCL = ("endpoint-delay", "scheduling-policy", "all-to-all-implementation", "intra-dimension-scheduling")
"""Keys that stay where NCCL plays the collectives; an uneven all-to-all is played by its own algorithm."""


def _nccl(draw: Draw) -> Drawn:
    """The table ``nccl``; lists that leave something to every collective on any servers."""
    return draw.some(
        0.4,
        **{
            "version": draw.pick("2.18", "2.20", "2.22.3", "2.26", "2.28", "2.30"),
            "server": draw.pick("dgx-a100", "dgx-h100", "dgx-b200", "p4d", "dgx-1v"),
            "host-overhead": draw.pick(0.5, 20),
            "nic-efficiency": draw.pick(0.5, 0.93),
            "channels": draw.pick("each", "merged"),
            "NCCL_ALGO": draw.pick("Ring", "Tree,Ring", "^NVLS,NVLSTree", "Ring;AllReduce:Tree"),
            "NCCL_PROTO": draw.pick("Simple", "LL", "^LL128", "^LL"),
            "NCCL_MAX_NCHANNELS": draw.pick(1, 2, 8),
            "NCCL_BUFFSIZE": draw.pick(1 << 20, 1 << 23),
        },
    )


def schedule_bytes(schedule: Schedule, size: int) -> int:
    """What all ranks send together, about."""
    return int(schedule.block_count.sum()) * schedule.expansion * size // max(1, schedule.blocks)


def draw_collective(draw: Draw, npus: int, budget_bytes: int) -> Drawn:
    """Any collective on all NPUs, several at a time or one after the other."""
    kind = draw.pick(*CollectiveKind)
    algorithm, times = algorithm_for(draw, kind, npus), draw.pick(1, 2, 4, 60)
    nominal = schedule_bytes(lookup(kind, algorithm, npus), NOMINAL_BYTES)
    size = max(1, NOMINAL_BYTES * budget_bytes // max(1, nominal * times))
    job = {"kind": "collective", "collective": kind.name, "algorithm": algorithm, "bytes": min(size, 4 * NOMINAL_BYTES)}
    return {**job, "times": times, "gap_ps": draw.pick(0, 0, 5_000_000), "endpoint_ps": draw.pick(0, 10_000)}


def draw_flows(draw: Draw, npus: int, budget_bytes: int) -> Drawn:
    """An incast, a permutation, or pairs at random; all at once, or bit by bit."""
    shape = draw.pick("incast", "permutation", "random")
    if shape == "incast":
        victim = draw.randrange(npus)
        pairs_ = [(npu, victim) for npu in range(npus) if npu != victim]
    elif shape == "permutation":
        shift = draw.randint(1, npus - 1)
        pairs_ = [(npu, (npu + shift) % npus) for npu in range(npus)]
    else:
        pairs_ = [tuple(draw.sample(range(npus), 2)) for _ in range(2 * npus)]  # type: ignore[misc]
    spread_ps = draw.pick(0, 0, 1_000_000, 50_000_000)
    size = max(1, budget_bytes // len(pairs_))
    flows = [
        [sender, receiver, draw.between(max(1, size / 4), size + 1), draw.randint(0, spread_ps)]
        for sender, receiver in pairs_
    ]
    return {"kind": "flows", "flows": flows}
