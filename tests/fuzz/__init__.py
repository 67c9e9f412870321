"""Mutations of every input, and how the program has to end on them."""
