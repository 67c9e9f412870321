"""The digest of what the native half was built from, which the build leaves beside the library."""

from __future__ import annotations

import hashlib
from contextlib import suppress

from astra_ns3.errors import BackendError
from astra_ns3.network.door.installed import LIBRARY, installed

_DIGEST = "lib/sources.sha256"


def native_digest() -> str:
    """The digest of the sources, or of the library itself if there is none; empty if that is not installed either."""
    with suppress(BackendError, OSError):
        return installed(_DIGEST).read_text(encoding="ascii").strip()
    with suppress(BackendError, OSError):
        return hashlib.sha256(installed(f"lib/{LIBRARY}").read_bytes()).hexdigest()
    return ""
