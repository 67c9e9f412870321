"""ns-3's own headers and classes for a user's hook: its namespace, its events and its trace sources."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from astra_ns3.errors import wrong
from astra_ns3.network.door.installed import NS3_SERIES, installed, ns3_root
from astra_ns3.network.door.library import Native, load_calls_of_python, load_library

HOOK_MODULES = ("core", "network", "internet", "applications", "point-to-point")
HOOK_HEADERS = (
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


@lru_cache(maxsize=1)
def load_namespace() -> Native:
    """ns-3's own C++ namespace ``ns3``, with its headers and those of our models, for a user's hook."""
    load_calls_of_python()
    import cppyy

    root = ns3_root()
    # The wheel was compiled with both; without them the layouts of its classes differ.
    cppyy.cppdef("#define NS3_LOG_ENABLE 1\n#define NS3_ASSERT_ENABLE 1\n")
    cppyy.add_include_path(str(root / "include"))
    for module in HOOK_MODULES:
        load_library(root / "lib64" / f"libns{NS3_SERIES}-{module}.so")
    for header in HOOK_HEADERS:  # by whole paths: C++ looks for others in the working folder first
        cppyy.include(str((root / "include" if header.startswith("ns3/") else installed("include")) / header))
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
        raise wrong(f"hook: '{signature}' is no C++ function signature, {example}") from error
    same = f"std::is_same_v<{signature}, std::remove_pointer_t<{wanted}>>"
    try:
        cppyy.cppdef(scope.format(f"bool fits_{name}() {{ return {same}; }}"))
    except SyntaxError:
        return True  # some of ns-3's trace sources name a type that it doesn't define, so nothing can be compared
    return bool(getattr(cppyy.gbl.astra_ns3_hook, f"fits_{name}")())


@cache
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


def trace(source: Native, name: str, signature: str, function: Callable[..., object]) -> object:
    """Connect ``function`` to a trace source; keep what is returned as long as it may fire.

    Raises InputError if ``source`` has no trace source of that name and signature.
    """
    import cppyy

    information = load_namespace().TypeId.TraceSourceInformation()
    type_id = source.GetInstanceTypeId()
    if not type_id.LookupTraceSourceByName(name, information):
        raise wrong(f"hook: {type_id.GetName()} has no trace source '{name}'")
    # ns-3 ends the process when a sink does not fit, so it is compared with what the source says of itself before.
    wanted = str(information.callback)
    if not _fits(signature, wanted):  # to say what it takes compiles C++
        raise wrong(
            f"hook: trace source '{name}' of {type_id.GetName()} takes a function '{_readable(wanted)}', "
            f"found '{signature}'"
        )
    native = cppyy.gbl.std.function[signature](function)
    sink = cppyy.gbl.astra_ns3_hook.Sink[signature].Make(native)
    source.TraceConnectWithoutContext(name, sink)
    return native, sink, function
