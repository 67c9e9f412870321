"""Random delays before phases, on ns-3."""

from __future__ import annotations

from support.small_run import small_network, small_run, small_system

import astra_ns3


def test_packets_with_jitter_are_the_same_for_the_same_seed() -> None:
    def finish(seed: int) -> int:
        arguments = {name: value for name, value in small_run().items() if name != "backend"}
        arguments |= {"system": small_system(**{"start-jitter": 1000}), "network": small_network()}
        return astra_ns3.run(**arguments, seed=seed).finish_ps

    assert finish(5) == finish(5) != finish(6)
