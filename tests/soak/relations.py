"""Relations of two runs whose configurations differ: in other units, as a graph, better in one way, or doubled.

Each returns what is wrong, or None if the seed's run can't tell.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from astra_ns3.config.network.file import read_network_file
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.workload import Workload
from astra_ns3.errors import AstraNs3Error, InputError
from astra_ns3.experiments.request import RunRequest
from astra_ns3.experiments.run import execute
from astra_ns3.experiments.scenario_request import ScenarioRequest
from astra_ns3.playing.converting.conversion import Unrolling, convert
from astra_ns3.topology.builders import build_graph
from astra_ns3.topology.files.writing import export_text
from astra_ns3.workload.files.chakra.trace import read_chakra
from astra_ns3.workload.files.workload_formats import read_workload
from astra_ns3.workload.models.changes import changed, write_model
from astra_ns3.workload.models.workload import read_model
from soak.case import Case, network_document, write_files
from soak.cases import random_case
from soak.draw import Draw
from soak.jobs import read_text
from soak.models import model_text
from soak.requests import request_of
from soak.rewritten import in_other_units, rewritten, times

Found = list[str] | None
SHARE = 0.03
"""Of the soak's bytes."""
_ANOMALY = 1.1
"""Collectives in another order can take a little longer, though all is faster (Graham 1969)."""
NO_REDUCTION = 10**12
"""Bytes that an NPU adds up in a ns, of which there are only whole ones."""
_MORE_BYTES = 1000
"""So that the packet that every switch waits for is nothing beside a message."""
_NO_TIME = Fraction(1, 10**6)
_IDLE = {
    "parallel.sequence": True,
    "parallel.gather_inputs_again": False,
    "parallel.overlap_tensor": True,
    "parallel.context_by": "ring",
    "parallel.bucket": "1KB",
    "parallel.overlap": False,
    "parallel.prefetch": 3,
    "training.recompute": "selective",
}
"""Keys that change nothing in some models."""
_LOSSLESS = "compute: {device: A100-80GB, overlap_slowdown: 1, scale_up_efficiency: 1}\n"
_GRAPHS = ("graph.json", "graph.graphml", "graph.txt")


class NotPlayed(Exception):
    """A run that this network, or this way to play, refuses, or that doesn't come to its end."""


def usable_case(seed: int) -> Case | None:
    """The case of a seed, if a user could ask for it, it needs no compiler and its network is in no other file."""
    case = replace(random_case(seed), cores=1)
    asked = case.job["kind"] == "workload" or case.job.get("written")
    return case if case.network and asked and not case.files and ".hpp" not in case.document() else None


def drawn_request(case: Case, folder: Path, *, backend: str = "ns3", document: Any = None) -> RunRequest:
    """The request of a case, with another network if ``document`` is one."""
    write_files(case, folder)
    network = parse_network(network_document(case, folder) if document is None else document)
    return replace(request_of(case, folder, share=SHARE), network=network, backend=backend, isolated=False)


def played(request: RunRequest) -> dict[str, Any]:
    """Play a run; return run.json's content. Raises NotPlayed."""
    try:
        outcome = execute(request)
    except AstraNs3Error as error:
        raise NotPlayed(str(error)) from error
    if outcome.error is not None:
        raise NotPlayed(str(outcome.error))
    return dict(outcome.result.metadata)


def finish_ps(request: RunRequest) -> int:
    """Play a run; return when it finished. Raises NotPlayed."""
    return int(played(request)["finish_ps"])


def apart(what: str, one: float, other: float, factor: float) -> list[str]:
    """A line if two numbers differ by more than a factor, and by more than two."""
    low, high = sorted((one, other))
    return [f"{what}: {one:,} and {other:,}, {other / max(one, 1):.4f}"] if high > low * factor + 2 else []


def quiet(topology: Any, payload: int) -> dict[str, Any]:
    """The network without losses, marks, pauses and control: every packet goes as soon as its line is free."""
    return {
        "topology": {**_quiet(topology), "routing": {"kind": "ecmp", "seed": 1}},
        "transport": {"kind": "roce", "payload": payload, "congestion_control": "none"},
    }


def _quiet(value: Any) -> Any:
    if isinstance(value, list):
        return [_quiet(each) for each in value]
    if not isinstance(value, dict):
        return value
    if is_switch(value):
        return {"buffer": "100GB", "ecn": "off"}
    return {key: _quiet(each) for key, each in value.items() if key not in ("error_rate", "nic", "storage")}


def is_switch(group: Any) -> bool:
    return isinstance(group, dict) and "buffer" in group and "piece" not in group


def _quiet_request(seed: int, folder: Path, *backends: str) -> tuple[Draw, RunRequest] | None:
    case = usable_case(seed)
    if case is None or any(f'"{word}"' in case.document() for word in ("reduction", "storage")):
        return None
    draw = Draw(f"related {seed}")
    document = quiet(case.network["topology"], case.network.get("transport", {}).get("payload", 1000))
    return draw, drawn_request(case, folder, backend=draw.pick(*backends), document=document)


def all_at_once(workload: Any) -> bool:
    """Whether a loop's collectives don't wait for each other, so that their order is chance."""
    return getattr(workload, "loop", "") == "MICRO"


def changed_network(request: RunRequest | ScenarioRequest, **factors: Fraction | int) -> NetworkConfig:
    """Return the network of a request with all numbers of these units multiplied."""
    assert isinstance(request.network, NetworkConfig)
    return parse_network(rewritten(request.network, times(**factors)))


def other_units(seed: int, folder: Path) -> Found:
    """The same numbers in other units are the same network."""
    case = usable_case(seed)
    if case is None:
        return None
    network = parse_network(network_document(case, folder))
    document = rewritten(network, in_other_units(Draw(f"units {seed}")))
    (folder / "network.json").write_text(json.dumps(document), encoding="utf-8")
    return [] if read_network_file(folder / "network.json").network == network else [f"other numbers: {document}"]


def as_graph(seed: int, folder: Path) -> Found:
    """A topology of our own, and the graph that ``show network`` writes of it, are the same network."""
    drawn = _quiet_request(seed, folder, "ns3", "flow")
    if drawn is None:
        return None
    draw, request = drawn
    if "themis" in str(request.system):  # which doesn't know the bandwidths of a graph's dimensions
        return None
    assert isinstance(request.network, NetworkConfig)
    topology = request.network.topology
    name, graph = draw.pick(*_GRAPHS), build_graph(topology)
    if name.endswith(".txt") and (graph.injection_ports or graph.inside_levels):
        return None  # HPCC's text doesn't tell routers of hosts, and shared NICs, from other switches
    (folder / name).write_text(export_text(graph, topology, name), encoding="utf-8")
    payload: int = request.network.transport.payload_bytes  # type: ignore[union-attr]
    keys = {"dimensions": list(topology.logical_dimensions), "switch": {"buffer": "100GB", "ecn": "off"}}
    document = quiet({"kind": "file", "path": str(folder / name), **keys}, payload)
    again = replace(request, network=parse_network(document))
    return apart(f"finish on {request.backend} with {name}", finish_ps(request), finish_ps(again), 1.0)


def written_again(seed: int, folder: Path) -> Found:
    """A model is the same without the keys that are told to be without effect, which its written file leaves out."""
    drawn = _quiet_request(seed, folder, "ns3", "flow")
    if drawn is None:
        return None
    draw, request = drawn
    text = model_text(draw, request.network.dimensions)  # type: ignore[union-attr]
    (folder / "model.yaml").write_text(text, encoding="utf-8")
    drops = {"model.experts.capacity": 1.5} if "experts:" in text else {}
    model = changed(read_model(folder / "model.yaml"), draw.some(0.5, **_IDLE, **drops))
    write_model(model, folder / "again.yaml")
    one, other = (replace(request, workload=each) for each in (model, read_model(folder / "again.yaml")))
    return apart(f"finish on {request.backend}", finish_ps(one), finish_ps(other), 1)


def converted(seed: int, folder: Path) -> Found:
    """A model as SimAI's text, or else as Chakra's traces, takes as long, but for members that end one by one."""
    drawn = _quiet_request(seed, folder, "ns3", "flow", "analytical")
    if drawn is None:
        return None
    draw, request = drawn
    dimensions: tuple[int, ...] = request.network.dimensions  # type: ignore[union-attr]
    model, path = read_text(model_text(draw, dimensions) + _LOSSLESS), folder / "again"
    unrolling = Unrolling(dimensions, scheduling_policy=request.system.scheduling_policy)  # type: ignore[union-attr]
    try:
        warnings = convert(model, "simai", path, unrolling).warnings
    except InputError:
        warnings = convert(model, "chakra", path, unrolling).warnings
    if any("duration_micros" not in warning for warning in warnings):
        return None
    groups = folder / "again.groups.json"
    again = read_workload(path) if path.exists() else read_chakra(path, groups if groups.exists() else None)
    keys: dict[str, Any] = {"comm_scale": 1.0, "passes": 1, "compat": "none"}  # ASTRA-sim 2 plays a graph's in turn
    one, other = (replace(request, workload=each, **keys) for each in (model, again))
    return apart(f"finish on {one.backend}, {type(again).__name__}", finish_ps(one), finish_ps(other), _ANOMALY)


def better(seed: int, folder: Path) -> Found:
    """Faster lines, shorter delays, fewer bytes and faster computing don't make a run longer, but for anomalies."""
    drawn = _quiet_request(seed, folder, "ns3", "flow", "analytical", "analytical-queues")
    if drawn is None:
        return None
    _, request = drawn
    if all_at_once(request.workload):
        return None
    changes: dict[str, dict[str, Any]] = {
        "lines twice as fast": {"network": changed_network(request, bps=2)},
        "half the delays": {"network": changed_network(request, ps=Fraction(1, 2))},
        "half the bytes": {"comm_scale": request.comm_scale / 2},
        "half the computing": {"compute_scale": request.compute_scale / 2},
    }
    whole_ps, found = finish_ps(request), []
    for name, keys in changes.items():
        time_ps = finish_ps(replace(request, **keys))
        if time_ps > _ANOMALY * whole_ps:
            found.append(f"{name} on {request.backend}: {whole_ps:,}, then {time_ps:,}, {time_ps / whole_ps:.4f}")
    return found


def doubled(seed: int, folder: Path) -> Found:
    """Twice the bytes and twice the computing take twice as long where nothing else takes time."""
    drawn = _quiet_request(seed, folder, "flow", "analytical", "analytical-queues")
    if drawn is None:
        return None
    _, request = drawn
    if all_at_once(request.workload) or request.system.plays_nccl:  # type: ignore[union-attr]  # which goes by size
        return None
    free = {"endpoint_delay_ns": 0, "start_jitter_ns": 0, "reduction_bytes_per_ns": NO_REDUCTION}
    system = request.system.model_copy(update=free)  # type: ignore[union-attr]
    bytes_scale = _MORE_BYTES * request.comm_scale
    one = replace(request, system=system, network=changed_network(request, ps=_NO_TIME), comm_scale=bytes_scale)
    keys: dict[str, Any] = {"compute_scale": 2 * one.compute_scale}
    if isinstance(one.workload, Workload):
        layers = tuple(replace(layer, update_ns=2 * layer.update_ns) for layer in one.workload.layers)
        keys["workload"] = replace(one.workload, layers=layers)
    two = replace(one, comm_scale=2 * one.comm_scale, **keys)
    return apart(f"finish on {request.backend}", 2 * finish_ps(one), finish_ps(two), _ANOMALY)
