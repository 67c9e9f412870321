"""ASTRA-sim 1.0's barrier: nobody leaves a phase of a chunk before everybody has finished it."""

from __future__ import annotations

from collections.abc import Sequence


class PhaseBarrier:
    """For each phase of each chunk, by its instance number."""

    def __init__(self) -> None:
        self._arrived: dict[int, list[int]] = {}

    def arrive(self, npu: int, instance: int, members: int) -> Sequence[int]:
        """``npu``, one of ``members``, has finished a phase: who goes on now, in the order of arrival.

        None before the last has come.
        """
        arrived = self._arrived.setdefault(instance, [])
        arrived.append(npu)
        if len(arrived) < members:
            return ()
        del self._arrived[instance]
        return arrived
