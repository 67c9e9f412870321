"""Plays lists of flows."""
