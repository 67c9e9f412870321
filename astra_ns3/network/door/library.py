"""Loads our library and the ns-3 modules it needs, by explicit path, and checks their versions.

Nothing is loaded before :func:`load` is called. The header that cppyy reads holds no ns-3 header, so this takes
hundredths of a second beyond cppyy itself.
"""

from __future__ import annotations

import ctypes
import faulthandler
import signal
import threading
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from astra_ns3.errors import BackendError
from astra_ns3.network.door.installed import LIBRARY, NS3_SERIES, NS3_VERSION, installed, ns3_root
from astra_ns3.root_folder import in_root_folder

Native = Any  # no stub knows the classes of C++
"""A namespace, a class or an object of C++'s: cppyy learns its type when it is first used."""


@lru_cache(maxsize=1)
def load() -> Native:
    """The C++ namespace ``astra_ns3``; raises BackendError if something is missing or of another version."""
    root = ns3_root()
    library = installed(f"lib/{LIBRARY}")
    header = installed("include/callback-listener.h")
    try:
        cppyy = in_root_folder(lambda: import_module("cppyy"))
    except Exception as error:
        raise BackendError(f"cppyy can't be loaded: {error}") from error
    _restore_fatal_signals()
    for module in ("core", "network", "internet"):
        load_library(root / "lib64" / f"libns{NS3_SERIES}-{module}.so")
    load_library(library)
    cppyy.add_include_path(str(header.parent))
    cppyy.include(str(header))
    namespace = cppyy.gbl.astra_ns3
    ours = version("astra-ns3")
    library_version, ns3_version = str(namespace.GetVersions()).split()
    if library_version != ours or ns3_version != NS3_VERSION:
        raise BackendError(
            f"{LIBRARY} is version {library_version} for ns3 {ns3_version}, but astra-ns3 "
            f"is {ours} and needs ns3 {NS3_VERSION}; install it again with 'pip install .'"
        )
    return namespace


def control_header() -> str:
    """The lines of C++ with which a congestion control begins: C++ looks for a relative path in the working folder."""
    return f'#pragma cling optimize(2)\n#include "{installed("include/roce-congestion-control.h")}"\n'


@lru_cache(maxsize=1)
def load_calls_of_python() -> None:
    """Load what C++ needs to call a function of Python: cppyy includes headers by relative paths for the first one."""
    load()
    import cppyy

    in_root_folder(lambda: cppyy.gbl.std.function["void()"](lambda: None))


def _restore_fatal_signals() -> None:
    """Let a crash end the process at once: cppyy's handlers print native stacks and then may wait for ever."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP):
        signal.signal(number, signal.SIG_DFL)
    if faulthandler.is_enabled():
        faulthandler.enable()


def load_library(path: Path) -> None:
    """Load a shared library, so that cppyy finds what is in it; raises BackendError if that fails.

    The system's loader does it: cppyy's own way there is compiled in each process.
    """
    try:
        ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise BackendError(f"{path.name} can't be loaded: {error}") from error
