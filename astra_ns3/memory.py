"""How much more memory this process may take, and the refusal of what would take more than that.

Sources: MemAvailable of /proc/meminfo, the limits of the control groups (version 1 and 2) that the process is in, and
its own limit on address space. On a machine without them nothing is refused.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from astra_ns3.errors import wrong
from astra_ns3.units import format_bytes

_MEMINFO = Path("/proc/meminfo")
_OWN_GROUPS = Path("/proc/self/cgroup")
_STATM = Path("/proc/self/statm")
_GROUPS = Path("/sys/fs/cgroup")
_BYTES_PER_KB = 1024
_SMALL_BYTES = 1 << 20
"""Less than what a process takes at the next moment anyway: not worth a look, which takes milliseconds."""


class Available(NamedTuple):
    """So many more bytes; ``source`` says who allows no more, as ``the machine has``."""

    bytes: int
    source: str


def available_memory(limit_bytes: int | None = None) -> Available | None:
    """The least that any of the sources allows this process besides what it holds; None if nothing is known.

    ``limit_bytes``: the run's own limit on resident memory, one source more.
    """
    return min(_sources(limit_bytes), default=None)


def require_memory(what: str, needed_bytes: int, advice: str, *, limit_bytes: int | None = None) -> None:
    """Raise InputError, with the estimate, if ``needed_bytes`` are more than what is available.

    ``what`` names what is too large, ``advice`` what to do about it.
    Less than a megabyte is refused only by ``limit_bytes``.
    """
    if needed_bytes < _SMALL_BYTES and limit_bytes is None:
        return
    available = available_memory(limit_bytes)
    if available is not None and needed_bytes > available.bytes:
        raise wrong(
            f"{what} would need about {format_bytes(needed_bytes)} of memory, {available.source} "
            f"{format_bytes(available.bytes)} left; {advice}"
        )


def _sources(limit_bytes: int | None) -> Iterator[Available]:
    machine = _number_after(_MEMINFO, "MemAvailable:")
    if machine is not None:
        yield Available(machine * _BYTES_PER_KB, "the machine has")
    for group in _own_groups():
        left = _left_in(group)
        if left is not None:
            yield Available(left, "the control group has")
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    held = _held_bytes()
    if held is not None and space != resource.RLIM_INFINITY:
        yield Available(max(space - held[0], 0), "the limit on address space has")
    if held is not None and limit_bytes is not None and limit_bytes > held[1]:
        # One that is reached already is not a question of what is to come: the run will end by it.
        yield Available(limit_bytes - held[1], "the limit on memory has")


def _own_groups() -> Iterator[Path]:
    """The folders of the process's control groups and of those above; inside a container they may be the root."""
    for line in _text(_OWN_GROUPS).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        root = _GROUPS / "memory" if controllers else _GROUPS
        folder = root / path.lstrip("/")
        yield from (each for each in (folder, *folder.parents) if each.is_relative_to(root))


def _left_in(group: Path) -> int | None:
    """The bytes that the limit of a group leaves, its file cache counted as free; None without a limit."""
    for limit, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        allowed, taken = _text(group / limit).strip(), _text(group / used).strip()
        if allowed.isdigit() and taken.isdigit():
            return max(int(allowed) - int(taken) + (_number_after(group / "memory.stat", cache) or 0), 0)
    return None


def _held_bytes() -> tuple[int, int] | None:
    """Address space and resident memory of this process."""
    words = _text(_STATM).split()
    page = os.sysconf("SC_PAGE_SIZE")
    return (int(words[0]) * page, int(words[1]) * page) if len(words) > 1 else None


def _number_after(file: Path, name: str) -> int | None:
    for line in _text(file).splitlines():
        words = line.split()
        if words[:1] == [name]:
            return int(words[1])
    return None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""
