"""The HPCC simulator's config.txt, as astra-network-ns3 and SimAI read it, to a network of ours and a preset of rules.

Rules of its code that have no key stand in :func:`_transport` and :func:`_pfc`: header sizes without Ethernet, a queue
pair for each message, completion at the last acknowledgement, times in whole nanoseconds.
"""

from __future__ import annotations

from pathlib import Path

from astra_ns3.config.core.plain import Json
from astra_ns3.config.formats.hpcc_controls import congestion_control
from astra_ns3.config.formats.hpcc_keys import WITHOUT_EFFECT, HpccValues, read_values
from astra_ns3.config.formats.hpcc_topology import HpccTopology, read_hpcc_topology
from astra_ns3.config.network.packet_network import NetworkConfig, parse_network
from astra_ns3.frozen import dataclass
from astra_ns3.units import counted

PRESET = "astra-network-ns3"
_DATA_PRIORITY = 3
_HEADROOM_FACTOR = 3
_NACK_INTERVAL = "500us"
_MIB = 2**20
_TOPOLOGY_BESIDE = (
    "; a network file of two lines, 'config: {path}' and 'topology: FILE', joins it with a topology, "
    "as SimAI's -c and -n"
)
_THOUSAND = 1000
# The samples say that queues are never watched by a start of 9e18 ns; eleven days count as never.
_NEVER_NS = 10**15


@dataclass(frozen=True)
class HpccConfig:
    """The network that a config.txt describes, and what to say of keys that aren't modelled."""

    network: NetworkConfig
    warnings: tuple[str, ...]


def read_hpcc_config(path: str, topology_path: str | None = None, source: str | None = None) -> HpccConfig:
    """Read a config.txt and the topology that it names, relative to it; raises InputError with file and line.

    ``topology_path``: that of a network file, ``source``, which names both; seen from its folder.
    """
    values = read_values(path)
    passed_over = []
    if topology_path is None:
        topology_path = _topology_path(path, values.need("TOPOLOGY_FILE", str, _TOPOLOGY_BESIDE.format(path=path)))
    elif values.get("TOPOLOGY_FILE", topology_path) != topology_path:
        named = values.get("TOPOLOGY_FILE", "")
        passed_over.append(f"{path}: TOPOLOGY_FILE {named} is passed over, {source} says topology: {topology_path}")
    source = source or path
    topology = _topology(values, Path(source).parent / topology_path, named_here=source == path)
    _refuse(values)
    network = {
        "topology": {
            "kind": "file",
            "format": "hpcc",
            "path": topology_path,
            **_switches(values, topology),
            "error_rate": values.get("ERROR_RATE_PER_LINK", 0.0),
        },
        "transport": _transport(values),
        "observe": _observe(values),
    }
    extra = topology.extra_lines
    more = [f"{topology.source}: {counted(extra, 'more line')} of links than its first line says, ignored as HPCC does"]
    return HpccConfig(parse_network(network, source), (*passed_over, *_warnings(values), *(more if extra else ())))


def _topology_path(path: str, named: str) -> str:
    """Return the path of the topology: from the folder of config.txt, or from the one above, where HPCC is started."""
    folder = Path(path).parent
    above = Path("..") / named
    return str(above) if not (folder / named).is_file() and (folder / above).is_file() else named


def _topology(values: HpccValues, path: Path, *, named_here: bool) -> HpccTopology:
    """Read the topology; one that isn't there is an error of the line that names it, if config.txt does."""
    if named_here and not path.exists():
        raise values.error("TOPOLOGY_FILE", f"is {path}: no such file")
    return read_hpcc_topology(path)


def _refuse(values: HpccValues) -> None:
    """Raise InputError for what would change results and isn't modelled."""
    values.refuse(
        bool(values.get("LINK_DOWN", (0, 0, 0))[0]),
        "LINK_DOWN",
        "takes a link down, expected 0 0 0: events of a scenario take links down (docs/scenario.md)",
    )
    values.refuse(values.get("ERROR_RATE_PER_LINK", 0.0) >= 1, "ERROR_RATE_PER_LINK", "is 1 or more, expected below 1")
    values.refuse(
        bool(values.get("NIC_TOTAL_PAUSE_TIME", 0)),
        "NIC_TOTAL_PAUSE_TIME",
        "makes NICs pause their switch, which is not supported; supported: 0",
    )
    values.refuse(
        values.get("SAMPLE_FEEDBACK", False) and values.get("CC_MODE", 1) == 3,
        "SAMPLE_FEEDBACK",
        "is 1, which is not supported with CC_MODE 3; supported: 0",
    )
    values.refuse(
        values.get("L2_ACK_INTERVAL", 0) == 0,
        "L2_ACK_INTERVAL",
        "is 0 or missing, so nothing is acknowledged; expected 1 or more (bytes)",
    )
    values.refuse(
        values.get("L2_BACK_TO_ZERO", False) and values.get("L2_CHUNK_SIZE", 0) == 0,
        "L2_CHUNK_SIZE",
        "is 0 or missing; L2_BACK_TO_ZERO needs the size of a chunk",
    )
    for key, least in (("PACKET_PAYLOAD_SIZE", 1), ("BUFFER_SIZE", 1)):
        values.refuse(values.get(key, least) < least, key, f"is 0, expected {least} or more")


def _transport(values: HpccValues) -> dict[str, Json]:
    control = congestion_control(values)
    payload = values.get("PACKET_PAYLOAD_SIZE", 1000)
    has_window, moves_rate = values.get("HAS_WIN", True), control.keys["kind"] != "none"
    return {
        "kind": "roce",
        "payload": payload,
        # 2 of PPP, 20 of IP, 8 of UDP and 6 of its own around the payload; ACKs are filled up to 26 behind IP.
        "header_bytes": 36,
        "ack_bytes": 48,
        "minimum_frame_bytes": 0,
        "line_gap_bytes": 0,
        "telemetry_bytes": control.telemetry_bytes,
        "ack_telemetry_bytes": control.ack_telemetry_bytes,
        "queue_pairs": "per-message",
        "priority": _DATA_PRIORITY,
        "ack_priority": 6 if values.get("ACK_HIGH_PRIO", False) else None,
        "ack_every": -(-values.get("L2_ACK_INTERVAL", 1) // payload),
        "completion": "acknowledged",
        "reliability": {
            "kind": "go-back-0" if values.get("L2_BACK_TO_ZERO", False) else "go-back-n",
            "go_back_0_chunk": values.get("L2_CHUNK_SIZE", 0),
            "nack_interval": _NACK_INTERVAL,
            # That code has no timer; ours is far above what waiting costs there, and never gives up.
            "timeout": "100ms",
            "retries": 0,
        },
        "window": "bdp" if has_window else "none",
        # A file has all keys, whatever its CC_MODE reads of them.
        **({"window_scales_with_rate": values.get("VAR_WIN", False)} if moves_rate and has_window else {}),
        "base_rtt": "payload",
        "base_rtt_of": "longest" if values.get("GLOBAL_T", True) else "path",
        **({"minimum_rate": values.get("MIN_RATE", 100_000_000)} if moves_rate else {}),
        "cnp": "on-ack",
        "cnp_interval": 0,
        "rate_limited": values.get("RATE_BOUND", True),
        "time_rounding": "1ns",
        "ecmp": "per-message-port",
        "congestion_control": control.keys,
    }


def _switches(values: HpccValues, topology: HpccTopology) -> dict[str, Json]:
    """Keys of all switches; NVSwitches, which only SimAI tells apart, never mark."""
    switch: dict[str, Json] = {"buffer": values.get("BUFFER_SIZE", 16) * _MIB, "ecn": "off", "pfc": _pfc(topology)}
    marking: Json = (_ecn(values, topology) or "off") if values.get("ENABLE_QCN", True) else "off"
    return {"switch": {**switch, "ecn": marking}, **({"scale_up_switch": switch} if topology.nvswitch_ids else {})}


def _pfc(topology: HpccTopology) -> dict[str, Json]:
    """1/8 of what is free for ports as fast as the first NIC, more for faster ones."""
    first = topology.host_ids[0]
    nic_bps = next((link.rate_bps for link in topology.links if first in (link.a, link.b)), None)
    return {
        "priorities": [_DATA_PRIORITY],
        "alpha": 0.125,
        "reference_rate": nic_bps,
        "headroom_factor": _HEADROOM_FACTOR,
        "reserve": "4KiB",
        "resume_offset": "3KiB",
    }


def _ecn(values: HpccValues, topology: HpccTopology) -> list[Json]:
    """An entry for each rate that ports of switches have, but for NVSwitches."""
    switches = set(topology.switch_ids) - set(topology.nvswitch_ids)
    rates = sorted({link.rate_bps for link in topology.links if link.a in switches or link.b in switches})
    entries: list[Json] = []
    for rate_bps in rates:
        numbers = []
        for key in ("KMIN_MAP", "KMAX_MAP", "PMAX_MAP"):
            listed = values.need(key, dict, "; ENABLE_QCN needs it")
            values.refuse(rate_bps not in listed, key, f"has no entry for {rate_bps}, a rate of {topology.source}")
            numbers.append(listed[rate_bps])
        kmin, kmax, pmax = numbers
        values.refuse(kmin > kmax, "KMIN_MAP", f"has {kmin:g} for rate {rate_bps}, above {kmax:g} in KMAX_MAP")
        values.refuse(pmax > 1, "PMAX_MAP", f"has {pmax:g} for rate {rate_bps}, expected at most 1")
        if pmax == 0:
            kmin, pmax = kmax, 1.0
        entries.append(
            {
                "rate": rate_bps,
                "kmin": int(kmin * _THOUSAND),
                "kmax": int(kmax * _THOUSAND),
                "pmax": pmax,
                "at": "dequeue",
            }
        )
    return entries


def _observe(values: HpccValues) -> dict[str, Json]:
    """Queues and pauses, if their files are asked for."""
    observe: dict[str, Json] = {"pauses": "PFC_OUTPUT_FILE" in values.values}
    simai = "MON_START" in values.values
    if "QLEN_MON_FILE" in values.values and not simai and values.get("QLEN_MON_START", 0) < _NEVER_NS:
        observe |= {"queues": ["all"], "queue_interval": "100ns"}
    return observe


def _warnings(values: HpccValues) -> list[str]:
    idle = [f"{key} ({why})" for key, why in WITHOUT_EFFECT.items() if key in values.values]
    warnings = [f"{values.source}: without effect here: {', '.join(idle)}"] if idle else []
    if 0 < values.get("QLEN_MON_START", 0) < _NEVER_NS and "QLEN_MON_FILE" in values.values:
        warnings.append(f"{values.source}: QLEN_MON_START: queues are watched from the start on")
    if values.get("INT_MULTI", 1) != 1 and values.get("CC_MODE", 1) == 3:
        warnings.append(f"{values.source}: INT_MULTI: telemetry is exact here, not in units of so many bytes")
    if values.get("ACK_HIGH_PRIO", False):
        warnings.append(f"{values.source}: ACK_HIGH_PRIO: acknowledgements have priority 6 here, in NICs and switches")
    if values.get("L2_ACK_INTERVAL", 1) > values.get("PACKET_PAYLOAD_SIZE", 1000):
        warnings.append(
            f"{values.source}: L2_ACK_INTERVAL: one acknowledgement in so many bytes here; that code begins to "
            "acknowledge after so many bytes of a message, and then does so packet by packet"
        )
    return warnings
