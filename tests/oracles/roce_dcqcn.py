"""DCQCN's rules with every clock as a clock (SIGCOMM 2015, section 3.1), in the paper's form and in that of NICs.

The clocked form is the NICs' behaviour as the simulator published with HPCC models it.
"""

from __future__ import annotations

from oracles.roce_events import MBPS, US, Control, Event, Path

CLOCK_LAG_PS = 1000
"""DCQCN's decrease clock runs one nanosecond behind alpha's."""


class Dcqcn(Control):
    """What both forms share: increases, by timer and by byte counter (paper, figure 7 and section 3.1)."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.g = self.number("g", 1 / 256)
        self.alpha = 1.0
        self.target = self.line
        self.timer_stage = self.byte_stage = self.counted = 0
        self.due: dict[str, int] = {}
        self.limited = False

    def clocks(self, until: int) -> None:
        """The clocks beat one after the other; what was set first goes first."""
        while self.due:
            name = min(self.due, key=lambda each: self.due[each])
            if self.due[name] > until:
                return
            self.now = self.due.pop(name)
            {"alpha": self.beat_alpha, "decrease": self.beat_decrease, "increase": self.beat_increase}[name]()

    def beat_alpha(self) -> None:
        """Alpha's clock."""
        self.alpha *= 1 - self.g
        self.due["alpha"] = self.now + int(self.number("alpha_timer", 55 * US))

    def beat_decrease(self) -> None:
        """The decrease clock, which only the clocked form has."""
        raise NotImplementedError

    def beat_increase(self) -> None:
        """The increase timer."""
        self.due["increase"] = self.now + int(self.number("increase_timer", 55 * US))
        self.increase()
        self.timer_stage += 1

    def cut(self) -> None:
        """Equation 1."""
        if self.number("clamp_target_rate", 1) or self.timer_stage or self.byte_stage:
            self.target = self.rate
        self.rate = max(self.least, self.rate * (1 - self.alpha / 2))
        self.timer_stage = self.byte_stage = self.counted = 0
        self.limited = True
        self.due.pop("increase", None)
        self.due["increase"] = self.now + int(self.number("increase_timer", 55 * US))

    def increase(self) -> None:
        """Fast recovery, additive, hyper increase."""
        recoveries = self.number("fast_recovery_times", 5)
        stages = [self.timer_stage] + ([self.byte_stage] if self.number("byte_counter", 10e6) else [])
        if min(stages) > recoveries:
            self.target += self.number("rate_hai", 200 * MBPS)
        elif max(stages) >= recoveries:
            self.target += self.number("rate_ai", 40 * MBPS)
        self.target = min(self.target, self.line)
        self.rate = (self.rate + self.target) / 2

    def on_sent(self, event: Event) -> None:
        """The byte counter."""
        counter = int(self.number("byte_counter", 10e6))
        if not counter or not self.limited:
            return
        packets = -(-event.size // self.path.payload)
        for packet in range(packets):
            payload = min(self.path.payload, event.size - packet * self.path.payload)
            self.counted += payload + self.path.packet - self.path.payload
            while self.counted >= counter:
                self.counted -= counter
                self.increase()
                self.byte_stage += 1

    def first(self) -> None:
        """The first CNP of all."""
        self.rate = self.target = max(self.least, self.rate * self.number("rate_on_first_cnp", 1))
        self.due["alpha"] = self.now + int(self.number("alpha_timer", 55 * US))


class DcqcnPaper(Dcqcn):
    """A CNP cuts at once; then alpha rises."""

    def on_cnp(self, event: Event) -> None:
        """Equation 1, and alpha's clock anew."""
        if "alpha" not in self.due:
            self.first()
        self.cut()
        self.alpha = (1 - self.g) * self.alpha + self.g
        self.due["alpha"] = self.now + int(self.number("alpha_timer", 55 * US))


class DcqcnClocked(Dcqcn):
    """Two clocks that run from the first CNP on, for ever."""

    def __init__(self, path: Path, **numbers: float) -> None:
        super().__init__(path, **numbers)
        self.seen_by_alpha = self.seen_by_decrease = False

    def on_cnp(self, event: Event) -> None:
        """Taken note of."""
        if "decrease" not in self.due:
            self.first()
            self.due["decrease"] = self.now + int(self.number("decrease_timer", 0)) + CLOCK_LAG_PS
        else:
            self.seen_by_alpha = True
        self.seen_by_decrease = True

    def beat_alpha(self) -> None:
        """Towards 1 after a CNP, towards 0 without."""
        self.alpha = (1 - self.g) * self.alpha + self.g * self.seen_by_alpha
        self.seen_by_alpha = False
        self.due["alpha"] = self.now + int(self.number("alpha_timer", 55 * US))

    def beat_decrease(self) -> None:
        """A cut after a CNP."""
        self.due["decrease"] = self.now + int(self.number("decrease_timer", 0))
        if self.seen_by_decrease:
            self.seen_by_decrease = False
            self.cut()
