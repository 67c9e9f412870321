"""Modules that a Python file of the user's imports: found beside the file, loaded from their sources, kept apart."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType


class Source(SourceFileLoader):
    """Compiles the file each time, as files of ``__pycache__`` may be stale, or anybody's."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the code of the file as it is now."""
        return self.source_to_code(self.get_data(self.path), self.path)


class _UserFinder(PathFinder):
    """Finds the modules of users, to load them from their sources; leaves those of Python, packages and ours."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if path is None and fullname in sys.stdlib_module_names:
            return super().find_spec(fullname, sys.path[1:], target)  # Python's own modules import each other, too
        found = super().find_spec(fullname, path, target)
        if found is None or type(found.loader) is not SourceFileLoader or is_installed(Path(found.loader.path)):
            return None
        found.loader = Source(fullname, found.loader.path)
        return found


def is_installed(file: Path) -> bool:
    """Whether a module's file belongs to Python, to an installed package or to us, rather than to users."""
    ours, python = Path(__file__).parent, Path(sysconfig.get_path("stdlib"))
    return not {"site-packages", "dist-packages"}.isdisjoint(file.parts) or not {ours, python}.isdisjoint(file.parents)


@contextmanager
def modules_beside(file: Path) -> Iterator[None]:
    """Have imports find the modules beside ``file`` first, behind Python's own; afterwards all is as before.

    Modules of such a name that were loaded from elsewhere are put aside meanwhile. What is loaded from beside the file
    is forgotten at the end, so that another file gets its own, unless the process looks in that folder anyway.
    """
    folder = file.resolve().parent
    names = _names_in(folder)
    aside = {name: module for name, module in _modules_of(names) if not _lies_in(name, folder)}
    for name in aside:
        del sys.modules[name]
    known, finder, place = set(sys.modules), _UserFinder(), str(folder)
    looks_there = any(Path(each).resolve() == folder for each in sys.path)
    sys.path_importer_cache.pop(place, None)  # which may not know files that are new
    sys.path.insert(0, place)
    sys.meta_path.insert(sys.meta_path.index(PathFinder), finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        with suppress(ValueError):  # the user's code may have changed the path
            sys.path.remove(place)
        for name, _ in _modules_of({name.partition(".")[0] for name in aside} if looks_there else names):
            if name not in known:
                del sys.modules[name]
        sys.modules.update(aside)


def _names_in(folder: Path) -> set[str]:
    """Return the names of the modules and packages in a folder, without those that Python has, too, and ours."""
    modules = {each.stem for each in folder.glob("*.py")}
    packages = {each.parent.name for each in folder.glob("*/__init__.py")}
    return (modules | packages) - sys.stdlib_module_names - {"__init__", "__main__", str(__package__)}


def _modules_of(names: set[str]) -> list[tuple[str, ModuleType]]:
    """Return the modules that are loaded and have one of the names, and those in their packages."""
    return [(name, module) for name, module in sys.modules.items() if name.partition(".")[0] in names]


def _lies_in(name: str, folder: Path) -> bool:
    """Return whether a module, or the package that it is in, was loaded from a folder."""
    top = name.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    return file is not None and Path(file).resolve() in (folder / f"{top}.py", folder / top / "__init__.py")
