"""Plays workloads: programs, the player of NPUs, training loops, graphs, lists of flows."""
