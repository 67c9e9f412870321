"""Samples the queue of one switch port every 5 us, with ns-3's own Python API, and counts what the port drops.

Run it with: astra-ns3 run -w ... -s ... -n ... --hook inputs/hooks/sample-queue.py
At the end it says what it saw. Samples stand in ``SAMPLES`` as (simulated time in ps, bytes waiting), the times of
drops in ``DROPS``.
"""

import sys

PORT = "switch0:0"
INTERVAL_PS = 5_000_000
MOST_SAMPLES = 1_000

SAMPLES: list[tuple[int, int]] = []
DROPS: list[int] = []


def on_built(context):
    """Called with the built simulation before its first event."""
    port = context.port(PORT)
    SAMPLES.clear()
    DROPS.clear()

    def sample():
        SAMPLES.append((context.now_ps(), int(port.GetQueueBytes())))
        # A finite number, so that a simulation that stands still still ends.
        if len(SAMPLES) < MOST_SAMPLES:
            context.schedule(INTERVAL_PS, sample)

    def dropped(time, packet):
        DROPS.append(int(time.GetPicoSeconds()))

    context.schedule(0, sample)

    def ended():
        longest = max(queue for _, queue in SAMPLES)
        seen = f"{len(SAMPLES)} samples, longest queue {longest} bytes, {len(DROPS)} drops"
        print(f"hook: {PORT}: {seen}", file=sys.stderr)

    context.trace(port, "Drop", "void(ns3::Time, ns3::Ptr<const ns3::Packet>)", dropped)
    return ended
