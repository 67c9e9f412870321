"""Lines inside servers: those that messages between NPUs of a server take."""

from __future__ import annotations

from itertools import combinations

import pytest

from astra_ns3.topology.graph import INJECTION, SCALE_OUT, Graph, Link
from astra_ns3.topology.parts import _are_taken, lines_inside

RATE = 10**9
NPUS = range(4)


def server(nvlinks: dict[tuple[int, int], int], pcie_cost: int) -> Graph:
    """Return 4 NPUs with NVLinks of given costs, on one PCIe switch that leads to a switch outside, and a fifth NPU."""
    links = [Link(a, b, RATE, 0, kind="nvlink", cost=cost) for (a, b), cost in nvlinks.items()]
    links += [Link(npu, 5, RATE, 0, kind="pcie", cost=pcie_cost) for npu in NPUS]
    links += [Link(end, 6, RATE, 0, kind=SCALE_OUT, cost=pcie_cost) for end in (5, 4)]
    return Graph(
        5, 2, tuple(links), tuple(range(5)), switch_buffer_bytes=(RATE, RATE), switch_levels=(1, 2), inside_levels=1
    )


def kinds(graph: Graph) -> list[str]:
    return [graph.links[number].kind for number in lines_inside(graph)]


@pytest.mark.parametrize("pcie_cost", [1, 2, 40])
def test_pcie_is_no_line_between_npus_that_nvlinks_join_each_to_each(pcie_cost: int) -> None:
    assert kinds(server(dict.fromkeys(combinations(NPUS, 2), 1), pcie_cost)) == ["nvlink"] * 6


def test_nvlinks_of_pairs_with_fewer_links_cost_more_and_count_as_well() -> None:
    pairs = {pair: cost for cost, pair in zip([3, 4, 4, 3, 4, 3], combinations(NPUS, 2), strict=True)}
    assert kinds(server(pairs, 40)) == ["nvlink"] * 6


def test_pcie_counts_where_npus_have_nothing_else() -> None:
    """Hosts pass nothing on, so 0 and 2 of a chain meet at the PCIe switch. A device's share isn't one of PCIe's."""
    assert kinds(server({(0, 1): 1, (1, 2): 1, (2, 3): 1}, 40)) == ["nvlink"] * 3
    assert kinds(server({}, 40)) == ["pcie"] * 4


def test_a_line_that_no_shortest_path_has_is_none() -> None:
    every = {**dict.fromkeys(combinations(NPUS, 2), 1), (0, 3): 9}
    # 0 and 3 meet at the PCIe switch.
    assert kinds(server(every, 4)) == ["nvlink"] * 5


def chain(npus: int, costs: tuple[int, int]) -> Graph:
    """Return two servers of NPUs that each forward over a chain of lines of two costs, and PCIe beside these."""
    links = []
    for server in range(2):
        hosts, routers = server * npus, (2 + server) * npus
        links += [Link(hosts + npu, routers + npu, RATE, 0, kind=INJECTION) for npu in range(npus)]
        ends = ((routers + npu, routers + npu + 1) for npu in range(npus - 1))
        links += [Link(a, b, RATE, 0, kind="scale-up", cost=costs[a % 2]) for a, b in ends]
        links += [Link(hosts + npu, 4 * npus + server, RATE, 0, kind="pcie", cost=100 * npus) for npu in range(npus)]
        links.append(Link(4 * npus + server, 4 * npus + 2, RATE, 0, kind=SCALE_OUT, cost=100 * npus))
    levels = (1,) * (2 * npus + 2) + (2,)
    buffers = (RATE,) * len(levels)
    return Graph(
        2 * npus, len(levels), tuple(links), tuple(range(2 * npus)), switch_buffer_bytes=buffers,
        switch_levels=levels, inside_levels=1,
    )  # fmt: skip


# A server of more than 1024 nodes takes no search of all paths.
@pytest.mark.parametrize("npus", [100, 520])
@pytest.mark.parametrize("costs", [(1, 1), (3, 4)])
def test_lines_of_a_large_server_are_those_that_a_search_finds_in_a_small_one(
    npus: int, costs: tuple[int, int]
) -> None:
    assert kinds(chain(npus, costs)) == ["scale-up"] * 2 * (npus - 1)


def test_a_second_question_about_a_server_takes_no_second_search() -> None:
    _are_taken.cache_clear()
    for _ in range(2):
        lines_inside(chain(20, (3, 4)))  # anew, as files are read anew
    assert _are_taken.cache_info().misses == 1
