"""Options of a run, which change what its files say."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from math import isfinite, prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astra_ns3.config.core.compatibility import PRESETS, preset
from astra_ns3.errors import check_known, refuse, whole_number, wrong
from astra_ns3.experiments.option import INPUTS, OUTPUT, RULES, SIZE, Flag, option, options_of
from astra_ns3.frozen import dataclass
from astra_ns3.network.backends import ABILITIES, backends_in_words
from astra_ns3.units import LARGEST_INTEGER
from astra_ns3.user_code import check_user_file

if TYPE_CHECKING:  # help and Tab do without them, and without what the methods import
    from astra_ns3.config.compute_slowdown import ComputeSlowdown
    from astra_ns3.config.network.file import AnyNetwork
    from astra_ns3.config.system import SystemConfig
    from astra_ns3.network.api import NetworkBackend
    from astra_ns3.network.backend_makers import Factory

_POLICY = 'instead of the system file\'s: a policy, or a function of your own, as "FILE.py:function".'
_PRESETS = ", ".join(PRESETS)
_JSON = (".json",)
_DOCUMENTS = (".yaml", ".yml", *_JSON)
_NAMES = ("str", "str | None")


def _names(module: str, table: str) -> Callable[[], Iterable[str]]:
    """Return what finds the names in a table when a shell asks for them."""
    return lambda: getattr(import_module(f"astra_ns3.{module}"), table)


def _settings(texts: Iterable[str]) -> Mapping[str, object]:
    from astra_ns3.config.core.changing import settings_of

    return settings_of(texts)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a run that change its inputs. Each is declared here, once; see :mod:`astra_ns3.experiments.option`."""

    passes: int = option(
        1, "training passes, at least 1.", Flag("-p --passes --num-passes", help="Training passes."), group=SIZE
    )
    scale: float = option(
        1.0,
        "multiplies the size of every collective and every compute time (of flows sizes and starts), besides the next "
        "two; above 0.",
        Flag("--scale", help="Multiplies every size and compute time; of flows sizes and starts."),
        group=SIZE,
    )
    comm_scale: float = option(
        1.0,
        "multiplies the size of every collective, cut to whole bytes, at least one; above 0. Alone it changes what "
        "computation hides.",
        Flag("--comm-scale", help="Multiplies every size."),
        group=SIZE,
    )
    compute_scale: float = option(
        1.0,
        "multiplies every compute time, cut to whole nanoseconds; update times stay; of flows the starts. "
        "Not negative.",
        Flag("--compute-scale", help="Multiplies compute times; of flows starts."),
        group=SIZE,
    )
    backend: str | NetworkBackend | Factory = option(
        "ns3",
        f"{backends_in_words()}; also an object that fulfils NetworkBackend, or a function that makes one from "
        "(network plan, seed, recorder options, on_built).",
        Flag("--backend", suggested=tuple(ABILITIES), help=f"{', '.join([*ABILITIES][:-1])} or {[*ABILITIES][-1]}."),
        group=RULES,
    )
    compat: str = option(
        "none",
        f"a preset of another simulator's rules: {_PRESETS}. A config.txt as network brings astra-network-ns3 with it.",
        Flag(
            "--compat",
            suggested=tuple(PRESETS),
            help=f"Whose rules: {_PRESETS}; none: ours.",
        ),
        group=RULES,
    )
    num_queues_per_dimension: int | None = option(
        None,
        "queues of each dimension that phases take in turn; None: the system file's, or 1.",
        Flag("--num-queues-per-dim", help="Number of queues of each dimension; phases use them in turn."),
        group=RULES,
    )
    injection_scale: float = option(
        1.0,
        "instead of the system file's: multiplies the endpoint delay, cut to whole nanoseconds; above 0.",
        Flag("--injection-scale", help="Multiplies the endpoint delay."),
        group=RULES,
    )
    rendezvous: bool = option(
        False,
        'a receiver invites each message by one of 8192 bytes (backend "analytical" only).',
        Flag("--rendezvous-protocol", help="Receivers invite messages (analytical only).", valued=True),
        group=RULES,
    )
    scheduling_policy: str | None = option(
        None,
        _POLICY,
        Flag(
            "--scheduling-policy",
            suggested=_names("system.policies", "USUAL_POLICIES"),
            help="Which collective goes first: LIFO, FIFO, EXPLICIT or FILE.py:name. Replaces the system file's.",
        ),
        group=RULES,
    )
    intra_dimension_scheduling: str | None = option(
        None,
        _POLICY,
        Flag(
            "--intra-dimension-scheduling",
            suggested=_names("system.intra_dimension", "INTRA_DIMENSION"),
            help="Order of chunks in a dimension's queue, or FILE.py:name. Replaces the system file's.",
        ),
        group=RULES,
    )
    inter_dimension_scheduling: str | None = option(
        None,
        _POLICY,
        Flag(
            "--inter-dimension-scheduling",
            suggested=_names("system.inter_dimension", "INTER_DIMENSION"),
            help="Order of a chunk's dimensions, or FILE.py:name. Replaces the system file's.",
        ),
        group=RULES,
    )
    congestion_control: str | None = option(
        None,
        "instead of the network file's, if its transport is RoCE: a name, or a class of your own, as "
        '"FILE.hpp:Class" or "FILE.py:Class".',
        Flag(
            "--congestion-control",
            metavar="NAME",
            suggested=_names("config.transports.roce_control", "KINDS"),
            help="RoCE's control, or FILE.hpp:Class. Replaces the network file's.",
        ),
        group=RULES,
    )
    groups: str | os.PathLike[str] | None = option(
        None,
        'file of the communicator groups that a workload of graphs names, as {"1": [0, 1]}.',
        Flag(
            "--groups --comm-group-configuration",
            metavar="FILE",
            endings=_JSON,
            help="Groups that a workload of graphs names.",
        ),
        group=INPUTS,
    )
    remote_memory: str | os.PathLike[str] | None = option(
        None,
        "file of the memory besides the NPUs' own, for memory nodes of a workload of graphs.",
        Flag(
            "--remote-memory --remote-memory-configuration",
            metavar="FILE",
            endings=_DOCUMENTS,
            help="Memory besides the NPUs' own.",
        ),
        group=INPUTS,
    )
    compute_slowdown: str | os.PathLike[str] | ComputeSlowdown | Mapping[str, object] | None = option(
        None,
        "file of what makes NPUs compute slower: stragglers, jitter, collectives that take processors or memory; or "
        "its keys, or a ComputeSlowdown.",
        Flag(
            "--compute-slowdown",
            metavar="FILE",
            endings=_DOCUMENTS,
            help="What makes NPUs compute slower: stragglers, jitter.",
        ),
        group=INPUTS,
    )
    logical_topology: str | os.PathLike[str] | None = option(
        None,
        'file of the dimensions that a network of packets is seen as, as {"logical-dims": ["2", "4"]}; None: its own.',
        Flag(
            "--logical-topology --logical-topology-configuration",
            metavar="FILE",
            endings=_DOCUMENTS,
            help="Dimensions of the network.",
        ),
        group=INPUTS,
    )
    changes: Mapping[str, Any] | None = option(  # a key's value is checked by the file's model
        None,
        'other values of keys of the files, as {"network.topology.link.rate": "400Gbps"}; the file\'s name in front '
        "may be left out if no other file has such a key.",
        Flag(
            "--set",
            metavar="KEY=VALUE",
            many=True,
            keys=True,
            help="Another value of a key of a file, such as network.topology.link.rate=400Gbps; may be repeated.",
        ),
        made=_settings,
        group=INPUTS,
    )
    report_npu: int = option(
        0,
        "the NPU whose times are in EndToEnd.csv, detailed.csv and the other tables of one NPU.",
        Flag("--report-npu", metavar="N", help="The NPU whose times are in EndToEnd.csv and detailed.csv."),
        group=OUTPUT,
    )

    @property
    def scales(self) -> tuple[float, float]:
        """Factors of sizes and of compute times, ``scale`` in both; raises InputError unless that is above 0."""
        from astra_ns3.experiments.scaling import joint_scales

        return joint_scales(self.scale, self.comm_scale, self.compute_scale)

    @property
    def backend_name(self) -> str:
        """The backend's name, or that of its type."""
        if isinstance(self.backend, str):
            return self.backend
        return getattr(self.backend, "__name__", type(self.backend).__name__)

    def check(self) -> None:
        """Raise InputError for the first option that is out of range."""
        from astra_ns3.config.core.scales import check_scales
        from astra_ns3.experiments.changes.setting import check_changes
        from astra_ns3.experiments.scaling import joint_scales

        check_passes(self.passes)
        self._check_backend()
        check_scales(self.comm_scale, self.compute_scale)
        joint_scales(self.scale, self.comm_scale, self.compute_scale)
        for one in options_of(type(self)):
            value = getattr(self, one.name)
            if value is None and one.default is None:
                continue
            if one.kind is bool and not isinstance(value, bool):
                raise wrong(f"{one.name} is {value!r}, expected True or False")
            if one.annotation in _NAMES and not isinstance(value, str):
                raise wrong(f"{one.name.replace('_', '-')} is {value!r}, expected a name")
        check_changes({} if self.changes is None else self.changes)
        preset(self.compat)
        queues, scale = self.num_queues_per_dimension, self.injection_scale
        if queues is not None:
            whole_number("num-queues-per-dim", queues, 1)
        refuse(
            isinstance(self.report_npu, bool) or not isinstance(self.report_npu, int) or self.report_npu < 0,
            f"report-npu is {self.report_npu!r}, expected the number of an NPU, from 0 on",
        )
        number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
        refuse(
            not number or not (isfinite(scale) and scale > 0),
            f"injection-scale is {scale!r}, expected a number above 0",
        )

    def _check_backend(self) -> None:
        from astra_ns3.config.core.model import shown
        from astra_ns3.network.backend_makers import BACKENDS, check_factory, check_given

        if isinstance(self.backend, str):
            check_known("backend", self.backend, BACKENDS)
        elif callable(self.backend):
            check_factory(self.backend)
        elif not hasattr(self.backend, "npus"):
            raise wrong(
                f"backend is {shown(self.backend)}, expected a name, a NetworkBackend or a function that makes one"
            )
        else:
            check_given(self.backend)


USUAL = Options()


def check_passes(passes: int) -> None:
    """Raise InputError unless ``passes`` is a whole number from 1."""
    whole_number("passes", passes, 1)
    refuse(passes > LARGEST_INTEGER, f"passes is too large, expected at most {LARGEST_INTEGER}")


def system_with_options(system: SystemConfig, options: Options) -> SystemConfig:
    """The system with what the options say of it: those of the same name as one of its keys, if they aren't usual."""
    from astra_ns3.config.formats.remote_memory import read_remote_memory
    from astra_ns3.config.system import SystemConfig
    from astra_ns3.system.file import parse_system

    given = {one.name: getattr(options, one.name) for one in options_of(Options)}
    changes = {name: value for name, value in given.items() if value != getattr(USUAL, name)}
    if not changes.keys() & SystemConfig.model_fields.keys():
        return system
    file_keys = {field.alias or name: name for name, field in SystemConfig.model_fields.items()}
    document = {key: value for key, value in system.document().items() if value != []}  # of keys that no one gave
    document.update({key: changes[name] for key, name in file_keys.items() if name in changes})
    if options.remote_memory is not None:
        document["remote-memory"] = read_remote_memory(options.remote_memory).document()
    return parse_system(document, "options")


def network_with_options(network: AnyNetwork, options: Options) -> AnyNetwork:
    """The network with what the command line says of it.

    Raises InputError for a congestion control without RoCE, or one of the user's whose file isn't there.
    """
    changed = _with_congestion_control(network, options.congestion_control)
    if options.logical_topology is not None:
        changed = _with_dimensions(changed, options.logical_topology)
    if changed.own_control is not None:
        check_user_file(Path(changed.own_control.path), "congestion control")
    return changed


def _with_dimensions(network: AnyNetwork, file: str | os.PathLike[str]) -> AnyNetwork:
    """The same wires, seen as the dimensions that ASTRA-sim 2's file has."""
    from astra_ns3.config.formats.logical_topology import read_logical_topology
    from astra_ns3.config.network.packet_network import NetworkConfig

    dimensions = read_logical_topology(file)
    if dimensions == network.dimensions:
        return network
    if not isinstance(network, NetworkConfig):
        raise wrong(f"an analytical network has dimensions of its own: {network.dimensions}", file)
    refuse(
        prod(dimensions) != network.npus,
        f"key 'logical-dims': {list(dimensions)} make {prod(dimensions)} NPUs, the network has {network.npus}",
        file,
    )
    return network.model_copy(update={"topology": network.topology.model_copy(update={"dimensions": dimensions})})


def _with_congestion_control(network: AnyNetwork, name: str | None) -> AnyNetwork:
    if name is None:
        return network
    from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
    from astra_ns3.config.transports.kinds import TRANSPORT_KEYS
    from astra_ns3.config.transports.tcp import CONGESTION_CONTROLS

    if not any(each.takes_control for each in network.each_transport):
        needed = " or ".join(keys.model_fields["kind"].default for keys in TRANSPORT_KEYS if keys.takes_control)
        found = next((each.kind for each in network.each_transport[-1:]), "none: it is analytical")
        by_set = found == "tcp" and name.lower() in map(str.lower, CONGESTION_CONTROLS)
        raise wrong(
            f"congestion-control {name!r} needs transport {needed}; the network's transport is {found}"
            + f"; use --set transport.congestion_control={name}" * by_set
        )
    changes = {each.kind: each.control_keys(name) for each in network.each_transport}
    if not any(changes.values()) or not isinstance(network, NetworkConfig):
        return network
    document = network.document()
    document["topology"] = network.topology  # as it is: a user's own is built once
    for transport in document.get("transports") or [document["transport"]]:
        transport |= changes[transport["kind"]]
    return parse_network(document, "--congestion-control")
