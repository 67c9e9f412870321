"""A run in a child process, which may die of anything without taking its caller along.

``child`` plays the run and reports; ``supervisor`` reads, enforces the limits, and knows what the run has done so far.
"""
