"""Workloads of graphs as descriptions: whether they can be played, what they amount to, how long nodes take."""
