"""What a run's options change of its files."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from astra_ns3.config.core.compatibility import Compatibility, preset
from astra_ns3.config.network.file import AnyNetwork
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.config.system import SystemConfig
from astra_ns3.config.transports.roce_control import OwnControl
from astra_ns3.errors import InputError
from astra_ns3.system.file import parse_system
from astra_ns3.user_code import check_user_file

_NAMED = ("scheduling_policy", "intra_dimension_scheduling", "inter_dimension_scheduling", "congestion_control")


@dataclass(frozen=True)
class Options:
    """What a run's options say of its inputs; :func:`astra_ns3.run` explains them."""

    backend: str = "ns3"
    compat: str = "none"
    num_queues_per_dimension: int | None = None
    injection_scale: float = 1.0
    rendezvous: bool = False
    scheduling_policy: str | None = None
    intra_dimension_scheduling: str | None = None
    inter_dimension_scheduling: str | None = None
    congestion_control: str | None = None
    report_npu: int = 0

    def check(self) -> None:
        """Raise InputError for the first option that is out of range."""
        for name in ("backend", "compat"):
            if not isinstance(getattr(self, name), str):
                raise InputError(f"{name} is {getattr(self, name)!r}, expected a name")
        if not isinstance(self.rendezvous, bool):
            raise InputError(f"rendezvous is {self.rendezvous!r}, expected True or False")
        for name in _NAMED:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"{name.replace('_', '-')} is {value!r}, expected a name")
        preset(self.compat)
        queues, scale = self.num_queues_per_dimension, self.injection_scale
        if queues is not None and (isinstance(queues, bool) or not isinstance(queues, int) or queues < 1):
            raise InputError(f"num-queues-per-dim is {queues!r}, expected a whole number, at least 1")
        if isinstance(self.report_npu, bool) or not isinstance(self.report_npu, int) or self.report_npu < 0:
            raise InputError(f"report-npu is {self.report_npu!r}, expected the number of an NPU, from 0 on")
        number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
        if not number or not (isfinite(scale) and scale > 0):
            raise InputError(f"injection-scale is {scale!r}, expected a number above 0")


USUAL = Options()


def system_with_options(system: SystemConfig, options: Options) -> SystemConfig:
    """The system with what the command line says of it."""
    changes: dict[str, object] = {}
    if options.num_queues_per_dimension is not None:
        changes["num_queues_per_dimension"] = options.num_queues_per_dimension
    if options.injection_scale != 1.0:
        changes["injection_scale"] = options.injection_scale
    if options.rendezvous:
        changes["rendezvous"] = True
    for name in ("scheduling_policy", "intra_dimension_scheduling", "inter_dimension_scheduling"):
        if (policy := getattr(options, name)) is not None:
            changes[name] = policy
    if not changes:
        return system
    file_keys = {field.alias or name: name for name, field in SystemConfig.model_fields.items()}
    document = system.document()
    document.update({key: changes[name] for key, name in file_keys.items() if name in changes})
    return parse_system(document, "options")


def system_with_rules(system: SystemConfig, compatibility: Compatibility) -> SystemConfig:
    """The system as another simulator's rules have it."""
    if compatibility.endpoint_delay_ns is None:
        return system
    return system.model_copy(update={"endpoint_delay_ns": compatibility.endpoint_delay_ns, "injection_scale": 1.0})


def network_with_options(network: AnyNetwork, options: Options) -> AnyNetwork:
    """The network with what the command line says of it.

    Raises InputError for a congestion control without RoCE, or one of the user's whose file isn't there.
    """
    changed = _with_congestion_control(network, options.congestion_control)
    if isinstance(changed, NetworkConfig) and changed.roce is not None:
        control = changed.roce.congestion_control
        if isinstance(control, OwnControl):
            check_user_file(Path(control.path), "congestion control")
    return changed


def _with_congestion_control(network: AnyNetwork, name: str | None) -> AnyNetwork:
    if name is None:
        return network
    if not isinstance(network, NetworkConfig) or network.roce is None:
        found = network.transport.kind if isinstance(network, NetworkConfig) else "none: it is analytical"
        raise InputError(f"congestion-control {name!r} needs transport roce; the network's transport is {found}")
    if name == network.roce.congestion_control.kind:
        return network
    document = network.document()
    document["topology"] = network.topology  # as it is: a user's own is built once
    for transport in document.get("transports") or [document["transport"]]:
        if transport["kind"] == "roce":
            transport |= {"congestion_control": name, "telemetry_bytes": None, "ack_telemetry_bytes": None}
    return parse_network(document, "--congestion-control")
