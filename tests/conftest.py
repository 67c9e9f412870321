"""Shared by all tests: where the repository is, so that inputs are found from any working folder."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds `astra_ns3/`, `inputs/` and `tests/`."""
    return Path(__file__).resolve().parent.parent
