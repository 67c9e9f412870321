"""Laws that hold in any run: random cases of every feature, audited as ``make soak`` does."""

from __future__ import annotations

from soak.cases import random_case
from soak.child import play_in_child, warm_up
from soak.traits import traits_of
from soak.verdict import faults

from validation.comparison import Comparison, Found, Group, recorded

CASES = 20
SOAK = "`make soak`, a thousand cases"


def _audited() -> Found:
    """Random networks, transports and jobs, each in a process of its own."""
    warm_up()
    found = 0
    for seed in range(1, CASES + 1):
        case = random_case(seed)
        found += bool(faults(traits_of(case), play_in_child(case)))
    return f"{found} of {CASES}", "equal" if not found else "broken"


_BY_TEST = recorded("to the ps", "equal")
GROUPS = [
    Group(
        "Conservation, and our ports against plain ones",
        [
            Comparison(
                "books",
                "random cases whose books don't balance: frames, bytes, buffers, pauses, order",
                "conservation",
                f"0 of {CASES}",
                _audited,
                "tests/regression/test_soak.py",
                fast=False,
                note=SOAK,
            ),
            Comparison(
                "ports",
                "800 random networks, and 800 with failures: every event against ports of two events each",
                "plain store-and-forward ports",
                "to the ps",
                _BY_TEST,
                "ns3-scratch/bridge/test/network-oracle-test-suite.cc",
                note="by its test",
            ),
            Comparison(
                "bound",
                "no message or collective faster than messages that never meet: random ones",
                "the analytical network",
                "0 faster",
                recorded("0 faster", "equal"),
                "tests/physics/test_lower_bound.py",
                note="by its test",
            ),
            Comparison(
                "determinism",
                "the same seed in fresh and used processes",
                "itself",
                "the same bytes",
                recorded("the same bytes", "equal"),
                "tests/regression/test_determinism.py",
                note="by its test",
            ),
            Comparison(
                "proof",
                "every algorithm, many numbers of ranks: each rank ends with what the collective says",
                "symbolic proof",
                "all",
                recorded("all", "equal"),
                "tests/unit/collectives/test_collectives_proof.py",
                note="by its test",
            ),
        ],
    )
]
