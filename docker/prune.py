"""Takes out of a virtual environment what running astra-ns3 never opens. Run by ``docker/build.sh``, with its Python.

usage: PREFIX/bin/python docker/prune.py

Of ns-3 stay the libraries that ours and those of hooks need, found by asking the loader, and the headers that the
headers for hooks include, found by asking the compiler. Of other packages go their tests, the headers and sources for
those who build against them, and parts that need a service we don't use. Licences stay, all of them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from astra_ns3.network.door.hooking import HOOK_HEADERS, HOOK_MODULES
from astra_ns3.network.door.installed import LIBRARY, NS3_SERIES, installed, ns3_root

PACKAGES = ns3_root().parent

BUILD_TOOLS = {"cmake", "ninja", "scikit-build-core", "setuptools", "wheel", "pathspec", "pip"}
"""Distributions that only building needs; those among them that something else asks for stay."""

UNUSED = (
    "ns3/libexec",
    "ns3/visualizer",
    "ns3/ns",
    "visualizer",
    "ns3/lib64/cmake",
    "ns3/lib64/pkgconfig",
    "numpy/_core/include",
    "numpy/_core/lib/*.a",
    "numpy/random/lib/*.a",
    "pyarrow/include",
    "pyarrow/src",
    "pyarrow/**/*.px[di]",
    "pyarrow/**/*.pyx",
    "pyarrow/*flight*",
    "pyarrow/*_s3*",
    "plotly/labextension",
    "matplotlib/mpl-data/sample_data",
)
"""Files and folders beside the packages: patterns of pathlib's."""

SMALL_BYTES = 200_000
"""Shared objects below this are not worth stripping."""

TESTS = (
    "numpy",
    "pandas",
    "pyarrow",
    "matplotlib",
    "mpl_toolkits",
    "plotly",
    "dask",
    "distributed",
    "tornado",
    "psutil",
)
"""Packages whose folders ``tests`` and ``test`` go."""


def needed_libraries(starts: Iterable[Path]) -> set[Path]:
    """The libraries of the folder ns3 that the loader maps for ``starts``, themselves included."""
    needed = set()
    for start in starts:
        said = subprocess.run(["ldd", start], check=True, capture_output=True, text=True).stdout
        needed |= {Path(found).resolve() for found in re.findall(r"=> (\S+)", said) if "/ns3/" in found}
        needed.add(start.resolve())
    return needed


def needed_headers(folders: Iterable[Path], headers: Iterable[str]) -> set[Path]:
    """All files that ``headers`` come to include, the standard library's among them."""
    source = "".join(f"#include <{header}>\n" for header in headers)
    command = ["c++", "-std=c++20", "-DNS3_LOG_ENABLE", "-DNS3_ASSERT_ENABLE", "-M", "-x", "c++", "-"]
    command += [f"-I{folder}" for folder in folders]
    said = subprocess.run(command, check=True, capture_output=True, text=True, input=source).stdout
    return {Path(word).resolve() for word in said.replace("\\\n", " ").split()[1:]}


def unused_of_ns3() -> Iterator[Path]:
    """What of the ns-3 wheel neither the program nor a hook reads."""
    libraries, headers = ns3_root() / "lib64", ns3_root() / "include"
    modules = [libraries / f"libns{NS3_SERIES}-{module}.so" for module in HOOK_MODULES]
    kept = needed_libraries([installed(f"lib/{LIBRARY}"), *modules])
    whole_modules = [f"ns3/{path.stem.partition('-')[2]}-module.h" for path in kept if path.stem.startswith("libns3.")]
    ours = installed("include/callback-listener.h").parent
    kept |= needed_headers([headers, ours], [*HOOK_HEADERS, *whole_modules])
    for folder in (libraries, headers):
        yield from (path for path in folder.rglob("*") if path.is_file() and path.resolve() not in kept)


def canonical(name: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def unused_of_packages() -> Iterator[Path]:
    """The listed files, the tests of packages, and what pip installed to build with."""
    for pattern in UNUSED:
        yield from PACKAGES.glob(pattern)
    for package in TESTS:
        yield from (path for path in (PACKAGES / package).rglob("test*") if path.name in ("test", "tests"))
    yield from (Path(sys.prefix) / name for name in ("share/jupyter", "etc/jupyter"))
    every = list(distributions(path=[str(PACKAGES)]))
    asked_for = {
        canonical(re.split(r"[^\w.-]", line)[0])
        for distribution in every
        if canonical(distribution.name) not in BUILD_TOOLS
        for line in distribution.requires or ()
        if "extra ==" not in line
    }
    for distribution in every:
        if canonical(distribution.name) in BUILD_TOOLS - asked_for:
            yield from (Path(str(distribution.locate_file(file))).resolve() for file in distribution.files or ())


def remove(paths: Iterable[Path]) -> None:
    """Remove files and folders, and the folders that are empty then."""
    for path in list(paths):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    for folder in sorted((path for path in PACKAGES.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def loads(library: Path) -> bool:
    """Whether the loader accepts a shared object."""
    return subprocess.run(["ldd", library], check=False, capture_output=True).returncode == 0


def strip() -> None:
    """Take the names that only debuggers read out of large shared objects.

    Some that wheels bring along were rewritten when the wheel was made, in a way that ``strip`` breaks: they stay.
    """
    for path in list(PACKAGES.rglob("*.so*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size < SMALL_BYTES:
            continue
        stripped = path.with_name(f"{path.name}.stripped")
        command = ["strip", "--strip-unneeded", "--preserve-dates", "-o", stripped, path]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0 and loads(stripped):
            stripped.replace(path)
        stripped.unlink(missing_ok=True)


def megabytes() -> int:
    """What the environment takes on a disk."""
    return int(subprocess.run(["du", "-sm", sys.prefix], check=True, capture_output=True, text=True).stdout.split()[0])


def main() -> None:
    """Prune the environment that this runs in."""
    if sys.prefix == sys.base_prefix:
        sys.exit("docker/prune.py: prunes the virtual environment that it runs in, and this is none")
    before = megabytes()
    remove(unused_of_ns3())
    remove(unused_of_packages())
    strip()
    print(f"{sys.prefix}: {before} MB, {megabytes()} MB without what is never opened")


if __name__ == "__main__":
    main()
