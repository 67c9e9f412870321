"""What users bring in Python is loaded in one way, and whatever it raises is one line that names the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from astra_ns3.errors import InputError
from astra_ns3.experiments.hooks import load_hook
from astra_ns3.network.ns3.own_control import control_class
from astra_ns3.system.own_policies import find_policy

DATACLASS = """from __future__ import annotations
from dataclasses import dataclass

@dataclass
class State:
    number: int = 3

class Mine:
    def __init__(self, parameters):
        self.state = State()

def on_built(context): return State().number
"""

Load = Callable[[Path], object]
LOADERS: dict[str, Load] = {
    "hook": load_hook,
    "policy": lambda file: find_policy(f"{file}:on_built", {}),
    "congestion control": lambda file: control_class(file, "Mine"),
}


@pytest.fixture(params=LOADERS)
def role(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_dataclass_with_postponed_annotations_is_loaded(role: str, tmp_path: Path) -> None:
    loaded = LOADERS[role](written(tmp_path, DATACLASS))
    assert callable(loaded)
    assert (loaded({}).state.number if role == "congestion control" else loaded(None)) == 3


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("raise SystemExit(1)", "SystemExit: 1"),
        ("raise BaseException('odd')", "BaseException: odd"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def (", "SyntaxError"),
        ("\0", "SyntaxError|ValueError"),
    ],
)
def test_a_file_that_raises_is_refused_by_its_name(role: str, text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"mine\.py(:1)?: the {role} file failed: ({what})"):
        LOADERS[role](written(tmp_path, text))


def test_a_missing_file_is_refused_by_its_name(role: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"mine\.py: no such {role} file"):
        LOADERS[role](tmp_path / "mine.py")


def test_a_name_too_long_for_a_file_is_that_of_no_file(role: str) -> None:
    with pytest.raises(InputError, match=rf"no such {role} file"):
        LOADERS[role](Path("x" * 1000 + ".py"))


def test_what_leaves_by_system_exit_is_told(tmp_path: Path) -> None:
    file = written(tmp_path, "def on_built(context): raise SystemExit(0)")
    for called in (load_hook(file), find_policy(f"{file}:on_built", {})):
        with pytest.raises(InputError, match=r"mine\.py:1: on_built failed: SystemExit: 0"):
            called(None)


def test_two_files_of_one_name_are_two_modules(tmp_path: Path) -> None:
    hooks = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        hooks.append(load_hook(written(tmp_path / folder, f"def on_built(context): return {folder!r}")))
    assert [hook(None) for hook in hooks] == ["a", "b"]
