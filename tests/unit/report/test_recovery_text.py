"""How a network recovers, in words."""

from __future__ import annotations

from astra_ns3.config.scenario.recovery import RecoveryConfig
from astra_ns3.report.scenario_text import recovery_text


def test_each_policy_is_told_with_the_keys_that_it_has() -> None:
    detection = {"kind": "hello", "interval": "100us"}
    routes = {"kind": "converge", "after": "500us"}
    config = RecoveryConfig.model_validate({"detection": detection, "routes": routes})
    assert recovery_text(config.document()) == (
        "detection hello (interval: 100us, multiplier: 3); routes converge (after: 500us)"
    )
    assert recovery_text(RecoveryConfig().document()) == "detection loss-of-signal; routes at-once"
