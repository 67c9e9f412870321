"""The lines that ASTRA-sim 2 prints of each NPU."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from astra_ns3.units import PS_PER_NS

_PRESETS = ("astra-sim-2", "astra-network-ns3")
_PS_PER_US = 1000 * PS_PER_NS


def has_lines(metadata: Mapping[str, object]) -> bool:
    """Whether a run was one of graphs by ASTRA-sim 2's rules."""
    workload = metadata["workload"]
    return metadata["compat"] in _PRESETS and isinstance(workload, Mapping) and "groups" in workload


def astra_sim_lines(npus: Iterable[Mapping[str, str]]) -> str:
    """``sys[0] finished, ...`` for each row of npus.csv, in the order in which they finished; a cycle is a ns."""
    found = [(_cycles(row["finish_us"]), int(row["npu"]), _cycles(row["exposed_us"])) for row in npus]
    lines = [
        f"sys[{npu}] finished, {finish} cycles, exposed communication {exposed} cycles."
        for finish, npu, exposed in sorted(found)
    ]
    return "\n".join(lines)


def _cycles(microseconds: str) -> int:
    whole, _, parts = microseconds.partition(".")
    return (int(whole) * _PS_PER_US + int(parts.ljust(6, "0") or 0)) // PS_PER_NS
