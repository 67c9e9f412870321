"""How far plans and budgets go unless it is said otherwise."""

USUAL_CPU_SECONDS = 480.0
"""CPU time that playing plans may take."""
USUAL_PACKETS, USUAL_PACKET_SECONDS = 3, 25.0
"""How many of the best are played on packets, and the CPU time that each run may be forecast to take."""
USUAL_BUDGET_SECONDS = 240.0
"""Wall time after which a budget begins no run."""
