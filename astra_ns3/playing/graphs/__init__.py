"""Plays a workload of graphs: which nodes may run, and what they ask of the system."""
