"""The progress of a run that goes on. Another room draws it, such as the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from astra_ns3.frozen import dataclass

if TYPE_CHECKING:  # Tab does without what reads and forecasts runs
    from astra_ns3.experiments.inputs import Inputs, Parts
    from astra_ns3.network.api import NetworkBackend

# Of wall time, about that of a packet of a kilobyte.
_SECONDS_PER_BYTE = 5e-9
# Of wall time, of one NPU, however long it computes.
_SECONDS_PER_COMPUTATION = 20e-6


class ExpectedWork(NamedTuple):
    """The work of a run.

    Bytes of messages over all NPUs, computation of the first NPU of each tenant, and the bytes' share of the cost.
    """

    bytes: int
    compute_ps: int
    bytes_share: float


NOTHING_EXPECTED = ExpectedWork(0, 0, 0.0)
"""Nobody knows how much is expected."""


@dataclass(frozen=True)
class Progress:
    """Where a run is: NPU 0's passes and layer steps (forward and backward count one each), and what it cost so far.

    ``delivered_bytes``: of messages, whole or not, over all NPUs; None if the backend doesn't count them.
    ``computed_ps``: of NPU 0. ``setup_seconds``: what of ``wall_seconds`` had passed before the first event. Of a run
    with ``live``: ``longest_queue``, a port and the bytes that wait there, and ``oldest_collective``, what of all that
    goes on was issued first, and when; None where there is none.
    """

    passes_done: int
    passes: int
    steps_done: int
    steps: int
    time_ps: int
    events: int
    wall_seconds: float
    delivered_bytes: int | None = None
    computed_ps: int = 0
    expected: ExpectedWork = NOTHING_EXPECTED
    setup_seconds: float = 0.0
    longest_queue: tuple[str, int] | None = None
    oldest_collective: tuple[str, int] | None = None

    @property
    def fraction(self) -> float:
        """Share of the expected work that is done, 0 to 1: bytes delivered, and computation, each by what it costs.

        Where neither is known, the share of the layer steps that NPU 0 has behind it.
        """
        plan = self.expected
        if (plan.bytes and self.delivered_bytes is None) or not (plan.bytes or plan.compute_ps):
            done, total = self.passes_done * self.steps + self.steps_done, self.passes * self.steps
            return _share(done, total)
        delivered = _share(self.delivered_bytes or 0, plan.bytes)
        computed = _share(self.computed_ps, plan.compute_ps)
        return plan.bytes_share * delivered + (1 - plan.bytes_share) * computed

    @property
    def seconds_left(self) -> float | None:
        """Wall time still needed if work goes on at the same pace; None while none is done."""
        fraction = self.fraction
        return (self.wall_seconds - self.setup_seconds) * (1 - fraction) / fraction if fraction > 0 else None


class ProgressSink(Protocol):
    """Receives the progress: the stages of the set-up, then about ten times a second how far the run is."""

    def stage(self, name: str, wall_seconds: float) -> None:
        """The set-up is at ``name``, such as ``building the network``, ``wall_seconds`` after the run began."""

    def update(self, progress: Progress) -> None:
        """Show ``progress``."""

    def finish(self) -> None:
        """The run is over, well or not: leave the place clean."""


def tell_stage(sink: ProgressSink | None, name: str, wall_seconds: float) -> None:
    """Tell a sink, if there is one, of a stage of the set-up; one without a method for that goes without."""
    stage = getattr(sink, "stage", None)
    if callable(stage):
        stage(name, wall_seconds)


class Playing(Protocol):
    """A player of one workload or several."""

    def progress(self) -> tuple[int, int, int, int]:
        """Return passes done, passes, steps done in this pass and steps of a pass."""

    def computed_ps(self) -> int:
        """Return for how long the first NPU of each tenant has computed."""

    def oldest_collective(self) -> tuple[str, int] | None:
        """Return what of all that goes on was begun first, in words, and when; None: nothing."""


class ProgressMeter:
    """Reads off a run how far it is. The delivered bytes never go down, though a receiver may throw away."""

    def __init__(
        self,
        driver: Playing,
        network: NetworkBackend,
        expected: ExpectedWork,
        setup_seconds: float,
        *,
        live: bool = False,
    ) -> None:
        self._driver = driver
        self._expected = expected
        self._setup_seconds = setup_seconds
        self._highest_bytes = 0
        self._count = network.delivered_bytes
        self._longest_queue = network.longest_queue if live else None

    def read(self, time_ps: int, events: int, wall_seconds: float) -> Progress:
        """The progress now."""
        counted = self._count()
        self._highest_bytes = max(self._highest_bytes, counted or 0)
        return Progress(
            *self._driver.progress(),
            time_ps,
            events,
            wall_seconds,
            None if counted is None else self._highest_bytes,
            self._driver.computed_ps(),
            self._expected,
            self._setup_seconds,
            None if self._longest_queue is None else self._longest_queue(),
            None if self._longest_queue is None else self._driver.oldest_collective(),
        )


def expected_work(parts: Parts) -> ExpectedWork:
    """Return what all tenants of a run have to do; nothing is expected where one goes on for as long as the others."""
    if any(inputs.job.endless for inputs, _ in parts):
        return NOTHING_EXPECTED
    bytes, compute_ps, cost, whole = map(sum, zip(*(_work(*part) for part in parts), strict=True))
    share = 1.0 if not compute_ps or not whole else cost / whole
    return ExpectedWork(bytes, compute_ps, share)


def _work(inputs: Inputs, passes: int) -> tuple[int, int, float, float]:
    """Return a tenant's bytes, the computation of its first NPU, and the wall time of its messages, and of all."""
    from astra_ns3.experiments.forecasting.forecast import backend_costs

    expected = inputs.expected(passes)
    compute_ps, computations = inputs.job.expected_computation(inputs.platform, passes)
    # By formula a message costs the same however large it is.
    by_formula = expected.messages * backend_costs(inputs).seconds_per_message
    cost = by_formula if inputs.packets is None else expected.bytes * _SECONDS_PER_BYTE
    return expected.bytes, compute_ps, cost, cost + computations * _SECONDS_PER_COMPUTATION


def _share(done: int, total: int) -> float:
    return min(max(done / total, 0.0), 1.0) if total > 0 else 0.0
