"""Calls in the root folder, where nobody else can put files: cppyy and matplotlib read files of the working folder."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_CLONE_FS = 0x200  # Linux's number for what threads share of files: working folder, root, mask
_Returned = TypeVar("_Returned")


def in_root_folder(function: Callable[[], _Returned]) -> _Returned:
    """Call ``function`` in the root folder.

    Other threads keep their working folder, unless the system refuses ``unshare``, as some containers do.
    """

    def call() -> _Returned:
        ctypes.CDLL(None).unshare(_CLONE_FS)
        before = os.open(".", os.O_PATH)
        try:
            os.chdir("/")
            return function()
        finally:
            os.fchdir(before)
            os.close(before)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()
