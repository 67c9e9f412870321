"""Whether a figure's words are those of its part: said before anything is played."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from astra_ns3.errors import InputError, nearest, wrong
from astra_ns3.studies.figures.config import FigureConfig
from astra_ns3.studies.figures.data import View, label_text
from astra_ns3.studies.figures.layers import COLUMNS
from astra_ns3.studies.measures import MEASURES

_SEED = "seed"
_COMMON = frozenset(("kind", "title", "y"))
_ALL = frozenset(("x", "by", "panels", "relative_to", "log"))
# Beyond those that all have; kinds that are not here use them all.
_USED = {"table": frozenset(()), "layers": frozenset(("by", "panels", "log"))}


def check_figure(view: View, figure: FigureConfig, where: str, names: Mapping[str, str] = MappingProxyType({})) -> None:
    """Raise InputError, which begins with ``where``, for a name that is no axis, measure or label of the part.

    ``names``: the study's, of keys.
    """
    unused = sorted(figure.model_fields_set - _COMMON - _USED.get(figure.kind, _ALL))
    if unused:
        used = ", ".join(sorted(_COMMON | _USED[figure.kind]))
        raise wrong(f"key '{unused[0]}': a figure of kind {figure.kind} doesn't use it, only {used}", where)
    axes = [axis.name for axis in view.axes]
    for word, name in (("x", figure.x), ("by", figure.by), ("panels", figure.panels)):
        if name is not None and view.column(name) not in (*axes, _SEED):
            keys = [key for key, column in names.items() if column == name]
            told = f"; 'names' has it for {keys[0]}, which is no axis of this part" if keys else ""
            raise _unknown(where, word, name, (*axes, _SEED), "axes", told)
    measures = COLUMNS if figure.kind == "layers" else tuple(MEASURES)
    for name in figure.y:
        if name not in measures:
            raise _unknown(where, "y", name, measures, "measures")
    for name, value in (figure.relative_to or {}).items():
        axis = next((axis for axis in view.axes if axis.name == view.column(name)), None)
        if axis is None:
            raise _unknown(where, "relative_to", name, axes, "axes")
        labels = [label_text(label) for label in axis.labels]
        if label_text(value) not in labels:
            raise _unknown(where, "relative_to", label_text(value), labels, f"values of {name}")


def _unknown(where: str, word: str, found: str, allowed: Iterable[str], what: str, hint: str = "") -> InputError:
    known = list(allowed)
    hint = hint or nearest(found, known)
    return wrong(f"key '{word}': '{found}' is none of the {what}: {', '.join(known)}{hint}", where)
