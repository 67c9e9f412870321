"""Lists of flows as columns: what is refused, what waits for what, what scaling does, and what they take."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from astra_ns3.config.flow_list import NO_GATE, FlowGates, FlowList
from astra_ns3.errors import InputError


def three(after: list[tuple[int, ...]] | None = None) -> FlowList:
    return FlowList.of([0, 1, 2], [1, 2, 0], [100, 200, 300], [0, 10, 20], after)


def test_flows_of_the_same_parents_share_a_gate() -> None:
    flows = FlowList.of([0, 1, 2, 3], [1, 2, 3, 0], [1] * 4, [0] * 4, [(), (0,), (0,), (1, 2)])
    assert flows.waits_for is not None
    assert flows.waits_for.tolist() == [NO_GATE, 0, 0, 1]
    assert flows.gates.needed.tolist() == [1, 2]
    offsets, waiting = flows.waiting()
    assert [waiting[offsets[gate] : offsets[gate + 1]].tolist() for gate in range(2)] == [[1, 2], [3]]


def test_a_circle_is_refused_with_the_flows_in_it() -> None:
    with pytest.raises(InputError, match=r"flow 1 can never start.*flows that never start: 1, 2"):
        three([(), (2,), (1,)])


def test_a_flow_that_waits_for_itself_is_refused() -> None:
    with pytest.raises(InputError, match="flow 2 can never start"):
        three([(), (), (2,)])


def test_a_flow_that_waits_for_one_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="flow 1 waits for flow 7, expected one of 0 to 2"):
        three([(), (7,), ()])


def test_a_barrier_that_hears_too_few_deliveries_is_refused() -> None:
    gates = FlowGates.of([[0]], [2], [False])
    columns = three()
    with pytest.raises(InputError, match="flow 2 can never start"):
        FlowList(
            columns.sources,
            columns.destinations,
            columns.sizes_bytes,
            columns.starts_ps,
            np.array([NO_GATE, NO_GATE, 0], dtype=np.int32),
            gates,
        )


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([0], [0], [1], [0]), "goes from an NPU to itself"),
        (([0], [1], [0], [0]), "has no byte"),
        (([0], [1], [1], [-1]), "starts before 0"),
        (([-1], [1], [1], [0]), "has an NPU below 0"),
        (([], [], [], []), "has no flows"),
        (([0, 1], [1], [1], [0]), "columns"),
        (([0], [1], [2**62], [0]), ""),
        (([0, 1, 2], [1, 2, 0], [2**62] * 3, [0] * 3), "can't be counted"),
    ],
)
def test_what_is_no_flow_is_refused(columns: tuple[list[int], list[int], list[int], list[int]], words: str) -> None:
    if not words:
        FlowList.of(*columns)
        return
    with pytest.raises(InputError, match=words):
        FlowList.of(*columns)


def test_npus_beyond_the_network_are_named() -> None:
    flows = FlowList.of([0, 5], [1, 2], [1, 1], [0, 0], source="a.csv")
    flows.check_npus(6)
    with pytest.raises(InputError, match=r"a\.csv: flow 1 comes from NPU 5, the network has 4, 0 to 3"):
        flows.check_npus(4)


def test_scaling_both_keeps_the_load_and_a_byte_of_each() -> None:
    flows = FlowList.of([0, 1], [1, 0], [1000, 3], [0, 5000]).scaled(0.1, 0.1)
    assert flows.sizes_bytes.tolist() == [100, 1]
    assert flows.starts_ps.tolist() == [0, 500]
    with pytest.raises(InputError, match="comm-scale"):
        flows.scaled(0)


def test_a_list_survives_pickling() -> None:
    again = pickle.loads(pickle.dumps(three([(), (0,), (0, 1)])))
    assert again.gates.members.tolist() == [0, 0, 1]
    assert again.sizes_bytes.tolist() == [100, 200, 300]


def test_columns_of_a_list_take_24_bytes_a_flow() -> None:
    flows = three()
    columns = (flows.sources, flows.destinations, flows.sizes_bytes, flows.starts_ps)
    assert sum(column.itemsize for column in columns) == 24
    assert not any(column.flags.writeable for column in columns)


@pytest.mark.parametrize("number", [2**70, 1.5, "x", None])
def test_what_is_no_whole_number_is_refused(number: object) -> None:
    with pytest.raises(InputError, match="a size of the flows is no whole number of 64 bits"):
        FlowList.of([0], [1], [number], [0])  # type: ignore[list-item]


def test_an_npu_beyond_31_bits_is_refused() -> None:
    with pytest.raises(InputError, match=f"a NPU of the flows is {2**31}"):
        FlowList.of([2**31], [1], [1], [0])
