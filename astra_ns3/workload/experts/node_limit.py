"""Node-limited routing: each token goes to experts on a few nodes only, once to each, and there to its experts.

Tokens are drawn: an expert's affinity is the logarithm of its share plus Gumbel noise, so that without a limit the
highest are a sample in proportion to the shares. The nodes are those with the highest sums of their best affinities.
Across nodes a row goes to the place with the sender's own number there, which passes it on to each place that has
some of the token's experts. Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, sections 2.1.2 and 3.2.2.
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


def node_limited(group: ExpertGroup, shares: list[Shares], limit: int, seed: tuple[int, int]) -> Routed:
    """``shares``: of each expert for each place's tokens; ``limit``: nodes of a token. Raises InputError."""
    limit = min(limit, group.nodes)
    refuse(
        limit * group.node * group.own < group.active,
        f"node_limit is {limit}, and {limit} nodes have {limit * group.node * group.own} experts, fewer than the "
        f"{group.active} that each token goes to",
    )
    generator = np.random.default_rng(seed)
    drawn = max(1, min(group.tokens, MOST_DRAWN // group.places))
    bounds = np.arange(drawn + 1) * group.tokens // drawn
    stands_for = np.diff(bounds)
    rows = np.zeros(group.experts, dtype=np.int64)
    across = np.zeros((group.places, group.places), dtype=np.int64)
    within = np.zeros_like(across)
    for index, own in enumerate(shares):
        choices = draw_choices(group, own, limit, drawn, generator)
        rows += np.bincount(choices.reshape(-1), np.repeat(stands_for, group.active), group.experts).astype(np.int64)
        _add_hops(group, index, choices // group.own, stands_for, across, within)
    return Routed((_table(across), _table(within)), tuple(rows.tolist()), 0)


def draw_choices(
    group: ExpertGroup, shares: Shares, limit: int, tokens: int, generator: np.random.Generator
) -> _Numbers:
    """The different experts that each of ``tokens`` goes to, shape ``(tokens, active)``; raises InputError."""
    refuse(
        bool(np.count_nonzero(shares) < len(shares)),
        "some experts get no tokens, with which node_limit can't be kept; expected a share of each",
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


def _add_hops(
    group: ExpertGroup, place: int, places: _Numbers, stands_for: _Numbers, across: _Numbers, within: _Numbers
) -> None:
    """Add what goes to each node's place with the number of ``place``, and from there to ``places``."""
    reached = np.zeros((len(places), group.places), dtype=np.bool_)
    np.put_along_axis(reached, places, values=True, axis=1)
    of_places = stands_for @ reached
    of_nodes = stands_for @ reached.reshape(len(places), group.nodes, group.node).any(axis=2)
    gates = np.arange(group.nodes) * group.node + place % group.node
    across[place, gates] += of_nodes
    for node, gate in enumerate(gates):
        there = slice(node * group.node, (node + 1) * group.node)
        within[gate, there] += of_places[there]


def _table(numbers: _Numbers) -> Table:
    return tuple(tuple(row) for row in numbers.tolist())
