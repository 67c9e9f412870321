"""Keys of the HPCC simulator's config.txt: how each is written, and which of them say nothing here.

The list is that of astra-network-ns3's reader, and of SimAI's, whose SimAI.conf has keys of its own for what it writes
down. Units are theirs: times are microseconds, thresholds thousands of bytes, the buffer MiB. Its readers skip what
they don't know; here that is an error with the nearest key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from astra_ns3.config.core.reading import read_text
from astra_ns3.config.core.rows import Row, rows_of
from astra_ns3.errors import InputError, nearest, refuse, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import LARGEST_INTEGER, parse_rate

_DECIMAL = re.compile(r"[0-9]{1,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,3})?", re.ASCII)
_LIKE_A_KEY = re.compile(r"([A-Z][A-Z0-9_]*)(?:\s+[^\s:]|\s*$)", re.ASCII)
Value = bool | int | float | str | tuple[int, ...] | dict[int, float]
Parse = Callable[[Row], Value]
_Kind = TypeVar("_Kind")


def _number(row: Row, column: int = 1) -> float:
    word = row.words[column]
    row.refuse(not _DECIMAL.fullmatch(word), f"{row.words[0]} has '{word}', expected a number, 0 or more")
    value = float(word)
    row.refuse(value > LARGEST_INTEGER, f"{row.words[0]} has '{word}', expected at most {LARGEST_INTEGER}")
    return value


def _whole(row: Row) -> int:
    """A whole number, also one written as 900.0: the known code cuts fractions off without a word."""
    value = _number(row)
    row.refuse(value != int(value), f"{row.words[0]} is '{row.words[1]}', expected a whole number")
    return int(value) if "." in row.words[1] or "e" in row.words[1].lower() else int(row.words[1])


def _switch(row: Row) -> bool:
    row.refuse(row.words[1] not in ("0", "1"), f"{row.words[0]} is '{row.words[1]}', expected 0 or 1")
    return row.words[1] == "1"


def _rate(row: Row) -> int:
    try:
        rate_bps = parse_rate(row.words[1])
    except InputError as error:
        raise row.error(f"{row.words[0]}: {error}") from error
    row.refuse(rate_bps == 0, f"{row.words[0]} is '{row.words[1]}', expected more than 0")
    return rate_bps


def _three(row: Row) -> tuple[int, ...]:
    return tuple(row.integer(column, row.words[0], 0, LARGEST_INTEGER) for column in (1, 2, 3))


def _map(row: Row) -> dict[int, float]:
    """``n rate value rate value ...``: a value for each rate of a port."""
    count = row.integer(1, f"number of entries of {row.words[0]}", 1, 1000)
    row.refuse(
        len(row.words) != 2 + 2 * count,
        f"{row.words[0]} says {count} entries, so {2 * count} numbers; found {len(row.words) - 2}",
    )
    values: dict[int, float] = {}
    for column in range(2, len(row.words), 2):
        rate_bps = row.integer(column, f"rate in {row.words[0]}", 1, LARGEST_INTEGER)
        row.refuse(rate_bps in values, f"{row.words[0]} has rate {rate_bps} twice")
        values[rate_bps] = _number(row, column + 1)
    return values


@dataclass(frozen=True)
class _Key:
    """``words``: how many follow the key; None: as many as it says itself."""

    parse: Parse
    words: int | None = 1


KEYS: Mapping[str, _Key] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                "ENABLE_QCN", "USE_DYNAMIC_PFC_THRESHOLD", "CLAMP_TARGET_RATE", "L2_BACK_TO_ZERO", "HAS_WIN",
                "GLOBAL_T", "VAR_WIN", "FAST_REACT", "RATE_BOUND", "ACK_HIGH_PRIO", "ENABLE_TRACE", "MULTI_RATE",
                "SAMPLE_FEEDBACK",
            ),
            _Key(_switch),
        ),
        **dict.fromkeys(
            (
                "PACKET_PAYLOAD_SIZE", "L2_CHUNK_SIZE", "L2_ACK_INTERVAL", "CC_MODE", "ALPHA_RESUME_INTERVAL",
                "RATE_DECREASE_INTERVAL", "RP_TIMER", "FAST_RECOVERY_TIMES", "MI_THRESH", "INT_MULTI", "BUFFER_SIZE",
                "NIC_TOTAL_PAUSE_TIME", "QLEN_MON_START", "QLEN_MON_END", "MON_START", "MON_END", "QP_MON_INTERVAL",
                "QLEN_MON_INTERVAL", "BW_MON_INTERVAL",
            ),
            _Key(_whole),
        ),
        **dict.fromkeys(
            (
                "EWMA_GAIN", "ERROR_RATE_PER_LINK", "U_TARGET", "PINT_LOG_BASE", "PINT_PROB", "PAUSE_TIME",
                "SIMULATOR_STOP_TIME",
            ),
            _Key(_number),
        ),
        **dict.fromkeys(("RATE_AI", "RATE_HAI", "MIN_RATE", "DCTCP_RATE_AI"), _Key(_rate)),
        **dict.fromkeys(
            (
                "TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE", "TRACE_OUTPUT_FILE", "FCT_OUTPUT_FILE", "PFC_OUTPUT_FILE",
                "QLEN_MON_FILE", "BW_MON_FILE", "RATE_MON_FILE", "CNP_MON_FILE",
            ),
            _Key(lambda row: row.words[1]),
        ),
        "LINK_DOWN": _Key(_three, 3),
        **dict.fromkeys(("KMAX_MAP", "KMIN_MAP", "PMAX_MAP"), _Key(_map, None)),
    }
)  # fmt: skip
"""Every key, and how it is written."""

WITHOUT_EFFECT: Mapping[str, str] = MappingProxyType(
    {
        "USE_DYNAMIC_PFC_THRESHOLD": "its code never asks; thresholds are dynamic",
        "PAUSE_TIME": "its code never asks; a pause lasts until it is lifted",
        "FLOW_FILE": "messages are those of the workload, which may be this file",
        "SIMULATOR_STOP_TIME": "its ASTRA-sim front end never asks; see --limit-simulated-time",
        "TRACE_FILE": "see observe.pcap",
        "TRACE_OUTPUT_FILE": "see observe.pcap",
        "ENABLE_TRACE": "see observe.pcap",
        "FCT_OUTPUT_FILE": "see --record flows",
        "QLEN_MON_END": "its code never asks",
        **dict.fromkeys(
            ("MON_START", "MON_END", "QP_MON_INTERVAL", "QLEN_MON_INTERVAL", "BW_MON_INTERVAL"),
            "SimAI never starts its monitors",
        ),
        "BW_MON_FILE": "see observe.utilisation",
        "RATE_MON_FILE": "see observe.queue_pairs",
        "CNP_MON_FILE": "see observe.queue_pairs",
    }
)
"""Keys that are read and checked but change nothing here, and why."""

BECOMES: Mapping[str, str] = MappingProxyType(
    {
        "CC_MODE": "`congestion_control`: 1 `dcqcn`, 3 `hpcc`, 7 `timely`, 8 `dctcp`, 10 `hpcc-pint`, 12 `none`; all "
        "others have no code behind them there and are refused",
        **dict.fromkeys(
            (
                "RATE_AI", "RATE_HAI", "MIN_RATE", "EWMA_GAIN", "ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL",
                "RP_TIMER", "FAST_RECOVERY_TIMES", "CLAMP_TARGET_RATE", "DCTCP_RATE_AI", "U_TARGET", "MI_THRESH",
                "FAST_REACT", "MULTI_RATE", "PINT_LOG_BASE", "PINT_PROB",
            ),
            "a parameter of the congestion control",
        ),
        "HAS_WIN": "`window`",
        "VAR_WIN": "`window_scales_with_rate`",
        "GLOBAL_T": "`base_rtt_of`",
        "RATE_BOUND": "`rate_limited`",
        "PACKET_PAYLOAD_SIZE": "`payload`",
        "L2_ACK_INTERVAL": "`ack_every`",
        "L2_BACK_TO_ZERO": "`reliability.kind`",
        "L2_CHUNK_SIZE": "`reliability.go_back_0_chunk`",
        **dict.fromkeys(("ENABLE_QCN", "KMIN_MAP", "KMAX_MAP", "PMAX_MAP"), "`switch.ecn`, by rate"),
        "BUFFER_SIZE": "`switch.buffer`",
        "ACK_HIGH_PRIO": "1: `ack_priority: 6`, with a warning",
        "PFC_OUTPUT_FILE": "`observe.pauses`",
        **dict.fromkeys(
            ("QLEN_MON_FILE", "QLEN_MON_START"),
            "`observe.queues: [all]` every 100 ns, unless the start is as far off as in the samples",
        ),
        "INT_MULTI": "above 1 a warning: telemetry is exact here",
        "ERROR_RATE_PER_LINK": "`error_rate` of links that have none of their own",
        "TOPOLOGY_FILE": "the topology, relative to the file",
        **dict.fromkeys(("LINK_DOWN", "NIC_TOTAL_PAUSE_TIME", "SAMPLE_FEEDBACK"), "refused unless it is off"),
    }
)  # fmt: skip
"""Keys that change something, and the key of a network file that each becomes."""


@dataclass(frozen=True)
class HpccValues:
    """The content of a file: ``values`` by key, ``rows`` where each stood."""

    source: str
    values: Mapping[str, Value]
    rows: Mapping[str, Row]

    def get(self, key: str, default: _Kind) -> _Kind:
        """Return the value of a key, or ``default``, which is of its type, if the file hasn't it."""
        found = self.values.get(key, default)
        assert isinstance(found, type(default))
        return found

    def need(self, key: str, kind: type[_Kind], why: str) -> _Kind:
        """Return the value, of type ``kind``, of a key that can't be left out."""
        refuse(key not in self.values, f"key '{key}' is missing{why}", self.source)
        found = self.values[key]
        assert isinstance(found, kind)
        return found

    def refuse(self, condition: bool, key: str, message: str) -> None:
        """Raise :meth:`error` if ``condition`` holds."""
        if condition:
            raise self.error(key, message)

    def error(self, key: str, message: str) -> InputError:
        """Return the error about the value of a key, with file and line."""
        row = self.rows.get(key)
        return row.error(f"{key} {message}") if row else wrong(f"{key} {message}", self.source)


def looks_like_hpcc(text: str) -> bool:
    """Whether a line begins with one of the keys and no colon after it, or most lines are written like such a line."""
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith("#")]
    like = [match[1] for match in map(_LIKE_A_KEY.match, said) if match]
    return any(word in KEYS for word in like) or 2 * len(like) > len(said)


def read_values(path: str) -> HpccValues:
    """All keys of a file; raises InputError with file and line for what is unknown, doubled or malformed."""
    values: dict[str, Value] = {}
    rows: dict[str, Row] = {}
    for row in rows_of(read_text(path), path):
        name = row.words[0]
        if name.startswith("#"):
            continue
        if name not in KEYS:
            raise row.error(f"key '{name}' is not known{nearest(name, KEYS)}")
        if name in values:
            raise row.error(f"key '{name}' stands twice (first on line {rows[name].number})")
        key, found = KEYS[name], len(row.words) - 1
        row.refuse(key.words is None and found == 0, f"{name} has no number of entries behind it")
        row.refuse(
            key.words is not None and found != key.words, f"{name} has {found} words behind it, expected {key.words}"
        )
        rows[name], values[name] = row, key.parse(row)
    return HpccValues(path, values, rows)
