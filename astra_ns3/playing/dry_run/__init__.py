"""Runs programs without a network: what they issue, and whether all come to their end."""
