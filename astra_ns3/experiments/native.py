"""Which native half this program has: a digest of what it was built from."""

from __future__ import annotations

import hashlib
from functools import cache

from astra_ns3.errors import BackendError
from astra_ns3.network.registry import native_library


@cache
def native_digest() -> str:
    """Of the native library; empty if it is not installed."""
    try:
        return hashlib.sha256(native_library().read_bytes()).hexdigest()
    except (BackendError, OSError):
        return ""
