"""A run's three files as plain data: what changes are made to, and what the address of a study's point is made of."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, Union

from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.core.document import Document, KeyPath
from astra_ns3.config.core.model import shown, validated
from astra_ns3.config.core.plain import Json, JsonObject
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.flow_stream import FlowStream
from astra_ns3.config.graph_workload import GraphWorkload
from astra_ns3.config.network.analytical_network import AnalyticalNetwork
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.workload import Layer, ParallelGroup, Pass, Workload
from astra_ns3.errors import InputError, failing, nearest, refuse, wrong
from astra_ns3.system.file import parse_system
from astra_ns3.units import PS_PER_NS, parse_bytes, parse_time_ps
from astra_ns3.user_code import FORM, user_part
from astra_ns3.workload.files.chakra.trace import ChakraTrace
from astra_ns3.workload.files.workload_formats import AnyWorkload
from astra_ns3.workload.loops.loop_kinds import LOOPS
from astra_ns3.workload.models.workload import ModelWorkload

Made = TypeVar("Made")
AnyConfig = AnyWorkload | SystemConfig | AnyNetwork
Read = Union["Json", CollectiveKind, ParallelGroup]
"""A value of a workload's file, or what its text means."""
PASSES = ("forward", "input_gradient", "weight_gradient")


def document_of(config: AnyConfig) -> JsonObject:
    """All that a file says, defaults written out."""
    if isinstance(config, Workload):
        found: JsonObject = json.loads(json.dumps(asdict(config, dict_factory=_plain)))  # lists, not tuples
        if not config.warnings:
            del found["warnings"]
        return found
    if isinstance(config, (FlowList, FlowStream, GraphWorkload)):
        return {"source": config.source, "content": _content_digest(config)}
    if isinstance(config, ModelWorkload):
        return config.file.document()
    return config.document()


# Our own workloads' fields that say where their files lie.
_OF_PLACE = ("source", "files", "warnings", "missing_callers")
_OWN = (FlowList, FlowStream, ChakraTrace)
_UNPICKLED = "cannot be pickled, which gives a study's points their names; leave files, locks and functions out of it"


def _content_digest(workload: FlowList | FlowStream | GraphWorkload) -> str:
    """Digest of all that is in a list of flows, or in the files of graphs and what was read beside them.

    A workload of another class than ours counts whole: nobody knows what of it says where it lies.
    """
    said: object = workload
    if type(workload) in _OWN:
        attributes = vars(workload).items()
        said = {name: each for name, each in attributes if name not in _OF_PLACE and not name.startswith("_")}
    with failing(Exception, _UNPICKLED, workload.source):  # what a user's class raises
        found = hashlib.sha256(pickle.dumps(said))
    if isinstance(workload, GraphWorkload):
        for path in dict.fromkeys(workload.file_of(npu) for npu in range(workload.npus)):
            with suppress(OSError):  # graphs of a user's class may have no file; ours tell when they are played
                found.update(hashlib.sha256(Path(path).read_bytes()).digest())
    return found.hexdigest()


def _plain(items: list[tuple[str, Any]]) -> JsonObject:  # as dataclasses.asdict gives them
    return {name: each.value if isinstance(each, CollectiveKind) else each for name, each in items}


def given_of(config: AnyConfig) -> JsonObject:
    """As :func:`document_of`, without what the file leaves open, so that a change may lead to other defaults."""
    if isinstance(config, (Workload, FlowList, FlowStream, GraphWorkload)):
        return document_of(config)
    model = config.file if isinstance(config, ModelWorkload) else config
    given: JsonObject = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
    topology = given.get("topology")
    if isinstance(topology, dict) and isinstance(topology.get("scale_out"), dict):
        topology["scale_out"].pop("npus", None)  # what nodes and NICs make it
    return given


def parsed(config: AnyConfig, data: JsonObject, source: str, lines: Mapping[KeyPath, int]) -> AnyConfig:
    """Read plain data as a file of the same kind as ``config``; raises InputError with ``source``, line and key."""
    if isinstance(config, Workload):
        return loop_of(data, Document(source, data, lines))
    if isinstance(config, (FlowList, FlowStream, GraphWorkload)):
        refuse(data != document_of(config), f"{config.source} has no keys to change: it is no training loop", source)
        return config
    if isinstance(config, ModelWorkload):
        return model_of(Document(source, data, lines), config.source)
    if isinstance(config, SystemConfig):
        changed = parse_system(data, source, lines)
        return changed if config.source is None else changed.read_from(config.source)
    document = Document(source, data, lines)
    if isinstance(config, NetworkConfig):
        return validated(NetworkConfig, document)
    return validated(AnalyticalNetwork, document)


def model_of(document: Document, source: str) -> ModelWorkload:
    """Return the model that plain data describe. Raises InputError."""
    from astra_ns3.config.model.file import parse_model_file
    from astra_ns3.workload.training.schedules import SCHEDULES

    return ModelWorkload(parse_model_file(document, SCHEDULES), source)


def loop_of(data: Mapping[str, Any], document: Document) -> Workload:  # checked key by key below
    """The workload that plain data describe, as :func:`document_of` has it."""
    _keys(data, Workload, (), document)
    layers, loop = data["layers"], str(data["loop"])
    if loop not in LOOPS and user_part(loop) is None:
        allowed = f"allowed: {', '.join(LOOPS)}, {FORM}{nearest(loop, LOOPS)}"
        raise wrong(f"key 'loop': found {shown(loop)}, {allowed}", document.where(("loop",)))
    if not isinstance(layers, (list, tuple)) or not layers:
        raise wrong(f"key 'layers': found {shown(layers)}, expected layers", document.where(("layers",)))
    made = tuple(_layer(layer, ("layers", index), document) for index, layer in enumerate(layers))
    lists = {name: tuple(data.get(name) or ()) for name in ("checkpoints", "checkpoint_initiates", "warnings")}
    return Workload(**{**data, **lists, "layers": made})


def _layer(data: Json, path: KeyPath, document: Document) -> Layer:
    keys = _keys(data, Layer, path, document)
    passes = {name: _pass(keys[name], (*path, name), document) for name in PASSES}
    update = _read("update_ns", keys.get("update_ns", 0), (*path, "update_ns"), document)
    return _made(Layer, {**keys, **passes, "update_ns": update}, path, document)


def _pass(data: Json, path: KeyPath, document: Document) -> Pass:
    keys = _keys(data, Pass, path, document)
    values = {name: _read(name, each, (*path, name), document) for name, each in keys.items()}
    return _made(Pass, values, path, document)


def _read(name: str, value: Json, path: KeyPath, document: Document) -> Read:
    """A size, a time or a collective of a workload's, with or without a unit."""
    if isinstance(value, str):
        try:
            return _READERS.get(name, str)(value)
        except InputError as error:
            raise wrong(f"key '{_dotted(path)}': {error}", document.where(path)) from error
    return value


def _nanoseconds(value: str) -> int:
    time_ps = parse_time_ps(value)
    refuse(bool(time_ps % PS_PER_NS), f"found {shown(value)}, expected whole nanoseconds")
    return time_ps // PS_PER_NS


def _named(names: Mapping[str, Read], value: str) -> Read:
    if value.upper() not in names:
        raise wrong(f"found {shown(value)}, allowed: {', '.join(names)}{nearest(value, names)}")
    return names[value.upper()]


_READERS: Mapping[str, Callable[[str], Read]] = {
    "group": partial(_named, {group.value: group for group in ParallelGroup}),
    "bytes": parse_bytes,
    "compute_ns": _nanoseconds,
    "update_ns": _nanoseconds,
    "collective": partial(_named, {"NONE": None, **{kind.value: kind for kind in CollectiveKind}}),
}


def _keys(data: Json, model: type[Workload | Layer | Pass], path: KeyPath, document: Document) -> Mapping[str, Json]:
    """Return ``data``; raises InputError unless all of it are keys of ``model``."""
    names = [field.name for field in fields(model)]
    if not isinstance(data, Mapping):
        at = f"key '{_dotted(path)}'"
        raise wrong(f"{at}: found {shown(data)}, expected keys: {', '.join(names)}", document.where(path))
    for key in data:
        if key not in names:
            where = f"{document.where((*path, key))}: key '{_dotted((*path, key))}'"
            raise wrong(f"unknown key; allowed: {', '.join(names)}{nearest(str(key), names)}", where)
    return data


def _made(model: Callable[..., Made], values: Mapping[str, Read | Pass], path: KeyPath, document: Document) -> Made:
    try:
        return model(**values)
    except InputError as error:
        raise wrong(f"key '{_dotted(path)}': {error}", document.where(path)) from error


def _dotted(path: KeyPath) -> str:
    return ".".join(map(str, path))
