"""Computations that something slows down: stragglers, jitter, collectives that run beside them."""
