"""Looks for the split of money over dimensions at which something is least, by SciPy's optimiser.

Splits are continuous, and what is least may have kinks: where chunks fill a pipeline, the slowest dimension decides.
So the optimiser is Nelder's and Mead's, which needs no slopes. It looks at logarithms of shares, begins anew around the
best split until that changes little, and so leaves a corner of its simplex that a kink has flattened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import needing

Point = npt.NDArray[np.float64]
_REACHES = (0.5, 0.1, 0.03)
NEARBY = _REACHES[2:]
"""Reaches around a split that is nearly the best."""
# Of a logarithm of a share, and of what is least: at a kink the share decides, where it is flat both do.
_CLOSE, _SAME = 3e-3, 1e-3
# A new beginning that gains less is the last.
_GAINS = 2e-4
_MOST_CALLS = 150


class TimeIsUp(Exception):
    """No more may be asked for; what was found so far counts."""


def require_optimiser() -> None:
    """Raise InputError if SciPy is missing."""
    with needing("scipy", "budgets need"):
        import scipy.optimize  # noqa: F401 - only whether it is there


def least_at(start: Sequence[float], asked: Callable[[Point], float], reaches: Sequence[float] = _REACHES) -> None:
    """Ask for values around ``start`` until they get no less, or until TimeIsUp; who asks remembers the best.

    ``reaches``: how far the first simplex reaches, and each that follows, in logarithms.
    """
    from scipy.optimize import minimize

    best = np.array(start, dtype=np.float64)
    if not len(best):
        return
    try:
        scale = before = asked(best)
        for reach in reaches:
            corners = np.vstack([best, best + reach * np.eye(len(best))])
            options = {"initial_simplex": corners, "xatol": _CLOSE, "fatol": _SAME, "maxfev": _MOST_CALLS}
            found = minimize(lambda point: asked(point) / scale, best, method="Nelder-Mead", options=options)
            best, value = found.x, float(found.fun) * scale
            if reach != reaches[0] and value > (1 - _GAINS) * before:
                return
            before = value
    except TimeIsUp:
        return


def least_of_law(
    starts: Sequence[Point], asked: Callable[[Point], float], bounds: Sequence[tuple[float, float]] | None = None
) -> Point:
    """Return where a law is least, within ``bounds``, around the best of ``starts``; asking it costs nothing."""
    from scipy.optimize import minimize

    best = min(starts, key=asked)
    for reach in _REACHES if len(best) else ():
        corners = np.vstack([best, best + reach * np.eye(len(best))])
        options = {"initial_simplex": corners, "xatol": _CLOSE / 4}
        best = minimize(asked, best, method="Nelder-Mead", bounds=bounds, options=options).x
    return best


def shares_of(point: Point | Sequence[float]) -> list[float]:
    """Return shares by logarithms of each over the last."""
    return [*(exp(min(max(float(each), -50.0), 50.0)) for each in point), 1.0]


def point_of(shares: Sequence[float]) -> list[float]:
    """Return the logarithm of each share but the last over the last."""
    return [log(each / shares[-1]) for each in shares[:-1]]
