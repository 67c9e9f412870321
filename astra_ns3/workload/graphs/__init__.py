"""Plays a workload of graphs: which nodes may run, for how long, and what they ask of the system."""
