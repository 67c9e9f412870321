"""Reading a configuration file: its text, or one clear line about why it can't be had."""

from __future__ import annotations

import os
from pathlib import Path

from astra_ns3.errors import Where, refuse, wrong

LARGEST_FILE_BYTES = 64 * 1024 * 1024
"""A configuration file is small; this keeps a wrong path (a trace, a device) from filling the memory."""


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a UTF-8 file (a byte order mark is dropped).

    Raises InputError naming the file if it is missing, unreadable, no regular file, too large, not text or empty.
    """
    name = os.fspath(path)
    try:
        if Path(name).exists() and not Path(name).is_file():
            raise wrong(f"is {'a folder, ' if Path(name).is_dir() else ''}not a file", name)
        with Path(name).open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError as error:
        raise wrong("no such file", name) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise wrong(f"cannot be read: {reason}", name) from error
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
