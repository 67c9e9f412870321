"""Versions of this package and of what it stands on, read without loading any of it."""

from __future__ import annotations

import platform
from functools import cache
from importlib import metadata

_PACKAGE = "astra-ns3"
_COMPONENTS = ("ns3", "cppyy", "numpy", "pandas", "pyarrow", "pydantic")


def package_version() -> str:
    """The version of this package as installed."""
    return _version(_PACKAGE)


def versions() -> dict[str, str]:
    """Versions of this package, of what it stands on and of Python."""
    found = {_PACKAGE: package_version(), **{name: _version(name) for name in _COMPONENTS}}
    return {**found, "python": platform.python_version(), "platform": platform.platform()}


def native_digest() -> str:
    """Digest of what the native half was built from; empty if it is not installed."""
    from astra_ns3.network.backend_makers import native_digest

    return native_digest()


@cache
def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
