"""Files that appear under their names only when they are whole, and never take another file's place unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from astra_ns3.errors import failing, refuse


def check_free(target: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise InputError if there is a file, or a link, named ``target`` that isn't to be replaced."""
    refuse(
        bool(os.path.lexists(target) and not overwrite), "exists already; name another file or use --overwrite", target
    )


@contextmanager
def whole_file(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield where to write; what was written becomes ``target`` at the end, in the place of what has that name.

    A link is replaced and not followed. If the block fails, nothing has changed. Raises InputError for an OSError.
    """
    path = Path(target)
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")  # the ending tells writers the format
    with failing(OSError, "cannot be written", path):
        try:
            yield partial
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
