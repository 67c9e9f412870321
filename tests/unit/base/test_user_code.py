"""What users bring in Python is loaded in one way, and whatever it raises is one line that names the file."""

from __future__ import annotations

import os
import py_compile
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from astra_ns3.collectives.lookup import lookup
from astra_ns3.config.core.collective_kind import CollectiveKind
from astra_ns3.config.network.packet_network import parse_network
from astra_ns3.config.workload import Workload
from astra_ns3.errors import InputError
from astra_ns3.experiments.hooks import load_hook
from astra_ns3.network.ns3.own_control import PythonControl, control_class
from astra_ns3.playing.loops.loops import loop_of
from astra_ns3.system.own_policies import find_policy
from astra_ns3.user_code import UserPart, load_pure_part, user_part

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

Load = Callable[[str], object]
CALLED_LATER: dict[str, Load] = {
    "hook": load_hook,
    "policy": lambda part: find_policy(part, {}),
    "congestion control": lambda part: control_class(Path(part.rpartition(":")[0]), part.rpartition(":")[2]),
}
LOADERS: dict[str, Load] = {
    **CALLED_LATER,
    "algorithm": lambda part: lookup(CollectiveKind.ALL_REDUCE, part, 4),
    "training loop": lambda part: loop_of(Workload(part, ()), 1),
    "topology": lambda part: parse_network({"topology": {"kind": part}}),
}


def named(role: str, file: Path) -> str:
    return f"{file}:{'Mine' if role == 'congestion control' else 'on_built'}"


@pytest.fixture(params=LOADERS)
def role(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize("role", CALLED_LATER)
def test_a_dataclass_with_postponed_annotations_is_loaded(role: str, tmp_path: Path) -> None:
    loaded = LOADERS[role](named(role, written(tmp_path, DATACLASS)))
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
        LOADERS[role](named(role, written(tmp_path, text)))


def test_the_line_that_failed_is_named(role: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"mine\.py:3: the {role} file failed: KeyError: 'x'"):
        LOADERS[role](named(role, written(tmp_path, "import json\n\njson.loads('{}')['x']\n")))
    with pytest.raises(InputError, match=rf"mine\.py:2: the {role} file failed: SyntaxError"):
        LOADERS[role](named(role, written(tmp_path, "x = 3\ndef (\n")))


def test_a_name_that_is_not_there_has_a_nearest_one(role: str, tmp_path: Path) -> None:
    kind, name = ("class", "Mine") if role == "congestion control" else ("function", "on_built")
    file = written(tmp_path, f"def {name}e(): pass\n")
    wanted = rf"mine\.py: the {role} file must define a {kind} {name}"
    with pytest.raises(InputError, match=rf"{wanted}; did you mean '{name}e'\?$"):
        LOADERS[role](named(role, file))
    file.write_text(f"{name} = 3\n")
    with pytest.raises(InputError, match=rf"{wanted}, found an int$"):
        LOADERS[role](named(role, file))


def test_a_missing_file_is_refused_by_its_name(role: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=rf"mine\.py: no such {role} file"):
        LOADERS[role](named(role, tmp_path / "mine.py"))


def test_a_name_too_long_for_a_file_is_that_of_no_file(role: str) -> None:
    with pytest.raises(InputError, match=rf"no such {role} file"):
        LOADERS[role](named(role, Path("x" * 1000 + ".py")))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("mine.py:f", ("mine.py", "f")),
        ("file:a b/mine.py:f_2", ("a b/mine.py", "f_2")),
        ("a.py:b.py:c", ("a.py:b.py", "c")),
        ("mine.py", None),
        ("mine.py:", None),
        ("mine.py:2f", None),
        ("mine.py:f.g", None),
        ("mine.py:n::f", None),
        ("mine.hpp:f", None),
        (".py:f", None),
        (3, None),
    ],
)
def test_a_part_is_named_by_file_and_name(text: object, part: tuple[str, str] | None) -> None:
    assert user_part(text) == part


def test_a_class_may_be_in_cpp_and_in_a_namespace() -> None:
    assert user_part("mine.hpp:n::Mine", compiled=True) == ("mine.hpp", "n::Mine")
    assert user_part("mine.py:Mine", compiled=True) == ("mine.py", "Mine")


def test_a_hook_is_on_built_unless_it_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "def on_built(context): return 1\ndef other(context): return 2\n")
    assert [load_hook(name)(None) for name in (file, f"{file}:on_built", f"{file}:other")] == [1, 1, 2]


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


FAILING_CONTROLS = """
class Control:
    def __init__(self, parameters):
        self.parameters["x"]

class Late:
    def __init__(self, parameters):
        self.seen = 0

    def packet_sent(self, sender, bytes):
        raise KeyError("late")

    @property
    def alpha(self):
        raise ValueError("no alpha")
"""


def test_what_a_control_raises_is_one_line_with_file_and_line(tmp_path: Path) -> None:
    file = written(tmp_path, FAILING_CONTROLS)
    raised: list[BaseException] = []

    def call(function: Callable[..., object], *arguments: object) -> None:
        """As the backend calls Python: what is raised is kept."""
        try:
            function(*arguments)
        except BaseException as error:
            raised.append(error)

    PythonControl(UserPart(str(file), "Control"), control_class(file, "Control"), {}, call)
    late = PythonControl(UserPart(str(file), "Late"), control_class(file, "Late"), {}, call)
    late.tell("packet_sent", 100)
    assert late.alpha() == 0
    assert [(type(error), str(error)) for error in raised] == [
        (InputError, f"{file}:4: Control failed: AttributeError: 'Control' object has no attribute 'parameters'"),
        (InputError, f"{file}:11: Late failed: KeyError: 'late'"),
        (InputError, f"{file}:15: Late failed: ValueError: no alpha"),
    ]


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (("start", "ack_recieved"), "Mine has 'ack_recieved', which is never called; did you mean 'ack_received'?"),
        (("acknowledged",), "Mine has no method that is called, expected some of start, ack_received"),
        (("start", "restart", "starts"), ""),
    ],
)
def test_a_control_with_a_misspelt_method_or_with_none_is_refused(
    tmp_path: Path, methods: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "control.py"
    file.write_text("class Mine:\n" + "".join(f"    def {name}(self, *given): ...\n" for name in methods))
    if not message:
        control_class(file, "Mine")
        return
    with pytest.raises(InputError, match=re.escape(message)):
        control_class(file, "Mine")


def of_the_same_second(file: Path, number: int) -> None:
    file.write_text(f"number = {number}\n")
    os.utime(file, (1, 1))


def test_a_changed_file_counts_even_if_size_and_time_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    numbers = []
    for number in (1, 2):
        of_the_same_second(tmp_path / "helper_of_mine.py", number)
        of_the_same_second(tmp_path / "mine.py", number)
        with (tmp_path / "mine.py").open("a") as file:
            file.write("import helper_of_mine\ndef on_built(context): return number, helper_of_mine.number\n")
        os.utime(tmp_path / "mine.py", (1, 1))
        numbers.append(load_hook(tmp_path / "mine.py")(None))
        del sys.modules["helper_of_mine"]
    assert numbers == [(1, 1), (2, 2)]
    assert not (tmp_path / "__pycache__").exists()


def test_a_pure_part_is_loaded_anew_if_size_and_time_are_the_same(tmp_path: Path) -> None:
    part, numbers = UserPart(str(tmp_path / "mine.py"), "number"), []
    for number in (1, 2):
        (tmp_path / "mine.py").write_text(f"def number(): return {number}\n")
        os.utime(tmp_path / "mine.py", (1, 1))
        numbers.append(load_pure_part(part, "topology")())
        time.sleep(0.02)  # the clock of files has ticked
    assert numbers == [1, 2]


def test_a_compiled_file_that_lies_there_is_not_run(tmp_path: Path) -> None:
    file = written(tmp_path, "def on_built(context): return 'planted'\n")
    py_compile.compile(str(file), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    file.write_text("def on_built(context): return 'mine'\n")
    assert load_hook(file)(None) == "mine"
