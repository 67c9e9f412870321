"""Python's search for garbage, which stands still while a run is set up, and while its results are gathered.

Objects made then are kept, and there are many. Each full search looks through all of it, and through all that the
interpreter holds, a tenth of a second where pandas and pydantic are loaded.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_search() -> Iterator[None]:
    """No search for garbage until the end; whoever has turned it off himself keeps it so."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def rare_search() -> Iterator[None]:
    """Search seldom: a run makes hardly any garbage that only a search finds, and much that lives for some time."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 50_000) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
