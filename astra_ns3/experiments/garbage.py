"""Python's search for garbage while a run goes on.

A full search looks through all that the interpreter holds, a tenth of a second where pandas and pydantic are loaded,
and comes when it pleases: in the middle of a short simulation.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def only_new_garbage() -> Iterator[None]:
    """Leave out what is there already, until the end; whoever has done so himself keeps it so."""
    if gc.get_freeze_count():
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
