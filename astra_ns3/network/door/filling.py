"""The one way to fill a native struct: a field that C++ lacks is refused, which cppyy itself would add in silence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import nearest
from astra_ns3.network.door.library import Native

NativeValue = bool | int | float | str | npt.NDArray[np.generic]
"""A number, a word or an array of what a transport is made from."""
KINDS = {
    "NumbersView<unsigned int>": np.uint32,
    "NumbersView<long>": np.int64,
    "NumbersView<double>": np.float64,
}
"""The native views of somebody else's numbers, and what these must be."""


class Filling:
    """Fills native structs, and keeps the arrays that they view: as long as they are read, this must live."""

    def __init__(self) -> None:
        self._kept: list[object] = []

    def fill(self, native: Native, values: Mapping[str, object]) -> Native:
        """Set fields of ``native`` by their C++ names, and return it; an array goes into a view of numbers.

        Raises AttributeError for a name that the struct has not.
        """
        kind = type(native)
        for name, value in values.items():
            if not any(name in vars(base) for base in kind.__mro__):
                known = [field for field in dir(kind) if not field.startswith("_")]
                raise AttributeError(f"{kind.__cpp_name__} has no field '{name}'{nearest(name, known)}")
            if isinstance(value, np.ndarray):
                self._view(getattr(native, name), value)
            else:
                setattr(native, name, value)
        return native

    def tell(self, part: Native, values: Mapping[str, NativeValue]) -> None:
        """Give a native ``PartDescription`` values by their names."""
        for name, value in values.items():
            field = _field_for(value)
            self.fill(part.Add(name, field), {field: int(value) if field == "whole" else value})

    def _view(self, view: Native, array: npt.NDArray[np.generic]) -> None:
        wanted = KINDS[type(view).__cpp_name__.rpartition("::")[2]]
        if array.dtype != wanted or not array.flags.c_contiguous:
            raise TypeError(f"an array of {array.dtype} can't be viewed as {np.dtype(wanted)} in a row")
        self._kept.append(array)
        if array.size:  # the bridge takes no address of an empty one
            view.Show(array.reshape(-1), array.size)


def _field_for(value: NativeValue) -> str:
    """Return the field of a native ``Value`` that a value of its kind stands in."""
    if isinstance(value, np.ndarray):
        return "reals" if value.dtype == np.float64 else "numbers"
    return "word" if isinstance(value, str) else "real" if isinstance(value, float) else "whole"
