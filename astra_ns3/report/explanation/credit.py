"""How long credit takes to come back on the lines that messages took, against sending all of it.

Rates and delays are those of the deciding packets (account_hops.parquet), the credit that of run.json.

*Model limits*: the line after a line is taken to be as fast.
"""

from __future__ import annotations

import numpy as np

from astra_ns3.report.own_bytes import Columns, Real, full_frame_bytes, full_frame_ps
from astra_ns3.report.records import by_value
from astra_ns3.report.tables import Numbers, Records
from astra_ns3.transport.wire import PREAMBLE_AND_GAP_BYTES

_DIGITS = 3
"""Rounded times of packets tell rates about as exactly."""


def credit_round_trips(run: Records, messages: Columns, hops: Columns) -> tuple[Real, Real]:
    """Return how many times as long each message takes because its credit must come back, and with faster lines.

    Both are against sending on its slowest line as it is now, or twice as fast; 1: credit limits nothing.
    """
    full_ps, frames, update_ps = full_frame_ps(run, messages, hops), *_credits(run, hops)
    found: list[Real] = []
    for line_ps in (full_ps, full_ps / 2):
        loop_ps = 2 * line_ps + 2 * hops["propagation_ps"] + update_ps
        slowest, paced = (np.zeros(len(messages["bytes"])) for _ in range(2))
        np.maximum.at(slowest, hops["message"], line_ps)
        np.maximum.at(paced, hops["message"], np.maximum(line_ps, loop_ps / frames))
        found.append(np.where(slowest > 0, np.round(paced / np.maximum(slowest, 1), _DIGITS), 1))
    return found[0], found[1]


def _credits(run: Records, hops: Columns) -> tuple[Real, Numbers]:
    """Return how many full frames a lane of each line may send at once, and the time that the far end takes to say that
    it has room again.
    """
    switch = np.full(len(hops["port"]), -1)
    for port, rows in by_value(hops["port"]):
        if port.startswith("switch"):
            switch[rows] = int(port.removeprefix("switch").partition(":")[0])
    # The far end gives the credit: the switch of the message's next line, or of this one, which leads to a host.
    goes_on = np.append(hops["message"][1:] == hops["message"][:-1], [False])[: len(switch)]
    giver = np.where(goes_on, np.roll(switch, -1), switch)
    frames, update_ps = np.full(len(switch), np.inf), np.zeros(len(switch), np.int64)
    largest = full_frame_bytes(run) - PREAMBLE_AND_GAP_BYTES
    for row in (run.metadata.get("in_force") or {}).get("credits", ()):
        given = (giver >= row["first_switch"]) & (giver <= row["last_switch"])
        frames[given], update_ps[given] = row["bytes"] // largest, row["update_ps"]
    return frames, update_ps
