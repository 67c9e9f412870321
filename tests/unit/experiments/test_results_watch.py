"""Memory of a run is its own, whatever an earlier one in the process took."""

from __future__ import annotations

import pytest

from astra_ns3.experiments import watch
from astra_ns3.network.api import Limits

MB = 10**6


@pytest.mark.parametrize(("mark", "peak"), [(900, 300), (1000, 1000)])
def test_the_peak_of_a_second_run_is_not_that_of_the_first(
    mark: int, peak: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process once held 900 MB, and still has that mark unless this run goes above it."""
    resident, highest = [200 * MB], [900 * MB]
    monkeypatch.setattr(watch, "resident_bytes", lambda: resident[0])
    monkeypatch.setattr(watch, "highest_resident_bytes", lambda: highest[0])
    second = watch.Watch(Limits())
    resident[0] = 300 * MB
    second.check()
    resident[0], highest[0] = 250 * MB, mark * MB
    second.check()
    assert (second.start_bytes, second.peak_bytes) == (200 * MB, peak * MB)
