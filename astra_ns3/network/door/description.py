"""The description of a session, handed to C++ in one piece; ``description-reader.cc`` reads it there.

cppyy compiles the way into each native function and field when it is first used, for some milliseconds each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np
import numpy.typing as npt

from astra_ns3.network.api import EndpointModel
from astra_ns3.network.door.library import load
from astra_ns3.network.door.session import Session

NativeValue = bool | int | float | str | npt.NDArray[np.generic]
"""A number, a word or an array of what a part of a network is made from."""
_ARRAYS = {np.dtype(np.uint32): "numbers", np.dtype(np.int64): "quantities", np.dtype(np.float64): "reals"}


class Description:
    """A description that is being written; it keeps the arrays, which C++ views where they are."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._kept: list[object] = []

    def add(self, group: str, values: Mapping[str, NativeValue]) -> None:
        """Say values of a group by the names of its fields in ``network-description.h``.

        The names of groups are in ``description-reader.cc``: one of ``network``'s parts, which may be said in several
        pieces, or an element of a list, which is new each time.
        """
        self._words += [group, *(word for name, value in values.items() for word in (name, *self._told(value))), ""]

    def endpoint(self, endpoint: EndpointModel) -> None:
        """Say what NPUs spend on messages, and when they stand still."""
        stills = endpoint.stills
        values: dict[str, NativeValue] = {
            "delayPs": endpoint.delay_ps,
            "reductionBytesPerNs": endpoint.reduction_bytes_per_ns,
            "tellsFailures": endpoint.tells_failures,
            "stillNpus": np.array([each.npu for each in stills], dtype=np.uint32),
            "stillBeginsPs": np.array([each.start_ps for each in stills], dtype=np.int64),
            "stillEndsPs": np.array([each.end_ps for each in stills], dtype=np.int64),
        }
        self.add("endpoint", values)

    def transport(self, kind: str, values: Mapping[str, NativeValue]) -> None:
        """Say what a transport is made from, by the names that it reads; it refuses what it lacks or doesn't know."""
        self.add(f"transport {kind}", values)

    def _told(self, value: NativeValue) -> Iterator[str]:
        if isinstance(value, np.ndarray):
            kind = _ARRAYS.get(value.dtype)
            if kind is None or not value.flags.c_contiguous:
                raise TypeError(f"C++ can't view an array of {value.dtype} in {value.strides} bytes")
            self._kept.append(value)
            yield from (kind, str(value.ctypes.data), str(value.size))
        elif isinstance(value, str):
            yield from ("word", value)
        elif isinstance(value, float):
            yield from ("real", repr(float(value)))
        else:
            yield from ("whole", str(int(value)))

    def open(self, seed: int, listener: object) -> Session:
        """The session; nothing of the description is needed any more."""
        text = "".join(f"{word}\0" for word in self._words).encode()
        session = load().Session.Open(text, len(text), seed, listener)
        session.__python_owns__ = True
        return cast(Session, session)
