"""Writing a figure of matplotlib's into a file, such that equal figures give equal files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from astra_ns3.errors import ends_in, needing
from astra_ns3.root_folder import in_root_folder
from astra_ns3.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
_AS_WRITTEN: Any = {  # matplotlib types no name that comes from a mapping
    # A fixed salt: the same drawing gives the same file.
    "svg.hashsalt": "astra-ns3",
    "svg.fonttype": "none",
    # Names come from users and files: a dollar is a dollar, and begins no formula.
    "text.parse_math": False,
}
"""The settings of matplotlib for all that is drawn."""
_DATED = {".svg": "Date", ".pdf": "CreationDate"}


@contextmanager
def settings(more: Mapping[Any, Any]) -> Iterator[None]:
    """Set matplotlib's defaults and ``more`` meanwhile, whatever the user's are; theirs hold before and afterwards.

    A file ``matplotlibrc`` of the working folder that can't be read is left out.
    Raises :class:`~astra_ns3.errors.InputError` if matplotlib is missing.
    """
    with needing("matplotlib", "pictures need"):
        was_there = "matplotlib" in sys.modules
        mpl = in_root_folder(lambda: import_module("matplotlib"))
    if not was_there:
        with suppress(OSError, ValueError):
            mpl.rcParams.update(mpl.rc_params())
            if backend := os.environ.get("MPLBACKEND"):  # which goes before a file
                mpl.rcParams["backend"] = backend
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update({**_AS_WRITTEN, **more})
        yield


@contextmanager
def drawing(path: str | os.PathLike[str], size: tuple[float, float], dots_per_inch: int) -> Iterator[Axes]:
    """Give axes to draw into, on a figure of ``size`` inches; it is written in the format of the file's ending.

    Raises :class:`~astra_ns3.errors.InputError` if matplotlib is missing or the file can't be written.
    """
    target = os.fspath(path)
    ends_in("a figure's file", target, SUFFIXES)
    with settings({}):
        from matplotlib.figure import Figure

        figure = Figure(figsize=size)
        yield figure.add_subplot()
        figure.tight_layout()
        save_figure(figure, target, dpi=dots_per_inch)


def in_legend(name: str) -> str:
    """Return a name as a legend has it: matplotlib before 3.10 leaves out those that begin with an underscore."""
    return f" {name}" if name.startswith("_") else name


def save_figure(figure: Figure, target: str, **options: Any) -> None:  # as savefig has them
    """Write it in the format of the file's ending, without a date; ``options``: savefig's. Raises InputError."""
    date = _DATED.get(Path(target).suffix)
    with whole_file(target) as partial:
        figure.savefig(partial, metadata={} if date is None else {date: None}, **options)
