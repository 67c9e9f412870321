"""A user's own congestion control: a C++ class compiled at start, or a Python class that C++ calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from astra_ns3.errors import InputError
from astra_ns3.network.ns3 import _runtime
from astra_ns3.transport.roce import RoceParameters
from astra_ns3.user_code import load_user_module

METHODS = ("start", "ack_received", "cnp_received", "packet_sent", "loss_detected", "timer_due")
"""What a Python class may have; what it lacks is not called."""
TELEMETRY = ("NONE", "HOPS", "PATH")


def use_own_control(session: Any, parameters: RoceParameters, call: Callable[..., None]) -> object:
    """Give ``session`` the class that ``parameters`` name; keep what is returned as long as the session.

    ``call(function, *arguments)`` calls Python from the simulation. Raises InputError for a file that can't be read or
    compiled, and for a class that is not in it.
    """
    path = Path(parameters.own_file)
    if path.suffix == ".py":
        made = control_class(path, parameters.own_class)
        methods = frozenset(name for name in METHODS if callable(getattr(made, name, None)))
        factory, kept = _runtime.python_control_factory(
            lambda: PythonControl(made, parameters.control_parameters, call), methods
        )
    else:
        factory, kept = _runtime.compiled_control_factory(path, parameters.own_class), None
    session.SetRoceControlFactory(factory)
    return kept


def check_own_control(parameters: RoceParameters) -> None:
    """Load or compile the class that ``parameters`` name; raises InputError as :func:`use_own_control` does."""
    path = Path(parameters.own_file)
    if path.suffix == ".py":
        control_class(path, parameters.own_class)
    else:
        _runtime.compiled_control_factory(path, parameters.own_class)


def control_class(path: Path, name: str) -> Callable[[Mapping[str, float]], Any]:
    """The class ``name`` of the Python file ``path``; raises InputError if there is none that can be a control."""
    module = load_user_module(path, "congestion control")
    found = getattr(module, name, None)
    if not isinstance(found, type):
        raise InputError(f"{path}: has no class '{name}'")
    telemetry = getattr(found, "telemetry", "none")
    if str(telemetry).upper() not in TELEMETRY:
        raise InputError(f"{path}: {name}.telemetry is {telemetry!r}, expected 'none', 'hops' or 'path'")
    return found


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise InputError(f"congestion control: sender.{name} is set to {value!r}, expected a number, 0 or more")
    return float(value)


class Sender:
    """A queue pair's sender, as a Python class sees it."""

    __slots__ = ("_native",)

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def now_ps(self) -> int:
        """Simulated time."""
        return int(self._native.GetNowPs())

    @property
    def line_rate_bps(self) -> int:
        """Rate of the NIC's line."""
        return int(self._native.GetLineRateBps())

    @property
    def base_round_trip_ps(self) -> int:
        """Round trip of a full packet and its acknowledgement on an idle network."""
        return int(self._native.GetBaseRoundTripPs())

    @property
    def bandwidth_delay_bytes(self) -> int:
        """Window that keeps the path's slowest line busy."""
        return int(self._native.GetBandwidthDelayBytes())

    @property
    def payload_bytes(self) -> int:
        """Payload of a full packet."""
        return int(self._native.GetPayloadBytes())

    @property
    def packet_bytes(self) -> int:
        """Bytes a full packet takes on the line."""
        return int(self._native.GetPacketBytes())

    @property
    def switches(self) -> int:
        """Switches on the path."""
        return int(self._native.GetSwitches())

    @property
    def sent_bytes(self) -> int:
        """Stream position of the next byte to send."""
        return int(self._native.GetSentBytes())

    @property
    def acknowledged_bytes(self) -> int:
        """Stream position up to which everything is acknowledged."""
        return int(self._native.GetAcknowledgedBytes())

    @property
    def rate_bps(self) -> float:
        """Rate at which packets are paced."""
        return float(self._native.GetRateBps())

    @rate_bps.setter
    def rate_bps(self, value: float) -> None:
        self._native.SetRateBps(_number(value, "rate_bps"))

    @property
    def window_bytes(self) -> int:
        """Most bytes in flight; 0: no limit."""
        return int(self._native.GetWindowBytes())

    @window_bytes.setter
    def window_bytes(self, value: int) -> None:
        self._native.SetWindowBytes(int(_number(value, "window_bytes")))

    def start_timer(self, timer: int, delay_ps: int) -> None:
        """Have ``timer_due`` called once after ``delay_ps``; ``timer`` is 0 to 3."""
        self._native.StartTimer(timer, int(delay_ps))

    def stop_timer(self, timer: int) -> None:
        """Forget a timer."""
        self._native.StopTimer(timer)

    def random(self) -> float:
        """A random number, uniform in [0, 1)."""
        return float(self._native.GetRandom())


class Ack:
    """What an acknowledgement tells; see ``RoceAck``. ``telemetry``: (time_ps, sent, queue, rate) of each switch."""

    __slots__ = ("_native",)

    def __init__(self, native: Any) -> None:
        self._native = native

    @property
    def round_trip_ps(self) -> int:
        """Since the acknowledged packet's first bit left."""
        return int(self._native.roundTripPs)

    @property
    def acknowledged_bytes(self) -> int:
        """Stream position up to which everything has arrived."""
        return int(self._native.acknowledgedBytes)

    @property
    def new_bytes(self) -> int:
        """How much of it this acknowledgement brought."""
        return int(self._native.newBytes)

    @property
    def marked(self) -> bool:
        """Whether the packet carried a congestion mark."""
        return bool(self._native.marked)

    @property
    def switches(self) -> int:
        """Switches that the packet passed."""
        return int(self._native.switches)

    @property
    def path_utilisation(self) -> float:
        """The highest utilisation on the path; below 0 if it was not sampled."""
        return float(self._native.pathUtilisation)

    @property
    def telemetry(self) -> list[tuple[int, int, int, int]]:
        """What each switch reported, in order of the path."""
        found = []
        for hop in range(int(self._native.hops)):
            entry = _runtime.telemetry_hop(self._native, hop)
            found.append((int(entry.timePs), int(entry.sentBytes), int(entry.queueBytes), int(entry.rateBps)))
        return found


class PythonControl:
    """Passes C++'s calls on to one object of the user's class."""

    def __init__(
        self, made: Callable[[Mapping[str, float]], Any], parameters: Mapping[str, float], call: Callable[..., None]
    ) -> None:
        self._object: Any = None
        self._call = call
        self._methods: dict[str, Callable[..., object]] = {}
        self._sender: Sender | None = None
        call(self._make, made, dict(parameters))

    def _make(self, made: Callable[[Mapping[str, float]], Any], parameters: Mapping[str, float]) -> None:
        try:
            self._object = made(parameters)
        except TypeError as error:
            raise InputError(f"congestion control: {made} can't be made with its parameters: {error}") from error
        for name in METHODS:
            method = getattr(self._object, name, None)
            if method is not None:
                self._methods[name] = method

    def telemetry(self) -> str:
        """What packets carry for it: ``telemetry`` of its class, "none" (if it has none), "hops" or "path"."""
        wanted = str(getattr(self._object, "telemetry", "none")).upper()
        return wanted if wanted in TELEMETRY else "NONE"

    def start(self, sender: Any) -> None:
        """The queue pair opens."""
        self._sender = Sender(sender)
        self.tell("start")

    def acknowledged(self, ack: Any) -> None:
        """An acknowledgement has come."""
        self.tell("ack_received", Ack(ack))

    def tell(self, name: str, *arguments: object) -> None:
        """Call the method, if there is one."""
        method = self._methods.get(name)
        if method is not None:
            self._call(method, self._sender, *arguments)

    def alpha(self) -> float:
        """What the object has as ``alpha``."""
        return float(getattr(self._object, "alpha", 0.0))
