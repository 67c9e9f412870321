"""Workloads made from a model's dimensions instead of typed in."""
