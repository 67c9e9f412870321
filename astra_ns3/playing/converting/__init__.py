"""Turns workloads of one format into another; a training loop is run to become a graph."""
