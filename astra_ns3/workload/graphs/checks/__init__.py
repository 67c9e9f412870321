"""Mistakes of graphs, found before anything runs: one file after the other, a few numbers kept of each."""
