"""Collective algorithms as data, the proof that they are right, and their names."""
