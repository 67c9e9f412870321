"""The one door to cppyy: loads our library and the ns-3 modules it needs, by explicit path, and checks their versions.

Nothing is loaded before :func:`load` is called. The header that cppyy reads holds no ns-3 header, so this takes
hundredths of a second beyond cppyy itself; :func:`load_namespace` adds ns-3's own headers for a user's hook.
"""

from __future__ import annotations

import faulthandler
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
        raise InputError(f"hook: trace source '{name}' of {type_id.GetName()} takes a {wanted}, found {signature}")
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
_PYTHON_CONTROL_FACTORY = """
#include <functional>
namespace astra_ns3_control {
std::function<ns3::RoceCongestionControl*()> make_python;
const ns3::FabricTelemetryHop& HopOf(const ns3::RoceAck& ack, uint32_t hop) { return ack.telemetry[hop]; }
ns3::RoceCongestionControl* MakePython(const ns3::RoceControlParameters&) { return make_python(); }
uint64_t AddressOfMakePython() { return reinterpret_cast<uint64_t>(&MakePython); }
}
"""


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


@cache
def _python_control_class(methods: frozenset[str]) -> type:
    """A class that passes on these calls; what it lacks does not cross to Python."""
    load()
    import cppyy

    cppyy.include("roce-congestion-control.h")
    _define_python_factory()

    def forward(name: str) -> Callable[..., None]:
        def called(self: Any, _sender: Any, *arguments: Any) -> None:
            self.control.tell(name, *arguments)

        return called

    def start(self: Any, sender: Any) -> None:
        self.control.start(sender)

    def acknowledged(self: Any, _sender: Any, ack: Any) -> None:
        self.control.acknowledged(ack)

    def telemetry(self: Any) -> Any:
        return getattr(cppyy.gbl.ns3.RoceTelemetry, self.control.telemetry())

    def alpha(self: Any) -> float:
        return float(self.control.alpha())

    members: dict[str, Any] = {"Start": start, "GetTelemetry": telemetry, "GetAlpha": alpha}
    if "ack_received" in methods:
        members["AckReceived"] = acknowledged
    for name in methods - {"start", "ack_received"}:
        members["".join(word.capitalize() for word in name.split("_"))] = forward(name)
    base: Any = cppyy.gbl.ns3.RoceCongestionControl
    made: type = type(base)("PythonControl", (base,), members)
    return made


@lru_cache(maxsize=1)
def _define_python_factory() -> None:
    import cppyy

    cppyy.cppdef(_PYTHON_CONTROL_FACTORY)


def telemetry_hop(ack: Any, hop: int) -> Any:
    """What switch ``hop`` reported; a pointer by itself can't be indexed from Python."""
    import cppyy

    return cppyy.gbl.astra_ns3_control.HopOf(ack, hop)


def python_control_factory(make: Callable[[], Any], methods: frozenset[str]) -> tuple[int, object]:
    """Have C++ make congestion controls that pass ``methods`` on to what ``make()`` returns.

    The address of the function that makes one, and what must be kept as long as it may be called.
    """
    kind = _python_control_class(methods)
    import cppyy

    made: list[Any] = []

    def native() -> Any:
        control = kind()
        control.control = make()
        control.__python_owns__ = False  # the queue pair deletes it
        made.append(control)
        return control

    function = cppyy.gbl.std.function["ns3::RoceCongestionControl*()"](native)
    cppyy.gbl.astra_ns3_control.make_python = function
    return int(cppyy.gbl.astra_ns3_control.AddressOfMakePython()), (function, native, made)
