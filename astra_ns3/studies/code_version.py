"""Which code a process runs: results of one study come from one version only, whatever machines play it."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from astra_ns3.experiments.versions import native_digest, package_version


@lru_cache(maxsize=1)
def code_version() -> str:
    """The version of this package, and a digest of its Python files and of what its native half was built from."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256(native_digest().encode())
    for file in sorted(root.rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\n".encode())
        digest.update(file.read_bytes())
    return f"{package_version()} ({digest.hexdigest()[:12]})"
