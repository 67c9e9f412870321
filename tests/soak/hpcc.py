"""Random configurations of HPCC's simulator: config.txt and its topology text, a user's other way in."""

from __future__ import annotations

from collections.abc import Mapping

from soak.case import CONFIG_FILE
from soak.draw import Draw

_MODES = (1, 3, 7, 8, 10, 12)
_NEED_A_WINDOW = (3, 10)
_RATES_GBPS = (25, 100, 200, 400)
_GBPS = 10**9


def _topology(draw: Draw) -> tuple[str, int, set[int]]:
    """Two to four leaves below one or two spines. The text, the number of hosts, the rates in Gb/s."""
    leaves, spines, each = draw.randint(2, 4), draw.randint(1, 2), draw.randint(2, 4)
    hosts, switches = leaves * each, leaves + spines
    down, up = draw.pick(*_RATES_GBPS), draw.pick(*_RATES_GBPS)
    rows = [f"{host} {hosts + host // each} {down}Gbps 0.001ms 0" for host in range(hosts)]
    rows += [
        f"{hosts + leaf} {hosts + leaves + spine} {up}Gbps 0.001ms 0"
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    names = " ".join(str(hosts + switch) for switch in range(switches))
    return "\n".join([f"{hosts + switches} {switches} {len(rows)}", names, *rows, ""]), hosts, {down, up}


def draw_hpcc_files(draw: Draw) -> tuple[Mapping[str, str], int, int]:
    """The files, how many NPUs there are, and the payload of a packet."""
    topology, hosts, rates = _topology(draw)
    payload = draw.pick(1000, 4096, 9000)
    maps = {
        name: " ".join([str(len(rates)), *[f"{rate * _GBPS} {value(rate)}" for rate in sorted(rates)]])
        for name, value in (("KMIN_MAP", _kmin), ("KMAX_MAP", _kmax), ("PMAX_MAP", _pmax))
    }
    mode = draw.pick(*_MODES)
    keys = {
        "ENABLE_QCN": 1,
        "PACKET_PAYLOAD_SIZE": payload,
        "TOPOLOGY_FILE": "topology.txt",
        "CC_MODE": mode,
        "ALPHA_RESUME_INTERVAL": 1,
        "RATE_DECREASE_INTERVAL": 4,
        "CLAMP_TARGET_RATE": 0,
        "RP_TIMER": draw.pick(300, 900),
        "EWMA_GAIN": 0.00390625,
        "FAST_RECOVERY_TIMES": 1,
        "RATE_AI": "50Mb/s",
        "RATE_HAI": "100Mb/s",
        "MIN_RATE": "100Mb/s",
        "DCTCP_RATE_AI": "1000Mb/s",
        "L2_CHUNK_SIZE": 4000,
        "L2_ACK_INTERVAL": draw.pick(1, 3 * payload),
        "L2_BACK_TO_ZERO": draw.pick(0, 1),
        "HAS_WIN": 1 if mode in _NEED_A_WINDOW else draw.pick(0, 1),
        "GLOBAL_T": draw.pick(0, 1),
        "VAR_WIN": draw.pick(0, 1),
        "FAST_REACT": draw.pick(0, 1),
        "U_TARGET": 0.95,
        "MI_THRESH": draw.pick(0, 5),
        "MULTI_RATE": draw.pick(0, 1),
        "PINT_LOG_BASE": 1.05,
        "PINT_PROB": 1.0,
        "RATE_BOUND": 1,
        "BUFFER_SIZE": draw.pick(1, 1, 2, 32),
        "ACK_HIGH_PRIO": draw.pick(0, 1),
        **maps,
    }
    config = "".join(f"{key} {value}\n" for key, value in keys.items())
    return {CONFIG_FILE: config, "topology.txt": topology}, hosts, payload


def _kmin(rate_gbps: int) -> int:
    return 4 * rate_gbps


def _kmax(rate_gbps: int) -> int:
    return 16 * rate_gbps


def _pmax(_: int) -> float:
    return 0.2
