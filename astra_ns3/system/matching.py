"""Which of a communicator's collectives an NPU issues: its k-th is the k-th of all members, for each key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from astra_ns3.errors import ProgramMismatch
from astra_ns3.system.communicator import Communicator, PerNpu, describe, per_npu
from astra_ns3.system.request import CollectiveRequest
from astra_ns3.system.task import Collective


class _Count:
    """How many collectives each member has issued; those that some member hasn't finished."""

    __slots__ = ("issued", "live", "made")

    def __init__(self, issued: PerNpu[int]) -> None:
        self.issued = issued
        self.made = 0
        self.live: dict[int, Collective] = {}


class Matching:
    """The collectives of one communicator (None: of all ``npus``)."""

    def __init__(self, communicator: Communicator | None, npus: int) -> None:
        self._communicator = communicator
        self._npus = npus
        self._counts: dict[Hashable, _Count] = {}
        self._places: dict[int, tuple[_Count, int, Hashable]] = {}  # of each collective, by its index

    def issued(
        self,
        npus: Sequence[int],
        request: CollectiveRequest,
        now_ps: int,
        make: Callable[[CollectiveRequest, int], Collective],
        tolerates: Callable[[int, CollectiveRequest, int, Collective], bool] | None = None,
    ) -> Collective:
        """Each of ``npus`` issues its next collective, for all of them the same; the first member ``make``s it, of its
        request and the time.

        ``tolerates``: asked, with the NPU, its request and the time, whether one that isn't what was asked for will do.
        Raises ProgramMismatch.
        """
        count = self._counts.get(request.key)
        if count is None:
            count = self._counts[request.key] = _Count(per_npu(self._communicator, self._npus, 0))
        issued = count.issued
        npu = npus[0]
        try:
            number = issued[npu]
        except KeyError:
            raise ProgramMismatch(f"NPU {npu} issues {in_words(request)}, of which it is no member") from None
        if number == count.made:
            collective = make(request, now_ps)
            count.made += 1
            count.live[number] = collective
            self._places[collective.index] = count, number, request.key
        else:
            collective = count.live[number]
            if (
                request is not collective.request  # NPUs of a role may share it
                and not alike(request, collective.request)
                and not (tolerates is not None and tolerates(npu, request, now_ps, collective))
            ):
                raise ProgramMismatch(
                    f"NPU {npu} issues {in_words(request)} where another member issued {in_words(collective.request)}:"
                    f" number {number} of a communicator must be the same for all its members"
                )
        following = number + 1
        for npu in npus:
            issued[npu] = following
        return collective

    def forget(self, collective: Collective) -> None:
        """All members have finished it."""
        count, number, key = self._places.pop(collective.index)
        del count.live[number]
        if key is not None and not count.live:
            del self._counts[key]  # all have issued the same number, so counting may begin again


def alike(request: CollectiveRequest, other: CollectiveRequest) -> bool:
    """Whether two members' requests can be the same collective."""
    return (
        request.bytes == other.bytes
        and request.kind is other.kind
        and request.dimensions == other.dimensions
        and request.counts == other.counts
        and request.relay == other.relay
    )


def in_words(request: CollectiveRequest) -> str:
    """A request for a person to read."""
    over = "" if request.dimensions is None else f" over dimensions {request.dimensions}"
    key = "" if request.key is None else f" with key {request.key!r}"
    who = describe(request.communicator)
    size = f"{request.bytes} bytes" if request.counts is None else f"counts of at most {request.bytes} bytes a member"
    return f"{request.kind.value} of {size} for '{request.label.layer}'{key} in {who}{over}"
