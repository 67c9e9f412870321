"""Times and sizes beyond what the analytical networks can count are refused in one line."""

from __future__ import annotations

import pytest
from support.small_run import NPUS, small_system

import astra_ns3
from astra_ns3.config.flow_list import FlowList
from astra_ns3.config.network.analytical_network import AnalyticalDimension, AnalyticalNetwork
from astra_ns3.errors import BackendError, InputError
from astra_ns3.network.api import Limits
from astra_ns3.workload.files.astra_sim import parse_workload


def slow_network(bytes_per_ns: float) -> AnalyticalNetwork:
    dimension = AnalyticalDimension(topology="ring", npus=NPUS, bytes_per_ns=bytes_per_ns, link_latency_ns=500)
    return AnalyticalNetwork(grid=(dimension,))


def timed_run(bytes: int, backend: str, bytes_per_ns: float) -> int:
    """Finish of an all-reduce of so many bytes: by 2(n-1) messages of an n-th of each half, one after the other."""
    workload = parse_workload(f"DATA\n1\nonly -1 0 NONE 0 0 NONE 0 0 ALLREDUCE {bytes} 0\n")
    network = slow_network(bytes_per_ns)
    return astra_ns3.run(workload=workload, system=small_system(), network=network, backend=backend).finish_ps


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_what_takes_longer_than_simulated_time_goes_is_refused(backend: str) -> None:
    """2**63 ps are 9.22e18: a message of 8 GB at 1 byte/us takes 8e18, twelve of them one after the other more."""
    with pytest.raises(InputError, match=r"a message of 10 GB takes more than 106 days at 1e-06 bytes per nanosecond"):
        timed_run(80_000_000_000, backend, 1e-6)
    with pytest.raises(BackendError, match=r"a message .*of the analytical network would end beyond 106 days") as error:
        timed_run(64_000_000_000, backend, 1e-6)
    assert "\n" not in str(error.value)
    assert 12 * 0.125e18 <= timed_run(1_000_000_000, backend, 1e-6) < 13 * 0.125e18


def test_a_collective_with_more_bytes_than_can_be_counted_is_refused() -> None:
    with pytest.raises(InputError, match=r"a collective of .* on 4 ranks sends .*, and no more than 9223"):
        timed_run(2**62, "analytical", 1e9)


@pytest.mark.parametrize("backend", ["analytical", "analytical-queues"])
def test_computing_beyond_simulated_time_is_refused(backend: str) -> None:
    """Two passes of 9.2e15 ns, each of which 64 bits of picoseconds hold."""
    workload = parse_workload("DATA\n1\nonly -1 9200000000000000 NONE 0 0 NONE 0 0 NONE 0 0\n")
    network = slow_network(1.0)
    one = astra_ns3.run(workload=workload, system=small_system(), network=network, backend=backend)
    assert one.finish_ps == 9_200_000_000_000_000_000
    with pytest.raises(InputError, match=r"NPU 0 computes for 18400000 s, which ends beyond 106 days"):
        astra_ns3.run(workload=workload, system=small_system(), network=network, backend=backend, passes=2)
    limits = Limits(wall_seconds=600.0)  # nobody knows that it goes on to its end
    with pytest.raises(BackendError, match=r"what NPU 0 does next would end beyond 106 days, the most that 64 bits"):
        astra_ns3.run(
            workload=workload, system=small_system(), network=network, backend=backend, passes=2, limits=limits
        )


LATENCY_PS, ENDPOINTS_PS = 500_000, 20_000
LAST_PS = 2**63 - 1024
"""The last moment of a run."""


@pytest.mark.parametrize(("backend", "hops"), [("analytical", 1), ("analytical-queues", 1), ("analytical-queues", 2)])
def test_a_message_that_takes_all_of_simulated_time_takes_its_ideal_and_a_longer_one_is_refused(
    backend: str, hops: int
) -> None:
    longest = (LAST_PS - ENDPOINTS_PS - hops * LATENCY_PS) // hops // 1000 - 1

    def run(bytes: int) -> tuple[int, int]:
        flows = FlowList.of([0], [hops], [bytes], [0])
        result = astra_ns3.run(
            workload=flows, system=small_system(), network=slow_network(1.0), backend=backend, record=["flows"]
        )
        ((took, ideal),) = result.completions[["end_ps", "ideal_ps"]].to_numpy().tolist()
        return took, ideal

    took, ideal = run(longest)
    assert took == ideal
    assert LAST_PS - 10_000 < took <= LAST_PS
    with pytest.raises((InputError, BackendError), match=r"a message .* (would end beyond|takes more than) 106 days"):
        run(longest + 1000 // hops)
