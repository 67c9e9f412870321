"""Recommendation models: where their tables lie, and what NPUs send each other of them."""
