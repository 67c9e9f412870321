"""The memory and CPU time of a run's parts: constants of the forecast, and of the refusal of runs that won't fit.

Measured on one core of an x86-64 machine with Python 3.11. ``benchmarks/forecast.py`` runs whole cases and prints how
far estimates and measurements are apart; ``tests/unit/experiments/test_results_capacity.py`` measures the bytes again.
"""

from __future__ import annotations

BYTES_PER_NPU = 3_700
"""Its program, its queue of one dimension, and its application in C++."""
BYTES_PER_HOST = 10_000
"""A host of a network of packets, with its link and the switch's port."""
BYTES_PER_ROW = 80
"""A message of a schedule as C++ holds it."""
BYTES_PER_COLLECTIVE = 2_000
"""Issued and not finished; shared by all NPUs."""
BYTES_PER_TASK = 250
"""A phase of a chunk of such a collective; shared by all NPUs."""
BYTES_PER_HANDLE = 220
"""A collective that is issued, on one NPU."""
BYTES_PER_PLACE = 50
"""A chunk in the queue of one NPU."""
IDLE_BYTES = 225_000_000
"""Python, cppyy and ns-3 loaded, nothing built."""
PROGRAM_SECONDS = 1.1
"""Loading Python, cppyy and ns-3, reading the files, writing the results."""
WARM_SECONDS = 0.05
"""The rest of these seconds in a process that has played before: reading the files, writing the results."""
SECONDS_PER_HOST = 200e-6
"""Building it with its link and its port of a switch."""
SECONDS_PER_ROW = 0.17e-6
"""A message of a schedule, built and handed over."""
SECONDS_PER_COLLECTIVE = 280e-6
"""Planned, and written down."""
SECONDS_PER_CHANNEL_MESSAGE = 4e-6
"""A message of a channel, besides those of others: what kernels copy and delay, slots and their signals."""
SECONDS_OF_CHANNELS = 0.15
"""Planning what the channels of a collective library play."""
