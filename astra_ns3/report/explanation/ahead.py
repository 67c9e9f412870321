"""Messages that were ahead of others on the lines of their NPUs.

The first of several messages that wait for each other decides when the last is sent. It matters where all of them come
late, as a slow NPU's do. *Model limit*: a message keeps its first line busy for as long as all its lines.
"""

from __future__ import annotations

import numpy as np

from astra_ns3.report.explanation.parts import NIC_WAITS
from astra_ns3.report.own_bytes import Columns
from astra_ns3.report.records import table_of
from astra_ns3.report.tables import Numbers, Records


def first_ahead(run: Records, messages: Columns) -> Numbers:
    """Return for each message, which have accounts, the row of the one with which its first port became busy."""
    ports = _first_ports(run, messages)
    found = np.arange(len(ports))
    order = np.lexsort((found, messages["start_ps"], ports))
    starts_ps = messages["start_ps"][order]
    waits_ps = np.sum([messages[name] for name in NIC_WAITS], axis=0)[order]
    until_ps = starts_ps + waits_ps + (messages["serialisation_ps"] - messages["later_ps"])[order]
    for rows in np.split(np.arange(len(order)), np.flatnonzero(np.diff(ports[order])) + 1):
        busy_ps = np.maximum.accumulate(until_ps[rows])
        begins = (waits_ps[rows] == 0) | (starts_ps[rows] > np.append(-1, busy_ps[:-1])[: len(rows)])
        found[order[rows]] = order[rows[np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))]]
    return found


def _first_ports(run: Records, messages: Columns) -> Numbers:
    """Return a number for the first port of each message; inside a host, one for its source."""
    ports: Numbers = -1 - messages["source"]
    if (table := table_of(run, "account_hops")) is not None:
        hops = table.whole(["message", "hop", "port"])
        first = hops["hop"] == 0
        ports[hops["message"][first]] = np.unique(hops["port"][first], return_inverse=True)[1]
    return ports
