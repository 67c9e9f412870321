"""Reading a configuration file: its text, or one clear line about why it can't be had."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from astra_ns3.errors import Where, nearest, refuse, wrong

LARGEST_FILE_BYTES = 64 * 1024 * 1024
"""A configuration file is small; this keeps a wrong path (a trace, a device) from filling the memory."""
# How the names of a trace's files end, behind the prefix that names them all.
_OF_A_RANK = re.compile(r"\.[0-9]+\.(et|json)$")


@contextmanager
def reading_file(path: str) -> Iterator[None]:
    """Raise InputError if the file is missing, no regular file, or can't be read inside."""
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise wrong(f"is {'a folder, ' if Path(path).is_dir() else ''}not a file", path)
        yield
    except FileNotFoundError as error:
        raise wrong(f"no such file{_nearest_beside(Path(path))}", path) from error
    except (OSError, ValueError) as error:
        raise wrong(f"cannot be read: {getattr(error, 'strerror', None) or error}", path) from error


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file (a byte order mark is dropped).

    Raises InputError naming the file if it is missing, unreadable, no regular file, too large, not text or empty.
    """
    name = os.fspath(path)
    with reading_file(name), Path(name).open("rb") as file:
        content = file.read(LARGEST_FILE_BYTES + 1)
    refuse(
        len(content) > LARGEST_FILE_BYTES,
        f"is larger than {LARGEST_FILE_BYTES} bytes, so it is no configuration file",
        name,
    )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise wrong("is not UTF-8 text", Where(name, line)) from error
    if "\0" in text:
        raise wrong("is not text (a zero byte)", Where(name, text.count(chr(10), 0, text.index(chr(0))) + 1))
    refuse(not text.strip(), "is empty", name)
    return text


def is_workload(path: str) -> bool:
    """Return whether there is a file or folder, or the files of a trace's ranks, PREFIX.<rank>.et, for a prefix."""
    if any(map(os.path.exists, (path, f"{path}.0.et", f"{path}.0.json"))):
        return True
    with suppress(OSError):  # without rank 0 there may be others: then the reading says that it is missing
        start = Path(path)
        return any(start.name in (entry.name, _OF_A_RANK.sub("", entry.name)) for entry in start.parent.iterdir())
    return False


def _nearest_beside(path: Path) -> str:
    """Return the nearest name in the folder of a file that isn't there, as :func:`nearest` says it.

    Names that share no more than their ending aren't near.
    """
    with suppress(OSError):
        names = {_OF_A_RANK.sub("", entry.name) for entry in path.parent.iterdir()} - {path.name}
        return nearest(path.name, [name for name in names if nearest(path.stem, [Path(name).stem])])
    return ""
