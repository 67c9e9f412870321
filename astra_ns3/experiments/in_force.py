"""The numbers that a network runs with, as plain data: what its file says, and what it leaves to the program."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from astra_ns3.config.transports.roce_control import OwnControl, RoceControl
from astra_ns3.network.plan import AnyPlan, NetworkPlan
from astra_ns3.transport.roce import RoceParameters


def in_force_document(plan: AnyPlan) -> dict[str, Any] | None:
    """Numbers of each transport, of RoCE's congestion control by their set, and of the switches' marking by rate.

    None without packets.
    """
    if not isinstance(plan, NetworkPlan):
        return None
    document: dict[str, Any] = {}
    if plan.tcp is not None:
        document["tcp"] = asdict(plan.tcp)
    if plan.roce is not None and plan.config.roce is not None:
        document["roce"] = _roce(plan.roce, plan.config.roce.congestion_control)
    document["ecn"] = _marking(plan)
    return document


def _roce(parameters: RoceParameters, control: RoceControl) -> dict[str, Any]:
    numbers = asdict(parameters)
    del numbers["control_parameters"], numbers["own_file"], numbers["own_class"]
    return {**numbers, "parameters": _set_of(control), "control": _control(parameters, control)}


def _set_of(control: RoceControl) -> str:
    return "own" if isinstance(control, OwnControl) else control.set_name


def _control(parameters: RoceParameters, control: RoceControl) -> dict[str, float | int]:
    """The control's numbers, with the unit in the name; whole ones as integers."""
    names = control.names_with_units()
    found = {names.get(key, key): value for key, value in parameters.control_parameters.items() if key in names}
    return {name: int(value) if float(value).is_integer() else value for name, value in found.items()}


def _marking(plan: NetworkPlan) -> list[dict[str, Any]]:
    """Thresholds by rate of the port; switches that differ have rows of their own."""
    rows: dict[tuple[object, ...], dict[str, Any]] = {}
    for switch in plan.shape.switches:
        for rate_bps in sorted({port.rate_bps for port in switch.ports}):
            ecn = switch.config.ecn_of(rate_bps)
            if ecn is not None:
                row = {"rate_bps": rate_bps, "kmin_bytes": ecn.kmin_bytes, "kmax_bytes": ecn.kmax_bytes}
                rows[(*row.values(), ecn.pmax)] = {**row, "pmax": ecn.pmax}
    return list(rows.values())
