"""docs/architecture.md says which files an addition takes: each row is done in a copy of the tree, and nothing else."""

from __future__ import annotations

import compileall
import importlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from architecture.additions import coming, in_computing, in_cpp, in_python
from architecture.additions.recipe import Recipe
from support.command import Command

pytestmark = pytest.mark.xdist_group("additions")  # they share a compiled package

RECIPES = (*in_python.RECIPES, *in_computing.RECIPES, *in_cpp.RECIPES, *coming.RECIPES)

REGISTRIES = {
    "astra_ns3/config/transports/kinds.py",
    "astra_ns3/experiments/jobs/job_kinds.py",
    "astra_ns3/network/backend_makers.py",
    "astra_ns3/transport/transports.py",
    "ns3-scratch/bridge/model/transport-registry.cc",
}
"""Files that list what there is."""


def rows(repository: Path) -> dict[str, str]:
    """What is new -> where it goes, from the table "Where new things go"."""
    text = (repository / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = text.split("## Where new things go")[1].split("\n## ")[0]
    cells = [line.strip("| ").split(" | ", 1) for line in table.splitlines() if line.startswith("| ")]
    return {name: where for name, where in cells if name not in ("New", "---")}


def named(where: str, path: str) -> bool:
    """Whether a row names a file: its path below the package or the C++ half, its name, its folder, or `NAME` in it."""
    for word in re.findall(r"`([^`]+)`", where):
        pattern = re.escape(word).replace("NAME", "[a-z-]+")
        if re.search(rf"(^|/){pattern}$", path) or (word.endswith("/") and re.search(rf"(^|/){pattern}[^/]+$", path)):
            return True
        if word.endswith("/") and f"/{word}" in f"/{path}" and path.startswith("ns3-scratch"):
            return True
    return False


@pytest.fixture(scope="session")
def compiled_package(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with its modules compiled, so that no test has to compile them again."""
    package = tmp_path_factory.mktemp("package") / "astra_ns3"
    shutil.copytree(repository / "astra_ns3", package, ignore=shutil.ignore_patterns("__pycache__", "lib", "include"))
    compileall.compile_dir(package, quiet=1)
    return package


def changed_tree(recipe: Recipe, package: Path, repository: Path, folder: Path) -> None:
    """A copy of the package and of the C++ half, with what the recipe adds. Files are links until they change."""
    shutil.copytree(package, folder / "astra_ns3", copy_function=os.link)
    if recipe.compiled:
        shutil.copytree(repository / "ns3-scratch", folder / "ns3-scratch", ignore=shutil.ignore_patterns("test"))
    for path, text in recipe.files.items():
        assert not (folder / path).exists()
        (folder / path).write_text(text, encoding="utf-8")
    for path, changes in recipe.lines.items():
        text = (folder / path).read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, f"{path}: {old!r} stands there {text.count(old)} times"
            text = text.replace(old, new)
        (folder / path).unlink()
        (folder / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("row", "most"),
    [
        ("transport", 0),
        ("backend", 1),
        ("tenant", 0),
        ("source of requests to servers", 2),
        ("admission to a port", 6),
        ("admission that a transport owns", 3),
    ],
)
def test_what_comes_next_edits_few_files_besides_registries(row: str, most: int) -> None:
    (recipe,) = (recipe for recipe in RECIPES if recipe.row == row)
    assert len(recipe.lines.keys() - REGISTRIES) <= most


@pytest.mark.parametrize("recipe", RECIPES, ids=[recipe.row.replace(" ", "-") for recipe in RECIPES])
def test_an_addition_takes_the_files_that_the_table_names_and_no_other(
    recipe: Recipe, compiled_package: Path, repository: Path, tmp_path: Path
) -> None:
    where = rows(repository)[recipe.row]
    touched = [*recipe.files, *recipe.lines]
    assert [path for path in touched if not named(where, path)] == []
    changed_tree(recipe, compiled_package, repository, tmp_path)
    done = Command((), folder=tmp_path, program=partial(play_check, recipe.check, tmp_path)).finish()
    assert done.returncode == 0, done.stderr


def play_check(check: str, folder: Path) -> None:
    """Run the script in a process that was forked from this one, on the package in ``folder``."""
    # An editable install puts a finder of its own before the path.
    sys.meta_path = [finder for finder in sys.meta_path if "Redirect" not in type(finder).__name__]
    sys.path.insert(0, str(folder))
    for name in [name for name in sys.modules if name.split(".")[0] in ("astra_ns3", "support")]:
        del sys.modules[name]
    package = importlib.import_module("astra_ns3")
    assert str(package.__file__).startswith(str(folder))
    exec(compile(check, "<check>", "exec"), {"__name__": "__main__", "astra_ns3": package, "sys": sys})


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [recipe for recipe in RECIPES if recipe.compiled], ids=lambda recipe: recipe.row)
def test_an_addition_to_the_native_half_compiles(
    recipe: Recipe, compiled_package: Path, repository: Path, tmp_path: Path
) -> None:
    changed_tree(recipe, compiled_package, repository, tmp_path)
    for source in recipe.compiled:
        compile_only(source, repository, tmp_path)


def compile_only(source: str, repository: Path, folder: Path) -> None:
    """Check a C++ file of the copy with the flags of the library's sources."""
    database = repository / "build" / "native" / "compile_commands.json"
    if not database.exists():
        pytest.skip("the native half was not built here")
    entries = json.loads(database.read_text(encoding="utf-8"))
    model = next(entry for entry in entries if "astra-ns3-objects.dir" in entry["command"])
    words = shlex.split(model["command"].replace(f"{repository}/ns3-scratch", f"{folder}/ns3-scratch"))
    flags = [word for word in words[1 : words.index("-o")] if word != "-O2"]
    command = ["c++", *flags, "-fsyntax-only", str(folder / source)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]


def test_every_row_of_the_table_is_done_by_a_test(repository: Path) -> None:
    assert {recipe.row for recipe in RECIPES} == rows(repository).keys()
