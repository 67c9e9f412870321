"""Where the native library, its headers and ns-3 lie, and of which versions they must be."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import astra_ns3.network.door as package
from astra_ns3.errors import BackendError

NS3_VERSION = "3.44.post0"
NS3_SERIES = "3.44"
LIBRARY = "libastra-ns3.so"


def installed(relative: str) -> Path:
    """Where a file of the native half is; raises BackendError if it is missing."""
    # In an editable install, or started inside the repository, the sources and what was built are in two folders.
    for folder in (*package.__path__, str(distribution("astra-ns3").locate_file("astra_ns3/network/door"))):
        path = Path(folder) / relative
        if path.exists():
            return path
    raise BackendError(f"{relative} is missing from the installed astra_ns3; install it again with 'pip install .'")


def ns3_root() -> Path:
    """The folder of the package ns3; raises BackendError if it is missing or of another version."""
    try:
        found = version("ns3")
    except PackageNotFoundError:
        raise BackendError(f"the package ns3 is not installed; run 'pip install ns3=={NS3_VERSION}'") from None
    if found != NS3_VERSION:
        raise BackendError(f"ns3 {found} is installed, {NS3_VERSION} needed; run 'pip install ns3=={NS3_VERSION}'")
    return Path(str(distribution("ns3").locate_file("ns3")))
