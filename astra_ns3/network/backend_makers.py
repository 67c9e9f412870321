"""Backends by name; each is imported when first asked for, so nothing native is loaded before a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial

from astra_ns3.config.core.compatibility import OURS, Compatibility
from astra_ns3.config.core.model import shown
from astra_ns3.errors import check_known, refuse, wrong
from astra_ns3.network.api import NetworkBackend
from astra_ns3.network.plan import AnyPlan
from astra_ns3.network.records import RecorderOptions

#: Called with what a backend built, before the first event; its arguments are the backend's own affair.
BuiltHook = Callable[..., object]
Factory = Callable[[AnyPlan, int, RecorderOptions, BuiltHook | None], NetworkBackend]
_Maker = Callable[[AnyPlan, int, RecorderOptions, BuiltHook | None, Compatibility, int], NetworkBackend]


def create_backend(
    name: str,
    plan: AnyPlan,
    *,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None = None,
    compatibility: Compatibility = OURS,
    cores: int = 1,
) -> NetworkBackend:
    """Build the backend ``name`` on a network; ``cores``: how many it may play on.

    Raises InputError if there is none of that name, or for what it can't do.
    """
    check_known("backend", name, BACKENDS)
    check_backend(name, plan)
    return BACKENDS[name](plan, seed, recorder, on_built, compatibility, cores)


def native_digest() -> str:
    """Digest of what the native half was built from; empty if it is not installed. Nothing is loaded."""
    from astra_ns3.network.ns3.digest import native_digest

    return native_digest()


def check_backend(name: str, plan: AnyPlan) -> None:
    """Raise InputError if the backend ``name`` can't play ``plan``; nothing native is loaded.

    A backend of the user's, whose name is not known here, is not checked.
    """
    check = _CHECKS.get(name)
    if check is not None:
        check(plan)


def check_given(backend: object, given_as: str = "backend") -> None:
    """Raise InputError if ``backend`` is no NetworkBackend; ``given_as`` is how it came here, for the message."""
    lacking = [name for name in _CALLS if not callable(getattr(backend, name, None))]
    npus = getattr(backend, "npus", None)
    if lacking:
        raise wrong(f"{given_as} is {shown(backend)}, which is no NetworkBackend: it has no {', '.join(lacking)}")
    if isinstance(npus, bool) or not isinstance(npus, int) or npus < 1:
        raise wrong(f"{given_as} is {shown(backend)}, which has {shown(npus)} as npus, expected a whole number")


def check_factory(factory: Callable[..., object]) -> None:
    """Raise InputError if ``factory`` can't be called as a function that makes a backend."""
    if not takes(factory, 4):
        raise wrong(
            f"backend is {shown(factory)}, which can't be called with (network plan, seed, recorder options, on_built)"
        )


def takes(function: Callable[..., object], arguments: int) -> bool:
    """Whether ``function`` can be called with so many arguments by place."""
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except (TypeError, ValueError):  # the latter of what is written in C and says nothing
        return False
    return True


def check_own_control(plan: AnyPlan) -> None:
    """Load or compile the user's own congestion control, if there is one; raises InputError if that fails."""
    from astra_ns3.network.ns3.own_control import check_own_control as check

    if plan.config.own_control is not None:
        check(plan.config.own_control)


def _ns3(
    plan: AnyPlan,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None,
    _compatibility: Compatibility,
    cores: int,
) -> NetworkBackend:
    from astra_ns3.network.ns3.backend import Ns3Backend

    assert plan.of_packets is not None
    return Ns3Backend(plan.of_packets, seed=seed, recorder=recorder, on_built=on_built, cores=cores)


def _check_ns3(plan: AnyPlan) -> None:
    refuse(plan.of_packets is None, "the network has no packets; use the backend 'analytical'")
    refuse(bool(plan.endpoint.rendezvous_bytes), "the rendezvous protocol needs the backend 'analytical'")


def _flow(
    plan: AnyPlan,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None,
    _compatibility: Compatibility,
    _cores: int,
) -> NetworkBackend:
    from astra_ns3.network.ns3.flow_backend import FlowBackend

    assert plan.of_packets is not None
    return FlowBackend(plan.of_packets, seed=seed, recorder=recorder, on_built=on_built)


def _check_analytical(plan: AnyPlan, *, queues: bool) -> None:
    from astra_ns3.network.analytical.backend import checked_grid

    checked_grid(plan, queues=queues)


def _analytical(
    plan: AnyPlan,
    seed: int,
    recorder: RecorderOptions,
    on_built: BuiltHook | None,
    compatibility: Compatibility,
    _cores: int,
    *,
    queues: bool,
) -> NetworkBackend:
    from astra_ns3.network.analytical.backend import AnalyticalBackend, AnalyticalModel

    model = AnalyticalModel(
        queues,
        highest_dimension_only=compatibility.charge_highest_dimension,
        lowest_dimension_only=compatibility.charge_lowest_dimension,
        truncate=compatibility.truncate_delays,
    )
    return AnalyticalBackend(plan, model=model, seed=seed, recorder=recorder, on_built=on_built)


_CALLS = tuple(name for name, value in vars(NetworkBackend).items() if not name.startswith("_") and callable(value))

BACKENDS: Mapping[str, _Maker] = {
    "ns3": _ns3,
    "flow": _flow,
    "analytical": partial(_analytical, queues=False),
    "analytical-queues": partial(_analytical, queues=True),
}
_CHECKS: Mapping[str, Callable[[AnyPlan], None]] = {
    "ns3": _check_ns3,
    "flow": _check_ns3,
    "analytical": partial(_check_analytical, queues=False),
    "analytical-queues": partial(_check_analytical, queues=True),
}
