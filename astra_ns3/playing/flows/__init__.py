"""Plays a list of flows: who may start when, what was delivered by when."""
