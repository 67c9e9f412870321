"""The registry of detection and recovery: policies by ``kind``, and the reaction that those of a file come to.

A detection says when the ends of a link notice that it went down or came up. Routes say, for what the ends have
noticed, when these repair their own tables and when all nodes have converged. A policy of the user's is a function in
the place of either: ``detection(turn, **parameters)`` returns picoseconds, ``routes(turn, noticed_ps, **parameters)`` a
pair of them, local repair and convergence. ``turn`` is a :class:`~astra_ns3.topology.reactions.LinkTurn`.
"""

from __future__ import annotations

from collections.abc import Mapping

from astra_ns3.config.scenario.recovery import AtOnce, LossOfSignal, OwnPolicy, RecoveryConfig
from astra_ns3.errors import wrong
from astra_ns3.scenario.recovery.at_once import at_once
from astra_ns3.scenario.recovery.converge import converge
from astra_ns3.scenario.recovery.hello import hello
from astra_ns3.scenario.recovery.loss_of_signal import loss_of_signal
from astra_ns3.topology.reactions import Known, LinkTurn, Reaction
from astra_ns3.user_code import UserFunction, a_kind_of, load_pure_part

DETECTIONS: Mapping[str, UserFunction] = {"loss-of-signal": loss_of_signal, "hello": hello}
"""When the ends of a link notice a turn of it: from the turn, the policy's keys and the run's seed."""
ROUTES: Mapping[str, UserFunction] = {"at-once": at_once, "converge": converge}
"""When routes follow: from the turn, when it was noticed, and the policy's keys."""


def reaction_of(recovery: RecoveryConfig, seed: int) -> Reaction | None:
    """Return when turns of links are known by the policies of a file; None: all at once. ``seed``: the run's."""
    detection, routes = recovery.detection, recovery.routes
    if isinstance(detection, LossOfSignal) and isinstance(routes, AtOnce):
        return None

    def reaction(turn: LinkTurn) -> Known:
        noticed_ps = (
            _own_detection(detection, turn)
            if isinstance(detection, OwnPolicy)
            else DETECTIONS[detection.kind](turn, detection, seed)
        )
        if isinstance(routes, OwnPolicy):
            return _own_routes(routes, turn, noticed_ps)
        known: Known = ROUTES[routes.kind](turn, noticed_ps, routes)
        return known

    return reaction


def _own_detection(own: OwnPolicy, turn: LinkTurn) -> int:
    noticed_ps = load_pure_part(own.part, "policy")(turn, **own.parameters)
    if type(noticed_ps) is not int or noticed_ps < turn.time_ps:
        raise wrong(f"gave {noticed_ps!r}, expected picoseconds, {turn.time_ps} or later", str(own.part))
    return noticed_ps


def _own_routes(own: OwnPolicy, turn: LinkTurn, noticed_ps: int) -> Known:
    found = load_pure_part(own.part, "policy")(turn, noticed_ps, **own.parameters)
    if (
        not isinstance(found, tuple)
        or len(found) != 2
        or any(type(each) is not int for each in found)
        or min(found) < noticed_ps
    ):
        what = repr(found) if isinstance(found, tuple) else a_kind_of(found)
        raise wrong(f"gave {what}, expected a pair of picoseconds, {noticed_ps} or later", str(own.part))
    return Known(noticed_ps, *found)
