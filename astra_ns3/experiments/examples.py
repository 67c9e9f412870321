"""The examples that come with the program: the repository's ``inputs``, which an installed package has, too."""

from __future__ import annotations

import shutil
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from astra_ns3.errors import failing, refuse, wrong

EXAMPLE = ("workload/DLRM_HybridParallel.txt", "system/flat.yaml", "network/roce-16.yaml")
"""A workload, a system and a network that go together."""


def examples_folder() -> Path:
    """Where they lie; raises InputError if they are missing."""
    places = [Path(__file__).parents[2] / "inputs"]
    with suppress(PackageNotFoundError):
        places.append(Path(str(distribution("astra-ns3").locate_file("astra_ns3/examples"))))
    for place in places:
        if (place / EXAMPLE[0]).is_file():
            return place
    raise wrong(f"the examples are missing, expected them in {places[-1]}: install the package again")


def copy_examples(folder: Path) -> list[Path]:
    """Copy all of them into ``folder``, which is made; the files. Raises InputError if it is there and not empty."""
    refuse(
        folder.exists() and (not folder.is_dir() or any(folder.iterdir())),
        "is there already, expected a new or an empty folder",
        folder,
    )
    source = examples_folder()
    with failing(OSError, "can't be written", folder):
        shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for path in (folder / "extending").iterdir():  # what these name begins at the working folder
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("inputs/extending", f"{folder}/extending"), encoding="utf-8")
    return sorted(path for path in folder.rglob("*") if path.is_file())
