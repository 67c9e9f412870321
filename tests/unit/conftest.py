"""No test below this folder loads ns-3: an import of cppyy fails, whoever asks for it. ``bridge`` is for those."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import pytest

from astra_ns3.cli.main import main
from astra_ns3.network.door.library import load

NATIVE = ("cppyy", "cppyy_backend", "ns", "ns3")


class NoNs3:
    """A finder that comes first, and refuses."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in NATIVE:
            raise AssertionError(f"a test of tests/unit imports {name}; tests that need ns-3 belong into tests/bridge")
        return None


@pytest.fixture(autouse=True)
def no_ns3() -> Iterator[None]:
    """Holds also where a test of another folder has loaded ns-3 into this process."""
    finder = NoNs3()
    loaded = {name: sys.modules.pop(name) for name in NATIVE if name in sys.modules}
    load.cache_clear()
    sys.meta_path.insert(0, finder)
    yield
    sys.meta_path.remove(finder)
    sys.modules.update(loaded)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line in this process: its status, and what it printed on either stream."""

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main(words)
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return run
