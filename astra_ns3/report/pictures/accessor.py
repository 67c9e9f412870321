"""``result.plot``: a function for each kind of picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from astra_ns3.report.pictures.kind import Choice, Kind, width_of
from astra_ns3.report.pictures.kinds import IN_FILES
from astra_ns3.report.tables import Records

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture:
    """Draws one kind of picture of a run."""

    def __init__(self, kind: Kind, records: Records) -> None:
        self._kind = kind
        self._records = records
        self.__doc__ = f"{kind.words}."

    def __call__(
        self,
        *,
        width: str | float = "column",
        select: str | Iterable[str] = (),
        title: str | None = None,
        beside: Iterable[Records] = (),
    ) -> Figure:
        """Return the picture as a matplotlib Figure.

        ``width``: "column" (3.3 inches), "double" (7) or inches; ``select``: the ports, NPUs, roles or pairs to show;
        ``title``: "" for none; ``beside``: other results in the same axes. Raises InputError for what can't be drawn.
        """
        chosen = (select,) if isinstance(select, str) else tuple(str(word) for word in select)
        return self._kind.drawn(self._records, Choice(width_of(width), chosen, title, tuple(beside)))

    def __repr__(self) -> str:
        return f"<{self._kind.name}: {self._kind.words}>"


class Plots:
    """The pictures of a run, each under the name of its kind."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def __getattr__(self, name: str) -> Picture:
        for kind in IN_FILES:
            if kind.name == name:
                return Picture(kind, self._records)
        raise AttributeError(f"no picture '{name}'; there are {', '.join(kind.name for kind in IN_FILES)}")

    def __dir__(self) -> list[str]:
        return [kind.name for kind in IN_FILES]
