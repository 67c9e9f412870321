"""What must hold in the accounts of any run, read from its tables alone."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from astra_ns3.network.recorded import ACCOUNT_HOPS, ACCOUNTS, PARTS

NAMES = [column.name for column in PARTS]
_MOST = 3


def read_accounts(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The accounts and their hops that ``folder`` holds."""
    return pd.read_parquet(folder / ACCOUNTS.file), pd.read_parquet(folder / ACCOUNT_HOPS.file)


def problems_of(accounts: pd.DataFrame, hops: pd.DataFrame) -> list[str]:
    """What does not add up, each one line; a few of each kind."""
    return [*_of_parts(accounts), *_of_hops(accounts, hops)]


def _of_parts(accounts: pd.DataFrame) -> list[str]:
    sums = accounts[NAMES].sum(axis=1)
    wrong = accounts[sums != accounts.end_ps - accounts.start_ps]
    found = [
        f"account {row} adds up to {sums[row]} ps, not to {wrong.end_ps[row] - wrong.start_ps[row]}"
        for row in wrong.index
    ]
    negative = accounts[(accounts[NAMES] < 0).any(axis=1)]
    found += [f"account {row} has a part below 0: {dict(negative.loc[row, NAMES])}" for row in negative.index]
    return found[:_MOST]


def _of_hops(accounts: pd.DataFrame, hops: pd.DataFrame) -> list[str]:
    """The hops of a message follow each other without a gap, end with it, and are what its parts say of the way."""
    spent = hops.queue_ps + hops.paused_ps + hops.serialisation_ps + hops.propagation_ps
    left = hops.arrival_ps + spent
    follows = hops.message.eq(hops.message.shift(-1))
    gaps = hops[follows & (left != hops.arrival_ps.shift(-1))]
    found = [
        f"hop {gaps.hop[row]} of message {gaps.message[row]} does not end where the next begins" for row in gaps.index
    ]
    delivered = accounts.end_ps - accounts.acknowledgement_ps
    last = hops[~follows]
    late = last[left[~follows].to_numpy() != delivered[last.message].to_numpy()]
    found += [f"the way of message {message} does not end with it" for message in late.message]
    for first, kind in ((True, "nic"), (False, "switch")):
        some = hops[hops.hop.eq(0) if first else hops.hop.gt(0)].groupby("message")
        for what, column in (("queue", "queue_ps"), ("paused", "paused_ps")):
            on_way = some[column].sum().reindex(accounts.index, fill_value=0)
            part = accounts[f"{kind}_{what}_ps"]
            # A NIC's queue pairs wait for its line before they make a packet, so it has more than the way.
            wrong = accounts.index[part < on_way if first else part != on_way]
            found += [f"{kind}_{what}_ps of message {row} is {part[row]}, on its way {on_way[row]}" for row in wrong]
    return found[: 2 * _MOST]
