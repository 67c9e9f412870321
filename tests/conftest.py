"""Shared by all tests: where the repository is, so that inputs are found from any working folder; logs; and Ctrl-C."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # the time a test takes says how busy the machine is
settings.load_profile("any machine")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The folder that holds `astra_ns3/`, `inputs/` and `tests/`."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session", autouse=True)
def _ctrl_c_is_heard() -> Iterator[None]:
    """What a shell starts with ``&`` ignores Ctrl-C, and so would every run of these tests."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _logs_are_those_of_the_test() -> Iterator[None]:
    """A command played in this process sets which of the package's messages are shown, and where, until it ends."""
    logger = logging.getLogger("astra_ns3")
    level, handlers, propagates = logger.level, list(logger.handlers), logger.propagate
    yield
    logger.setLevel(level)
    logger.handlers[:], logger.propagate = handlers, propagates
