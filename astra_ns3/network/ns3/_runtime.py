"""The one door to cppyy: loads our library and the ns-3 modules it needs, by explicit path, and checks their versions.

Nothing is loaded before :func:`load` is called. The header that cppyy reads holds no ns-3 header, so this takes
hundredths of a second beyond cppyy itself; :func:`load_namespace` adds ns-3's own headers for a user's hook.
"""

from __future__ import annotations

import faulthandler
import itertools
import re
import signal
import threading
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path
from typing import Any

import astra_ns3.network.ns3 as package
from astra_ns3.config.reading import read_text
from astra_ns3.errors import BackendError, InputError

NS3_VERSION = "3.44.post0"
_NS3_SERIES = "3.44"
_LIBRARY = "libastra-ns3.so"
_HOOK_MODULES = ("core", "network", "internet", "applications", "point-to-point")
_HOOK_HEADERS = (
    "ns3/core-module.h",
    "ns3/network-module.h",
    "ns3/internet-module.h",
    "ns3/applications-module.h",
    "fabric-net-device.h",
    "fabric-switch.h",
    "collective-application.h",
)
_TRACE_HELPER = """
namespace astra_ns3_hook {
template <typename F> struct Sink;
template <typename R, typename... A> struct Sink<R(A...)> {
    static ns3::Callback<R, A...> Make(std::function<R(A...)> function) { return ns3::Callback<R, A...>(function); }
};
}
"""


def _installed(relative: str) -> Path:
    # In an editable install, or started inside the repository, the sources and what was built are in two folders.
    for folder in (*package.__path__, str(distribution("astra-ns3").locate_file("astra_ns3/network/ns3"))):
        path = Path(folder) / relative
        if path.exists():
            return path
    raise BackendError(f"{relative} is missing from the installed astra_ns3; install it again with 'pip install .'")


def _ns3_root() -> Path:
    try:
        found = version("ns3")
    except PackageNotFoundError:
        raise BackendError(f"the package ns3 is not installed; run 'pip install ns3=={NS3_VERSION}'") from None
    if found != NS3_VERSION:
        raise BackendError(f"ns3 {found} is installed, {NS3_VERSION} needed; run 'pip install ns3=={NS3_VERSION}'")
    return Path(str(distribution("ns3").locate_file("ns3")))


@lru_cache(maxsize=1)
def load() -> Any:
    """The C++ namespace ``astra_ns3``; raises BackendError if something is missing or of another version."""
    root = _ns3_root()
    library = _installed(f"lib/{_LIBRARY}")
    header = _installed("include/astra-ns3-session.h")
    try:
        import cppyy
    except Exception as error:
        raise BackendError(f"cppyy can't be loaded: {error}") from error
    _restore_fatal_signals()
    for module in ("core", "network", "internet"):
        _load_library(cppyy, root / "lib64" / f"libns{_NS3_SERIES}-{module}.so")
    _load_library(cppyy, library)
    cppyy.add_include_path(str(header.parent))
    cppyy.include(header.name)
    namespace = cppyy.gbl.astra_ns3
    ours = version("astra-ns3")
    if namespace.GetLibraryVersion() != ours or namespace.GetNs3Version() != NS3_VERSION:
        raise BackendError(
            f"{_LIBRARY} is version {namespace.GetLibraryVersion()} for ns3 {namespace.GetNs3Version()}, but astra-ns3 "
            f"is {ours} and needs ns3 {NS3_VERSION}; install it again with 'pip install .'"
        )
    return namespace


def _restore_fatal_signals() -> None:
    """Let a crash end the process at once: cppyy's handlers print native stacks and then may wait for ever."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP):
        signal.signal(number, signal.SIG_DFL)
    if faulthandler.is_enabled():
        faulthandler.enable()


def _load_library(cppyy: Any, path: Path) -> None:
    try:
        cppyy.load_library(str(path))
    except Exception as error:
        raise BackendError(f"{path.name} can't be loaded: {error}") from error


@lru_cache(maxsize=1)
def load_namespace() -> Any:
    """ns-3's own C++ namespace ``ns3``, with its headers and those of our models, for a user's hook."""
    load()
    import cppyy

    root = _ns3_root()
    # The wheel was compiled with both; without them the layouts of its classes differ.
    cppyy.cppdef("#define NS3_LOG_ENABLE 1\n#define NS3_ASSERT_ENABLE 1\n")
    cppyy.add_include_path(str(root / "include"))
    for module in _HOOK_MODULES:
        _load_library(cppyy, root / "lib64" / f"libns{_NS3_SERIES}-{module}.so")
    for header in _HOOK_HEADERS:
        cppyy.include(header)
    cppyy.cppdef(_TRACE_HELPER)
    return cppyy.gbl.ns3


def schedule(delay_ps: int, function: Callable[[], object]) -> object:
    """Have ns-3 call ``function()`` after ``delay_ps``; keep what is returned until then."""
    import cppyy

    ns = load_namespace()
    native = cppyy.gbl.std.function["void()"](function)
    ns.Simulator.Schedule(ns.TimeStep(delay_ps), native)
    return native, function  # a std::function of Python holds no reference of its own


@cache
def _fits(signature: str, wanted: str) -> bool:
    """Whether a C++ function signature is that of the function pointer type ``wanted``, as far as that is known."""
    import cppyy

    name = f"sink_{abs(hash((signature, wanted)))}"
    scope = "namespace astra_ns3_hook {{ using namespace ns3; {} }}"
    try:
        cppyy.cppdef(scope.format(f"using {name} = std::function<{signature}>;"))
    except SyntaxError as error:
        example = "such as 'void(uint32_t, uint32_t)'"
        raise InputError(f"hook: '{signature}' is no C++ function signature, {example}") from error
    same = f"std::is_same_v<{signature}, std::remove_pointer_t<{wanted}>>"
    try:
        cppyy.cppdef(scope.format(f"bool fits_{name}() {{ return {same}; }}"))
    except SyntaxError:
        return True  # some of ns-3's trace sources name a type that it doesn't define, so nothing can be compared
    return bool(getattr(cppyy.gbl.astra_ns3_hook, f"fits_{name}")())


def _readable(wanted: str) -> str:
    """The C++ signature that the function pointer type ``wanted``, a name of ns-3's, stands for."""
    import cppyy

    name = f"say_{abs(hash(wanted))}"
    cppyy.cppdef(
        "namespace astra_ns3_hook { using namespace ns3; "
        f"template <class Function> std::string {name}_of() {{ return __PRETTY_FUNCTION__; }} "
        f"std::string {name}() {{ return {name}_of<std::remove_pointer_t<{wanted}>>(); }} }}"
    )
    said = re.search(r"\[Function = (.*)\]", str(getattr(cppyy.gbl.astra_ns3_hook, name)()))
    return wanted if said is None else said[1].replace(" (", "(", 1)


def trace(source: Any, name: str, signature: str, function: Callable[..., object]) -> object:
    """Connect ``function`` to a trace source; keep what is returned as long as it may fire.

    Raises InputError if ``source`` has no trace source of that name and signature.
    """
    import cppyy

    ns = load_namespace()
    information = ns.TypeId.TraceSourceInformation()
    type_id = source.GetInstanceTypeId()
    if not type_id.LookupTraceSourceByName(name, information):
        raise InputError(f"hook: {type_id.GetName()} has no trace source '{name}'")
    # ns-3 ends the process when a sink does not fit, so it is compared with what the source says of itself before.
    wanted = str(information.callback)
    if not _fits(signature, wanted):
        raise InputError(
            f"hook: trace source '{name}' of {type_id.GetName()} takes a function '{_readable(wanted)}', "
            f"found '{signature}'"
        )
    native = cppyy.gbl.std.function[signature](function)
    sink = cppyy.gbl.astra_ns3_hook.Sink[signature].Make(native)
    source.TraceConnectWithoutContext(name, sink)
    return native, sink, function


@lru_cache(maxsize=1)
def listener_class() -> type:
    """A Python class that C++ can call: passes each call on to the object it is made with."""
    namespace = load()

    class Listener(namespace.SessionListener):  # type: ignore[misc, name-defined]
        """Receives the callbacks of a session."""

        def __init__(self, receiver: Any) -> None:
            super().__init__()
            self._phase_done = receiver.phase_done
            self._timer_due = receiver.timer_due
            self._heartbeat = receiver.heartbeat
            self._records_ready = receiver.records_ready

        def PhaseDone(self, npu: int, instance: int, time_ps: int) -> None:  # noqa: N802
            self._phase_done(npu, instance, time_ps)

        def TimerDue(self, token: int, time_ps: int) -> None:  # noqa: N802
            self._timer_due(token, time_ps)

        def Heartbeat(self, time_ps: int, events: int) -> None:  # noqa: N802
            self._heartbeat(time_ps, events)

        def RecordsReady(self, table: int) -> None:  # noqa: N802
            self._records_ready(table)

    return Listener


def native_namespace() -> Any:
    """The C++ namespace ``ns3`` as far as our own header without ns-3's declares it."""
    load()
    import cppyy

    return cppyy.gbl.ns3


_CONTROL_FACTORY = """
namespace astra_ns3_control {{
ns3::RoceCongestionControl* Make{number}(const ns3::RoceControlParameters& parameters) {{
    return new ::{name}(parameters);
}}
uint64_t AddressOfMake{number}() {{ return reinterpret_cast<uint64_t>(&Make{number}); }}
}}
"""
_PYTHON_CONTROLS = """
#pragma cling optimize(2)
#include "roce-congestion-control.h"
namespace astra_ns3_control {
// Everything that crosses is a number. An object of Python's that C++ deletes, or a view of an object of C++'s that is
// gone, is what cppyy's books of who lives where do not survive when the next run uses the same addresses.
class Calls {
  public:
    virtual ~Calls() = default;
    virtual int64_t Made() = 0; // cppyy overrides nothing that returns a type of two words
    virtual void Start(int64_t control, uint64_t sender) = 0;
    virtual void AckReceived(int64_t control, uint64_t ack) = 0;
    virtual void Called(int64_t control, uint32_t method, uint32_t argument) = 0;
    virtual int32_t GetTelemetry(int64_t control) = 0;
    virtual double GetAlpha(int64_t control) = 0;
    virtual void Gone(int64_t control) = 0;
};
Calls* calls = nullptr;
uint32_t methods = 0;
enum Method : uint32_t { ACK_RECEIVED, CNP_RECEIVED, PACKET_SENT, LOSS_DETECTED, TIMER_DUE };
class Forward : public ns3::RoceCongestionControl {
  public:
    Forward() : m_number(calls->Made()) {}
    ~Forward() override { if (calls) { calls->Gone(m_number); } }
    void Start(ns3::RoceSender& sender) override { calls->Start(m_number, reinterpret_cast<uint64_t>(&sender)); }
    void AckReceived(ns3::RoceSender&, const ns3::RoceAck& ack) override {
        if (Has(ACK_RECEIVED)) { calls->AckReceived(m_number, reinterpret_cast<uint64_t>(&ack)); }
    }
    void CnpReceived(ns3::RoceSender&) override { Call(CNP_RECEIVED, 0); }
    void PacketSent(ns3::RoceSender&, uint32_t bytes) override { Call(PACKET_SENT, bytes); }
    void LossDetected(ns3::RoceSender&, bool timeout) override { Call(LOSS_DETECTED, timeout); }
    void TimerDue(ns3::RoceSender&, uint32_t timer) override { Call(TIMER_DUE, timer); }
    ns3::RoceTelemetry GetTelemetry() const override {
        return static_cast<ns3::RoceTelemetry>(calls->GetTelemetry(m_number));
    }
    double GetAlpha() const override { return calls->GetAlpha(m_number); }
  private:
    static bool Has(Method method) { return methods >> method & 1; }
    void Call(Method method, uint32_t argument) {
        if (Has(method)) { calls->Called(m_number, method, argument); }
    }
    int64_t m_number;
};
ns3::RoceCongestionControl* MakeForward(const ns3::RoceControlParameters&) { return new Forward(); }
uint64_t AddressOfMakeForward() { return reinterpret_cast<uint64_t>(&MakeForward); }
void Use(Calls* newCalls, uint32_t newMethods) { calls = newCalls; methods = newMethods; }

inline ns3::RoceSender& SenderAt(uint64_t address) { return *reinterpret_cast<ns3::RoceSender*>(address); }
int64_t GetNowPs(uint64_t sender) { return SenderAt(sender).GetNowPs(); }
uint64_t GetLineRateBps(uint64_t sender) { return SenderAt(sender).GetLineRateBps(); }
int64_t GetBaseRoundTripPs(uint64_t sender) { return SenderAt(sender).GetBaseRoundTripPs(); }
uint64_t GetBandwidthDelayBytes(uint64_t sender) { return SenderAt(sender).GetBandwidthDelayBytes(); }
uint32_t GetPayloadBytes(uint64_t sender) { return SenderAt(sender).GetPayloadBytes(); }
uint32_t GetPacketBytes(uint64_t sender) { return SenderAt(sender).GetPacketBytes(); }
uint32_t GetSwitches(uint64_t sender) { return SenderAt(sender).GetSwitches(); }
uint64_t GetSentBytes(uint64_t sender) { return SenderAt(sender).GetSentBytes(); }
uint64_t GetAcknowledgedBytes(uint64_t sender) { return SenderAt(sender).GetAcknowledgedBytes(); }
double GetRateBps(uint64_t sender) { return SenderAt(sender).GetRateBps(); }
void SetRateBps(uint64_t sender, double rate) { SenderAt(sender).SetRateBps(rate); }
uint64_t GetWindowBytes(uint64_t sender) { return SenderAt(sender).GetWindowBytes(); }
void SetWindowBytes(uint64_t sender, uint64_t bytes) { SenderAt(sender).SetWindowBytes(bytes); }
void StartTimer(uint64_t sender, uint32_t timer, int64_t delayPs) { SenderAt(sender).StartTimer(timer, delayPs); }
void StopTimer(uint64_t sender, uint32_t timer) { SenderAt(sender).StopTimer(timer); }
double GetRandom(uint64_t sender) { return SenderAt(sender).GetRandom(); }

inline const ns3::RoceAck& AckAt(uint64_t address) { return *reinterpret_cast<const ns3::RoceAck*>(address); }
int64_t AckRoundTripPs(uint64_t ack) { return AckAt(ack).roundTripPs; }
uint64_t AckAcknowledgedBytes(uint64_t ack) { return AckAt(ack).acknowledgedBytes; }
uint64_t AckNewBytes(uint64_t ack) { return AckAt(ack).newBytes; }
bool AckMarked(uint64_t ack) { return AckAt(ack).marked; }
uint32_t AckSwitches(uint64_t ack) { return AckAt(ack).switches; }
uint32_t AckHops(uint64_t ack) { return AckAt(ack).hops; }
double AckPathUtilisation(uint64_t ack) { return AckAt(ack).pathUtilisation; }
int64_t HopTimePs(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].timePs; }
uint64_t HopSentBytes(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].sentBytes; }
uint64_t HopQueueBytes(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].queueBytes; }
uint64_t HopRateBps(uint64_t ack, uint32_t hop) { return AckAt(ack).telemetry[hop].rateBps; }
}
"""
_CALLED_METHODS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("ack_received", ()),
    ("cnp_received", ()),
    ("packet_sent", (int,)),
    ("loss_detected", (bool,)),
    ("timer_due", (int,)),
)
"""By number, as in the C++ above, and what each is told besides its sender."""


@cache
def _included_text(path: Path) -> list[str]:
    """Where :func:`compiled_control_factory` keeps what a header said when it was compiled; empty: it was not yet."""
    return []


def _compile_header(path: Path, name: str) -> None:
    said, text = _included_text(path), read_text(path)
    if any(letter in str(path) for letter in '"\n\\'):
        raise InputError(f"{path}: a C++ file with a quote, a backslash or a line end in its path can't be included")
    if said and said[0] != text:
        raise InputError(f"{path}: has changed since this process compiled it; start a new one")
    if said:
        return
    _compile(path, name, f'#pragma cling optimize(2)\n#include "roce-congestion-control.h"\n#include "{path}"\n')
    said.append(text)


def _compile(path: Path, name: str, source: str) -> None:
    import cppyy

    try:
        cppyy.cppdef(source)
    except SyntaxError as error:
        wrong = next((line for line in str(error).splitlines() if "error:" in line), str(error).strip())
        raise InputError(f"{path}: class {name} can't be compiled: {wrong.strip()}") from error
    except Exception as error:
        # What it has at namespace scope is made at once, and that may throw.
        wrong = str(error).strip().splitlines()[-1].strip()
        raise InputError(f"{path}: class {name} can't be loaded: {wrong}") from error


@cache
def _control_factory(path: Path, name: str) -> int:
    import cppyy

    number = _control_factory.cache_info().currsize
    _compile(path, name, _CONTROL_FACTORY.format(name=name, number=number))
    return int(getattr(cppyy.gbl.astra_ns3_control, f"AddressOfMake{number}")())


def compiled_control_factory(path: Path, name: str) -> int:
    """Compile a user's congestion control; the address of the function that makes one.

    Raises InputError if the file does not compile, has no such class, or has changed since it was compiled: C++ can't
    forget a class, so that needs a new process.
    """
    load()
    resolved = path.resolve()
    _compile_header(resolved, name)
    return _control_factory(resolved, name)


@lru_cache(maxsize=1)
def control_functions() -> Any:
    """C++ functions on a sender or an acknowledgement, which are named by their addresses."""
    load()
    import cppyy

    cppyy.cppdef(_PYTHON_CONTROLS)
    return cppyy.gbl.astra_ns3_control


@lru_cache(maxsize=1)
def _calls_class() -> type:
    namespace = control_functions()

    class Calls(namespace.Calls):  # type: ignore[misc, name-defined]
        """Passes what C++ calls on to Python's controls, which are known by number while C++'s live."""

        def __init__(self, make: Callable[[], Any]) -> None:
            super().__init__()
            self._make = make
            self._controls: dict[int, Any] = {}
            self._numbers = itertools.count()

        def Made(self) -> int:  # noqa: N802
            number = next(self._numbers)
            self._controls[number] = self._make()
            return number

        def Start(self, control: int, sender: int) -> None:  # noqa: N802
            self._controls[control].start(sender)

        def AckReceived(self, control: int, ack: int) -> None:  # noqa: N802
            self._controls[control].acknowledged(ack)

        def Called(self, control: int, method: int, argument: int) -> None:  # noqa: N802
            name, kinds = _CALLED_METHODS[method]
            self._controls[control].tell(name, *(kind(argument) for kind in kinds))

        def GetTelemetry(self, control: int) -> int:  # noqa: N802
            return int(self._controls[control].telemetry())

        def GetAlpha(self, control: int) -> float:  # noqa: N802
            return float(self._controls[control].alpha())

        def Gone(self, control: int) -> None:  # noqa: N802
            del self._controls[control]

    return Calls


def python_control_factory(make: Callable[[], Any], methods: frozenset[str]) -> tuple[int, object]:
    """Have C++ make congestion controls that pass ``methods`` on to what ``make()`` returns.

    The address of the function that makes one, and what must be kept as long as it may be called.
    """
    namespace = control_functions()
    calls = _calls_class()(make)
    namespace.Use(calls, sum(1 << number for number, (name, _) in enumerate(_CALLED_METHODS) if name in methods))
    return int(namespace.AddressOfMakeForward()), calls
