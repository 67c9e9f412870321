"""Where a trace is written: all of its files take their names at once, and none of another workload is among them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from astra_ns3.errors import failing, wrong
from astra_ns3.units import counted
from astra_ns3.whole_file import whole_file
from astra_ns3.workload.files.chakra.files import SUFFIXES, rank_files
from astra_ns3.workload.files.chakra.groups import GROUPS_SUFFIX


def check_target(prefix: str, suffix: str, ranks: int | None, *, groups: bool) -> None:
    """Raise InputError if files of another workload stand there that would be read with those of ``prefix``.

    ``ranks``: how many files there will be, from rank 0 on; None: one, of some rank of many. ``groups``: whether there
    will be a file of communicators. Files of the same names are replaced, and no problem.
    """
    strange = [] if ranks is None else [path for rank, path in rank_files(prefix, suffix).items() if rank >= ranks]
    for other in SUFFIXES:
        if other != suffix:
            strange += rank_files(prefix, other).values()
    beside = Path(prefix + GROUPS_SUFFIX)
    if ranks is not None and not groups and beside.exists():
        strange.append(str(beside))
    if strange:
        more = f" (and {counted(len(strange) - 1, 'more such file')})" if len(strange) > 1 else ""
        raise wrong(
            f"stands there already, and would be taken for a part of what is written to {prefix}{more}; "
            "remove it, or write to another name",
            strange[0],
        )


class Together:
    """Files that take their names when all are written, so that a workload that fails leaves what was there before."""

    def __init__(self) -> None:
        self._files = ExitStack()

    def __enter__(self) -> Together:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.__exit__(kind, error, trace)

    @contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        """A file that will be at ``path``; raises InputError with its name if it can't be written."""
        partial = self._files.enter_context(whole_file(path))
        with failing(OSError, "cannot be written", path), partial.open("wb") as file:
            yield file
