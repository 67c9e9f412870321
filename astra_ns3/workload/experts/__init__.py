"""Routing of tokens to experts: who sends how many rows to whom, and how many each computes. Pure."""
