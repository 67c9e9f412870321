"""The numbers that logs tell of a cluster: one host overhead for each machine and protocol, and one efficiency of its
NICs.

Nothing else is fitted. Both come from medians, row by row, so that a few odd rows don't count; the quartiles say how
far rows disagree. A time of ours is taken for ``base(efficiency) + steps * overhead``: ``steps`` is how many times one
after the other a host or NIC is waited for. A number that the logs can't tell is refused, in one line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import yaml
from pydantic import BaseModel, Field, ValidationError

from astra_ns3.config.core.plain import Json
from astra_ns3.errors import InputError, wrong
from astra_ns3.frozen import dataclass
from astra_ns3.units import counted

Ours = Callable[[float, float], Sequence[float]]
"""``ours(overhead_us, efficiency)``: our times in us, one for each row; both numbers hold for all rows."""

SMALL_BYTES = 256 << 10
"""Below this size a row tells the overhead of LL, which sends twice the bytes."""

NOISE = 0.05
"""By how much the same run differs from itself, at best: 4 to 8 % below 4 MB on measured clusters."""

EFFICIENCIES = (0.4, 1.0)
_STEP = 0.05
_TITLE = "# Keys of the table nccl of a system file, found by 'astra-ns3 nccl fit' (medians of rows):"
_LEAST_STEPS = 0.1
_FEWEST = 3
_ROUNDS = 3


@dataclass(frozen=True)
class FitRow:
    """One measured row, and what we know of our own: its protocol, its steps, and what binds it.

    ``log`` names where it was measured, ``machine`` the kind of server. ``nic_binds``: a NIC alone takes most of the
    time; ``latency_binds``: neither links nor copying do.
    """

    log: str
    machine: str
    protocol: str
    size_bytes: int
    measured_us: float
    steps: float
    nic_binds: bool = False
    latency_binds: bool = True


@dataclass(frozen=True)
class Fitted:
    """A number, the quartiles of the rows that told it, how many rows, and from which logs."""

    value: float
    quartiles: tuple[float, float]
    rows: int
    logs: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """All that was told. ``overheads``: in us, by machine and protocol. ``refused``: what wasn't told, a line each."""

    overheads: Mapping[tuple[str, str], Fitted]
    efficiency: Fitted | None
    refused: tuple[str, ...] = ()


def fit(rows: Sequence[FitRow], ours: Ours) -> Fit:
    """Fit what the rows tell; raises InputError if they tell nothing, or if our times aren't as the module says.

    Overheads and efficiency are fitted in turn, as each is read with the other's value. ``ours`` is called some 15
    times.
    """
    _check(rows, ours)
    overheads: dict[tuple[str, str], Fitted] = {}
    efficiency, refused = None, dict[str, None]()
    for _ in range(_ROUNDS):
        overheads, efficiency, refused = _one_round(rows, ours, overheads, efficiency)
    if not overheads and efficiency is None:
        raise wrong(f"the logs tell neither an overhead nor an efficiency: {next(iter(refused))}")
    return Fit(overheads, efficiency, tuple(refused))


def _one_round(
    rows: Sequence[FitRow], ours: Ours, overheads: Mapping[tuple[str, str], Fitted], efficiency: Fitted | None
) -> tuple[dict[tuple[str, str], Fitted], Fitted | None, dict[str, None]]:
    refused: dict[str, None] = {}
    found: dict[tuple[str, str], Fitted] = {}
    for machine, protocol in dict.fromkeys((row.machine, row.protocol) for row in rows):
        try:
            share = EFFICIENCIES[1] if efficiency is None else efficiency.value
            found[machine, protocol] = fit_overhead(rows, ours, machine, protocol, share)
        except InputError as error:
            refused[str(error)] = None
    try:
        return found, fit_efficiency(rows, ours, {key: one.value for key, one in found.items()}), refused
    except InputError as error:
        return found, None, refused | {str(error): None}


def fit_overhead(rows: Sequence[FitRow], ours: Ours, machine: str, protocol: str, efficiency: float = 1.0) -> Fitted:
    """Return the overhead in us of a step on one machine by one protocol; raises InputError if the rows can't tell.

    A row tells it if latency binds it and it has steps. Of LL only rows below 256 KiB do.
    """
    where, told, logs = f"{machine} {protocol}", list[float](), dict[str, None]()
    for row, base in zip(rows, ours(0.0, efficiency), strict=True):
        large = protocol == "LL" and row.size_bytes >= SMALL_BYTES
        tells = row.latency_binds and row.steps > _LEAST_STEPS and not large
        if (row.machine, row.protocol) == (machine, protocol) and tells:
            told.append((row.measured_us - base) / row.steps)
            logs[row.log] = None
    if len(told) < _FEWEST:
        below = (
            f" of several servers below {SMALL_BYTES >> 10} KiB"
            if protocol == "LL"
            else " of several servers that latency binds"
        )
        raise wrong(f"no overhead is told: found {counted(len(told), 'row')}{below}, expected {_FEWEST}", where)
    fitted = _median(told, logs)
    if fitted.value < 0:
        raise wrong(f"no overhead is told: our times without one are {-fitted.value:.2f} us a step too long", where)
    low, high = fitted.quartiles
    if low < 0:
        raise wrong(f"no overhead is told: rows disagree, half of them say {low:.2f} to {high:.2f} us a step", where)
    return fitted


def fit_efficiency(rows: Sequence[FitRow], ours: Ours, overheads: Mapping[tuple[str, str], float]) -> Fitted:
    """Return the share of its rate that a NIC reaches; raises InputError if the rows can't tell.

    A row tells it if a NIC binds it and its time changes with the efficiency. ``overheads``: those by machine and
    protocol to add; 0 if absent.
    """
    shares = np.arange(EFFICIENCIES[0], EFFICIENCIES[1] + _STEP / 2, _STEP)
    times = np.array([ours(0.0, float(share)) for share in shares])
    told, logs = [], dict[str, None]()
    for place, row in enumerate(rows):
        own = times[:, place] + row.steps * overheads.get((row.machine, row.protocol), 0.0)
        if row.nic_binds and own[0] > (1 + NOISE) * own[-1]:
            told.append(float(np.interp(-row.measured_us, -own, shares)))  # times fall as the share rises
            logs[row.log] = None
    if len(told) < _FEWEST:
        raise wrong(f"no efficiency is told: found {counted(len(told), 'row')} that a NIC binds, expected {_FEWEST}")
    fitted = _median(told, logs)
    if fitted.value <= EFFICIENCIES[0]:
        raise wrong(f"no efficiency is told: measured times need one below {EFFICIENCIES[0]}, something else binds")
    return fitted


def _median(told: Sequence[float], logs: Iterable[str]) -> Fitted:
    low, value, high = (float(number) for number in np.percentile(told, (25, 50, 75)))
    return Fitted(value, (low, high), len(told), tuple(logs))


def _check(rows: Sequence[FitRow], ours: Ours) -> None:
    """Refuse rows without sense, and times of ours that aren't base and steps."""
    for row in rows:
        if not (row.measured_us > 0 and row.steps >= 0 and row.size_bytes > 0):
            raise wrong(
                f"found {row.measured_us:g} us, {row.steps:g} steps, expected a time and no steps below 0", row.log
            )
    without, with_one = ours(0.0, EFFICIENCIES[1]), ours(1.0, EFFICIENCIES[1])
    if not len(rows) == len(without) == len(with_one):
        raise wrong(f"found {len(without)} times of ours, expected one for each of {len(rows)} rows")
    for row, base, time in zip(rows, without, with_one, strict=True):
        if not abs(time - base - row.steps) <= NOISE * max(row.steps, 1e-3 * base):  # also if it is no number
            words = f"1 us of overhead adds {time - base:.3g} us to our time, expected {row.steps:g}, one for each step"
            raise wrong(words, f"{row.log}: {row.size_bytes} bytes")


def fit_text(result: Fit, server: str) -> str:
    """Return the fit of a server as keys of the table ``nccl``; comments say how far rows agree, and what isn't told.

    Raises InputError if the fit has another machine.
    """
    others = [machine for machine, _ in result.overheads if machine != server]
    if others:
        raise wrong(f"found a fit of '{others[0]}', expected one of '{server}' alone")
    overheads = {protocol: fitted for (_, protocol), fitted in result.overheads.items()}
    lines = [f"# {protocol}: {_agreement(fitted, 2, ' us')}" for protocol, fitted in overheads.items()]
    keys: dict[str, object] = {"server": server}
    if overheads:
        keys["host-overhead"] = {protocol: round(fitted.value, 2) for protocol, fitted in overheads.items()}
    if result.efficiency is not None:
        lines.append(f"# nic-efficiency: {_agreement(result.efficiency, 3)}")
        keys["nic-efficiency"] = round(result.efficiency.value, 3)
    lines += [f"# not told: {line}" for line in result.refused]
    text: str = yaml.safe_dump(keys, sort_keys=False)
    return "\n".join([_TITLE, *lines, text])


def _agreement(fitted: Fitted, digits: int, unit: str = "") -> str:
    low, high = fitted.quartiles
    value = f"{fitted.value:.{digits}f}{unit} (half of {fitted.rows} rows: {low:.{digits}f} to {high:.{digits}f})"
    return f"{value} from {', '.join(fitted.logs)}"


class _Written(BaseModel, frozen=True, extra="forbid"):
    """The keys of a file that :func:`fit_text` made."""

    server: str
    host_overhead: dict[str, float] | float = Field(alias="host-overhead", default={})
    nic_efficiency: float | None = Field(alias="nic-efficiency", default=None)


def parse_fit(text: str, where: str | os.PathLike[str] = "") -> dict[str, Json]:
    """Return the keys that :func:`fit_text` wrote; raises InputError of anything else."""
    try:
        written = _Written.model_validate(yaml.safe_load(text))
    except (yaml.YAMLError, ValidationError) as error:
        raise wrong(
            f"found no fit{_at_key(error)}, expected server, host-overhead and nic-efficiency as "
            "'astra-ns3 nccl fit -o' writes them",
            where,
        ) from error
    return written.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _at_key(error: Exception) -> str:
    """Return which key of a file is wrong, and how; nothing where the file has no keys."""
    first = error.errors()[0] if isinstance(error, ValidationError) else None
    return f" (key '{first['loc'][0]}': {first['msg']})" if first is not None and first["loc"] else ""
