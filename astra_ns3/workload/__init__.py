"""Describes workloads: models, training loops, files, generators, computing and memory as numbers. Plays nothing."""
