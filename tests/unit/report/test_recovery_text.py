"""How a network recovers, in words."""

from __future__ import annotations

from typing import Any

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


def test_the_parts_of_a_network_that_changed_are_counted() -> None:
    numbers: dict[str, Any] = {"statistics": {}, "memory": {"peak_above_idle_bytes": 1}}
    numbers["timing"] = {"wall_seconds": 1.0, "setup_seconds": 0.5}
    document: Any = {"jobs": [], "events": [{}], "complete": True, "run_name": "one", "finish_ps": 1, **numbers}
    lines = scenario_run_text(document, None).splitlines()
    assert any(line.split() == ["changes", "1", "part", "of", "the", "network"] for line in lines)
