"""A user's own congestion control: a C++ class compiled at start, or a Python class that C++ calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from astra_ns3.config.transports.roce_control import OwnControl
from astra_ns3.errors import refuse, wrong
from astra_ns3.network.door.compiled_control import compiled_control_factory
from astra_ns3.network.door.description import Description
from astra_ns3.network.door.python_control import control_functions, python_control_factory
from astra_ns3.transport.transport import Transport
from astra_ns3.user_code import UserPart, guarded, load_part

METHODS = ("start", "ack_received", "cnp_received", "packet_sent", "loss_detected", "timer_due")
"""The methods that a Python class may have; a method that it lacks is not called."""
TELEMETRY = ("NONE", "HOPS", "PATH")
"""By number, as in ``roce-congestion-control.h``."""
Made = Callable[[Mapping[str, float]], object]
"""A Python class, which is called with the control's parameters."""
_LAST_TIMER = 3
# How alike the name of a method is to one that is called, if it is a slip: the ratio of difflib.
_CLOSE = 0.85
# Of bytes and picoseconds, in 64 bits with a sign.
_MOST = 2**63 - 1


def use_own_control(description: Description, transports: Iterable[Transport], call: Callable[..., None]) -> object:
    """Describe the user's class, if a transport has one; keep what is returned as long as the session.

    ``call(function, *arguments)`` calls Python from the simulation. Raises InputError for a file that can't be read or
    compiled, and for a class that is not in it.
    """
    own = next((each for each in transports if each.keys.own_control is not None), None)
    control = None if own is None else own.keys.own_control
    if own is None or control is None:
        return None
    path, numbers = Path(control.path), own.control_numbers or {}
    if path.suffix == ".py":
        made = control_class(path, control.class_name)
        methods = frozenset(name for name in METHODS if callable(getattr(made, name, None)))
        factory, kept = python_control_factory(
            lambda: PythonControl(UserPart(str(path), control.class_name), made, numbers, call),
            methods,
        )
    else:
        factory, kept = compiled_control_factory(path, control.class_name), None
    description.transport(own.kind, {"control_factory": factory})
    return kept


def check_own_control(control: OwnControl) -> None:
    """Load or compile the user's class; raises InputError as :func:`use_own_control` does."""
    path = Path(control.path)
    if path.suffix == ".py":
        control_class(path, control.class_name)
    else:
        compiled_control_factory(path, control.class_name)


def control_class(path: Path, name: str) -> Made:
    """The class ``name`` of the Python file ``path``; raises InputError if there is none that can be a control."""
    found = load_part(UserPart(str(path), name), "congestion control", a_class=True)
    telemetry = getattr(found, "telemetry", "none")
    refuse(
        str(telemetry).upper() not in TELEMETRY,
        f"{name}.telemetry is {telemetry!r}, expected 'none', 'hops' or 'path'",
        path,
    )
    known = [method for method in METHODS if callable(getattr(found, method, None))]
    others = [each for each, value in vars(found).items() if not each.startswith("_") and callable(value)]
    others = [each for each in others if each not in METHODS]
    for method in others:
        for meant in get_close_matches(method, set(METHODS) - {*known}, n=1, cutoff=_CLOSE):
            raise wrong(f"{name} has '{method}', which is never called; did you mean '{meant}'?", path)
    refuse(
        bool(others) and not known, f"{name} has no method that is called, expected some of {', '.join(METHODS)}", path
    )
    return found


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise wrong(f"congestion control: sender.{name} is set to {value!r}, expected a number, 0 or more")
    return float(value)


def _whole(value: object, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise wrong(f"congestion control: {name} is {value!r}, expected a number from 0 to {most}")
    return int(value)


class Sender:
    """A queue pair's sender, as a Python class sees it."""

    __slots__ = ("_address", "_native")

    def __init__(self, address: int) -> None:
        self._address = address
        self._native = control_functions()

    @property
    def now_ps(self) -> int:
        """Simulated time."""
        return int(self._native.GetNowPs(self._address))

    @property
    def line_rate_bps(self) -> int:
        """Rate of the NIC's line."""
        return int(self._native.GetLineRateBps(self._address))

    @property
    def base_round_trip_ps(self) -> int:
        """Round trip of a full packet and its acknowledgement on an idle network."""
        return int(self._native.GetBaseRoundTripPs(self._address))

    @property
    def bandwidth_delay_bytes(self) -> int:
        """Window that keeps the path's slowest line busy."""
        return int(self._native.GetBandwidthDelayBytes(self._address))

    @property
    def payload_bytes(self) -> int:
        """Payload of a full packet."""
        return int(self._native.GetPayloadBytes(self._address))

    @property
    def packet_bytes(self) -> int:
        """Bytes a full packet takes on the line."""
        return int(self._native.GetPacketBytes(self._address))

    @property
    def switches(self) -> int:
        """Switches on the path."""
        return int(self._native.GetSwitches(self._address))

    @property
    def sent_bytes(self) -> int:
        """Stream position of the next byte to send."""
        return int(self._native.GetSentBytes(self._address))

    @property
    def acknowledged_bytes(self) -> int:
        """Stream position up to which everything is acknowledged."""
        return int(self._native.GetAcknowledgedBytes(self._address))

    @property
    def rate_bps(self) -> float:
        """Rate at which packets are paced."""
        return float(self._native.GetRateBps(self._address))

    @rate_bps.setter
    def rate_bps(self, value: float) -> None:
        self._native.SetRateBps(self._address, _number(value, "rate_bps"))

    @property
    def window_bytes(self) -> int:
        """Most bytes in flight; 0: no limit."""
        return int(self._native.GetWindowBytes(self._address))

    @window_bytes.setter
    def window_bytes(self, value: int) -> None:
        self._native.SetWindowBytes(self._address, _whole(value, "sender.window_bytes", _MOST))

    def start_timer(self, timer: int, delay_ps: int) -> None:
        """Have ``timer_due`` called once after ``delay_ps``; ``timer`` is 0 to 3."""
        number = _whole(timer, "timer of sender.start_timer", _LAST_TIMER)
        self._native.StartTimer(self._address, number, _whole(delay_ps, "delay_ps of sender.start_timer", _MOST))

    def stop_timer(self, timer: int) -> None:
        """Forget a timer."""
        self._native.StopTimer(self._address, _whole(timer, "timer of sender.stop_timer", _LAST_TIMER))

    def random(self) -> float:
        """A random number, uniform in [0, 1)."""
        return float(self._native.GetRandom(self._address))


class Ack:
    """The facts that an acknowledgement tells; see ``RoceAck``. ``telemetry``: (time_ps, sent, queue, rate) of each
    switch."""

    __slots__ = ("_address", "_native")

    def __init__(self, address: int) -> None:
        self._address = address
        self._native = control_functions()

    @property
    def round_trip_ps(self) -> int:
        """Since the acknowledged packet's first bit left."""
        return int(self._native.AckRoundTripPs(self._address))

    @property
    def acknowledged_bytes(self) -> int:
        """Stream position up to which everything has arrived."""
        return int(self._native.AckAcknowledgedBytes(self._address))

    @property
    def new_bytes(self) -> int:
        """How much of it this acknowledgement brought."""
        return int(self._native.AckNewBytes(self._address))

    @property
    def marked(self) -> bool:
        """Whether the packet carried a congestion mark."""
        return bool(self._native.AckMarked(self._address))

    @property
    def switches(self) -> int:
        """Switches that the packet passed."""
        return int(self._native.AckSwitches(self._address))

    @property
    def path_utilisation(self) -> float:
        """The highest utilisation on the path; below 0 if it was not sampled."""
        return float(self._native.AckPathUtilisation(self._address))

    @property
    def telemetry(self) -> list[tuple[int, int, int, int]]:
        """The report of each switch, in order of the path."""
        native, ack = self._native, self._address
        numbers = (native.HopTimePs, native.HopSentBytes, native.HopQueueBytes, native.HopRateBps)
        return [
            (int(numbers[0](ack, hop)), int(numbers[1](ack, hop)), int(numbers[2](ack, hop)), int(numbers[3](ack, hop)))
            for hop in range(int(native.AckHops(ack)))
        ]


class PythonControl:
    """Passes C++'s calls on to one object of the user's class."""

    def __init__(
        self,
        part: UserPart,
        made: Made,
        parameters: Mapping[str, float],
        call: Callable[..., None],
    ) -> None:
        """``part`` names the class ``made`` in messages about what it raises."""
        self._part = part
        self._object: object = None
        self._call = call
        self._methods: dict[str, Callable[..., object]] = {}
        self._sender: Sender | None = None
        self._alpha = 0.0
        self._telemetry = 0
        call(self._make, made, dict(parameters))

    def _make(self, made: Made, parameters: Mapping[str, float]) -> None:
        self._object = guarded(made, self._part)(parameters)
        attribute = guarded(getattr, self._part)  # a property of the user's may raise
        for name in METHODS:
            method = attribute(self._object, name, None)
            if method is not None:
                self._methods[name] = guarded(method, self._part)
        wanted = str(attribute(self._object, "telemetry", "none")).upper()
        self._telemetry = TELEMETRY.index(wanted) if wanted in TELEMETRY else 0

    def telemetry(self) -> int:
        """The telemetry that packets carry for it: the place in :data:`TELEMETRY` of what its class has as
        ``telemetry``."""
        return self._telemetry

    def start(self, sender: int) -> None:
        """The queue pair opens."""
        self._sender = Sender(sender)
        self.tell("start")

    def acknowledged(self, ack: int) -> None:
        """An acknowledgement has come."""
        self.tell("ack_received", Ack(ack))

    def tell(self, name: str, *arguments: object) -> None:
        """Call the method, if there is one."""
        method = self._methods.get(name)
        if method is not None:
            self._call(method, self._sender, *arguments)

    def alpha(self) -> float:
        """Return what the object has as ``alpha``, and 0 where reading it fails: the run ends with that error then."""
        self._alpha = 0.0
        self._call(guarded(self._read_alpha, self._part))
        return self._alpha

    def _read_alpha(self) -> None:
        self._alpha = float(getattr(self._object, "alpha", 0.0))
