"""A user's hook file is loaded by its path, and what is wrong with it is said in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from astra_ns3.errors import InputError
from astra_ns3.experiments.hooks import load_hook


def hook_file(folder: Path, text: str) -> Path:
    file = folder / "hook.py"
    file.write_text(text)
    return file


def test_on_built_is_called_with_the_context(tmp_path: Path) -> None:
    seen: list[str] = []
    load_hook(hook_file(tmp_path, "def on_built(context):\n    context.append('built')\n"))(seen)
    assert seen == ["built"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "must define a function on_built"),
        ("on_built = 3\n", "must define a function on_built"),
        ("def on_built(:\n", "the hook file failed: SyntaxError"),
        ("import no_such_module\n", "the hook file failed: ModuleNotFoundError"),
    ],
)
def test_a_file_that_is_no_hook_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load_hook(hook_file(tmp_path, text))
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "hook.py"))


def test_a_missing_file_and_a_file_that_is_not_python_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such hook file"):
        load_hook(tmp_path / "hook.py")
    (tmp_path / "hook.txt").write_text("")
    with pytest.raises(InputError, match="must be a Python file"):
        load_hook(tmp_path / "hook.txt")


def test_what_on_built_raises_names_the_file(tmp_path: Path) -> None:
    hook = load_hook(hook_file(tmp_path, "def on_built(context):\n    1 / 0\n"))
    with pytest.raises(InputError, match=r"hook\.py:2: on_built failed: ZeroDivisionError"):
        hook(None)
