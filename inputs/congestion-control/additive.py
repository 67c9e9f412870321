"""A congestion control of one's own in Python: additive increase, multiplicative decrease on ECN marks.

Run it with: astra-ns3 run ... --congestion-control inputs/congestion-control/additive.py:AdditiveControl
Once a round trip the rate is multiplied by ``factor`` if an acknowledged packet had a mark, else ``step`` is added.
additive.hpp is the same in C++, and many times faster.
"""


class AdditiveControl:
    """One object for each queue pair; times are picoseconds, rates bits per second, sizes bytes."""

    def __init__(self, parameters):
        """``parameters``: numbers by name, from ``parameters`` in the network file."""
        self.step_bps = parameters.get("step", 1e9)
        self.factor = parameters.get("factor", 0.8)
        self.minimum_rate_bps = parameters.get("minimum_rate", 100e6)
        self.round_trip_end = 0
        self.marked = False

    def start(self, sender):
        """The queue pair opens, at line rate and with the configured window."""
        self.round_trip_end = sender.sent_bytes

    def ack_received(self, sender, ack):
        """An acknowledgement has come."""
        self.marked = self.marked or ack.marked
        if ack.acknowledged_bytes <= self.round_trip_end:
            return
        wanted_bps = sender.rate_bps * self.factor if self.marked else sender.rate_bps + self.step_bps
        sender.rate_bps = max(self.minimum_rate_bps, wanted_bps)
        self.round_trip_end = sender.sent_bytes
        self.marked = False

    def cnp_received(self, sender):
        """A congestion notification packet has come; this control goes by the marks that ACKs tell."""

    def packet_sent(self, sender, bytes):
        """A packet goes on the line."""

    def loss_detected(self, sender, timeout):
        """Packets were lost."""

    def timer_due(self, sender, timer):
        """A timer is due that ``sender.start_timer(timer, delay_ps)`` started."""
