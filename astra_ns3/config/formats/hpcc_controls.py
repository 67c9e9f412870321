"""CC_MODE of the HPCC simulator: its congestion controls by name, with the parameters that its keys give them.

Numbers without a key have the value in its code: TIMELY 50, 500 and 20 us, EWMA 0.875, beta 0.8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from astra_ns3.config.core.plain import Json
from astra_ns3.config.formats.hpcc_keys import HpccValues
from astra_ns3.frozen import dataclass, replace


@dataclass(frozen=True)
class Control:
    """``keys`` of ``congestion_control`` in our file; bytes that it adds to data packets and to ACKs there."""

    keys: dict[str, Json]
    telemetry_bytes: int = 0
    ack_telemetry_bytes: int = 0


def congestion_control(values: HpccValues) -> Control:
    """The control that CC_MODE stands for; raises InputError for a mode without code behind it."""
    mode = values.get("CC_MODE", 1)
    if mode not in _MODES:
        allowed = ", ".join(f"{number} ({name})" for number, (name, _) in _MODES.items())
        raise values.error("CC_MODE", f"is {mode}, allowed: {allowed}")
    control = _MODES[mode][1](values)
    # What has no key there has the value of its code, which is the papers', whatever the line.
    papers = {} if control.keys["kind"] == "none" else {"parameters": "paper"}
    return replace(control, keys={**papers, **control.keys})


def _rates(values: HpccValues) -> dict[str, Json]:
    because = f"; CC_MODE {values.get('CC_MODE', 1)} needs it"
    return {"rate_ai": values.need("RATE_AI", int, because), "rate_hai": values.need("RATE_HAI", int, because)}


def _gain(values: HpccValues) -> float:
    gain = values.need("EWMA_GAIN", float, f"; CC_MODE {values.get('CC_MODE', 1)} needs it")
    values.refuse(not 0 < gain <= 1, "EWMA_GAIN", f"is {gain:g}, expected above 0 and at most 1")
    return gain


def _microseconds(values: HpccValues, key: str, default: int | None) -> str:
    because = "; CC_MODE 1 needs it"
    number = values.need(key, int, because) if default is None else values.get(key, default)
    values.refuse(number == 0, key, "is 0, expected 1 or more (microseconds)")
    return f"{number}us"


def _dcqcn(values: HpccValues) -> Control:
    values.refuse(values.get("FAST_RECOVERY_TIMES", 5) == 0, "FAST_RECOVERY_TIMES", "is 0, expected 1 or more")
    return Control(
        {
            "kind": "dcqcn",
            **_rates(values),
            "g": _gain(values),
            "alpha_timer": _microseconds(values, "ALPHA_RESUME_INTERVAL", 55),
            "decrease_timer": _microseconds(values, "RATE_DECREASE_INTERVAL", 4),
            "increase_timer": _microseconds(values, "RP_TIMER", None),
            "byte_counter": 0,
            "fast_recovery_times": values.get("FAST_RECOVERY_TIMES", 5),
            "clamp_target_rate": values.get("CLAMP_TARGET_RATE", False),
        }
    )


def _utilisation(values: HpccValues, kind: str) -> dict[str, Json]:
    values.refuse(not values.get("HAS_WIN", True), "HAS_WIN", f"is 0, but {kind} divides by the window; expected 1")
    eta = values.get("U_TARGET", 0.95)
    values.refuse(not 0 < eta <= 1, "U_TARGET", f"is {eta:g}, expected above 0 and at most 1")
    return {
        "kind": kind,
        "rate_ai": _rates(values)["rate_ai"],
        "eta": eta,
        "max_stage": values.get("MI_THRESH", 5),
        "fast_react": values.get("FAST_REACT", True),
    }


def _hpcc(values: HpccValues) -> Control:
    keys = {**_utilisation(values, "hpcc"), "multiple_rates": values.get("MULTI_RATE", True)}
    return Control(keys, telemetry_bytes=42, ack_telemetry_bytes=28)


def _pint(values: HpccValues) -> Control:
    base, probability = values.get("PINT_LOG_BASE", 1.05), values.get("PINT_PROB", 1.0)
    values.refuse(not 1 < base <= 2, "PINT_LOG_BASE", f"is {base:g}, expected above 1 and at most 2")
    values.refuse(not 0 < probability <= 1, "PINT_PROB", f"is {probability:g}, expected above 0 and at most 1")
    # That code takes each sampled acknowledgement between two updates for a fast reaction, whatever FAST_REACT says.
    keys = {**_utilisation(values, "hpcc-pint"), "fast_react": True, "log_base": base, "sampling": probability}
    return Control(keys, telemetry_bytes=2)


def _timely(values: HpccValues) -> Control:
    keys = {**_rates(values), "kind": "timely", "ewma": 0.875, "beta": 0.8, "t_low": "50us", "t_high": "500us"}
    # One update a round trip, not a segment; increases below t_low count towards the hyperactive ones.
    return Control({**keys, "minimum_rtt": "20us", "segment": 0, "hai_below_t_low": True}, telemetry_bytes=8)


def _dctcp(values: HpccValues) -> Control:
    keys: dict[str, Json] = {"kind": "dctcp", "window": False, "g": _gain(values)}
    return Control({**keys, "rate_ai": values.get("DCTCP_RATE_AI", 1_000_000_000)})


_MODES: Mapping[int, tuple[str, Callable[[HpccValues], Control]]] = MappingProxyType(
    {
        1: ("DCQCN", _dcqcn),
        3: ("HPCC", _hpcc),
        7: ("TIMELY", _timely),
        8: ("DCTCP", _dctcp),
        10: ("HPCC-PINT", _pint),
        12: ("none, PFC alone", lambda _: Control({"kind": "none"})),
    }
)
