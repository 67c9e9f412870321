"""Tokens that are drawn: each goes to experts on a few nodes only, or on all, and may travel to each node once.

Tokens are drawn: an expert's affinity is the logarithm of its share plus Gumbel noise, so that without a limit the
highest are a sample in proportion to the shares. The nodes are those with the highest sums of their best affinities.
Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, sections 2.1.2 and 3.2.2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from astra_ns3.errors import refuse
from astra_ns3.workload.experts.group import ExpertGroup, Routed, Table
from astra_ns3.workload.experts.shares import Shares

MOST_DRAWN = 8_192
"""Tokens of a layer, over all places; if there are more, each that is drawn stands for several."""

_Numbers = npt.NDArray[np.int64]


def drawn(group: ExpertGroup, shares: list[Shares], limit: int | None, seed: tuple[int, int], *, once: bool) -> Routed:
    """``shares``: of each expert for each place's tokens; ``limit``: nodes of a token (None: all). Raises InputError.

    ``once``: a token goes once to each node, and there once to each place; else once for each of its experts.
    """
    limit = group.nodes if limit is None else min(limit, group.nodes)
    refuse(
        limit * group.node * group.own < group.active,
        f"node_limit is {limit}, and {limit} nodes have {limit * group.node * group.own} experts, fewer than the "
        f"{group.active} that each token goes to",
    )
    generator = np.random.default_rng(seed)
    number = max(1, min(group.tokens, MOST_DRAWN // group.places))
    bounds = np.arange(number + 1) * group.tokens // number
    stands_for = np.diff(bounds)
    rows = np.zeros(group.experts, dtype=np.int64)
    sent = np.zeros((group.places, group.places), dtype=np.int64)
    crossing = np.zeros((group.places, group.nodes), dtype=np.int64)
    for index, own in enumerate(shares):
        choices = draw_choices(group, own, limit, number, generator)
        chosen = np.bincount(choices.reshape(-1), np.repeat(stands_for, group.active), group.experts).astype(np.int64)
        rows += chosen
        if once:
            sent[index], crossing[index] = _reached(group, choices // group.own, stands_for)
        else:
            sent[index] = chosen.reshape(group.places, group.own).sum(axis=1)
    return Routed(_table(sent), tuple(rows.tolist()), 0, _table(crossing) if once else None)


def draw_choices(
    group: ExpertGroup, shares: Shares, limit: int, tokens: int, generator: np.random.Generator
) -> _Numbers:
    """The different experts that each of ``tokens`` goes to, shape ``(tokens, active)``; raises InputError."""
    refuse(
        bool(np.count_nonzero(shares) < len(shares)),
        "some experts get no tokens, "
        "which can't be drawn (node_limit, dispatch: {form: normal}); expected a share of each",
    )
    # The negative logarithm of an exponential number is one of Gumbel's.
    exponential = generator.standard_exponential((tokens, group.experts), dtype=np.float32)
    affinity = np.log(shares).astype(np.float32) - np.log(exponential.clip(min=np.finfo(np.float32).tiny))
    by_node = affinity.reshape(tokens, group.nodes, -1)
    best = min(-(-group.active // limit), by_node.shape[2])
    sums = np.partition(by_node, -best, axis=2)[:, :, -best:].sum(axis=2)
    nodes = np.argsort(sums, axis=1)[:, -limit:]
    allowed = np.zeros((tokens, group.nodes), dtype=np.bool_)
    np.put_along_axis(allowed, nodes, values=True, axis=1)
    limited = np.where(allowed[:, :, None], by_node, -np.inf).reshape(tokens, group.experts)
    chosen: _Numbers = np.argpartition(limited, -group.active, axis=1)[:, -group.active :]
    return chosen


def _reached(group: ExpertGroup, places: _Numbers, stands_for: _Numbers) -> tuple[_Numbers, _Numbers]:
    """How many tokens reach each place, and each node; ``places``: of the experts of those that are drawn."""
    reached = np.zeros((len(places), group.places), dtype=np.bool_)
    np.put_along_axis(reached, places, values=True, axis=1)
    of_nodes: _Numbers = stands_for @ reached.reshape(len(places), group.nodes, group.node).any(axis=2)
    return stands_for @ reached, of_nodes


def _table(numbers: _Numbers) -> Table:
    return tuple(tuple(row) for row in numbers.tolist())
