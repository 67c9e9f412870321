"""An oracle of the kernels of NCCL's channels: plays message by message in order of time, by the rules of docs/nccl.md.

It reads what docs/results.md says of channels.parquet and channel_rows.parquet, and imports nothing of the program.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PER_MILLE = 1000
PS_PER_MS = 1_000_000_000


@dataclass
class Doing:
    """How a kernel handled a message; times in ps. ``lane``, ``step``: of its schedule; ``idle``: it came to an idle
    kernel; ``signal``: it carries no data."""

    lane: int
    step: int
    signal: bool
    begin_ps: int = 0
    copied_ps: int = 0
    handled_ps: int = 0
    idle: bool = True


class ChannelKernels:
    """The kernels of a run with a timeline and messages."""

    def __init__(self, result: Any) -> None:
        metadata: Mapping[str, Any] = result.metadata
        self.costs: dict[tuple[int, int], dict[str, int]] = {}
        self.rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        if "channels.parquet" not in metadata["files"]:
            return
        table = result.channels
        for cells in zip(*(table[name].tolist() for name in table.columns), strict=True):
            row = dict(zip(table.columns, cells, strict=True))
            self.costs[row["collective"], row["chunk"]] = row
        table = result.channel_rows
        names = ("schedule", "row", "step", "first_block", "block_count")
        for schedule, row, step, first, count in zip(*(table[name].tolist() for name in names), strict=True):
            assert row == len(self.rows[schedule])
            self.rows[schedule].append((step, first, count))
        self.per_server = int(metadata["npus_per_server"])
        self.npus = metadata["job"]["npus"] if "job" in metadata else range(metadata["npus"])
        heard: dict[int, set[int]] = defaultdict(set)  # by each switch that reduces: servers, or other switches
        recorded = [name for name in ("accounts", "flows") if f"{name}.parquet" in metadata["files"]]
        ends = getattr(result, recorded[0])[["source", "destination"]].to_numpy().tolist() if recorded else []
        for source, switch in ends:
            if switch >= len(self.npus):
                inside = source < len(self.npus)
                heard[switch] |= {self.npus[source] // self.per_server} if inside else {-1, -2}
        self.between = {switch for switch, servers in heard.items() if len(servers) > 1}

    def near(self, npu: int, other: int) -> bool:
        """Whether two NPUs share a server; a switch that reduces is in its NPUs' server, or between servers."""
        if max(npu, other) >= len(self.npus):
            return max(npu, other) not in self.between
        return self.npus[npu] // self.per_server == self.npus[other] // self.per_server

    def signal(self, message: Any) -> bool:
        """Whether a message carries no data."""
        cost = self.costs.get((message.collective, message.chunk))
        return cost is not None and self._row(cost, message)[2] == 0

    def latency_ps(self, message: Any) -> int:
        """The latency that passes after copying; switches have no kernel."""
        if message.destination >= len(self.npus):
            return 0
        cost = self.costs[message.collective, message.chunk]
        return cost["near_ps" if self.near(message.source, message.destination) else "far_ps"]

    def _row(self, cost: Mapping[str, int], message: Any) -> tuple[int, int, int]:
        rows = self.rows[cost["schedule"]]
        number: int = message.row % len(rows)
        return rows[number]

    def copy_ps(self, message: Any) -> int:
        """How long a kernel copies a message."""
        if message.destination >= len(self.npus):
            return 0
        cost = self.costs[message.collective, message.chunk]
        place = "near" if self.near(message.source, message.destination) else "far"
        rate = cost[f"{place}_copy_bytes_per_ms"]
        return self._data_bytes(cost, cost[f"{place}_wire_per_mille"], message) * PS_PER_MS // rate if rate else 0

    def _data_bytes(self, cost: Mapping[str, int], per_mille: int, message: Any) -> int:
        _, first, count = self._row(cost, message)
        most = message.bytes * PER_MILLE // per_mille
        may_be = [size for size in range(most, 0, -1)[:3] if -(-size * per_mille // PER_MILLE) == message.bytes]
        ends = [block * cost["whole_bytes"] // cost["blocks"] for block in (first, first + count)]
        if len(may_be) > 1:  # fewer bytes on the wire than data: blocks tell
            return max(ends[1] - ends[0], 1)
        return may_be[0] if may_be else 1

    def play(self, began_ps: int, messages: Sequence[tuple[int, Any]]) -> dict[int, Doing]:
        """Return how a kernel handled the numbered ``messages`` of one part, which began at a time."""
        found: dict[int, Doing] = {}
        steps: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))  # of each lane: not handled
        by_number = dict(messages)
        for number, message in messages:
            cost = self.costs[message.collective, message.chunk]
            step, _, count = self._row(cost, message)
            lane = step % cost["lanes"]
            found[number] = Doing(lane, step, count == 0)
            steps[lane][step].add(number)
        free: dict[int, int] = defaultdict(int)
        copied: dict[int, int] = defaultdict(int)
        arrived: set[int] = set()
        events = [(max(message.end_ps, began_ps), 0, number) for number, message in messages]
        heapq.heapify(events)
        while events:
            now_ps, is_over, number = heapq.heappop(events)
            doing = found[number]
            of_lane = steps[doing.lane]
            begun: Iterable[int] = ()
            if is_over:
                of_lane[doing.step].discard(number)
                if not of_lane[doing.step]:
                    del of_lane[doing.step]
                    free[doing.lane] = copied[doing.lane]
                    begun = arrived & of_lane[min(of_lane)] if of_lane else ()
            else:
                arrived.add(number)
                begun = (number,) if doing.step == min(of_lane) else ()
            for each in begun:
                end_ps = self._begin(found[each], by_number[each], free[doing.lane], now_ps)
                copied[doing.lane] = max(copied[doing.lane], found[each].copied_ps)
                heapq.heappush(events, (end_ps, 1, each))
        return found

    def _begin(self, doing: Doing, message: Any, free_ps: int, now_ps: int) -> int:
        """A message's turn has come; when it will be handled."""
        if doing.signal:
            doing.handled_ps = now_ps
            return now_ps
        cost = self.costs[message.collective, message.chunk]
        as_it_comes = self.near(message.source, message.destination) or cost["copies_as_it_comes"]
        from_ps = message.start_ps if as_it_comes else message.end_ps
        doing.begin_ps, doing.idle = max(from_ps, free_ps), free_ps <= from_ps
        doing.copied_ps = max(message.end_ps, doing.begin_ps + self.copy_ps(message))
        doing.handled_ps = max(doing.copied_ps + self.latency_ps(message), now_ps)
        return doing.handled_ps
