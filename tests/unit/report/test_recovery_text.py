"""How a network recovers, in words."""

from __future__ import annotations

from typing import Any

import pytest

from astra_ns3.config.scenario.recovery import RecoveryConfig
from astra_ns3.report.scenario_text import recovery_text, scenario_run_text


def test_each_policy_is_told_with_the_keys_that_it_has() -> None:
    detection = {"kind": "hello", "interval": "100us"}
    routes = {"kind": "converge", "after": "500us"}
    config = RecoveryConfig.model_validate({"detection": detection, "routes": routes})
    assert recovery_text(config.document()) == (
        "detection hello (interval: 100us, multiplier: 3); routes converge (after: 500us)"
    )
    assert recovery_text(RecoveryConfig().document()) == "detection loss-of-signal; routes at-once"


@pytest.mark.parametrize(
    ("finish_ps", "told"), [(27, "5 events"), (26, "4 of 5 events before the end"), (5, "1 of 5 events before the end")]
)
def test_events_before_the_end_are_counted_as_often_as_they_come_and_not_their_parts(finish_ps: int, told: str) -> None:
    """An event of two parts comes once, at 5 ps, and one of one part comes four times, at 6, 13, 20 and 27 ps."""
    numbers: dict[str, Any] = {"statistics": {}, "memory": {"peak_above_idle_bytes": 1}}
    numbers["timing"] = {"wall_seconds": 1.0, "setup_seconds": 0.5}
    document: Any = {"jobs": [], "complete": True, "run_name": "one", "finish_ps": finish_ps, **numbers}
    once = [{"event": 0, "start_ps": 5, "end_ps": None} for _ in range(2)]
    again = {"event": 1, "start_ps": 6, "end_ps": 8, "every_ps": 7, "times": 4}
    document["events"] = [*once, again]
    lines = scenario_run_text(document, None).splitlines()
    assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("changes ")] == [told]
